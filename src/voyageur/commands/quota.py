"""`voy quota`: how full your places are, in bytes and in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voyageur.commands import completing
from voyageur.errors import ClusterError, SpecError
from voyageur.show.output import aside, emit, emit_json

if TYPE_CHECKING:
    from voyageur.questions.counting import Count
    from voyageur.questions.quota import Fullness
    from voyageur.show.quotas import Placed
    from voyageur.site import Site


@click.command("quota")
@click.option(
    "--on",
    "site_name",
    metavar="SITE",
    help="the cluster, if it is not recognised",
    shell_complete=completing.one_of(completing.sites),
)
@click.option(
    "--count",
    "folders",
    metavar="FOLDER",
    multiple=True,
    help="count the files in a folder, where no tool tells",
    shell_complete=completing.folders,
)
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(site_name: str | None, folders: tuple[str, ...], as_json: bool) -> None:
    """Show how full your places are: bytes and files against their limits, the worst first."""
    from voyageur.commands import session
    from voyageur.questions.quota import look
    from voyageur.site.places import known_places, place_of

    for folder in folders:
        _check_folder(folder)
    site = _site(site_name)
    counts = [_counted(folder) for folder in folders]
    found = look(session.here(), site, session.environment())
    known = known_places(site.storage)
    here = session.environment()
    placed = [(quota, None if quota.whole else place_of(quota, known, here)) for quota in found.quotas]
    if not placed and not found.unread and not counts:
        raise ClusterError(
            "nothing is known of your quotas",
            facts=[*found.problems, "no tool of this site answered, and neither did its file systems"],
            hint=_elsewhere(site) or "`df -h ~` asks the file system of your home by hand",
        )
    if as_json:
        emit_json(_document(site, placed, found, counts))
    else:
        emit(_text(placed, found, counts))


def _check_folder(folder: str) -> None:
    if not Path(folder).is_dir():
        raise SpecError(f"there is no folder {folder}", facts=["given by --count"], hint="name one that you may read")


def _site(name: str | None) -> Site:
    """What is known of it without asking its Slurm: quotas are asked also when that is down."""
    from voyageur.commands import session
    from voyageur.commands.checking import check_site_named
    from voyageur.site import Site, load_profile

    wanted = name or session.environment().get("VOY_SITE") or session.usual_site()
    check_site_named(wanted, "--on" if name else "VOY_SITE")
    if wanted in ("local", "slurm"):
        return Site(name=wanted, engine=wanted, title=wanted)
    return load_profile(wanted, session.own_profiles())


def _elsewhere(site: Site) -> str | None:
    from voyageur.commands import session

    where = f" ({site.access.login[0]})" if site.access.login else ""
    return None if session.is_here(site) else f"this machine is not {site.name}: log in there{where} and ask again"


def _counted(folder: str) -> Count:
    import sys

    from voyageur.questions.counting import count_files

    watched = sys.stderr.isatty()
    count = count_files(folder, watch=lambda so_far: _tell(folder, so_far) if watched else None)
    if watched:
        sys.stderr.write("\r\x1b[K")
    return count


def _tell(folder: str, so_far: int) -> None:
    import sys

    sys.stderr.write(f"\rcounting {folder}: {so_far:,} so far; ^C takes that ")
    sys.stderr.flush()


def _text(placed: list[Placed], found: Fullness, counts: list[Count]) -> str:
    from voyageur.show.quotas import alarms, quotas_text, unread_lines
    from voyageur.show.style import has_colours

    parts = [quotas_text(placed, has_colours())] if placed else []
    parts += ["\n".join(_count_lines(count)) for count in counts]
    parts += ["\n".join(unread_lines(unread.command, unread.text)) for unread in found.unread]
    for note in [*alarms(placed), *found.problems]:
        aside(f"note: {note}")
    return "\n\n".join(parts)


def _count_lines(count: Count) -> list[str]:
    from voyageur.show.quotas import count_lines

    reasons = [f"{count.closed} of the folders may not be read"] if count.closed else []
    if not count.complete and not count.closed:
        reasons.append(f"stopped after {count.seconds:.0f} s")
    return count_lines(count.folder, count.inodes, count.complete, count.most, ", ".join(reasons))


def _document(site: Site, placed: list[Placed], found: Fullness, counts: list[Count]) -> dict[str, Any]:
    import msgspec

    from voyageur.show.quotas import alarms, quota_document, worst_first

    return {
        "site": site.name,
        "quotas": [quota_document(quota, place) for quota, place in worst_first(placed)],
        "counts": [{**msgspec.to_builtins(count), "inodes": count.inodes} for count in counts],
        "unread": msgspec.to_builtins(found.unread),
        "notes": [*alarms(placed), *found.problems],
    }
