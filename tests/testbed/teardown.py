"""Leave nothing behind: processes, cgroups, network links, folder."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from .layout import Layout
from .namespaces import cable_of, remove_link
from .polling import poll_until
from .processes import kill_descendants

_CGROUPS = Path("/sys/fs/cgroup")


def tear_down(layout: Layout) -> None:
    """To be called by the process from which all others of the bed descend."""
    for group in cgroups_of(layout):
        _thaw(group)
    kill_descendants(os.getpid())
    remove_traces(layout)


def remove_traces(layout: Layout) -> None:
    """All but the processes, which are gone."""
    if layout.kind == "P":
        for node in layout.nodes:
            remove_link(cable_of(layout, node))
        remove_link(layout.bridge)
    poll_until(lambda: _remove_cgroups(layout), 10, f"removal of the cgroups of {layout.tag}")
    poll_until(lambda: _remove_folder(layout.root), 10, f"removal of {layout.root}")


def cgroups_of(layout: Layout) -> Iterator[Path]:
    """Slurm names them after the node when several slurmd share a host: slurm_NODE."""
    for node in layout.nodes:
        yield from _CGROUPS.glob(f"*/slurm_{node}")


def job_processes(layout: Layout) -> list[int]:
    """Of all jobs on all nodes, known to the controller or not: a node that was cut off keeps its jobs."""
    files = [path for group in cgroups_of(layout) for path in group.glob("uid_*/job_*/**/cgroup.procs")]
    return [int(pid) for path in files for pid in _read(path).split()]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:  # its job ended meanwhile
        return ""


def _thaw(group: Path) -> None:
    # A frozen process of cgroup v1 dies only once it is thawed, even of SIGKILL.
    for state in group.rglob("freezer.state"):
        with contextlib.suppress(OSError):
            state.write_text("THAWED", encoding="utf-8")


def _remove_cgroups(layout: Layout) -> bool:
    for top in list(cgroups_of(layout)):
        for folder, _, _ in os.walk(top, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                return False
    return True


def _remove_folder(root: Path) -> bool:
    shutil.rmtree(root, ignore_errors=True)
    return not root.exists()
