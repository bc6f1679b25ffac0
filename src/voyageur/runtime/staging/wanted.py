"""What the plan wants staged. It stands in the job script, so that the script alone is enough.

The run's environment travels as datasets do, under a name that no dataset may have.
"""

import json
import os
from typing import Dict, List, Mapping, NamedTuple

VARIABLE = "VOY_STAGE"
ENVIRONMENT = "environment"
IMAGE = "container image"  # the name of the one that the program runs in; no dataset's name has a space
AT = "VOY_STAGE_AT"  # PORT:SECRET of the switchboard, where the run has several nodes


class Wanted(NamedTuple):
    name: str
    source: str
    stage: str
    at: str = ""  # below the node's temp folder, where older programs look for it
    digest: str = ""  # which content the plan means; empty when any will do

    @property
    def is_environment(self) -> bool:
        return self.name == ENVIRONMENT

    @property
    def remedy(self) -> str:
        """Behind the words that say how it is damaged or gone."""
        return "; `voy env build --again` makes it anew" if self.is_environment else ""

    @property
    def is_dataset(self) -> bool:
        return self.name not in (ENVIRONMENT, IMAGE)

    def __str__(self) -> str:
        return "dataset %s" % self.name if self.is_dataset else "the %s" % self.name

    def as_json(self) -> Dict[str, str]:
        facts = (("from", self.source), ("stage", self.stage), ("at", self.at), ("digest", self.digest))
        return {key: value for key, value in facts if value}


def in_words(wanted: List[Wanted]) -> str:
    return json.dumps({one.name: one.as_json() for one in wanted})


def read_wanted(environment: Mapping[str, str]) -> List[Wanted]:
    found = json.loads(environment.get(VARIABLE) or "{}")
    return [
        Wanted(name, one["from"], one["stage"], one.get("at", ""), one.get("digest", "")) for name, one in found.items()
    ]


def plain_name(source: str) -> str:
    """What a dataset is called on the node: its last part, `labels` for `labels/`."""
    return os.path.basename(os.path.normpath(source)) or "data"


def unpacked_name(source: str) -> str:
    """The folder that an archive is unpacked into."""
    name = plain_name(source)
    for ending in (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".txz", ".tar", ".zip", ".squashfs", ".sqsh"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return name + ".unpacked"
