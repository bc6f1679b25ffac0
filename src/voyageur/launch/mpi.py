"""MPI programs. Who starts their ranks depends on the place: srun where Slurm speaks the library's own language
(`launch.mpi = "pmix"`, or the cluster's MpiDefault), the site's starter where it has one, else mpirun.

A library that does not find the others starts as a world of one without a word, so srun is only taken where the
cluster says that it can.
"""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.errors import SpecError
from voyageur.launch.style import RANK, Launcher, Style, Tasks, Wanted
from voyageur.launch.words import is_python, launcher_named, of_each_node, program_of

_MPIRUN = ("mpirun", "mpiexec")
# In the program's own Python: as `-m mpi4py`, and a rank that does not find the others says so.
_WORLD = ("$VOY_RUN_DIR/runtime.pyz", "world", "--")


class Mpi(Style):
    name = "mpi"
    title = "MPI ranks, started by srun, by mpirun or by the site's own launcher"
    tasks = Tasks.RANKS
    tags_ranks = True
    death = "MPI ends the others; the rank that failed first is named"
    signal = "the ranks that listen: mpirun hands it on"

    def launcher(self, wanted: Wanted) -> Launcher:
        """mpi4py ends all ranks for an exception in one, which else waits for the others in MPI_Finalize."""
        own = _own(wanted.command)
        program = wanted.command[own:]
        by_mpi4py = program_of(program) == "mpi4py"
        if not is_python(program) or not (wanted.mpi4py or by_mpi4py):
            return Launcher(words=RANK, taken=own)
        name = program.index(program_of(program))
        start = name - ("-m" in program[:name])
        starter = (self.starter(wanted) or (" ".join(("srun", *self.step_flags(wanted))),))[0]
        return Launcher(
            words=(*RANK, *program[:start], *_WORLD, starter), taken=own + (name + 1 if by_mpi4py else start)
        )

    def starter(self, wanted: Wanted) -> tuple[str, ...]:
        if wanted.mpi in _MPIRUN:
            return (str(wanted.mpi), "-n", str(wanted.world))
        if wanted.engine == "local" or (wanted.mpi == "none" and not wanted.starter):
            return ("mpirun", "-n", str(wanted.world))
        return (wanted.starter,) if wanted.starter and not wanted.mpi else ()

    def processes_said(self, wanted: Wanted) -> Iterator[tuple[str, int]]:
        own = list(wanted.command[1 : _own(wanted.command)])
        if own and own[1].isdecimal():
            yield from of_each_node([(" ".join(own), int(own[1]))], wanted.nodes)

    def step_flags(self, wanted: Wanted) -> tuple[str, ...]:
        return (f"--mpi={wanted.mpi}",) if wanted.mpi else ()

    def exports(self, wanted: Wanted) -> dict[str, str]:
        """On this machine mpirun must neither look for Slurm nor count cores."""
        abort = {"VOY_ABORTS": "1"}
        return abort | (_ON_ONE_MACHINE if wanted.engine == "local" else {})

    def refuse(self, wanted: Wanted) -> None:
        if launcher_named(wanted.command) in _MPIRUN and not _own(wanted.command):
            raise SpecError(
                f"`{wanted.command[0]}` in the command would start a second set of ranks",
                facts=["`mpi` starts the ranks itself; only `-n` and `-np` are understood in the command"],
                hint="leave it out of the command, or use `--launch plain` on one node",
            )


_ON_ONE_MACHINE = {
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_ras": "^slurm",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_ras": "^slurm",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "HYDRA_LAUNCHER": "fork",
    "HYDRA_RMK": "user",
}


def _own(command: tuple[str, ...]) -> int:
    """How many words of `mpirun -n 8 ./program` are mpirun's; 0 when it says more than that."""
    if launcher_named(command) not in _MPIRUN:
        return 0
    at = 3 if command[1:2] and command[1] in ("-n", "-np") else 1
    return at if len(command) > at and not command[at].startswith("-") else 0


STYLE = Mpi()
