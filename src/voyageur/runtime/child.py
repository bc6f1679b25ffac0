"""The program, as a child that can be warned, stopped and in the end killed."""

import os
import select
import signal
import subprocess
import time
from typing import Callable, Dict, List, Optional, Sequence

from voyageur.runtime import processes

WARN = signal.SIGUSR1
STOP = signal.SIGTERM
# srun turns a SIGTERM into SIGKILL for its tasks ("forcing job termination") but hands SIGUSR2 on as it is.
STOP_THROUGH_SRUN = signal.SIGUSR2
# Where Slurm follows processes by their parents (proctrack/linuxproc), these reach not only the task that srun started
# but all below it: a launcher would die of them, and a program before it has saved.
SRUNS_OWN = (WARN, STOP_THROUGH_SRUN)


class Mailbox:
    """Signals as messages that wait until somebody reads them. Made before anything else, so that none is lost."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        self._kept: List[int] = []
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for signum in (WARN, STOP, STOP_THROUGH_SRUN, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(signum, lambda *_: None)

    def wait(self, seconds: float) -> List[int]:
        kept, self._kept = self._kept, []
        ready, _, _ = select.select([self._reader], [], [], 0.0 if kept else max(0.0, seconds))
        return kept + (list(os.read(self._reader, 512)) if ready else [])

    def pause(self, seconds: float) -> bool:
        """Before there is a child: false when somebody asks us to end. All else waits until it can be acted on."""
        came = [signum for signum in self.wait_anew(seconds) if signum != signal.SIGCHLD]
        self._kept += came
        return not set(came) & {STOP, STOP_THROUGH_SRUN, signal.SIGINT, signal.SIGHUP}

    def wait_anew(self, seconds: float) -> List[int]:
        """What comes from now on; what was kept stays kept."""
        ready, _, _ = select.select([self._reader], [], [], max(0.0, seconds))
        return list(os.read(self._reader, 512)) if ready else []


class Child:
    def __init__(
        self,
        argv: List[str],
        environment: Dict[str, str],
        folder: str,
        grace: float,
        through_srun: bool = False,
        in_container: bool = False,
        ignores: Sequence[int] = (),
    ) -> None:
        self.in_container = in_container
        self.through_srun = through_srun  # our own step: its tasks prepare their nodes and understand our signals
        self.warning = signal.Signals["SIG" + (environment.get("VOY_WARN_SIGNAL") or "USR1")]
        self.is_srun = through_srun and os.path.basename(argv[0]) == "srun"
        # A handler that is called a second time would interrupt the saving that it has begun.
        self.is_told_by_slurm = self.warning == WARN and environment.get("VOY_SIGNALS_REACH_ALL") == "1"
        self.grace = grace
        self.warned = 0
        self.stopped_at: Optional[float] = None
        self._finishing = False
        processes.adopt_orphans()
        self._process = subprocess.Popen(
            argv,
            env=environment,
            cwd=folder,
            start_new_session=True,
            close_fds=False,  # mpirun hands its ranks an open descriptor (PMI_FD); Python's own are not inherited
            preexec_fn=processes.at_parents_death(signal.SIGKILL, ignores),
        )
        self.pid = self._process.pid

    @property
    def deadline(self) -> float:
        """After a stop, when whoever stopped us will kill us: what is not saved by then is lost."""
        return float("inf") if self.stopped_at is None else self.stopped_at + self.grace

    def warn(self) -> int:
        """Tell those who listen that the end is near; how many did. Behind srun, its tasks count for themselves."""
        if self.through_srun:
            self._tell_step(WARN)
            return 0
        tell = processes.listeners if self.is_told_by_slurm else processes.tell
        told = len(tell(self.pid, self.warning, self.in_container))
        self.warned += told
        return told

    def stop(self) -> None:
        """Ask it to end. Once: a second SIGTERM would interrupt the saving that the first one started."""
        if self.stopped_at is not None:
            return
        self.stopped_at = time.monotonic()
        if self.through_srun:
            if not self._tell_step(STOP_THROUGH_SRUN):
                self._finish()
        elif not processes.tell(self.pid, STOP, self.in_container):
            self._finish()

    def _tell_step(self, signum: int) -> bool:
        """srun waits for its signals and catches none, so it does not look like a listener. Of other starters (mpirun,
        a site's script around it) only those hear that would not die of it."""
        if self.is_srun:
            os.kill(self.pid, signum)
            return True
        return bool(processes.tell(self.pid, signum))

    def _finish(self) -> None:
        """Nobody who listens is left: the rest dies of the signal, as it would without us."""
        self._finishing = True
        processes.signal_all(self.pid, STOP)

    def press(self) -> None:
        """What has to follow a stop, now and then: end those who do not listen, kill those who do not end."""
        if self.stopped_at is None:
            return
        waited = time.monotonic() - self.stopped_at
        if waited > self.grace:
            self.kill()
        elif not self._finishing and not self.through_srun and waited > 1.0 and not self._someone_listens():
            self._finish()

    def _someone_listens(self) -> bool:
        family = processes.family(self.pid)
        return any(processes.listens(pid, STOP) for pid in family if not self.in_container or processes.is_inside(pid))

    def kill(self) -> None:
        if self.through_srun:
            self._process.terminate()
            try:
                self._process.wait(5)
                return
            except subprocess.TimeoutExpired:
                pass
        processes.kill_all(self.pid)

    def poll(self) -> Optional[int]:
        return self._process.poll()

    def watch(
        self,
        mailbox: Mailbox,
        beat: Callable[[], None],
        every: float,
        on_signal: Callable[[int], None],
        helpers: Callable[[], List[int]] = list,
        stayers: Callable[[], List[int]] = list,
        at_end: Callable[[], None] = lambda: None,
    ) -> int:
        """Until it ends; returns its exit code, or minus the signal that ended it. Short runs are sampled as well.

        `helpers` are children of ours beside it; those of them that are `stayers` live on when it has ended. `at_end`:
        before what is left running is killed.
        """
        between = min(1.0, every)
        due = time.monotonic() + between
        while True:
            code = self._process.poll()
            if code is not None:
                at_end()
                processes.kill_orphans(stayers())  # nothing outlives the program; with linuxproc Slurm would let it
                return code
            pause = 0.2 if self.stopped_at is not None else due - time.monotonic()
            for signum in mailbox.wait(pause):
                if signum != signal.SIGCHLD:
                    on_signal(signum)
            processes.reap_strangers((self.pid, *helpers()))
            self.press()
            if time.monotonic() >= due:
                beat()
                between = min(2 * between, every)
                due = time.monotonic() + between
