"""Independent copies of one command, several on one GPU: for small work that does not fill it.

They know nothing of each other, so none is told a rank, and one that fails does not end the others.
"""

from __future__ import annotations

from voyageur.launch.style import Style, Tasks, Wanted


class Replicas(Style):
    name = "replicas"
    title = "independent copies of the command: `tasks` on each node, sharing its GPUs"
    tasks = Tasks.COPIES
    visible = "one"
    ends_together = False
    death = "the others go on; the run fails in the end, and the first that failed is named"
    signal = "the copies that listen"

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {"VOY_COPY": "{RANK}", "VOY_COPIES": "{WORLD_SIZE}"}


STYLE = Replicas()
