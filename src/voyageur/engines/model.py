"""Who runs the script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from voyageur.record import Run, Sighting


class Sought(Struct, frozen=True, kw_only=True):
    """A run to ask about: its folder's path as the key, the job it is believed to be, the name that job must have.

    Without a job it is one whose submission was not answered, to be found by its name.
    """

    key: str
    job: str
    job_name: str
    since: float


class Engine(Protocol):
    def submit(self, run: Run) -> str:
        """Start the run's script; the job's id. Raises ClusterError, with the outcome written into the run's events."""
        ...

    def look(self, sought: Sequence[Sought]) -> dict[str, Sighting]:
        """One question about all of them, answered by their keys."""
        ...

    def cancel(self, run: Run) -> None:
        """Ask it to end. Raises ClusterError when nobody could be asked."""
        ...
