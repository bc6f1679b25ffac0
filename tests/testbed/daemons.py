"""The handles by which a test hurts one daemon and brings it back."""

import os
import signal
import subprocess
from collections.abc import Callable

from .layout import Layout
from .namespaces import cable_of
from .polling import poll_until
from .processes import alive, send, state
from .services import is_ready

Starter = Callable[[str], None]


class Daemon:
    def __init__(self, layout: Layout, name: str, starter: Starter) -> None:
        self.name = name
        self._layout = layout
        self._starter = starter

    def __repr__(self) -> str:
        return f"<{self.name}, process {self.pid}>"

    @property
    def pid(self) -> int:
        """The pid of the latest start, as the host sees it."""
        return int(self._layout.pid_file(self.name).read_text(encoding="utf-8"))

    @property
    def alive(self) -> bool:
        return alive(self.pid)

    @property
    def paused(self) -> bool:
        return state(self.pid) == "T"

    @property
    def log(self) -> str:
        return self._layout.log(self.name).read_text(encoding="utf-8", errors="replace")

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        poll_until(lambda: self.paused, 5, f"a paused {self.name}")

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        poll_until(lambda: not self.paused, 5, f"a resumed {self.name}")

    def kill(self) -> None:
        send(self.pid, signal.SIGKILL)
        poll_until(lambda: not self.alive, 10, f"the end of {self.name}")

    def start(self) -> None:
        """Start it again unless it runs; `wait_ready` tells when it answers."""
        if not self.alive:
            self._starter(self.name)

    def wait_ready(self, deadline: float = 30) -> None:
        """TimeoutError when it does not answer in time, ChildProcessError at once when it has ended."""

        def answers_or_died() -> bool:
            return is_ready(self._layout, self.name) or not self.alive

        poll_until(answers_or_died, deadline, f"an answer of {self.name}")
        if not self.alive:
            raise ChildProcessError(f"{self.name} ended:\n" + "\n".join(self.log.splitlines()[-5:]))


class Node(Daemon):
    """The slurmd of one node and, on kind P, the machine around it."""

    @property
    def address(self) -> str:
        return self._layout.node_addresses[self.name]

    @property
    def first_process(self) -> int:
        """Process 1 of the node, as the host sees it; `nsenter --target` takes it."""
        self._needs_machine()
        return int(self._layout.pid_file(f"{self.name}-init").read_text(encoding="utf-8"))

    def crash(self) -> None:
        """A power cut: slurmd, every job's processes and /dev/shm are gone; `start` boots it again."""
        send(self.first_process, signal.SIGKILL)
        poll_until(lambda: not alive(self.first_process) and not self.alive, 10, f"the end of {self.name}")

    def unplug(self) -> None:
        """Take the node off the network while its jobs run on."""
        self._needs_machine()
        self._set_cable("down")

    def plug(self) -> None:
        """Back on the network; nothing to do where it never left."""
        if self._layout.kind == "P":
            self._set_cable("up")

    def _set_cable(self, position: str) -> None:
        subprocess.run(["ip", "link", "set", cable_of(self._layout, self.name), position], check=True)

    def _needs_machine(self) -> None:
        if self._layout.kind != "P":
            raise NotImplementedError("the nodes of kind S share one machine; use kind P")
