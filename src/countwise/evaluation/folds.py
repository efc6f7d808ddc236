"""Which rows are tested when: stratified folds, repeated hold-outs, one row at a time.

One repeat of any protocol is one array: the number of the test part each row falls in. Rows that
are never tested are numbered after the last part. Sorted by that number, the rows of a part lie
together, so that a part is a slice and costs no copy.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError, listing
from countwise.notes import Note
from countwise.tables.table import Table

Numbers = NDArray[np.unsignedinteger[Any]]
Seed = int | np.random.Generator | None
Kind = Literal["folds", "holdout", "leave-one-out", "given"]


@dataclass(frozen=True)
class Deal:
    """One repeat: the test part of each row, and how many parts there are.

    Rows numbered ``parts`` always train; rows numbered ``parts + 1`` take no part at all.
    """

    part: Numbers
    parts: int

    @property
    def order(self) -> NDArray[np.intp]:
        """The rows that take part, sorted by part, otherwise as they stood."""
        order = np.argsort(self.part, kind="stable")
        return order[: int(np.count_nonzero(self.part <= self.parts))]

    @property
    def edges(self) -> NDArray[np.intp]:
        """Where each part begins in `order`, that of the rows that always train included."""
        sizes = np.bincount(self.part, minlength=self.parts + 1)[: self.parts + 1]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


@dataclass(frozen=True)
class Split:
    """A whole protocol: its repeats, its name in words, and what should be said about it."""

    kind: Kind
    words: str
    deals: tuple[Deal, ...]
    notes: tuple[Note, ...] = ()

    @property
    def tests(self) -> int:
        """How many test parts there are, over all repeats."""
        return sum(deal.parts for deal in self.deals)


def generator(who: str, seed: Any) -> np.random.Generator:
    """Return the stream of a seed: a whole number, a Generator, or None for a new one each time."""
    if isinstance(seed, np.random.Generator):
        return seed
    whole = isinstance(seed, numbers.Integral) and not isinstance(seed, bool) and int(seed) >= 0
    if seed is None or whole:
        return np.random.default_rng(seed)
    raise ParameterError(
        f"{who}: random_state must be a whole number of at least 0, a numpy Generator or None, but "
        f"{seed!r} came."
    )


def folds_of(
    table: Table,
    folds: Any,
    repeats: Any,
    stratified: bool,
    rng: np.random.Generator,
    who: str = "evaluate",
) -> Split:
    """Deal the rows into folds, as evenly as can be, and each class evenly among them.

    Every fold has the same number of rows but for one, and the same number of each class but for
    one (two with the sizes taken together), as Kohavi (1995) recommends.
    """
    rows = len(table)
    _whole(who, "folds", folds, 2)
    _whole(who, "repeats", repeats, 1)
    if folds > rows:
        alone = "leave_one_out=True" if who == "evaluate" else "folds='leave-one-out'"
        raise ParameterError(
            f"{who}: there must be at least as many rows as folds, but {folds} folds were asked "
            f"of {rows} rows. Use fewer folds, or {alone}."
        )
    pattern = (np.arange(rows) % folds).astype(_type(folds))
    deals = tuple(Deal(deal(pattern, table, stratified, rng), int(folds)) for _ in range(repeats))
    words = f"{folds}-fold cross-validation{', stratified' if stratified else ''}"
    words += f", {repeats} repeats" if repeats > 1 else ""
    return Split("folds", words, deals, _small_classes(table, folds))


def holdouts_of(
    table: Table,
    holdout: Any,
    repeats: Any,
    stratified: bool,
    rng: np.random.Generator,
    who: str = "evaluate",
) -> Split:
    """Set a share of the rows aside for testing, several times anew."""
    rows = len(table)
    tested = tested_rows(who, holdout, rows)
    _whole(who, "repeats", repeats, 1)
    deals = []
    for _ in range(repeats):
        pattern = np.ones(rows, dtype=np.uint8)
        pattern[((np.arange(tested) + rng.random()) * rows / tested).astype(np.intp)] = 0
        deals.append(Deal(deal(pattern, table, stratified, rng), 1))
    words = f"hold-out {100 * (1 - holdout):g}:{100 * holdout:g}"
    words += ", stratified" if stratified else ""
    words += f", {repeats} repeats" if repeats > 1 else ""
    return Split("holdout", words, tuple(deals), _small_classes(table, 2))


def tested_rows(who: str, holdout: Any, rows: int) -> int:
    """How many of the rows a hold-out share sets aside; at least one, and not all."""
    real = isinstance(holdout, numbers.Real) and not isinstance(holdout, bool)
    if not real or not 0 < float(holdout) < 1:
        raise ParameterError(
            f"{who}: holdout must be a share of the rows between 0 and 1, such as 0.3, but "
            f"{holdout!r} came."
        )
    return min(max(round(float(holdout) * rows), 1), rows - 1)


def deal(pattern: Numbers, table: Table, stratified: bool, rng: np.random.Generator) -> Numbers:
    """Give every row a number of the pattern, at random within its class (or within all rows).

    The pattern is laid along the rows sorted by class; shuffling it class by class leaves how many
    of each number a class gets.
    """
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
    """Return a pattern for `deal` in which consecutive numbers have these many rows.

    The rows of every class are spread evenly over the numbers, so that the first so many of them
    hold the classes in the proportions of the table.
    """
    numbers_of = np.repeat(np.arange(len(sizes)), sizes).astype(_type(len(sizes)))
    if not stratified:
        return numbers_of
    counts = np.bincount(table.target, minlength=len(table.classes))
    present = counts[counts > 0]
    keys = np.concatenate([(np.arange(size) + rng.random()) / size for size in present])
    pattern = np.empty_like(numbers_of)
    pattern[np.argsort(keys, kind="stable")] = numbers_of
    return pattern


def _small_classes(table: Table, folds: int) -> tuple[Note, ...]:
    counts = np.bincount(table.target, minlength=len(table.classes))
    few = [
        f"{label!r} ({size})"
        for label, size in zip(table.classes, counts.tolist(), strict=True)
        if 0 < size < folds
    ]
    if not few:
        return ()
    more = f" and {len(few) - 5} more" if len(few) > 5 else ""
    classes = f"{', '.join(few[:5])}{more}"
    return (Note.of("E01", table.target_column.name, classes=classes),)


def usable(who: str, table: Table) -> tuple[Table, tuple[Note, ...]]:
    """Leave out rows without a known class, and refuse a table of one class."""
    column = table.target_column
    known = table.target < column.width
    notes: tuple[Note, ...] = ()
    if not known.all():
        gone = int(np.count_nonzero(~known))
        notes = (Note.of("E02", column.name, left_out=gone, rows=len(table)),)
        table = table.take(known)
    present = np.flatnonzero(np.bincount(table.target, minlength=column.width))
    if len(present) < 2:
        shown = f"only {listing([column.levels[code] for code in present])}"
        raise ParameterError(
            f"{who}: there must be rows of at least two classes, but column {column.name!r} holds "
            f"{shown if len(present) else 'none'}. Name another target, or add rows."
        )
    return table, notes


def _whole(who: str, name: str, value: Any, least: int) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < least:
        raise ParameterError(
            f"{who}: {name} must be a whole number of at least {least}, but {value!r} came."
        )


def _type(parts: int) -> np.dtype[Any]:
    return np.min_scalar_type(parts + 1)


Pair = tuple[NDArray[np.intp], NDArray[np.intp]]


def given_split(table: Table, folds: Any) -> Split:
    """Return the protocol that given folds describe."""
    if hasattr(folds, "split") and not isinstance(folds, str):
        pairs = list(folds.split(np.zeros((len(table), 1)), table.labels))
        return _from_pairs(len(table), pairs, type(folds).__name__)
    listed = list(folds) if isinstance(folds, Iterable) and not isinstance(folds, str) else None
    if listed is None:
        raise ParameterError(
            "evaluate: folds must be a whole number, one fold number a row, a scikit-learn "
            f"splitter or a list of (train, test) indices, but {folds!r} came."
        )
    if listed and isinstance(listed[0], tuple | list) and len(listed[0]) == 2:
        return _from_pairs(len(table), listed, "pairs of indices")
    return _from_numbers(len(table), np.asarray(folds if isinstance(folds, np.ndarray) else listed))


def _from_numbers(rows: int, numbers: NDArray[Any]) -> Split:
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise ParameterError(
            f"evaluate: folds must be one whole number for each of the {rows} rows, but an array "
            f"of {numbers.dtype} with shape {numbers.shape} came."
        )
    tested = np.unique(numbers[numbers >= 0])
    trains = bool(np.any(numbers < 0))
    if len(tested) + trains < 2:
        raise ParameterError(
            "evaluate: folds must name at least two groups of rows, to train on one and test on "
            f"the other, but every row is of fold {numbers[0]}. Give other numbers."
        )
    place = np.where(numbers >= 0, np.searchsorted(tested, numbers), len(tested))
    part = place.astype(np.min_scalar_type(len(tested) + 1))
    return Split("given", f"the {len(tested)} folds given", (Deal(part, len(tested)),))


def _from_pairs(rows: int, pairs: Sequence[Any], source: str) -> Split:
    """Put pairs whose tests are apart, each against all other rows, together into one repeat."""
    if not pairs:
        raise ParameterError(
            "evaluate: folds must hold at least one (train, test) pair, but none came. Give some."
        )
    deals: list[Deal] = []
    group: list[NDArray[np.intp]] = []
    free = np.ones(rows, dtype=bool)

    def close() -> None:
        if group:
            deals.append(_complementary(rows, group))
            group.clear()
            free[:] = True

    for place, pair in enumerate(pairs):
        train, test = _checked(rows, pair, place)
        if len(train) + len(test) < rows:
            close()
            deals.append(_apart(rows, train, test))
            continue
        if not free[test].all():
            close()
        group.append(test)
        free[test] = False
    close()
    return Split("given", f"the {len(pairs)} splits of {source}", tuple(deals))


def _complementary(rows: int, tests: Sequence[NDArray[np.intp]]) -> Deal:
    part = np.full(rows, len(tests), dtype=np.min_scalar_type(len(tests) + 1))
    for number, test in enumerate(tests):
        part[test] = number
    return Deal(part, len(tests))


def _apart(rows: int, train: NDArray[np.intp], test: NDArray[np.intp]) -> Deal:
    part = np.full(rows, 2, dtype=np.uint8)
    part[test], part[train] = 0, 1
    return Deal(part, 1)


def _checked(rows: int, pair: Any, place: int) -> Pair:
    sides = []
    for name, given in zip(("train", "test"), pair, strict=True):
        side = np.asarray(given)
        if side.dtype == bool and side.shape == (rows,):
            side = np.flatnonzero(side)
        whole = side.ndim == 1 and side.dtype.kind in "iu" and side.size > 0
        if not whole or side.min() < 0 or side.max() >= rows:
            raise ParameterError(
                f"evaluate: the {name} rows of split {place} must be indices from 0 to {rows - 1}, "
                f"but {side.dtype} of shape {side.shape} came, or one is out of range."
            )
        sides.append(np.unique(side).astype(np.intp))
    train, test = sides
    if len(np.intersect1d(train, test, assume_unique=True)):
        raise ParameterError(
            f"evaluate: a row is trained on or tested, but split {place} holds some in both. "
            "Take them out of one."
        )
    return train, test
