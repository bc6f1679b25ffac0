"""How full the places of a site are. The site's own command knows best; then the file systems' own; then statvfs."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from voyageur.allowance import Quota
from voyageur.allowance.filesystems import Mount, filesystems_argv, filesystems_from, lfs_project_from
from voyageur.allowance.quotas import quotas_from
from voyageur.hosts import Host
from voyageur.questions.bounded import ask_program, why_nothing
from voyageur.site import Site
from voyageur.site.places import known_places, whole_path
from voyageur.units import Duration

PATIENCE = Duration(20)
# In the order of how much they tell; a site has one of them.
_SITES_OWN = (
    ("diskusage_report",),
    ("lumi-quota",),
    ("cinQuota",),
    ("cindata",),
    ("showquota", "-J"),
    ("disk-quota",),
    ("/usr/local/etc/taccinfo",),
    ("jutil", "project", "dataquota"),
)


class Unread(Struct, frozen=True, kw_only=True):
    """An answer that nothing here understands."""

    command: str
    text: str


class Fullness(Struct, frozen=True, kw_only=True):
    quotas: tuple[Quota, ...] = ()
    unread: tuple[Unread, ...] = ()
    problems: tuple[str, ...] = ()


def ask(host: Host, site: Site, environment: Mapping[str, str], patience: Duration = PATIENCE) -> tuple[Quota, ...]:
    """What is known within this time in all: whoever submits must not wait for each file system that hangs."""
    return look(host, site, environment, patience, in_all=patience).quotas


def look(
    host: Host,
    site: Site,
    environment: Mapping[str, str],
    patience: Duration = PATIENCE,
    in_all: Duration | None = None,
) -> Fullness:
    asked = _Asked(host, patience, in_all)
    for argv in _site_commands(site, environment):
        if quotas := asked.command(argv):
            return asked.told(quotas)
    mounts = asked.mounts(
        [path for place in known_places(site.storage) if (path := whole_path(place.path, environment))]
    )
    limited = [*_of_lustre(asked, mounts, environment), *_of_linux(asked)]
    if any(quota.limit or quota.file_limit for quota in limited):
        return asked.told(limited)
    return asked.told([mount.as_quota() for mount in mounts])


class _Asked:
    """Questions that may fail, and why they did."""

    def __init__(self, host: Host, patience: Duration, in_all: Duration | None) -> None:
        self.host = host
        self.patience = patience
        self.deadline = time.monotonic() + in_all.seconds if in_all else None
        self.unread: list[Unread] = []
        self.problems: list[str] = []

    def told(self, quotas: Sequence[Quota]) -> Fullness:
        return Fullness(quotas=tuple(quotas), unread=tuple(self.unread), problems=tuple(self.problems))

    def text(self, argv: Sequence[str]) -> str:
        """An exit code says nothing: that of NERSC's showquota is the number of places that are full."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            return ""
        answer = ask_program(self.host, argv, self.patience)
        if answer is None:
            return ""
        if answer.code is None or not answer.output.strip():
            if "No such file" not in answer.errors:  # not everybody has each of a site's places
                self.problems.append(why_nothing(argv, answer, self.patience))
            return ""
        return answer.output

    def command(self, argv: Sequence[str]) -> tuple[Quota, ...]:
        text = self.text(argv)
        quotas = quotas_from(text) if text else ()
        if quotas is None:
            self.unread.append(Unread(command=shlex.join(argv), text=text))
        return tuple(replace(quota, source=argv[0].rpartition("/")[2]) for quota in quotas or ())

    def mounts(self, paths: Sequence[str]) -> list[Mount]:
        """One question for each: a file system that hangs must not hide the others."""
        found = [
            mount for path in dict.fromkeys(paths) for mount in filesystems_from(self.text(filesystems_argv(path)))
        ]
        return list({mount.target: mount for mount in found}.values())


def _site_commands(site: Site, environment: Mapping[str, str]) -> Iterator[list[str]]:
    """Several may be named, with `;` between them."""
    named = [shlex.split(text) for text in (site.storage.quota_command or "").split(";") if text.strip()]
    for argv in [*named, *(list(words) for words in _SITES_OWN if list(words) not in named)]:
        if argv[:3] != ["jutil", "project", "dataquota"]:
            yield argv
        elif project := os.path.basename(environment.get("PROJECT", "").rstrip("/")):
            yield ["jutil", "project", "dataquota", "--project", project, "-o", "json", "-U", "KB"]


def _of_lustre(asked: _Asked, mounts: Sequence[Mount], environment: Mapping[str, str]) -> Iterator[Quota]:
    """A user's quota, and of the group's and the folder's those that are set."""
    for mount in mounts:
        if mount.kind == "lustre":
            yield from asked.command(["lfs", "quota", "-u", environment.get("USER", str(os.getuid())), mount.path])
            owners = [("-g", str(os.getgid()))]
            if project := lfs_project_from(asked.text(["lfs", "project", "-d", mount.path])):
                owners.append(("-p", project))
            for flag, owner in owners:
                quotas = asked.command(["lfs", "quota", flag, owner, mount.path])
                yield from (quota for quota in quotas if quota.limit or quota.file_limit)


def _of_linux(asked: _Asked) -> tuple[Quota, ...]:
    return asked.command(["quota", "-s"]) if asked.host.has("quota") else ()
