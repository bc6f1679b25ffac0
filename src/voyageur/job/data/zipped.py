"""A zip archive behind the same face as a pack. Members that are not compressed are read without a copy."""

import os
import zipfile
import zlib
from typing import Any, Tuple

from voyageur.job.data.errors import BrokenPack, DataError, NotAPack
from voyageur.job.data.folder import Listed
from voyageur.job.data.source import FileSource

_LOCAL = 30  # bytes of a local header before the name


class ZipPack(Listed):
    def __init__(self, path: str) -> None:
        absolute = os.path.abspath(path)
        self._source = FileSource(absolute)
        try:
            with zipfile.ZipFile(absolute) as archive:
                infos = [info for info in archive.infolist() if not info.is_dir()]
        except zipfile.BadZipFile as problem:
            raise BrokenPack("%s is no whole zip archive" % absolute, [str(problem)]) from None
        self._infos = {_raw_name(info): info for info in infos}
        super().__init__(absolute, list(self._infos))

    def __reduce__(self) -> Tuple[Any, ...]:
        return ZipPack, (self.path,)

    def _info(self, number: int) -> zipfile.ZipInfo:
        return self._infos[self._names[number]]

    def _size(self, number: int) -> int:
        return self._info(number).file_size

    def _view(self, number: int) -> memoryview:
        info = self._info(number)
        if info.flag_bits & 1:
            raise NotAPack("%s in %s is encrypted" % (info.filename, self.path))
        head = self._source.view(info.header_offset, _LOCAL)
        if bytes(head[:4]) != b"PK\x03\x04":
            raise BrokenPack("%s is broken" % self.path, ["%s is not where its directory says" % info.filename])
        names = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        packed = self._source.view(info.header_offset + _LOCAL + names, info.compress_size)
        return packed if info.compress_type == zipfile.ZIP_STORED else memoryview(self._inflated(info, packed))

    def _inflated(self, info: zipfile.ZipInfo, packed: memoryview) -> bytes:
        if info.compress_type != zipfile.ZIP_DEFLATED:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(info)
        try:
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, info.file_size)
        except zlib.error as problem:
            raise BrokenPack("%s in %s is broken" % (info.filename, self.path), [str(problem)]) from None
        if zlib.crc32(content) != info.CRC:
            raise BrokenPack("%s in %s is broken" % (info.filename, self.path), ["its checksum is not right"])
        return content

    def _read(self, number: int) -> bytes:
        try:
            return bytes(self._view(number))
        except (NotImplementedError, zipfile.BadZipFile) as problem:
            raise DataError(
                "%s cannot be read from %s" % (self._info(number).filename, self.path), [str(problem)]
            ) from None


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    """As it stands in the archive; without the flag for UTF-8, the library read it as code page 437."""
    return info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
