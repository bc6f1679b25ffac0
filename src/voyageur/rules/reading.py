"""What rules read out of a plan: its flags, the queue it goes to, the places its paths lie in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from voyageur.rules.model import Case
from voyageur.site import Gpu, Partition, Place
from voyageur.units import Size


def flags(case: Case) -> list[str]:
    return [directive.flag for directive in case.plan.directives]


def value_of(case: Case, name: str) -> str | None:
    """What a flag of sbatch is given in this plan; empty for one without a value, None where it is not there."""
    for flag in flags(case):
        head, _, value = flag.partition("=")
        if head == name:
            return value
    return None


def is_cluster(case: Case) -> bool:
    return case.site.engine == "slurm"


# ── amounts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def cpus_a_node(case: Case) -> int:
    return case.plan.shape.cpus_per_task.value * case.plan.shape.tasks_per_node.value


def partition_of(case: Case) -> Partition | None:
    """The queue that the plan has chosen, also where sbatch is not told its name."""
    return next((queue for queue in case.site.partitions if queue.name == case.plan.queue.place), None)


def gpu_of(case: Case) -> Gpu | None:
    queue, shape = partition_of(case), case.plan.shape
    return queue.gpu(shape.gpu.value, shape.gpus.value) if queue and shape.gpus.value else None


def array_tasks(case: Case) -> int:
    """As many jobs as Slurm counts: an array's tasks one by one, any other job as one."""
    array = value_of(case, "--array")
    if array is None:
        return 1
    return sum(_tasks_in(part) for part in array.partition("%")[0].split(",")) or 1


def _tasks_in(part: str) -> int:
    match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
    if not match:
        return 0
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    return max(0, (last - first) // max(1, step) + 1)


def gpus_text(case: Case) -> str:
    count = case.plan.shape.gpus.value
    return f"{count} GPU{'' if count == 1 else 's'}"


def in_mebibytes(size: Size) -> str:
    return f"{size.mebibytes}M"


def of_memory(size: Size) -> str:
    """As people wrote it, and as Slurm counts it."""
    told = in_mebibytes(size)
    return f"{told} of memory" if str(size) == told else f"{size} of memory ({told})"


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────


def shell_words(case: Case) -> list[str]:
    """The words of the command, those inside `bash -c "..."` too."""
    return [part for word in case.plan.command for part in re.split(r"[\s;|&()]+", word) if part]


def starts(case: Case, *programs: str) -> str | None:
    """The first of these programs that is a word of the command."""
    return next((word for word in shell_words(case) if PurePosixPath(word).name in programs), None)


# ── places ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def place_of(case: Case, path: str) -> Place | None:
    """The innermost of the site's places that holds the path. None also when nobody can tell."""
    whole = expanded(case, path)
    if whole is None or not whole.startswith("/"):
        return None
    fitting = [(len(root), place) for place, root in _roots(case) if lies_in(whole, root)]
    return max(fitting, key=lambda one: one[0])[1] if fitting else None


def lies_in(path: str, root: str) -> bool:
    return (path + "/").startswith(root.rstrip("/") + "/")


def _roots(case: Case) -> Iterator[tuple[Place, str]]:
    for place in case.site.storage.places:
        root = expanded(case, place.path)
        if root and root != "/":
            yield place, root


def expanded(case: Case, path: str) -> str | None:
    """With the shell's variables and the account filled in; None if one of them is not known here."""
    known, path = case.known.environment, re.sub(r"^~(?=/|$)", "$HOME", path)
    if "{account}" in path:
        if not case.plan.account.value:
            return None
        path = path.replace("{account}", case.plan.account.value)
    if any(name not in known for name in variables_in(path)):
        return None
    return _VARIABLE.sub(lambda match: known[match[1] or match[2]], path)


def variables_in(path: str) -> list[str]:
    return [match[1] or match[2] for match in _VARIABLE.finditer(path)]


_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def paths_in_command(case: Case) -> Iterator[str]:
    """Words, or what follows their `=`, that name a place from the root or from a variable."""
    for word in case.plan.command:
        value = word.partition("=")[2] if word.startswith("-") else word
        if value.startswith(("/", "~", "$")):
            yield value
