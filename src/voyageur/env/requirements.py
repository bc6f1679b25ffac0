"""requirements.txt as pip reads it: files that include others, constraints, options, marks, digests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from voyageur.env.wheel import plain_name

_DEEPEST = 8
_NAMED = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[^\]]*\])?\s*(.*)", re.DOTALL)
_COMMENT = re.compile(r"(^|\s)#.*$")
# Options of a file and how pip spells them on its command line; those with a value first.
_VALUED = {
    "-i": "--index-url",
    "--index-url": "--index-url",
    "--extra-index-url": "--extra-index-url",
    "-f": "--find-links",
    "--find-links": "--find-links",
}
_BARE = ("--no-index", "--pre")
_PASSED_OVER = (
    "--prefer-binary",
    "--require-hashes",
    "--only-binary",
    "--no-binary",
    "--trusted-host",
    "--use-feature",
)


class Requirement(Struct, frozen=True, kw_only=True):
    """One line of a file. What a resolver reads of it is `plain`."""

    text: str
    file: str
    line: int

    @property
    def plain(self) -> str:
        """Without digests: pip would want all lines to have some. They are compared with what was found."""
        return _bare(self.text).strip()

    @property
    def digests(self) -> frozenset[str]:
        return frozenset(re.findall(r"--hash[=\s]sha256:([0-9a-fA-F]{64})", self.text))

    @property
    def name(self) -> str:
        match = _NAMED.match(self.text)
        return plain_name(match[1]) if match else self.text

    @property
    def mark(self) -> str:
        """Under which circumstances it is wanted; empty is always."""
        return _bare(self.text).partition(";")[2].strip()

    @property
    def bound(self) -> str:
        """Which versions will do, as it is written; empty for any."""
        match = _NAMED.match(_bare(self.text).partition(";")[0].strip())
        return re.sub(r"\s+", "", match[3]) if match else ""

    @property
    def pin(self) -> str:
        """The only version that will do; empty when there may be several."""
        match = re.fullmatch(r"={2,3}([\w.!+-]+)", self.bound)
        return match[1] if match else ""


class Requirements(Struct, frozen=True, kw_only=True):
    """`options` are words for pip's command line. `foreign` are lines that no locked environment can hold."""

    wanted: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    options: tuple[str, ...] = ()
    foreign: tuple[Requirement, ...] = ()
    files: tuple[str, ...] = ()


class NoFile(Exception):
    """A file cannot be read; who named it, and why."""

    def __init__(self, name: str, by: str, why: str) -> None:
        super().__init__(name)
        self.name = name
        self.by = by
        self.why = why


def requirement(text: str, file: str = "", line: int = 0) -> Requirement:
    return Requirement(text=text.strip(), file=file, line=line)


def requirements_from(root: Path, names: Iterable[str]) -> Requirements:
    """Raises NoFile."""
    found = _Reader(root)
    for name in names:
        found.read(name, "env.requirements")
    return found.all()


def requirements_in(root: Path, lines: Iterable[Requirement]) -> Requirements:
    """Of lines that stand in another kind of file, and may name others. Raises NoFile."""
    found = _Reader(root)
    for one in lines:
        found.take(one)
    return found.all()


class _Reader:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.wanted: list[Requirement] = []
        self.constraints: list[Requirement] = []
        self.options: list[str] = []
        self.foreign: list[Requirement] = []
        self.files: list[str] = []

    def read(self, name: str, by: str, depth: int = 0, constrains: bool = False) -> None:
        path = self.root / name
        try:
            text = path.read_text(encoding="utf-8-sig", errors="replace")
        except OSError as problem:
            raise NoFile(name, by, problem.strerror or "it cannot be read") from None
        self.files.append(name)
        for number, line in _lines(text):
            self.take(requirement(line, name, number), depth, constrains)

    def all(self) -> Requirements:
        return Requirements(
            wanted=tuple(self.wanted),
            constraints=tuple(self.constraints),
            options=tuple(self.options),
            foreign=tuple(self.foreign),
            files=tuple(dict.fromkeys(self.files)),
        )

    def take(self, one: Requirement, depth: int = 0, constrains: bool = False) -> None:
        words = one.text.split(None, 1)
        option, _, value = words[0].partition("=")
        value = value or (words[1].strip() if len(words) > 1 else "")
        if option in ("-r", "--requirement", "-c", "--constraint"):
            if depth >= _DEEPEST:
                raise NoFile(value, f"{one.file}:{one.line}", "files include each other without an end")
            beside = str(Path(one.file).parent / value)
            self.read(beside, f"{one.file}:{one.line}", depth + 1, constrains or option in ("-c", "--constraint"))
        elif option.startswith("-"):
            self._option(one, option, value)
        elif _is_foreign(one.text):
            self.foreign.append(one)
        else:
            (self.constraints if constrains else self.wanted).append(one)

    def _option(self, one: Requirement, option: str, value: str) -> None:
        if option in _VALUED:
            self.options += [_VALUED[option], self._beside(one, value)]
        elif option in _BARE:
            self.options.append(option)
        elif option not in _PASSED_OVER:
            self.foreign.append(one)

    def _beside(self, one: Requirement, value: str) -> str:
        """A folder of wheels counts from the file that names it."""
        value = value.strip("'\"")
        here = self.root / Path(one.file).parent / value
        return value if "://" in value or not here.exists() else str(here)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """A backslash at its end makes a line go on; the number is that of its first part."""
    parts: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.rstrip().endswith("\\") and not line.lstrip().startswith("#"):
            parts.append(line.rstrip()[:-1])
            continue
        whole = _COMMENT.sub("", " ".join([*parts, line])).strip()
        if whole:
            yield first, whole
        parts, first = [], 0
    if whole := _COMMENT.sub("", " ".join(parts)).strip():
        yield first, whole


def _is_foreign(text: str) -> bool:
    """Folders, files and repositories: what has no version and no digest that anybody could look up."""
    head = text.partition(";")[0].strip()
    where = head.partition("@")[2].strip() if re.match(r"[\w.-]+\s*(\[[^\]]*\])?\s*@", head) else head
    return "://" in where or where.startswith(("./", "../", "/", "~", "file:")) or where == "." or "/" in where


def _bare(text: str) -> str:
    """Without digests."""
    return re.sub(r"\s--hash[=\s]\S+", "", text)
