"""All that Slurm's commands say of a cluster: its nodes, partitions and QOS, more than a plan needs."""

from __future__ import annotations

import re

from msgspec import Struct

from voyageur.slurm_text.cluster import gpus_from, time_limit_from
from voyageur.units import Duration, Size

_COLUMNS = "%P|%D|%c|%m|%d|%G|%f"


class NodeKind(Struct, frozen=True, kw_only=True):
    """Nodes of one partition that are alike."""

    partition: str
    nodes: int
    cpus: int
    memory: Size
    disk: Size
    gpus: dict[str, int]
    features: tuple[str, ...] = ()


class PartitionRow(Struct, frozen=True, kw_only=True):
    """As scontrol shows it. `open_to_all`: no account, group or QOS is singled out."""

    name: str
    default: bool = False
    up: bool = True
    open_to_all: bool = True
    time_limit: Duration | None = None
    most_nodes: int | None = None
    least_nodes: int | None = None
    exclusive: bool = False
    preempted: bool = False
    grace: Duration | None = None
    tier: int = 1
    qos: str = ""


class QosRow(Struct, frozen=True, kw_only=True):
    name: str
    time_limit: Duration | None = None
    running: int | None = None
    submitted: int | None = None


def node_kinds_argv() -> list[str]:
    """Partitions too that are hidden from this user: one that is not listed is not there."""
    return ["sinfo", "--all", "--noheader", "--exact", f"--format={_COLUMNS}"]


def node_kinds_from(answer: str) -> list[NodeKind]:
    """Busy and idle nodes of one kind stand in lines of their own; here they are one."""
    found: dict[tuple[str, ...], NodeKind] = {}
    for line in answer.splitlines():
        fields = line.strip().split("|")
        if len(fields) != 7 or not fields[1].isdigit():
            continue
        name, count, cpus, memory, disk, resources, features = fields
        key = (name, cpus, memory, disk, re.sub(r"\([^)]*\)", "", resources), features)
        known = found.get(key)
        found[key] = NodeKind(
            partition=name.rstrip("*"),
            nodes=int(count) + (known.nodes if known else 0),
            cpus=_number(cpus),
            memory=Size.of_mebibytes(_number(memory)),
            disk=Size.of_mebibytes(_number(disk)),
            gpus=gpus_from(resources),
            features=tuple(features.split(",")) if features != "(null)" else (),
        )
    return list(found.values())


def partitions_argv() -> list[str]:
    return ["scontrol", "--all", "--oneliner", "show", "partition"]


def partition_rows_from(answer: str) -> list[PartitionRow]:
    rows = []
    for line in answer.splitlines():
        facts = dict(pair for word in line.split() if len(pair := word.split("=", 1)) == 2)
        if "PartitionName" in facts:
            rows.append(_partition_row(facts))
    return rows


def _partition_row(facts: dict[str, str]) -> PartitionRow:
    closed = [facts.get(key, "ALL") for key in ("AllowGroups", "AllowAccounts", "AllowQos")]
    grace = _number(facts.get("GraceTime", "0"))
    return PartitionRow(
        name=facts["PartitionName"],
        default=facts.get("Default") == "YES",
        up=facts.get("State", "UP") == "UP",
        open_to_all=set(closed) == {"ALL"} and "DenyAccounts" not in facts and facts.get("RootOnly") != "YES",
        time_limit=time_limit_from(facts.get("MaxTime", "")),
        most_nodes=_number(facts.get("MaxNodes", "")) or None,
        least_nodes=_number(facts.get("MinNodes", "")) or None,
        exclusive=facts.get("OverSubscribe", "").startswith("EXCLUSIVE"),
        preempted=facts.get("PreemptMode", "OFF").split(",")[0] in ("REQUEUE", "CANCEL", "SUSPEND", "GANG,SUSPEND"),
        grace=Duration(grace) if grace else None,
        tier=_number(facts.get("PriorityTier", "1")),
        qos=facts["QoS"] if facts.get("QoS", "N/A") != "N/A" else "",
    )


def qos_argv() -> list[str]:
    return ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,MaxWall,MaxJobsPU,MaxSubmitPU"]


def qos_rows_from(answer: str) -> list[QosRow]:
    rows = []
    for line in answer.splitlines():
        fields = line.strip().split("|")
        if len(fields) == 4 and fields[0]:
            name, limit, running, submitted = fields
            rows.append(
                QosRow(
                    name=name,
                    time_limit=time_limit_from(limit),
                    running=_number(running) or None,
                    submitted=_number(submitted) or None,
                )
            )
    return rows


def _number(text: str) -> int:
    match = re.match(r"\d+", text)
    return int(match[0]) if match else 0
