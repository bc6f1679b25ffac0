"""Runs as people read them: a table of many, a page of one."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from voyageur.errors import one_line
from voyageur.record import Entry, Run, State, Verdict, age
from voyageur.record.ranks import last_of
from voyageur.record.verdict import first_to_fail
from voyageur.runtime import folder as files
from voyageur.show.style import paint, state_colour, table
from voyageur.show.timeline import progress_line
from voyageur.units import Size


def runs_text(entries: Sequence[Entry], hidden: int, colours: bool) -> str:
    if not entries:
        return "no runs yet; `voy run -- COMMAND` makes one"
    head = ("RUN", "STATE", "JOB", "SITE", "AGE", "TOOK", "WHAT")
    rows = [_row(entry) for entry in entries]
    more = [paint(f"({hidden} older; `voy status --all` lists them)", "dim", colours)] if hidden else []
    return "\n".join([table(head, rows, colours, state_column=1), *more])


def _row(entry: Entry) -> tuple[str, ...]:
    took = age((entry.ended or time.time()) - entry.started) if entry.started else "-"
    what = f"{entry.because} · {entry.command}" if entry.because else entry.command
    return (
        entry.run,
        entry.state,
        entry.job or "-",
        entry.site,
        age(time.time() - entry.created),
        took,
        one_line(what),
    )


def run_text(run: Run, verdict: Verdict, colours: bool, lines: int = 12) -> str:
    record = run.record
    state = paint(verdict.state.value, state_colour(verdict.state), colours)
    because = f"  {verdict.because}" if verdict.because else ""
    rows = [
        ("state", f"{state}{one_line(because)}"),
        ("command", one_line(shlex.join(record.command))),
        ("job", f"{run.job or '-'} on {record.site}"),
        ("attempt", str(run.attempt) if run.attempt else "-"),
        *_progress(run, verdict),
        ("submitted", _moment(record.created)),
        *_times(run),
        *_usage(run),
        *_staged(run),
        *_results(run),
        *_quiet(run, verdict),
        *_left_out(run),
        *_written(run),
        ("folder", str(run.folder)),
        ("log", str(run.log)),
    ]
    text = [paint(run.id, "bold", colours), *(f"  {name:<10} {value}" for name, value in rows)]
    if verdict.hint:
        text += ["", f"hint: {verdict.hint}"]
    if verdict.state.is_final and not verdict.state.is_good and lines:
        title, last = _last_words(run, verdict, lines)
        text += ["", paint(title, "dim", colours), *(f"  {line}" for line in last)]
    return "\n".join(text)


def _progress(run: Run, verdict: Verdict) -> list[tuple[str, str]]:
    line = progress_line(run, verdict)
    return [("progress", line)] if line else []


def _last_words(run: Run, verdict: Verdict, lines: int) -> tuple[str, list[str]]:
    return _words_of_first(run, verdict, lines) or ("the log's last lines:", last_lines(run.log, lines))


def _words_of_first(run: Run, verdict: Verdict, lines: int) -> tuple[str, list[str]] | None:
    """Of many ranks those of the first that failed: the others only say that they lost it."""
    first = first_to_fail(run) if verdict.state is State.FAILED else None
    if first is None or "rank" not in first:
        return None
    last = [str(line) for line in first.get("last") or ()] or last_of(run.log, int(first["rank"]), lines)
    title = f"the last lines of rank {first['rank']}, the first that failed:"
    return (title, [one_line(line) for line in last[-lines:]]) if last else None


def first_failure_text(run: Run, verdict: Verdict, colours: bool, lines: int = 12) -> str:
    """For those before whom the lines of all ranks have just gone by; empty where there is no rank to name."""
    found = _words_of_first(run, verdict, lines)
    return "\n".join([paint(found[0], "dim", colours), *(f"  {line}" for line in found[1])]) if found else ""


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def _times(run: Run) -> list[tuple[str, str]]:
    started = run.last("attempt started")
    found = [("started", f"{_moment(started['time'])} on {started.get('nodes', '')}")] if started else []
    if run.marker:
        found.append(
            (
                "ended",
                f"{_moment(run.marker['ended'])}, took {age(run.marker['ended'] - run.marker['started'])}",
            )
        )
    return found


def _usage(run: Run) -> list[tuple[str, str]]:
    usage: dict[str, Any] = (run.marker or {}).get("usage") or run.usage
    if not usage.get("samples"):
        return []
    parts = [f"memory {Size(int(usage['peak_memory']))} at most", f"CPU {usage['cpu_seconds']:.0f} s"]
    if "gpu_utilization" in usage:
        parts.append(f"GPU {usage['gpu_utilization']:.0f} % busy, {Size(int(usage['gpu_peak_memory']))} at most")
    return [("used", ", ".join(parts))]


def _staged(run: Run) -> list[tuple[str, str]]:
    """Each dataset of the newest attempt: on how many nodes it is whole, and how far the slowest one is."""
    own = [event for event in run.events if event.get("attempt") == run.attempt and "data" in event]
    newest: dict[str, dict[str, dict[str, Any]]] = {}
    for event in own:
        newest.setdefault(event["data"], {})[event["node"]] = event
    return [("data", f"{name}: {_state_of(list(nodes.values()), bool(run.marker))}") for name, nodes in newest.items()]


def _state_of(nodes: list[dict[str, Any]], has_ended: bool) -> str:
    arriving = [event for event in nodes if event["event"] == "staging"]
    away = [event for event in nodes if event["event"] == "not staged"]
    here = len(nodes) - len(arriving) - len(away)
    parts = [f"whole on {here} node{'' if here == 1 else 's'}"] if here else []
    if arriving:
        shares = [event["bytes"] / event["size"] for event in arriving if event.get("size")]
        least = f", {min(shares):.0%} at least" if shares else ""
        parts.append(f"{'not all arrived on' if has_ended else 'on its way to'} {len(arriving)}{least}")
    for event in away[:1]:
        where = "read from shared storage" if event["end"] == "shared" else "NOT staged"
        parts.append(f"{where} on {len(away)}: {one_line(str(event['because']))}")
    return "; ".join(parts)


def _results(run: Run) -> list[tuple[str, str]]:
    found = []
    for event in run.events:
        if event["event"] == "results saved":
            left = f"; NOT saved: {one_line('; '.join(event['left'][:3]))}" if event["left"] else ""
            size = Size(int(event["bytes"]))
            found.append(f"{event['files']} files, {size}, from {event['node']}; `voy pull {run.id}` brings them{left}")
        if event["event"] == "results kept":
            found.append(
                f"{event['files']} files stayed on {event['node']}: {one_line(event['because'])}; {event['path']}"
            )
    return [("results", text) for text in found]


def _quiet(run: Run, verdict: Verdict) -> list[tuple[str, str]]:
    """Only while it runs: afterwards its end says more. A line that came since takes it back."""
    event = run.last("nothing happens", "attempt started")
    if verdict.state is not State.RUNNING or not event or event["event"] != "nothing happens":
        return []
    try:
        if run.log.stat().st_mtime > float(event["time"]):
            return []
    except OSError:
        return []
    used = f"GPU {event['gpu']:.0f} % busy, " if "gpu" in event else ""
    silent = age(time.time() - float(event["time"]) + float(event["seconds"]))
    return [("quiet", f"no line in its log for {silent}; {used}CPU {event['cpu']:.0f} %: does it hang?")]


def _left_out(run: Run) -> list[tuple[str, str]]:
    """Nodes that failed it, and what is submitted from now on is kept away from."""
    found = (event for event in run.events if event["event"] == files.LEFT_OUT)
    return [("left out", f"node {event['node']}: {one_line(str(event['because']))}") for event in found]


def _written(run: Run) -> list[tuple[str, str]]:
    """What the program wrote beside its code: that folder is gone, so people must be told where it went."""
    found = []
    for event in run.events:
        if event["event"] == "files written":
            kept = f"into its working folder; kept in {event['archive']}" if event["files"] else ""
            lost = f"LOST, too large to keep: {', '.join(event['lost'])}" if event["lost"] else ""
            found.append(("wrote", "; ".join(filter(None, [kept, lost]))))
    return found


def last_lines(log: Path, count: int) -> list[str]:
    try:
        with open(log, "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 65_536))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ["(no log was written)"]
    return [one_line(line) for line in lines[-count:]] or ["(the log is empty)"]


def run_document(run: Run, verdict: Verdict) -> dict[str, Any]:
    record = msgspec.to_builtins(run.record)
    del record["token"]
    return {
        **record,
        "state": verdict.state.value,
        "final": verdict.state.is_final,
        "because": verdict.because,
        "exit_code": verdict.exit_code,
        "signal": verdict.signal,
        "hint": verdict.hint,
        "job": run.job,
        "attempt": run.attempt,
        "folder": str(run.folder),
        "log": str(run.log),
        "script": str(run.script),
        "marker": run.marker,
        "events": list(run.events),
    }


def entries_document(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [
        {name: getattr(entry, name) for name in Entry.__struct_fields__ if name not in ("events_size", "job_name")}
        for entry in entries
    ]


def summary_line(run: Run, verdict: Verdict, colours: bool) -> str:
    word = paint(verdict.state.value, state_colour(verdict.state), colours)
    because = f": {verdict.because}" if verdict.because and verdict.state is not State.DONE else ""
    return f"{run.id} {word}{one_line(because)}"
