"""The run's folder as the job sees it: events, attempts and the final marker. None is ever half-written."""

import contextlib
import errno
import fcntl
import json
import os
import re
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

RUNS = "hpc_outputs"  # below the project's folder on scratch

RECORD = "run.json"
PLAN = "plan.json"
SCRIPT = "job.sh"
RUNTIME = "runtime.pyz"
EVENTS = "events.jsonl"
LOG = "output.log"
MARKER = "done.json"
STOP = "stop"
SAVE = "save"
FINISHED = "finished"
SECRETS = "secrets.json"
RESERVE = "reserve"  # room for the marker; gone when it has ended
WRITTEN = "written-%s-%s.tar"  # attempt, node

LEFT_OUT = "node left out"  # the event: what follows is kept away from it
BAD_NODE = "bad node"  # how an attempt ended: not by its program

BY_HAND = "by-hand"  # the submission's name when somebody typed `sbatch job.sh`
BEAT_SECONDS = 15.0
_LOCK_SECONDS = 3.0
SILENT_SECONDS = 90.0  # six missed beats: whoever held the attempt is gone, or cannot write

Json = Dict[str, Any]


def write_atomically(path: str, content: bytes, mode: int = 0o600) -> None:
    def write(temporary: str) -> None:
        with open(temporary, "wb") as file:
            file.write(content)

    write_whole(path, write, mode)


def write_whole(path: str, write: Callable[[str], None], mode: int = 0o600) -> None:
    """Whole or not at all, also after a power cut: temporary file, fsync, rename, fsync of the folder."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, ".%s.%d" % (name, os.getpid()))
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        try:
            write(temporary)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def sync_folder(folder: str) -> None:
    descriptor = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def read_json(path: str) -> Optional[Json]:
    """None when there is no such file, or when what is there is no JSON object."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def append_event(folder: str, event: str, **facts: Any) -> None:
    """One line. The lock makes an append safe between the login node and a compute node over NFS."""
    line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, ensure_ascii=False)
    descriptor = os.open(os.path.join(folder, EVENTS), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        _lock(descriptor)
        os.write(descriptor, (_mend(descriptor) + line + "\n").encode("utf-8", "replace"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """For a moment at most. Without a lock, or on a file system that has none, one write of one line has to do."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as problem:
            if problem.errno not in (errno.EACCES, errno.EAGAIN) or time.monotonic() > deadline:
                return
        time.sleep(0.01)


def _mend(descriptor: int) -> str:
    """A writer that was killed may have left half a line; the next one starts on a line of its own."""
    size = os.fstat(descriptor).st_size
    return "\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else ""


def read_events(folder: str) -> List[Json]:
    return list(_events(os.path.join(folder, EVENTS)))


def _events(path: str) -> Iterator[Json]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    event = json.loads(line)
                    if isinstance(event, dict) and "event" in event:
                        yield event
    except OSError:
        return


# ── attempts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Attempt(NamedTuple):
    number: int
    facts: Json
    beat: float  # when it last showed that it is alive


class Duplicate(Exception):
    """Another job of the same submission holds the run."""


class Submission(NamedTuple):
    """`s2:123`: the run's second, to start after job 123. `number` is 0 for one that was typed by hand."""

    number: int
    after: str


def submission_from(text: str) -> Submission:
    match = re.match(r"s(\d+)(?::(\d+))?$", text)
    return Submission(int(match.group(1)), match.group(2) or "") if match else Submission(0, "")


def newest_attempt(folder: str) -> Optional[Attempt]:
    numbers = []
    for name in os.listdir(folder):
        match = re.match(r"attempt-(\d+)\.json$", name)
        if match:
            numbers.append(int(match.group(1)))
    if not numbers:
        return None
    path = attempt_path(folder, max(numbers))
    facts = read_json(path) or {}
    return Attempt(max(numbers), facts, float(facts.get("beat") or _written(path)))


def _written(path: str) -> float:
    """For an attempt whose first word is not there yet: when its file was made."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def attempt_path(folder: str, number: int) -> str:
    return os.path.join(folder, "attempt-%d.json" % number)


def claim_attempt(folder: str, facts: Json) -> int:
    """The next attempt's number, ours alone; raises Duplicate when another job of this submission came first.

    A requeued job keeps its id and may go on; so may the next piece of the same array, and a job that Slurm has started
    after the end of another. A second job of the same submission exists only because sbatch's first answer was lost,
    and must leave. A link to a finished file appears whole, and only for one of two that try.
    """
    while True:
        held = newest_attempt(folder)
        if held and _is_taken(held, facts):
            raise Duplicate("%s holds attempt %d" % (held.facts.get("job", "another job"), held.number))
        number = held.number + 1 if held else 1
        if _create_once(attempt_path(folder, number), dict(facts, attempt=number)):
            if held:
                _forget(folder, held)
            return number


def _is_taken(held: Attempt, mine: Json) -> bool:
    if held.facts.get("job") == mine["job"] or (mine.get("array") and held.facts.get("array") == mine["array"]):
        return False
    theirs, ours = (submission_from(str(facts.get("submission"))) for facts in (held.facts, mine))
    if mine["submission"] != BY_HAND and held.facts.get("submission") != BY_HAND:
        if theirs.number >= ours.number:
            return True
        if ours.after:
            return False
    return not held.facts.get("ended") and time.time() - held.beat < SILENT_SECONDS


def _create_once(path: str, facts: Json) -> bool:
    temporary = "%s.%s.%d" % (path, facts["node"], os.getpid())
    write_atomically(temporary, json.dumps(facts).encode("utf-8"))
    try:
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    except OSError as problem:
        if problem.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        return _create_exclusively(path, facts)
    finally:
        os.unlink(temporary)


def _create_exclusively(path: str, facts: Json) -> bool:
    """For file systems without hard links."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(json.dumps(facts).encode("utf-8"))
    return True


def _forget(folder: str, held: Attempt) -> None:
    """The event log keeps what the older attempt did; the folder keeps few files."""
    more = {"progress": held.facts["progress"]} if held.facts.get("progress") else {}
    append_event(folder, "attempt superseded", attempt=held.number, last_beat=held.facts.get("beat"), **more)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(attempt_path(folder, held.number))


# ── the final marker ─────────────────────────────────────────────────────────────────────────────────────────────────


def seal(facts: Json, token: str) -> str:
    """A marker that was cut, or copied from another run, does not carry the right seal."""
    import hashlib  # loads OpenSSL: several milliseconds that most questions about a run need not pay

    body = json.dumps({key: value for key, value in facts.items() if key != "seal"}, sort_keys=True)
    return hashlib.sha256((token + "\n" + body).encode("utf-8")).hexdigest()


def write_marker(folder: str, facts: Json, token: str) -> None:
    sealed = dict(facts, seal=seal(facts, token))
    write_atomically(os.path.join(folder, MARKER), json.dumps(sealed, indent=1).encode("utf-8"))


def read_marker(folder: str, token: str) -> Optional[Json]:
    """The marker, if it is whole, this run's own, and of the newest attempt."""
    facts = read_json(os.path.join(folder, MARKER))
    if facts is None or facts.get("seal") != seal(facts, token):
        return None
    newest = newest_attempt(folder)
    if newest and newest.number > int(facts.get("attempt", 0)):
        return None
    return facts
