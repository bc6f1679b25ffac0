"""From the command to the files that it starts, and from those to all that they import of the project's own."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from voyageur.readiness.model import Import, Kind, Module, Sighting
from voyageur.readiness.programs import deeds
from voyageur.readiness.readers import Readers
from voyageur.readiness.shell import commands
from voyageur.readiness.sources import language_of

_ASIDE = ("test", "tests", "docs", "doc", "examples", "example", "notebooks", "conftest.py", "setup.py", "noxfile.py")
_SOME_CODE = (".py", ".sh", ".ipynb")


class Reached(Struct, frozen=True, kw_only=True):
    """`entries`: what the command starts. Where none is found, all of the project is looked at, and blamed less.

    `started`: those files that run as programs; `called`: functions that an installed command calls.
    """

    modules: tuple[Module, ...]
    entries: tuple[str, ...]
    started: frozenset[str]
    called: frozenset[str]


def reach(root: Path, files: Sequence[str], command: Sequence[str], start_in: str) -> Reached:
    search = _Search(root, files, start_in)
    entries = search.entries(command)
    if entries:
        search.follow(entries)
    else:
        search.follow([file for file in files if file.endswith(".py") and not is_aside(file)])
    modules = tuple(search.read.values())
    started = frozenset({*search.started, *(entries or search.read)})
    return Reached(modules=modules, entries=tuple(entries), started=started, called=frozenset(search.called))


def is_aside(file: str) -> bool:
    """Tests, documentation, examples: no job runs them unless its command says so."""
    parts = file.lower().split("/")
    return any(part in _ASIDE or part.startswith("test_") for part in parts)


class _Search:
    def __init__(self, root: Path, files: Sequence[str], start_in: str) -> None:
        self.root = root
        self.files = frozenset(files)
        self.start_in = start_in
        self.read: dict[str, Module] = {}
        self.started: set[str] = set()
        self.called: set[str] = set()
        self._packages: dict[str, list[str]] = {}
        self._roots = self._source_roots(files)

    # ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────

    def entries(self, command: Sequence[str]) -> list[str]:
        words = [part for word in command for part in (word, word.partition("=")[2]) if part]
        named = [file for word in words if (file := self._file(word)) and self._is_program(file)]
        modules = [file for word in _modules_in(command) for file in self._resolve(word, "")]
        scripts = self._installed(command[0]) if command and not named else []
        inner = self._inner(command)
        return list(dict.fromkeys([*named, *modules, *scripts, *inner]))

    def _inner(self, command: Sequence[str]) -> Iterator[str]:
        """`bash -c "python train.py"`"""
        for word, after in pairwise(command):
            if word.startswith("-") and word.endswith("c") and os.path.basename(command[0]) in ("bash", "sh"):
                for _, words, _ in commands(after):
                    yield from self.entries(words)

    def _file(self, word: str) -> str | None:
        """A word of the command as a file that travels, also behind its whole path."""
        if "\0" in word:
            return None
        whole = os.path.join(self.root, self.start_in, word)
        name = os.path.relpath(os.path.normpath(whole), self.root)
        return name if name in self.files else None

    def _is_program(self, file: str) -> bool:
        return file.endswith(_SOME_CODE) or bool(language_of(file) or _shebang(self.root / file))

    def _installed(self, program: str) -> list[str]:
        """`[project.scripts]` of pyproject.toml: the module behind a command of the project's own."""
        try:
            table = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
            scripts = table.get("project", {}).get("scripts", {})
            target = str(scripts.get(os.path.basename(program), ""))
        except (OSError, ValueError, AttributeError):
            return []
        module, _, function = target.partition(":")
        self.called.add(function.partition(".")[0])
        return self._resolve(module, "") if module else []

    # ── imports ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def follow(self, entries: Iterable[str]) -> None:
        """Level by level: what is imported is known when the importer has been read."""
        waiting = list(dict.fromkeys(entries))
        with Readers(self.root) as readers:
            while waiting:
                for module in readers.read(waiting):
                    self.read[module.file] = module
                found = [file for name in waiting for file in self._next(self.read[name])]
                waiting = [file for file in dict.fromkeys(found) if file not in self.read]

    def _next(self, module: Module) -> Iterator[str]:
        for each in module.imports:
            yield from self._imported(each, module.file)
        for sighting in module.sightings:
            if sighting.kind is Kind.STARTS and sighting.text:
                found = self._program(sighting, module.file)
                self.started.update(found)
                yield from found

    def _program(self, sighting: Sighting, starter: str) -> list[str]:
        if sighting.name == "python -m":
            return self._resolve(sighting.text, starter)
        file = self._file(sighting.text) or self._beside(sighting.text, starter)
        return [file] if file else []

    def _beside(self, name: str, starter: str) -> str | None:
        beside = os.path.normpath(os.path.join(os.path.dirname(starter), name))
        return beside if beside in self.files else None

    def _imported(self, each: Import, importer: str) -> Iterator[str]:
        if each.level:
            base = os.path.dirname(importer)
            for _ in range(each.level - 1):
                base = os.path.dirname(base)
            yield from self._below(base, each.module, each.names)
            return
        yield from self._resolve(each.module, importer)
        for name in each.names:
            yield from self._resolve(f"{each.module}.{name}", importer)

    def _below(self, base: str, module: str, names: Iterable[str]) -> Iterator[str]:
        prefix = f"{base}/" if base else ""
        yield from self._at(prefix, module)
        for name in names:
            yield from self._at(prefix, f"{module}.{name}" if module else name)

    def _resolve(self, module: str, importer: str) -> list[str]:
        """`a.b.c` below the first folder that has an `a`; `a.` is all of the package: somebody imports by name."""
        top = module.partition(".")[0]
        beside = f"{os.path.dirname(importer)}/".lstrip("/")
        roots = () if top in sys.stdlib_module_names else self._roots.get(top, ())
        for prefix in dict.fromkeys([beside, *roots]):
            if found := list(self._at(prefix, module)):
                return found
        return []

    def _at(self, prefix: str, module: str) -> Iterator[str]:
        """The module, and the packages that Python runs on the way to it."""
        parts = module.split(".")
        for count in range(1, len(parts) + 1):
            path = prefix + "/".join(parts[:count])
            yield from (name for name in (f"{path}/__init__.py", f"{path}.py") if name in self.files)
        whole = prefix + "/".join(parts)
        if module.endswith("."):
            yield from (name for name in self.files if name.startswith(whole) and name.endswith(".py"))
        elif f"{whole}/__main__.py" in self.files:
            yield f"{whole}/__main__.py"

    def _source_roots(self, files: Sequence[str]) -> dict[str, list[str]]:
        """For each name that can be imported first, the folders that have it; those near the top first."""
        found: dict[str, list[str]] = {}
        for file in sorted(files, key=lambda name: (name.count("/"), name)):
            if file.endswith(".py"):
                parts = file.split("/")
                for depth in range(min(len(parts), 4)):
                    prefix = "".join(f"{part}/" for part in parts[:depth])
                    if prefix and f"{prefix}__init__.py" in self.files:
                        continue
                    top = parts[depth].removesuffix(".py")
                    places = found.setdefault(top, [])
                    if prefix not in places:
                        places.append(prefix)
        return found


def _modules_in(command: Sequence[str]) -> Iterator[str]:
    """`python -m package.train`, also behind a launcher: `torchrun --nproc_per_node 4 -m package.train`"""
    for before, after in pairwise(command):
        if before in ("-m", "--module"):
            yield after
    for deed in deeds(command):
        if deed.name == "python -m":
            yield deed.text


def _shebang(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
