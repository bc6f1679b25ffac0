"""The checksum of TFRecord. Python has none of this kind: by a table, or by google-crc32c, which is quick."""

from __future__ import annotations

from collections.abc import Callable

_POLYNOMIAL = 0x82F63B78


def _row(number: int) -> int:
    for _ in range(8):
        number = number >> 1 ^ (_POLYNOMIAL if number & 1 else 0)
    return number


_TABLE = tuple(_row(number) for number in range(256))


def by_table(content: bytes | memoryview) -> int:
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _best() -> Callable[[bytes | memoryview], int]:
    try:
        from google_crc32c import value
    except ImportError:
        return by_table
    return lambda content: int(value(bytes(content)))


crc32c = _best()


def masked(content: bytes | memoryview) -> int:
    """As TFRecord has it: a checksum of data that holds its own checksum would say nothing."""
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
