"""PyTorch's launcher, once on every node.

Without restarts its rendezvous is static: the node's number decides its ranks, and no port is guessed. With restarts it
has to be c10d: agents of a static rendezvous never learn that another one starts its workers anew.
"""

from __future__ import annotations

from voyageur.launch.style import RANK, Launcher, Style, Wanted
from voyageur.launch.words import launcher_named, numbers_said, own_words, port_said, program_of, said, start_of_program


class Torchrun(Style):
    name = "torchrun"
    title = "PyTorch's launcher on every node, one worker for each GPU"
    modules = ("torch",)
    needs_python = True
    replaces = ("torchrun",)
    gpu_for_each = True
    restarts = True
    tags_ranks = True
    death = "its agent ends the workers of its node, and the step is ended; with `launch.restarts` all start anew"
    signal = "the workers that listen; never the agents, which would die of it"

    def launcher(self, wanted: Wanted) -> Launcher:
        own = own_words(wanted.command)
        module = program_of(wanted.command) if launcher_named(wanted.command) else ""
        python = _python(wanted) if own else wanted.python
        head = (python, "-m", module if module == _OLD else "torch.distributed.run")
        theirs = [word for word in own[1 if not module else 3 :] if word != "--standalone"]
        words = (*head, *self.rendezvous(wanted), *theirs)
        if module == _OLD:  # it puts `--local-rank` right behind the program, so nothing may stand before that
            return Launcher(words=words, taken=len(own))
        tagged = (*words, "--no-python", *RANK)
        first, taken = start_of_program(wanted.command)
        return Launcher(words=(*tagged, python, *first), taken=taken) if own else Launcher(words=tagged)

    def rendezvous(self, wanted: Wanted) -> tuple[str, ...]:
        shape = (f"--nnodes={wanted.nodes}", f"--nproc-per-node={wanted.ranks}")
        if not _is_elastic(wanted):
            where = ("--master-addr={MASTER_ADDR}", "--master-port={MASTER_PORT}")
            return (*shape, "--node-rank={NODE_RANK}", *where)
        place = ("--rdzv-endpoint={MASTER_ADDR}:{MASTER_PORT}", "--rdzv-conf=is_host={IS_FIRST}")
        return (
            *shape,
            f"--max-restarts={wanted.restarts}",
            "--rdzv-backend=c10d",
            "--rdzv-id={VOY_RUN}-{VOY_ATTEMPT}",
            *(() if list(said(wanted.command, ("--rdzv-endpoint",))) else place),
        )

    def exports(self, wanted: Wanted) -> dict[str, str]:
        # Restarted workers would read the first round's addresses in the store that they share with the agents
        # (pytorch/pytorch#135712).
        store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"} if _is_elastic(wanted) else {}
        return store | port_said(wanted.command, "--master-port")

    def each(self, wanted: Wanted) -> dict[str, str]:
        """The agent's own files would stay in /tmp; what its workers write is the user's, and stays where it is."""
        keeps = list(said(wanted.command, ("-r", "--redirects", "-t", "--tee")))
        return {} if keeps else {"PET_LOG_DIR": "{VOY_TMP}/torchrun"}


_OLD = "torch.distributed.launch"


def _is_elastic(wanted: Wanted) -> bool:
    """By our words or by the command's own: where agents must be able to meet a second time."""
    restarts = sum(number for _, number in numbers_said(wanted.command, ("--max-restarts",)))
    backends = [value for _, value in said(wanted.command, ("--rdzv-backend",))]
    return bool(wanted.restarts or restarts) or any(backend != "static" for backend in backends)


def _python(wanted: Wanted) -> str:
    """Of `torchrun` and of `/env/bin/torchrun`, the Python beside it."""
    folder, slash, name = wanted.command[0].rpartition("/")
    return wanted.command[0] if name.startswith("python") else f"{folder}{slash}python"


STYLE = Torchrun()
