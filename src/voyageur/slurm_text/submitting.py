"""sbatch: what it is given, and what its answers mean."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from voyageur.units import Duration, Size

# sbatch itself retries a busy controller 15 times with growing pauses, about 120 s in all (sbatch.c, 22.05).
SUBMIT_PATIENCE = Duration(170)


class Reply(enum.Enum):
    """A time-out says the same of jobs that were taken and of those that were not."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNREACHED = "unreached"
    UNCLEAR = "unclear"
    UNKNOWN = "unknown"


def submit_argv(script: PurePosixPath, submission: str, options: Sequence[str] = ()) -> list[str]:
    """The job's variables come on standard input, and nothing else of this shell goes along.

    The script says the same with `--export=NAMES`, for whoever types sbatch. But for that Slurm first runs `su - USER
    env` on the node, for up to two minutes, and holds the job when the user's profile is slow or broken.
    """
    return ["sbatch", "--parsable", "--export=ALL", "--export-file=/dev/stdin", *options, str(script), submission]


def changed(
    time: Duration | None, memory: Size | None, pieces: int | None, after: Sequence[str], without: Sequence[str] = ()
) -> list[str]:
    """Options that win over the script's own lines."""
    options = [f"--dependency=afterany:{':'.join(after)}"] if after else []
    options += [f"--time={time.slurm()}"] if time else []
    options += [f"--exclude={','.join(without)}"] if without else []
    options += [f"--mem={memory.slurm()}"] if memory else []
    return [*options, *([f"--array=1-{pieces}%1"] if pieces else [])]


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


# A limit is told in two lines, and the second names size and time whichever it was: so the first is looked for first.
_REFUSALS = {
    "SubmitJob": "too many jobs of yours are queued already: wait for some to end, then submit again",
    "MaxWallDuration": "ask for less time with `--time`, or use another QOS",
    "GrpTRESMins": "the allocation is used up: `voy budget` shows what is left; use another account, or ask for more",
    "MaxTRES": "a job of this account or QOS may not be as large: ask for less, or use another with `--qos`",
    "Invalid account": "name an account you may charge with `--account`; `voy site accounts` lists yours",
    "associated with multiple": "name the account to charge with `--account`",
    "invalid partition": "`sinfo -s` lists the partitions; name one with `--partition`",
    "Invalid qos": "name a QOS you may use with `--qos`",
    "Requested time limit": "ask for less time with `--time`",
    "node configuration is not available": "ask for fewer CPUs, GPUs or less memory per node",
    "QOS policy": "a limit of your account or QOS is reached: wait for jobs to end, then submit again",
}
