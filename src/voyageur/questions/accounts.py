"""What may be charged, with which fair share, and what Slurm itself still lets it spend.

The controller is asked first: it answers in milliseconds, knows only its own cluster, and needs no database. The
database adds limits and the default account; where it is down or hangs, nothing else suffers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

from voyageur import slurm_text
from voyageur.allowance import Account, Balance, JobCount
from voyageur.hosts import Answer, Host
from voyageur.slurm_text import Association, Share
from voyageur.units import Duration

PATIENCE = Duration(10)


class Charged(Struct, frozen=True, kw_only=True):
    """`problems`: which questions got no answer, in the cluster's own words."""

    accounts: tuple[Account, ...] = ()
    balances: tuple[Balance, ...] = ()
    problems: tuple[str, ...] = ()


def ask_accounts(host: Host, patience: Duration = PATIENCE, *, in_full: bool = True) -> Charged:
    """Four short questions; on a cluster without accounting two, and nothing is known.

    Not in full are two, of some milliseconds, to the controller: no default, no limits, no QOS. The database takes
    hundreds for the rest, and is asked only where the controller names no account.
    """
    asked = _Asked(host, patience)
    own = [share for share in slurm_text.shares_from(asked.output(slurm_text.own_shares_argv())) if share.user]
    names = list(dict.fromkeys(share.account for share in own))
    of_accounts = asked.output(slurm_text.account_shares_argv(names)) if names else ""
    above = {share.account: share for share in slurm_text.shares_from(of_accounts) if not share.user}
    rows = _associations(asked, own) if in_full or not own else []
    names = list(dict.fromkeys([*names, *(row.account for row in rows)]))
    return Charged(
        accounts=tuple(_account(name, own, above.get(name), rows) for name in names),
        balances=tuple(balance for share in [*above.values(), *own] for balance in _balances(share)),
        problems=tuple(asked.problems),
    )


def count_jobs(host: Host, patience: Duration = PATIENCE) -> JobCount | None:
    mark = os.urandom(8).hex()
    asked = _Asked(host, patience)
    answer = asked.answer(slurm_text.count_argv(mark))
    if answer is None:
        return None
    submitted, running = slurm_text.counts_from(answer.output, mark)
    return JobCount(submitted=submitted, running=running)


def user_name(host: Host, patience: Duration = PATIENCE) -> str:
    """Not $USER, which sudo and containers get wrong."""
    return _Asked(host, patience).output(["id", "-un"]).strip()


class _Asked:
    """Questions that may fail, and why they did. Who has let one time out is asked nothing more."""

    def __init__(self, host: Host, patience: Duration) -> None:
        self.host = host
        self.patience = patience
        self.problems: list[str] = []
        self.is_silent = False

    def output(self, argv: Sequence[str]) -> str:
        answer = self.answer(argv)
        return answer.output if answer else ""

    def answer(self, argv: Sequence[str]) -> Answer | None:
        if self.is_silent:
            return None
        try:
            answer = self.host.run(argv, patience=self.patience)
        except OSError as problem:
            self.problems.append(f"{argv[0]}: {problem.strerror}")
            return None
        if answer.ok:
            return answer
        self.is_silent = answer.code is None
        if not _has_no_accounting(answer):
            self.problems.append(why_not(argv[0], answer, self.patience))
        return None


def why_not(command: str, answer: Answer, patience: Duration) -> str:
    """The last of its words that say something, as one line."""
    if answer.code is None:
        return f"{command} gave no answer in {patience}"
    lines = [line.strip() for line in answer.errors.splitlines() if line.strip()]
    return lines[-1] if lines else f"{command} failed with exit code {answer.code}"


def _has_no_accounting(answer: Answer) -> bool:
    """A cluster that keeps no accounts; nothing is wrong with it."""
    return "not running a supported" in answer.errors or "not running a supported" in answer.output


def _associations(asked: _Asked, own: Sequence[Share]) -> list[Association]:
    cluster = next((share.cluster for share in own if share.cluster), "") or _cluster_name(asked)
    user = asked.output(["id", "-un"]).strip() if cluster else ""
    if not (cluster and user):
        return []
    return slurm_text.associations_from(asked.output(slurm_text.associations_argv(user, cluster)))


def _cluster_name(asked: _Asked) -> str:
    """Empty also where no database is kept: it need not be asked then."""
    config = slurm_text.config_from(asked.output(slurm_text.config_argv()))
    keeps = config.get("AccountingStorageType", "").endswith("slurmdbd")
    return config.get("ClusterName", "") if keeps else ""


def _account(name: str, own: Sequence[Share], above: Share | None, rows: Sequence[Association]) -> Account:
    """Rows of one account may be one for each partition; a row without a partition is for all of them."""
    shares = [share for share in own if share.account == name]
    mine = [row for row in rows if row.account == name]
    partitions = [*(share.partition for share in shares), *(row.partition for row in mine)]
    return Account(
        name=name,
        partitions=() if "" in partitions else tuple(dict.fromkeys(partitions)),
        qos=tuple(dict.fromkeys(qos for row in mine for qos in row.qos)),
        default=any(row.default for row in mine),
        fair_share=_fair_share(above, shares),
        shares=above.norm if above else None,
        usage=above.effective if above else None,
        most_submitted=_widest(row.most_submitted for row in mine),
        most_running=_widest(row.most_running for row in mine),
    )


def _fair_share(above: Share | None, own: Sequence[Share]) -> float | None:
    """The account's own level among its neighbours; where there is none, this user's factor in it."""
    if above and above.is_counted and above.level is not None:
        return above.level
    return max((share.fair_share for share in own if share.is_counted and share.fair_share is not None), default=None)


def _widest(limits: Iterable[int | None]) -> int | None:
    """Over several partitions the widest limit; none at all where one of them has none."""
    found = list(limits)
    known = [limit for limit in found if limit is not None]
    return max(known) if known and len(known) == len(found) else None


def _balances(share: Share) -> list[Balance]:
    """Limits that Slurm enforces itself, in hours of what they count."""
    return [
        Balance(
            account=share.account,
            unit=f"{kind} hours",
            granted=limit / 60,
            used=share.spent[kind] / 60 if kind in share.spent else None,
            left=(limit - share.spent[kind]) / 60 if kind in share.spent else None,
            source="sshare" if not share.user else f"sshare, for {share.user}",
        )
        for kind, limit in share.limits.items()
        if math.isfinite(limit)
    ]
