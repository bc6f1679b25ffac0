"""sshare: who may use how much, and who has used how much; the controller knows it without the database."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from voyageur.slurm_text.figures import amounts, number, table

_FIELDS = (
    "Cluster,Account,User,Partition,RawShares,NormShares,RawUsage,EffectvUsage,FairShare,LevelFS,"
    "GrpTRESMins,GrpTRESRaw,TRESRunMins"
)


class Share(Struct, frozen=True, kw_only=True):
    """One row: of an account when `user` is empty. `level` is what the accounts of one parent are ordered by.

    `usage` is in seconds of what the site bills, faded by its half-life. `limits` and `spent` are in minutes, and
    compared by Slurm itself; `running` is what the jobs that run now may still spend.
    """

    cluster: str = ""
    account: str
    user: str = ""
    partition: str = ""
    shares: float | None = None
    norm: float | None = None
    usage: float | None = None
    effective: float | None = None
    fair_share: float | None = None
    level: float | None = None
    limits: dict[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)

    @property
    def is_counted(self) -> bool:
        """All levels are zero, and mean nothing, without priority/multifactor and in a new account's first minute."""
        return self.norm is not None and not (self.level == 0 and not self.effective)


def own_shares_argv() -> list[str]:
    """One row for each account that this user may charge on this cluster."""
    return ["sshare", "--parsable2", "--Users", f"--format={_FIELDS}"]


def account_shares_argv(accounts: Sequence[str]) -> list[str]:
    """Without names sshare lists every account of the cluster, which may be ten thousand."""
    return ["sshare", "--parsable2", f"--accounts={','.join(accounts)}", f"--format={_FIELDS}"]


def shares_from(answer: str) -> list[Share]:
    return [_share(row) for row in table(answer, "Account") if row["Account"]]


def _share(row: dict[str, str]) -> Share:
    return Share(
        cluster=row.get("Cluster", ""),
        account=row["Account"],
        user=row.get("User", ""),
        partition=row.get("Partition", ""),
        shares=number(row.get("RawShares", "")),
        norm=number(row.get("NormShares", "")),
        usage=number(row.get("RawUsage", "")),
        effective=number(row.get("EffectvUsage", "")),
        fair_share=number(row.get("FairShare", "")),
        level=number(row.get("LevelFS", "")),
        limits=amounts(row.get("GrpTRESMins", "")),
        spent=amounts(row.get("GrpTRESRaw", "")),
        running=amounts(row.get("TRESRunMins", "")),
    )
