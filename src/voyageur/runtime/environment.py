"""The environment that the run has: on each node its Python and its programs come first."""

import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

VARIABLE = "VOY_ENVIRONMENT"


class EnvironmentProblem(Exception):
    """The environment is here, and yet nothing can run in it."""


class Wish(NamedTuple):
    """What the plan says of it. `requirements` and `wheels` lie in the code, for one that is made on each node.

    `locked`: the requirements are a lock, with all packages and their digests.
    """

    base: str = ""
    finish: List[str] = []  # noqa: RUF012 - never changed
    requirements: List[str] = []  # noqa: RUF012
    wheels: List[str] = []  # noqa: RUF012
    online: bool = False
    locked: bool = False

    @property
    def is_made_here(self) -> bool:
        return bool(self.requirements)


def in_words(wish: Wish) -> str:
    return json.dumps({key: value for key, value in wish._asdict().items() if value})


def read_wish(environment: Mapping[str, str]) -> Optional[Wish]:
    found: Dict[str, Any] = json.loads(environment.get(VARIABLE) or "null")
    return None if found is None else Wish(**found)


def activated(variables: Mapping[str, str], folder: str) -> Dict[str, str]:
    """As its own `activate` would do it, without a shell."""
    _check_python(folder, variables)
    found = {
        "PATH": os.path.join(folder, "bin") + os.pathsep + variables.get("PATH", os.defpath),
        "VIRTUAL_ENV": folder,
        # What is compiled came along; a program that writes beside it would fill the node's disk for nobody.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if os.path.isdir(os.path.join(folder, "conda-meta")):
        found["CONDA_PREFIX"] = folder
    return found


def _check_python(folder: str, variables: Mapping[str, str]) -> None:
    python = os.path.join(folder, "bin", "python")
    if os.path.exists(python):
        return
    wish = read_wish(variables)
    base = (wish and wish.base) or os.path.realpath(python)
    raise EnvironmentProblem(
        "the environment stands on %s, which this node does not have; name the module that brings it in "
        "[env] modules, and make it anew (`voy env build`)" % base
    )
