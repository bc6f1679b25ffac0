"""A bed for a developer's terminal: `python -m tests.testbed up --kind P`, until ^C."""

import argparse
import signal
import sys
import threading
from typing import NoReturn

from .bed import Bed, start_bed
from .keeper_pipe import BedError
from .requirements import why_not


def main() -> int:
    arguments = _parse()
    if arguments.verb == "why-not":
        print(why_not(arguments.kind) or "nothing is missing")
        return 0 if why_not(arguments.kind) is None else 1
    try:
        with start_bed(arguments.kind) as bed:
            _describe(bed)
            threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    except BedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description=__doc__)
    parser.add_argument("verb", choices=["up", "why-not"])
    parser.add_argument("--kind", choices=["S", "P"], default="S")
    return parser.parse_args()


def _describe(bed: Bed) -> None:
    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    print(f"export SLURM_CONF={bed.conf}", flush=True)
    print(f"# nodes {' '.join(bed.nodes)}, shared folder {bed.shared}, logs {bed.root / 'log'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
