"""`voy site accounts`: what may be charged here, with which fair share, and which one a plan would choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from voyageur.commands import completing
from voyageur.show.output import aside, emit, emit_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voyageur.allowance import Account
    from voyageur.site import Site


@click.command("accounts")
@click.option(
    "--on",
    "site_name",
    metavar="VALUE",
    help="the cluster, if it is not plain `slurm`",
    shell_complete=completing.one_of(completing.sites),
)
@click.option(
    "-g", "--gpus", type=click.IntRange(min=0), default=0, help="which one a job with GPUs would be charged to"
)
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(site_name: str | None, gpus: int, as_json: bool) -> None:
    """Show what may be charged, fair shares, and which one a plan would choose."""
    from voyageur.commands.asking import site_to_ask
    from voyageur.commands.session import here
    from voyageur.questions.accounts import ask_accounts
    from voyageur.show.allowance import account_document, accounts_text, note
    from voyageur.show.style import has_colours

    site = site_to_ask(site_name)
    charged = ask_accounts(here())
    chosen, because = _choice(site, charged.accounts, gpus)
    if as_json:
        emit_json(
            {
                "site": site.name,
                "accounts": [account_document(account) for account in charged.accounts],
                "balances": list(charged.balances),
                "chosen": {"value": chosen, "because": because},
                "problems": list(charged.problems),
            }
        )
        return
    if charged.accounts:
        emit(accounts_text(charged.accounts, charged.balances, chosen, has_colours()))
        emit(f"\n{chosen or 'none'}: {because}")
    else:
        emit("no account is known: this cluster keeps none, or does not say")
    for problem in charged.problems:
        aside(note(problem, has_colours()))


def _choice(site: Site, accounts: Sequence[Account], gpus: int) -> tuple[str | None, str]:
    """As a plan would choose that names none; why not, where it could not."""
    from voyageur.errors import SiteError
    from voyageur.plan import choose_account

    try:
        choice = choose_account(site, accounts, gpus=gpus)
    except SiteError as problem:
        return None, problem.what
    return choice.value, choice.because
