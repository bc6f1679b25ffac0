"""What may be charged, asked before planning, and what follows from it for where the files go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voyageur.commands import session
from voyageur.errors import SiteError
from voyageur.units import Duration

if TYPE_CHECKING:
    from voyageur.allowance import Account, Balance
    from voyageur.site import Site
    from voyageur.spec import Spec

_PATIENCE = Duration(5)  # a controller or a command that hangs must not keep people from submitting


def ask_allowance(site: Site) -> tuple[tuple[Account, ...], tuple[Balance, ...]]:
    """Nothing where the site is not the cluster that this machine belongs to: there nobody can be asked."""
    if site.engine == "local" or not session.is_here(site):
        return (), ()
    from voyageur.questions.accounts import ask_accounts
    from voyageur.questions.balances import ask_balances

    charged = ask_accounts(session.here(), _PATIENCE, in_full=False)
    told = ask_balances(session.here(), site, _PATIENCE)
    return charged.accounts, (*charged.balances, *(balance for one in told for balance in one.balances))


def scratch_of(spec: Spec, site: Site, accounts: tuple[Account, ...]) -> str:
    """Some sites have a folder for each account and none for each user; empty where the account is not known."""
    scratch = site.storage.scratch
    if "{account}" not in scratch:
        return scratch
    account = spec.account or _likely_account(spec, site, accounts)
    return scratch.replace("{account}", account) if account else ""


def _likely_account(spec: Spec, site: Site, accounts: tuple[Account, ...]) -> str | None:
    from voyageur.plan import choose_account

    gpus = spec.resources.gpus or int(bool(spec.resources.gpu))
    try:
        return choose_account(site, accounts, gpus=gpus).value
    except SiteError:  # the plan says the same, with more to it
        return None
