"""squeue and scancel."""

from __future__ import annotations

from collections.abc import Sequence

from voyageur.slurm_text.jobs import PHASE_OF, JobRow, Phase, state_word

_QUEUE_FIELDS = "%A|%T|%r|%S|%N|%j"


def queue_argv(mark: str) -> list[str]:
    """All my jobs in one question, the ended ones too for as long as the controller remembers them."""
    return ["squeue", "--me", "--states=all", "--noheader", f"--format={mark}|{_QUEUE_FIELDS}"]


def queue_rows(answer: str, mark: str) -> list[JobRow]:
    rows = []
    for row in answer.split(f"{mark}|")[1:]:
        fields = row.rstrip("\n").split("|", 5)
        if len(fields) == 6 and fields[0].isdigit():
            job, state, reason, start, nodes, name = fields
            rows.append(
                JobRow(
                    job=job,
                    state=state_word(state),
                    reason=reason.strip("()"),
                    name=name,
                    expected_start="" if start == "N/A" else start,
                    node_list=nodes,
                )
            )
    return rows


def find_in_queue_argv(name: str) -> list[str]:
    return ["squeue", "--me", "--states=all", "--noheader", f"--name={name}", "--format=%A"]


def jobs_found(answer: str) -> list[str]:
    """Ids in the answer to either find; a refused submission leaves a row `FAILED` that never had a node."""
    found = []
    for line in answer.splitlines():
        job, _, rest = line.strip().partition("|")
        if job.isdigit() and rest != "FAILED|None assigned":
            found.append(job)
    return found


def cancel_argv(jobs: Sequence[str]) -> list[str]:
    return ["scancel", *jobs]


def cancel_waiting_argv(name: str) -> list[str]:
    """What of this name has not begun."""
    return ["scancel", "--state=PENDING", f"--name={name}"]


def warn_argv(name: str) -> list[str]:
    """To the process of the job that runs, as Slurm does it before the time is up. Not by an id: of an array that has
    begun a moment ago, only that of all its tasks may be known, and Slurm 22.05 says of that one that it is over."""
    return ["scancel", "--batch", "--signal=USR1", "--state=RUNNING", f"--name={name}"]


def is_over(errors: str) -> bool:
    """What scancel says of a job that has ended, or has not begun."""
    return any(sign in errors for sign in ("Invalid job id", "already completing", "not running", "Job/step already"))


def find_active_argv(name: str) -> list[str]:
    return ["squeue", "--me", "--noheader", f"--name={name}", "--format=%A"]


def count_argv(mark: str) -> list[str]:
    """Every task of an array on a line of its own, as limits on submitted jobs count them."""
    return ["squeue", "--me", "--array", "--noheader", f"--format={mark}|%T"]


def counts_from(answer: str, mark: str) -> tuple[int, int]:
    """How many are submitted and not over, and how many of those run."""
    phases = [PHASE_OF.get(state_word(row)) for row in answer.split(f"{mark}|")[1:]]
    running = phases.count(Phase.RUNNING)
    return phases.count(Phase.WAITING) + running, running
