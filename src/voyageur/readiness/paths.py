"""Paths that exist on one machine only."""

from __future__ import annotations

from pathlib import PureWindowsPath

_PERSONAL = ("/home/", "/Users/", "/mnt/", "/media/", "/Volumes/", "/run/media/", "/content/")
_NEVER_ON_A_CLUSTER = ("/Users/", "/Volumes/", "/content/")
_DESKTOP = ("~/Desktop", "~/Downloads", "~/Documents", "$HOME/Desktop", "$HOME/Downloads", "$HOME/Documents")
_LONGEST = 1_000


def may_be_path(text: str) -> bool:
    """A quick look at its first letters."""
    return text[:1] in ("/", "~", "$", ".", "\\") or text[1:2] == ":"


def exists_only_here(text: str) -> bool:
    """By its looks: below somebody's home or on somebody's disk. One that only names such a folder is none."""
    if len(text) > _LONGEST or "\n" in text:
        return False
    if text.startswith(_PERSONAL):
        return len(text.split("/")) > 2 and bool(text.split("/")[2].strip())
    return text.startswith(_DESKTOP) or is_windows(text)


def is_windows(text: str) -> bool:
    """`C:\\data`, `D:/data`, `\\\\server\\share`; `a:b` is none, and no address."""
    drive = PureWindowsPath(text).drive if text[1:3] in (":\\", ":/") or text.startswith("\\\\") else ""
    return bool(drive) and (drive[0].isalpha() or len(drive) > 3)


def never_on_a_cluster(text: str) -> bool:
    return text.startswith((*_NEVER_ON_A_CLUSTER, *_DESKTOP)) or is_windows(text)


def is_home(text: str) -> bool:
    return text.startswith(("~/", "$HOME/", "${HOME}/"))


def leaves_upwards(text: str) -> bool:
    return text.startswith(("../", "..\\")) or text == ".."
