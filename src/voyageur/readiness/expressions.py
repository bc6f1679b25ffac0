"""What expressions do: which names they use, which calls they make."""

from __future__ import annotations

import ast

from voyageur.readiness.calls import is_talk, may_matter, sightings_of
from voyageur.readiness.context import Context
from voyageur.readiness.libraries import LIBRARIES, RANK_VARIABLES
from voyageur.readiness.model import Guard, Import, Kind, Option, Sighting
from voyageur.readiness.names import Scopes
from voyageur.readiness.opening import path_sightings
from voyageur.readiness.options import option_of

_NO_EXPRESSIONS = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "conversion", "is_async"})
FIELDS = {
    kind: tuple(name for name in kind._fields if name not in _NO_EXPRESSIONS)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_IMPORTERS = frozenset({"importlib.import_module", "__import__", "runpy.run_module"})


class Expressions:
    """What is seen on the walk; `_guards` and `_owner` say where it is."""

    def __init__(self) -> None:
        self.sightings: list[Sighting] = []
        self.imports: list[Import] = []
        self.options: list[Option] = []
        self.used: dict[str, set[str]] = {"": set()}
        self.surely_used: dict[str, set[str]] = {"": set()}
        self._scopes = Scopes()
        self._guards: tuple[Guard, ...] = ()
        self._owner = ""

    def _expression(self, root: ast.AST) -> None:
        stack: list[ast.AST] = [root]
        pop, push, extend = stack.pop, stack.append, stack.extend
        used = self.used.setdefault(self._owner, set())
        while stack:
            node = pop()
            kind = type(node)
            if kind is ast.Name:
                used.add(node.id)  # type: ignore[attr-defined]  # `kind is` says what node is; mypy does not follow
            elif kind is ast.Constant:
                if node.value in RANK_VARIABLES:  # type: ignore[attr-defined]
                    self._note(Kind.SPREADS, node, node.value)  # type: ignore[attr-defined]
            elif kind is ast.Attribute:
                inner = node.value  # type: ignore[attr-defined]
                if inner.__class__ is not ast.Name or not self._is_library(inner.id):
                    used.add(node.attr)  # type: ignore[attr-defined]
                push(inner)
            else:
                if kind is ast.Call:
                    self._call(node)  # type: ignore[arg-type]
                for name in FIELDS.get(kind, ()):  # also None, and the names that patterns hold
                    value = getattr(node, name)
                    if value.__class__ is list:
                        extend(value)
                    elif value is not None:
                        push(value)

    def _surely(self, owner: str, node: ast.expr, whole: str) -> None:
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name and whole.partition(".")[0] not in LIBRARIES:
            self.surely_used.setdefault(owner, set()).add(name)

    def _is_library(self, name: str) -> bool:
        """`cv2.imshow` names no function of the project that is called `imshow`."""
        return self._scopes.meaning(name).partition(".")[0] in LIBRARIES

    def _call(self, node: ast.Call) -> None:
        name = self._scopes.dotted(node.func)
        if not self._guards:
            self._surely(self._owner, node.func, name)
        context = self._context(node)
        if name.endswith((".add_argument", ".option")) and (option := option_of(name, node, context)):
            self.options.append(option)
        if may_matter(name, node):
            self.sightings.extend(sightings_of(name, node, context))
        if name in _IMPORTERS and node.args and (literal := context.literal(node.args[0])):
            self.imports.append(Import(module=literal[0].lstrip("."), line=node.lineno))
        if not is_talk(name):
            self.sightings.extend(path_sightings(name, node, context))

    def _path(self, node: ast.expr, name: str) -> None:
        self.sightings.extend(self._context(node).path(node, name))

    def _note(self, kind: Kind, node: ast.AST, name: str, text: str = "") -> None:
        line = getattr(node, "lineno", 1)
        sighting = Sighting(kind=kind, line=line, name=name, text=text, guards=self._guards, owner=self._owner)
        self.sightings.append(sighting)

    def _context(self, node: ast.AST) -> Context:
        return Context(self._scopes, getattr(node, "lineno", 1), self._guards, self._owner)
