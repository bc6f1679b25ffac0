"""What cannot work, whichever style it is: said before anything is submitted, where ranks would only wait later."""

from __future__ import annotations

from voyageur.errors import SpecError
from voyageur.launch.style import Style, Tasks, Wanted
from voyageur.launch.words import is_python, launcher_named, program_at, said


def refuse(style: Style, wanted: Wanted) -> None:
    """What is wrong with a style for this wish; then what the style itself has to say."""
    _refuse_one_process(style, wanted)
    _refuse_second_step(style, wanted)
    _refuse_program(style, wanted)
    _refuse_gpus(style, wanted)
    _refuse_numbers(style, wanted)
    if launcher_named(wanted.command) in style.replaces:
        _refuse_shell(wanted)
        _refuse_nodes(style, wanted)
        _refuse_places(wanted)
    if wanted.restarts and not style.restarts:
        raise SpecError(
            f"`{style.name}` cannot restart its workers", hint="leave `launch.restarts` out, or use torchrun"
        )
    style.refuse(wanted)


def _refuse_one_process(style: Style, wanted: Wanted) -> None:
    if style.tasks is Tasks.NONE and wanted.nodes > 1:
        raise SpecError(
            f"`{style.name}` starts one process, but {wanted.nodes} nodes are asked for",
            hint="use `--launch per-node` or `--launch per-rank`, or one node",
        )


def _refuse_second_step(style: Style, wanted: Wanted) -> None:
    if style.tasks is not Tasks.NONE and launcher_named(wanted.command) == "srun":
        raise SpecError(
            "`srun` in the command would start all tasks a second time",
            facts=[f"`{style.name}` starts the tasks itself"],
            hint="leave it out; `--nodes`, `--tasks` and `--launch per-rank` say what it said",
        )


def _refuse_program(style: Style, wanted: Wanted) -> None:
    own = launcher_named(wanted.command) in style.replaces
    if style.needs_python and not (own or is_python(wanted.command)):
        raise SpecError(
            f"`{style.name}` starts Python programs, and `{' '.join(wanted.command[:2])}` is none",
            facts=["the command must begin like `python train.py` or `python -m package`"],
            hint="use `--launch per-rank` or `--launch per-node` for any other program",
        )
    if own and program_at(wanted.command) == len(wanted.command):
        raise SpecError(
            f"no Python program is seen in `{' '.join(wanted.command)}`",
            facts=["behind a launcher's own options stands a file that ends in .py, or `-m` and a module"],
            hint="`--launch per-node` starts the line as it is, once on every node",
        )


def _refuse_gpus(style: Style, wanted: Wanted) -> None:
    if wanted.gpus and not style.uses_gpus:
        raise SpecError(
            f"`{style.name}` uses no GPUs, but {wanted.gpus} on each node are asked for",
            hint="ask for none: `--gpus 0`",
        )
    if style.gpu_for_each and 0 < wanted.gpus < wanted.ranks:
        raise SpecError(
            f"{wanted.ranks} ranks on each node are more than its {wanted.gpus} GPUs",
            facts=[f"`{style.name}` gives each rank a GPU of its own"],
            hint=f"ask for `--tasks {wanted.gpus}`, or for `--gpus {wanted.ranks}`",
        )


def _refuse_numbers(style: Style, wanted: Wanted) -> None:
    for option, number in style.processes_said(wanted):
        if number == wanted.ranks if style.has_ranks else not wanted.gpus or number <= wanted.gpus:
            continue
        of_gpus = wanted.gpus and (wanted.gpus == wanted.ranks or not style.has_ranks)
        what = f"{wanted.gpus} GPUs on each node are" if of_gpus else f"{wanted.ranks} ranks on each node are"
        raise SpecError(
            f"the command says `{option}`, but {what} asked for",
            facts=[f"{number} processes would start on a node"],
            hint=f"leave the option out, or ask for `--{'gpus' if of_gpus else 'tasks'} {number}`",
        )


# ── what the command's own launcher is told ──────────────────────────────────────────────────────────────────────────

_NODES = ("--nnodes", "--num-machines", "--num-nodes")
_WHO = ("--node-rank", "--machine-rank")
_WHERE = ("--master-addr", "--rdzv-endpoint", "--main-process-ip")
_PROCESSES = ("--nproc-per-node", "--num-processes", "--num-gpus", "-np")
_ITSELF = ("localhost", "127.", "::1", "[::1]")


def _refuse_shell(wanted: Wanted) -> None:
    for option, value in said(wanted.command, (*_NODES, *_WHO, *_WHERE, *_PROCESSES)):
        if "$" in value:
            raise SpecError(
                f"no shell reads the command, so `{option}` stays as it is",
                facts=["nodes, ranks and where they meet are told to the launcher without it"],
                hint="leave the option out",
            )


def _refuse_nodes(style: Style, wanted: Wanted) -> None:
    """The nodes that are there would wait for those that never come. `--nnodes=1:4` is a range."""
    for option, value in said(wanted.command, _NODES):
        least, _, most = value.partition(":")
        if not least.isdecimal() or int(least) <= wanted.nodes <= int(most if most.isdecimal() else least):
            continue
        raise SpecError(
            f"the command says `{option}`, but {_nodes(wanted.nodes)} asked for",
            hint=f"leave the option out, or ask for `--nodes {least}`",
        )


def _refuse_places(wanted: Wanted) -> None:
    """The command is the same on every node, so what names one of them in it is wrong on all others."""
    if wanted.nodes < 2:
        return
    for option, value in said(wanted.command, _WHO):
        if "{" in value:
            continue
        raise SpecError(
            f"the command says `{option}`, and would say so on each of {wanted.nodes} nodes",
            facts=["every node is told its own number without it"],
            hint="leave the option out",
        )
    for option, value in said(wanted.command, _WHERE):
        if value.startswith(_ITSELF):
            raise SpecError(
                f"the command says `{option}`, so each of {wanted.nodes} nodes would wait for the others at itself",
                facts=["every node is told the address of the first without it"],
                hint="leave the option out",
            )


def _nodes(count: int) -> str:
    return "one node is" if count == 1 else f"{count} nodes are"
