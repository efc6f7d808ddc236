"""Training rows and test rows of every evaluation protocol.

The rows of a repeat are dealt into disjoint blocks, so that each row is counted once. A fold tests
one block and trains on blocks from both ends of their list: its counts are one sum from the front
and one from the back.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from operator import add
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError, did_you_mean, listing, shorten
from countwise.notes import Note
from countwise.numeric import draw_seed
from countwise.params import Parameter, boolean, check, fraction, nothing, seed, whole
from countwise.tables.read import read
from countwise.tables.scan import Scan
from countwise.tables.schema import Level
from countwise.tables.table import Table

Rows = NDArray[np.intp]
Numbers = NDArray[np.unsignedinteger[Any]]
Seed = int | np.random.RandomState | np.random.Generator | None
Kind = Literal["folds", "holdout", "leave-one-out", "given"]

#: The parameters that every protocol shares.
PROTOCOL: dict[str, Parameter] = {
    "repeats": Parameter(whole(at_least=1), "how often the rows are dealt anew"),
    "holdout": Parameter(fraction() | nothing(), "fraction of the rows to test instead of folds"),
    "stratified": Parameter(boolean(), "whether folds keep the class proportions of the table"),
    "random_state": Parameter(seed(), "random seed of the folds"),
}


#: The option of each function that tests every row by itself.
_LEAVE_ONE_OUT = {
    "evaluate": ("`leave_one_out=True`",),
    "neighbor_grid": ("`folds='leave-one-out'`",),
}


class Fold(NamedTuple):
    """The rows a model is trained on, and the rows it is tested on."""

    train: Rows
    test: Rows


class Part(NamedTuple):
    """A fold by its blocks: it tests one, and trains on those before `head` and from `tail` on."""

    head: int
    tail: int
    test: int


@dataclass(frozen=True, eq=False)
class Repeat:
    """Disjoint blocks of rows, and the folds made of them.

    The first `tested` blocks are tested, ``each`` against all others; or the ``last`` one is, again
    and again, against ever more of those before it; or always the ``next`` one, against all those
    before it.
    """

    blocks: tuple[Rows, ...]
    tested: int
    tests: Literal["each", "last", "next"] = "each"

    @classmethod
    def from_numbers(cls, numbers: Numbers, tested: int) -> Repeat:
        """Test the rows of each number below `tested`; rows of that number itself always train."""
        blocks = group_rows(numbers, tested + 1)
        return cls(tuple(block for block in blocks if len(block)), tested)

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return self.tested if self.tests == "each" else len(self.blocks) - 1

    @cached_property
    def parts(self) -> list[Part]:
        """The blocks of every fold."""
        if self.tests == "each":
            return [Part(at, at + 1, at) for at in range(self.tested)]
        last = len(self.blocks) - 1
        return [
            Part(at + 1, last + 1, last if self.tests == "last" else at + 1) for at in range(last)
        ]

    @property
    def trained(self) -> list[int]:
        """The blocks that some fold trains on."""
        if self.tests != "each":
            return list(range(len(self.blocks) - 1))
        return list(range(self.tested == 1, len(self.blocks)))

    def n_trained(self, part: Part) -> int:
        """Return how many rows a fold trains on."""
        return sum(map(len, self.blocks[: part.head])) + sum(map(len, self.blocks[part.tail :]))

    def folds(self) -> Iterator[Fold]:
        """Yield the rows of every fold; training rows in the order of the table."""
        for part in self.parts:
            yield Fold(self.training_rows(part), self.blocks[part.test])

    def training_rows(self, part: Part) -> Rows:
        """Return the rows that a fold trains on, in the order of the table."""
        if self._block_of is None:
            return np.sort(np.concatenate([*self.blocks[: part.head], *self.blocks[part.tail :]]))
        block = self._block_of
        after = (block >= part.tail) & (block < len(self.blocks))
        return np.flatnonzero((block < part.head) | after)

    @cached_property
    def _block_of(self) -> NDArray[Any] | None:
        """The block of each row, one past the last for none; None where rows are there twice."""
        number, rows = len(self.blocks), np.concatenate([*self.blocks, np.zeros(0, np.intp)])
        block = np.full(1 + int(rows.max(initial=-1)), number, dtype=np.min_scalar_type(number))
        for place, inside in enumerate(self.blocks):
            block[inside] = place
        return block if np.count_nonzero(block < number) == len(rows) else None

    def sum_training(self, sums: Mapping[int, Any]) -> list[Any]:
        """Return, for each fold, the sum of what belongs to the blocks it trains on."""
        return sum_training(sums, self.parts, len(self.blocks))


def sum_training(sums: Mapping[int, Any], parts: Sequence[Part], blocks: int) -> list[Any]:
    """Return, for each fold, the sum over the blocks it trains on; None if they have none.

    The folds are in the order of their heads and tails.
    """
    # Sums run from both ends and meet, so that k folds cost about 3 k additions, not k². Of those
    # from the front only the last one is kept, and those from the back are dropped on the way.
    tails = range(min(part.tail for part in parts), blocks)
    back = [None, *accumulate(map(sums.get, reversed(tails)), lambda last, one: _add(one, last))]
    front, head, found = None, 0, list[Any]()
    for part in parts:
        while head < part.head:
            front, head = _add(front, sums.get(head)), head + 1
        del back[tails.stop - part.tail + 1 :]
        found.append(_add(front, back[-1]))
    return found


def group_rows(numbers: Numbers, groups: int) -> list[Rows]:
    """Return the rows of each number below `groups`, in their order."""
    order = np.argsort(numbers, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=groups)[:groups])])
    return [order[start:stop] for start, stop in pairwise(edges.tolist())]


def _add(left: Any, right: Any) -> Any:
    """Add, with None for nothing."""
    if left is None:
        return right
    return left if right is None else add(left, right)


@dataclass(frozen=True)
class Split:
    """A protocol: its repeats, its name in words, and notes on it."""

    kind: Kind
    words: str
    repeats: tuple[Repeat, ...]
    notes: tuple[Note, ...] = ()

    @property
    def n_folds(self) -> int:
        """The number of folds in all repeats."""
        return sum(repeat.n_folds for repeat in self.repeats)

    def folds(self) -> list[Fold]:
        """Return the folds of all repeats."""
        return [fold for repeat in self.repeats for fold in repeat.folds()]


def generator(who: str, random_state: Seed) -> np.random.Generator:
    """Return a random generator from all that scikit-learn takes as `random_state`."""
    check(who, {"random_state": PROTOCOL["random_state"]}, {"random_state": random_state})
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(draw_seed(random_state))
    return np.random.default_rng(random_state)


def read_rows(caller: Callable[..., Any], data: Any, target: Any, options: dict[str, Any]) -> Table:
    """Read the data with the further keywords of a call, which must be parameters of `read`."""
    known = inspect.signature(read).parameters
    for name in options:
        if name not in known:
            every = [*inspect.signature(caller).parameters, *known]
            raise ParameterError(
                f"{caller.__name__}: a keyword must be a parameter of {caller.__name__} or of "
                f"read; got {name!r}.",
                hint=did_you_mean(name, every).strip(),
            )
    if isinstance(data, Table) and not options and target is None:
        return data
    return read(data, target=target, **options)


def holds_several(data: Any) -> bool:
    """Return whether data is a mapping of data sets, and not one of columns."""
    return isinstance(data, Mapping) and bool(data) and all(map(_is_data_set, data.values()))


def _is_data_set(value: Any) -> bool:
    if isinstance(value, str | os.PathLike | Table | Scan | Mapping):
        return True
    return len(getattr(value, "shape", ())) == 2


def drop_unlabelled(who: str, table: Table) -> tuple[Table, tuple[Note, ...]]:
    """Leave out rows without a known class, and refuse a table of one class."""
    column = table.target_column
    known = table.target < column.width
    notes: tuple[Note, ...] = ()
    if not known.all():
        dropped = int(np.count_nonzero(~known))
        notes = (Note.of("E02", column.name, left_out=dropped, rows=len(table)),)
        table = table.take(known)
    present = np.flatnonzero(np.bincount(table.target, minlength=column.width))
    refuse_one_class(who, column.name, [column.levels[code] for code in present])
    return table, notes


def refuse_one_class(who: str, target: str, present: Sequence[Level]) -> None:
    """Refuse rows of one class, or of none."""
    if len(present) < 2:
        classes = f"only {listing(present)}" if present else "none"
        raise ParameterError(
            f"{who}: there must be rows of at least two classes; column {target!r} holds "
            f"{classes}.",
            hint="Name another `target=`, or add rows.",
        )


def check_folds(who: str, folds: Any) -> None:
    """Refuse what is no number of folds."""
    check(who, {"folds": Parameter(whole(at_least=2), "how many folds")}, {"folds": folds})


def split_folds(
    who: str, table: Table, folds: Any, repeats: int, stratified: bool, rng: np.random.Generator
) -> Split:
    """Deal the rows into folds of equal size, with the classes spread evenly (Kohavi 1995)."""
    rows = len(table)
    check_folds(who, folds)
    if folds > rows:
        hint = ("Use fewer folds", *_LEAVE_ONE_OUT.get(who, ()))
        raise ParameterError(who, "folds", f"at most the number of rows, {rows}", folds, hint)
    pattern = (np.arange(rows) % folds).astype(np.min_scalar_type(folds + 1))
    dealt = [deal(pattern, table, stratified, rng) for _ in range(repeats)]
    words = describe(f"{folds}-fold cross-validation", stratified, repeats)
    splits = tuple(Repeat.from_numbers(numbers, int(folds)) for numbers in dealt)
    return Split("folds", words, splits, _note_small_classes(table, folds))


def split_holdout(
    table: Table, holdout: float, repeats: int, stratified: bool, rng: np.random.Generator
) -> Split:
    """Set a fraction of the rows aside for testing, several times anew."""
    rows, tested = len(table), n_tested(holdout, len(table))
    splits = []
    for _ in range(repeats):
        pattern = np.ones(rows, dtype=np.uint8)
        pattern[((np.arange(tested) + rng.random()) * rows / tested).astype(np.intp)] = 0
        splits.append(Repeat.from_numbers(deal(pattern, table, stratified, rng), 1))
    words = describe_holdout(holdout, stratified, repeats)
    return Split("holdout", words, tuple(splits), _note_small_classes(table, 2))


def split_rows(table: Table) -> Split:
    """Test every row by itself, training on all others."""
    blocks = list(np.arange(len(table))[:, None])
    words = f"leave-one-out over {len(table)} rows"
    return Split("leave-one-out", words, (Repeat(tuple(blocks), len(table)),))


def n_tested(holdout: float, rows: int) -> int:
    """Return how many rows a hold-out fraction sets aside; at least one, and not all."""
    return min(max(round(float(holdout) * rows), 1), rows - 1)


def describe_holdout(holdout: float, stratified: bool, repeats: int) -> str:
    """Return a hold-out protocol in words."""
    return describe(f"hold-out {100 * (1 - holdout):g}:{100 * holdout:g}", stratified, repeats)


def describe(protocol: str, stratified: bool, repeats: int) -> str:
    """Return a protocol in words."""
    strata, times = ", stratified" * stratified, f", {repeats} repeats" if repeats > 1 else ""
    return f"{protocol}{strata}{times}"


def deal(pattern: Numbers, table: Table, stratified: bool, rng: np.random.Generator) -> Numbers:
    """Give every row a number of the pattern, at random within its class (or within all rows)."""
    dealt = pattern.copy()
    if not stratified:
        rng.shuffle(dealt)
        return dealt
    target = table.target
    start = 0
    for size in np.bincount(target, minlength=len(table.classes)).tolist():
        rng.shuffle(dealt[start : start + size])
        start += size
    placed = np.empty_like(dealt)
    placed[np.argsort(target, kind="stable")] = dealt
    return placed


def proportions(
    sizes: Sequence[int], table: Table, stratified: bool, rng: np.random.Generator
) -> Numbers:
    """Return a pattern for `deal` with so many rows a number, and the classes spread evenly."""
    numbers = np.repeat(np.arange(len(sizes)), sizes).astype(np.min_scalar_type(len(sizes) + 1))
    if not stratified:
        return numbers
    counts = np.bincount(table.target, minlength=len(table.classes))
    present = counts[counts > 0]
    keys = np.concatenate([(np.arange(size) + rng.random()) / size for size in present])
    pattern = np.empty_like(numbers)
    pattern[np.argsort(keys, kind="stable")] = numbers
    return pattern


def _note_small_classes(table: Table, folds: int) -> tuple[Note, ...]:
    counts = np.bincount(table.target, minlength=len(table.classes))
    few = [
        f"{label!r} ({size})"
        for label, size in zip(table.classes, counts.tolist(), strict=True)
        if 0 < size < folds
    ]
    if not few:
        return ()
    return (Note.of("E01", table.target_column.name, classes=shorten(few, 5)),)


def split_given(table: Table, folds: Any, groups: NDArray[np.intp] | None = None) -> Split:
    """Return the protocol that a user's folds describe; a splitter is given the groups."""
    if hasattr(folds, "split") and not isinstance(folds, str):
        pairs = list(folds.split(np.zeros((len(table), 1)), table.labels, groups))
        return _split_pairs(len(table), pairs, type(folds).__name__)
    if not isinstance(folds, Iterable) or isinstance(folds, str):
        raise ParameterError(
            "evaluate",
            "folds",
            "a whole number, one fold number a row, the name of a column of them, a scikit-learn "
            "splitter or a list of (train, test) indices",
            folds,
        )
    listed = list(folds)
    if listed and isinstance(listed[0], tuple | list) and len(listed[0]) == 2:
        return _split_pairs(len(table), listed, "pairs of indices")
    numbers = folds if isinstance(folds, np.ndarray) else np.asarray(listed)
    return _split_numbers(len(table), numbers)


def _split_numbers(rows: int, numbers: NDArray[Any]) -> Split:
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise ParameterError(
            f"evaluate: folds must be one whole number for each of the {rows} rows; got an array "
            f"of {numbers.dtype} with shape {numbers.shape}."
        )
    tested = np.unique(numbers[numbers >= 0])
    if len(tested) + bool(np.any(numbers < 0)) < 2:
        raise ParameterError(
            "evaluate: folds must name at least two groups of rows, to train on one and test on "
            f"the other; got fold {numbers[0]} for every row."
        )
    place = np.where(numbers >= 0, np.searchsorted(tested, numbers), len(tested))
    repeat = Repeat.from_numbers(place.astype(np.min_scalar_type(len(tested) + 1)), len(tested))
    return Split("given", f"the {len(tested)} folds given", (repeat,))


def _split_pairs(rows: int, pairs: Sequence[Any], source: str) -> Split:
    """Put pairs with disjoint tests, each against all other rows, together into one repeat."""
    if not pairs:
        raise ParameterError("evaluate: folds must hold at least one (train, test) pair; got none.")
    repeats: list[Repeat] = []
    tests: list[Rows] = []
    free = np.ones(rows, dtype=bool)

    def close() -> None:
        if tests:
            rest = [np.flatnonzero(free)] if free.any() else []
            repeats.append(Repeat((*tests, *rest), len(tests)))
            tests.clear()
            free[:] = True

    for place, pair in enumerate(pairs):
        fold = _check_pair(rows, pair, place)
        if len(fold.train) + len(fold.test) < rows:
            close()
            repeats.append(Repeat((fold.test, fold.train), 1))
            continue
        if not free[fold.test].all():
            close()
        tests.append(fold.test)
        free[fold.test] = False
    close()
    return Split("given", f"the {len(pairs)} splits of {source}", tuple(repeats))


def _check_pair(rows: int, pair: Any, place: int) -> Fold:
    sides = []
    for name, given in zip(Fold._fields, pair, strict=True):
        side = np.asarray(given)
        if side.dtype == bool and side.shape == (rows,):
            side = np.flatnonzero(side)
        indices = side.ndim == 1 and side.dtype.kind in "iu" and side.size > 0
        if not indices or side.min() < 0 or side.max() >= rows:
            raise ParameterError(
                f"evaluate: the {name} rows of split {place} must be indices from 0 to {rows - 1}; "
                f"got {side.dtype} of shape {side.shape}, or one out of range."
            )
        sides.append(np.unique(side).astype(np.intp))
    fold = Fold(*sides)
    if len(np.intersect1d(*fold, assume_unique=True)):
        raise ParameterError(
            "evaluate: a row must be trained on or tested, not both; split "
            f"{place} holds some in both.",
            hint="Take them out of one.",
        )
    return fold
