"""TFRecord: a sample is a record, its `name` and each of its extensions a feature of bytes. Beside it, DALI's index."""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

from voyageur.data.forms import example
from voyageur.data.forms.crc32c import masked
from voyageur.data.forms.form import Chosen, Form, Located, Written
from voyageur.errors import SpecError
from voyageur.job.data import BrokenPack, NotAPack
from voyageur.job.data.index import extension_of, sample_of
from voyageur.job.data.source import FileSource

_LENGTH = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_NAME = b"name"
_LARGEST = (1 << 31) - (1 << 16)  # protobuf's limit, less what stands around it


def _open(path: str, _: str) -> Located:
    source = FileSource(path)
    places: dict[bytes, tuple[int, int]] = {}
    for offset, record in _records(source):
        try:
            features = example.decode(record)
        except example.Malformed as problem:
            raise NotAPack(f"{path} holds something else than files", [f"at byte {offset}: {problem}"]) from None
        if _NAME not in features:
            raise NotAPack(f"{path} holds no names", [f"the record at byte {offset} has no feature `name`"])
        start, size = features.pop(_NAME)
        sample = bytes(record[start : start + size])
        for extension, (start, size) in features.items():
            name = sample + b"." + extension if extension else sample
            if name in places:
                raise BrokenPack(f"{path} has several members of one name", [name.decode(errors="replace")])
            places[name] = (offset + start, size)
    return Located(path, source, places)


def _records(source: FileSource) -> Iterator[tuple[int, memoryview]]:
    """Where each begins, and its bytes; all checksums are compared."""
    at = 0
    while at < source.size:
        if source.size - at < _LENGTH.size + _CRC.size:
            raise _broken(source, at, "it was cut off")
        head = source.view(at, _LENGTH.size)
        length, crc = _LENGTH.unpack(head)
        if masked(head[:8]) != crc:
            raise _broken(source, at, "the checksum of a length is not right")
        at += _LENGTH.size
        if length > source.size - at - _CRC.size:
            raise _broken(source, at, "it was cut off")
        record = source.view(at, length)
        if masked(record) != _CRC.unpack(source.view(at + length, _CRC.size))[0]:
            raise _broken(source, at, "the checksum of a record is not right")
        yield at, record
        at += length + _CRC.size


def _broken(source: FileSource, at: int, why: str) -> BrokenPack:
    return BrokenPack(f"{source.path} is broken", [f"at byte {at}: {why}"], "fetch it again")


def _write(chosen: Chosen, path: str, done: Written) -> None:
    at = 0
    with open(path, "xb") as file, open(path + ".idx", "x") as index:
        for sample, members in itertools.groupby(chosen, lambda pair: sample_of(pair[0])):
            features = {extension_of(name): content for name, content in members}
            size = sum(map(len, features.values()))
            if size > _LARGEST:
                raise SpecError(f"{os.fsdecode(sample)} is too large", facts=[f"a record has {_LARGEST} bytes at most"])
            length = _put(file, example.encode({_NAME: sample, **features}))
            index.write(f"{at} {length}\n")
            at += length
            done(len(features), size)


def _put(file: BinaryIO, record: bytes) -> int:
    length = struct.pack("<Q", len(record))
    file.writelines((length, _CRC.pack(masked(length)), record, _CRC.pack(masked(record))))
    return len(record) + _LENGTH.size + _CRC.size


def _refuses(name: bytes, size: int) -> str:
    extension = extension_of(name)
    if extension == _NAME:
        return "the feature `name` is the sample's own"
    if not extension and sample_of(name) != name:
        return "a name that ends in a dot"
    try:
        extension.decode()
    except UnicodeDecodeError:
        return "its extension is not UTF-8"
    return f"larger than {_LARGEST} bytes" if size > _LARGEST else ""


def _is_one(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(_LENGTH.size)
    return len(head) == _LENGTH.size and masked(head[:8]) == _LENGTH.unpack(head)[1]


FORM = Form(
    name="tfrecord",
    endings=(".tfrecord", ".tfrecords"),
    is_one=_is_one,
    open=_open,
    write=_write,
    refuses=_refuses,
    beside=".idx",
)
