"""Every state a run can be in. The table is total: what is not known is UNKNOWN, never an exception and never done."""

from __future__ import annotations

import enum


class State(enum.Enum):
    SUBMITTING = "submitting"  # the intent is on disk; whether Slurm took the job is not known yet
    REFUSED = "refused"  # Slurm said no; nothing ran
    PENDING = "pending"
    STUCK = "stuck"  # pending, and will not start by itself
    RUNNING = "running"
    ENDING = "ending"
    DONE = "done"  # its own verified marker says so
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    STOPPED = "stopped"  # ended in good order after it was told that its time was nearly up
    SUSPECT = "suspect"  # Slurm says completed, but the run's own marker is missing
    LOST = "lost"  # neither Slurm nor the run's folder knows what became of it
    UNKNOWN = "unknown"  # a question failed; nothing is concluded from that

    @property
    def is_final(self) -> bool:
        return self in _FINAL

    @property
    def is_good(self) -> bool:
        return self is State.DONE


_FINAL = frozenset(
    {
        State.REFUSED,
        State.DONE,
        State.FAILED,
        State.CANCELLED,
        State.TIMEOUT,
        State.STOPPED,
        State.SUSPECT,
        State.LOST,
    }
)
