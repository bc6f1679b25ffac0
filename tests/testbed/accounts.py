"""Accounts, shares, limits and usage, on a bed of their own: Slurm reads what it enforces only when it starts.

with start_bed_with_accounts() as bed:
    book = Book(bed)
    book.limit("rrg-b", MaxSubmitJobs="2")
    book.settle()
"""

import os
import pwd
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from .bed import Bed, start_bed
from .keeper_pipe import BedError
from .polling import poll_until

SETTINGS = {
    "AccountingStorageEnforce": "associations,limits,qos",
    "PriorityType": "priority/multifactor",
    "PriorityWeightFairshare": "1000",
    "PriorityCalcPeriod": "1",  # minutes, the least there is
}
IDLE, BUSY = "def-a", "rrg-b"  # the same share of the cluster; only the second has used some of its own
QOS = "small"


class Book:
    """What an administrator writes into Slurm's database. The one user is whoever runs the tests."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.user = pwd.getpwuid(os.geteuid()).pw_name

    def write(self, *words: str) -> None:
        answer = self.bed.run(["sacctmgr", "--immediate", *words])
        if answer.returncode != 0 and "Nothing" not in answer.stdout:
            raise BedError(answer.stdout + answer.stderr)

    def limit(self, account: str, **limits: str) -> None:
        """Of the user in this account: MaxSubmitJobs="2"; -1 takes it away."""
        pairs = [f"{name}={value}" for name, value in limits.items()]
        self.write("modify", "user", "where", f"name={self.user}", f"account={account}", "set", *pairs)

    @contextmanager
    def partition(self, name: str, **settings: str) -> Iterator[None]:
        """Others may charge it, AllowAccounts="rrg-b", for as long as the context lasts."""
        self._update(name, settings)
        try:
            yield
        finally:
            self._update(name, dict.fromkeys(settings, "ALL"))

    def _update(self, partition: str, settings: dict[str, str]) -> None:
        pairs = [f"{name}={value}" for name, value in settings.items()]
        self.bed.run(["scontrol", "update", f"PartitionName={partition}", *pairs]).check_returncode()

    def use(self, account: str) -> None:
        """A job that takes a second of one node, and is over."""
        job = self.bed.submit([f"--account={account}", "--cpus-per-task=8", "--wrap=sleep 1"])
        self.bed.wait_job(job)

    def settle(self) -> None:
        """The controller counts shares once a minute, and when it starts. Stopped in peace, it forgets nothing."""
        controller = self.bed.controller
        os.kill(controller.pid, signal.SIGTERM)
        poll_until(lambda: not controller.alive, 20, "the end of the controller")
        controller.start()
        controller.wait_ready()
        poll_until(lambda: "|inf|" in self._levels(), 20, "fair shares")

    def _levels(self) -> str:
        return self.bed.run(["sshare", "--parsable", "--noheader", "--format=LevelFS,Account"]).stdout.replace(
            "\n", "|"
        )


@contextmanager
def start_bed_with_accounts() -> Iterator[Bed]:
    with start_bed("P", SETTINGS) as bed:
        _open(Book(bed))
        yield bed


def _open(book: Book) -> None:
    book.write("add", "qos", QOS, "set", "MaxSubmitJobsPerUser=1", "MaxWall=00:30:00")
    book.write("add", "account", IDLE, BUSY, "fairshare=10")
    book.write("modify", "account", BUSY, "set", "GrpTRESMins=cpu=60000")
    book.write("add", "user", book.user, f"account={IDLE},{BUSY}")
    book.write("modify", "user", book.user, "set", f"DefaultAccount={BUSY}")
    book.write("delete", "user", "where", f"name={book.user}", "account=root")
    book.limit(BUSY, **{"qos+": QOS})
    book.use(BUSY)
    book.settle()
