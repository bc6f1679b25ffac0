"""Where a call stands, and what can be told there of its arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from voyageur.readiness.model import Guard, Kind, Sighting
from voyageur.readiness.names import Scopes
from voyageur.readiness.paths import exists_only_here

_FOLDERS = frozenset({"os.path.join", "os.path.expanduser", "os.path.abspath", "os.path.realpath", "str", "os.fspath"})
PATH_TYPES = frozenset({"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"})
_DEEPEST = 20


class Context(NamedTuple):
    scopes: Scopes
    line: int
    guards: tuple[Guard, ...]
    owner: str

    def seen(
        self,
        kind: Kind,
        name: str,
        *,
        text: str = "",
        family: str = "",
        option: str = "",
        number: int | None = None,
        reads: bool = False,
        line: int = 0,
    ) -> Sighting:
        return Sighting(
            kind=kind, line=line or self.line, name=name, text=text, family=family, option=option, number=number,
            reads=reads, guards=self.guards, owner=self.owner,
        )  # fmt: skip

    def literal(self, node: ast.expr | None, depth: int = 0) -> tuple[str, int] | None:
        """The text that an expression begins with, and the line where somebody wrote it."""
        if node is None or depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return (node.value, node.lineno) if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.scopes.text(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Div):
            return self._joined(node, depth)
        if isinstance(node, ast.JoinedStr) and node.values:
            first = node.values[0]
            inner = first.value if isinstance(first, ast.FormattedValue) else first
            return self.literal(inner, depth + 1)
        if isinstance(node, ast.Call) and self.scopes.dotted(node.func) == "pathlib.Path.home":
            return "~", node.lineno
        if isinstance(node, ast.Call) and node.args and self.scopes.dotted(node.func) in _FOLDERS | PATH_TYPES:
            return self.literal(node.args[0], depth + 1)
        return None

    def _joined(self, node: ast.BinOp, depth: int) -> tuple[str, int] | None:
        left = self.literal(node.left, depth + 1)
        right = node.right
        if left and isinstance(right, ast.Constant) and isinstance(right.value, str):
            between = "/" if isinstance(node.op, ast.Div) else ""
            return left[0] + between + right.value, left[1]
        return left

    def path(self, node: ast.expr, name: str, *, reads: bool = False) -> Iterator[Sighting]:
        known = self.literal(node)
        if known and exists_only_here(known[0]):
            yield self.seen(Kind.PATH, name, text=known[0], line=known[1], reads=reads)
