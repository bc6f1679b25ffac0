"""Which account is charged: the user's word, else of those that may be charged the one with the best fair share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from voyageur.allowance import Account, Balance
from voyageur.errors import SiteError
from voyageur.plan.model import Choice, Cost, Surroundings
from voyageur.plan.reasons import asked
from voyageur.site import Partition, Policy, Site
from voyageur.spec import Spec
from voyageur.spec.keys import nearest

_SILENT = (Policy.FORBIDDEN, Policy.IGNORED)
_KIND = re.compile(r"[-_](cpu|gpu)$")


def decide_account(
    spec: Spec, site: Site, around: Surroundings, partition: Partition | None = None, gpus: int = 0
) -> Choice[str | None]:
    if spec.account:
        _check_known(spec, site, around.accounts)
        return Choice(value=spec.account, because=asked(spec, "account"))
    return choose_account(site, around.accounts, partition, gpus)


def choose_account(
    site: Site, accounts: Sequence[Account], partition: Partition | None = None, gpus: int = 0
) -> Choice[str | None]:
    """For a wish that names none."""
    if site.engine == "local" or site.request.account in _SILENT:
        return Choice(value=None, because=f"{site.name} wants none")
    if not accounts:
        return _nothing_known(site)
    fitting = fitting_accounts(accounts, site, partition, gpus)
    if len(fitting) == 1:
        because = "the only one that you may charge" if len(accounts) == 1 else "the only one that fits this job"
        return Choice(value=spelled(fitting[0].name, site), because=because)
    return _best(fitting, site) if fitting else _none_fits(site, accounts)


def fitting_accounts(
    accounts: Sequence[Account], site: Site, partition: Partition | None = None, gpus: int = 0
) -> list[Account]:
    """Those that Slurm would take for a job in this partition, and whose name says nothing against it."""
    wanted = "gpu" if gpus else "cpu"
    return [
        account
        for account in accounts
        if _form_fits(account.name, site, partition)
        and _kind(account.name) in (None, wanted)
        and (not account.partitions or not partition or (partition.flag or partition.name) in account.partitions)
    ]


def spelled(account: str, site: Site) -> str:
    """As sbatch wants it: the Alliance's Slurm adds `_cpu` or `_gpu` by itself, and its own names show them."""
    form, plain = site.request.account_form, re.sub(r"_(cpu|gpu)$", "", account)
    return plain if form and not re.fullmatch(form, account) and re.fullmatch(form, plain) else account


def _form_fits(name: str, site: Site, partition: Partition | None) -> bool:
    form = site.request.account_form
    own = partition.account_form if partition else None
    return all(re.fullmatch(pattern, spelled(name, site)) for pattern in (form, own) if pattern)


def _kind(name: str) -> str | None:
    found = _KIND.search(name)
    return found[1] if found else None


def _best(fitting: Sequence[Account], site: Site) -> Choice[str | None]:
    ranked = [account for account in fitting if account.fair_share is not None]
    names = ", ".join(dict.fromkeys(spelled(account.name, site) for account in fitting))
    if not ranked:
        return _cannot_choose(fitting, names, site)
    best = max(ranked, key=lambda account: (account.fair_share or 0.0, account.default))
    share = fair_share_text(best.fair_share)
    because = f"the best fair share ({share}) of {names}; `voy site accounts` shows them"
    return Choice(value=spelled(best.name, site), because=because)


def fair_share_text(level: float | None) -> str:
    """Slurm's `inf` is nothing used yet."""
    if level is None:
        return "not known"
    return "nothing used yet" if level == float("inf") else f"{level:.2f}"


def what_is_left(cost: Cost | None, account: str | None, site: Site, balances: Sequence[Balance]) -> Balance | None:
    """Of the account that is charged, counted as the cost is; of several the one with the least."""
    if cost is None or account is None:
        return None
    fitting = [
        balance
        for balance in balances
        if balance.left is not None
        and account in (balance.account, spelled(balance.account, site))
        and balance.unit == cost.unit.value
    ]
    return min(fitting, key=lambda balance: balance.left or 0.0, default=None)


def _cannot_choose(fitting: Sequence[Account], names: str, site: Site) -> Choice[str | None]:
    """Where Slurm has a default it is as good a choice as any; where it must be told, people must say."""
    if site.request.account is Policy.OPTIONAL:
        return Choice(value=None, because=f"none named: of {names} your default is charged")
    raise SiteError(
        f"{site.name} wants to know which account to charge, and nothing is known of their fair shares",
        facts=[f"you may charge: {names}"],
        hint=f"name one with `--account {spelled(fitting[0].name, site)}`, or once for all under [sites.{site.name}]",
    )


def _none_fits(site: Site, accounts: Sequence[Account]) -> Choice[str | None]:
    names = ", ".join(account.name for account in accounts)
    if site.request.account is Policy.OPTIONAL:
        return Choice(value=None, because=f"none named: of {names} your default is charged")
    form = site.request.account_example or site.request.account_form
    raise SiteError(
        f"none of your accounts can be charged for this job on {site.name}",
        facts=[f"you have: {names}", *([f"wanted: one like {form}"] if form else [])],
        hint="name one all the same with `--account`, or ask who owns the allocation to add you",
    )


def _nothing_known(site: Site) -> Choice[str | None]:
    if site.request.account is Policy.REQUIRED:
        raise SiteError(
            f"{site.name} wants to know which account to charge",
            hint=f"name it with `--account`, or once for all under [sites.{site.name}]",
        )
    return Choice(value=None, because="none named: your default account is charged")


def _check_known(spec: Spec, site: Site, accounts: Sequence[Account]) -> None:
    """Slurm writes all names in small letters, and takes them in any."""
    known = {name for account in accounts for name in (account.name, spelled(account.name, site))}
    if not known or str(spec.account).lower() in {name.lower() for name in known}:
        return
    guess = nearest(str(spec.account), known)
    listed = ", ".join(dict.fromkeys(spelled(account.name, site) for account in accounts))
    raise SiteError(
        f"you may not charge the account `{spec.account}` on {site.name}",
        facts=[asked(spec, "account"), f"you may charge: {listed}"],
        hint=f"did you mean `--account {guess}`?" if guess else "`voy site accounts` tells more of them",
    )
