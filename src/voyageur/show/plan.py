"""A plan as people read it: every decision with its reason, then the script."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from typing import Any

from voyageur.errors import one_line
from voyageur.findings import Finding
from voyageur.plan import Cargo, Choice, Plan
from voyageur.runtime.staging.wanted import IMAGE
from voyageur.show.allowance import cost_text, left_text
from voyageur.show.findings import finding_lines, ignored_line
from voyageur.show.style import paint
from voyageur.snapshot import Package
from voyageur.units import counted

_NAMES, _VALUES = 15, 26  # columns of the names, and of the values that fit


def plan_text(
    plan: Plan,
    script: str,
    colours: bool,
    columns: int | None = None,
    findings: Sequence[Finding] = (),
    ignored: Sequence[str] = (),
) -> str:
    """`columns`: how wide the terminal is. In a pipe every decision is one line, however long."""
    shape = plan.shape
    rows = [
        ("command", shlex.join(plan.command), ""),
        ("site", plan.site, ""),
        *_choices(
            ("nodes", shape.nodes),
            ("tasks a node", shape.tasks_per_node),
            ("CPUs a task", shape.cpus_per_task),
            ("memory a node", shape.memory),
            ("GPUs a node", shape.gpus),
            ("GPU", shape.gpu),
            ("disk a node", shape.disk),
            ("time", shape.time),
            *_chain(plan),
            ("partition", plan.queue.partition),
            ("QOS", plan.queue.qos),
            ("constraint", plan.queue.constraint),
            ("account", plan.account),
        ),
        *_money(plan),
        *_choices(
            ("launch", plan.launch),
            ("warning", plan.warn),
            ("requeue", plan.requeue),
            ("modules", plan.modules),
            ("environment", plan.activate),
            *_container(plan),
        ),
        *_environment(plan),
        *(
            (_title(cargo), cargo.stage.value, f"{cargo.stage.because}; {cargo.what}; {cargo.source}")
            for cargo in plan.data
        ),
        *_choices(("results", plan.results)),
        (
            "code",
            f"{plan.code.files} file{'' if plan.code.files == 1 else 's'}, {plan.code.size}",
            "`voy plan --files` lists them",
        ),
        ("run's folder", str(plan.folders.run), ""),
        ("checkpoints", str(plan.folders.checkpoints), ""),
    ]
    lines = [_row(name, value, because, colours, columns) for name, value, because in rows]
    lines += [paint(line, "yellow", colours) for note in plan.notes for line in _note(note, columns)]
    lines += [line for finding in findings for line in finding_lines(finding, colours, columns)]
    lines += ignored_line(ignored, colours)
    title = paint("the script that would be submitted (nothing was written):", "dim", colours)
    return "\n".join([*lines, "", title, "", script])


def _container(plan: Plan) -> list[tuple[str, Choice[Any]]]:
    return [("container", plan.container.image), ("made by", plan.container.runtime)] if plan.container else []


def _title(cargo: Cargo) -> str:
    return "image" if cargo.name == IMAGE else f"data {cargo.name}"


def _money(plan: Plan) -> list[tuple[str, str, str]]:
    rows = [("cost", cost_text(plan.cost), plan.cost.because)] if plan.cost else []
    if plan.left:
        rows.append(("left", *left_text(plan.left, plan.cost)))
    return rows


def _environment(plan: Plan) -> list[tuple[str, str, str]]:
    built = plan.environment.value
    if built is None:
        return []
    packages = f"{counted(len(built.packages), 'package')}"
    return [("environment", f"Python {built.python}, {packages}, {built.size}", plan.environment.because)]


def _choices(*choices: tuple[str, Choice[Any]]) -> list[tuple[str, str, str]]:
    return [
        (name, _value(choice.value), choice.because) for name, choice in choices if choice.value not in (None, (), 0)
    ]


def _chain(plan: Plan) -> list[tuple[str, Choice[Any]]]:
    if plan.chain is None:
        return []
    found: list[tuple[str, Choice[Any]]] = [("pieces", plan.chain.pieces)]
    if plan.chain.pieces.value > 1:
        found.append(("chained by", plan.chain.by))
    return found


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _row(name: str, value: str, because: str, colours: bool, columns: int | None) -> str:
    shown = one_line(value)
    head = f"{name:<{_NAMES}}{paint(shown, 'bold', colours)}"
    if not because:
        return head
    gap = " " * max(2, _VALUES - len(shown))
    if columns is None:
        return f"{head}{gap}{paint(one_line(because), 'dim', colours)}"
    indent = _NAMES + _VALUES if columns >= _NAMES + 2 * _VALUES else _NAMES
    reason = [paint(line, "dim", colours) for line in _wrapped(one_line(because), columns - indent)]
    if indent > _NAMES and len(shown) <= _VALUES - 2:
        head += gap + reason.pop(0)
    return "\n".join([head, *(" " * indent + line for line in reason)])


def _wrapped(text: str, columns: int) -> list[str]:
    return textwrap.wrap(text, max(20, columns), break_long_words=False, break_on_hyphens=False) or [""]


def _note(note: str, columns: int | None) -> list[str]:
    first, *rest = _wrapped(one_line(note), columns - len("note: ")) if columns else [one_line(note)]
    return [f"note: {first}", *(" " * len("note: ") + line for line in rest)]


def files_text(package: Package, colours: bool) -> str:
    selection = package.selection
    lines = [one_line(member.name) for member in package.members]
    head = f"{len(lines)} files travel, {package.size} ({selection.by})"
    out = [f"  {one_line(item.name)}  {paint(item.because, 'dim', colours)}" for item in selection.left_out]
    tail = ["", f"left out: {len(out)}", *out] if out else []
    notes = [paint(f"note: {one_line(note)}", "yellow", colours) for note in selection.notes]
    if notes:
        notes.insert(0, "")
    return "\n".join([paint(head, "bold", colours), *(f"  {line}" for line in lines), *tail, *notes])
