"""Placeholders in the user's command: {checkpoints}, {data.NAME} and others. Other braces are the program's own."""

import re
from typing import Iterable, List, Mapping

VARIABLE_OF = {
    "checkpoints": "VOY_CHECKPOINTS",
    "scratch": "scratch_dir",
    "tmp": "VOY_TMP",
    "run": "VOY_RUN",
}
_NAMES = r"%s|data\.[A-Za-z0-9][A-Za-z0-9_-]*" % "|".join(VARIABLE_OF)
_PLACEHOLDER = re.compile(r"\{\{(%(names)s)\}\}|\{(%(names)s)\}" % {"names": _NAMES})


def fill(command: List[str], environment: Mapping[str, str], data: Mapping[str, str]) -> List[str]:
    """`{{tmp}}` stays `{tmp}` for programs that use the same braces. `data`: where each dataset is."""

    def value(match: "re.Match[str]") -> str:
        if match.group(1):
            return "{%s}" % match.group(1)
        word = match.group(2)
        if word.startswith("data."):
            return data.get(word[len("data.") :], match.group(0))
        return environment[VARIABLE_OF[word]]

    return [_PLACEHOLDER.sub(value, word) for word in command]


def datasets_in(command: Iterable[str]) -> List[str]:
    """The names in its `{data.NAME}`."""
    found = (match.group(2) for word in command for match in _PLACEHOLDER.finditer(word) if match.group(2))
    return [name[len("data.") :] for name in found if name.startswith("data.")]
