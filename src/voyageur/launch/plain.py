"""One process, on one node: the command itself, with nothing around it."""

from voyageur.launch.style import Style, Tasks


class Plain(Style):
    name = "plain"
    title = "one process, on one node"
    tasks = Tasks.NONE
    has_ranks = False
    death = "the run has ended"
    signal = "the processes that listen"


STYLE = Plain()
