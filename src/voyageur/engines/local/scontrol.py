"""`scontrol show hostnames` for scripts that Voyageur wrote, on a machine without Slurm. Runs by itself."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str]) -> int:
    if arguments[:2] not in (["show", "hostnames"], ["show", "hostname"]):
        print("scontrol: on this machine without Slurm only `show hostnames` is there", file=sys.stderr)
        return 1
    listed = arguments[2] if len(arguments) > 2 else os.environ.get("SLURM_JOB_NODELIST", "")
    print("\n".join(listed.split(",")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
