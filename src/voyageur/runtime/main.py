"""`python runtime.pyz supervise|task -- COMMAND`: the two things a job script asks of the runtime."""

import sys
from typing import List


def main(arguments: List[str]) -> int:
    if len(arguments) < 3 or arguments[1] != "--":
        print("usage: runtime.pyz supervise|task -- COMMAND", file=sys.stderr)
        return 2
    if arguments[0] == "supervise":
        from voyageur.runtime.supervisor import run
    elif arguments[0] == "task":
        from voyageur.runtime.task import run
    else:
        print("runtime.pyz: unknown word %r" % arguments[0], file=sys.stderr)
        return 2
    return run(arguments[2:])
