"""`voy budget`: what is left of your allocations, as the cluster's and the site's own commands say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from voyageur.commands import completing
from voyageur.show.output import aside, emit, emit_json

if TYPE_CHECKING:
    from datetime import datetime

    from voyageur.questions.accounts import Charged
    from voyageur.questions.balances import Told
    from voyageur.slurm_text import Use


@click.command("budget")
@click.option(
    "--on",
    "site_name",
    metavar="VALUE",
    help="the cluster, if it is not plain `slurm`",
    shell_complete=completing.one_of(completing.sites),
)
@click.option(
    "--days", type=click.IntRange(1, 3660), default=30, show_default=True, help="count what was used in these"
)
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(site_name: str | None, days: int, as_json: bool) -> None:
    """Show what is left of your allocations, and what you used lately."""
    from datetime import datetime, timedelta

    from voyageur.commands.asking import site_to_ask
    from voyageur.commands.session import here
    from voyageur.questions.accounts import ask_accounts
    from voyageur.questions.balances import ask_balances, ask_use

    site = site_to_ask(site_name)
    since = datetime.now() - timedelta(days=days)
    charged, told = ask_accounts(here()), ask_balances(here(), site)
    uses, problem = ask_use(here(), since)
    if as_json:
        emit_json(_document(site.name, charged, told, uses, since, problem))
    else:
        _say(charged, told, uses, days, problem)


def _document(
    site: str, charged: Charged, told: list[Told], uses: list[Use], since: datetime, problem: str
) -> dict[str, Any]:
    from voyageur.show.allowance import account_document

    return {
        "site": site,
        "accounts": [account_document(account) for account in charged.accounts],
        "balances": [*charged.balances, *(balance for one in told for balance in one.balances)],
        "used": {"since": since.isoformat(timespec="seconds"), "rows": uses},
        "unread": {one.command: list(one.unread) for one in told if one.unread},
        "problems": [*charged.problems, *(one.problem for one in told if one.problem), *filter(None, [problem])],
    }


def _say(charged: Charged, told: list[Told], uses: list[Use], days: int, problem: str) -> None:
    from voyageur.show.allowance import accounts_text, balances_text, note, title, use_text
    from voyageur.show.style import has_colours

    colours = has_colours()
    balances = [*charged.balances, *(balance for one in told for balance in one.balances)]
    parts = []
    if balances:
        parts.append(balances_text(balances, colours))
    if charged.accounts:
        parts.append(accounts_text(charged.accounts, (), None, colours))
    if uses:
        days_text = "the last day" if days == 1 else f"the last {days} days"
        heading = title(f"used in {days_text}, up to the last full hour:", colours)
        parts.append(f"{heading}\n{use_text(uses, colours)}")
    for one in told:
        if one.unread:
            heading = title(f"`{one.command}` says, and it could not be read:", colours)
            parts.append("\n".join([heading, *(f"  {line}" for line in one.unread)]))
    emit("\n\n".join(parts) or "nothing is known of what you may use: this cluster counts nothing, or does not say")
    for text in (*charged.problems, *(one.problem for one in told), problem):
        if text:
            aside(note(text, colours))
