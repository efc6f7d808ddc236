"""Rows of cells as aligned lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

#: More lines than these are cut.
MAX_LINES = 20
_WIDEST_CELL = 60


def align(rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> Iterator[str]:
    """Yield the rows as lines with aligned columns; those at the places `numbers` to the right."""
    every = list(rows)
    lines = [[_short(cell) for cell in row] for row in every[:MAX_LINES]]
    widths = [max(map(len, cells)) for cells in zip_longest(*lines, fillvalue="")]
    right = set(numbers)
    for line in lines:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=False))
        ]
        yield f"  {'  '.join(cells)}".rstrip()
    if len(every) > MAX_LINES:
        yield f"  … and {len(every) - MAX_LINES} more"


def _short(cell: object) -> str:
    text = " ".join(str(cell).split())
    return text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 1]}…"
