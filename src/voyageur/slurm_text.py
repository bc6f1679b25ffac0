"""Slurm's commands and answers as text. Nothing here runs anything.

Job names may hold `|`, quotes and newlines, and another job's name must never be read as a row about ours. So rows are
cut at a word that was drawn at random for this one question and that nobody could have put into a name.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from msgspec import Struct

from voyageur.units import Duration, Size, UnitError

# What tells Slurm's own commands where their cluster is; the rest of these families describes some other job.
FINDS_THE_CLUSTER = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER"})
# SQUEUE_PARTITION and its like would hide jobs from a question, SCANCEL_PARTITION from a cancel.
_MISLEADING = ("SLURM_", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SCANCEL_", "SINFO_", "SACCT_", "SCONTROL_")

# sbatch itself retries a busy controller 15 times with growing pauses, about 120 s in all (sbatch.c, 22.05).
SUBMIT_PATIENCE = Duration(170)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without the traces of a job around us and of personal habits: SBATCH_* beats #SBATCH lines."""
    return {
        name: value
        for name, value in environment.items()
        if name in FINDS_THE_CLUSTER or not name.startswith(_MISLEADING)
    }


# ── submitting ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Reply(enum.Enum):
    """A time-out says the same of jobs that were taken and of those that were not."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNREACHED = "unreached"
    UNCLEAR = "unclear"
    UNKNOWN = "unknown"


def submit_argv(script: PurePosixPath, submission: str) -> list[str]:
    """The job's variables come on standard input, and nothing else of this shell goes along.

    The script says the same with `--export=NAMES`, for whoever types sbatch. But for that Slurm first runs `su - USER
    env` on the node, for up to two minutes, and holds the job when the user's profile is slow or broken.
    """
    return ["sbatch", "--parsable", "--export=ALL", "--export-file=/dev/stdin", str(script), submission]


def export_file(variables: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\0" for name, value in variables.items())


def job_id_from(answer: str) -> str | None:
    """The id in sbatch's answer; sites print banners around it."""
    for line in reversed(answer.splitlines()):
        if match := re.fullmatch(r"(\d+)(?:;[\w.-]+)?", line.strip()):
            return match[1]
    return None


_UNREACHED = ("Unable to contact slurm controller", "Could not establish a configuration source")
# sbatch's words for a conversation with the controller that went wrong; the controller may have taken the job.
_LOST = (
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Unexpected message",
    "Unexpected missing socket",
    "Transport endpoint is not connected",
    "Connection reset by peer",
    "Connection timed out",
    "Broken pipe",
)
# A site's own check says this when it refuses, and so does sbatch of an answer that it could not read.
_UNCLEAR = (
    "Unspecified error",
    "Insane message length",
    "Message receive failure",
    "Header lengths are longer than data received",
    "ommunication connection failure",
)


def reply_from(code: int | None, output: str, errors: str) -> Reply:
    """`code` is None when the client was killed or its time ran out before it had answered."""
    if code is None or code < 0 or any(sign in errors for sign in _LOST):
        return Reply.UNKNOWN
    if code == 0:
        return Reply.ACCEPTED if job_id_from(output) else Reply.UNKNOWN
    if any(sign in errors for sign in _UNREACHED):
        return Reply.UNREACHED
    return Reply.UNCLEAR if any(sign in errors for sign in _UNCLEAR) else Reply.REFUSED


def refusal_hint(errors: str) -> str:
    for sign, hint in _REFUSALS.items():
        if sign in errors:
            return hint
    return "the script is kept: `sbatch --test-only` on it repeats Slurm's answer without submitting"


_REFUSALS = {
    "Invalid account": "name an account you may charge with `--account`",
    "associated with multiple": "name the account to charge with `--account`",
    "invalid partition": "`sinfo -s` lists the partitions; name one with `--partition`",
    "Invalid qos": "name a QOS you may use with `--qos`",
    "time limit": "ask for less time with `--time`",
    "node configuration is not available": "ask for fewer CPUs, GPUs or less memory per node",
    "AssocMaxSubmitJobLimit": "too many jobs of yours are queued already: wait for some to end, then submit again",
    "QOS policy": "a limit of your account or QOS is reached: wait for jobs to end, then submit again",
}


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


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


_ACCOUNTING_FIELDS = ("JobIDRaw", "JobName", "State", "NodeList", "End", "DerivedExitCode", "ExitCode")


def accounting_argv(jobs: Iterable[str], since: datetime, mark: str) -> list[str]:
    """sacct starts its day at midnight unless told otherwise, and hides the rows of requeued attempts without -D."""
    return ["sacct", "--jobs", ",".join(jobs), *_accounting_words(since, mark)]


def accounting_by_name_argv(names: Iterable[str], since: datetime, mark: str) -> list[str]:
    """Without --state, sacct leaves out jobs that were cancelled before they could start."""
    return [
        *("sacct", "--name", ",".join(names), "--state", _ALL_STATES, "--endtime", "now"),
        *_accounting_words(since, mark),
    ]


def _accounting_words(since: datetime, mark: str) -> list[str]:
    return [
        *("--noheader", "--parsable2", f"--delimiter={mark}", "--duplicates"),
        *("--starttime", since.strftime("%Y-%m-%dT%H:%M:%S"), "--format", ",".join(_ACCOUNTING_FIELDS)),
    ]


def accounting_rows(answer: str, mark: str) -> list[JobRow]:
    """The first and the last column hold no free text, so a newline between them always ends a row."""
    cells = answer.split(mark)
    width = len(_ACCOUNTING_FIELDS) - 1
    rows, first = [], cells[0]
    for start in range(1, len(cells) - width + 1, width):
        *middle, last = cells[start : start + width]
        exit_text, _, following = last.partition("\n")
        name, state, nodes, end, derived = middle
        rows.append(_accounting_row(first, name, state, nodes, end, derived, exit_text))
        first = following
    return rows


def _accounting_row(job: str, name: str, state: str, nodes: str, end: str, derived: str, exit_text: str) -> JobRow:
    number, _, step = job.strip().rpartition("\n")[2].partition(".")
    code, signal = _exit_pair(exit_text)
    if (code, signal) == (0, 0):
        code, signal = _exit_pair(derived)
    return JobRow(
        job=number,
        step=step,
        name=name,
        state=state_word(state),
        node_list=nodes,
        exit_code=code,
        signal=signal,
        ended=end.strip() not in ("", "Unknown", "None"),
    )


def _exit_pair(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+):(\d+)", text.strip())
    return (int(match[1]), int(match[2])) if match else (0, 0)


_ALL_STATES = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO"


def find_in_queue_argv(name: str) -> list[str]:
    return ["squeue", "--me", "--states=all", "--noheader", f"--name={name}", "--format=%A"]


def find_in_accounting_argv(name: str, since: datetime) -> list[str]:
    """Without --state, sacct leaves out jobs that were cancelled before they could start."""
    return [
        "sacct",
        "--noheader",
        "--parsable2",
        "--allocations",
        f"--name={name}",
        "--state",
        _ALL_STATES,
        "--starttime",
        since.strftime("%Y-%m-%dT%H:%M:%S"),
        "--endtime",
        "now",
        "--format",
        "JobIDRaw,State,NodeList",
    ]


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


# ── what the cluster is ──────────────────────────────────────────────────────────────────────────────────────────────


class NodeGroup(Struct, frozen=True, kw_only=True):
    """Nodes of one partition that are alike, as sinfo lists them."""

    partition: str
    default: bool
    time_limit: Duration | None
    nodes: int
    cpus: int
    memory: Size
    gpus: dict[str, int]
    state: str


def nodes_argv() -> list[str]:
    return ["sinfo", "--noheader", "--exact", "--format=%P|%l|%D|%c|%m|%G|%T"]


def node_groups(answer: str) -> list[NodeGroup]:
    groups = []
    for line in answer.splitlines():
        fields = line.strip().split("|")
        if len(fields) == 7:
            name, limit, count, cpus, memory, resources, state = fields
            groups.append(
                NodeGroup(
                    partition=name.rstrip("*"),
                    default=name.endswith("*"),
                    nodes=_number(count),
                    time_limit=time_limit_from(limit),
                    cpus=_number(cpus),
                    state=state.rstrip("*"),
                    memory=Size.of_mebibytes(_number(memory)),
                    gpus=gpus_from(resources),
                )
            )
    return groups


def gpus_from(resources: str) -> dict[str, int]:
    """`gpu:a100:4(S:0-1),shard:8` -> {"a100": 4}; a GPU without a type is counted under ""."""
    found: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", resources).split(","):
        if match := re.fullmatch(r"gpu(?::([^:]+))?:(\d+)", item.strip()):
            found[match[1] or ""] = found.get(match[1] or "", 0) + int(match[2])
    return found


def time_limit_from(text: str) -> Duration | None:
    try:
        return Duration.parse(text)
    except UnitError:
        return None


def _number(text: str) -> int:
    match = re.match(r"\d+", text)
    return int(match[0]) if match else 0


def config_argv() -> list[str]:
    return ["scontrol", "show", "config"]


def config_from(answer: str) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in answer.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}
