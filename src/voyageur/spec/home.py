"""`~` in what people write."""

from __future__ import annotations

import os

from voyageur.errors import SpecError


def expand_home(path: str) -> str:
    """`~/x` and `~user/x` as whole paths; a user who is not there is a mistake, and no folder called `~user`."""
    expanded = os.path.expanduser(path)
    if not expanded.startswith("~"):
        return expanded
    user = path.split("/")[0].removeprefix("~")
    what = f"there is no user `{user}`" if user else "your home folder is not known: HOME is not set"
    raise SpecError(
        what, facts=[f"{path}: `{path.split('/')[0]}` stands for a home folder"], hint="name the whole path"
    )
