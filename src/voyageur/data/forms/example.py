"""`tf.train.Example` with nothing but bytes in it, as protobuf writes it: Example(Features(map name -> BytesList))."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_ONE, _TWO = 0x0A, 0x12  # fields 1 and 2, of the kind that has a length
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5


class Malformed(Exception):
    """These bytes are no message."""


def encode(features: Mapping[bytes, bytes | memoryview]) -> bytes:
    return _field(_ONE, b"".join(_feature(key, features[key]) for key in sorted(features)))


def _feature(key: bytes, value: bytes | memoryview) -> bytes:
    return _field(_ONE, _field(_ONE, key) + _field(_TWO, _field(_ONE, _field(_ONE, value))))


def _field(tag: int, content: bytes | memoryview) -> bytes:
    return b"".join((bytes((tag,)), _varint(len(content)), content))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def decode(message: memoryview) -> dict[bytes, tuple[int, int]]:
    """For each feature where its bytes begin in the message, and how many they are."""
    found: dict[bytes, tuple[int, int]] = {}
    for start, end in _parts(message, 0, len(message), 1):
        for first, last in _parts(message, start, end, 1):
            keys = list(_parts(message, first, last, 1))
            values = list(_parts(message, first, last, 2))
            key = bytes(message[slice(*keys[-1])]) if keys else b""
            lists = [one for value in values for one in _parts(message, *value, 1)]
            single = [one for some in lists for one in _parts(message, *some, 1)]
            if len(single) != 1:
                raise Malformed(f"the feature {key.decode(errors='replace')} is not one value of bytes")
            found[key] = (single[0][0], single[0][1] - single[0][0])
    return found


def _parts(message: memoryview, at: int, end: int, wanted: int) -> Iterator[tuple[int, int]]:
    """From where to where each field of that number goes; others are stepped over."""
    while at < end:
        tag, at = _number(message, at, end)
        kind = tag & 7
        if kind == _VARINT:
            after = _number(message, at, end)[1]
        elif kind == _LENGTH:
            length, at = _number(message, at, end)
            after = at + length
        elif kind in (_EIGHT, _FOUR):
            after = at + (8 if kind == _EIGHT else 4)
        else:
            raise Malformed(f"a field of kind {kind}")
        if after > end:
            raise Malformed("a field is longer than its message")
        if tag >> 3 == wanted and kind == _LENGTH:
            yield at, after
        at = after


def _number(message: memoryview, at: int, end: int) -> tuple[int, int]:
    number = shift = 0
    while at < end and shift < 64:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
    raise Malformed("a number that does not end")
