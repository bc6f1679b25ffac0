"""`voy site probe`: what this cluster says of itself, beside its profile; the differences as a profile laid over it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from voyageur.commands import completing
from voyageur.errors import ClusterError, SiteError, SpecError
from voyageur.show.output import aside, emit, emit_json

if TYPE_CHECKING:
    from pathlib import Path

    from voyageur.questions.probe import Probed
    from voyageur.site import Site
    from voyageur.site.differences import Difference


@click.command("probe")
@click.option(
    "--on",
    "asked",
    metavar="SITE",
    help="the profile to compare with, if none is recognised",
    shell_complete=completing.one_of(completing.sites),
)
@click.option("--name", metavar="NAME", help="make a profile of this name, for a cluster that no profile fits")
@click.option("--write", is_flag=True, help="put what differs into a profile of your own, beside the shown text")
@click.option("--force", is_flag=True, help="write over a file that says something else; the old one is kept beside it")
@click.option("--with-job", is_flag=True, help="also run a job of one minute that looks around on a node")
@click.option("-a", "--account", metavar="ACCOUNT", help="account that this job is charged to")
@click.option("-p", "--partition", metavar="PARTITION", help="partition that this job runs in")
@click.option("--wait", default="10m", metavar="TIME", help="how long to wait for this job; by default 10m")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(
    asked: str | None, name: str | None, write: bool, force: bool, with_job: bool, as_json: bool, **job: str | None
) -> None:
    """Ask this cluster what it is, and show where its profile says something else. Starts no job unless told to."""
    profile = _profile(asked, name)
    probed = _probed(profile, _job_options(job) if with_job else None, str(job["wait"]))
    _check_cluster(profile, probed)
    found, text = _found(profile, probed)
    written = _write(profile, probed, text, force) if write else None
    if as_json:
        emit_json(_document(profile, probed, found, text, written))
        return
    emit(_text(profile, probed, found, "" if write else text))
    if write:
        aside(_told(profile, text, written))


def _told(profile: Site, text: str, written: Path | None) -> str:
    if written:
        return f"{written} written: `--on {profile.name}` uses it from now on"
    return f"{_target(profile.name)} says this already" if text else "nothing differs, so nothing was written"


# ── which profile ────────────────────────────────────────────────────────────────────────────────────────────────────


def _profile(asked: str | None, name: str | None) -> Site:
    from voyageur.commands import session
    from voyageur.commands.checking import check_site_named
    from voyageur.site import Site, load_profile

    if not session.has_slurm():
        raise SiteError(
            "this machine has no Slurm to ask", facts=["`sinfo` is not on the PATH"], hint="log in to the cluster first"
        )
    if name:
        _check_new(name)
        return Site(name=name, engine="slurm", title=name)
    wanted = asked or session.usual_site()
    check_site_named(wanted, "--on")
    if wanted in ("local", "slurm"):
        return Site(name="slurm", engine="slurm", title="the cluster that this machine belongs to")
    return load_profile(wanted, session.own_profiles())


def _check_new(name: str) -> None:
    from voyageur.site.profile import built_in, is_template

    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name) or is_template(name) or name in ("local", "slurm"):
        raise SpecError(
            f"a profile cannot be called `{name}`",
            facts=["given by --name"],
            hint="choose a plain word, like `lab`; `local`, `slurm` and names with `any-` mean something else",
        )
    if (built_in() / f"{name}.toml").is_file():
        raise SpecError(
            f"there is a profile `{name}` already",
            facts=["it comes with Voyageur"],
            hint=f"`voy site probe --on {name}` lays what differs over it",
        )


def _check_cluster(profile: Site, probed: Probed) -> None:
    names, here = profile.fingerprint.cluster, probed.seen.cluster
    if names and here and here not in names:
        raise SiteError(
            f"this machine belongs to the cluster {here}, not to {profile.name}",
            facts=[f"{profile.name} calls itself {' or '.join(names)}"],
            hint="make a profile of its own: `voy site probe --name lab`",
        )


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _probed(profile: Site, job: list[str] | None, wait: str) -> Probed:
    from msgspec.structs import replace

    from voyageur.commands import session
    from voyageur.questions.probe import probe

    signs = session.signs_here()
    probed = probe(session.here(), profile, session.environment(), f"{signs.host}.{signs.domain}".rstrip("."))
    if not probed.seen.cluster and not probed.seen.partitions:
        facts = [f"{what}: {why}" for what, why in probed.unknown.items()]
        raise ClusterError("Slurm does not answer; nothing is known and nothing was written", facts=facts, hint=_LATER)
    if job is None:
        return probed
    look, problem = _look(profile, job, wait)
    unknown = {**probed.unknown, **({"node": problem} if problem else {})}
    return replace(probed, seen=replace(probed.seen, node=look), unknown=unknown)


_LATER = "`scontrol ping` tells when its controller is up again"


def _job_options(job: dict[str, str | None]) -> list[str]:
    return [f"--{key}={job[key]}" for key in ("account", "partition") if job[key]]


def _look(profile: Site, options: list[str], wait: str) -> tuple[Any, str]:
    import tempfile
    from pathlib import Path

    from voyageur import places
    from voyageur.commands import session
    from voyageur.questions.node_job import look_on_a_node
    from voyageur.units import Duration, UnitError

    try:
        patience = Duration.parse(wait)
    except UnitError as problem:
        raise SpecError("--wait is not right", facts=[f"{wait}: {problem}"], hint="write it like 10m or 1h") from None
    scratch = Path(places.scratch_folder(None, profile.storage.scratch, session.environment()))
    scratch.mkdir(parents=True, exist_ok=True)
    aside("a job of one minute looks at a node; ^C cancels it")
    with tempfile.TemporaryDirectory(prefix="voy-probe-", dir=scratch) as folder:
        looked = look_on_a_node(session.here(), profile, Path(folder), options, patience)
    return looked.look, looked.problem


# ── the overlay ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _found(profile: Site, probed: Probed) -> tuple[list[Difference], str]:
    """Differences to what is in force; the text holds those to what it would be laid over."""
    import time

    from voyageur.site.differences import differences
    from voyageur.site.overlay import overlay_text

    base = _laid_over(profile)
    title = f"the Slurm cluster {probed.seen.cluster}".rstrip() if not base.lineage else None
    text = overlay_text(profile.name, differences(base, probed.seen), time.strftime("%Y-%m-%d"), title)
    return differences(profile, probed.seen), text


def _laid_over(profile: Site) -> Site:
    """The package's own profile, without what the user laid over it; a cluster that it does not know starts empty."""
    from voyageur.site import Site, load_profile
    from voyageur.site.profile import built_in

    if (built_in() / f"{profile.name}.toml").is_file():
        return load_profile(profile.name)
    return Site(name=profile.name, engine="slurm", title=profile.title)


def _target(name: str) -> Path:
    from voyageur.commands import session

    return session.own_profiles() / f"{name}.toml"


def _write(profile: Site, probed: Probed, text: str, force: bool) -> Path | None:
    """None when there is nothing new to write."""
    from voyageur.runtime.folder import write_atomically

    target = _target(profile.name)
    if profile.name == "slurm":
        raise SpecError(
            "no profile fits this cluster, so what is written needs a name",
            hint="`voy site probe --name lab --write` makes a whole profile",
        )
    silent = [what for what in ("config", "nodes", "partitions") if what in probed.unknown]
    if silent:
        facts = [f"{what}: {probed.unknown[what]}" for what in silent]
        raise ClusterError("not all of the cluster answered; nothing was written", facts=facts, hint=_LATER)
    if not text or (target.is_file() and _says_the_same(target, text)):
        return None
    _refuse_to_overwrite(target, force)
    _prove(profile.name, probed, text)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target.replace(target.with_name(f"{target.name}.before"))
        write_atomically(str(target), text.encode("utf-8"), mode=0o644)
    except OSError as problem:
        raise SpecError(
            f"{target} cannot be written: {problem.strerror}",
            hint="without `--write` it is shown; save it where you can",
        ) from None
    return target


def _says_the_same(target: Path, text: str) -> bool:
    """Whatever the day on which it was found."""

    def undated(said: str) -> str:
        return re.sub(r"\b\d{4}-\d\d-\d\d\b", "", said)

    return undated(target.read_text(encoding="utf-8", errors="replace")) == undated(text)


def _refuse_to_overwrite(target: Path, force: bool) -> None:
    if target.exists() and not force:
        raise SpecError(
            "there is a file of yours already that says something else",
            facts=[str(target)],
            hint="compare it with what is shown without `--write`; `--force` writes over it and keeps it beside",
        )


def _prove(name: str, probed: Probed, text: str) -> None:
    """Read as it will be read from now on, it must say what the cluster says."""
    import tempfile
    from pathlib import Path

    from voyageur.site import load_profile
    from voyageur.site.differences import differences

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.toml").write_text(text, encoding="utf-8")
        site = load_profile(name, Path(folder))
    left = [difference for difference in differences(site, probed.seen) if difference.taken]
    if left:
        raise AssertionError(f"the profile that would be written still differs: {left}")


# ── showing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _text(profile: Site, probed: Probed, found: list[Difference], text: str) -> str:
    from voyageur.show.probe import differences_text, seen_lines
    from voyageur.show.style import has_colours

    parts = ["\n".join(seen_lines(probed.seen, probed.unknown)), differences_text(found, has_colours())]
    if text and any(difference.taken for difference in found):
        hint = "`--write` puts this into a profile of your own:"
        if profile.name == "slurm":
            hint = "no profile fits this cluster; `--name lab --write` makes this one:"
        parts.append(f"{hint}\n\n{text.rstrip()}")
    return "\n\n".join(parts)


def _document(
    profile: Site, probed: Probed, found: list[Difference], text: str, written: Path | None
) -> dict[str, Any]:
    from voyageur.show.probe import difference_document, look_document

    seen = probed.seen
    return {
        "profile": profile.name,
        "cluster": seen.cluster,
        "slurm": seen.version,
        "host": seen.host,
        "partitions": [partition.name for partition in seen.partitions],
        "qos": [row.name for row in seen.qos],
        "node": look_document(seen.node),
        "unknown": probed.unknown,
        "differences": [difference_document(difference) for difference in found],
        "overlay": text,
        "written": str(written) if written else None,
    }
