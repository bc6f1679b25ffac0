"""How far a long run is: one line for its page, and its attempts along a line of time."""

from __future__ import annotations

import re
import time
from datetime import datetime

from voyageur.record import Run, Verdict, age
from voyageur.record.attempts import Forecast, Tried, attempts_of, forecast, last_beats
from voyageur.units import Duration

_WIDTH = 48


def progress_line(run: Run, verdict: Verdict) -> str:
    """`attempt 2 of about 4 · epoch 37/90 · 12m/epoch · done about Thu 14:00 · 0 epochs lost so far`; empty where
    nothing is known."""
    now = time.time()
    found = forecast(run, now)
    if found is None:
        return ""
    unit = unit_of(str((run.record.spec.get("checkpoint.progress") or {}).get("value") or ""))
    parts = [f"attempt {run.attempt}{_of_about(run, found, verdict)}", f"{unit} {_done(found)}".lstrip()]
    if found.per_unit:
        parts.append(f"{_short(found.per_unit)}/{unit}" if unit else f"{_short(found.per_unit)} each")
    if found.ends and not verdict.state.is_final and found.done < (found.total or 0):
        parts.append(f"done about {_moment(found.ends, now)}")
    if found.lost is not None:
        lost = f"{found.lost:g} {unit}{'' if found.lost == 1 else 's'}" if unit else f"{found.lost:g}"
        least = "at least " if found.lost_more else ""
        parts.append(f"{least}{lost} lost{'' if verdict.state.is_final else ' so far'}")
    return " · ".join(parts)


def unit_of(pattern: str) -> str:
    """What `epoch (\\d+)/(\\d+)` counts: the last whole word before its first number. Empty where there is none."""
    before = re.sub(r"\\.[+*?]?", " ", pattern.partition("(")[0])
    words = [] if re.search(r"[][|?*+{}]", before) else re.findall(r"[a-z]{2,}", before.lower())
    return str(words[-1]).removesuffix("s") if words else ""


def _of_about(run: Run, found: Forecast, verdict: Verdict) -> str:
    if verdict.state.is_final or not found.attempts:
        return ""
    return f" of about {found.attempts}" if found.attempts > 1 else ""


def _done(found: Forecast) -> str:
    return f"{found.done:g}/{found.total:g}" if found.total else f"{found.done:g}"


def _short(seconds: float) -> str:
    return f"{seconds:.1f}s" if seconds < 10 else str(Duration(round(seconds)))


def _moment(then: float, now: float) -> str:
    form = "%H:%M" if then - now < 20 * 3600 else "%a %H:%M" if then - now < 6 * 86_400 else "%d %b"
    return datetime.fromtimestamp(then).strftime(form)


# ── the line of time ─────────────────────────────────────────────────────────────────────────────────────────────────


def timeline(run: Run) -> str:
    """A row for each attempt: when it ran, as a part of the whole; where it began; how it ended."""
    tried = attempts_of(run)
    if not tried:
        return "  no attempt has begun yet"
    beats, now = last_beats(run), time.time()
    spans = [(one, one.ended or beats.get(one.number) or _so_far(one, run, now)) for one in tried]
    start, end = tried[0].started, max(ended for _, ended in spans)
    scale = _WIDTH / max(1.0, end - start)
    goes_on = run.attempt if _goes_on(run) else 0
    rows = [_row(one, ended, start, scale, one.number == goes_on) for one, ended in spans]
    return "\n".join([*rows, f"  {'':>3}  {_clock(start):<{_WIDTH - 8}}{_clock(end):>8}"])


def _so_far(one: Tried, run: Run, now: float) -> float:
    """Of one that goes on, or that nobody has seen the end of."""
    return now if _goes_on(run) and one.number == run.attempt else (run.beat or one.started)


def _goes_on(run: Run) -> bool:
    """Its newest attempt, as far as its folder tells."""
    last = run.last("verdict", "attempt started", "attempt ended")
    return last is not None and last["event"] == "attempt started" and run.marker is None


def _row(one: Tried, ended: float, start: float, scale: float, goes_on: bool) -> str:
    before = round((one.started - start) * scale)
    length = max(1, round((ended - one.started) * scale))
    bar = (" " * min(before, _WIDTH - 1) + "█" * length)[:_WIDTH]
    return f"  {one.number:>3}  {bar:<{_WIDTH}}  {_story(one, ended, goes_on)}"


def _story(one: Tried, ended: float, goes_on: bool) -> str:
    begun = f"from {one.begins_from}" if one.begins_from else "from the beginning"
    passed = f" ({', '.join(one.passed_over)} damaged)" if one.passed_over else ""
    done = one.progress.get("done")
    end = one.end or ("goes on" if goes_on else "no end written")
    reached = f", {'reached' if one.end or goes_on else 'last seen at'} {done:g}" if done is not None else ""
    return f"{age(ended - one.started)} on {one.node}: {begun}{passed}{reached}, {end}"


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%H:%M:%S")
