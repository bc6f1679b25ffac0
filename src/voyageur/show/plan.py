"""A plan as people read it: every decision with its reason, then the script."""

from __future__ import annotations

import shlex
from typing import Any

from voyageur.errors import one_line
from voyageur.plan import Choice, Plan
from voyageur.show.style import paint
from voyageur.snapshot import Package


def plan_text(plan: Plan, script: str, colours: bool) -> str:
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
            ("time", shape.time),
            ("partition", shape.partition),
            ("account", plan.account),
            ("launch", plan.launch),
            ("warning", plan.warn),
            ("requeue", plan.requeue),
            ("modules", plan.modules),
            ("environment", plan.activate),
        ),
        (
            "code",
            f"{plan.code.files} file{'' if plan.code.files == 1 else 's'}, {plan.code.size}",
            "`voy plan --files` lists them",
        ),
        ("run's folder", str(plan.folders.run), ""),
        ("checkpoints", str(plan.folders.checkpoints), ""),
    ]
    lines = [_row(name, value, because, colours) for name, value, because in rows]
    lines += [paint(f"note: {note}", "yellow", colours) for note in plan.notes]
    title = paint("the script that would be submitted (nothing was written):", "dim", colours)
    return "\n".join([*lines, "", title, "", script])


def _choices(*choices: tuple[str, Choice[Any]]) -> list[tuple[str, str, str]]:
    return [
        (name, _value(choice.value), choice.because) for name, choice in choices if choice.value not in (None, (), 0)
    ]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _row(name: str, value: str, because: str, colours: bool) -> str:
    shown = one_line(value)
    reason = paint(f"  {one_line(because)}", "dim", colours) if because else ""
    return f"{name:<14} {paint(shown, 'bold', colours)}{' ' * max(0, 24 - len(shown))}{reason}".rstrip()


def files_text(package: Package, colours: bool) -> str:
    selection = package.selection
    lines = [one_line(member.name) for member in package.members]
    head = f"{len(lines)} files travel, {package.size} ({selection.by})"
    out = [f"  {one_line(item.name)}  {paint(item.because, 'dim', colours)}" for item in selection.left_out]
    tail = ["", f"left out: {len(out)}", *out] if out else []
    return "\n".join([paint(head, "bold", colours), *(f"  {line}" for line in lines), *tail])
