"""Arrays as npy bytes: a header that any NumPy reads, and a reader that evaluates nothing."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise.store.flaws import UnsoundError

#: The two kinds of numbers there are: counts and sums, and the cells of a grid.
Kind = Literal["<f8", "<i8"]
#: The longest header that is looked at.
MOST_HEADER = 4096

_CHUNK = 1 << 22
_MAGIC = re.compile(rb"\x93NUMPY\x01\x00(..)", re.DOTALL)
_HEADER = re.compile(
    rb"\{'descr': '(<f8|<i8)', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,15}, )*(?:\d{1,15},?)?)\), \} *\n"
)


def axes_of(array: NDArray[Any]) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest, as the array lies in memory.

    A sum over an axis rounds by the order its parts lie in; to get equal bits from a saved table,
    that order must come back too.
    """
    every = range(array.ndim)
    if array.flags.c_contiguous:
        return tuple(every)
    return tuple(sorted(every, key=lambda axis: -abs(array.strides[axis])))


def header_of(kind: Kind, shape: tuple[int, ...]) -> bytes:
    """Return the npy header of an array in C order."""
    out = io.BytesIO()
    plain = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, plain)
    return out.getvalue()


def contents(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array in C order without copying them."""
    return array.reshape(-1).view(np.uint8)


def size_of(kind: Kind, shape: tuple[int, ...]) -> int:
    """Return how many bytes the file of such an array has."""
    return len(header_of(kind, shape)) + 8 * math.prod(shape)


def read_array(
    read: Callable[[int], bytes], kind: Kind, shape: tuple[int, ...], name: str
) -> NDArray[Any]:
    """Read an array of known kind and shape; refuse any other before making room for it."""
    start = _MAGIC.fullmatch(_exactly(read, 10, name))
    length = int.from_bytes(start.group(1), "little") if start else MOST_HEADER + 1
    head = _HEADER.fullmatch(_exactly(read, length, name)) if length <= MOST_HEADER else None
    if head is None:
        raise UnsoundError(f"holds an array {name!r} whose header is not that of a plain npy file")
    found = tuple(int(size) for size in re.findall(rb"\d+", head.group(2)))
    if head.group(1).decode() != kind or found != shape:
        raise UnsoundError(
            f"must hold {kind} of shape {shape} in {name!r}, but {head.group(1).decode()} of shape "
            f"{found} is there"
        )
    array = np.empty(shape, dtype=kind)
    room = contents(array)
    for place in range(0, len(room), _CHUNK):
        part = _exactly(read, min(_CHUNK, len(room) - place), name)
        room[place : place + len(part)] = np.frombuffer(part, dtype=np.uint8)
    if read(1):
        raise UnsoundError(f"holds more than its header says in {name!r}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _exactly(read: Callable[[int], bytes], size: int, name: str) -> bytes:
    parts = []
    while size > 0:
        part = read(size)
        if not part:
            raise UnsoundError(f"ends too early in {name!r}")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
