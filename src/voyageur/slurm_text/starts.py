"""sbatch --test-only: when a job like this would start, as far as the scheduler can tell."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct

from voyageur.slurm_text.submitting import Reply, reply_from

_EXPECTED = re.compile(
    r"Job \d+ to start at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?: a)? using (\d+) processors on (?:nodes )?(\S+)"
    r"(?: in partition (\S+))?"
)


class Start(Struct, frozen=True, kw_only=True):
    """`at` is in the cluster's own time. Without it `refusal` are Slurm's words, or `silence` why there are none."""

    at: datetime | None = None
    processors: int = 0
    nodes: str = ""
    partition: str = ""
    refusal: str = ""
    silence: str = ""

    @property
    def is_known(self) -> bool:
        return self.at is not None


def test_only_argv() -> list[str]:
    """The script comes on standard input; nothing of it is kept."""
    return ["sbatch", "--test-only"]


def start_from(code: int | None, output: str, errors: str) -> Start:
    if match := _EXPECTED.search(f"{output}\n{errors}"):
        time, processors, nodes, partition = match.groups()
        return Start(
            at=datetime.fromisoformat(time), processors=int(processors), nodes=nodes, partition=partition or ""
        )
    words = _last_words(errors or output)
    if reply_from(code, output, errors) is Reply.REFUSED:
        return Start(refusal=words or f"sbatch failed with exit code {code}")
    return Start(silence=words or "sbatch gave no answer in time")


def _last_words(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1].removeprefix("sbatch: ").removeprefix("error: ") if lines else ""
