"""One run, read from its folder. The folder is the truth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from voyageur.errors import RunError
from voyageur.runtime import folder as files

Json = dict[str, Any]
_OURS = "voyageur: "


class Record(Struct, frozen=True, kw_only=True):
    """run.json: written once, before anything is submitted."""

    run: str
    token: str
    job_name: str
    project: str
    project_root: str
    experiment: str
    site: str
    engine: str
    command: tuple[str, ...]
    created: float
    time_limit: int
    nodes: int
    voyageur: str
    spec: Json


class Run(Struct, frozen=True, kw_only=True):
    """The record, and what has been written down since."""

    folder: Path
    record: Record
    events: tuple[Json, ...]
    marker: Json | None
    attempt: int = 0
    beat: float | None = None
    usage: Json = {}
    progress: Json = {}

    @property
    def id(self) -> str:
        return self.record.run

    @property
    def log(self) -> Path:
        return self.folder / files.LOG

    @property
    def script(self) -> Path:
        return self.folder / files.SCRIPT

    def complaint(self) -> str:
        """What the script itself found wrong before the program could begin; empty once an attempt has started."""
        if self.attempt:
            return ""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return next((line[len(_OURS) :] for line in reversed(lines) if line.startswith(_OURS)), "")

    def last(self, *names: str) -> Json | None:
        return next((event for event in reversed(self.events) if event["event"] in names), None)

    @property
    def job(self) -> str | None:
        """The newest job known to belong to this run: what sbatch answered, or what the job itself wrote down.

        A second job of the same submission that left at once says nothing about the run.
        """
        left = {event.get("job") for event in self.events if event["event"] == "duplicate left"}
        known = [event for event in self.events if event["event"] in ("submitted", "attempt started")]
        jobs = [str(event["job"]) for event in known if event.get("job") not in left]
        return jobs[-1] if jobs else (str(known[-1]["job"]) if known else None)

    def note(self, event: str, **facts: Any) -> None:
        files.append_event(str(self.folder), event, **facts)

    def forget_secrets(self) -> None:
        (self.folder / files.SECRETS).unlink(missing_ok=True)

    def reread(self) -> Run:
        return load(self.folder)


def load(folder: Path) -> Run:
    path = str(folder)
    try:
        record = msgspec.json.decode((folder / files.RECORD).read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError, ValueError) as problem:
        raise RunError(f"{folder.name} has no readable record", facts=[f"{folder / files.RECORD}: {problem}"]) from None
    newest = files.newest_attempt(path)
    facts: Mapping[str, Any] = newest.facts if newest else {}
    return Run(
        folder=folder,
        record=record,
        events=tuple(files.read_events(path)),
        marker=files.read_marker(path, record.token),
        attempt=newest.number if newest else 0,
        beat=facts.get("beat"),
        usage=dict(facts.get("usage") or {}),
        progress=dict(facts.get("progress") or {}),
    )


def is_run_folder(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, files.RECORD))
