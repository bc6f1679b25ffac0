"""What may be charged, what it costs and what is left, as people read it and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from voyageur.allowance import Account, Balance
from voyageur.errors import one_line
from voyageur.plan import Cost, Plan, fair_share_text
from voyageur.record import age
from voyageur.show.style import paint, table
from voyageur.slurm_text import Use


def number(amount: float | None) -> str:
    """Three digits say enough of what is small; what is large has no use for a fraction."""
    if amount is None:
        return "-"
    return f"{amount:,.0f}" if abs(amount) >= 100 else f"{amount:,.3g}"


def cost_text(cost: Cost) -> str:
    if cost.amount is None:
        return "not known"
    return f"{'at least ' if cost.at_least else ''}{number(cost.amount)} {cost.unit.value}"


def left_text(balance: Balance, cost: Cost | None) -> tuple[str, str]:
    """The value, and where it is from; with how much of it this would take."""
    facts = [f"of {balance.account}, says {balance.source}"]
    if balance.until:
        facts.append(f"to be used until {balance.until}")
    if cost and cost.amount and balance.left is not None:
        facts.append(_part(cost.amount, balance.left))
    return f"{number(balance.left)} {balance.unit}", "; ".join(facts)


def spending_text(plan: Plan) -> str | None:
    """One line for who has just submitted; nothing where nothing is known."""
    if plan.cost is None or plan.cost.amount is None:
        return None
    left = f"; {number(plan.left.left)} are left of {plan.left.account}" if plan.left else ""
    return f"it may cost {cost_text(plan.cost)}{left}"


def _part(amount: float, left: float) -> str:
    if amount > left:
        return "this may take more than is left"
    percent = 100 * amount / left
    return f"this takes at most {percent:.1f} %" if percent >= 0.1 else "this takes hardly any of it"


# ── accounts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def accounts_text(accounts: Sequence[Account], balances: Sequence[Balance], chosen: str | None, colours: bool) -> str:
    head = ("ACCOUNT", "FAIR SHARE", "SHARE", "USED", "JOBS", "LEFT", "WHERE")
    rows = [_account_row(account, balances, chosen) for account in accounts]
    return table(head, rows, colours)


def _account_row(account: Account, balances: Sequence[Balance], chosen: str | None) -> tuple[str, ...]:
    mine = [balance for balance in balances if balance.account == account.name and balance.left is not None]
    marks = [word for word, is_so in (("default", account.default), ("chosen", account.name == chosen)) if is_so]
    where = ["partition " + ", ".join(account.partitions)] if account.partitions else []
    where += ["QOS " + ", ".join(account.qos)] if account.qos else []
    return (
        one_line(f"{account.name} ({', '.join(marks)})" if marks else account.name),
        fair_share_text(account.fair_share) if account.fair_share is not None else "-",
        _percent(account.shares),
        _percent(account.usage),
        _most(account),
        "; ".join(f"{number(balance.left)} {balance.unit}" for balance in mine) or "-",
        one_line("; ".join(where) or "-"),
    )


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f} %"


def _most(account: Account) -> str:
    limits = [
        f"{limit} {word}"
        for limit, word in ((account.most_submitted, "submitted"), (account.most_running, "running"))
        if limit is not None
    ]
    return ", ".join(limits) or "-"


def account_document(account: Account) -> dict[str, Any]:
    """JSON has no infinity: the fair share of an account that has used nothing is null, and `unused` says so."""
    document: dict[str, Any] = msgspec.to_builtins(account)
    unused = account.fair_share == float("inf")
    return {**document, "fair_share": None if unused else account.fair_share, "unused": unused}


# ── budget ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def balances_text(balances: Sequence[Balance], colours: bool) -> str:
    head = ("ACCOUNT", "LEFT", "USED", "GRANTED", "UNIT", "UNTIL", "SAID BY")
    return table(head, [_balance_row(balance) for balance in balances], colours)


def _balance_row(balance: Balance) -> tuple[str, ...]:
    said = f"{balance.source}, {age(balance.age)} old" if balance.age is not None else balance.source
    return (
        one_line(balance.account),
        number(balance.left),
        number(balance.used),
        number(balance.granted),
        balance.unit,
        balance.until or "-",
        said + _month(balance),
    )


def _month(balance: Balance) -> str:
    if balance.month is None or balance.month_used is None:
        return ""
    over = ", so jobs wait longer" if balance.month_used > balance.month else ""
    return f"; this month {number(balance.month_used)} of {number(balance.month)}{over}"


def use_text(uses: Sequence[Use], colours: bool) -> str:
    head = ("ACCOUNT", "HOURS", "OF")
    rows = [(one_line(use.account), number(use.hours), one_line(use.kind)) for use in uses]
    return table(head, rows, colours)


def title(text: str, colours: bool) -> str:
    return paint(text, "bold", colours)


def note(text: str, colours: bool) -> str:
    return paint(f"note: {one_line(text)}", "yellow", colours)
