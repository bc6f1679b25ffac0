"""Runs, found and judged: folders are the truth, the index saves reading them again, each engine is asked once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from voyageur.engines import Engine, Sought
from voyageur.errors import RunError
from voyageur.record import (
    Entry,
    Index,
    Run,
    Sighting,
    State,
    Verdict,
    is_run_folder,
    judge,
    load,
    without_asking,
)
from voyageur.record.verdict import first_look, waiting
from voyageur.runtime import folder as files
from voyageur.slurm_text import SUBMIT_PATIENCE, Phase

# Longer than sbatch may take, with all its own tries, before it gives up.
_NEVER_ARRIVES = SUBMIT_PATIENCE.seconds + 60.0


class Runs:
    def __init__(self, roots: Sequence[Path], index: Index, engine_of: Callable[[str], Engine]) -> None:
        self.roots = roots
        self.index = index
        self.engine_of = engine_of

    # ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────

    def all(self) -> list[Entry]:
        """Newest first."""
        known = self.index.read()
        folders = list(self._folders(known))
        entries = {
            folder: entry for folder in folders if (entry := known.get(folder)) and entry.final and _is_unchanged(entry)
        }
        unfinished = [folder for folder in folders if folder not in entries]
        fresh = self._judge_all(unfinished, known)
        self.index.add(entry for entry in fresh if known.get(entry.folder) != entry)
        if len(known) > 2 * len(folders) + 1000:
            self.index.compact(entries | {entry.folder: entry for entry in fresh})
        return sorted([*entries.values(), *fresh], key=lambda entry: -entry.created)

    def _folders(self, known: dict[str, Entry]) -> Iterator[str]:
        # Scratch often has two spellings, one of them a link; the one that the index knows saves reading.
        spellings = [*(str(root) for root in self.roots), *(_root_of(folder) for folder in known)]
        for root in {os.path.realpath(root): root for root in dict.fromkeys(spellings)}.values():
            for project in _names(root):
                for run in _names(f"{root}/{project}/{files.RUNS}"):
                    folder = f"{root}/{project}/{files.RUNS}/{run}"
                    if not run.startswith(".") and (folder in known or is_run_folder(folder)):
                        yield folder

    def _judge_all(self, folders: Iterable[str], known: dict[str, Entry]) -> list[Entry]:
        loaded: dict[str, Run] = {}
        asked: list[tuple[str, Sought]] = []
        done: list[Entry] = []
        for folder in folders:
            cached = known.get(folder)
            if cached is None or not _is_unchanged(cached):
                run = self._load(folder)
                if run is None:
                    continue
                loaded[folder] = run
                if settled := without_asking(run):
                    done.append(_entry(run, settled))
                    continue
                cached = _entry(run, Verdict(state=State.UNKNOWN))
            asked.append((cached.engine, _sought(cached)))
        return done + self._ask(asked, loaded, known)

    def _ask(self, asked: list[tuple[str, Sought]], loaded: dict[str, Run], known: dict[str, Entry]) -> list[Entry]:
        entries = []
        for engine in {name for name, _ in asked}:
            sought = [one for name, one in asked if name == engine]
            for folder, sighting in self.engine_of(engine).look(sought).items():
                entries.append(self._from_sighting(folder, sighting, loaded, known))
        return entries

    def _from_sighting(self, folder: str, sighting: Sighting, loaded: dict[str, Run], known: dict[str, Entry]) -> Entry:
        """A job that still waits needs no look into its folder; for all others the folder has the first word."""
        cached = known.get(folder)
        if folder not in loaded and cached and cached.job and sighting.row and sighting.row.phase is Phase.WAITING:
            verdict = waiting(sighting.row, cached.attempt)
            return replace(cached, state=verdict.state.value, because=verdict.because)
        run = self._load(folder)
        if run is None and cached:
            return replace(cached, state=State.UNKNOWN.value, because="its record cannot be read")
        return _entry(*self._settle(run or load(Path(folder)), sighting))

    def _load(self, folder: str) -> Run | None:
        try:
            return load(Path(folder))
        except RunError:
            return None

    # ── one ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def find(self, name: str) -> Run:
        """By id, by `project/id`, by the beginning of an id, or by its folder."""
        if not name:
            raise RunError("a run's name is empty", hint="`voy status` lists the runs")
        if "/" in name and is_run_folder(name):
            return load(Path(name).absolute())
        folders = list(self._folders(self.index.read()))
        exact = [folder for folder in folders if folder.endswith(f"/{name}") or _short(folder) == name]
        found = exact or [folder for folder in folders if Path(folder).name.startswith(name)]
        if len(found) == 1:
            return load(Path(found[0]))
        if found:
            raise RunError(
                f"`{name}` could be several runs",
                facts=sorted(map(_short, found))[:8],
                hint="give more of its name, or `project/run`",
            )
        from voyageur.spec.keys import nearest

        guess = nearest(name, [Path(folder).name for folder in folders])
        raise RunError(
            f"there is no run `{name}`",
            hint=f"did you mean `{guess}`?" if guess else "`voy status` lists them",
        )

    def look(self, run: Run) -> tuple[Run, Verdict]:
        """What became of it, asking its engine only if its folder does not say."""
        run = run.reread()
        if known := without_asking(run):
            return run, known
        entry = _entry(run, Verdict(state=State.UNKNOWN))
        sighting = self.engine_of(run.record.engine).look([_sought(entry)]).get(entry.folder)
        return self._settle(run.reread(), sighting)

    def _settle(self, run: Run, sighting: Sighting | None) -> tuple[Run, Verdict]:
        """What was learned is written down, if it can be: a folder that is read-only today hides nothing."""
        try:
            return self._write_down(self._adopted(run, sighting), sighting)
        except OSError:
            return run, judge(run, sighting)

    def _adopted(self, run: Run, sighting: Sighting | None) -> Run:
        """The answer to its submission was lost: the job that carries its name is its own, or there is none."""
        if run.job is not None or not sighting or not sighting.answered:
            return run
        if sighting.row:
            run.note("submitted", job=sighting.row.job)
        elif time.time() - _last_word(run) > _NEVER_ARRIVES:
            run.note("refused", reason="it never arrived: nothing was submitted")
            run.forget_secrets()
        return run.reread()

    def _write_down(self, run: Run, sighting: Sighting | None) -> tuple[Run, Verdict]:
        """Slurm forgets, so its last word is written down; so is the first look that found nothing."""
        verdict = judge(run, sighting)
        if without_asking(run) or run.job is None:
            return run, verdict
        if verdict.state.is_final:
            run.note(
                "verdict",
                state=verdict.state.value,
                because=verdict.because,
                job=run.job,
                exit_code=verdict.exit_code,
                signal=verdict.signal,
            )
            if verdict.state is not State.LOST:
                run.forget_secrets()
        elif verdict.first_look and first_look(run, verdict.first_look) is None:
            run.note(verdict.first_look, job=run.job)
        else:
            return run, verdict
        return run.reread(), verdict

    def remember(self, run: Run, verdict: Verdict) -> None:
        self.index.add([_entry(run, verdict)])


def _last_word(run: Run) -> float:
    return max([run.record.created, *(float(event.get("time", 0)) for event in run.events)])


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _root_of(folder: str) -> str:
    return folder.rsplit("/", 3)[0]


def _short(folder: str) -> str:
    project, _, run = folder.rsplit("/", 3)[1:]
    return f"{project}/{run}"


def _is_unchanged(entry: Entry) -> bool:
    """Nothing was written down since: every change of a run begins or ends with an event."""
    try:
        return os.stat(f"{entry.folder}/{files.EVENTS}").st_size == entry.events_size
    except OSError:
        return False


def _sought(entry: Entry) -> Sought:
    return Sought(key=entry.folder, job=entry.job or "", job_name=entry.job_name, since=entry.created)


def _entry(run: Run, verdict: Verdict) -> Entry:
    started = run.last("attempt started")
    ended = run.marker.get("ended") if run.marker else (run.last("verdict") or {}).get("time")
    return Entry(
        folder=str(run.folder),
        run=run.id,
        job_name=run.record.job_name,
        project=run.record.project,
        site=run.record.site,
        engine=run.record.engine,
        command=" ".join(run.record.command)[:200],
        created=run.record.created,
        state=verdict.state.value,
        because=verdict.because,
        job=run.job,
        exit_code=verdict.exit_code,
        started=started["time"] if started else None,
        ended=ended,
        attempt=run.attempt,
        events_size=_size(run),
        # A marker that a slow file system shows late may still clear these two up.
        final=verdict.state.is_final and verdict.state not in (State.SUSPECT, State.LOST),
    )


def _size(run: Run) -> int:
    try:
        return (run.folder / files.EVENTS).stat().st_size
    except OSError:
        return 0


def wait_pauses() -> Iterator[float]:
    """Quick at first, then ever slower: a login node is shared, and so is the controller."""
    pause = 0.2
    while True:
        yield pause
        pause = min(pause * 1.4, 30.0)
