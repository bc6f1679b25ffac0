"""Where an attempt goes on from: the newest whole checkpoint, chosen once, said in the log, filled into the command."""

import os
import re
import shlex
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from voyageur.job import checkpoint_files as saved
from voyageur.job.checkpoint_files import MANIFEST, Checkpoint, Choice

WORDS = ("latest", "resume")
_PLACEHOLDER = re.compile(r"\{\{(latest|resume)\}\}|\{(latest|resume)\}")


class Mark(NamedTuple):
    """What tells one checkpoint from another; a file that is written anew under its old name is another."""

    name: str
    written: float


def is_wanted(environment: Mapping[str, str], command: List[str]) -> bool:
    """Where nobody speaks of checkpoints, none is read: a shared folder may hold terabytes of them."""
    if any(environment.get(name) for name in ("VOY_CHECKPOINT_PATTERN", "VOY_RESUME")):
        return True
    if int(environment.get("VOY_PIECES") or 1) > 1 or any(_PLACEHOLDER.search(word) for word in command):
        return True
    return os.path.exists(os.path.join(environment.get("VOY_CHECKPOINTS", ""), MANIFEST))


def choose(environment: Mapping[str, str]) -> Choice:
    pattern = environment.get("VOY_CHECKPOINT_PATTERN") or "*"
    return saved.newest_whole(environment.get("VOY_CHECKPOINTS", ""), pattern)


def newest(environment: Mapping[str, str]) -> Optional[Checkpoint]:
    """The newest, whole or not: did anything appear at all?"""
    pattern = environment.get("VOY_CHECKPOINT_PATTERN") or "*"
    return next(iter(saved.newest_first(environment.get("VOY_CHECKPOINTS", ""), pattern)), None)


def mark_of(checkpoint: Optional[Checkpoint]) -> Optional[Mark]:
    return Mark(checkpoint.name, round(checkpoint.written, 3)) if checkpoint else None


def facts(choice: Choice) -> Dict[str, Any]:
    """For the event log."""
    found: Dict[str, Any] = {"passed_over": [{"name": one.name, "because": why} for one, why in choice.passed_over]}
    if choice.newest:
        found.update(mark_of(choice.newest)._asdict())  # type: ignore[union-attr] # there is one
        if choice.newest.published:
            found["published_by"] = choice.newest.published.get("attempt")
    return found


def sentences(choice: Choice) -> List[str]:
    """What the log says of the choice, newest first."""
    found = ["%s is passed over: %s" % (one.name, why) for one, why in choice.passed_over]
    if choice.newest is None:
        return [*found, "no checkpoint yet: it starts at the beginning"]
    attempt = (choice.newest.published or {}).get("attempt")
    by = ", published by attempt %s" % attempt if attempt else ""
    return [*found, "it goes on from %s%s" % (choice.newest.name, by)]


def fill(command: List[str], environment: Mapping[str, str]) -> List[str]:
    """`{latest}` and `{resume}`. The resume text comes in as its own words, only when there is a checkpoint; at the end
    when the command has no place for it."""
    latest, text = environment.get("VOY_LATEST", ""), environment.get("VOY_RESUME", "")
    words = [word.replace("{latest}", latest) for word in shlex.split(text)] if latest else []
    placed = any(match.group(2) == "resume" for word in command for match in _PLACEHOLDER.finditer(word))

    def value(match: "re.Match[str]") -> str:
        if match.group(1):
            return "{%s}" % match.group(1)
        return latest if match.group(2) == "latest" else " ".join(shlex.quote(word) for word in words)

    filled: List[str] = []
    for word in command:
        filled.extend(words if word == "{resume}" else [_PLACEHOLDER.sub(value, word)])
    return filled if placed else filled + words
