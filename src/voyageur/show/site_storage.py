"""The file systems of a site and the folder that each node has, as a grid and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from voyageur.show.rows import NOT_KNOWN, Entry, Grid, Row, listed, rows
from voyageur.site import Medium, Partition, Place, Site, Use

_USES = {Use.YES: "yes", Use.READ_ONLY: "read only", Use.DISCOURAGED: "avoid", Use.NO: "no"}
_MEDIA = {Medium.DISK: "on disk", Medium.MEMORY: "in memory, which is the job's", Medium.NONE: "there is none"}


def storage(site: Site) -> Iterator[Row | Grid]:
    kept = site.storage
    head = ("PLACE", "PATH", "SIZE", "FILES", "PURGED", "FOR JOBS")
    if kept.places:
        yield Grid(head, tuple(_place(place) for place in kept.places))
    yield from rows(
        ("on a node", _local(site)),
        *_other_folders(site.partitions),
        ("quota", f"`{kept.quota_command}` says what is used" if kept.quota_command else ""),
        ("submit from", kept.submit_from),
        ("never from", listed(kept.no_submit_from)),
        ("over quota", "jobs are refused" if kept.refuses_over_quota else ""),
        ("purging", "making files look younger is abuse" if kept.no_touch else ""),
        ("archives", "unpack with `tar --touch`: old times are purged at once" if kept.keeps_archive_times else ""),
    )


def _place(place: Place) -> Entry:
    soft = [str(place.soft_size or ""), f"{place.soft_files:,} files" if place.soft_files else ""]
    over = f" for {place.grace}" if place.grace else ""
    notes = [
        "shared by a group" if place.shared else "",
        {True: "backed up", False: "no backup", None: ""}[place.backup],
        f"more than {listed(soft)} is borne{over}" if any(soft) else "",
        place.note,
    ]
    cells = (
        place.name,
        place.path,
        str(place.size or ""),
        f"{place.files:,}" if place.files else "",
        f"{place.purge_days} days" if place.purge_days else "",
        _USES[place.jobs],
    )
    return Entry(cells, listed(notes, "; "))


def _local(site: Site) -> str:
    local = site.local_disk
    if local.medium is Medium.NONE:
        return _MEDIA[local.medium]
    where = f"${local.variable}" if local.variable else f"a folder of your own in {local.path}" if local.path else ""
    if not where and not local.request:
        return NOT_KNOWN
    parts = [
        where,
        _MEDIA.get(local.medium, ""),
        str(local.size or ""),
        {True: "emptied after the job", False: "not emptied after the job", None: ""}[local.cleaned],
        f"more of it: {local.request.format(size='SIZE')}" if local.request else "",
    ]
    return listed(parts)


def _other_folders(partitions: Iterable[Partition]) -> list[tuple[str, str]]:
    """Nodes whose own folder is not like the others', each kind once."""
    kinds: dict[str, list[str]] = {}
    for partition in partitions:
        request = f"ask with {partition.local_request.format(size='SIZE')}" if partition.local_request else ""
        kind = [_MEDIA[partition.local_medium] if partition.local_medium else "", request]
        if any(kind):
            kinds.setdefault(listed(kind), []).append(partition.name)
    return [("", f"{kind}: {listed(names)}") for kind, names in kinds.items()]
