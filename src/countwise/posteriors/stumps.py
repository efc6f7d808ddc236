"""One-attribute rules from weighted counts: which column alone tells the classes apart best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise.counts.count import count
from countwise.counts.cuts import cut_points
from countwise.counts.engines import _kernels
from countwise.counts.engines.memory import JOINT_CELLS, joint_groups, threads
from countwise.counts.grid import Grid
from countwise.counts.plan import Plan
from countwise.posteriors import _boosting
from countwise.tables.table import Table

Doubles = NDArray[np.float64]

#: A number is cut into at most so many intervals, between which a threshold may lie.
MOST_INTERVALS = 254
#: Rows a task reweighs and tallies before tables are merged.
_CHUNK = 1 << 18
#: Errors closer than this are equal: the order in which weights were summed must not decide.
_EQUAL = 1e-10


@dataclass(frozen=True, eq=False)
class Rule:
    """Says a class (by its place) for each code of one column, missing and unseen included.

    `threshold` is the last code on the left where the column is numeric; else None.
    """

    column: str
    said: NDArray[np.int32]
    error: float
    threshold: int | None = None


def fine_cuts(
    table: Table, weight: Doubles | None, most: int = MOST_INTERVALS
) -> dict[str, Doubles]:
    """Where numeric columns are cut: between all values, or evenly by weight if there are many."""
    names = tuple(column.name for column in table.schema.numeric)
    if not names:
        return {}
    grids = count(table, Plan(grids=names), weight=weight).grids
    return {name: _cuts(grids[name], most) for name in names}


def _cuts(grid: Grid, most: int) -> Doubles:
    seen = grid.table[:-1].sum(axis=0) > 0
    points = grid.points[seen]
    if grid.exact and len(points) <= most:
        return np.asarray(points[:-1] + (points[1:] / 2 - points[:-1] / 2))
    return cut_points(grid, "frequency", most)


class WeightedTables:
    """The weights of rows and, from one pass a round, their tables class × column.

    Columns with few levels share a joint table, so that a row costs one sum for several of them.
    Pieces of rows are merged in order: the result does not depend on the number of threads.
    """

    def __init__(self, table: Table, weight: Doubles) -> None:
        self.table, self.weight = table, weight
        self.columns = [column.name for column in table.schema.attributes]
        self.slots = table.target_column.width + 2
        self.target = _kernels.Axes([table.target], [1])
        widths = [table.schema[name].width + 2 for name in self.columns]
        most = max(4, JOINT_CELLS // self.slots)
        self.groups = [[self.columns[at] for at in own] for own in joint_groups(widths, most)]
        self.shapes = [
            (self.slots, *(table.schema[name].width + 2 for name in own)) for own in self.groups
        ]
        self.axes = [self._axes(*own) for own in zip(self.groups, self.shapes, strict=True)]
        self.asked = {name: _kernels.Axes([table.codes(name)], [1]) for name in self.columns}
        self.borders = [(at, min(at + _CHUNK, len(table))) for at in range(0, len(table), _CHUNK)]

    def _axes(self, names: Sequence[str], shape: tuple[int, ...]) -> _kernels.Axes:
        strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        codes = [self.table.target, *(self.table.codes(name) for name in names)]
        return _kernels.Axes(codes, strides)

    def after(self, rule: Rule | None, hit: float = 1.0, miss: float = 1.0) -> dict[str, Doubles]:
        """Reweigh the rows by what a rule says of them, and return the tables of all columns."""
        asked = self.target if rule is None else self.asked[rule.column]
        said = None if rule is None else rule.said

        def piece(border: tuple[int, int]) -> list[Doubles]:
            tables = [np.zeros(int(np.prod(shape))) for shape in self.shapes]
            _boosting.reweigh_and_tally(
                asked, self.target, said, hit, miss, *border, self.weight, self.axes, tables
            )
            return tables

        if len(self.borders) == 1 or threads() == 1:
            parts = [piece(border) for border in self.borders]
        else:
            with ThreadPoolExecutor(threads()) as pool:
                parts = list(pool.map(piece, self.borders))
        found: dict[str, Doubles] = {}
        for place, names in enumerate(self.groups):
            joint = sum(part[place] for part in parts)
            whole = np.asarray(joint).reshape(self.shapes[place])
            for axis, name in enumerate(names):
                gone = tuple(1 + other for other in range(len(names)) if other != axis)
                found[name] = whole.sum(axis=gone)[:-2]
        return found


def best_rule(tables: dict[str, Doubles], numeric: Sequence[str]) -> Rule:
    """Return the rule of one column that misses the least weight; of equal ones the first.

    A nominal column says for each level its heaviest class; a number is asked whether it lies above
    a threshold. Missing values have an answer of their own, levels of no weight that of all rows.
    """
    total = float(next(iter(tables.values())).sum())
    best: Rule | None = None
    for name, cells in tables.items():
        rule = _threshold(name, cells, total) if name in numeric else _levels(name, cells, total)
        if best is None or rule.error < best.error - _EQUAL:
            best = rule
    assert best is not None  # a table has at least one column
    return best


def _heaviest(cells: Doubles, total: float) -> NDArray[np.int32]:
    """The first class of about the largest weight, along the first axis."""
    near = cells >= cells.max(axis=0) - _EQUAL * total
    return np.asarray(near.argmax(axis=0), dtype=np.int32)


def _missed(cells: Doubles) -> Doubles:
    """The weight of all classes but the heaviest; exactly nought where one class is alone."""
    return np.asarray(np.sort(cells, axis=0)[:-1].sum(axis=0))


def _levels(name: str, cells: Doubles, total: float) -> Rule:
    said = _heaviest(cells, total)
    said[cells.sum(axis=0) <= 0] = _heaviest(cells.sum(axis=1), total)
    return Rule(name, said, float(_missed(cells).sum()) / total)


def _threshold(name: str, cells: Doubles, total: float) -> Rule:
    known, blank = cells[:, :-2], cells[:, -2]
    everybody = _heaviest(cells.sum(axis=1), total)
    left = np.cumsum(known, axis=1)
    right = np.cumsum(known[:, ::-1], axis=1)[:, ::-1]
    right = np.concatenate([right[:, 1:], np.zeros((len(known), 1))], axis=1)
    missed = _missed(left) + _missed(right)
    at = int((missed <= missed.min() + _EQUAL * total).argmax())
    said = np.full(cells.shape[1], everybody, dtype=np.int32)
    said[: at + 1] = _heaviest(left[:, at], total)
    if right[:, at].sum() > 0:
        said[at + 1 : -2] = _heaviest(right[:, at], total)
    else:
        said[at + 1 : -2] = said[at]
    if blank.sum() > 0:
        said[-2] = _heaviest(blank, total)
    error = float(missed[at] + _missed(blank)) / total
    return Rule(name, said, error, at)


def rule_words(rule: Rule, table: Table, points: Mapping[str, Doubles], most: int = 3) -> str:
    """Say a rule in words: the answer for each level, or on both sides of a threshold."""
    classes, column = table.classes, table.schema[rule.column]
    told = [classes[place] for place in rule.said.tolist()]
    if rule.threshold is not None:
        cuts = points[rule.column]
        if rule.threshold >= len(cuts):
            return f"{rule.column}: always {told[0]}"
        cut = cuts[rule.threshold]
        return f"{rule.column} ≤ {cut:.4g}: {told[0]}; else: {told[rule.threshold + 1]}"
    parts = []
    for label in dict.fromkeys(told[: column.width]):
        levels = [str(own) for own, said in zip(column.levels, told, strict=False) if said == label]
        more = f" or {len(levels) - most} more" if len(levels) > most else ""
        parts.append(f"{' or '.join(levels[:most])}{more}: {label}")
    return f"{rule.column} = " + "; ".join(parts)
