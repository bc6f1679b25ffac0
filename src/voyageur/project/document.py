"""What was found, as a commented voyageur.toml. Every key there is stands in it, live or as an example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from voyageur.project.model import Found

_COLUMN = 44


class Example(NamedTuple):
    key: str
    value: Any
    what: str


# In the order of the file. The values are those that somebody might write, not the defaults. `experiment` is not among
# them: the tables below are offered instead, and TOML does not allow both in one file.
EXAMPLES = (
    Example(
        "command", "python train.py --out {checkpoints}", "filled in: {checkpoints} {scratch} {tmp} {run} {data.NAME}"
    ),
    Example("project", "my-project", "the project's folder on scratch; by default this folder's name"),
    Example("site", "slurm", "`local`, `slurm` or a profile; by default Slurm where there is one"),
    Example("account", "def-prof", "whom to charge"),
    Example("partition", "gpu", "by default the first that has what is asked for"),
    Example("qos", "high", "quality of service"),
    Example("constraint", "skylake&ib", "node features to ask for"),
    Example("scratch", "$SCRATCH", "where runs and checkpoints go"),
    Example("requeue", False, "by default a run comes back after a node failure or a preemption"),
    Example("data", {"imagenet": "datasets/imagenet.tar"}, "on every node's own disk; {data.imagenet} in the command"),
    Example("resources.nodes", 2, ""),
    Example("resources.gpus", 4, ""),
    Example("resources.gpu", "a100", "as the site calls it"),
    Example("resources.tasks", 4, "how often the command starts on each node, for launch per-rank"),
    Example("resources.cpus", 8, 'or "auto": the site\'s share for the GPUs'),
    Example("resources.memory", "32G", 'or "auto": the share that goes with the GPUs or CPUs'),
    Example("resources.memory_per_gpu", "10G", "instead of memory"),
    Example("resources.disk", "300G", "room on each node's own disk"),
    Example("resources.time", "3h", "3d, 90m, 1-12:00:00; by default one hour"),
    Example("env.modules", ["python/3.11", "scipy-stack"], "loaded before the command"),
    Example("env.venv", "/home/me/my-project/.venv", "by default the active one, or .venv in this folder"),
    Example("env.requirements", ["requirements.txt"], "made once as one file, and put on every node's own disk"),
    Example("env.python", "3.11", "of that environment"),
    Example("env.wheels", "wheels", "a folder of wheels that travels along, for what the site lacks"),
    Example("env.build", "in-job", "on every node anew; by default once"),
    Example("env.form", "tar", "or squashfs; by default what the nodes can use"),
    Example("env.image", "image.sif", "run in a container: a file, a folder, docker://...; then leave `venv` out"),
    Example("env.runtime", "apptainer", "what makes the container; by default what the site has"),
    Example("env.binds", ["/project/shared"], "what the container sees beside the run's own folders"),
    Example("env.view", "default", "one of the views of a uenv"),
    Example("env.variables", {"NCCL_DEBUG": "WARN"}, "set for the program"),
    Example("env.secrets", ["WANDB_API_KEY"], "taken from your shell when you submit; written into no script or log"),
    Example("launch.with", "torchrun", "plain, per-rank, torchrun, mpi ...; by default what the code asks for"),
    Example("launch.line", "mylauncher --node {NODE_RANK} --", "a launcher of your own, once on every node"),
    Example("launch.restarts", 2, "how often torchrun starts all workers anew after one has died"),
    Example("launch.mpi", "pmix", "srun's word for the MPI library, or mpirun; by default the cluster's own"),
    Example("launch.visible", "one", "one: each rank sees its own GPU · all: all of its node"),
    Example("launch.cpu_bind", "cores", "what srun is told with --cpu-bind"),
    Example("launch.gpu_bind", "closest", "what srun is told with --gpu-bind: each rank sees only the GPUs near it"),
    Example("launch.mps", True, "processes that share a GPU work on it at once, by NVIDIA's MPS, not in turn"),
    Example("launch.preflight", True, "look at every node before the ranks start: disk, GPUs, and whether they meet"),
    Example("launch.exclude_bad_nodes", False, "false: a node that failed the run is not left out of its next attempt"),
    Example("launch.quiet", "30m", "so long without a line and without work is told as a hang"),
    Example("checkpoint.pattern", "*.pt", "what the program writes into {checkpoints}"),
    Example("checkpoint.resume", "--load {latest}", "added to the command as soon as there is a checkpoint"),
    Example("checkpoint.warn", "5m", "how long before the end the program is told (SIGUSR1, and $VOY_STOP_FILE)"),
    Example("checkpoint.signal", "USR2", "what it is told with, if it catches that"),
    Example("checkpoint.chain", "auto", "cut a long run into pieces that fit the queue; or 10, or 24h"),
    Example("checkpoint.by", "array", "how one piece follows the other; successors, requeue"),
    Example("checkpoint.keep", 3, "so many checkpoints stay"),
    Example("checkpoint.progress", "epoch (\\d+)/(\\d+)", "read from the log: how much is done, of how much"),
    Example("checkpoint.finished", "final.pt", "when this file appears, all is done"),
    Example("retry.failures", 2, "so often it is started again after a failure"),
    Example("retry.memory", 1.5, "once more with so much more, after a lack of memory"),
    Example("retry.time", 1.5, "the same when its time was up, for a run that is not cut into pieces"),
    Example("results.save", ["figures/", "*.csv"], "from the node's own disk back to scratch, whatever the end"),
    Example("results.every", "30m", "also while it runs; by default every ten minutes"),
    Example("snapshot.include", ["weights/small.pt"], "travels although it looks like data, or like a secret"),
    Example("snapshot.exclude", ["data", "*.log"], "stays here; what git ignores stays anyway"),
    Example("snapshot.limit", "500M", "how large the code may be; by default 100M"),
    Example("check.ignore", ["many-small-files"], "rules that do not count here"),
)

_TABLES = {
    "": "",
    "resources": "# on each node, where a number could be for each node",
    "env": "# what the program finds around it; nothing else of your shell comes along",
    "launch": "# how the command is started",
    "checkpoint": "",
    "retry": "",
    "results": "",
    "snapshot": "# the code that travels; `voy plan --files` lists it",
    "check": "# `voy check`",
}


def document(found: Found) -> str:
    lines = [
        "# What Voyageur knows of this project. Every line may go: everything has a default.",
        "# `voy plan` shows what comes of it, with the reason for every decision.",
        "",
    ]
    for table, title in _TABLES.items():
        lines += _table(table, title, found)
    lines += [*_sites(found), *_experiments(found)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(table: str, title: str, found: Found) -> Iterator[str]:
    if table:
        yield _lined(f"[{table}]", title.removeprefix("# "))
    yield from _remarks(found, table or "command")
    for example in EXAMPLES:
        if example.key.rpartition(".")[0] == table:
            yield _entry(example, found)
    yield ""


def _entry(example: Example, found: Found) -> str:
    clue = found.get(example.key)
    name = example.key.rpartition(".")[2]
    if clue is None or (clue.on_cluster and clue.sure):
        return _lined(f"# {name} = {_toml(example.value)}", example.what)
    mark = "" if clue.sure else "# "
    return _lined(f"{mark}{name} = {_toml(clue.value)}", clue.because)


def _sites(found: Found) -> Iterator[str]:
    live = found.for_cluster
    if live:
        yield _lined("[sites.slurm]", "only there; `voy run` on your own machine does without")
        yield from _remarks(found, "sites")
        yield from (_lined(f"{clue.key} = {_toml(clue.value)}", clue.because) for clue in live)
    else:
        yield from _remarks(found, "sites")
        yield _lined("# [sites.narval]", "what is only true on one cluster: any key from above")
        yield '# account = "def-prof"'
    yield ""


def _experiments(found: Found) -> Iterator[str]:
    if not found.experiments:
        yield _lined(
            "# [experiment.baseline]",
            "`voy submit -e baseline`: any key from above, laid over it; -e alone only names the run",
        )
        yield '# command = "python train.py --lr 0.1 --out {checkpoints}"'
        return
    for name, clues in found.experiments.items():
        yield _lined(f"# [experiment.{_key(name)}]", f"`voy submit -e {name}`: any key, laid over those above")
        yield from (_lined(f"# {clue.key} = {_toml(clue.value)}", clue.because) for clue in clues)
        yield ""


def _remarks(found: Found, place: str) -> Iterable[str]:
    return (f"# {_plain(text)}" for text in found.remarks.get(place, ()))


def _lined(text: str, what: str) -> str:
    return f"{text:<{_COLUMN}}  # {_plain(what)}" if what else text


def _plain(text: str) -> str:
    """A comment ends with its line, and TOML wants no control characters even there."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text).encode("utf-8", "replace").decode()


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)
