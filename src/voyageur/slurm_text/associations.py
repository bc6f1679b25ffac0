"""sacctmgr: what Slurm's database says that a user may charge, and within which limits."""

from __future__ import annotations

from msgspec import Struct, field

from voyageur.slurm_text.figures import amounts, count, table, words

_FIELDS = "Cluster,Account,Partition,DefaultAccount,QOS,DefaultQOS,MaxJobs,MaxSubmitJobs,GrpTRESMins"


class Association(Struct, frozen=True, kw_only=True):
    """One account on one cluster, or on one partition of it; empty is any."""

    cluster: str
    account: str
    partition: str = ""
    default: bool = False
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    most_running: int | None = None
    most_submitted: int | None = None
    limits: dict[str, float] = field(default_factory=dict)


def associations_argv(user: str, cluster: str) -> list[str]:
    """One database may serve several clusters, so the cluster is named. No text that people write is asked for."""
    where = [f"user={user}", f"cluster={cluster}"]
    return ["sacctmgr", "--parsable2", "--readonly", "show", "user", "where", *where, "withassoc", f"format={_FIELDS}"]


def associations_from(answer: str) -> list[Association]:
    return [_association(row) for row in table(answer, "Account") if row["Account"]]


def _association(row: dict[str, str]) -> Association:
    return Association(
        cluster=row.get("Cluster", ""),
        account=row["Account"],
        partition=row.get("Partition", ""),
        default=row.get("Def Acct") == row["Account"],
        qos=words(row.get("QOS", "")),
        default_qos=row.get("Def QOS", ""),
        most_running=count(row.get("MaxJobs", "")),
        most_submitted=count(row.get("MaxSubmit", "")),
        limits=amounts(row.get("GrpTRESMins", "")),
    )


_QOS_FIELDS = "Name,MaxJobsPU,MaxSubmitPU,MaxWall,GrpTRESMins"


class Qos(Struct, frozen=True, kw_only=True):
    name: str
    most_running: int | None = None
    most_submitted: int | None = None
    longest: str = ""
    limits: dict[str, float] = field(default_factory=dict)


def qos_argv() -> list[str]:
    return ["sacctmgr", "--parsable2", "--readonly", "show", "qos", f"format={_QOS_FIELDS}"]


def qos_from(answer: str) -> list[Qos]:
    return [
        Qos(
            name=row["Name"],
            most_running=count(row.get("MaxJobsPU", "")),
            most_submitted=count(row.get("MaxSubmitPU", "")),
            longest=row.get("MaxWall", ""),
            limits=amounts(row.get("GrpTRESMins", "")),
        )
        for row in table(answer, "Name")
        if row["Name"]
    ]
