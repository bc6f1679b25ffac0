"""When results are saved: now and then while the program runs, at the warning, at a stop, and at the end."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Mapping, Optional, Set

from voyageur.runtime import processes
from voyageur.runtime.folder import RUNTIME, append_event
from voyageur.runtime.log import say
from voyageur.runtime.results.bin import Bin, Outcome
from voyageur.runtime.results.find import FOLDER, Found, Roots, find, read_wish
from voyageur.runtime.results.keeping import keep_here

_GATE = ".voyageur.saving"
_LAST_SECONDS = 2.0  # what a save at the end has in any case


class Saving:
    """Of one task. Whichever task of the node comes first saves for all of them."""

    def __init__(self, environment: Mapping[str, str], node: str, roots: Optional[Roots]) -> None:
        self.environment = dict(environment)
        self.node = node
        self.wish = read_wish(environment)
        self._roots = roots
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._due = time.monotonic() + self.wish.every

    @property
    def helpers(self) -> List[int]:
        return [self._process.pid] if self._process else []

    @property
    def is_wanted(self) -> bool:
        return bool(self.wish.patterns) and self._roots is not None

    def mind(self) -> None:
        if time.monotonic() >= self._due:
            self.save_now()

    def save_now(self) -> None:
        """In a process of its own: the program's signals must not wait for a slow disk."""
        self._due = time.monotonic() + self.wish.every
        if not self.is_wanted or (self._process is not None and self._process.poll() is None):
            return
        runtime = os.path.join(self.environment["VOY_RUN_DIR"], RUNTIME)
        self._process = subprocess.Popen(
            [sys.executable, "-I", runtime, "save", "--", "now"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=2,
            start_new_session=True,
            preexec_fn=processes.at_parents_death(signal.SIGKILL),
        )

    def finish(self, deadline: float = float("inf")) -> Set[str]:
        """The last save on this node, by the last task there; the names that are at home now."""
        if not self.is_wanted:
            return set()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        assert self._roots is not None
        with _gate(self._roots.tmp, wait=True):
            return _save(
                self.environment, self.node, self._roots, "end", max(deadline, time.monotonic() + _LAST_SECONDS)
            )


def roots_in(environment: Mapping[str, str], unpacked_at: int) -> Roots:
    site = environment.get("SLURM_TMPDIR", "")
    return Roots(environment["source_dir"], unpacked_at, environment["VOY_TMP"], site)


def run(_: str) -> int:
    """While the program runs."""
    from voyageur.runtime.node_folder import unpacked_at
    from voyageur.runtime.program import node_name

    environment = dict(os.environ)
    processes.be_modest()
    roots = roots_in(environment, unpacked_at(environment["VOY_TMP"]))
    with _gate(roots.tmp, wait=False) as free:
        if free:
            _save(environment, node_name(environment), roots, "now", float("inf"))
    return 0


@contextlib.contextmanager
def _gate(folder: str, wait: bool) -> Any:
    descriptor = os.open(os.path.join(folder, _GATE), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)


def _save(environment: Dict[str, str], node: str, roots: Roots, when: str, deadline: float) -> Set[str]:
    bin_ = Bin(environment[FOLDER], node)
    found = find(roots, read_wish(environment).patterns)
    facts = {"run": environment["VOY_RUN"], "attempt": environment.get("VOY_ATTEMPT", "0"), "final": when == "end"}
    try:
        outcome = bin_.save(found, facts, deadline)
    except OSError as problem:
        _cannot(environment, node, bin_, found, problem, when)
        return {one.name for one in found} if when == "end" else set()
    if when == "end" and (outcome.files or outcome.left):
        _told(environment, node, outcome)
    return set(bin_.files())


def _told(environment: Mapping[str, str], node: str, outcome: Outcome) -> None:
    _note(environment, "results saved", node=node, files=outcome.files, bytes=outcome.size, left=outcome.left[:20])
    count = "1 result is" if outcome.files == 1 else "%d results are" % outcome.files
    say("%s: %s in %s" % (node, count, environment[FOLDER]))
    if outcome.left:
        say("%s: NOT saved: %s" % (node, "; ".join(outcome.left[:3])))


def _cannot(
    environment: Mapping[str, str], node: str, bin_: Bin, found: List[Found], problem: OSError, when: str
) -> None:
    """At the end they stay on the node; before that, the next save may have more luck."""
    why = problem.strerror or str(problem)
    if when != "end":
        say("%s: results cannot be saved just now: %s" % (node, why))
        return
    there = bin_.files()
    missing = [one for one in found if not _has(there, one)]
    path = keep_here(missing, environment, node)
    _note(environment, "results kept", node=node, path=path, files=len(missing), because=why)
    facts = (node, len(missing), why, path, node)
    say("%s: %d results cannot be saved: %s; they stay for a week in %s on %s" % facts)


def _has(there: Mapping[str, Any], one: Found) -> bool:
    entry = there.get(one.name)
    return entry is not None and (entry["size"], entry["mtime_ns"]) == (one.size, one.mtime_ns)


def _note(environment: Mapping[str, str], event: str, **facts: Any) -> None:
    facts["attempt"] = int(environment.get("VOY_ATTEMPT", "0"))
    with contextlib.suppress(OSError):
        append_event(environment["VOY_RUN_DIR"], event, **facts)
