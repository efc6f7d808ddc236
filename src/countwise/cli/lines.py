"""Posteriors and labels as lines of CSV: whole columns of bytes, no loop over rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

#: Digits after the point of a probability in CSV.
DIGITS = 6
_MILLION = 10**DIGITS
_THOUSAND = np.uint32(1000)


def _words(pattern: str, numbers: int) -> NDArray[np.uint64]:
    """Return eight bytes a number, to be put together with others by *or*."""
    texts = [pattern.format(number).replace("-", "\0").encode() for number in range(numbers)]
    return np.frombuffer(b"".join(texts), dtype=np.uint64)


_ONES = _words("{:01d}.------", 2)
_UPPER = _words("--{:03d}---", 1000)
_LOWER = _words("-----{:03d}", 1000)


def quoted(text: str) -> bytes:
    """Return a cell of CSV, in quotes where it needs them."""
    cell = text.replace("\0", "")
    if any(sign in cell for sign in ',"\r\n') or cell != cell.strip():
        cell = '"' + cell.replace('"', '""') + '"'
    return cell.encode("utf-8", "replace")


def text_cells(codes: NDArray[Any], levels: Sequence[Any]) -> Bytes:
    """Return one cell a row, padded with zero bytes; code -1 is an empty cell."""
    cells = np.array([*(quoted(str(level)) for level in levels), b""])
    width = max(cells.dtype.itemsize, 1)
    chosen = cells.astype(f"S{width}")[codes]
    padded: Bytes = chosen.view(np.uint8).reshape(len(codes), width)
    return padded


def share_cells(shares: NDArray[np.float64]) -> Bytes:
    """Return one cell a row, ``0.123457``."""
    whole = np.rint(shares * _MILLION).astype(np.uint32)
    thousands = whole // _THOUSAND
    ones = thousands // _THOUSAND
    words = _ONES[ones]
    words |= _UPPER[thousands - ones * _THOUSAND]
    words |= _LOWER[whole - thousands * _THOUSAND]
    cells: Bytes = words.view(np.uint8).reshape(-1, 2 + DIGITS)
    return cells


def csv_lines(columns: Sequence[Bytes]) -> bytes:
    """Put cells side by side, commas between them, and leave the padding out."""
    fields: list[tuple[str, str]] = []
    for place, column in enumerate(columns):
        fields += [(f"cell {place}", f"V{column.shape[1]}"), (f"sign {place}", "u1")]
    lines = np.empty(len(columns[0]), dtype=fields)
    for place, column in enumerate(columns):
        cells = np.ascontiguousarray(column)
        lines[f"cell {place}"] = cells.view(f"V{column.shape[1]}").ravel()
        lines[f"sign {place}"] = ord("\n") if place == len(columns) - 1 else ord(",")
    flat = lines.view(np.uint8)
    return bytes(flat[flat != 0].tobytes())
