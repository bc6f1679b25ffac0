"""Shell scripts, as far as they can be read without a shell: their commands, each with its line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from voyageur.readiness.marks import hidden_in, silenced_lines
from voyageur.readiness.model import Guard, Kind, Module, Sighting
from voyageur.readiness.paths import exists_only_here
from voyageur.readiness.programs import deeds

_ENDS = frozenset({";", "&&", "||", "|", "&", ";;", "(", ")", "|&"})
_OPENS = frozenset({"if", "elif"})
_WORDS = frozenset({"then", "do", "else", "while", "until", "{", "}", "!"})
_MOST_LINES = 200  # of one command; behind them a quote was never closed
_HERE = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_ACCOUNT = re.compile(r"#SBATCH\s+(?:--account[=\s]|-A\s*)([^\s#$<]+)")


def read_shell(file: str, text: str) -> Module:
    lines = text.splitlines()
    sightings = [*_accounts(lines), *_odd(text, lines)]
    for line, words, guards in commands(text.replace("\r", "")):
        sightings.extend(sightings_of(words, line, guards))
    return Module(
        file=file,
        language="shell",
        sightings=tuple(sightings),
        silenced=silenced_lines(text),
    )


def sightings_of(words: list[str], line: int, guards: tuple[Guard, ...] = ()) -> Iterator[Sighting]:
    for deed in deeds(words):
        yield Sighting(kind=deed.kind, line=line, name=deed.name, text=deed.text, family=deed.family, guards=guards)
    yield from _exports(words, line)
    if words and words[0] not in ("echo", "printf", "[", "[[", "test"):
        for word in words:
            value = word.partition("=")[2] if word.startswith("-") or "=" in word else word
            if exists_only_here(value):
                yield Sighting(kind=Kind.PATH, line=line, name=words[0], text=value, guards=guards, reads=True)


def _exports(words: list[str], line: int) -> Iterator[Sighting]:
    """`export X=1`, `X=1`, `X=1 python train.py`: the program finds them in its environment."""
    for word in words[1:] if words[:1] == ["export"] else words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            return
        yield Sighting(kind=Kind.SETS, line=line, name=name, text=value)


def commands(text: str) -> Iterator[tuple[int, list[str], tuple[Guard, ...]]]:
    """Each simple command with its line, and the conditions of the `if`s around it."""
    open_ifs: list[Guard] = []
    for number, line in _logical_lines(text):
        for words in _simple(line):
            while words and (words[0] in _WORDS or words[0] in _OPENS):
                if (head := words.pop(0)) in _OPENS:
                    if head == "elif" and open_ifs:
                        open_ifs.pop()
                    open_ifs.append(Guard(words=tuple(word.lower() for word in words)))
            if words[:1] == ["fi"] and open_ifs:
                open_ifs.pop()
            elif words:
                yield number, words, tuple(open_ifs)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that a backslash or an open quote continues are one; what `<<EOF` holds is no command."""
    waiting, begin, until = "", 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        if until:
            until = "" if line.strip() == until else until
            continue
        if not waiting:
            begin = number
            if line.lstrip().startswith("#"):
                continue
        waiting += line[:-1] + " " if line.endswith("\\") else f"{line}\n"
        if line.endswith("\\") or (_is_open(waiting) and number - begin < _MOST_LINES):
            continue
        if here := _HERE.search(waiting):
            until = here[2]
        yield begin, waiting
        waiting = ""
    if waiting:
        yield begin, waiting


def _is_open(text: str) -> bool:
    if "'" not in text and '"' not in text:
        return False
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def _simple(line: str) -> Iterator[list[str]]:
    """The commands between `&&`, `|` and their like, each as its words."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    reader.whitespace_split = True
    reader.commenters = "#"
    words: list[str] = []
    try:
        for word in reader:
            if word in _ENDS:
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:  # a quote that never closes: the shell will say so itself
        pass
    yield words


def _accounts(lines: list[str]) -> Iterator[Sighting]:
    for number, line in enumerate(lines, 1):
        if line.startswith("#SBATCH") and (match := _ACCOUNT.match(line)):
            yield Sighting(kind=Kind.ACCOUNT, line=number, text=match[1])


def _odd(text: str, lines: list[str]) -> Iterator[Sighting]:
    if "\r\n" in text:
        yield Sighting(kind=Kind.DOS, line=text.count("\n", 0, text.index("\r\n")) + 1)
    for number, line in enumerate(lines, 1):
        if name := hidden_in(line, first=number == 1):
            yield Sighting(kind=Kind.HIDDEN, line=number, name=name)
