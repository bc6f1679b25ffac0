"""What does not last, and what should not last: the node's own disk, purges, archives, caches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import is_cluster, partition_of, place_of, shell_words, starts
from voyageur.site import Medium, Place, Site

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
CONTAINER_CACHE = Rule(
    id="container-cache",
    numbers=(44,),
    level=Level.WARNING,
    because="unpacking an image makes many small files, which home and shared file systems bear badly",
    fix="",
    source="Alliance documentation: Apptainer; Delta documentation: containers",
)


# ── the node's own folder ────────────────────────────────────────────────────────────────────────────────────────────

_LOCAL = re.compile(r"\{tmp\}|\$\{?(SLURM_TMPDIR|VOY_TMP|TMPDIR)\b")
_WRITES = re.compile(r"--?(o|out\w*|save\w*|results?|log[-_]?dir|checkpoint\w*|ckpt\w*)([-_]\w+)*", re.IGNORECASE)


def local_disk(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    disk, queue = case.site.local_disk, partition_of(case)
    medium = (queue.local_medium if queue else None) or disk.medium
    size = (queue.local_disk if queue else None) or disk.size
    wanted = max([one for one in (case.known.staged, case.plan.shape.disk.value) if one], default=None)
    if wanted and size and wanted > size:
        what = f"{wanted} are wanted on each node's own disk, and it holds {size}"
        yield LOCAL_DISK.broken(what, fix=f"`--disk {size}`, or read from scratch", source=disk.source)
    if not (wanted or _uses_local(case)):
        return
    if medium is Medium.NONE:
        what = f"the nodes of {case.site.name} have no folder of their own"
        yield LOCAL_DISK.broken(what, fix="use {scratch} instead of {tmp}", source=disk.source)
    elif medium is Medium.MEMORY:
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


RULES = (LOCAL_DISK, LOCAL_RESULTS, PURGE, TAR_TOUCH, CONTAINER_CACHE)
CHECKS: tuple[Check, ...] = (local_disk, local_results, purge, tar_touch, container_cache)
ADVICE: tuple[Advice, ...] = (purge_advice,)
