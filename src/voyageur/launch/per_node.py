"""The command once on every node. What it starts there is its own affair."""

from voyageur.launch.style import Style


class PerNode(Style):
    name = "per-node"
    title = "the command once on every node: for launchers that start their own workers"
    has_ranks = False
    death = "the step is ended at once; the node that failed first is named"


STYLE = PerNode()
