"""Deal rows outside memory to folds, and to the slices of a learning curve.

Where a row goes follows from a hash of where it is (its file or partition and its number there) or
of its group, never from its content or the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.evaluation.folds import Rows, group_rows
from countwise.tables.scan import Block
from countwise.tables.scan_sample import hash_rows
from countwise.tables.table import Table

Hashes = NDArray[np.uint64]


class Place(NamedTuple):
    """A fold of a repeat and a slice of the curve, by their numbers.

    The model of a place is tested on the rows of its fold, and trained on those rows of all other
    folds that are in its slice or in one before it.
    """

    repeat: int
    fold: int
    slice: int = 0


class Dealt(NamedTuple):
    """The fold and the slice of each row of a block, one column a repeat.

    Rows of the slice `never` are not trained on.
    """

    folds: NDArray[np.intp]
    slices: NDArray[np.intp]
    never: int

    def trains(self, place: Place) -> NDArray[np.bool_]:
        """Return which rows the model of a place is trained on."""
        others = self.folds[:, place.repeat] != place.fold
        return np.asarray(others & (self.slices[:, place.repeat] <= place.slice))

    def parts(self, places: Sequence[Place]) -> Iterator[tuple[Place, Rows]]:
        """Yield rows in parts, of which the training rows of these places are sums.

        Folds that no place leaves out are one part, which has the number after the last of the
        others. A slice goes with the next one that some place ends with.
        """
        for repeat in sorted({place.repeat for place in places}):
            left_out = np.unique([place.fold for place in places if place.repeat == repeat])
            ends = np.unique([place.slice for place in places if place.repeat == repeat])
            folds, others = self.folds[:, repeat], int(left_out[-1]) + 1
            folds = np.where(np.isin(folds, left_out), folds, others)
            slices = np.searchsorted(ends, self.slices[:, repeat])
            never = (others + 1) * len(ends)
            numbers = np.where(slices < len(ends), folds * len(ends) + slices, never)
            groups = group_rows(numbers.astype(np.min_scalar_type(never)), never)
            for number, rows in enumerate(groups):
                if len(rows):
                    fold, end = divmod(number, len(ends))
                    yield Place(repeat, fold, int(ends[end])), rows


@dataclass(frozen=True)
class Dealing:
    """How rows are dealt: to folds, or to a hold-out and the rest, and to slices of a curve."""

    seed: int
    repeats: int
    #: The number of folds; the first is the hold-out, and the only one tested, if there is one.
    folds: int
    holdout: float | None = None
    #: The training sets as fractions of the rows that may be trained on, in ascending order.
    fractions: tuple[float, ...] = (1.0,)
    groups: str | None = None
    #: The fraction of the rows of a fold that are tested.
    tested: float = 1.0

    @property
    def tested_folds(self) -> list[Place]:
        """Every fold of every repeat that is tested, with the first slice."""
        folds = self.folds if self.holdout is None else 1
        return [Place(repeat, fold) for repeat in range(self.repeats) for fold in range(folds)]

    @property
    def places(self) -> list[Place]:
        """Every fold that is tested with every size of its training set."""
        sizes = range(len(self.fractions))
        return [Place(at.repeat, at.fold, size) for at in self.tested_folds for size in sizes]

    @property
    def is_plain(self) -> bool:
        """Whether the fold of a row is its hash modulo the number of folds, and all is tested."""
        is_whole = self.holdout is None and self.fractions == (1.0,) and self.tested == 1.0
        return is_whole and self.groups is None

    def deal(self, block: Block) -> Dealt:
        """Return the fold and the slice of each row of a block."""
        folds, slices = [], []
        never = len(self.fractions)
        for repeat in range(self.repeats):
            fold = self._fold(block, self.seed + repeat)
            place = np.zeros(len(fold), dtype=np.intp)
            if self.fractions != (1.0,):
                drawn = to_fractions(self._hash(block, f"{self.seed + repeat} slice"))
                place = np.searchsorted(self.fractions, drawn, side="right")
            if self.holdout is not None:
                place = np.where(fold == 0, never, place)
            folds.append(fold)
            slices.append(place)
        return Dealt(np.stack(folds, axis=1), np.stack(slices, axis=1), never)

    def tests(self, block: Block, dealt: Dealt, place: Place) -> Rows:
        """Return the rows of a block that the model of a place is tested on."""
        rows = np.flatnonzero(dealt.folds[:, place.repeat] == place.fold)
        if self.tested < 1.0:
            numbered = replace(block, numbers=block.numbers[rows])
            drawn = to_fractions(hash_rows(numbered, f"{self.seed + place.repeat} test"))
            rows = rows[drawn < self.tested]
        return rows

    def _fold(self, block: Block, seed: int) -> NDArray[np.intp]:
        hashes = self._hash(block, seed)
        if self.holdout is not None:
            return np.asarray(to_fractions(hashes) >= self.holdout).astype(np.intp)
        return (hashes % np.uint64(self.folds)).astype(np.intp)

    def _hash(self, block: Block, seed: int | str) -> Hashes:
        if self.groups is None:
            return hash_rows(block, seed)
        return hash_groups(block.table, self.groups, seed)


def to_fractions(hashes: Hashes) -> NDArray[np.float64]:
    """Return hashes as numbers from 0 to below 1."""
    return np.asarray((hashes >> np.uint64(11)) * 2.0**-53)


def hash_groups(table: Table, name: str, seed: int | str) -> Hashes:
    """Return a hash of the group of each row and a seed; rows without one are a group."""
    column, cells = table.schema[name], table.raw_array(name)
    texts: Sequence[Any]
    if column.coded:
        texts, places = [*column.levels, None], np.asarray(cells, dtype=np.int64)
    else:
        values, places = np.unique(np.asarray(cells, dtype=np.float64), return_inverse=True)
        texts = values.tolist()
    hashes = [blake2b(f"{seed} {text}".encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)[places.reshape(-1)]
