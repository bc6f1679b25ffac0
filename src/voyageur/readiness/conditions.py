"""What the tests of `if` say: which words they ask for, and whether the lines below them are ever reached."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from voyageur.readiness.model import Guard
from voyageur.readiness.names import Scopes

_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
_MOST_WORDS = 40


def guard_of(test: ast.expr, scopes: Scopes, positive: bool = True) -> Guard:
    simple, turned = test, positive
    while isinstance(simple, ast.UnaryOp) and isinstance(simple.op, ast.Not):
        simple, turned = simple.operand, not turned
    option = simple.attr if isinstance(simple, ast.Attribute) else simple.id if isinstance(simple, ast.Name) else ""
    return Guard(words=_words(test), option=option, positive=turned)


def _words(test: ast.expr) -> tuple[str, ...]:
    """Names, attributes and short texts, in small letters."""
    found: list[str] = []
    for node in ast.walk(test):
        if isinstance(node, ast.Name):
            found.append(node.id)
        elif isinstance(node, ast.Attribute):
            found.append(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value[:40])
        if len(found) >= _MOST_WORDS:
            break
    return tuple(word.lower() for word in found)


def is_main(test: ast.expr) -> bool:
    """`__name__ == "__main__"`: no condition at all for the program that is started."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def never(test: ast.expr) -> bool:
    """`if False`, `if 0`, `if TYPE_CHECKING`"""
    if isinstance(test, ast.Constant):
        return not test.value
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"


def catches(handlers: Sequence[ast.ExceptHandler]) -> bool:
    """Whether what goes wrong is taken for no harm: not where only ^C is caught, or all is raised again."""
    return any(not _is_exit(handler.type) and not _raises(handler.body) for handler in handlers)


def _is_exit(kind: ast.expr | None) -> bool:
    names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(isinstance(name, ast.Name) and name.id in ("KeyboardInterrupt", "SystemExit") for name in names)


def _raises(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and (isinstance(body[-1], ast.Raise) or (leaves(body[-1:]) and isinstance(body[-1], ast.Expr)))


def leaves(body: Sequence[ast.stmt]) -> bool:
    last = body[-1] if body else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return Scopes().dotted(last.value.func) in _EXITS
    return isinstance(last, _LEAVING)
