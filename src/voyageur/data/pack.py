"""`voy data pack`: sources in, a pack under its name out, or nothing under that name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence

from voyageur.data.entries import Entries
from voyageur.data.errors import PackError, told, told_name
from voyageur.data.packing import Packing, Report, Told
from voyageur.data.part import PartFolder
from voyageur.data.sources import Origin, origin_of
from voyageur.errors import SpecError
from voyageur.job.data.index import SUFFIX

_FORMAT = 1
_NOTED = 100  # problems that the index remembers

Listed = Callable[[int], None]  # how many there will be


def pack(
    sources: Sequence[str], out: str, *, shard: int, follow: bool, force: bool, listed: Listed, done: Told
) -> Report:
    _check(sources, out)
    asked = {
        "format": _FORMAT,
        "sources": [os.path.abspath(path) for path in sources],
        "shard": shard,
        "follow": follow,
    }
    try:
        part = PartFolder(out, asked)
    except OSError as problem:
        raise PackError(f"{out} cannot be made: {problem.strerror}", facts=[os.path.dirname(out) or "."]) from None
    with contextlib.closing(part), told(), _kept(part, out):
        if part.is_whole():
            return _finished(part)
        if not force:
            _check_free(out, part)
        return _pack(part, sources, out, shard, follow, listed, done)


@contextlib.contextmanager
def _kept(part: PartFolder, out: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ChildProcessError) as problem:
        facts = [f"what is packed so far is kept in {part.path}"]
        hint = "make room, then the same command goes on where it was"
        raise PackError(f"{out} cannot be written: {problem.strerror or problem}", facts=facts, hint=hint) from None


def _check(sources: Sequence[str], out: str) -> None:
    for path in sources:
        if not os.path.exists(path):
            raise SpecError(f"there is no {path}", hint="its path counts from the folder you are in")
    if not out.endswith(".tar"):
        what = "packs are not compressed" if out.endswith((".gz", ".bz2", ".xz", ".zst", ".tgz")) else "a pack is a tar"
        raise SpecError(f"{out} does not end in .tar", facts=[what], hint=f"`voy data pack {sources[0]} NAME.tar`")


def _check_free(out: str, part: PartFolder) -> None:
    there = [path for path in (out, out + SUFFIX) if os.path.exists(path)]
    if there:
        part.remove()
        raise SpecError(f"there is a {there[0]} already", hint="`--force` packs anew, and replaces it when it is whole")


def _pack(
    part: PartFolder, sources: Sequence[str], out: str, shard: int, follow: bool, listed: Listed, done: Told
) -> Report:
    origins = [origin_of(path, part.path) for path in sources]
    entries, report = _entries(origins, sources, part, out, follow)
    if not entries.count:
        part.remove()
        raise SpecError(f"there are no files in {', '.join(sources)}", facts=_left_out_facts(report))
    listed(entries.count)
    packing = Packing(part, origins, entries, shard, done, report)
    packing.run()
    problems = [[told_name(name), reason] for name, reason in report.problems[:_NOTED]]
    part.complete(packing.finish(left_out=dict(report.left_out), problems=problems))
    report.paths = part.publish()
    return report


def _entries(
    origins: Sequence[Origin], sources: Sequence[str], part: PartFolder, out: str, follow: bool
) -> tuple[Entries, Report]:
    report = Report()
    without = frozenset(os.path.realpath(path) for path in (out, out + SUFFIX, part.path))
    listings = [origin.listing(follow=follow, without=without) for origin in origins]
    for listing in listings:
        report.left_out.update(listing.left_out)
        report.examples.update(listing.examples)
        report.problems += listing.problems
    return Entries(listings, sources), report


def _left_out_facts(report: Report) -> list[str]:
    return [f"left out: {count} {what}" for what, count in report.left_out.items()]


def _finished(part: PartFolder) -> Report:
    """Only the last steps were missing."""
    about = part.facts()
    problems = [(name.encode(), reason) for name, reason in about["problems"]]
    size = sum(archive["size"] for archive in about["archives"])
    report = Report(size=size, members=about["members"] + about["others"], problems=problems)
    report.left_out.update(about["left_out"])
    report.paths = part.publish()
    return report
