"""How each dataset comes to the nodes, by what it is, by what the command does with it, and by the room there is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from voyageur.env import Built, Form
from voyageur.errors import SiteError, SpecError
from voyageur.plan.model import Cargo, Choice, Seen, Shape, Surroundings
from voyageur.plan.reasons import asked
from voyageur.runtime.staging.look import ARCHIVES, COMPRESSED, FILE, FOLDER, PACK, READ_IN_PLACE, SQUASHFS, TAR, ZIP
from voyageur.runtime.staging.wanted import ENVIRONMENT, IMAGE
from voyageur.runtime.words import datasets_in
from voyageur.site import Partition, Site
from voyageur.site.facts import Medium
from voyageur.spec import Dataset, Spec
from voyageur.spec.home import expand_home
from voyageur.spec.keys import nearest
from voyageur.units import Size

UNKNOWN = "not looked at from here"
_RESERVED = ("code", "mnt", ENVIRONMENT)


def dataset_path(dataset: Dataset, scratch: PurePosixPath) -> str:
    """Relative paths count from the project's place on scratch."""
    return os.path.normpath(scratch / expand_home(dataset.from_))


def decide_data(
    spec: Spec,
    site: Site,
    partition: Partition | None,
    around: Surroundings,
    scratch: PurePosixPath,
    shape: Shape,
    environment: Built | None = None,
    image: Cargo | None = None,
) -> tuple[Cargo, ...]:
    """The environment has its room before them. `image` is the container's, without which nothing begins."""
    _check_names(spec)
    in_command = set(datasets_in(spec.command))
    decided = [
        _cargo(spec, name, dataset, dataset_path(dataset, scratch), around.datasets.get(name), name in in_command)
        for name, dataset in spec.data.items()
    ]
    all_of_it = [*([image] if image else []), *decided]
    return tuple(_fitted(all_of_it, site, partition, shape, _taken(environment, site, partition, shape)))


def _check_names(spec: Spec) -> None:
    for name in datasets_in(spec.command):
        if name not in spec.data:
            guess = nearest(name, spec.data)
            raise SpecError(
                f"there is no dataset `{name}`",
                facts=[f"`{{data.{name}}}` stands in the command", "defined: " + (", ".join(spec.data) or "none")],
                hint=f"did you mean `{{data.{guess}}}`?" if guess else f"name its path under [data] as `{name}`",
            )
    for name, dataset in spec.data.items():
        if name == ENVIRONMENT:
            raise SpecError(
                f"a dataset cannot be called `{ENVIRONMENT}`",
                facts=[f"asked for by {spec.source('data')}", "the run's packages travel under that name"],
                hint="choose another name under [data]",
            )
        if dataset.at.split("/")[0] in _RESERVED or dataset.at.startswith(".voyageur"):
            raise SpecError(
                f"`{dataset.at}` cannot be staged under its own path",
                facts=["the run has a folder of that name there"],
                hint=f"name it under [data]: {name} = {dataset.from_!r}",
            )


# ── one dataset ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _cargo(spec: Spec, name: str, dataset: Dataset, path: str, seen: Seen | None, in_command: bool) -> Cargo:
    stage = _stage(spec, name, dataset, path, seen, in_command)
    return Cargo(name=name, source=path, what=_what(seen), stage=stage, at=dataset.at, need=_need(stage.value, seen))


def _stage(spec: Spec, name: str, dataset: Dataset, path: str, seen: Seen | None, in_command: bool) -> Choice[str]:
    kind = seen.kind if seen else _kind_by_name(path)
    if dataset.stage:
        _check_stage(spec, name, dataset.stage, path, kind, seen is not None)
        return Choice(value=dataset.stage, because=f"{asked(spec, 'data')}{_remark(dataset.stage, kind, in_command)}")
    if kind == PACK and in_command:
        because = f"`{{data.{name}}}` stands in the command: a program that opens the file itself needs it whole"
        return Choice(value="copy", because=because)
    if kind == PACK:
        return Choice(value="index", because="a pack: the program starts at once, `data.open` reads through")
    if kind == COMPRESSED:
        return Choice(value="unpack", because="a compressed tar cannot be read in place")
    if kind == SQUASHFS:
        return Choice(value="mount", because="an image: mounted where a node can, else unpacked")
    if kind == TAR:
        return Choice(value="copy", because="a tar without an index; with one (`voy data index`) it is read at once")
    return Choice(value="copy", because=f"a {kind}, as it is")


def _check_stage(spec: Spec, name: str, stage: str, path: str, kind: str, is_seen: bool) -> None:
    if stage == "index" and is_seen and kind != PACK:
        how = f"`voy data index {path}`" if kind == TAR else f"`voy data pack {path} {name}.tar`"
        what = f"{name} cannot be read through: it is a {kind}, and no pack with an index"
        raise SpecError(what, facts=[path, asked(spec, "data")], hint=f"{how} makes one; or leave `stage` out")
    if stage in ("unpack", "mount") and is_seen and kind == FILE:
        raise SpecError(
            f"{name} is no archive that could be {stage}ed", facts=[path], hint='use `stage = "copy"`, or leave it out'
        )
    if stage == "mount" and is_seen and kind not in (SQUASHFS, ZIP):
        raise SpecError(
            f"{name} cannot be mounted: it is a {kind}",
            facts=[path, "squashfs images and zips can be"],
            hint='use `stage = "unpack"`',
        )


def _remark(stage: str, kind: str, in_command: bool) -> str:
    if stage == "index" and in_command:
        return "; a program that opens the file without `data.open` reads shared storage"
    if stage == "unpack" and kind == FOLDER:
        return "; a folder already, so it is copied as it is"
    return ""


def _kind_by_name(path: str) -> str:
    """For a cluster that this machine does not see."""
    lower = path.lower()
    if lower.endswith(".tar"):
        return PACK
    if lower.endswith((".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")):
        return COMPRESSED
    return SQUASHFS if lower.endswith((".squashfs", ".sqsh")) else "dataset"


def _what(seen: Seen | None) -> str:
    if seen is None:
        return UNKNOWN
    least = "" if seen.is_all else "more than "
    files = f", {least}{seen.members} files" if seen.members and seen.kind != FILE else ""
    checks = "" if seen.has_checksums or seen.kind not in READ_IN_PLACE else ", no checksums"
    return f"{seen.kind}, {least}{seen.size}{files}{checks}"


def _need(stage: str, seen: Seen | None) -> Size | None:
    if seen is None or stage == "none":
        return None
    more = seen.unpacked.bytes if stage == "unpack" and seen.kind in ARCHIVES and seen.unpacked else 0
    return Size(seen.size.bytes + more)


# ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _taken(environment: Built | None, site: Site, partition: Partition | None, shape: Shape) -> int:
    """By the environment. What is mounted can be mounted from shared storage, too; what is unpacked cannot."""
    if environment is None:
        return 0
    unpacked = environment.unpacked.bytes if environment.form is Form.TAR else 0
    need = environment.size.bytes + unpacked
    room, where = _room(site, partition, shape)
    if room and need > room.bytes and unpacked:
        raise SiteError(
            "the environment does not fit on a node's own disk",
            facts=[f"it needs {Size(need)}, archive and contents together", where],
            hint='make an image of it, which is mounted: `env.form = "squashfs"`, and `voy env build`',
        )
    return need


def _fitted(
    decided: Sequence[Cargo], site: Site, partition: Partition | None, shape: Shape, used: int
) -> Iterator[Cargo]:
    """In their order, as long as there is room; what does not fit stays on shared storage."""
    room, where = _room(site, partition, shape)
    for cargo in decided:
        need = cargo.need.bytes if cargo.need else 0
        if room is None or used + need <= room.bytes or not need:
            used += need
            yield cargo
            continue
        if cargo.stage.value == "unpack":
            raise SiteError(
                f"{cargo.name} does not fit on a node's own disk",
                facts=[f"it needs {cargo.need}, archive and contents together", where],
                hint="ask for nodes with a larger disk, or pass the image as a folder on shared storage"
                if cargo.name == IMAGE
                else f'read it in place: `voy data index {cargo.source}`, and `stage = "index"`',
            )
        because = f"{cargo.stage.value} would need {cargo.need}, and {where}: read from shared storage"
        yield Cargo(
            name=cargo.name,
            source=cargo.source,
            what=cargo.what,
            at=cargo.at,
            stage=Choice(value="none", because=because),
        )


def _room(site: Site, partition: Partition | None, shape: Shape) -> tuple[Size | None, str]:
    if shape.disk.value:
        return shape.disk.value, f"{shape.disk.value} of disk are asked for"
    if in_memory(site) and shape.memory.value:
        return shape.memory.value, f"a node's own folder is memory there, of which the job has {shape.memory.value}"
    size = (partition and partition.local_disk) or site.local_disk.size
    return size, f"a node has {size}"


def in_memory(site: Site) -> bool:
    return site.local_disk.medium is Medium.MEMORY


def data_notes(data: Sequence[Cargo], site: Site) -> Iterator[str]:
    for cargo in data:
        if cargo.stage.value == "none" and "shared storage" in cargo.stage.because:
            yield f"{cargo.name} does not fit on the nodes: {cargo.stage.because}"
        elif cargo.need and in_memory(site):
            yield f"a node's own folder is memory on {site.name}: {cargo.name} takes {cargo.need} of the job's memory"
