"""What statements bind: imports and assignments say what names stand for in the lines below."""

from __future__ import annotations

import ast

from voyageur.readiness.expressions import Expressions
from voyageur.readiness.libraries import PRECISION_SETTINGS, SPREADING, SPREADING_ENDS
from voyageur.readiness.model import Import, Kind
from voyageur.readiness.names import OWN


class Bindings(Expressions):
    def _import(self, statement: ast.Import) -> None:
        for alias in statement.names:
            self.imports.append(Import(module=alias.name, line=statement.lineno))
            self._imported(alias.name, statement)
        self._bind_import(statement)

    def _import_from(self, statement: ast.ImportFrom) -> None:
        names = tuple(alias.name for alias in statement.names)
        module = statement.module or ""
        self.imports.append(Import(module=module, line=statement.lineno, level=statement.level, names=names))
        for name in names:
            self._imported(f"{module}.{name}", statement)
        self._bind_import(statement)

    def _imported(self, name: str, statement: ast.stmt) -> None:
        if name.startswith(SPREADING) or name.rpartition(".")[2] in SPREADING_ENDS:
            self._note(Kind.SPREADS, statement, name)

    def _bind_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self._scopes.bind(alias.asname or whole, whole)
            else:
                whole = f"{statement.module}.{alias.name}" if not statement.level else f"{OWN}.{alias.name}"
                self._scopes.bind(alias.asname or alias.name, whole)

    def _assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
        value = statement.value
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if isinstance(statement, ast.AnnAssign):
            self._expression(statement.annotation)
        if value is None:
            return
        self._expression(value)
        for target in targets:
            self._bind(target, value)
            if not isinstance(target, ast.Name):
                self._expression(target)
                self._setting(target, value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        meaning = self._scopes.dotted(value) if isinstance(value, ast.Call | ast.Attribute | ast.Name) else OWN
        meaning = OWN if meaning.startswith("?") else meaning
        if isinstance(target, ast.Name):
            self._scopes.bind(target.id, meaning)
            self._keep_text(target.id, value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            self._scopes.bind_of_self(target.attr, meaning)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                if isinstance(part, ast.Name):
                    self._scopes.bind(part.id, OWN if meaning == OWN else f"{meaning}[]")

    def _keep_text(self, name: str, value: ast.expr) -> None:
        """`DATA = "/home/me/data"` in a class is what a dataclass starts with; elsewhere its uses tell."""
        known = self._context(value).literal(value)
        if known:
            self._scopes.keep_text(name, *known)
            if name.isupper() or self._owner:
                self._path(value, name)

    def _setting(self, target: ast.expr, value: ast.expr) -> None:
        """`os.environ["X"] = "1"`, `torch.backends.cuda.matmul.allow_tf32 = True`"""
        if isinstance(target, ast.Subscript) and self._scopes.dotted(target.value) == "os.environ":
            name, text = target.slice, value
            if isinstance(name, ast.Constant) and isinstance(text, ast.Constant):
                self._note(Kind.SETS, target, str(name.value), text=str(text.value))

        elif isinstance(target, ast.Attribute) and target.attr in PRECISION_SETTINGS:
            self._note(Kind.PRECISION, target, target.attr)

    def _forget(self, target: ast.expr) -> None:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(part, ast.Name):
                self._scopes.bind(part.id, OWN)
            elif isinstance(part, ast.Tuple):
                self._forget(part)
