"""Where files lie: places that jobs do not see or should leave alone, and how much room is left."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.allowance import Quota
from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import expanded, is_cluster, lies_in, paths_in_command, place_of
from voyageur.site import Use
from voyageur.site.places import place_of as quota_place

LOG_FOLDER = Rule(
    id="log-folder",
    numbers=(31,),
    level=Level.ERROR,
    because="Slurm opens the log on the compute node before the job starts; where it cannot, the job dies silently",
    fix="let the runs lie elsewhere with `--scratch`",
    source="NERSC documentation: running jobs; Alliance documentation: Trillium quickstart",
)
SUBMIT_FOLDER = Rule(
    id="submit-folder",
    numbers=(32,),
    level=Level.ERROR,
    because="jobs that are submitted from other folders are refused, or do not see their files",
    fix="let the runs lie elsewhere with `--scratch`",
    source="Alliance documentation: Trillium quickstart; user notes on JUPITER",
)
UNSEEN = Rule(
    id="unseen-path",
    numbers=(32,),
    level=Level.ERROR,
    because="login nodes see file systems that compute nodes do not",
    fix="copy it to scratch, and name it there",
    source="user notes on JUPITER",
)
JOBS_IN_HOME = Rule(
    id="jobs-in-home",
    numbers=(33,),
    level=Level.WARNING,
    because="home is small, slow under load, and made for source code",
    fix="put data and results on scratch",
    source="Alliance documentation: Storage and file management; TACC documentation: good conduct",
)
QUOTA = Rule(
    id="quota",
    numbers=(34,),
    level=Level.ERROR,
    because="when a file system is full for you, the next write fails, whether of bytes or of files",
    fix="remove or pack what is not needed; `voy quota` shows what is used",
    source="Alliance documentation: Storage and file management",
)
OVER_QUOTA = Rule(
    id="over-quota",
    numbers=(35,),
    level=Level.ERROR,
    because="sbatch refuses every job of a user who is over a quota there",
    fix="remove or pack files first; `voy quota` shows what is used",
    source="CSCS documentation: scratch file system; NERSC documentation: quotas",
)
SHARED_QUOTA = Rule(
    id="shared-quota",
    numbers=(36,),
    level=Level.WARNING,
    because="its quota is shared: tens of thousands of small files of one environment block the whole group",
    fix="make the environment in your home, or let the job make it on the node's own disk",
    source="user notes, checked by login in 2026",
)
VENV_ON_SCRATCH = Rule(
    id="venv-on-scratch",
    numbers=(42,),
    level=Level.WARNING,
    because="the purge takes files that were not read for long, and leaves half an environment",
    fix="make it in your home or project space, or let the job make it on the node's own disk",
    source="Alliance documentation: Python",
)
JOBS_IN_STORE = Rule(
    id="jobs-in-store",
    numbers=(43,),
    level=Level.WARNING,
    because="that file system is for keeping, not for the reading and writing of jobs",
    fix="copy it to scratch first, and results back afterwards",
    source="CSCS documentation: file systems; TACC documentation: managing files",
)


# ── where the run writes ─────────────────────────────────────────────────────────────────────────────────────────────


def log_folder(case: Case) -> Iterator[Finding]:
    place, folder = place_of(case, str(case.plan.folders.run)), case.plan.folders.run
    if place and is_cluster(case) and place.jobs in (Use.READ_ONLY, Use.NO):
        how = "may only read" if place.jobs is Use.READ_ONLY else "do not see"
        what = f"the log goes to {folder}, and compute nodes {how} what is on {place.name}"
        yield LOG_FOLDER.broken(what, fix=_on_scratch(case), source=case.site.storage.source)


def _on_scratch(case: Case) -> str:
    return f"`--scratch '{case.site.storage.scratch}'`"


def submit_folder(case: Case) -> Iterator[Finding]:
    """sbatch is typed in the run's folder, wherever the user stands."""
    storage, folder = case.site.storage, str(case.plan.folders.run)
    if not is_cluster(case):
        return
    wanted = expanded(case, storage.submit_from) if storage.submit_from else None
    if wanted and not lies_in(folder, wanted):
        what = f"{case.site.name} wants jobs from {storage.submit_from}, and the run lies in {folder}"
        yield SUBMIT_FOLDER.broken(what, fix=f"`--scratch '{storage.submit_from}'`", source=storage.source)
    for root in storage.no_submit_from:
        if (whole := expanded(case, root)) and lies_in(folder, whole):
            what = f"{case.site.name} takes no jobs from {root}, and the run lies in {folder}"
            yield SUBMIT_FOLDER.broken(what, fix=_on_scratch(case), source=storage.source)


def discouraged_places(case: Case) -> Iterator[Finding]:
    """The run's own folders, and what the command names."""
    own = str(case.plan.folders.scratch)
    seen: set[str] = set()
    for path in (own, *paths_in_command(case)):
        place = place_of(case, path) if is_cluster(case) else None
        if place and place.jobs is Use.DISCOURAGED and place.name not in seen and not _is_program(case, path):
            seen.add(place.name)
            rule = JOBS_IN_HOME if place.name == "home" else JOBS_IN_STORE
            what = f"{'the run writes to' if path == own else 'the command names'} {path}, which is on {place.name}"
            fix = _on_scratch(case) if path == own else None
            yield rule.broken(what, fix=fix, source=case.site.storage.source)


def unseen_paths(case: Case) -> Iterator[Finding]:
    for path in paths_in_command(case):
        place = place_of(case, path) if is_cluster(case) else None
        if place and place.jobs is Use.NO:
            what = f"the command names {path}, and compute nodes do not see {place.name}"
            yield UNSEEN.broken(what, source=case.site.storage.source)


def _is_program(case: Case, path: str) -> bool:
    """Programs and scripts are read once, from wherever they are."""
    return path == case.plan.command[0] or path.endswith((".py", ".sh", ".jl", ".R", ".sif"))


# ── quotas ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_FILES_OF_A_RUN = 10


def quota(case: Case) -> Iterator[Finding]:
    new = case.plan.code.size
    for one in case.known.quotas:
        if not _is_of_the_run(case, one):
            continue
        if one.used and one.limit and one.used.bytes + new.bytes > one.limit.bytes:
            what = f"{one.used} of {one.limit} are used on {one.place}, and the code needs {new}"
            yield QUOTA.broken(what, source=one.source)
        if one.files and one.file_limit and one.files + _FILES_OF_A_RUN > one.file_limit:
            used = f"{one.files} of {one.file_limit} files are used on {one.place}"
            what = f"{used}, and a run makes about {_FILES_OF_A_RUN}"
            yield QUOTA.broken(what, source=one.source)


def _is_of_the_run(case: Case, one: Quota) -> bool:
    folder = str(case.plan.folders.run)
    if one.path:
        return lies_in(folder, one.path)
    there = quota_place(one, case.site.storage.places, case.known.environment)
    return there is not None and there == place_of(case, folder)


def over_quota(case: Case) -> Iterator[Finding]:
    if not case.site.storage.refuses_over_quota:
        return
    for one in case.known.quotas:
        if one.whole:
            continue
        if one.files and one.file_limit and one.files > one.file_limit:
            what = f"{one.files} files on {one.place}, and the limit is {one.file_limit}"
            yield OVER_QUOTA.broken(what, source=case.site.storage.source)
        elif one.used and one.limit and one.used > one.limit:
            what = f"{one.used} on {one.place}, and the limit is {one.limit}"
            yield OVER_QUOTA.broken(what, source=case.site.storage.source)


def environment_place(case: Case) -> Iterator[Finding]:
    """Shared quotas and purges are both bad for a virtual environment."""
    activate = case.plan.activate.value
    place = place_of(case, activate) if activate else None
    if place is None or activate is None or not is_cluster(case):
        return
    folder = activate.removesuffix("/bin/activate")
    if place.shared:
        yield SHARED_QUOTA.broken(f"the environment {folder} is on {place.name}", source=case.site.storage.source)
    if place.purge_days:
        what = f"the environment {folder} is on {place.name}, and files are deleted there after {place.purge_days} days"
        yield VENV_ON_SCRATCH.broken(what, source=case.site.storage.source)


RULES = (
    LOG_FOLDER, SUBMIT_FOLDER, UNSEEN, JOBS_IN_HOME, JOBS_IN_STORE, QUOTA, OVER_QUOTA, SHARED_QUOTA, VENV_ON_SCRATCH,
)  # fmt: skip
CHECKS: tuple[Check, ...] = (
    log_folder, submit_folder, discouraged_places, unseen_paths, quota, over_quota, environment_place,
)  # fmt: skip
ADVICE: tuple[Advice, ...] = ()
