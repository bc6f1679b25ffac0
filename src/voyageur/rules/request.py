"""Which cluster, who pays, and which queue."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.plan.account import spelled
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import is_cluster, partition_of, value_of
from voyageur.site import Policy, Purpose, Site, Status
from voyageur.spec.keys import nearest

RETIRED = Rule(
    id="retired-site",
    numbers=(),
    level=Level.ERROR,
    because="nothing runs there any more",
    fix="choose another cluster with `--on`",
    source="the cluster's own page",
)
ACCOUNT = Rule(
    id="account",
    numbers=(5,),
    level=Level.ERROR,
    because="Slurm refuses a job when it cannot tell who pays for it",
    fix="name the account with `--account`",
    source="Alliance documentation: Running jobs",
)
ACCOUNT_FORM = Rule(
    id="account-form",
    numbers=(6,),
    level=Level.ERROR,
    because="accounts are of one cluster, and of one kind of node; others are refused",
    fix="name another with `--account`",
    source="Alliance documentation: Running jobs",
)
PARTITION = Rule(
    id="partition",
    numbers=(7,),
    level=Level.ERROR,
    because="some sites choose the partition themselves, others run nothing without one",
    fix="name one with `--partition`",
    source="Alliance documentation: Running jobs",
)
DEFAULT_TRAP = Rule(
    id="default-trap",
    numbers=(8,),
    level=Level.ERROR,
    because="what Slurm takes when none is named is not made for production",
    fix="name the partition with `--partition`, or the QOS with `--qos`",
    source="CINECA documentation: Leonardo",
)


def retired(case: Case) -> Iterator[Finding]:
    yield from retired_site(case.site)


def retired_site(site: Site) -> Iterator[Finding]:
    if site.status is not Status.RETIRED:
        return
    when = f" on {site.ended}" if site.ended else ""
    fix = f"`--on {site.successor}`" if site.successor else None
    because = f"its successor is {site.successor}" if site.successor else None
    yield RETIRED.broken(f"{site.title} was switched off{when}", because=because, fix=fix)


# ── who pays ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def account(case: Case) -> Iterator[Finding]:
    chosen, mine = case.plan.account.value, _own_accounts(case)
    source = case.site.request.source
    if chosen is None and len(mine) > 1 and case.site.request.account in (Policy.CONDITIONAL, Policy.REQUIRED):
        what = f"no account is named, and you have {len(mine)}: {', '.join(mine)}"
        yield ACCOUNT.broken(what, fix=f"`--account {mine[0]}`", source=source)
    elif chosen is None and not mine and case.site.request.account is Policy.REQUIRED:
        yield ACCOUNT.broken(f"no account is named, and {case.site.name} wants one", source=source)
    elif chosen is not None and mine and spelled(chosen, case.site).lower() not in mine:
        guess = nearest(chosen, mine) or mine[0]
        what = f"you may not charge `{chosen}`; you have {', '.join(mine)}"
        yield ACCOUNT.broken(what, fix=f"`--account {guess}`", source=source)


def _own_accounts(case: Case) -> list[str]:
    """As people name them; Slurm writes all names in small letters, and takes them in any."""
    return list(dict.fromkeys(spelled(account.name, case.site).lower() for account in case.known.accounts))


def account_form(case: Case) -> Iterator[Finding]:
    chosen, request, queue = case.plan.account.value, case.site.request, partition_of(case)
    if chosen and queue and queue.account_form and not re.fullmatch(queue.account_form, chosen):
        what = f"`{chosen}` cannot be charged on {queue.name}: accounts there look like {queue.account_form}"
        yield ACCOUNT_FORM.broken(what, source=case.site.queues.source)
    elif chosen and request.account_form and not re.fullmatch(request.account_form, spelled(chosen, case.site)):
        like = f", like `{request.account_example}`" if request.account_example else ""
        what = f"`{chosen}` is no account of {case.site.name}: those look like {request.account_form}{like}"
        fix = f"`--account {request.account_example}`, with the name of yours" if request.account_example else None
        yield ACCOUNT_FORM.broken(what, fix=fix, source=request.source)


# ── which queue ──────────────────────────────────────────────────────────────────────────────────────────────────────


def partition(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    named, policy = value_of(case, "--partition"), case.site.request.partition
    source = case.site.request.source
    if named and policy is Policy.FORBIDDEN:
        what = f"partition `{named}` is named, and {case.site.name} chooses it itself"
        yield PARTITION.broken(what, fix="leave `--partition` out", source=source)
    elif not named and policy is Policy.REQUIRED:
        names = [queue.name for queue in case.site.partitions if queue.purpose is Purpose.PRODUCTION]
        what = f"no partition is named, and {case.site.name} wants one"
        yield PARTITION.broken(what, fix=f"`--partition {names[0]}`" if names else None, source=source)


def default_trap(case: Case) -> Iterator[Finding]:
    trap = case.site.queues.trap
    if not trap or not is_cluster(case):
        return
    named, qos = value_of(case, "--partition"), value_of(case, "--qos")
    fallen = trap in (named, qos) and not (case.spec.partition or case.spec.qos)
    if fallen or not (named or qos):
        queue = next((one for one in case.site.partitions if one.purpose is Purpose.PRODUCTION), None)
        fix = _to(queue.flag or queue.name, queue.qos) if queue else None
        yield DEFAULT_TRAP.broken(f"it would go to `{trap}`", fix=fix, source=case.site.queues.source)


def _to(partition: str, qos: str | None) -> str:
    return f"`--qos {qos}`" if qos else f"`--partition {partition}`"


RULES = (RETIRED, ACCOUNT, ACCOUNT_FORM, PARTITION, DEFAULT_TRAP)
CHECKS: tuple[Check, ...] = (retired, account, account_form, partition, default_trap)
ADVICE: tuple[Advice, ...] = (retired_site,)
