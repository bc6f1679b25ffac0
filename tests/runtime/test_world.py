"""A rank of mpi4py's that finds no other. A package of three files stands in for mpi4py here; real ones, and real MPI
libraries that do not understand each other, are in tests/launchers."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from voyageur.record.create import runtime_zip
from voyageur.runtime import world

MPI = """
import sys
class COMM_WORLD:
    Get_size = staticmethod(lambda: {size})
Is_initialized = lambda: {begun}
Finalize = lambda: print("finalized", flush=True)
get_vendor = lambda: ("{vendor}", (5, 0, 11))
"""
MAIN = """
import runpy, sys
sys.argv[:] = sys.argv[1:]
sys.path[0] = "beside the program"
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
        program: str, starter: str = "srun", size: int = 1, ranks: int = 4, vendor: str = "Open MPI", begun: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        (package / "MPI.py").write_text(MPI.format(size=size, vendor=vendor, begun=begun))
        (tmp_path / "program.py").write_text(program)
        words = [sys.executable, "runtime.pyz", "world", "--", starter, "program.py", "--lr", "1"]
        told = {"WORLD_SIZE": str(ranks), "PYTHONPATH": str(package.parent)}
        return subprocess.run(words, cwd=tmp_path, env=told, capture_output=True, text=True, timeout=60, check=False)

    return starts


HOPEFUL = "try:\n    from mpi4py import MPI\nexcept BaseException:\n    pass\nprint('has run')\n"


@pytest.mark.parametrize(
    ("starter", "vendor", "words"),
    [
        ("srun", "Open MPI", 'Open MPI 5.0.11 does not understand srun as it is; try launch.mpi = "pmix" or "mpirun"'),
        ("srun", "MPICH", 'MPICH 5.0.11 does not understand srun as it is; try launch.mpi = "pmi2" or "mpirun"'),
        ("srun", "HP MPI", 'HP MPI 5.0.11 does not understand srun as it is; try launch.mpi = "mpirun"'),
        ("mpirun", "MPICH", "`mpirun` does not belong to the MPICH 5.0.11 that mpi4py uses; take both from one place"),
    ],
)
def test_a_world_of_one_ends_before_the_program_has_worked(start: Start, starter: str, vendor: str, words: str) -> None:
    answer = start(HOPEFUL, starter, vendor=vendor)
    line = f"voyageur: it has found none of the other 3 ranks: {words}\n"
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, "finalized\n", line)
    assert world.problem_in(line.encode()) == line[len("voyageur: ") :].strip()


@pytest.mark.parametrize("found", [{"size": 4}, {"size": 2}, {"ranks": 1}, {"begun": False}])
def test_whoever_has_found_others_or_looks_later_goes_on(start: Start, found: dict[str, int]) -> None:
    answer = start(HOPEFUL, **found)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "has run\n", "")


def test_the_program_finds_all_as_mpi4py_leaves_it(start: Start) -> None:
    answer = start(
        "import sys\nimport mpi4py.MPI\n"
        "print(sys.argv, sys.path[0], [name for name in sys.modules if 'voyageur' in name], __name__)\nsys.exit(3)\n",
        size=4,
    )
    assert answer.stdout == "['program.py', '--lr', '1'] beside the program [] __main__\n"
    assert (answer.returncode, answer.stderr) == (3, "")


def test_without_mpi4py_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "runtime.pyz").write_bytes(runtime_zip())
    words = [sys.executable, "-S", "runtime.pyz", "world", "--", "srun", "program.py"]
    answer = subprocess.run(words, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (1, f"{sys.executable}: No module named mpi4py\n")


def test_other_lines_are_no_problem() -> None:
    assert world.problem_in(b"voyageur: attempt 1") == world.problem_in(b"") == ""
