"""Recode rows before counting: numbers become intervals, rare levels become one.

Tables of two columns grow with the product of their levels. Where all of them together would not
fit in memory, the rare levels of the widest columns become one level (numbers are cut into fewer
intervals), and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.histogram import Grid
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import cut_points, cut_table
from countwise.errors import SchemaError, TableError
from countwise.notes import Note
from countwise.tables.scan import SOME_ROWS, Scan
from countwise.tables.schema import Level, Schema, level_key
from countwise.tables.table import Table, code_type

#: Codes of what learning may note about columns and rows.
RECODE_NOTES = ("P01", "P03", "P10", "P11")

_WHY = ", so that tables of two columns fit in memory"


@dataclass(frozen=True, eq=False)
class Recode:
    """Where numeric columns are cut, and which levels of nominal columns are kept apart.

    Learned once from the first rows; later rows are counted in the same intervals, so that counts
    stay sums. Counts of two models add only if their recodes are equal.

    Attributes
    ----------
    cut_points
        By numeric column, the rising points between its intervals.
    kept_levels
        By nominal column, the levels that stay; all others become one.
    notes
        Remarks on what was cut and folded, and why.

    Examples
    --------
    >>> import countwise as cw
    >>> recode = Recode({"petal_width": np.array([0.8, 1.75])})
    >>> recode.apply(cw.read("sample:iris")).schema["petal_width"].levels
    ('≤ 0.8', '0.8 – 1.75', '> 1.75')
    """

    cut_points: Mapping[str, FloatArray] = field(default_factory=dict)
    kept_levels: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @classmethod
    def learn(
        cls,
        table: Table | Scan,
        weight: FloatArray | None,
        method: str,
        bins: int = 10,
        columns: Iterable[str] | None = None,
    ) -> Recode:
        """Learn where to cut numeric columns, all or some of them.

        `method` is one of `cut_points`, or ``quantizer``: the joint search of `Quantizer`. It needs
        the rows, not their counts; rows held out to judge by are drawn by a fixed seed, so that
        equal rows give equal cuts.
        """
        names = [c.name for c in table.schema.numeric] if columns is None else list(columns)
        if not names:
            return cls()
        if method == "quantizer":
            from countwise.discretize.quantizer import Quantizer

            if isinstance(table, Scan):
                raise TableError(
                    "numeric='quantizer': the joint search needs rows in memory; got a Scan.",
                    hint=f"Use numeric='cuts', or pass {SOME_ROWS}",
                )
            found = Quantizer(random_state=0).fit(table.select(names), sample_weight=weight)
            return cls(dict(found.cut_points_), {}, tuple(found.notes_))
        grids = _grids(table, weight, names)
        return cls({name: cut_points(grids[name], method, bins) for name in names})

    def for_pairs(
        self,
        table: Table | Scan,
        weight: FloatArray | None,
        method: str,
        who: str = "Recode",
        tree: bool = False,
    ) -> Recode:
        """Return a recode under which the counts of every two columns fit in memory.

        With `tree` it is enough that the tables of each column with one other fit.
        """
        from countwise.discretize.rare_levels import (
            frequent_levels,
            too_many_columns,
            tree_limit,
            width_limit,
        )

        schema, classes = table.schema, table.target_column.width
        widths = [column.width for column in schema.nominal]
        widths += [len(points) + 1 for points in self.cut_points.values()]
        limit = width_limit(widths, classes)
        wider = tree_limit(widths, classes) if tree else 0
        if limit is None or wider >= max(widths):
            return self
        if not wider and too_many_columns(widths, classes):
            raise TableError(
                f"{who}: every two columns are counted together; tables of {len(widths)} columns "
                "do not fit in memory.",
                hint="Choose columns with table.select"
                + ("." if tree else ", or take TAN, which keeps the tables of a tree alone."),
            )
        limit = max(limit, wider)
        coarser = [name for name, points in self.cut_points.items() if len(points) >= limit]
        grids = _grids(table, weight, coarser)
        way = method if method == "width" else "frequency"
        cuts = {name: cut_points(grids[name], way, limit) for name in coarser}
        plan = Plan(tuple((column.name,) for column in schema.nominal))
        kept = frequent_levels(count(table, plan, sample_weight=weight), limit)
        notes = [
            Note.of("P01", name, levels=len(levels), why=_WHY) for name, levels in kept.items()
        ]
        notes += [Note.of("P03", name, why=_WHY) for name in coarser]
        return Recode({**self.cut_points, **cuts}, kept, (*notes, *self.notes))

    def __bool__(self) -> bool:
        """Whether anything is cut or folded."""
        return bool(self.cut_points) or bool(self.kept_levels)

    def __eq__(self, other: object) -> bool:
        """Whether both cut and fold alike, whatever they note."""
        if not isinstance(other, Recode):
            return NotImplemented
        mine, theirs = self.cut_points, other.cut_points
        return (
            mine.keys() == theirs.keys()
            and all(np.array_equal(mine[name], theirs[name]) for name in mine)
            and _keys(self.kept_levels) == _keys(other.kept_levels)
        )

    __hash__ = None  # type: ignore[assignment]

    @overload
    def apply(self, table: Table) -> Table: ...
    @overload
    def apply(self, table: Scan) -> Scan: ...
    @overload
    def apply(self, table: Table | Scan) -> Table | Scan: ...
    def apply(self, table: Table | Scan) -> Table | Scan:
        """Return the table with its numbers cut and its rare levels folded."""
        if isinstance(table, Scan):
            if not self:
                return table
            # What was counted of the recoded rows is kept with them, so there is one of each.
            key = ("recode", id(self))
            if key not in table.memo:
                schema = self.apply_to_schema(table.schema)
                cuts = None if self.kept_levels else self.cut_points
                changed = table.map(self.apply, schema, cuts)
                table.memo[key] = (self, changed)
            return table.memo[key][1]  # type: ignore[no-any-return]
        # Rows outside memory may be counted a few columns at a time.
        cuts = {name: points for name, points in self.cut_points.items() if name in table}
        table = cut_table(table, cuts) if cuts else table
        if not self.kept_levels:
            return table
        from countwise.discretize.rare_levels import fold_table

        return fold_table(table, self.kept_levels)

    def apply_to_schema(self, schema: Schema) -> Schema:
        """Return the schema that recoded tables of this schema have."""
        for name in self.cut_points:
            if schema[name].kind != "numeric":
                raise SchemaError(f"Recode: {name!r} is cut and must be a numeric column.")
        for name, levels in self.kept_levels.items():
            places = schema[name].places
            if schema[name].kind != "nominal" or any(level_key(lv) not in places for lv in levels):
                raise SchemaError(f"Recode: {name!r} must be a nominal column with these levels.")
        empty = {
            column.name: np.empty(0, code_type(column.width) if column.coded else np.float64)
            for column in schema
            if column.coded or column.kind == "numeric"
        }
        return self.apply(Table(schema, empty)).schema

    def input_schema(self, known: Schema, counted: Schema) -> Schema:
        """Return the schema of rows not yet recoded, with all levels that were counted."""
        if not self:
            return counted
        # What is neither cut nor folded is counted as it is, so both know the same levels.
        return known.with_columns(
            counted[column.name]
            for column in known
            if column.coded and column.name not in self.kept_levels
        )

    def check(self) -> None:
        """Refuse points that do not rise and levels that occur twice."""
        for name, points in self.cut_points.items():
            if points.ndim != 1 or not np.isfinite(points).all() or np.any(np.diff(points) <= 0):
                raise SchemaError(f"Recode: the cut points of {name[:40]!r} must rise.")
        for name, levels in self.kept_levels.items():
            if not levels or len({level_key(level) for level in levels}) != len(levels):
                raise SchemaError(f"Recode: the kept levels of {name[:40]!r} must differ.")


def _keys(levels: Mapping[str, tuple[Level, ...]]) -> dict[str, list[tuple[str, Level]]]:
    return {name: [level_key(level) for level in kept] for name, kept in levels.items()}


def _grids(
    table: Table | Scan, weight: FloatArray | None, names: Iterable[str]
) -> Mapping[str, Grid]:
    plan = Plan(grids=tuple(names))
    return count(table, plan, sample_weight=weight).grids if plan.grids else {}
