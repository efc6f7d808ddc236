"""The neighbours of every row among all others, in spaces that were learned without that row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.neighbors.fit_space import Wanted, left_out_spaces, spaces_of_powers
from countwise.models.neighbors.index import found_rows
from countwise.models.neighbors.search import searches
from countwise.models.neighbors.votes import Electorate, Found
from countwise.tables.table import Table

Rows = NDArray[np.int64]
Progress = Callable[[int, int, str], None]


class Steps:
    """Counts steps that several threads take, and tells them one at a time."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        self._lock = Lock()

    def tell(self, text: str) -> None:
        """One step more is done."""
        if self._progress is not None:
            with self._lock:
                self._done += 1
                self._progress(self._done, self._total, text)


def found_without(
    wanted: Wanted,
    table: Table,
    weight: FloatArray | None,
    electorate: Electorate,
    k: int,
    powers: Sequence[float],
    progress: Progress | None = None,
) -> list[Found]:
    """Find, for each exponent, the neighbours of every row; about one search of all rows in all.

    Each answer is that of a space learned from the other rows alone: the rows stand in one space,
    and a row compares them by figures from which it was subtracted. What cannot be told by
    subtraction is learned anew: everything where attributes are weighed by hits and misses, and
    the covariance without rows that hold most of it, with missing numbers or where it is singular.
    """
    made = _Lists(len(table), min(k, len(table) - 1), electorate.width, len(powers))
    learned = left_out_spaces(wanted, table, weight, powers)
    anew = np.arange(len(table)) if learned is None else np.flatnonzero(learned.unsure)
    chunks = [] if learned is None else learned.chunks()
    steps = Steps(progress, len(anew) + len(chunks) * len(powers))
    if learned is not None:
        for place, shared in enumerate(searches(learned.spaces if chunks else (), table)):
            for rows in chunks:
                search = shared.leaving_out(learned.figures(shared.space, rows))
                made.fill(place, rows, found_rows(search, electorate, table.take(rows), k, rows))
                steps.tell(f"{len(rows)} rows")
    for row in anew:
        for place, own in enumerate(
            relearned_without(wanted, table, weight, electorate, k, powers, int(row))
        ):
            made.fill(place, np.array([row]), own)
        steps.tell(f"row {row + 1}")
    return made.found


def relearned_without(
    wanted: Wanted,
    table: Table,
    weight: FloatArray | None,
    electorate: Electorate,
    k: int,
    powers: Sequence[float],
    row: int,
) -> list[Found]:
    """Find the neighbours of one row in spaces that are learned for it from all other rows."""
    others = np.delete(np.arange(len(table)), row)
    own = None if weight is None else weight[others]
    spaces = spaces_of_powers(wanted, table.take(others), own, powers)
    asked, skip = table.take([row]), np.array([row], dtype=np.int64)
    return [found_rows(search, electorate, asked, k, skip) for search in searches(spaces, table)]


class _Lists:
    """Lists of neighbours that are filled in part by part."""

    def __init__(self, rows: int, size: int, width: int, powers: int) -> None:
        self.found = [
            Found(
                np.zeros((rows, size), dtype=np.int64),
                np.zeros((rows, size)),
                np.zeros((rows, width + 1)),
            )
            for _ in range(powers)
        ]

    def fill(self, place: int, rows: Rows, own: Found) -> None:
        made = self.found[place]
        made.who[rows], made.far[rows], made.edge[rows] = own.who, own.far, own.edge
