"""The blocks of a tar: made the same way every time, and read whoever made them (POSIX, GNU, old ones)."""

import functools
import re
from typing import Dict, Iterator, NamedTuple, Optional, Tuple, Union

from voyageur.job.data.errors import BrokenPack, NotAPack

BLOCK = 512
RECORD = 20 * BLOCK
MOMENT = 1_000_000_000  # 2001-09-09: the time of everything in a pack, so that equal contents make equal packs

FILE, HARD_LINK, LINK, FOLDER = b"0", b"1", b"2", b"5"
SPARSE, OTHER = b"S", b"?"

_LONGEST_SIZE = 8**11 - 1
_EMPTY = bytes(BLOCK)

Buffer = Union[bytes, memoryview]


class Member(NamedTuple):
    name: bytes
    offset: int  # of its contents
    size: int
    kind: bytes
    target: bytes = b""  # of a link


# ── making ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def padding(size: int) -> bytes:
    return bytes(-size % BLOCK)


def end_of_archive(size: int) -> bytes:
    """Two empty blocks, and what fills the last record: other programs read tars by records of 10 KiB."""
    return bytes(2 * BLOCK + -(size + 2 * BLOCK) % RECORD)


def header(name: bytes, size: int, mode: int = 0o644, kind: bytes = FILE, target: bytes = b"") -> bytes:
    """One block in the usual case; three or more when the name or the size do not fit into one."""
    if len(name) <= 100 and size <= _LONGEST_SIZE and not target:
        return _simple(name, size, mode, kind)
    split = _split(name)
    prefix, last = split or (b"", name[:100])
    before = _before(b"" if split else name, size, target)
    return before + _block(last, prefix, min(size, _LONGEST_SIZE), mode, kind, target[:100])


def _before(name: bytes, size: int, target: bytes) -> bytes:
    """What does not fit. POSIX has it in UTF-8; for names that are none, GNU's way is understood everywhere."""
    facts, blocks = [], b""
    for key, kind, text in ((b"path", b"L", name), (b"linkpath", b"K", target if len(target) > 100 else b"")):
        if text and _is_utf8(text):
            facts.append((key, text))
        elif text:
            blocks += (
                _block(b"././@LongLink", b"", len(text) + 1, 0o644, kind, b"") + text + b"\0" + padding(len(text) + 1)
            )
    if size > _LONGEST_SIZE:
        facts.append((b"size", b"%d" % size))
    if facts:
        body = b"".join(_fact(key, value) for key, value in facts)
        blocks = _block(b"PaxHeader", b"", len(body), 0o644, b"x", b"") + body + padding(len(body)) + blocks
    return blocks


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _simple(name: bytes, size: int, mode: int, kind: bytes) -> bytes:
    """A million of these are made: what is the same in all of them is added up once."""
    front, back, total = _same_in_all(mode, kind)
    digits = b"%011o" % size
    total += sum(name) + sum(digits)
    return b"%s%s%s%s%06o\0 %s" % (name.ljust(100, b"\0"), front, digits, _TIME, total, back)


_TIME = b"\0%011o\0" % MOMENT


@functools.lru_cache(maxsize=None)
def _same_in_all(mode: int, kind: bytes) -> Tuple[bytes, bytes, int]:
    block = _block(b"", b"", 0, mode, kind, b"")
    front, back = block[100:124], block[156:]
    return front, back, sum(front) + sum(_TIME) + 8 * 32 + sum(back)


def _split(name: bytes) -> Optional[Tuple[bytes, bytes]]:
    """Prefix and name, where they fit into their fields."""
    if len(name) <= 100:
        return b"", name
    cut = name.find(b"/", len(name) - 101, 156)
    return (name[:cut], name[cut + 1 :]) if 0 < cut < len(name) - 1 else None


def _fact(key: bytes, value: bytes) -> bytes:
    """`LENGTH key=value`, where the length counts its own digits."""
    rest = len(key) + len(value) + 3
    length = rest + len(str(rest))
    if len(str(length)) != len(str(rest)):
        length += 1
    return b"%d %s=%s\n" % (length, key, value)


def _block(name: bytes, prefix: bytes, size: int, mode: int, kind: bytes, target: bytes) -> bytes:
    middle = b"%011o\0%011o\0        %s" % (size, MOMENT, kind)
    front = b"%s%07o\0%s%s" % (name.ljust(100, b"\0"), mode, b"0000000\0" * 2, middle)
    tail = b"ustar\00000" + bytes(64) + b"0000000\0" * 2 + prefix.ljust(155, b"\0") + bytes(12)
    block = front + target.ljust(100, b"\0") + tail
    return b"%s%06o\0 %s" % (block[:148], sum(block), block[156:])


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_COMPRESSED = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
)


def compression(start: bytes) -> Optional[str]:
    """Of a file that starts like this; a tar may start like anything, with the name of its first member."""
    return None if is_header(start) else next((name for magic, name in _COMPRESSED if start.startswith(magic)), None)


def is_header(block: Buffer) -> bool:
    """Whether its checksum is right; some old programs added the bytes as signed numbers."""
    if len(block) < BLOCK:
        return False
    whole = bytes(block[:BLOCK])
    told = _number(whole[148:156])
    found = sum(whole) - sum(whole[148:156]) + 8 * 32
    return told == found or told == found - 256 * sum(byte > 127 for byte in whole[:148] + whole[156:])


def check_kind(start: bytes, path: str) -> None:
    """Says what it is instead, when it is no tar."""
    if not start:
        raise NotAPack("%s is empty" % path)
    how = compression(start)
    if how:
        raise NotAPack(
            "%s is compressed with %s: its members cannot be read in place" % (path, how),
            hint="`voy data pack %s NEW.tar` makes a pack of it" % path,
        )
    if bytes(start[:BLOCK]) != _EMPTY[: len(start)] and not is_header(start):
        raise NotAPack("%s is no tar archive" % path, hint="`voy data pack FOLDER NEW.tar` makes a pack of a folder")


class Scan:
    """Goes from header to header. `buffer` is the whole archive, mapped, so that contents are never touched."""

    def __init__(self, buffer: Buffer, path: str) -> None:
        self.buffer = buffer
        self.path = path
        self.size = len(buffer)
        self.end = 0  # where the last member that was whole ends
        self._for_all: Dict[bytes, bytes] = {}

    def __iter__(self) -> Iterator[Member]:
        check_kind(bytes(self.buffer[:BLOCK]), self.path)
        at = 0
        facts: Dict[bytes, bytes] = {}
        while True:
            block = bytes(self.buffer[at : at + BLOCK])
            if len(block) < BLOCK:
                raise self._broken("it ends at byte %d without an end mark: it was cut off" % self.size)
            if not block[0] and block == _EMPTY:
                return
            if not is_header(block):
                raise self._broken("byte %d should begin a member, and does not" % at)
            kind = block[156:157]
            if kind in (b"x", b"X", b"g", b"L", b"K"):
                at = self._take_facts(at, block, kind, facts)
                continue
            if self._for_all:
                facts = {**self._for_all, **facts}
            member, at = self._member(at, block, kind, facts)
            facts = {}
            self.end = at
            yield member

    def _broken(self, fact: str) -> BrokenPack:
        return BrokenPack("%s is broken" % self.path, [fact], "fetch or pack it again")

    def _take_facts(self, at: int, block: bytes, kind: bytes, facts: Dict[bytes, bytes]) -> int:
        size = self._size_told(at, block, {})
        body = bytes(self._contents(at + BLOCK, size))
        if kind == b"L":
            facts[b"path"] = body.rstrip(b"\0")
        elif kind == b"K":
            facts[b"linkpath"] = body.rstrip(b"\0")
        elif kind == b"g":
            self._for_all.update(self._facts(at, body))
        else:
            facts.update(self._facts(at, body))
        return at + BLOCK + size + -size % BLOCK

    def _facts(self, at: int, body: bytes) -> Dict[bytes, bytes]:
        found, start = {}, 0
        while start < len(body) and body[start]:
            length = re.compile(rb"(\d{1,20}) ").match(body, start)
            end = start + int(length.group(1)) if length else 0
            if not length or end <= length.end() or end > len(body):
                raise self._broken("the extended header at byte %d cannot be read" % at)
            key, _, value = body[length.end() : end - 1].partition(b"=")
            found[key] = value
            start = end
        return found

    def _member(self, at: int, block: bytes, kind: bytes, facts: Dict[bytes, bytes]) -> Tuple[Member, int]:
        name = facts.get(b"path") or name_in(block)
        kind = _kind(kind, name, facts)
        size = self._size_told(at, block, facts) if kind in (FILE, SPARSE, OTHER) else 0
        start = at + BLOCK
        if kind == SPARSE and block[156] == SPARSE[0]:
            start = self._after_sparse_map(start, block)
        self._check_room(start, size)
        target = facts.get(b"linkpath") or _text(block[157:257])
        return Member(name, start, size, kind, target), start + size + -size % BLOCK

    def _size_told(self, at: int, block: bytes, facts: Dict[bytes, bytes]) -> int:
        told = facts.get(b"size")
        size = int(told) if told and told.isdigit() and len(told) < 20 else _number(block[124:136])
        if size is None or size < 0:
            raise self._broken("the member at byte %d has no size" % at)
        return size

    def _contents(self, start: int, size: int) -> Buffer:
        self._check_room(start, size)
        return self.buffer[start : start + size]

    def _check_room(self, start: int, size: int) -> None:
        if start + size > self.size:
            raise self._broken("it was cut off: a member reaches to byte %d of %d" % (start + size, self.size))

    def _after_sparse_map(self, start: int, block: bytes) -> int:
        """Old GNU tar: the map of the holes may go on in further blocks."""
        more = block[482]
        while more:
            more = self._contents(start, BLOCK)[504]
            start += BLOCK
        return start


def _kind(kind: bytes, name: bytes, facts: Dict[bytes, bytes]) -> bytes:
    if facts and any(key.startswith(b"GNU.sparse") for key in facts):
        return SPARSE
    if kind == b"\0" and name.endswith(b"/"):
        return FOLDER  # as it was before POSIX
    if kind in (b"0", b"\0", b"7"):
        return FILE
    return kind if kind in (HARD_LINK, LINK, FOLDER, SPARSE) else OTHER


def _text(field: Buffer) -> bytes:
    return bytes(field).partition(b"\0")[0]


def name_in(block: Buffer) -> bytes:
    # GNU tar's own headers end with two blanks, and hold times where POSIX has the prefix
    prefix = _text(block[345:500]) if bytes(block[257:263]) == b"ustar\0" else b""
    name = _text(block[:100])
    return prefix + b"/" + name if prefix else name


def mode_in(block: Buffer) -> int:
    return (_number(block[100:108]) or 0) & 0o777


def _number(field: Buffer) -> Optional[int]:
    """Octal digits; or GNU's way for large ones: the first bit set, then plain binary."""
    if field[0] & 0x80:
        return int.from_bytes(bytes(field[1:]), "big") if field[0] == 0x80 else -1
    digits = bytes(field).partition(b"\0")[0].strip()
    if not digits:
        return 0
    return int(digits, 8) if digits.translate(None, b"01234567") == b"" else None
