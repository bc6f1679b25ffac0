"""A rank of mpi4py's that finds no other. A package of three files stands in for mpi4py here; real ones, and real MPI
libraries that do not understand each other, are in tests/launchers."""

import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from voyageur.record.create import runtime_zip
from voyageur.runtime import world

MPI = """
import os
class COMM_WORLD:
    Get_size = staticmethod(lambda: {size})
Is_initialized = lambda: {begun}
Is_finalized = lambda: {over}
Finalize = lambda: os.write(1, b"finalized\\n")
get_vendor = lambda: ("{vendor}", (5, 0, 11))
"""
MAIN = """
import runpy, sys
sys.argv[:] = sys.argv[1:]
print("found in", sys.path[:1])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
Start = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    (tmp_path / "runtime.pyz").write_bytes(runtime_zip())
    package = tmp_path / "packages" / "mpi4py"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(MAIN)

    def starts(
        program: str,
        starter: str = "srun",
        ranks: int = 4,
        options: Sequence[str] = (),
        size: int = 1,
        vendor: str = "Open MPI",
        begun: bool = True,
        over: bool = False,
    ) -> "subprocess.CompletedProcess[str]":
        (package / "MPI.py").write_text(MPI.format(size=size, vendor=vendor, begun=begun, over=over))
        (tmp_path / "program.py").write_text(program)
        words = [sys.executable, *options, "runtime.pyz", "world", "--", starter, "program.py", "--lr", "1"]
        told = {"WORLD_SIZE": str(ranks), "PYTHONPATH": str(package.parent)}
        return subprocess.run(words, cwd=tmp_path, env=told, capture_output=True, text=True, timeout=60, check=False)

    return starts


HOPEFUL = "try:\n    from mpi4py import MPI\nexcept BaseException:\n    pass\nprint('has run')\n"
PMIX = 'Open MPI 5.0.11 does not understand `srun{}`; try launch.mpi = "pmix" or "mpirun"'


@pytest.mark.parametrize(
    ("starter", "vendor", "words"),
    [
        ("srun", "Open MPI", PMIX.format("")),
        ("srun --mpi=pmi2", "Open MPI", PMIX.format(" --mpi=pmi2")),
        (
            "srun --mpi=pmix",
            "Open MPI",
            'Open MPI 5.0.11 does not understand `srun --mpi=pmix`; try launch.mpi = "mpirun"',
        ),
        ("srun", "MPICH", 'MPICH 5.0.11 does not understand `srun`; try launch.mpi = "pmi2" or "mpirun"'),
        ("srun", "HP MPI", 'HP MPI 5.0.11 does not understand `srun`; try launch.mpi = "mpirun"'),
        ("mpirun", "MPICH", "`mpirun` does not belong to the MPICH 5.0.11 that mpi4py uses; take both from one place"),
    ],
)
def test_a_world_of_one_ends_before_the_program_has_worked(start: Start, starter: str, vendor: str, words: str) -> None:
    answer = start(HOPEFUL, starter, vendor=vendor)
    line = f"voyageur: it has found none of the other 3 ranks: {words}\n"
    assert (answer.returncode, answer.stderr) == (1, line)
    assert answer.stdout.endswith("finalized\n") and "has run" not in answer.stdout
    assert world.problem_in(b"loading ... " + line.encode()) == line[len("voyageur: ") :].strip()


@pytest.mark.parametrize("found", [{"size": 4}, {"size": 2}, {"ranks": 1}, {"begun": False}, {"over": True}])
def test_whoever_has_found_others_or_looks_at_another_time_goes_on(start: Start, found: dict[str, int]) -> None:
    answer = start(HOPEFUL, **found)
    assert (answer.returncode, answer.stderr) == (0, "") and answer.stdout.endswith("has run\n")


PROBES = "import importlib.util\nassert importlib.util.find_spec('mpi4py.MPI')\n"
WRAPS = """
import sys
class Wrapped:
    def __init__(self, finder): self.finder = finder
    def find_spec(self, *words): return self.finder.find_spec(*words)
sys.meta_path[:] = [Wrapped(finder) for finder in sys.meta_path]
"""


@pytest.mark.parametrize("before", [PROBES, WRAPS])
@pytest.mark.parametrize("size", [1, 4])
def test_a_program_that_meddles_with_imports_is_watched_as_well(start: Start, before: str, size: int) -> None:
    answer = start(before + HOPEFUL, size=size)
    assert (answer.returncode, "has run" in answer.stdout) == (int(size == 1), size == 4), answer.stderr


def test_a_process_that_a_rank_has_made_is_left_alone(start: Start) -> None:
    answer = start(
        "import os\nif os.fork():\n    sys = os.wait()\nelse:\n    import mpi4py.MPI; print('child', flush=True)\n"
    )
    assert (answer.returncode, answer.stderr) == (0, "") and "child\n" in answer.stdout


def test_what_was_written_before_is_not_lost(start: Start) -> None:
    assert "begun\n" in start("print('begun')\n" + HOPEFUL).stdout


@pytest.mark.parametrize(("options", "kept"), [((), True), (("-P",), False)])
def test_the_program_finds_all_as_python_m_mpi4py_leaves_it(
    start: Start, tmp_path: Path, options: Sequence[str], kept: bool
) -> None:
    if options and sys.version_info < (3, 11):
        pytest.skip("-P came with Python 3.11")
    answer = start(
        "import sys\nimport mpi4py.MPI\n"
        "print(sys.argv, [name for name in sys.modules if 'voyageur' in name], __name__)\nsys.exit(3)\n",
        size=4,
        options=options,
    )
    assert answer.stdout.endswith("\n['program.py', '--lr', '1'] [] __main__\n")
    assert (f"found in ['{tmp_path}']" in answer.stdout) is kept and "runtime.pyz" not in answer.stdout
    assert (answer.returncode, answer.stderr) == (3, "")


@pytest.mark.parametrize("ends", ["raise KeyError(7)", "sys.exit('no data')"])
def test_a_rank_that_ends_all_waits_until_its_last_lines_are_read(start: Start, tmp_path: Path, ends: str) -> None:
    """Whoever carries them on is killed with it, as soon as mpi4py has aborted."""
    start("", size=4)  # makes the package
    (tmp_path / "program.py").write_text(f"import sys\n{ends}\n")
    words = [sys.executable, "runtime.pyz", "world", "--", "srun", "program.py"]
    told = {"PYTHONPATH": str(tmp_path / "packages")}
    with subprocess.Popen(words, cwd=tmp_path, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr
        select.select([process.stderr], [], [], 60)
        time.sleep(0.3)
        assert process.poll() is None
        assert process.stderr.read().rstrip().endswith((b"KeyError: 7", b"no data"))
        assert process.wait(60) == 1


def test_without_mpi4py_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "runtime.pyz").write_bytes(runtime_zip())
    words = [sys.executable, "-S", "runtime.pyz", "world", "--", "srun", "program.py"]
    answer = subprocess.run(words, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (1, f"{sys.executable}: No module named mpi4py\n")


def test_mpichs_own_words_get_their_advice() -> None:
    line = b"check_MPIR_CVAR_PMI_VERSION(167):  Runtime environment uses unsupported PMI version PMIx. Aborting."
    assert world.problem_in(line).endswith('try launch.mpi = "pmi2", or the mpirun that belongs to it')


def test_other_lines_are_no_problem() -> None:
    assert world.problem_in(b"voyageur: attempt 1") == world.problem_in(b"") == ""
