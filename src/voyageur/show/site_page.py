"""One cluster on one page: how to get in, what to ask for, where to put things, what it costs, what is asked of guests.

What is not known is said only where people would look for it. Each section ends with where it is from.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from datetime import date

from voyageur.errors import one_line
from voyageur.show import site_rows as rows
from voyageur.show.ages import days_since, in_words
from voyageur.show.rows import Grid, Row
from voyageur.show.site_queues import queues
from voyageur.show.site_storage import storage
from voyageur.show.sites import profile_of
from voyageur.show.style import paint
from voyageur.site import Facts, Site, Status

_LABEL = 16  # columns of a row's name, its indent included
_STICKY = "\xa0"  # a space at which textwrap breaks no line: a command is pasted whole
_LEAST = 24  # columns of a value below which wrapping helps nobody

# A section's title, what stands in it, and the groups of facts that it is made of.
_SECTIONS = (
    ("how to get in", rows.entrance, ("access",)),
    ("what to ask for", rows.request, ("request", "times")),
    ("queues", queues, ("queues",)),
    ("where to put things", storage, ("storage", "local_disk")),
    ("network on compute nodes", rows.network, ("network",)),
    ("software", rows.software, ("software",)),
    ("limits", rows.limits, ("limits",)),
    ("what it costs", rows.cost, ("accounting",)),
    ("what is asked of you", rows.conduct, ("conduct",)),
)


def site_text(site: Site, today: date, colours: bool, columns: int | None = None) -> str:
    """`columns`: how wide the terminal is. In a pipe every fact is one line, however long."""
    page = _Page(colours, columns)
    blocks = ["\n".join(_head(site, page))]
    for title, facts, groups in _SECTIONS:
        found = list(facts(site))
        if found:
            lines = [line for item in found for line in page.lines(item)]
            blocks.append("\n".join([paint(title, "bold", colours), *lines, *_sources(site, groups, today, page)]))
    return "\n\n".join(blocks)


class _Page:
    def __init__(self, colours: bool, columns: int | None) -> None:
        self.colours = colours
        self.columns = columns

    def lines(self, item: Row | Grid) -> Iterator[str]:
        if isinstance(item, Grid):
            yield from self._grid(item)
            return
        first, *rest = self.wrapped(item.text, _LABEL, hang=2 if item.text.startswith("- ") else 0)
        yield f"  {item.name:<{_LABEL - 2}}{first}".rstrip()
        yield from (" " * _LABEL + line for line in rest)

    def _grid(self, grid: Grid) -> Iterator[str]:
        used = [column for column in range(len(grid.head)) if any(entry.cells[column] for entry in grid.entries)]
        every = [grid.head, *(entry.cells for entry in grid.entries)]
        wide = [max(len(cells[column]) for cells in every) for column in used]
        yield paint(_aligned([grid.head[column] for column in used], wide), "dim", self.colours)
        for entry in grid.entries:
            yield _aligned([entry.cells[column] or "-" for column in used], wide)
            for line in self.wrapped(entry.more, 4) if entry.more else ():
                yield paint(f"    {line}", "dim", self.colours)
        for text in grid.legend:
            yield from (paint(f"  {line}", "dim", self.colours) for line in self.wrapped(text, 2))

    def wrapped(self, text: str, indent: int, hang: int = 0) -> list[str]:
        shown = one_line(text)
        if self.columns is None:
            return [shown]
        whole = re.sub("`[^`]*`", lambda command: command[0].replace(" ", _STICKY), shown)
        lines = textwrap.wrap(
            whole,
            max(_LEAST, self.columns - indent),
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [line.replace(_STICKY, " ") for line in lines] or [""]


def _aligned(cells: Sequence[str], wide: Sequence[int]) -> str:
    return "  " + "  ".join(f"{cell:<{size}}" for cell, size in zip(cells, wide, strict=True)).rstrip()


def _head(site: Site, page: _Page) -> Iterator[str]:
    first, *rest = page.wrapped(f"{site.name}  {site.title}", 0)
    yield paint(site.name, "bold", page.colours) + first.removeprefix(site.name)
    yield from rest
    gone = f", ended {site.ended}" if site.ended else ""
    now = f"; what came after it: `--on {site.successor}`" if site.successor else ""
    status = f"{site.status.value}{gone}{now}; its profile is {_PROFILE[profile_of(site)]}"
    colour = "yellow" if site.status is Status.RETIRED else "dim"
    yield from (paint(line, colour, page.colours) for line in page.wrapped(status, 0))


_PROFILE = {"built-in": "built in", "own": "your own", "both": "built in, with your own laid over it"}


# ── where it is from ─────────────────────────────────────────────────────────────────────────────────────────────────


def _sources(site: Site, groups: Sequence[str], today: date, page: _Page) -> Iterator[str]:
    """Weak ones first say why they are; the same source for two groups is named once."""
    facts = [dict(site.groups())[name] for name in groups]
    notes = {("weak" if group.weak else "note", group.note): None for group in facts if group.note}
    for word, note in notes:
        yield from _aside(f"{word}: {note}", "yellow" if word == "weak" else "dim", page)
    told = {_from(group, today): None for group in facts if group.source}
    yield from (line for source in told for line in _aside(source, "dim", page))


def _from(group: Facts, today: date) -> str:
    return f"from {short_source(group.source)} ({group.date}, {in_words(days_since(group.date, today))})"


def _aside(text: str, colour: str, page: _Page) -> Iterator[str]:
    return (paint(f"  {line}", colour, page.colours) for line in page.wrapped(text, 2))


def short_source(source: str) -> str:
    """Pages of one documentation behind its name, which is said once."""
    books: dict[str, list[str]] = {}
    for part in source.split("; "):
        book, _, page = part.partition(": ")
        pages = books.setdefault(book, [])
        pages += [title for title in page.split(", ") if title and title not in pages]
    return "; ".join(f"{book}: {', '.join(pages)}" if pages else book for book, pages in books.items())
