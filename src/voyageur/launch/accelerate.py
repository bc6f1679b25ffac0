"""`accelerate launch`, once on every node; behind it is PyTorch's launcher.

With `--cpu` and several machines it starts unconnected processes and ends with 0, so on CPUs it is told `--multi_gpu`
together with ACCELERATE_USE_CPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.launch.style import RANK, Launcher, Style, Wanted
from voyageur.launch.words import numbers_said, of_each_node, own_words, port_said, start_of_program


class Accelerate(Style):
    name = "accelerate"
    title = "Hugging Face's `accelerate launch` on every node"
    modules = ("accelerate",)
    needs_python = True
    replaces = ("accelerate",)
    gpu_for_each = True
    tags_ranks = True
    death = "the launcher ends the workers of its node, and the step is ended"
    signal = "the workers that listen; never the launchers, which would die of it"

    def launcher(self, wanted: Wanted) -> Launcher:
        own = own_words(wanted.command)
        folder, slash, _ = wanted.command[0].rpartition("/")
        python = f"{folder}{slash}python" if own else wanted.python
        words = (python, "-m", "accelerate.commands.launch", *_shape(wanted), *own[2:], "--no_python", *RANK)
        first, taken = start_of_program(wanted.command)
        return Launcher(words=(*words, python, *first), taken=taken) if own else Launcher(words=words)

    def exports(self, wanted: Wanted) -> dict[str, str]:
        cpu = {} if wanted.gpus else {"ACCELERATE_USE_CPU": "1"}
        return cpu | port_said(wanted.command, "--main-process-port")

    def processes_said(self, wanted: Wanted) -> Iterator[tuple[str, int]]:
        yield from of_each_node(numbers_said(wanted.command, ("--num-processes",)), wanted.nodes)


def _shape(wanted: Wanted) -> tuple[str, ...]:
    return (
        *(("--multi_gpu",) if wanted.world > 1 else ()),
        f"--num_machines={wanted.nodes}",
        f"--num_processes={wanted.world}",
        "--machine_rank={NODE_RANK}",
        "--main_process_ip={MASTER_ADDR}",
        "--main_process_port={MASTER_PORT}",
    )


STYLE = Accelerate()
