"""Who runs the script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from voyageur.record import Run, Sighting
from voyageur.units import Duration, Size


class Sought(Struct, frozen=True, kw_only=True):
    """A run to ask about: its folder's path as the key, the job it is believed to be, the name that job must have.

    Without a job it is one whose submission was not answered, to be found by its name.
    """

    key: str
    job: str
    job_name: str
    since: float


class Again(Struct, frozen=True, kw_only=True):
    """A further submission of a run: its number, and what is to be different. `after`: jobs that must have ended;
    `without`: nodes that it is kept away from."""

    number: int
    time: Duration | None = None
    memory: Size | None = None
    pieces: int | None = None
    after: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def submission(self) -> str:
        return f"s{self.number}:{self.after[0]}" if self.after else f"s{self.number}"


class Engine(Protocol):
    def submit(self, run: Run) -> str:
        """Start the run's script; the job's id. Raises ClusterError, with the outcome written into the run's events."""
        ...

    def submit_again(self, run: Run, again: Again) -> str:
        """Start it once more; the job's id. Raises ClusterError when it is not certain that there is a job."""
        ...

    def stop(self, run: Run) -> None:
        """Warn it now, as if its time were nearly up, and start no further piece. Raises ClusterError."""
        ...

    def look(self, sought: Sequence[Sought]) -> dict[str, Sighting]:
        """One question about all of them, answered by their keys."""
        ...

    def cancel(self, run: Run) -> None:
        """Ask it to end. Raises ClusterError when nobody could be asked."""
        ...
