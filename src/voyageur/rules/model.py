"""A rule, and what it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from voyageur.allowance import Account, Balance, JobCount, Quota
from voyageur.findings import Finding, Level
from voyageur.plan import Plan
from voyageur.site import Site
from voyageur.spec import Spec


class Rule(Struct, frozen=True, kw_only=True):
    """`numbers` are those of the collection of sites' rules; `id` is the word that `--ignore` takes."""

    id: str
    numbers: tuple[int, ...]
    level: Level
    because: str
    fix: str
    source: str

    def broken(self, what: str, *, fix: str | None = None, file: str | None = None, line: int | None = None) -> Finding:
        return Finding(
            rule=self.id,
            level=self.level,
            what=what,
            because=self.because,
            fix=fix or self.fix,
            source=self.source,
            file=file,
            line=line,
        )


class Known(Struct, frozen=True, kw_only=True):
    """What was found out of the world before judging. None or empty: not asked, or no answer; then nobody is blamed."""

    environment: dict[str, str] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()
    balances: tuple[Balance, ...] = ()
    jobs: JobCount | None = None
    quotas: tuple[Quota, ...] = ()
    typed_in: str | None = None
    missing_modules: tuple[str, ...] = ()
    missing_wheels: tuple[str, ...] = ()


class Case(Struct, frozen=True, kw_only=True):
    spec: Spec
    site: Site
    plan: Plan
    known: Known = Known()


Check = Callable[[Case], Iterator[Finding]]
