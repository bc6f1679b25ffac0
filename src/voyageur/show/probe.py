"""A profile beside what its cluster says."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from voyageur.errors import one_line
from voyageur.show.style import paint, table
from voyageur.site import Gpu, Partition
from voyageur.site.differences import Difference
from voyageur.site.seen import NodeLook, Seen
from voyageur.units import Size


def seen_lines(seen: Seen, unknown: Mapping[str, str]) -> list[str]:
    """What is there, in a few lines; and what did not answer."""
    rows = [
        ("cluster", f"{seen.cluster}, Slurm {seen.version}" if seen.cluster else ""),
        ("partitions", ", ".join(partition.name for partition in seen.partitions)),
        ("nodes", "; ".join(_kind(kind.nodes, kind.cpus, str(kind.memory), kind.gpus) for kind in seen.kinds)),
        ("QOS", ", ".join(row.name for row in seen.qos)),
        ("modules", seen.system or ""),
        ("node", _node(seen)),
    ]
    lines = [f"{name:<12}{one_line(value)}" for name, value in rows if value]
    return [*lines, *(f"{what:<12}unknown: {one_line(why)}" for what, why in unknown.items())]


def _kind(nodes: int, cpus: int, memory: str, gpus: Mapping[str, int]) -> str:
    cards = ", ".join(f"{count} {name or 'GPU'}" for name, count in gpus.items())
    return f"{nodes} of {cpus} CPUs and {memory}{f' with {cards}' if cards else ''}"


def _node(seen: Seen) -> str:
    if (node := seen.node) is None:
        return ""
    place = f"${node.variable}" if node.variable else node.path or "no folder of its own"
    pythons = f", Python {' '.join(node.pythons)}" if node.pythons else ""
    containers = f", {' '.join(node.containers)}" if node.containers else ""
    return (
        f"{node.host}: {place} ({node.medium.value}, {node.size or 'size unknown'}), internet {node.internet.value}"
        f"{pythons}{containers}, {node.gpus} GPU devices to see"
    )


def differences_text(found: Sequence[Difference], colours: bool) -> str:
    if not found:
        return "the profile says what the cluster says"
    rows = [
        (
            ".".join(difference.path),
            fact_text(difference.profile),
            fact_text(difference.cluster),
            "" if difference.taken and not difference.because else _remark(difference),
        )
        for difference in found
    ]
    lines = table(("FACT", "PROFILE", "CLUSTER", ""), rows, colours).splitlines()
    painted = [
        line if difference.taken else paint(line, "dim", colours)
        for difference, line in zip(found, lines[1:], strict=True)
    ]
    return "\n".join([lines[0], *painted])


def _remark(difference: Difference) -> str:
    return difference.because if difference.taken else f"not taken over: {difference.because}"


def fact_text(fact: Any) -> str:
    if fact is None or fact in ("", ()):
        return "-"
    if fact is False:
        return "is not there"
    if isinstance(fact, Partition):
        return _kind(fact.nodes, fact.cpus, str(fact.memory), {gpu.name: gpu.per_node for gpu in fact.gpus})
    if isinstance(fact, Gpu):
        return f"{fact.per_node} a node"
    if isinstance(fact, tuple | list):
        return ", ".join(fact_text(item) for item in fact)
    return one_line(str(fact.value if isinstance(fact, enum.Enum) else "yes" if fact is True else fact))


def difference_document(difference: Difference) -> dict[str, Any]:
    return {
        "fact": list(difference.path),
        "profile": _plain(difference.profile),
        "cluster": _plain(difference.cluster),
        "taken": difference.taken,
        "because": difference.because or None,
    }


def _plain(fact: Any) -> Any:
    if fact is None or isinstance(fact, bool | int | float | str):
        return fact
    if isinstance(fact, tuple | list):
        return [_plain(item) for item in fact]
    return fact_text(fact) if not isinstance(fact, Struct) or hasattr(fact, "name") else str(fact)


def look_document(node: NodeLook | None) -> dict[str, Any] | None:
    if node is None:
        return None
    return {name: _bytes(getattr(node, name)) for name in node.__struct_fields__}


def _bytes(fact: Any) -> Any:
    return fact.bytes if isinstance(fact, Size) else fact.value if isinstance(fact, enum.Enum) else _plain(fact)
