"""Old sbatch scripts: what they ask Slurm for, said in our words. Counts become counts per node."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

from voyageur.project.command_text import Line, find_command, lines_of
from voyageur.project.files import Tree
from voyageur.project.model import Clue, is_right
from voyageur.units import Duration, Size, UnitError

_SHORT = {
    "t": "time", "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "A": "account", "p": "partition", "q": "qos",
    "C": "constraint", "G": "gpus", "J": "job-name", "o": "output", "e": "error", "D": "chdir", "a": "array",
}  # fmt: skip
_ALIASES = {"tasks-per-node": "ntasks-per-node"}
# What every run has its own of; nobody misses these.
_SILENT = frozenset({"job-name", "output", "error", "chdir", "open-mode", "export", "get-user-env"})
_NEVER_TAKEN = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "PS1")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)


class Option(NamedTuple):
    value: str
    line: int


class Batch(NamedTuple):
    """One script: its #SBATCH options by their long names, and its text."""

    name: str
    options: dict[str, Option]
    text: str

    @property
    def command(self) -> Line | None:
        return find_command(self.text)


def find_batches(tree: Tree) -> list[Batch]:
    """All scripts with #SBATCH lines; the one that looks most like the real work first."""
    found = []
    for name in tree.names:
        if name.endswith((".sh", ".sbatch", ".slurm", ".job", ".bash", ".batch", ".sub")) or "." not in name:
            text = tree.text(name)
            if re.search(r"^#SBATCH\s", text, re.MULTILINE):
                found.append(Batch(name, _options(text), text))
    return sorted(found, key=lambda batch: (batch.command is None, "train" not in batch.name, -len(batch.options)))


def _options(text: str) -> dict[str, Option]:
    found: dict[str, Option] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"#SBATCH\s+(.*)", line):
            found.update({name: Option(value, number) for name, value in _words(match[1])})
    return found


def _words(text: str) -> Iterator[tuple[str, str]]:
    """`-t 3:00` `-t3:00` `--time=3:00` `--time 3:00` `--requeue`, several on a line, a comment behind them."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        words = text.split("#")[0].split()
    while words:
        word = words.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and not word.startswith("--"):
            name, value, equals = word[1:2], word[2:].lstrip("="), word[2:]
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        name = _SHORT.get(name, name)
        yield _ALIASES.get(name, name), value


# ── in our words ─────────────────────────────────────────────────────────────────────────────────────────────────────


def findings_of(batch: Batch) -> Iterator[Clue]:
    for key, option, value in _values(batch):
        said = batch.options[option]
        where = f"{batch.name}:{said.line}, --{option}" + (f"={said.value}" if said.value else "")
        yield Clue(key=key, value=value, because=where, on_cluster=key in _ON_CLUSTER)
    yield from _surroundings(batch)


_ON_CLUSTER = frozenset(
    {"account", "partition", "qos", "constraint", "resources.gpus", "resources.gpu", "resources.memory_per_gpu"}
)


def _values(batch: Batch) -> Iterator[tuple[str, str, Any]]:
    """Key, the option it comes from, value. A placeholder like <account> from a template is no value."""
    said = {name: option.value for name, option in batch.options.items() if not re.search(r"[<>$]", option.value)}
    nodes = _count(said.get("nodes", "1")) or 1
    tasks = _tasks_per_node(said, nodes)
    for option in ("account", "qos", "constraint"):
        if said.get(option):
            yield option, option, said[option]
    if said.get("partition"):
        yield "partition", "partition", said["partition"].split(",")[0]
    if "nodes" in said and nodes > 1:
        yield "resources.nodes", "nodes", nodes
    if tasks > 1:
        yield "resources.tasks", "ntasks-per-node" if "ntasks-per-node" in said else "ntasks", tasks
    if "time" in said:
        yield "resources.time", "time", _time(said["time"])
    if each := _count(said.get("cpus-per-task", "")):
        yield "resources.cpus", "cpus-per-task", each * tasks
    yield from _memory(said, tasks)
    yield from _gpus(said, nodes, tasks)
    for option, value in (("requeue", True), ("no-requeue", False)):
        if option in batch.options:
            yield "requeue", option, value
    if match := re.fullmatch(r"(?:[BR]+:)?\w+@(\d+)", said.get("signal", "")):
        yield "checkpoint.warn", "signal", str(Duration(int(match[1])))


def _count(text: str) -> int:
    """`2` and the lower end of `2-4`; zero when it is no count."""
    match = re.match(r"(\d+)(?:-\d+)?$", text)
    return int(match[1]) if match else 0


def _tasks_per_node(said: dict[str, str], nodes: int) -> int:
    if each := _count(said.get("ntasks-per-node", "")):
        return each
    return max(1, _count(said.get("ntasks", "")) // nodes)


def _time(text: str) -> str:
    """A number alone is minutes, and `1-12` is a day and twelve hours."""
    return f"{text}m" if text.isdigit() else text


def _memory(said: dict[str, str], tasks: int) -> Iterator[tuple[str, str, str]]:
    if "mem" in said:
        yield "resources.memory", "mem", _size(said["mem"])
    elif "mem-per-cpu" in said:
        cpus = (_count(said.get("cpus-per-task", "")) or 1) * tasks
        try:
            total = Size(Size.parse(_size(said["mem-per-cpu"])).bytes * cpus)
        except UnitError:
            return
        yield "resources.memory", "mem-per-cpu", str(total)
    if "mem-per-gpu" in said:
        yield "resources.memory_per_gpu", "mem-per-gpu", _size(said["mem-per-gpu"])


def _size(text: str) -> str:
    """Slurm counts a number alone in mebibytes; its zero means all of the node, which has no word here."""
    return f"{text}M" if text.isdigit() else text


def _gpus(said: dict[str, str], nodes: int, tasks: int) -> Iterator[tuple[str, str, Any]]:
    for option, times, over in (
        ("gpus-per-node", 1, 1),
        ("gres", 1, 1),
        ("gpus-per-task", tasks, 1),
        ("gpus", 1, nodes),
    ):
        asked = [part for part in said.get(option, "").split(",") if option != "gres" or part.startswith("gpu")]
        if asked and asked[0] and (match := _GPUS.fullmatch(asked[0])):
            yield "resources.gpus", option, max(1, int(match["count"] or 1) * times // over)
            if match["model"]:
                yield "resources.gpu", option, match["model"]
            return


_GPUS = re.compile(r"(?:gpu:?)?(?P<model>[A-Za-z][\w.-]*)?:?(?P<count>\d+)?(?:\(S:[\d,-]+\))?")


# ── modules, virtual environment, variables ──────────────────────────────────────────────────────────────────────────


def _surroundings(batch: Batch) -> Iterator[Clue]:
    lines = lines_of(batch.text)
    modules = [name for line in lines for name in _modules(line)]
    if modules:
        because = f"{batch.name}, module load"
        yield Clue(key="env.modules", value=modules, because=because, on_cluster=True)
    for line in lines:
        if match := re.match(r"(?:source|\.)\s+(\S+)/bin/activate\b", line):
            yield _venv(batch, match[1].strip("\"'"))
    variables = dict(pair for line in lines for pair in _exports(line))
    secrets = [name for name in variables if _SECRET.search(name)]
    plain = {name: value for name, value in variables.items() if name not in secrets and "$" not in value}
    if plain:
        yield Clue(key="env.variables", value=plain, because=f"{batch.name}, export")
    if secrets:
        because = f"{batch.name} sets it in the open; export it in your shell instead, its value goes into no file"
        yield Clue(key="env.secrets", value=secrets, because=because, sure=False)


def _modules(line: str) -> list[str]:
    match = re.match(r"(?:module\s+(?:load|add)|ml(?:\s+load)?)\s+(.+)", line.split("#")[0].split("&&")[0])
    names = match[1].split() if match else []
    return [name for name in names if re.fullmatch(r"[\w.+/-]+", name) and not name.startswith("-") and name != "purge"]


def _venv(batch: Batch, written: str) -> Clue:
    path = os.path.expandvars(os.path.expanduser(written))
    usable = os.path.isabs(path) and "$" not in path
    because = f"{batch.name}, source" if usable else f"{batch.name} activates {written}: name it by its whole path"
    return Clue(key="env.venv", value=path, because=because, sure=usable, on_cluster=True)


def _exports(line: str) -> Iterator[tuple[str, str]]:
    match = re.match(r"export\s+([A-Za-z_]\w*)=(.*)", line)
    if not match or match[1] in _NEVER_TAKEN or match[1].startswith(("VOY_", "SLURM_", "SBATCH_", "SRUN_")):
        return
    try:
        words = shlex.split(match[2], comments=True)
    except ValueError:
        return
    if len(words) == 1 and not re.search(r"\$|`", match[2]):
        yield match[1], words[0]
    elif _SECRET.search(match[1]):
        yield match[1], ""


def not_taken(batch: Batch) -> list[str]:
    """Options that have no word here yet, or no value that could be taken."""
    taken = {option for key, option, value in _values(batch) if is_right(key, value)} | {
        "nodes",
        "ntasks",
        "ntasks-per-node",
    }
    left = [(name, option) for name, option in batch.options.items() if name not in taken | _SILENT]
    return [f"--{name}={option.value}" if option.value else f"--{name}" for name, option in left]
