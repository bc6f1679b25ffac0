"""sreport: what was used in a period. It counts whole hours, so what ran since the last full one is not in it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from voyageur.slurm_text.figures import number, table


class Use(Struct, frozen=True, kw_only=True):
    """What one user has used of one kind of resource on one account, in hours."""

    account: str
    user: str
    kind: str
    hours: float


def report_argv(user: str, since: datetime) -> list[str]:
    return [
        *("sreport", "--parsable2", "-t", "Minutes", "--tres=ALL", "cluster", "AccountUtilizationByUser"),
        *(f"users={user}", f"start={since:%Y-%m-%dT%H:%M:%S}", "end=now"),
        "format=Accounts,Login,TresName,Used",
    ]


def report_from(answer: str) -> list[Use]:
    """A row without a login is the sum over all users of the account."""
    found = []
    for row in table(answer, "Account"):
        minutes = number(row.get("Used", ""))
        if row["Account"] and row.get("Login") and row.get("TRES Name") and minutes:
            use = Use(account=row["Account"], user=row["Login"], kind=row["TRES Name"], hours=minutes / 60)
            found.append(use)
    return found
