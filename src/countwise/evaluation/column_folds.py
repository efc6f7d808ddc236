"""Folds given by a column: groups that stay together, order of time, fold numbers.

Each can be an array with one value a row, or the name of a column. A named column is taken out of
the table: it says how rows are tested, and models do not get it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.folds import Repeat, Rows, Split, check_folds, describe, describe_holdout
from countwise.notes import Note
from countwise.tables.schema import level_number
from countwise.tables.table import Table

#: What a column holds, by the parameter that names it.
_USES = {"groups": "groups", "time": "times", "folds": "folds"}


def take_columns(who: str, table: Table, named: Mapping[str, str]) -> tuple[Table, dict[str, Any]]:
    """Take the named columns out of a table; return it and their values by parameter."""
    values = {}
    notes = []
    for parameter, name in named.items():
        values[parameter] = _read_column(who, table, parameter, name)
        notes.append(Note.of("E17", name, use=_USES[parameter]))
    gone = set(named.values())
    kept = [note for note in table.notes if note.column not in gone]
    return table.leave_out(gone).with_notes([*kept, *notes]), values


def _read_column(who: str, table: Table, parameter: str, name: str) -> NDArray[Any]:
    names = [column.name for column in table.schema.attributes]
    if name not in names:
        left_out = name in table.schema and table.schema[name].left_out
        hint = did_you_mean(name, names).strip() or f"The columns are {listing(names)}."
        if left_out:
            hint = f"It was left out when the table was read; read it with `nominal=[{name!r}]`."
        raise ParameterError(who, parameter, "a column of the table besides the class", name, hint)
    column, missing = table.schema[name], int(np.count_nonzero(table.missing(name)))
    if parameter == "folds":
        return _fold_numbers(table, name)
    if missing:
        raise ParameterError(
            f"{who}: every row must have a value in column {name!r}, which holds the "
            f"{_USES[parameter]}; {missing} of {len(table)} rows have none.",
            hint="Fill the cells, or remove the rows.",
        )
    if not column.coded:
        return table.values(name)
    codes = table.codes(name).astype(np.intp)
    return codes if parameter == "groups" else _level_times(who, name, column.levels)[codes]


def _level_times(who: str, name: str, levels: Sequence[Any]) -> FloatArray:
    """Return levels that are numbers, or dates as ISO 8601 writes them, as numbers."""
    numbers = [level_number(level) for level in levels]
    if None not in numbers:
        return np.asarray(numbers, dtype=np.float64)
    try:
        return np.asarray(levels, dtype="datetime64[us]").astype(np.float64)
    except ValueError:
        rule = "a column of numbers, or of dates written as 2024-01-31"
        hint = f"It holds {str(levels[0])!r}."
        raise ParameterError(who, "time", rule, name, hint) from None


def _fold_numbers(table: Table, name: str) -> NDArray[np.intp]:
    """Return fold numbers: levels in order; a negative number or a missing cell always trains."""
    if not table.schema[name].coded:
        values = table.values(name)
        levels, codes = np.unique(values, return_inverse=True)
        trains = np.isnan(levels) | (levels < 0)
        return np.where(trains[codes], -1, codes)
    column = table.schema[name]
    numbers = [level_number(level) for level in column.levels]
    trains = np.asarray([number is not None and number < 0 for number in numbers] + [True, True])
    codes = table.codes(name).astype(np.intp)
    return np.where(trains[codes], -1, codes)


def read_groups(who: str, groups: Any, rows: int) -> NDArray[np.intp]:
    """Return the group of every row as a number from 0."""
    given = _one_a_row(who, "groups", groups, rows)
    if given.dtype == object:
        given = np.asarray([None if value != value else value for value in given], dtype=object)
        if any(value is None for value in given):
            raise ParameterError(f"{who}: groups must name the group of every row; got None.")
        given = given.astype(str)
    elif given.dtype.kind == "f" and np.isnan(given).any():
        raise ParameterError(f"{who}: groups must name the group of every row; got NaN.")
    return np.unique(given, return_inverse=True)[1].astype(np.intp)


def read_times(who: str, time: Any, rows: int) -> FloatArray:
    """Return the time of every row as a number: later is larger."""
    given = _one_a_row(who, "time", time, rows)
    if given.dtype.kind == "M":
        given = np.where(np.isnat(given), np.nan, given.astype("datetime64[us]").astype(np.float64))
    if given.dtype.kind not in "iuf" or np.isnan(given.astype(np.float64)).any():
        rule = "a number or a date for every row"
        raise ParameterError(who, "time", rule, f"an array of {given.dtype}")
    return given.astype(np.float64)


def _one_a_row(who: str, name: str, values: Any, rows: int) -> NDArray[Any]:
    given = np.asarray(values)
    if given.shape != (rows,):
        rule = f"one value for each of the {rows} rows, or the name of a column"
        raise ParameterError(who, name, rule, f"an array of shape {given.shape}")
    return given


def split_groups(
    who: str,
    table: Table,
    groups: NDArray[np.intp],
    folds: Any,
    holdout: float | None,
    repeats: int,
    stratified: bool,
    rng: np.random.Generator,
) -> Split:
    """Deal whole groups into folds, with rows and classes spread as evenly as groups allow."""
    number = int(groups.max()) + 1
    if holdout is None:
        check_folds(who, folds)
    if number < 2:
        rule = "at least two different groups"
        raise ParameterError(who, "groups", rule, "one", "Name another `groups=`.")
    if holdout is None and folds > number:
        rule = f"at most the number of groups, {number}"
        raise ParameterError(who, "folds", rule, folds, "Use fewer folds.")
    shares = np.full(int(folds), 1 / folds) if holdout is None else [holdout, 1 - holdout]
    classes = table.target if stratified else np.zeros(len(table), dtype=np.intp)
    place = groups * len(table.classes) + classes
    sizes = np.bincount(place, minlength=number * len(table.classes)).reshape(number, -1)
    dealt = [_deal_groups(sizes, np.asarray(shares), rng)[groups] for _ in range(repeats)]
    tested = 1 if holdout is not None else int(folds)
    splits = tuple(
        Repeat.from_numbers(numbers.astype(np.min_scalar_type(len(shares))), tested)
        for numbers in dealt
    )
    if holdout is not None:
        words = describe_holdout(holdout, stratified, repeats)
    else:
        words = describe(f"{folds}-fold cross-validation", stratified, repeats)
    return Split("folds", f"{words}, {number} groups kept together", splits)


def _deal_groups(
    sizes: NDArray[Any], shares: FloatArray, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the fold of every group, by its rows of each class and the shares of the folds."""
    every = np.column_stack([sizes, sizes.sum(axis=1)]).astype(np.float64)
    totals = np.maximum(every.sum(axis=0), 1.0)
    kinds, kind_of = np.unique(every, axis=0, return_inverse=True)
    members = [np.flatnonzero(kind_of == kind) for kind in range(len(kinds))]
    dealt = np.empty(len(sizes), dtype=np.intp)
    filled = np.zeros((len(shares), every.shape[1]))
    # Equal groups are dealt by their number; those left over one by one, the largest first.
    left: list[int] = []
    for kind, groups in enumerate(members):
        rng.shuffle(groups)
        whole_shares = np.floor(len(groups) * shares + 1e-9).astype(int)
        first = int(whole_shares.sum())
        dealt[groups[:first]] = np.repeat(np.arange(len(shares)), whole_shares)
        filled += whole_shares[:, None] * kinds[kind] / totals
        left += groups[first:].tolist()
    order = rng.permutation(len(shares))
    for group in sorted(left, key=lambda one: -every[one, -1]):
        added = every[group] / totals
        cost = (((filled + added) ** 2 - filled**2) / shares[:, None]).sum(axis=1)
        best = order[np.argmin(cost[order])]
        dealt[group] = best
        filled[best] += added
    for fold in np.flatnonzero(filled[:, -1] == 0):
        donor = np.argmax(np.bincount(dealt, minlength=len(shares)))
        groups = np.flatnonzero(dealt == donor)
        dealt[groups[np.argmin(every[groups, -1])]] = fold
    return dealt


def split_time(
    who: str, table: Table, times: FloatArray, folds: Any, holdout: float | None
) -> Split:
    """Train on earlier rows and test on later ones; rows of equal time stay together."""
    order: Rows = np.argsort(times, kind="stable")
    runs = np.flatnonzero(np.diff(times[order])) + 1  # where a later time begins
    if holdout is None:
        check_folds(who, folds)
        ends = np.arange(1, folds + 1) * len(table) / (folds + 1)
    else:
        ends = np.asarray([(1 - holdout) * len(table)])
    if len(runs) < len(ends):
        rule = f"less than the number of different times, {len(runs) + 1}"
        raise ParameterError(who, "folds", rule, folds, "Use fewer folds.")
    steps = np.arange(len(ends))
    place = np.maximum.accumulate(np.searchsorted(runs, np.floor(ends)) - steps) + steps
    edges = runs[np.minimum(place, len(runs) - len(ends) + steps)]
    blocks = tuple(np.sort(block) for block in np.split(order, edges))
    if holdout is None:
        words = f"{len(ends)} folds in order of time: train on earlier rows, test on the next"
    else:
        words = f"{describe_holdout(holdout, False, 1)} in order of time: test on the latest rows"
    return Split("folds", words, (Repeat(blocks, len(ends), "next"),))
