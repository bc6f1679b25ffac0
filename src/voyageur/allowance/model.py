"""What may be charged, what is left of it, and what is full."""

from __future__ import annotations

from msgspec import Struct

from voyageur.units import Size


class Account(Struct, frozen=True, kw_only=True):
    """An account of Slurm's that this user may charge. `fair_share`: LevelFS of sshare where it has one.

    `shares` is the part of the cluster that it was promised, of those beside it; `usage` what it has used of theirs.
    """

    name: str
    partitions: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    default: bool = False
    fair_share: float | None = None
    shares: float | None = None
    usage: float | None = None
    most_submitted: int | None = None
    most_running: int | None = None


class Balance(Struct, frozen=True, kw_only=True):
    """What is left of an allocation, in the site's own unit. `age` in seconds where the answer says how old it is.

    `month` is what may be used this month at full priority, where a site deals it out so.
    """

    account: str
    unit: str
    granted: float | None = None
    used: float | None = None
    left: float | None = None
    until: str | None = None
    month: float | None = None
    month_used: float | None = None
    age: float | None = None
    source: str = ""


class Quota(Struct, frozen=True, kw_only=True):
    """One file system, one owner. `owner` is a user or a group; limits that are None are not known or not set.

    `as_of` is when this was true, where the answer says that it is not of now. A `whole` one is all of a file system,
    everybody's files in it: no quota, but it can be full.
    """

    place: str
    path: str = ""
    owner: str = ""
    used: Size | None = None
    limit: Size | None = None
    files: int | None = None
    file_limit: int | None = None
    source: str = ""
    as_of: str = ""
    whole: bool = False

    @property
    def full(self) -> float | None:
        """The part of its bytes that is used; None without a limit."""
        return self.used.bytes / self.limit.bytes if self.used and self.limit and self.limit.bytes else None

    @property
    def files_full(self) -> float | None:
        return self.files / self.file_limit if self.files is not None and self.file_limit else None

    @property
    def worst(self) -> float:
        return max(self.full or 0.0, self.files_full or 0.0)


class JobCount(Struct, frozen=True, kw_only=True):
    """This user's jobs, an array's tasks counted one by one."""

    submitted: int
    running: int
