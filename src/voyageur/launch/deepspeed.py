"""DeepSpeed without its launcher: that one wants ssh between the nodes, also under Slurm, and sets no rank there."""

from __future__ import annotations

from voyageur.launch.style import Launcher, Style, Tasks, Wanted
from voyageur.launch.words import own_words, start_of_program


class DeepSpeed(Style):
    name = "deepspeed"
    title = "one task for each GPU, told what DeepSpeed's own launcher would tell it"
    tasks = Tasks.RANKS
    modules = ("deepspeed",)
    needs_python = True
    replaces = ("deepspeed",)
    gpu_for_each = True

    def launcher(self, wanted: Wanted) -> Launcher:
        folder, slash, _ = wanted.command[0].rpartition("/")
        first, taken = start_of_program(wanted.command)
        own = own_words(wanted.command)
        return Launcher(words=(f"{folder}{slash}python", *first), taken=taken) if own else Launcher()

    def exports(self, wanted: Wanted) -> dict[str, str]:
        return {} if wanted.gpus else {"DS_ACCELERATOR": "cpu"}

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {"LOCAL_SIZE": "{LOCAL_WORLD_SIZE}", "CROSS_RANK": "{NODE_RANK}", "CROSS_SIZE": "{NODES}"}


STYLE = DeepSpeed()
