"""Processes and signals: who below a process listens to a signal, and who is left of them.

With proctrack/cgroup, Slurm delivers nothing but SIGKILL to grandchildren, so a program behind a shell or a launcher
never hears that its time is up unless somebody in the job tells it. And one that does not listen dies of the telling.
"""

import contextlib
import ctypes
import os
import platform
import signal
from typing import Callable, Container, Dict, List, NamedTuple, Optional, Sequence


class Stat(NamedTuple):
    parent: int
    memory: int


_PAGE = os.sysconf("SC_PAGE_SIZE")


def processes() -> Dict[int, Stat]:
    """Every process that can be seen; none at all on a system without /proc."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                stat = _stat(name)
                if stat:
                    found[int(name)] = stat
    return found


def _stat(pid: str) -> Optional[Stat]:
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            # The command's name stands in parentheses and may hold spaces and parentheses itself.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return Stat(int(fields[1]), int(fields[21]) * _PAGE)


def family(root: int) -> Dict[int, Stat]:
    """A process and all that descend from it."""
    everybody = processes()
    children: Dict[int, List[int]] = {}
    for pid, stat in everybody.items():
        children.setdefault(stat.parent, []).append(pid)
    found, waiting = {}, [root]
    while waiting:
        pid = waiting.pop()
        if pid in everybody:
            found[pid] = everybody[pid]
            waiting.extend(children.get(pid, []))
    return found


def listens(pid: int, signum: int) -> bool:
    """Does the process catch this signal? (SigCgt in /proc/PID/status, one bit a signal)"""
    try:
        with open("/proc/%d/status" % pid) as file:
            for line in file:
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (signum - 1) & 1)
    except OSError:
        pass
    return False


def is_inside(pid: int) -> bool:
    """In a container, seen from here: its root is another than ours. A container runtime itself has ours."""
    try:
        there, here = os.stat("/proc/%d/root/" % pid), os.stat("/")
    except OSError:
        return False
    return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)


def _is_ours(pid: int) -> bool:
    """Our own wrapper of a rank hands on what it hears."""
    with contextlib.suppress(OSError), open("/proc/%d/cmdline" % pid, "rb") as file:
        return b"/runtime.pyz\0rank\0" in file.read()
    return False


def listeners(root: int, signum: int, only_inside: bool = False) -> List[int]:
    """The topmost processes from `root` down that listen.

    What is below a listener is its own affair: forked loader workers inherit its handler and must not act as well.
    `only_inside`: not a container runtime, which catches every signal and need not hand it on (Apptainer does not).
    """
    everybody = family(root)
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        if listens(pid, signum) and (not only_inside or is_inside(pid) or _is_ours(pid)):
            found.append(pid)
        else:
            waiting.extend(child for child, stat in everybody.items() if stat.parent == pid)
    return found


def tell(root: int, signum: int, only_inside: bool = False) -> List[int]:
    """Signal those, and only those."""
    told = []
    for pid in listeners(root, signum, only_inside):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)
            told.append(pid)
    return told


def signal_all(root: int, signum: int) -> None:
    for pid in family(root) or [root]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def kill_all(root: int) -> None:
    """Everything below `root`, also what is started while we kill."""
    for _ in range(3):
        signal_all(root, signal.SIGKILL)


_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_LIBRARY = ctypes.CDLL(None)


def adopt_orphans() -> None:
    """From now on a process below us that loses its parent becomes our child, and cannot slip out of the family."""
    with contextlib.suppress(OSError, AttributeError):
        _LIBRARY.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def at_parents_death(signum: int, ignores: Sequence[int] = (), restores: Sequence[int] = ()) -> Callable[[], None]:
    """For a new child, between fork and exec: it gets this signal when we end, even if we are killed.

    It `ignores` signals, or no longer ignores those that it `restores`.
    """

    def ask() -> None:
        for number in ignores:
            signal.signal(number, signal.SIG_IGN)
        for number in restores:
            signal.signal(number, signal.SIG_DFL)
        with contextlib.suppress(OSError, AttributeError):
            _LIBRARY.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)

    return ask


def reap_strangers(own: Container[int]) -> None:
    """Adopted orphans that have ended stay as zombies until somebody asks how; a long run would fill its limit."""
    with contextlib.suppress(OSError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid in own:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)


def kill_orphans(spare: Container[int] = ()) -> None:
    """After the program's end: whatever it left running below us. `spare`: children of ours that it did not start."""
    for _ in range(3):
        left = [pid for pid in family(os.getpid()) if pid != os.getpid() and pid not in spare]
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return


_IOPRIO_SET = {"x86_64": 251, "aarch64": 30, "ppc64le": 273}  # its numbers in asm/unistd.h; libc has no function for it


def be_modest() -> None:
    """While the program runs it comes first, at the CPU and at the disk."""
    with contextlib.suppress(OSError):
        os.nice(10)
    number = _IOPRIO_SET.get(platform.machine())
    if number:
        with contextlib.suppress(OSError, AttributeError):
            _LIBRARY.syscall(number, 1, 0, 2 << 13 | 7)  # IOPRIO_CLASS_BE, the last of its eight
