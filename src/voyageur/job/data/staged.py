"""What the run has staged on this node: the file that VOY_DATA names. `docs/data.md` has its contract.

    {"version": 1, "data": {"imagenet": {"path": "/tmp/x/imagenet.tar", "source": "file"}}}

`path` is all that is needed. `index` says where the index is when it is not beside it; `source` names a kind of Source,
and that kind may read more keys. A key that nobody knows is no error, so that older programs run in newer runs.
"""

import json
import os
from typing import Any, Dict

from voyageur.job.data.errors import DataError

VARIABLE = "VOY_DATA"

Entry = Dict[str, Any]


def staged() -> Dict[str, Entry]:
    """By name; empty outside a run, and in a run that staged nothing."""
    path = os.environ.get(VARIABLE, "")
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            found = json.load(file)["data"]
        return {str(name): {**entry, "path": str(entry["path"])} for name, entry in found.items()}
    except OSError as problem:
        raise DataError("what this run has staged cannot be read: %s" % problem.strerror, [path]) from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError("what this run has staged cannot be read: it is not what a run writes", [path]) from None
