"""A running throw-away cluster as its tests see it."""

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from . import jobs
from .configuration import slurm_conf
from .daemons import Daemon, Node
from .keeper_pipe import BedError, Keeper
from .layout import Kind, Layout, load_layout
from .polling import poll_until
from .processes import descendants, living_children, send
from .proxy import ControllerProxy
from .requirements import why_not
from .services import client_environment
from .teardown import job_processes

NOBODY = 65534
# Short, so that a test of a lost answer does not wait the controller's own ten seconds.
_FLAKY_TIMEOUT = "3"


class Bed:
    """Made by `start_bed`; daemons may be hurt at will, `heal` brings all back."""

    def __init__(self, layout: Layout, keeper: Keeper) -> None:
        self.layout = layout
        self.kind: Kind = layout.kind
        self.root = layout.root
        self.conf = layout.conf
        self.shared = layout.shared
        self.nodes = layout.nodes
        self.environment = {"SLURM_CONF": str(layout.conf)}
        self._keeper = keeper
        self._proxy: ControllerProxy | None = None
        self.controller = Daemon(layout, "controller", keeper.start)
        self._node_handles = {name: Node(layout, name, keeper.start) for name in layout.nodes}

    @property
    def accounting(self) -> Daemon:
        """slurmdbd; kind S has none."""
        if self.kind == "S":
            raise BedError("a bed of kind S has no accounting")
        return Daemon(self.layout, "accounting", self._keeper.start)

    def node(self, name: str) -> Node:
        return self._node_handles[name]

    def local_tmp(self, node: str) -> Path:
        """The node's /tmp as the host sees it."""
        return self.layout.local(node)

    @property
    def proxy(self) -> ControllerProxy:
        """Stands before the controller for the clients that use `flaky_conf`."""
        if self._proxy is None:
            self._proxy = ControllerProxy((self.layout.address, self.layout.controller_port))
        return self._proxy

    @property
    def flaky_conf(self) -> Path:
        """A client configuration whose way to the controller leads through `proxy`."""
        path = self.root / "etc" / "flaky" / "slurm.conf"
        if not path.exists():
            path.parent.mkdir()
            changes = {"SlurmctldPort": str(self.proxy.port), "MessageTimeout": _FLAKY_TIMEOUT}
            path.write_text(slurm_conf(self.layout, changes), encoding="utf-8")
        return path

    def run(
        self,
        argv: Sequence[str],
        user: int | None = None,
        timeout: float = 60,
        cwd: Path | None = None,
        stdin: str = "",
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        """A client's command on the submit host; its failure is for the caller to judge."""
        return self._execute(argv, user, timeout, cwd or self.shared, stdin, environment)

    def submit(self, arguments: Sequence[str], user: int | None = None, script: str = "", **environment: str) -> str:
        """The job's id, from `sbatch ARGUMENTS`; `script` is its standard input."""
        argv = ["sbatch", "--parsable", *arguments]
        answer = self._execute(argv, user, 60, self.shared, script, environment)
        if answer.returncode != 0:
            raise BedError(answer.stderr)
        return answer.stdout.strip().split(";")[0]

    def _execute(
        self,
        argv: Sequence[str],
        user: int | None,
        timeout: float,
        cwd: Path,
        stdin: str,
        environment: Mapping[str, str],
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, input=stdin, capture_output=True, text=True, timeout=timeout, check=False, cwd=cwd,
            env={**client_environment(self.layout), **environment},
            user=user, group=user, extra_groups=None if user is None else [],
        )  # fmt: skip

    def job(self, job: str) -> dict[str, str]:
        """The fields of `scontrol show job`; empty once the controller has forgotten it."""
        return jobs.job_fields(self.layout, job)

    def wait_job(self, job: str, deadline: float = 30) -> dict[str, str]:
        """The job's fields once it has ended."""
        poll_until(lambda: self.job(job).get("JobState") in jobs.ENDED, deadline, f"the end of job {job}")
        return self.job(job)

    def wait_state(self, job: str, state: str, deadline: float = 30) -> None:
        poll_until(lambda: self.job(job).get("JobState") == state, deadline, f"job {job} {state}")

    def start_now(self, job: str, deadline: float = 20) -> None:
        """Spare a requeued job its two minutes.

        A start time given while the former attempt is COMPLETING is accepted, and then overwritten. And slurmd counts
        in whole seconds: "already killed" it says of one that comes back in the second in which it was ended.
        """
        self.wait_state(job, "PENDING", deadline)
        time.sleep(2)
        change = ["scontrol", "update", f"JobId={job}", "StartTime=now"]
        poll_until(lambda: self.run(change).returncode == 0, deadline, f"job {job} made eligible")

    def cancel_all(self) -> None:
        jobs.cancel_all(self.layout)

    def wait_idle(self, deadline: float = 60) -> None:
        """No job in the queue and every node idle."""
        poll_until(lambda: jobs.is_idle(self.layout), deadline, "an idle cluster")

    def heal(self, deadline: float = 90) -> None:
        """Make the bed as good as new for the next test; quick when nothing is wrong."""
        if self._proxy is not None:
            self._proxy.heal()
        # In this order: a young slurmctld ends at once when slurmdbd does not answer.
        for daemon in [*self._support(), self.controller]:
            _bring_back(daemon)
            daemon.wait_ready(deadline)
        for node in self._node_handles.values():
            _bring_back(node)
            node.plug()
        self.cancel_all()
        jobs.wait_empty(self.layout, deadline)
        jobs.open_partitions(self.layout)
        jobs.delete_reservations(self.layout)
        self._bring_nodes_back()
        self._end_orphans(deadline)
        self.wait_idle(deadline)

    def _support(self) -> list[Daemon]:
        names = ["munge", "database", "accounting"] if self.kind == "P" else ["munge"]
        return [Daemon(self.layout, name, self._keeper.start) for name in names]

    def _bring_nodes_back(self) -> None:
        for name, state in jobs.node_states(self.layout).items():
            if state.endswith("*"):  # only a fresh slurmd registers at once
                self.node(name).kill()
                self.node(name).start()
            if state.rstrip("*") != "idle":
                jobs.resume_node(self.layout, name)

    def _end_orphans(self, deadline: float) -> None:
        """With an empty queue, whatever still runs is an orphan."""

        def none_left() -> bool:
            left = job_processes(self.layout) if self.kind == "P" else self._adopted()
            for pid in left:
                send(pid, signal.SIGKILL)
            return not left

        poll_until(none_left, deadline, "the end of what jobs left behind")

    def _adopted(self) -> list[int]:
        """Without cgroups: what lost its parent and became the keeper's."""
        own = {daemon.pid for daemon in [*self._support(), self.controller, *self._node_handles.values()]}
        tops = set(living_children()[self._keeper.pid]) - own
        return [pid for top in tops for pid in [top, *descendants(top)]]

    def close(self) -> None:
        if self._proxy is not None:
            self._proxy.close()


def _bring_back(daemon: Daemon) -> None:
    if daemon.paused:
        daemon.resume()
    daemon.start()


@contextmanager
def start_bed(kind: Kind, settings: Mapping[str, str] | None = None) -> Iterator[Bed]:
    """A cluster of its own for as long as the context lasts; `settings` replace lines of slurm.conf."""
    if reason := why_not(kind):
        raise BedError(reason)
    keeper = Keeper()
    try:
        root = Path(keeper.wish(kind=kind, settings=dict(settings or {}))["root"])
        with closing(Bed(load_layout(root), keeper)) as bed:
            yield bed
    finally:
        keeper.stop()
