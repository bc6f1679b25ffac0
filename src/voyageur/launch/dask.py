"""Dask: its scheduler on the first node, workers on every node, the command beside the scheduler.

`Client()` without an address finds the scheduler by DASK_SCHEDULER_ADDRESS.
"""

from __future__ import annotations

from voyageur.launch.style import Services, Style, Wanted


class Dask(Style):
    name = "dask"
    title = "a Dask cluster inside the job, the command on its first node"
    modules = ("distributed",)
    has_ranks = False
    death = "the command's end is the run's; Dask computes what a lost worker had once more elsewhere"
    signal = "the command, if it listens"

    def services(self, wanted: Wanted) -> Services:
        here = ("--no-dashboard", "--host", "{NODE_ADDR}")
        return Services(
            head=(wanted.python, "-m", "distributed.cli.dask_scheduler", "--port", "{MASTER_PORT}", *here),
            worker=(
                wanted.python,
                *("-m", "distributed.cli.dask_worker", "tcp://{MASTER_ADDR}:{MASTER_PORT}", *here),
                *("--nworkers", str(wanted.ranks), "--nthreads", str(wanted.cpus)),
                *("--memory-limit", str(wanted.memory // wanted.ranks) if wanted.memory else "auto"),
                *("--local-directory", "{VOY_TMP}"),
            ),
            ready_line="Register worker",
            lines=wanted.world,
        )

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {"DASK_SCHEDULER_ADDRESS": "tcp://{MASTER_ADDR}:{MASTER_PORT}"}


STYLE = Dask()
