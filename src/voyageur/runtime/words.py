"""Placeholders in the user's command: {checkpoints}, {scratch}, {tmp}, {run}. Other braces are the program's own."""

import re
from typing import List, Mapping

VARIABLE_OF = {
    "checkpoints": "VOY_CHECKPOINTS",
    "scratch": "scratch_dir",
    "tmp": "VOY_TMP",
    "run": "VOY_RUN",
}
_PLACEHOLDER = re.compile(r"\{\{(%(names)s)\}\}|\{(%(names)s)\}" % {"names": "|".join(VARIABLE_OF)})


def fill(command: List[str], environment: Mapping[str, str]) -> List[str]:
    """`{{tmp}}` stays `{tmp}` for programs that use the same braces."""

    def value(match: "re.Match[str]") -> str:
        return "{%s}" % match.group(1) if match.group(1) else environment[VARIABLE_OF[match.group(2)]]

    return [_PLACEHOLDER.sub(value, word) for word in command]
