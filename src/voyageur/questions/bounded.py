"""A question to a program of the site, which may be a script of any quality: it ends in time, with its children."""

from __future__ import annotations

from collections.abc import Sequence

from voyageur.hosts import Answer, Host
from voyageur.units import Duration

_SPARE = 5  # seconds that `timeout` itself is given to end what it started
_RAN_OUT, _KILLED = 124, 137


def ask_program(host: Host, argv: Sequence[str], patience: Duration, read: str = "") -> Answer | None:
    """None when there is no such program. `timeout` ends the whole group of processes; ending a script alone would
    leave what it waits for."""
    if not host.has(argv[0]):
        return None
    bounded = ["timeout", "--kill-after=2", str(patience.seconds), *argv]
    try:
        answer = host.run(bounded, patience=Duration(patience.seconds + _SPARE), read=read)
    except OSError as problem:
        return Answer(code=127, output="", errors=problem.strerror or str(problem))
    if answer.code in (_RAN_OUT, _KILLED):
        return Answer(code=None, output=answer.output, errors=answer.errors)
    return answer


def why_nothing(argv: Sequence[str], answer: Answer, patience: Duration) -> str:
    """One line: what came instead of an answer."""
    if answer.code is None:
        return f"{argv[0]} gave no answer in {patience}"
    lines = [line.strip() for line in answer.errors.splitlines() if line.strip()]
    return lines[-1] if lines else f"{argv[0]} said nothing, exit code {answer.code}"
