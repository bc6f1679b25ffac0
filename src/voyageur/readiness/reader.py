"""One walk through a Python file, its statements in order: what names stand for is known where they are used."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from voyageur.readiness.bindings import Bindings
from voyageur.readiness.conditions import catches, guard_of, is_main, leaves, never
from voyageur.readiness.expressions import FIELDS
from voyageur.readiness.libraries import LIBRARIES
from voyageur.readiness.model import MAIN, Guard, Kind, Module, Sighting
from voyageur.readiness.names import OWN

_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_HEADS = {kind: tuple(name for name in fields if name not in _BLOCKS) for kind, fields in FIELDS.items()}
_TRY = Guard(words=("try",))
_PERHAPS = Guard(words=("perhaps",))
_HARMLESS = LIBRARIES | {"staticmethod", "classmethod", "property"}
_DEEPEST = 150  # blocks in blocks; Python itself allows 100 by indentation

_Functions = ast.FunctionDef | ast.AsyncFunctionDef


class Reader(Bindings):
    def __init__(self) -> None:
        super().__init__()
        self._depth = 0
        self._functions = 0
        self._statements: dict[type[ast.stmt], Callable[..., None]] = {
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.If: self._if,
            ast.Try: self._try,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.For: self._for,
            ast.AsyncFor: self._for,
        }

    def read(self, tree: ast.Module) -> None:
        self._foresee(tree.body)
        self._block(tree.body)

    def _foresee(self, body: Sequence[ast.stmt]) -> None:
        """What a module calls its own is its own also in the lines above."""
        for statement in body:
            if isinstance(statement, _Functions | ast.ClassDef):
                self._scopes.bind(statement.name, OWN)
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                self._bind_import(statement)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _block(self, body: Sequence[ast.stmt]) -> None:
        """After `if not show: return`, the rest of the block stands under `show`."""
        before = self._guards
        self._depth += 1
        for statement in body if self._depth < _DEEPEST else ():
            handler = self._statements.get(type(statement))
            if handler is not None:
                handler(statement)
            else:
                self._plain(statement)
            if isinstance(statement, ast.If) and not statement.orelse and leaves(statement.body):
                self._guards = (*self._guards, guard_of(statement.test, self._scopes, positive=False))
        self._depth -= 1
        self._guards = before

    def _under(self, guard: Guard | None, body: Sequence[ast.stmt]) -> None:
        before = self._guards
        if guard:
            self._guards = (*before, guard)
        self._block(body)
        self._guards = before

    def _plain(self, statement: ast.stmt) -> None:
        kind = type(statement)
        for name in _HEADS[kind]:
            self._field(getattr(statement, name, None))
        for name in FIELDS[kind]:
            if name in _BLOCKS and (body := getattr(statement, name)):
                self._parts(body)

    def _parts(self, body: list[ast.AST]) -> None:
        """Statements, or the cases and handlers that hold them."""
        if isinstance(body[0], ast.stmt):
            self._block([part for part in body if isinstance(part, ast.stmt)])
            return
        for part in body:
            for name in _HEADS[type(part)]:
                self._field(getattr(part, name, None))
            self._block(getattr(part, "body", ()))

    def _field(self, value: object) -> None:
        if isinstance(value, list):
            for item in value:
                self._field(item)
        elif isinstance(value, ast.AST):
            self._expression(value)

    def _function(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = statement.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for argument in [*every, arguments.vararg, arguments.kwarg]:
            if argument is not None and argument.annotation is not None:
                self._expression(argument.annotation)
        for decorator in statement.decorator_list:
            self._expression(decorator)
        self._defaults(arguments)
        more = [one for one in (arguments.vararg, arguments.kwarg) if one]
        self._inner(statement, [argument.arg for argument in [*every, *more]])

    def _defaults(self, arguments: ast.arguments) -> None:
        named = [*arguments.posonlyargs, *arguments.args]
        pairs = [
            *zip(reversed(named), reversed(arguments.defaults), strict=False),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        for _, default in pairs:
            if default is not None:
                self._expression(default)
                self._path(default, "a default value")

    def _class(self, statement: ast.ClassDef) -> None:
        for node in [*statement.decorator_list, *statement.bases, *(word.value for word in statement.keywords)]:
            self._expression(node)
        for base in statement.bases:
            self._surely(statement.name, base, self._scopes.dotted(base))
        self._inner(statement, [])

    def _inner(self, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, own: list[str]) -> None:
        """The outermost function or class is the owner of all in it."""
        owner, guards, functions = self._owner, self._guards, self._functions
        if statement.decorator_list:  # whoever decorates it may call it
            self.used.setdefault(owner, set()).add(statement.name)
        self._owner = owner if owner not in ("", MAIN) else statement.name
        self._scopes.bind(statement.name, OWN)
        self._scopes.enter(own)
        if not isinstance(statement, ast.ClassDef):
            self._guards = self._around(statement)
            self._functions += 1
        self._block(statement.body)
        self._scopes.leave()
        self._owner, self._guards, self._functions = owner, guards, functions

    def _around(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Guard, ...]:
        """A function in a function, or below a decorator of the project's own, may be called or not."""
        decorators = [self._scopes.dotted(each) for each in function.decorator_list]
        strange = [name for name in decorators if name.partition(".")[0].partition("(")[0] not in _HARMLESS]
        return (_PERHAPS,) if self._functions or strange else ()

    def _if(self, statement: ast.If) -> None:
        """A chain of `elif`s is one `if` in the next: walked, not climbed into."""
        before = self._guards
        while True:
            self._expression(statement.test)
            if is_main(statement.test):
                self._main(statement.body)
            elif not never(statement.test):
                self._under(guard_of(statement.test, self._scopes), statement.body)
            rest = statement.orelse
            if rest and not is_main(statement.test):
                self._guards = (*self._guards, guard_of(statement.test, self._scopes, positive=False))
            if len(rest) == 1 and isinstance(rest[0], ast.If):
                statement = rest[0]
                continue
            self._block(rest)
            break
        self._guards = before

    def _main(self, body: Sequence[ast.stmt]) -> None:
        owner = self._owner
        self._owner = owner or MAIN
        self._block(body)
        self._owner = owner

    def _try(self, statement: ast.Try) -> None:
        self._under(_TRY if catches(statement.handlers) else None, statement.body)
        for handler in statement.handlers:
            if handler.type:
                self._expression(handler.type)
            self._under(_TRY, handler.body)
        self._block(statement.orelse)
        self._block(statement.finalbody)

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        for item in statement.items:
            self._expression(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, item.context_expr)
        self._block(statement.body)

    def _for(self, statement: ast.For | ast.AsyncFor) -> None:
        self._expression(statement.iter)
        self._forget(statement.target)
        self._block(statement.body)
        self._block(statement.orelse)


def module_of(file: str, tree: ast.Module, language: str, silenced: dict[int, tuple[str, ...]]) -> Module:
    reader = Reader()
    reader.read(tree)
    surely = {owner: frozenset(names) for owner, names in reader.surely_used.items()}
    return Module(
        file=file,
        language=language,
        sightings=tuple(_once(reader.sightings)),
        imports=tuple(reader.imports),
        options=tuple(reader.options),
        used={owner: frozenset(names) for owner, names in reader.used.items()},
        surely_used=surely,
        silenced=silenced,
    )


def _once(sightings: list[Sighting]) -> Iterator[Sighting]:
    """A constant that three calls use is one path, and so is what one of them makes longer."""
    seen = set()
    for sighting in sightings:
        mark = (sighting.kind, sighting.line, sighting.name if sighting.kind is not Kind.PATH else sighting.text[:8])
        if mark not in seen:
            seen.add(mark)
            yield sighting
