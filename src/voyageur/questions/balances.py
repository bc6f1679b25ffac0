"""What the site's own balance command and sreport say, each in bounded time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from voyageur import slurm_text
from voyageur.allowance import Balance, balances_from
from voyageur.errors import one_line
from voyageur.hosts import Answer, Host
from voyageur.questions.accounts import user_name, why_not
from voyageur.site import Site
from voyageur.slurm_text import Use
from voyageur.units import Duration

PATIENCE = Duration(10)
_SLURMS_OWN = ("sshare", "sreport", "sacctmgr")
_LONGEST = 200  # lines of an answer that nobody could read


class Told(Struct, frozen=True, kw_only=True):
    """`unread` is the answer itself where it could not be read; `problem` why there is none."""

    command: str
    balances: tuple[Balance, ...] = ()
    unread: tuple[str, ...] = ()
    problem: str = ""


def ask_balances(host: Host, site: Site, patience: Duration = PATIENCE) -> list[Told]:
    return [_ask(host, site, argv, patience) for argv in balance_commands(site)]


def balance_commands(site: Site) -> list[list[str]]:
    """Several may be named, with `;` between them. Those of Slurm's own are asked elsewhere."""
    texts = (site.accounting.balance_command or "").split(";")
    commands = [_words(text) for text in texts if text.strip()]
    return [argv for argv in commands if argv and argv[0] not in _SLURMS_OWN]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _ask(host: Host, site: Site, argv: Sequence[str], patience: Duration) -> Told:
    command = shlex.join(argv)
    try:
        answer = host.run(argv, patience=patience)
    except OSError as problem:
        return Told(command=command, problem=f"{argv[0]}: {problem.strerror}")
    balances = balances_from(argv, answer.output, site.accounting.unit.value, datetime.now())
    if balances:
        return Told(command=command, balances=tuple(balances))
    if not answer.ok:
        return Told(command=command, problem=one_line(why_not(argv[0], answer, patience)), unread=_lines(answer))
    return Told(command=command, unread=_lines(answer))


def _lines(answer: Answer) -> tuple[str, ...]:
    return tuple(one_line(line.rstrip()) for line in answer.output.splitlines() if line.strip())[:_LONGEST]


def ask_use(host: Host, since: datetime, patience: Duration = PATIENCE) -> tuple[list[Use], str]:
    """What this user has used since then, and why it is not known."""
    user = user_name(host, patience)
    argv = slurm_text.report_argv(user, since)
    try:
        answer = host.run(argv, patience=patience)
    except OSError as problem:
        return [], f"sreport: {problem.strerror}"
    if not answer.ok:
        return [], why_not("sreport", answer, patience)
    return slurm_text.report_from(answer.output), ""
