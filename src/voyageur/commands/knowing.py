"""What can be known of the world in a moment, for the rules to judge by."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from voyageur.commands import session
from voyageur.commands.modules_known import lacking_modules
from voyageur.errors import RunError
from voyageur.plan import Plan, Surroundings
from voyageur.questions.accounts import ask_qos_time, count_jobs
from voyageur.questions.quota import ask as ask_quotas
from voyageur.record import Entry, State, load, without_asking
from voyageur.rules import Known, PastRun
from voyageur.rules.reading import variables_in
from voyageur.runtime import folder as files
from voyageur.site import Site, load_profile
from voyageur.units import Duration, Size

if TYPE_CHECKING:
    from voyageur.commands.planning import Planned

_LATELY, _DAY = 600.0, 86_400.0  # seconds
_REMEMBERED = 5  # runs
_PATIENCE = Duration(3)


def known_of(site: Site, plan: Plan, around: Surroundings) -> Known:
    """Where the cluster is asked at all, it is asked only what its rules speak of, and not waited for long."""
    here = session.is_here(site)
    known = Known(
        here=here,
        environment=_telling(session.environment(), site) if here else {},
        accounts=around.accounts,
        balances=around.balances,
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
        qos_time=_qos_time(site, plan),
        missing_modules=lacking_modules(site, plan.modules.value),
    )


def _qos_time(site: Site, plan: Plan) -> Duration | None:
    """Of a QOS that no profile knows; the database is slow, and asked for nothing else."""
    qos = plan.queue.qos.value
    if qos is None or any(qos == partition.qos for partition in site.partitions):
        return None
    return ask_qos_time(session.here(), qos, _PATIENCE)


def with_software(planned: Planned) -> Known:
    """And which modules and wheels the site lacks, asked anew: only `voy check` has the time."""
    from voyageur.questions.modules import missing_modules
    from voyageur.questions.wheels import ask_wheels, missing_wheels
    from voyageur.readiness import requirements_of

    known, site = planned.known, planned.site
    if site.engine != "slurm" or not known.here:
        return known
    wanted = [
        f"{one.name}=={one.version}" if one.version else one.name for one in requirements_of(planned.spec.project.root)
    ]
    return replace(
        known,
        missing_modules=missing_modules(session.here(), site, planned.plan.modules.value) or (),
        missing_wheels=missing_wheels(ask_wheels(session.here(), site, wanted)),
    )


def _has_quotas(site: Site) -> bool:
    return any(place.size or place.files or place.soft_files for place in site.storage.places)


# ── earlier runs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _with_runs(known: Known, plan: Plan) -> Known:
    """What this machine remembers; Slurm is not asked."""
    entries = session.index().read().values()
    done = [entry for entry in entries if entry.state == State.DONE.value and _is_like(plan, entry)]
    newest = sorted(done, key=lambda entry: -entry.created)[:_REMEMBERED]
    return replace(
        known,
        submitted_lately=sum(
            time.time() - entry.created < _LATELY and entry.site == plan.site for entry in entries if entry.job
        ),
        history=tuple(past for entry in newest if (past := _past_run(entry))),
        unanswered=tuple(_unanswered(plan)),
    )


def _is_like(plan: Plan, entry: Entry) -> bool:
    """Of the same experiment, and on the same cluster: others are faster or slower."""
    same = (entry.project, entry.site) == (plan.project, plan.site)
    return same and entry.run.rpartition("-")[0] == plan.identity.slug


def _past_run(entry: Entry) -> PastRun | None:
    if entry.started is None or entry.ended is None:
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
    for path in sorted(folder.glob(f"{plan.identity.slug}-*")):
        with contextlib.suppress(RunError, OSError):
            if time.time() - path.stat().st_mtime > _DAY:
                continue
            run = load(path)
            waits = run.job is None and without_asking(run) is None and run.last("answer lost")
            if waits and run.record.command == plan.command:
                yield run.id
