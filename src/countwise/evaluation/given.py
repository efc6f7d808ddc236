"""Folds a user brings along: an array of fold numbers, a splitter, or pairs of row indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError
from countwise.evaluation.folds import Deal, Split
from countwise.tables.table import Table

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
