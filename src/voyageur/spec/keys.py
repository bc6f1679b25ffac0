"""Every key a user may write, and how its text becomes a value. A key that is not here is an error."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterable
from typing import Any

from voyageur.spec.data import datasets
from voyageur.spec.model import ChainWish
from voyageur.units import Duration, Size

Reader = Callable[[Any], Any]


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is wanted, not {value!r}")
    if not value.strip():
        raise ValueError("it is empty")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise ValueError("it holds a line break or another control character")
    return value


def word(value: Any) -> str:
    """One word for a flag of Slurm's."""
    if re.search(r"\s", text(value)):
        raise ValueError("it must be one word, without spaces")
    return str(value)


def name(value: Any) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", str(value)):
        raise ValueError("a name is up to 64 letters, digits, '.', '_' and '-', and starts with a letter or digit")
    return str(value)


def truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    spelled = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(value).lower() not in spelled:
        raise ValueError("true or false is wanted")
    return spelled[str(value).lower()]


def count(least: int) -> Reader:
    def read(value: Any) -> int:
        digits = str(value).strip()
        if isinstance(value, bool) or not re.fullmatch(r"-?\d+", digits):
            raise ValueError(f"a whole number is wanted, not {value!r}")
        if int(digits) < least:
            raise ValueError(f"it must be at least {least}")
        return int(digits)

    return read


def one_of(*words: str) -> Reader:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(f"one of these is wanted: {', '.join(words)}")
        return str(value)

    return read


def or_auto(reader: Reader) -> Reader:
    """`auto` leaves the value to the site's ratio."""
    return lambda value: None if value == "auto" else reader(value)


def duration(value: Any) -> Duration:
    return Duration.parse(str(value))


def size(value: Any) -> Size:
    return Size.parse(str(value))


def texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list | tuple):
        raise ValueError("a list of texts is wanted")
    return tuple(text(item) for item in value)


def binds(value: Any) -> tuple[str, ...]:
    """`/data`, or `/data:/elsewhere` for another name inside."""
    for item in texts(value):
        parts = item.split(":")
        if len(parts) > 2 or not all(re.match(r"[/~$]", part) for part in parts) or "," in item:
            raise ValueError(f"{item!r} is no folder's whole path, nor two with a colon between them")
    return texts(value)


def command(value: Any) -> tuple[str, ...]:
    """A list arrives byte for byte; a text is cut into words as a shell would, and nothing more."""
    if isinstance(value, str):
        try:
            value = shlex.split(value, comments=True)
        except ValueError as problem:
            raise ValueError(f"its quotes do not close: {problem}") from None
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError("a command is a text or a list of texts")
    if not value or not value[0].strip():
        raise ValueError("it is empty")
    if any("\0" in item for item in value):
        raise ValueError("it holds a NUL byte, which no program can receive")
    return tuple(value)


def variables(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise ValueError("a table of names and texts is wanted")
    wrong = [key for key in value if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no name for an environment variable")
    if any("\0" in str(item) for item in value.values()):
        raise ValueError("a value holds a NUL byte, which no program can receive")
    taken = [key for key in value if key.startswith(("VOY_", "SLURM_"))]
    if taken:
        raise ValueError(f"{taken[0]!r} is a name that the run sets itself")
    return {key: _as_text(item) for key, item in value.items()}


def _as_text(value: str | float) -> str:
    """As it was written: TOML's `true` is not Python's `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def variable_names(value: Any) -> tuple[str, ...]:
    return tuple(variables(dict.fromkeys(texts(value), "")))


def python_version(value: Any) -> str:
    if not re.fullmatch(r"3\.\d{1,2}(\.\d{1,2})?", str(value)):
        raise ValueError('a version like "3.11" is wanted')
    return str(value)


def chain(value: Any) -> ChainWish:
    """`auto`, a number of pieces, or how long one is."""
    if value == "auto":
        return ChainWish()
    if re.fullmatch(r"\s*\d+\s*", str(value)) and not isinstance(value, bool):
        return ChainWish(pieces=count(1)(value))
    return ChainWish(piece=duration(value))


def file_pattern(value: Any) -> str:
    if "/" in text(value):
        raise ValueError("it names files in the folder of checkpoints, so it has no `/`")
    return str(value)


def progress(value: Any) -> str:
    try:
        groups = re.compile(text(value)).groups
    except re.error as problem:
        raise ValueError(f"no regular expression: {problem}") from None
    if groups not in (1, 2):
        raise ValueError("one group for what is done, and one for the total if the line tells it")
    return str(value)


def factor(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError("a number like 1.5 is wanted") from None
    if not 1 < number <= 4:
        raise ValueError("more than 1 and at most 4")
    return number


KEYS: dict[str, Reader] = {
    "command": command,
    "experiment": name,
    "project": name,
    "site": word,
    "account": word,
    "partition": word,
    "qos": word,
    "constraint": text,
    "scratch": text,
    "requeue": truth,
    "resources.nodes": count(1),
    "resources.gpus": count(0),
    "resources.gpu": or_auto(word),
    "resources.tasks": count(1),
    "resources.cpus": or_auto(count(1)),
    "resources.memory": or_auto(size),
    "resources.memory_per_gpu": size,
    "resources.disk": size,
    "resources.time": duration,
    "env.modules": texts,
    "env.venv": text,
    "env.python": python_version,
    "env.requirements": texts,
    "env.wheels": text,
    "env.build": one_of("once", "in-job"),
    "env.form": one_of("auto", "tar", "squashfs"),
    "env.image": word,
    "env.runtime": word,
    "env.binds": binds,
    "env.view": word,
    "env.variables": variables,
    "env.secrets": variable_names,
    "launch.with": word,
    "launch.line": command,
    "launch.restarts": count(0),
    "launch.mpi": word,
    "launch.visible": one_of("all", "one"),
    "launch.cpu_bind": word,
    "launch.gpu_bind": word,
    "launch.mps": or_auto(truth),
    "launch.preflight": truth,
    "launch.exclude_bad_nodes": truth,
    "launch.quiet": duration,
    "checkpoint.pattern": file_pattern,
    "checkpoint.resume": text,
    "checkpoint.warn": duration,
    "checkpoint.signal": one_of("USR1", "USR2", "TERM", "INT", "HUP"),
    "checkpoint.chain": chain,
    "checkpoint.by": one_of("auto", "array", "requeue", "successors"),
    "checkpoint.keep": count(1),
    "checkpoint.progress": progress,
    "checkpoint.finished": file_pattern,
    "retry.failures": count(0),
    "retry.memory": factor,
    "retry.time": factor,
    "data": datasets,
    "results.save": texts,
    "results.every": duration,
    "snapshot.include": texts,
    "snapshot.exclude": texts,
    "snapshot.limit": size,
    "check.ignore": texts,
}

# What VOY_* may set: the words people change from one shell to the next.
VARIABLES = {
    "VOY_EXPERIMENT": "experiment",
    "VOY_SITE": "site",
    "VOY_ACCOUNT": "account",
    "VOY_PARTITION": "partition",
    "VOY_QOS": "qos",
    "VOY_CONSTRAINT": "constraint",
    "VOY_SCRATCH": "scratch",
    "VOY_NODES": "resources.nodes",
    "VOY_GPUS": "resources.gpus",
    "VOY_GPU": "resources.gpu",
    "VOY_TASKS": "resources.tasks",
    "VOY_CPUS": "resources.cpus",
    "VOY_MEMORY": "resources.memory",
    "VOY_DISK": "resources.disk",
    "VOY_TIME": "resources.time",
    "VOY_LAUNCH": "launch.with",
}


def nearest(wrong: str, right: Iterable[str]) -> str | None:
    """The word that was probably meant, in capitals or not; never the wrong one itself."""
    others = {word.lower(): word for word in right if word != wrong}
    found = difflib.get_close_matches(wrong.lower(), list(others), n=1, cutoff=0.6)
    return others[found[0]] if found else None


def nearest_variable(wrong: str) -> str | None:
    """Compared without the `VOY_` that all of them share."""
    guess = nearest(wrong.removeprefix("VOY_"), [name.removeprefix("VOY_") for name in VARIABLES])
    return f"VOY_{guess}" if guess else None
