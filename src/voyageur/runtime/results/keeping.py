"""There is no room at home: the results stay on the node, where they can still be fetched."""

import os
from typing import List, Mapping

from voyageur.runtime.node_folder import NodeFolder, keep
from voyageur.runtime.results.find import Found


def keep_here(found: List[Found], environment: Mapping[str, str], node: str) -> str:
    """Moves them into a folder of their own on the same disk, and says where that is."""
    facts = (os.getuid(), environment["VOY_TOKEN"], environment.get("VOY_ATTEMPT", "0"), node)
    name = "voy-%d-kept-%s-%s-%s" % facts
    folder = NodeFolder(os.path.join(os.path.dirname(environment["VOY_TMP"]), name), name)
    keep(folder.path)
    for one in found:
        target = os.path.join(folder.path, "results", one.name)
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        os.rename(one.path, target)
    folder.leave()
    return os.path.join(folder.path, "results")
