"""Placeholders in the command that look like ours but are not: said in the plan, left alone in the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from voyageur.runtime import resume
from voyageur.runtime.words import VARIABLE_OF
from voyageur.spec.keys import nearest


def check_words(command: Sequence[str]) -> Iterator[str]:
    ours = [*VARIABLE_OF, *resume.WORDS]
    for word in command:
        for inner in re.findall(r"(?<!\{)\{([a-z_.]+)\}(?!\})", word):
            if inner in ours or inner.startswith("data."):
                continue
            if guess := nearest(inner, ours):
                yield f"`{{{inner}}}` in the command is left as it is; did you mean `{{{guess}}}`?"
