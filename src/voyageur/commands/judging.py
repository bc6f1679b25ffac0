"""A plan against the rules of its site, with what can be known of the world in a moment."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from voyageur.commands import session
from voyageur.commands.options import Wish
from voyageur.errors import RunError, SiteError, SpecError
from voyageur.findings import Finding, Level
from voyageur.plan import Plan, Surroundings
from voyageur.questions.accounts import count_jobs
from voyageur.questions.quota import ask as ask_quotas
from voyageur.record import Entry, State, load, without_asking
from voyageur.rules import Known, PastRun, all_rules
from voyageur.rules.reading import variables_in
from voyageur.runtime import folder as files
from voyageur.show.findings import finding_note
from voyageur.show.output import aside
from voyageur.site import Site, load_profile
from voyageur.spec import Spec
from voyageur.spec.keys import nearest
from voyageur.units import Duration, Size

_LATELY, _DAY = 600.0, 86_400.0  # seconds
_REMEMBERED = 5  # runs
_PATIENCE = Duration(5)


def check_ignored(ignored: Iterable[str], source: str) -> None:
    """A rule that is misspelled would silence nothing, and nobody would know."""
    known = [rule.id for rule in all_rules()]
    for name in ignored:
        if name not in known:
            guess = nearest(name, known)
            raise SpecError(
                f"there is no rule `{name}`",
                facts=[f"given by {source}"],
                hint=f"did you mean `--ignore {guess}`?"
                if guess
                else "the page `Rules` of the documentation lists them",
            )


def ignored_rules(wish: Wish, spec: Spec) -> tuple[str, ...]:
    """Said with the flag, or for the whole project."""
    check_ignored(wish.ignored, "--ignore")
    check_ignored(spec.check.ignore, spec.source("check.ignore"))
    return tuple(dict.fromkeys((*wish.ignored, *spec.check.ignore)))


def refuse_errors(findings: Iterable[Finding], site: Site) -> None:
    """All of them at once: mending one to meet the next is nobody's joy."""
    errors = [found for found in findings if found.level is Level.ERROR]
    if not errors:
        return
    rules = ",".join(dict.fromkeys(found.rule for found in errors))
    if len(errors) == 1:
        found = errors[0]
        facts = [_because(found), f"rule `{found.rule}`; `--ignore {found.rule}` goes on all the same"]
        raise SiteError(found.what, facts=facts, hint=found.fix)
    raise SiteError(
        f"{len(errors)} rules of {site.name} are broken",
        facts=[line for found in errors for line in _lines(found)],
        hint=f"mend them, or go on all the same with `--ignore {rules}`",
    )


def warn(findings: Iterable[Finding]) -> None:
    for found in findings:
        if found.level is Level.WARNING:
            aside(finding_note(found))


def _lines(found: Finding) -> tuple[str, str, str]:
    return f"{found.rule}: {found.what}", f"  {_because(found)}", f"  fix: {found.fix}"


def _because(found: Finding) -> str:
    return f"{found.because} ({found.source})" if found.source else found.because


# ── what is known ────────────────────────────────────────────────────────────────────────────────────────────────────


def known_of(site: Site, plan: Plan, around: Surroundings) -> Known:
    """Where the cluster is asked at all, it is asked only what its rules speak of, and not waited for long."""
    here = session.is_here(site)
    known = Known(
        here=here,
        environment=_telling(session.environment(), site) if here else {},
        accounts=around.accounts,
        balances=around.balances,
        typed_in=str(Path.cwd()) if here else None,
        architecture=os.uname().machine,
        login_node_of=_login_node() if site.engine == "local" else None,
    )
    if site.engine != "slurm":
        return known
    return _with_runs(_with_answers(known, site, plan) if here else known, plan)


_TOLD = ("HOME", "USER", "SCRATCH", "WORK", "PROJECT", "TERM_PROGRAM")


def _telling(environment: Mapping[str, str], site: Site) -> dict[str, str]:
    """Where things are. Nothing else of this shell is anybody's business."""
    wanted = {*_TOLD, *(name for place in site.storage.places for name in variables_in(place.path))}
    return {name: value for name, value in environment.items() if name in wanted}


def _login_node() -> Site | None:
    """A machine with Slurm's commands, outside of any job, that a profile recognises."""
    if "SLURM_JOB_ID" in session.environment() or not session.has_slurm():
        return None
    name = session.usual_site()
    return load_profile(name, session.own_profiles()) if name not in ("slurm", "local") else None


def _with_answers(known: Known, site: Site, plan: Plan) -> Known:
    queue = next((one for one in site.partitions if one.name == plan.queue.place), None)
    limited = site.limits.submitted or (queue and queue.submitted) or any(a.most_submitted for a in known.accounts)
    return replace(
        known,
        jobs=count_jobs(session.here(), _PATIENCE) if limited else None,
        quotas=ask_quotas(session.here(), site, session.environment(), _PATIENCE) if _has_quotas(site) else (),
    )


def _has_quotas(site: Site) -> bool:
    return any(place.size or place.files or place.soft_files for place in site.storage.places)


# ── earlier runs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _with_runs(known: Known, plan: Plan) -> Known:
    """What this machine remembers; Slurm is not asked."""
    entries = session.index().read().values()
    done = [entry for entry in entries if entry.state == State.DONE.value and _is_like(plan, entry.project, entry.run)]
    newest = sorted(done, key=lambda entry: -entry.created)[:_REMEMBERED]
    return replace(
        known,
        submitted_lately=sum(
            time.time() - entry.created < _LATELY and entry.site == plan.site for entry in entries if entry.job
        ),
        history=tuple(past for entry in newest if (past := _past_run(entry))),
        unanswered=tuple(_unanswered(plan)),
    )


def _is_like(plan: Plan, project: str, run: str) -> bool:
    return project == plan.project and run.rpartition("-")[0] == plan.identity.slug


def _past_run(entry: Entry) -> PastRun | None:
    if not (entry.started and entry.ended):
        return None
    try:
        run = load(Path(entry.folder))
        resources = msgspec.json.decode((run.folder / files.PLAN).read_bytes())["resources"]
        memory = resources["memory"]["value"]
        cpus = resources["cpus_per_task"]["value"] * resources["tasks_per_node"]["value"] * run.record.nodes
    except (RunError, OSError, msgspec.DecodeError, KeyError, TypeError):
        return None  # its folder was cleaned away, or is of another version
    usage = (run.marker or {}).get("usage") or {}
    return PastRun(
        run=run.id,
        limit=Duration(run.record.time_limit),
        took=Duration(round(entry.ended - entry.started)),
        memory=Size.parse(memory) if memory else None,
        peak_memory=Size(usage["peak_memory"]) if usage.get("peak_memory") else None,
        cpus=cpus,
        cpu_seconds=usage.get("cpu_seconds"),
    )


def _unanswered(plan: Plan) -> Iterator[str]:
    """Runs of the same command whose answer was lost, and of which nothing was heard since."""
    folder = Path(plan.folders.run).parent
    for path in sorted(folder.glob(f"{plan.identity.slug}-*")) if folder.is_dir() else ():
        if time.time() - path.stat().st_mtime > _DAY:
            continue
        with contextlib.suppress(RunError):
            run = load(path)
            waits = run.job is None and without_asking(run) is None and run.last("answer lost")
            if waits and run.record.command == plan.command:
                yield run.id
