"""A dataset as a sequence: by number, by name, in order, as samples. The same face for packs, folders and zips."""

import io
import random
from array import array
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

from voyageur.job.data.index import extension_of, sample_of

Sample = Dict[str, Any]


def as_text(name: bytes) -> str:
    """Names need not be UTF-8; what is not comes back as it was with `as_bytes`."""
    return name.decode("utf-8", "surrogateescape")


def as_bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


class Pack(Sequence[bytes]):
    """`pack[7]`, `pack["val/7.jpg"]`, `for content in pack`. Subclasses say how many there are and where."""

    path: str
    left_out: Dict[str, int] = {}  # noqa: RUF012 - of kinds that cannot be read, how many there are

    # What a subclass has to answer. Numbers that come here are right.

    def _name(self, number: int) -> bytes:
        raise NotImplementedError

    def _find(self, name: bytes) -> Optional[int]:
        raise NotImplementedError

    def _size(self, number: int) -> int:
        raise NotImplementedError

    def _read(self, number: int) -> bytes:
        raise NotImplementedError

    def _view(self, number: int) -> memoryview:
        return memoryview(self._read(number))

    def _samples(self) -> Sequence[int]:
        """The first member of each sample."""
        raise NotImplementedError

    # ── members ──

    @property
    def names(self) -> "Names":
        return Names(self)

    def number(self, which: Union[int, str, bytes]) -> int:
        """A member's number from 0 on, whichever way it is named."""
        if isinstance(which, int):
            count = len(self)
            if 0 <= which < count:
                return which
            if not -count <= which < count:
                raise IndexError("%s has %d members, so there is no number %d" % (self.path, count, which))
            return which + count
        found = self._find(which if isinstance(which, bytes) else as_bytes(which))
        if found is None:
            raise KeyError(which)
        return found

    def read(self, which: Union[int, str, bytes]) -> bytes:
        return self._read(self.number(which))

    def view(self, which: Union[int, str, bytes]) -> memoryview:
        """The contents without a copy where they lie plain in a file; read-only."""
        return self._view(self.number(which))

    def size(self, which: Union[int, str, bytes]) -> int:
        return self._size(self.number(which))

    def file(self, which: Union[int, str, bytes]) -> io.BufferedReader:
        """Something that `PIL.Image.open` and the like can read from."""
        number = self.number(which)
        return io.BufferedReader(_View(self._view(number), as_text(self._name(number))), 1 << 16)

    def array(self, which: Union[int, str, bytes]) -> Any:
        """A `.npy` member as a numpy array over the mapped file, or a `.npz` as a mapping."""
        from voyageur.job.data.arrays import array_in

        return array_in(self.view(which), as_text(self._name(self.number(which))))

    @overload
    def __getitem__(self, which: Union[int, str, bytes]) -> bytes: ...
    @overload
    def __getitem__(self, which: slice) -> List[bytes]: ...
    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return [self._read(number) for number in range(*which.indices(len(self)))]
        return self._read(self.number(which))

    def __iter__(self) -> Iterator[bytes]:
        for number in range(len(self)):
            yield self._read(number)

    def items(self) -> Iterator[Tuple[str, bytes]]:
        for number in range(len(self)):
            yield as_text(self._name(number)), self._read(number)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            return self._find(as_bytes(name)) is not None
        return isinstance(name, bytes) and self._find(name) is not None

    # ── samples, and orders ──

    def samples(self, views: bool = False) -> "Samples":
        """Files with the same name up to the first dot, as WebDataset groups them."""
        return Samples(self, views)

    def shuffled(self, seed: int = 0) -> Sequence[int]:
        return shuffled(len(self), seed)

    # ── the rest ──

    def close(self) -> None:
        """Views that are still used keep what they need."""

    def __enter__(self) -> "Pack":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<%s %s: %d members>" % (type(self).__name__, self.path, len(self))


def shuffled(count: int, seed: int) -> Sequence[int]:
    """All numbers up to count, in an order that the seed alone decides; four bytes each."""
    numbers = array("I", range(count))
    random.Random(seed).shuffle(numbers)  # noqa: S311 - an order, not a secret
    return numbers


class Names(Sequence[str]):
    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    def __len__(self) -> int:
        return len(self._pack)

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice) -> List[str]: ...
    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return [as_text(self._pack._name(number)) for number in range(*which.indices(len(self)))]
        return as_text(self._pack._name(self._pack.number(which)))

    def __iter__(self) -> Iterator[str]:
        return (as_text(self._pack._name(number)) for number in range(len(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._pack

    def index(self, name: Any, start: int = 0, stop: Optional[int] = None) -> int:
        number = self._pack._find(as_bytes(name))
        if number is None or not start <= number < (len(self) if stop is None else stop):
            raise ValueError("%r is no member" % (name,))
        return number


class Samples(Sequence[Sample]):
    """`{"__key__": "train/0001", "jpg": b"...", "cls": b"7"}`"""

    def __init__(self, pack: Pack, views: bool) -> None:
        self.pack = pack
        self.views = views
        self._starts = pack._samples()

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, which: int) -> Sample: ...
    @overload
    def __getitem__(self, which: slice) -> List[Sample]: ...
    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return [self._sample(number) for number in range(*which.indices(len(self)))]
        if not -len(self) <= which < len(self):
            raise IndexError("%s has %d samples, so there is no number %d" % (self.pack.path, len(self), which))
        return self._sample(which % len(self))

    def _sample(self, number: int) -> Sample:
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.pack)
        get = self.pack._view if self.views else self.pack._read
        sample: Sample = {"__key__": as_text(sample_of(self.pack._name(start)))}
        for member in range(start, end):
            sample[as_text(extension_of(self.pack._name(member)))] = get(member)
        return sample

    def shuffled(self, seed: int = 0) -> Sequence[int]:
        return shuffled(len(self), seed)


class _View(io.RawIOBase):
    """A buffer as a file, read without copying it first."""

    def __init__(self, view: memoryview, name: str) -> None:
        self.name = name
        self._view = view
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._view)}[whence]
        if start + offset < 0:
            raise ValueError("negative seek position %d" % (start + offset))
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        piece = self._view[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)
