"""All that a judge knows: the wish, the site, the plan, and what was seen in the files that the command reaches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from voyageur.findings import Finding, Level
from voyageur.plan import Plan
from voyageur.readiness.listed import listed
from voyageur.readiness.model import MAIN, Guard, Kind, Module, Option, Sighting
from voyageur.readiness.reach import Reached
from voyageur.rules.model import Known, Rule
from voyageur.rules.project import at
from voyageur.site import Partition, Site
from voyageur.spec import Spec

EXISTS_WORDS = frozenset({"exists", "isdir", "isfile", "is_dir", "is_file", "listdir", "lexists", "-f", "-d", "-e"})

RANK_WORDS = listed(
    "rank local_rank global_rank world_rank is_main_process is_master master_process is_global_zero main_process"
    " is_local_main_process process_index"
)
_AROUND_RANKS = listed(
    "args self opt options config cfg trainer dist get_rank accelerator fabric hvd torch distributed"
)


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
                if sighting.kind in kinds and self._is_called(module, sighting) and self._is_switched_on(sighting):
                    yield module, sighting

    def _is_called(self, module: Module, sighting: Sighting, *, surely: bool = False) -> bool:
        if sighting.owner in ("", MAIN):
            return not sighting.owner or module.file in self.reached.started
        return sighting.owner in (self._surely_used if surely else self._used)

    @cached_property
    def _used(self) -> frozenset[str]:
        return self._followed([(module.file, module.used) for module in self.reached.modules])

    @cached_property
    def _surely_used(self) -> frozenset[str]:
        """Without those that are only called under a condition."""
        return self._followed([(module.file, module.surely_used) for module in self.reached.modules])

    def _followed(self, uses: list[tuple[str, dict[str, frozenset[str]]]]) -> frozenset[str]:
        """All names that are come across from the programs' own lines, through the functions and classes they name."""
        inside: dict[str, set[str]] = {}
        names = set(self.reached.called)
        for file, used in uses:
            names |= used.get("", frozenset())
            names |= used.get(MAIN, frozenset()) if file in self.reached.started else frozenset()
            for owner, found in used.items():
                inside.setdefault(owner, set()).update(found)
        waiting = names & inside.keys()
        while waiting:
            more = set().union(*(inside.pop(owner) for owner in waiting))
            names |= more
            waiting = more & inside.keys()
        return frozenset(names)

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
        """An error only where the program surely gets to, and where nobody catches what happens."""
        if level is Level.ERROR and not self._is_sure(module, sighting):
            level = Level.WARNING
        return at(level, rule, because).broken(what, fix=fix, file=module.file, line=sighting.line)

    def _is_sure(self, module: Module, sighting: Sighting) -> bool:
        told = all(self._is_told(guard) for guard in sighting.guards)
        return bool(self.reached.entries) and told and self._is_called(module, sighting, surely=True)

    def _is_told(self, guard: Guard) -> bool:
        """A switch that is on, or the question for the first of several ranks and nothing else."""
        first = bool(RANK_WORDS.intersection(guard.words)) and set(guard.words) <= RANK_WORDS | _AROUND_RANKS
        return first or self._value(guard.option) == guard.positive

    def is_in_project(self, path: str) -> bool:
        root = str(self.root)
        return path == root or path.startswith(f"{root}{os.sep}")


def guard_words(sighting: Sighting) -> frozenset[str]:
    return frozenset(word for guard in sighting.guards for word in guard.words)


def quoted(text: str) -> str:
    return f"'{short(text)}'"


def short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
