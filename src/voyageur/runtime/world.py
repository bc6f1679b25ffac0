"""An MPI program in Python, by way of mpi4py, that looks first whether its rank has found the others.

A library that does not understand whoever has started it goes on as a world of one, without a word: N ranks then do the
same work N times. This runs in the program's own Python, so it leaves nothing of ours behind there.
"""

import array
import atexit
import contextlib
import fcntl
import os
import runpy
import sys
import termios
import time
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, List, Optional

_MPI = "mpi4py.MPI"
_READ_SECONDS, _CARRY_SECONDS = 2.0, 0.1
_SAID = "voyageur: "
_LONELY = "it has found none of the other "
# What srun may speak that the library understands.
_LANGUAGES = {"Open MPI": "pmix", "MPICH": "pmi2", "Intel MPI": "pmi2", "MVAPICH": "pmi2", "MVAPICH2": "pmi2"}
# MPICH says it itself, and not what to do.
_NO_PMIX = b"Runtime environment uses unsupported PMI version PMIx"
_TRY_PMI2 = 'this MPICH does not understand PMIx; try launch.mpi = "pmi2", or the mpirun that belongs to it'


def problem_in(line: bytes) -> str:
    """Of a line that a rank has written: why it has found no others; empty for all other lines."""
    _, said, rest = line.partition((_SAID + _LONELY).encode())  # a line that it had begun may stand before it
    if said:
        return _LONELY + rest.decode("utf-8", "replace").strip()
    return _TRY_PMI2 if _NO_PMIX in line else ""


def run(command: List[str]) -> int:
    """`command`: who starts the ranks ("srun --mpi=pmix", "mpirun"), then the program. What it raises is mpi4py's
    business."""
    starter, *program = command
    _leave_nothing_behind()
    if find_spec("mpi4py") is None:
        sys.exit("%s: No module named mpi4py" % sys.executable)
    others = int(os.environ.get("WORLD_SIZE") or 1) - 1
    if others > 0:
        sys.meta_path.insert(0, Watch(starter, others))
    sys.argv[1:] = program
    try:
        runpy.run_module("mpi4py", run_name="__main__", alter_sys=True)
    except BaseException as problem:
        if not isinstance(problem, SystemExit) or problem.code:
            atexit.register(_let_it_be_read)
        raise
    return 0


def _let_it_be_read() -> None:
    """The traceback is written, and mpi4py aborts next: whoever carries our lines on is killed with us."""
    deadline = time.monotonic() + _READ_SECONDS
    while time.monotonic() < deadline and any(_is_unread(descriptor) for descriptor in (1, 2)):
        time.sleep(0.01)
    time.sleep(_CARRY_SECONDS)


def _is_unread(descriptor: int) -> bool:
    waiting = array.array("i", [0])
    with contextlib.suppress(OSError):
        fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    return waiting[0] > 0


def _leave_nothing_behind() -> None:
    """As `python -m mpi4py` would find it: the folder that it was started in, and no package called voyageur."""
    safe = getattr(sys.flags, "safe_path", False) or sys.flags.isolated
    sys.path[:1] = [] if safe else [os.getcwd()]
    for name in [name for name in sys.modules if name.partition(".")[0] == "voyageur"]:
        del sys.modules[name]


class Watch(MetaPathFinder):
    """Sees the program import mpi4py.MPI, which is when MPI begins."""

    def __init__(self, starter: str, others: int) -> None:
        self.starter = starter
        self.others = others
        self.process = os.getpid()
        self.is_asking = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if fullname != _MPI or self.is_asking:
            return None
        self.is_asking = True
        try:
            spec = find_spec(fullname)
        finally:
            self.is_asking = False
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_look(module: ModuleType) -> None:
            load(module)
            self._look(module)

        spec.loader.exec_module = load_and_look  # type: ignore[method-assign]
        return spec

    def _look(self, mpi: Any) -> None:
        """A program that begins MPI later, by itself, is left alone; so is a process that a rank has made."""
        if os.getpid() != self.process or not mpi.Is_initialized() or mpi.Is_finalized():
            return
        if mpi.COMM_WORLD.Get_size() != 1:
            return
        name, version = mpi.get_vendor()
        why = self._why(name, "%s %s" % (name, ".".join(str(part) for part in version)))
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        print("%s%s%d ranks: %s" % (_SAID, _LONELY, self.others, why), file=sys.stderr, flush=True)
        mpi.Finalize()
        os._exit(1)  # not an exception, which the program might catch

    def _why(self, name: str, library: str) -> str:
        srun, _, language = self.starter.partition(" --mpi=")
        if srun != "srun":
            return "`%s` does not belong to the %s that mpi4py uses; take both from one place" % (srun, library)
        words = [word for word in (_LANGUAGES.get(name), "mpirun") if word and word != language]
        advice = " or ".join('"%s"' % word for word in words)
        return "%s does not understand `%s`; try launch.mpi = %s" % (library, self.starter, advice)
