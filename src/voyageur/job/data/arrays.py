"""numpy arrays from members, over the same bytes where those lie in memory."""

import ast
import io
from typing import Any

import numpy as np

from voyageur.job.data.errors import NotAPack

_MAGIC = b"\x93NUMPY"


def array_in(view: memoryview, name: str) -> Any:
    """Never unpickles: an array of objects is refused."""
    if bytes(view[:4]) == b"PK\x03\x04":
        return np.load(io.BytesIO(view), allow_pickle=False)
    if bytes(view[:6]) != _MAGIC:
        raise NotAPack("%s is no numpy array" % name, ["`.npy` and `.npz` members are"])
    wide = view[6] > 1
    start = 12 if wide else 10
    length = int.from_bytes(view[8:start], "little")
    try:
        told = ast.literal_eval(bytes(view[start : start + length]).decode("utf-8" if view[6] > 2 else "latin-1"))
        kind, shape = np.dtype(told["descr"]), tuple(told["shape"])
        if kind.hasobject:
            raise NotAPack("%s holds Python objects, which are not read" % name)
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(view, kind, count, start + length) if count else np.empty(0, kind)
        return flat.reshape(shape[::-1]).T if told["fortran_order"] else flat.reshape(shape)
    except (KeyError, SyntaxError, TypeError, ValueError) as problem:
        raise NotAPack("%s is no whole numpy array" % name, [str(problem)]) from None
