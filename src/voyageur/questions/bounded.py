"""A question to a program that may not be there, may be a script of any quality, and may never answer."""

from __future__ import annotations

from collections.abc import Sequence

from voyageur.hosts import Answer, Host
from voyageur.questions.accounts import why_not
from voyageur.units import Duration


def ask_program(host: Host, argv: Sequence[str], patience: Duration, read: str = "") -> Answer | None:
    """None when there is no such program."""
    if not host.has(argv[0]):
        return None
    try:
        return host.run(argv, patience=patience, read=read)
    except OSError as problem:
        return Answer(code=127, output="", errors=problem.strerror or str(problem))


def why_nothing(argv: Sequence[str], answer: Answer, patience: Duration) -> str:
    """One line: what came instead of an answer."""
    if answer.code == 0:
        return f"{argv[0]} said nothing"
    return why_not(argv[0], answer, patience)
