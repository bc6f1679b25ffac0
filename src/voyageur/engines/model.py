"""Who runs the script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from voyageur.record import Run, Sighting


class Sought(Struct, frozen=True, kw_only=True):
    """A run to ask about: its folder's path as the key, the job it is believed to be, the name that job must have."""

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

    def find(self, run: Run) -> str | None:
        """The job that carries this run's name, when the answer to its submission was lost."""
        ...

    def never_arrived(self, run: Run) -> bool:
        """Everybody who could know of this run's job has answered, and none does."""
        ...

    def cancel(self, run: Run) -> None: ...
