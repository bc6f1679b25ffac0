"""A job as Slurm's rows tell of it: its state, and what that means for whoever waits."""

from __future__ import annotations

import enum

from msgspec import Struct


class Phase(enum.Enum):
    """Slurm's states folded into what they mean for whoever waits."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"
    UNKNOWN = "unknown"


_PHASES = {
    Phase.WAITING: "PENDING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD EXPEDITING",
    Phase.RUNNING: "RUNNING SUSPENDED CONFIGURING STAGE_OUT SIGNALING RESIZING STOPPED POWER_UP_NODE",
    Phase.ENDING: "COMPLETING",
    Phase.ENDED: "COMPLETED CANCELLED FAILED TIMEOUT DEADLINE NODE_FAIL BOOT_FAIL OUT_OF_MEMORY PREEMPTED REVOKED",
}
PHASE_OF = {word: phase for phase, words in _PHASES.items() for word in words.split()}

# By the word for the reason, and as 22.05 writes it out: "... (short allows rrg-b not def-a)".
_FOREIGN_ACCOUNT = ("AccountNotAllowed", "Job's account not permitted to use this partition")
_FOREIGN_QOS = ("QOSNotAllowed", "Job's QOS not permitted to use this partition")
# Limits of one job: with EnforcePartLimits=NO, the default, sbatch takes a job that breaks them, and it never starts.
_LONGER = ("QOSMaxWallDurationPerJobLimit", "AssocMaxWallDurationPerJobLimit")
_LARGER = tuple(
    f"{owner}{limit}"
    for owner in ("QOS", "Assoc")
    for limit in ("MaxCpuPerJobLimit", "MaxNodePerJobLimit", "MaxMemoryPerJob", "MaxGRESPerJob", "MaxBillingPerJob")
)
# Reasons for which a job waits until somebody does something about it; with what that is.
STUCK_REASONS = {
    "JobHeldUser": "release it with `scontrol release`",
    "JobHeldAdmin": "an administrator holds it: ask the site's support",
    "job requeued in held state": "release it with `scontrol release`",
    "launch failed requeued held": "a node could not start it: release it with `scontrol release`",
    "PartitionDown": "its partition is closed: wait for the site, or cancel it and submit to another",
    "PartitionInactive": "its partition is closed: wait for the site, or cancel it and submit to another",
    "DependencyNeverSatisfied": "what it waits for failed: cancel it",
    "PartitionTimeLimit": "it asks for more time than its partition allows: cancel it and submit with less",
    "PartitionNodeLimit": "it asks for more nodes than its partition allows: cancel it and submit with fewer",
    "PartitionConfig": "its partition cannot hold what it asks for: cancel it and ask for less per node",
    "BadConstraints": "no node has what it asks for: cancel it and change the constraint",
    "InvalidAccount": "its account is not valid any more: cancel it and submit with another",
    "InvalidQOS": "its QOS is not valid any more: cancel it and submit with another",
    **dict.fromkeys(
        _FOREIGN_ACCOUNT, "its partition is not for its account: cancel it and submit with another of either"
    ),
    **dict.fromkeys(_FOREIGN_QOS, "its partition is not for its QOS: cancel it and submit with another of either"),
    **dict.fromkeys(_LONGER, "it asks for more time than its account or QOS allows: cancel it and submit with less"),
    **dict.fromkeys(_LARGER, "it is larger than its account or QOS allows: cancel it and ask for less"),
    "AssocGrpBillingMinutes": "the allocation is used up: ask for more, or use another account",
    "AssocGrpCPUMinutesLimit": "the allocation is used up: ask for more, or use another account",
    "AssocGrpGRESMinutes": "the allocation is used up: ask for more, or use another account",
}


def stuck_advice(reason: str) -> str | None:
    """What to do about a job that will not start by itself; None for one that only has to wait."""
    return next((advice for sign, advice in STUCK_REASONS.items() if reason.startswith(sign)), None)


class JobRow(Struct, frozen=True, kw_only=True):
    """What one row of squeue or sacct says of one job (or of one step, in `step`)."""

    job: str
    name: str = ""
    state: str
    reason: str = ""
    exit_code: int = 0
    signal: int = 0
    node_list: str = ""
    expected_start: str = ""
    step: str = ""
    ended: bool = False

    @property
    def was_refused(self) -> bool:
        """A refused submission leaves a row in the accounting that never had a node."""
        return self.state == "FAILED" and self.node_list == "None assigned"

    @property
    def phase(self) -> Phase:
        return PHASE_OF.get(self.state, Phase.UNKNOWN)


def state_word(text: str) -> str:
    """`CANCELLED by 1000` and `COMPLETED+` are the words before them."""
    return text.strip().split(" ")[0].rstrip("+").upper() or "UNKNOWN"
