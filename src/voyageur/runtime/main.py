"""`python runtime.pyz WORD -- COMMAND`: what a job script asks of the runtime."""

import sys
from typing import List

WORDS = {
    "supervise": "run the command here",
    "supervise-tasks": "run the command, which is a srun whose tasks are ours",
    "task": "run the command as one of those tasks",
    "stage": "bring these datasets to this node",
    "save": "save the results that there are on this node",
    "switchboard": "tell the nodes of a job where they find each other",
    "preflight": "look whether this node has what the run needs",
    "rank": "run the command as one worker of somebody else's launcher, its rank before its lines",
    "world": "run the Python program by way of mpi4py, and look whether its rank finds the others",
}


def main(arguments: List[str]) -> int:
    if len(arguments) < 3 or arguments[0] not in WORDS or arguments[1] != "--":
        print("usage: runtime.pyz %s -- COMMAND" % "|".join(WORDS), file=sys.stderr)
        return 2
    word, command = arguments[0], arguments[2:]
    if word == "task":
        from voyageur.runtime import task

        return task.run(command)
    if word == "stage":
        from voyageur.runtime.staging import process

        return process.run(command)
    if word == "save":
        from voyageur.runtime.results import saving

        return saving.run(command[0])
    if word == "switchboard":
        from voyageur.runtime.staging import switchboard

        return switchboard.run()
    if word == "preflight":
        from voyageur.runtime import preflight

        return preflight.run()
    if word == "rank":
        from voyageur.runtime import rank

        return rank.run(command)
    if word == "world":
        from voyageur.runtime import world

        return world.run(command)
    from voyageur.runtime import supervisor

    return supervisor.run(command, through_srun=word == "supervise-tasks")
