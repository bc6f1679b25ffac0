"""A rule, and what it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from voyageur.allowance import Account, Balance, JobCount, Quota
from voyageur.findings import Finding, Level
from voyageur.plan import Plan
from voyageur.site import Site
from voyageur.spec import Spec
from voyageur.units import Duration, Size


class Rule(Struct, frozen=True, kw_only=True):
    """`numbers` are those of the collection of sites' rules; `id` is the word that `--ignore` takes.

    `source` is the document that states the rule; where a site's own facts are the reason, theirs is named instead.
    """

    id: str
    numbers: tuple[int, ...]
    level: Level
    because: str
    fix: str
    source: str

    def broken(
        self,
        what: str,
        *,
        level: Level | None = None,
        because: str | None = None,
        fix: str | None = None,
        source: str | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> Finding:
        return Finding(
            rule=self.id,
            level=level or self.level,
            what=what,
            because=because or self.because,
            fix=fix or self.fix,
            source=source or self.source,
            file=file,
            line=line,
        )

    def advice(self, what: str, *, fix: str | None = None, source: str | None = None) -> Finding:
        """What to know before anything is done: nobody has broken it, so it is a hint, whatever its level."""
        return self.broken(what, level=Level.HINT, fix=fix, source=source)


class PastRun(Struct, frozen=True, kw_only=True):
    """A run of the same experiment that was done: what it had asked for, and what it used. Memory is that of a node."""

    run: str
    limit: Duration
    took: Duration
    memory: Size | None = None
    peak_memory: Size | None = None
    cpus: int = 0
    cpu_seconds: float | None = None


class Known(Struct, frozen=True, kw_only=True):
    """What was found out of the world before judging. None or empty: not asked, or no answer; then nobody is blamed.

    `here`: is this a machine of the cluster's? Only then `environment` holds the variables that say where things are.
    `architecture`: what programs made on this machine run on. `history`: done
    runs of this experiment, newest first. `submitted_lately`: runs in the last ten minutes. `unanswered`: earlier runs
    of this experiment of which nobody knows whether Slurm took them. `staged`: what is brought to each node's own disk.
    `login_node_of`: the cluster whose login node this machine is.
    """

    here: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()
    balances: tuple[Balance, ...] = ()
    jobs: JobCount | None = None
    quotas: tuple[Quota, ...] = ()
    typed_in: str | None = None
    missing_modules: tuple[str, ...] = ()
    missing_wheels: tuple[str, ...] = ()
    architecture: str | None = None
    history: tuple[PastRun, ...] = ()
    submitted_lately: int = 0
    unanswered: tuple[str, ...] = ()
    staged: Size | None = None
    login_node_of: Site | None = None


class Case(Struct, frozen=True, kw_only=True):
    spec: Spec
    site: Site
    plan: Plan
    known: Known = Known()


Check = Callable[[Case], Iterator[Finding]]
Advice = Callable[[Site], Iterator[Finding]]
