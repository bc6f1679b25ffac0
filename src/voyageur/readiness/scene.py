"""All that a judge knows: the wish, the site, the plan, and what was seen in the files that the command reaches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from voyageur.findings import Finding, Level
from voyageur.plan import Plan
from voyageur.readiness.model import Kind, Module, Option, Sighting
from voyageur.readiness.reach import Reached
from voyageur.rules.model import Known, Rule
from voyageur.rules.project import at
from voyageur.site import Partition, Site
from voyageur.spec import Spec

EXISTS_WORDS = frozenset({"exists", "isdir", "isfile", "is_dir", "is_file", "listdir", "lexists", "-f", "-d", "-e"})


class Scene:
    def __init__(
        self, root: Path, files: tuple[str, ...], spec: Spec, site: Site, plan: Plan, known: Known, reached: Reached
    ) -> None:
        self.root = root
        self.files = files
        self.spec = spec
        self.site = site
        self.plan = plan
        self.known = known
        self.reached = reached

    # ── what was seen ────────────────────────────────────────────────────────────────────────────────────────────────

    def seen(self, *kinds: Kind) -> Iterator[tuple[Module, Sighting]]:
        """In order of the files; without what no line calls, and what stands below a switch that is off."""
        for module in self.reached.modules:
            for sighting in module.sightings:
                if sighting.kind in kinds and self._is_called(sighting) and self._is_switched_on(sighting):
                    yield module, sighting

    def _is_called(self, sighting: Sighting) -> bool:
        return not sighting.owner or sighting.owner in self._used

    @cached_property
    def _used(self) -> frozenset[str]:
        """Also by the name of a command that pyproject.toml makes of it."""
        return frozenset({"main"}).union(*(module.used for module in self.reached.modules))

    def _is_switched_on(self, sighting: Sighting) -> bool:
        return all(self._value(guard.option) in (None, guard.positive) for guard in sighting.guards)

    def _value(self, name: str) -> bool | None:
        option = self.options.get(name)
        if option is None:
            return None
        given = self.given(option)
        if given is None:
            unsaid = option.default is None and bool(option.flags)
            return False if unsaid else None if option.default is None else bool(option.default)
        return (not option.default) if option.is_switch else bool(given)

    @cached_property
    def options(self) -> dict[str, Option]:
        return {option.name: option for module in self.reached.modules for option in module.options}

    def given(self, option: Option) -> str | None:
        """What the command says for an option; a text also for a switch."""
        for place, word in enumerate(self.spec.command):
            flag, equals, value = word.partition("=")
            if flag in option.flags:
                after = self.spec.command[place + 1 : place + 2]
                return value if equals else "yes" if option.is_switch or not after else after[0]
        return None

    def value_of(self, name: str) -> str | int | bool | None:
        """Of an option: as the command gives it, else its default."""
        option = self.options.get(name)
        if option is None:
            return None
        given = self.given(option)
        return option.default if given is None else given

    def variable(self, name: str) -> str | None:
        """In the job's environment, or as the program or its script sets it."""
        if name in self.spec.env.variables:
            return self.spec.env.variables[name]
        exports = {export.name: export.value for export in self.plan.exports}
        return exports.get(name, self._set.get(name))

    @cached_property
    def _set(self) -> dict[str, str]:
        return {sighting.name: sighting.text for _, sighting in self.seen(Kind.SETS)}

    @cached_property
    def imported(self) -> dict[str, tuple[str, int]]:
        """Libraries by their first names, and where; without the project's own and Python's."""
        own = {part.removesuffix(".py") for file in self.files for part in file.split("/")}
        found: dict[str, tuple[str, int]] = {}
        for module in self.reached.modules:
            for each in module.imports:
                name = each.module.partition(".")[0]
                if not each.level and name not in own and name not in sys.stdlib_module_names and name != "__main__":
                    found.setdefault(name, (module.file, each.line))
        return found

    @property
    def program(self) -> Module | None:
        """The first Python program that the command reaches, where that can be told."""
        python = (module for module in self.reached.modules if module.language in ("python", "notebook"))
        return next(python, None) if self.reached.entries else None

    @property
    def starts_others(self) -> bool:
        """Programs that cannot be looked into."""
        return any(sighting.name.startswith(("subprocess.", "os.")) for _, sighting in self.seen(Kind.STARTS))

    # ── where it will run ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_here(self) -> bool:
        """Whether the job sees the file systems of this machine."""
        marks = self.site.fingerprint.variables
        told = self.known.environment
        return (
            self.known.here
            or self.site.name in ("local", "slurm")
            or bool(marks and all(told.get(name) == value for name, value in marks.items()))
        )

    @property
    def partition(self) -> Partition | None:
        return next((one for one in self.site.partitions if one.name == self.plan.queue.place), None)

    # ── findings ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def finding(
        self,
        level: Level,
        rule: Rule,
        module: Module,
        sighting: Sighting,
        what: str,
        fix: str | None = None,
        because: str | None = None,
    ) -> Finding:
        """An error only where the program is surely reached, and nobody catches what happens."""
        caught = any(guard.words == ("try",) for guard in sighting.guards)
        if level is Level.ERROR and (caught or not self.reached.entries):
            level = Level.WARNING
        return at(level, rule, because).broken(what, fix=fix, file=module.file, line=sighting.line)

    def is_in_project(self, path: str) -> bool:
        root = str(self.root)
        return path == root or path.startswith(f"{root}{os.sep}")


def guard_words(sighting: Sighting) -> frozenset[str]:
    return frozenset(word for guard in sighting.guards for word in guard.words)


def short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
