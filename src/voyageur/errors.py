"""What can go wrong, and whose turn it is.

    VoyageurError
    ├── SpecError          exit 2   the user's file, flags or command: they can mend it
    │   └── SiteError      exit 2   the site has no such thing, or forbids it
    ├── ClusterError       exit 1   the cluster said no, or did not answer
    └── RunError           exit 1   the run itself failed, or cannot do what was asked of it

Anything else that escapes is our bug: exit 3, with a log to attach.
"""

from __future__ import annotations

from collections.abc import Iterable


def one_line(text: str) -> str:
    """What users named things may hold line breaks and terminal commands; neither may act when it is shown."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class VoyageurError(Exception):
    """Three parts, in this order: what happened, the facts, what to do next."""

    exit_code = 1

    def __init__(self, what: str, *, facts: Iterable[str] = (), hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.facts = tuple(facts)
        self.hint = hint

    def text(self) -> str:
        lines = [f"error: {one_line(self.what)}", *(f"  {one_line(fact)}" for fact in self.facts)]
        if self.hint:
            lines += ["", f"hint: {one_line(self.hint)}"]
        return "\n".join(lines)


class SpecError(VoyageurError):
    exit_code = 2


class SiteError(SpecError):
    pass


class ClusterError(VoyageurError):
    exit_code = 1


class RunError(VoyageurError):
    exit_code = 1
