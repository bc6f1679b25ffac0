"""The options of a program's own command line, as argparse and click are told of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from voyageur.readiness.model import Option

if TYPE_CHECKING:
    from voyageur.readiness.context import Context

_SWITCHES = frozenset({"store_true", "store_false", "store_const", "count"})


def option_of(name: str, node: ast.Call, context: Context) -> Option | None:
    texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    flags = tuple(text for text in texts if text.startswith("-"))
    words = {word.arg: word.value for word in node.keywords if word.arg}
    if not texts or (name.endswith(".option") and not flags):
        return None
    is_switch = _is_switch(words)
    return Option(
        name=_name(words, flags, texts),
        flags=flags,
        line=_line(words, node),
        default=_default(words.get("default"), is_switch, words.get("action"), context),
        is_switch=is_switch,
    )


def _default(
    value: ast.expr | None, is_switch: bool, action: ast.expr | None, context: Context
) -> str | int | bool | None:
    if known := context.literal(value):
        return known[0]
    if isinstance(value, ast.Constant) and isinstance(value.value, int | bool):
        return value.value
    return _is_action(action, "store_false") if is_switch and value is None else None


def _is_switch(words: dict[str, ast.expr]) -> bool:
    action, flag = words.get("action"), words.get("is_flag")
    if isinstance(flag, ast.Constant):
        return bool(flag.value)
    return _is_action(action, *_SWITCHES)


def _is_action(node: ast.expr | None, *actions: str) -> bool:
    return isinstance(node, ast.Constant) and node.value in actions


def _name(words: dict[str, ast.expr], flags: tuple[str, ...], texts: list[str]) -> str:
    """As the program calls its value: `--num-workers` becomes `num_workers`."""
    destination = words.get("dest")
    if isinstance(destination, ast.Constant) and isinstance(destination.value, str):
        return destination.value
    long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else texts[0])
    return long.lstrip("-").partition("/")[0].replace("-", "_")


def _line(words: dict[str, ast.expr], node: ast.Call) -> int:
    return words["default"].lineno if "default" in words else node.lineno
