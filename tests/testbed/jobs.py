"""The bed's own look at its queue and nodes, apart from the code under test."""

from .layout import Layout
from .polling import poll_until
from .services import ask_slurm

ENDED = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED",
    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",
}  # fmt: skip


def jobs(layout: Layout) -> list[str]:
    return ask_slurm(layout, "squeue", "--all", "--noheader", "--format=%A").split()


def job_fields(layout: Layout, job: str) -> dict[str, str]:
    """Values with blanks in them lose their tail."""
    words = ask_slurm(layout, "scontrol", "--oneliner", "show", "job", job).split()
    # Reversed, so that of two fields of one name the first is kept.
    return {name: value for name, _, value in (word.partition("=") for word in reversed(words))}


def cancel_all(layout: Layout) -> None:
    """Kill what runs, then cancel: a cancel alone lets a stubborn job live for KillWait."""
    ids = jobs(layout)
    if ids:
        ask_slurm(layout, "scancel", "--quiet", *ids)
        ask_slurm(layout, "scancel", "--quiet", "--signal=KILL", "--full", *ids)


def wait_empty(layout: Layout, deadline: float) -> None:
    """Cancel until nothing is left: a job may have been submitted or requeued meanwhile."""

    def none_left() -> bool:
        if jobs(layout):
            cancel_all(layout)
        return not jobs(layout)

    poll_until(none_left, deadline, "an empty queue")


def node_states(layout: Layout) -> dict[str, str]:
    answer = ask_slurm(layout, "sinfo", "--noheader", "--Node", "--partition=low", "--format=%N=%T")
    return {name: state for name, _, state in (row.partition("=") for row in answer.split())}


def resume_node(layout: Layout, node: str) -> None:
    ask_slurm(layout, "scontrol", "update", f"NodeName={node}", "State=RESUME")


def open_partitions(layout: Layout) -> None:
    rows = ask_slurm(layout, "sinfo", "--noheader", "--summarize", "--format=%R %a").splitlines()
    for name, availability in (row.split() for row in rows):
        if availability != "up":
            ask_slurm(layout, "scontrol", "update", f"PartitionName={name}", "State=UP")


def delete_reservations(layout: Layout) -> None:
    for word in ask_slurm(layout, "scontrol", "--oneliner", "show", "reservation").split():
        if word.startswith("ReservationName="):
            ask_slurm(layout, "scontrol", "delete", word)


def is_idle(layout: Layout) -> bool:
    states = node_states(layout)
    return len(states) == len(layout.nodes) and set(states.values()) == {"idle"} and not jobs(layout)
