"""sinfo and scontrol show config: what the cluster is."""

from __future__ import annotations

import re

from msgspec import Struct

from voyageur.units import Duration, Size, UnitError


class NodeGroup(Struct, frozen=True, kw_only=True):
    """Nodes of one partition that are alike, as sinfo lists them."""

    partition: str
    default: bool
    time_limit: Duration | None
    nodes: int
    cpus: int
    memory: Size
    gpus: dict[str, int]
    state: str


def nodes_argv() -> list[str]:
    return ["sinfo", "--noheader", "--exact", "--format=%P|%l|%D|%c|%m|%G|%T"]


def node_groups(answer: str) -> list[NodeGroup]:
    groups = []
    for line in answer.splitlines():
        fields = line.strip().split("|")
        if len(fields) == 7:
            name, limit, count, cpus, memory, resources, state = fields
            groups.append(
                NodeGroup(
                    partition=name.rstrip("*"),
                    default=name.endswith("*"),
                    nodes=_number(count),
                    time_limit=time_limit_from(limit),
                    cpus=_number(cpus),
                    state=state.rstrip("*"),
                    memory=Size.of_mebibytes(_number(memory)),
                    gpus=gpus_from(resources),
                )
            )
    return groups


def gpus_from(resources: str) -> dict[str, int]:
    """`gpu:a100:4(S:0-1),shard:8` -> {"a100": 4}; a GPU without a type is counted under ""."""
    found: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", resources).split(","):
        if match := re.fullmatch(r"gpu(?::([^:]+))?:(\d+)", item.strip()):
            found[match[1] or ""] = found.get(match[1] or "", 0) + int(match[2])
    return found


def time_limit_from(text: str) -> Duration | None:
    try:
        return Duration.parse(text)
    except UnitError:
        return None


def _number(text: str) -> int:
    match = re.match(r"\d+", text)
    return int(match[0]) if match else 0


def config_argv() -> list[str]:
    return ["scontrol", "show", "config"]


def config_from(answer: str) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in answer.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}
