"""`python -m voyageur.workshop ORDER`: what a job runs that makes an environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from voyageur.errors import VoyageurError
from voyageur.workshop.making import make, read_order


def main(path: str) -> int:
    try:
        make(read_order(Path(path)), os.environ, lambda line: print(line, flush=True))  # noqa: T201  # the job's log
    except VoyageurError as error:
        sys.stderr.write(error.text() + "\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
