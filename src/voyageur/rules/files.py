"""Where files lie: places that jobs may not write to, quotas, purges, archives, caches, the node's own disk."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import expanded, is_cluster, paths_in_command, place_of, shell_words, starts
from voyageur.site import Medium, Place, Site, Use

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
LOCAL_DISK = Rule(
    id="local-disk",
    numbers=(38,),
    level=Level.ERROR,
    because="a node's own folder is as large as it is, and some nodes have none but their memory",
    fix="take less along, or read it from scratch",
    source="Alliance documentation: Using node-local storage",
)
LOCAL_RESULTS = Rule(
    id="local-results",
    numbers=(39,),
    level=Level.WARNING,
    because="the node's own folder is gone with the job, also when its time runs out",
    fix="write results to {run} or {checkpoints}",
    source="Alliance documentation: Using node-local storage",
)
PURGE = Rule(
    id="purge",
    numbers=(40,),
    level=Level.WARNING,
    because="old files are deleted there without being asked for; making them look younger is abuse",
    fix="keep what must last in your home or project space",
    source="Alliance documentation: Scratch purging policy",
)
TAR_TOUCH = Rule(
    id="tar-touch",
    numbers=(41,),
    level=Level.WARNING,
    because="tar gives files the old times of the archive, so the purge takes them for old",
    fix="`tar --touch -xf ARCHIVE`",
    source="CSCS documentation: file systems",
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
CONTAINER_CACHE = Rule(
    id="container-cache",
    numbers=(44,),
    level=Level.WARNING,
    because="unpacking an image makes many small files, which home and shared file systems bear badly",
    fix="",
    source="Alliance documentation: Apptainer; Delta documentation: containers",
)


# ── where the run writes ─────────────────────────────────────────────────────────────────────────────────────────────


def log_folder(case: Case) -> Iterator[Finding]:
    place, folder = place_of(case, str(case.plan.folders.run)), case.plan.folders.run
    if place and is_cluster(case) and place.jobs in (Use.READ_ONLY, Use.NO):
        how = "read" if place.jobs is Use.READ_ONLY else "see"
        what = f"the log goes to {folder}, and compute nodes {how} {place.name}{' only' if how == 'read' else ' not'}"
        yield LOG_FOLDER.broken(what, fix=_on_scratch(case), source=case.site.storage.source)


def _on_scratch(case: Case) -> str:
    return f"`--scratch '{case.site.storage.scratch}'`"


def submit_folder(case: Case) -> Iterator[Finding]:
    """sbatch is typed in the run's folder, wherever the user stands."""
    storage, folder = case.site.storage, str(case.plan.folders.run)
    if not is_cluster(case):
        return
    wanted = expanded(case, storage.submit_from) if storage.submit_from else None
    if wanted and not _lies_in(folder, wanted):
        what = f"{case.site.name} wants jobs from {storage.submit_from}, and the run lies in {folder}"
        yield SUBMIT_FOLDER.broken(what, fix=f"`--scratch '{storage.submit_from}'`", source=storage.source)
    for root in storage.no_submit_from:
        if (whole := expanded(case, root)) and _lies_in(folder, whole):
            what = f"{case.site.name} takes no jobs from {root}, and the run lies in {folder}"
            yield SUBMIT_FOLDER.broken(what, fix=_on_scratch(case), source=storage.source)


def _lies_in(path: str, root: str) -> bool:
    return (path + "/").startswith(root.rstrip("/") + "/")


def discouraged_places(case: Case) -> Iterator[Finding]:
    """The run's own folders, and what the command names."""
    if not is_cluster(case):
        return
    own = str(case.plan.folders.scratch)
    seen: set[str] = set()
    for path in (own, *paths_in_command(case)):
        place = place_of(case, path)
        if place and place.jobs is not Use.YES and place.name not in seen and not _is_program(case, path):
            seen.add(place.name)
            rule = JOBS_IN_HOME if place.name == "home" else JOBS_IN_STORE
            what = f"{'the run writes to' if path == own else 'the command names'} {path}, which is on {place.name}"
            fix = _on_scratch(case) if path == own else None
            yield rule.broken(what, fix=fix, source=case.site.storage.source)


def _is_program(case: Case, path: str) -> bool:
    """Programs and scripts are read once, from wherever they are."""
    return path == case.plan.command[0] or path.endswith((".py", ".sh", ".jl", ".R", ".sif"))


# ── quotas ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_FILES_OF_A_RUN = 10


def quota(case: Case) -> Iterator[Finding]:
    for one in case.known.quotas:
        if not one.path or not _lies_in(str(case.plan.folders.run), one.path):
            continue
        new = case.plan.code.size
        if one.used and one.limit and one.used.bytes + new.bytes > one.limit.bytes:
            what = f"{one.used} of {one.limit} are used on {one.place}, and the code needs {new}"
            yield QUOTA.broken(what, source=one.source)
        if one.files and one.file_limit and one.files + _FILES_OF_A_RUN > one.file_limit:
            what = f"{one.files} of {one.file_limit} files are used on {one.place}, and a run makes {_FILES_OF_A_RUN}"
            yield QUOTA.broken(what, source=one.source)


def over_quota(case: Case) -> Iterator[Finding]:
    if not case.site.storage.refuses_over_quota:
        return
    for one in case.known.quotas:
        if one.files and one.file_limit and one.files > one.file_limit:
            what = f"{one.files} files on {one.place}, where {one.file_limit} are allowed"
            yield OVER_QUOTA.broken(what, source=case.site.storage.source)
        elif one.used and one.limit and one.used > one.limit:
            what = f"{one.used} on {one.place}, where {one.limit} are allowed"
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


# ── the node's own folder ────────────────────────────────────────────────────────────────────────────────────────────

_LOCAL = re.compile(r"\{tmp\}|\$\{?(SLURM_TMPDIR|VOY_TMP|TMPDIR)\b")
_WRITES = re.compile(r"--?(o|out\w*|save\w*|results?|log[-_]?dir|checkpoint\w*|ckpt\w*)([-_]\w+)*", re.IGNORECASE)


def local_disk(case: Case) -> Iterator[Finding]:
    disk, staged = case.site.local_disk, case.known.staged
    if not is_cluster(case):
        return
    if staged and disk.size and staged > disk.size and not disk.request:
        what = f"{staged} are to be brought to each node, and its own folder holds {disk.size}"
        yield LOCAL_DISK.broken(what, source=disk.source)
    if not (staged or _uses_local(case)):
        return
    if disk.medium is Medium.NONE and not disk.path and not disk.variable:
        what = f"the nodes of {case.site.name} have no folder of their own"
        yield LOCAL_DISK.broken(what, fix="use {scratch} instead of {tmp}", source=disk.source)
    elif disk.medium is Medium.MEMORY:
        yield _in_memory(case)


def _in_memory(case: Case) -> Finding:
    memory = case.plan.shape.memory.value
    left = f"; {memory} a node are for both" if memory else ""
    return LOCAL_DISK.broken(
        f"the node's own folder on {case.site.name} is memory{left}",
        level=Level.WARNING,
        because="what is written there counts as the job's memory, and a job that needs more is killed",
        fix="ask for as much more with `--memory`, or use {scratch} instead of {tmp}",
        source=case.site.local_disk.source,
    )


def _uses_local(case: Case) -> bool:
    return any(_LOCAL.search(word) for word in case.plan.command)


def local_results(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    for flag, word in zip(("", *case.plan.command), case.plan.command, strict=False):
        name, equals, value = word.partition("=")
        asked, path = (name, value) if equals and word.startswith("-") else (flag, word)
        if _LOCAL.search(path) and _WRITES.fullmatch(asked):
            yield LOCAL_RESULTS.broken(
                f"`{asked} {path}` writes to the node's own disk", fix=f"`{asked} {{checkpoints}}`"
            )


# ── purges, archives, caches ─────────────────────────────────────────────────────────────────────────────────────────


def purge(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    place = place_of(case, case.plan.project_root)
    if place and place.purge_days:
        what = f"your project is on {place.name}, where files are deleted after {place.purge_days} days"
        yield PURGE.broken(what, fix="move it to your home", source=case.site.storage.source)
    if case.site.storage.no_touch and (word := starts(case, "touch")):
        what, because = f"the command calls `{word}`", "making files look younger is abuse there"
        yield PURGE.broken(what, because=because, fix="leave it out", source=case.site.storage.source)


def purge_advice(site: Site) -> Iterator[Finding]:
    for place in site.storage.places:
        if place.purge_days:
            yield PURGE.advice(_purged(place), source=site.storage.source)


def _purged(place: Place) -> str:
    return f"files on {place.name} ({place.path}) are deleted after {place.purge_days} days"


def tar_touch(case: Case) -> Iterator[Finding]:
    words = shell_words(case)
    if not (case.site.storage.keeps_archive_times and "tar" in words):
        return
    options = words[words.index("tar") + 1 :]
    extracts = any(re.fullmatch(r"-?[a-z]*x[a-z]*|--extract", word) for word in options[:2])
    if extracts and not any(re.fullmatch(r"--touch|-?[a-z]*m[a-z]*", word) for word in options[:3]):
        yield TAR_TOUCH.broken("an archive is unpacked with its old times", source=case.site.storage.source)


def container_cache(case: Case) -> Iterator[Finding]:
    program = starts(case, "apptainer", "singularity")
    if not (program and is_cluster(case)):
        return
    set_here = {export.name for export in case.plan.exports}
    kind = program.rpartition("/")[2].upper()
    missing = [name for name in (f"{kind}_CACHEDIR", f"{kind}_TMPDIR") if name not in set_here]
    if missing:
        what = f"`{program}` is called, and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set"
        lines = ", ".join(f'`{name} = "{_cache(case)}"`' for name in missing)
        yield CONTAINER_CACHE.broken(what, fix=f"in the project file, under `[env.variables]`: {lines}")


def _cache(case: Case) -> str:
    return case.site.local_disk.path or "/tmp"  # noqa: S108 # a folder of the node, named in a hint


RULES = (
    LOG_FOLDER, SUBMIT_FOLDER, JOBS_IN_HOME, QUOTA, OVER_QUOTA, SHARED_QUOTA, LOCAL_DISK, LOCAL_RESULTS, PURGE,
    TAR_TOUCH, VENV_ON_SCRATCH, JOBS_IN_STORE, CONTAINER_CACHE,
)  # fmt: skip
CHECKS: tuple[Check, ...] = (
    log_folder, submit_folder, discouraged_places, quota, over_quota, environment_place, local_disk, local_results,
    purge, tar_touch, container_cache,
)  # fmt: skip
ADVICE: tuple[Advice, ...] = (purge_advice,)
