"""Counts: the result of a pass over rows. They can be added, subtracted, compared and shown."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.histogram import Grid
from countwise.counts.moments import SLACK, Moments, check_amounts
from countwise.counts.plan import Plan
from countwise.counts.word_counts import WordCounts
from countwise.errors import CountsError, listing, quote, shorten
from countwise.show_rows import html_table
from countwise.tables.schema import Column, Level, Schema, by_value, level_key

Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Counts:
    """Contingency tables, moments, fine grids and words of some rows, by class.

    Every axis has one slot more than levels: the last one holds the rows whose value (or class) is
    missing. ``a + b`` are the counts of both sets of rows, ``a - b`` takes rows away again; levels
    and classes that only one side knows are united.

    Examples
    --------
    >>> import countwise as cw
    >>> counts = cw.count(cw.read("sample:weather"))
    >>> counts.classes, counts.table("outlook")
    (('no', 'yes'), array([[3., 0., 2., 0.],
           [2., 4., 3., 0.],
           [0., 0., 0., 0.]]))
    >>> (counts + counts - counts) == counts
    True
    >>> counts
    <Counts of 14 rows (no 5, yes 9): 4 tables of outlook, temperature, humidity, windy>
    """

    schema: Schema
    plan: Plan
    rows: int
    weight: FloatArray
    tables: Mapping[Key, FloatArray]
    moments: Mapping[str, Moments]
    grids: Mapping[str, Grid]
    words: Mapping[tuple[str, int], WordCounts] = field(default_factory=dict)

    @classmethod
    def zero(cls, schema: Schema, plan: Plan) -> Counts:
        """Return the counts of no rows."""
        slots = _target(schema).width + 1
        return cls(
            schema,
            replace(plan, apart=None),
            0,
            np.zeros(slots),
            {names: np.zeros(_shape(schema, names)) for names in plan.tables},
            {name: Moments.zero(slots) for name in plan.moments},
            {name: Grid.zero(slots) for name in plan.grids},
            {key: WordCounts.zero(slots) for key in plan.words},
        )

    @property
    def classes(self) -> tuple[Level, ...]:
        """The class labels, sorted."""
        return _target(self.schema).levels

    @property
    def total(self) -> float:
        """The weight of all rows that have a class."""
        return float(self.weight[:-1].sum())

    def levels(self, name: str) -> tuple[Level, ...]:
        """Return the levels of a nominal column in the order of its axis."""
        return self.schema[name].levels

    def table(self, *names: str) -> FloatArray:
        """Return the table of these columns: class first, then the columns in the order asked.

        A table that was not counted by itself is summed from a larger one that holds it.
        """
        if names in self.tables:
            return self.tables[names]
        if len(names) == 2 and names[::-1] in self.tables:
            return self.tables[names[::-1]].transpose(0, 2, 1)
        best = min(
            (key for key in self.tables if set(names) <= set(key)),
            key=lambda key: self.tables[key].size,
            default=None,
        )
        if best is None:
            raise CountsError(
                f"Counts: no table of {listing(names)} was counted.",
                hint="Count with a plan that holds it, such as "
                f"Plan.joint(schema, {listing(names)})",
            )
        return sum_out(self.tables[best], best, names)

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return self._combined(other, operator.add, lambda left, right, what: left + right)

    def __radd__(self, other: object) -> Counts:
        """Let the built-in sum() begin with 0."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        less = self._combined(other, operator.sub, _minus)
        # Levels that only the rows taken away had are unknown again.
        return less._onto(self.schema, self.plan)

    def _combined(
        self,
        other: Counts,
        combine: Callable[[Any, Any], Any],
        combine_cells: Callable[[FloatArray, FloatArray, object], FloatArray],
    ) -> Counts:
        """Return the counts of both sides put together, part by part."""
        left, right = self._aligned(other)
        return Counts(
            left.schema,
            left.plan,
            combine(left.rows, right.rows),
            combine_cells(left.weight, right.weight, "class"),
            {
                key: combine_cells(table, right.table(*key), key)
                for key, table in left.tables.items()
            },
            {name: combine(part, right.moments[name]) for name, part in left.moments.items()},
            {name: combine(part, right.grids[name]) for name, part in left.grids.items()},
            {key: combine(part, right.words[key]) for key, part in left.words.items()},
        )

    def _aligned(self, other: Counts) -> tuple[Counts, Counts]:
        """Return both sides on the axes of their united schema."""
        schema = merge_schemas(self.schema, other.schema)
        return self._onto(schema, other.plan), other._onto(schema, self.plan)

    def __eq__(self, other: object) -> bool:
        """Equal counts under equal names, whatever the order of levels."""
        if not isinstance(other, Counts):
            return NotImplemented
        return self._agrees(other, np.array_equal, operator.eq)

    __hash__ = None  # type: ignore[assignment]

    def close_to(self, other: Counts, tolerance: float = 1e-9) -> bool:
        """Return whether both count the same rows, but for rounding."""
        scale = max(self.total, other.total, 1.0) * tolerance
        return self._agrees(
            other,
            lambda left, right: np.allclose(left, right, rtol=tolerance, atol=scale),
            lambda left, right: left.close_to(right, tolerance),
        )

    def _agrees(
        self,
        other: Counts,
        cells_agree: Callable[[FloatArray, FloatArray], bool],
        parts_agree: Callable[[Any, Any], bool],
    ) -> bool:
        """Return whether both count the same columns and rows, and all their parts agree."""
        kinds, other_kinds = (
            {column.name: column.kind for column in schema if column.kind not in ("id", "drop")}
            for schema in (self.schema, other.schema)
        )
        if kinds != other_kinds or self.rows != other.rows:
            return False
        if self.plan not in other.plan or other.plan not in self.plan:
            return False
        left, right = self._aligned(other)
        return (
            cells_agree(left.weight, right.weight)
            and all(cells_agree(table, right.table(*key)) for key, table in left.tables.items())
            and all(parts_agree(part, right.moments[name]) for name, part in left.moments.items())
            and all(parts_agree(part, right.grids[name]) for name, part in left.grids.items())
            and all(parts_agree(part, right.words[key]) for key, part in left.words.items())
        )

    def _onto(self, schema: Schema, plan: Plan) -> Counts:
        """Return the same counts on the axes of another schema, under an equal plan."""
        if plan not in self.plan:
            raise CountsError(
                "Counts: both sides must be counted by the same plan to be merged, compared or "
                "subtracted; got one that lacks what the other counts.",
                hint="Count both with the same plan",
            )
        if _identical(schema, self.schema):
            return self
        width = _target(schema).width + 1
        order = _slots(_target(self.schema), _target(schema))
        return Counts(
            schema,
            self.plan,
            self.rows,
            _place(self.weight, (order,), (width,)),
            {
                key: _place(
                    table,
                    (order, *(_slots(self.schema[name], schema[name]) for name in key)),
                    _shape(schema, key),
                )
                for key, table in self.tables.items()
            },
            {name: moments.slots(order, width) for name, moments in self.moments.items()},
            {name: grid.slots(order, width) for name, grid in self.grids.items()},
            {key: words.slots(order, width) for key, words in self.words.items()},
        )

    def onto(self, schema: Schema) -> Counts:
        """Return the same counts with the levels in the order of another schema."""
        return self._onto(schema, self.plan)

    def restricted(self, plan: Plan) -> Counts:
        """Return only what this plan names; a larger pass serves a smaller model."""
        if plan not in self.plan:
            raise CountsError(
                "Counts: the model needs tables that were not counted.",
                hint=f"Count with a plan that holds them: {plan!r}",
            )
        return Counts(
            self.schema,
            replace(plan, apart=None),
            self.rows,
            self.weight,
            {names: self.table(*names) for names in plan.tables},
            {name: self.moments[name] for name in plan.moments},
            {name: self.grids[name] for name in plan.grids},
            {key: self.words[key] for key in plan.words},
        )

    def check(self) -> None:
        """Refuse counts that no pass over rows of this schema could have left behind."""
        slots = _target(self.schema).width + 1
        if self.weight.shape != (slots,):
            raise CountsError(f"Counts: there must be a weight for each of {slots} classes.")
        check_amounts("Counts: the class weights", self.weight)
        plan = Plan(tuple(self.tables), tuple(self.moments), tuple(self.grids), tuple(self.words))
        if not (self.plan in plan and plan in self.plan and abs(self.rows) < 2**62):
            raise CountsError("Counts: what is counted must be what the plan names.")
        for names, table in self.tables.items():
            what = "the table of " + " and ".join(map(repr, names))
            if len(set(names)) != len(names) or any(not self._is(n, "nominal") for n in names):
                raise CountsError(f"Counts: {what} must be of nominal columns of the schema.")
            if table.shape != _shape(self.schema, names):
                raise CountsError(f"Counts: {what} must have a place for each level and class.")
            check_amounts(f"Counts: {what}", table)
            self._check_total(table.reshape(slots, -1).sum(axis=1), what)
        numbers: list[tuple[str, Moments | Grid]] = [*self.moments.items(), *self.grids.items()]
        for name, value in numbers:
            if not self._is(name, "numeric"):
                raise CountsError(f"Counts: {quote(name)} must be a numeric column of the schema.")
            if value.missing.shape != (slots,):
                raise CountsError(
                    f"Counts: {quote(name)} must be counted for each of {slots} classes."
                )
            seen = value.weight if isinstance(value, Moments) else value.table.sum(axis=1)
            self._check_total(seen + value.missing, f"column {quote(name)}")
        for (name, size), words in self.words.items():
            if not self._is(name, "text") or size not in (1, 2):
                raise CountsError(f"Counts: {quote(name)} must be a text column of the schema.")
            if words.weight.shape != (slots,):
                raise CountsError(
                    f"Counts: {quote(name)} must be counted for each of {slots} classes."
                )
            self._check_total(words.weight + words.missing, f"column {quote(name)}")

    def _is(self, name: str, kind: str) -> bool:
        return name in self.schema and self.schema[name].kind == kind

    def _check_total(self, sums: FloatArray, what: str) -> None:
        if np.any(sums > self.weight + SLACK * max(1.0, float(self.weight.sum()))):
            raise CountsError(f"Counts: {what} must not count more rows than there are.")

    def without_levels(self, kept: Mapping[str, Collection[Level]]) -> Counts:
        """Drop levels that no row holds, but for those to be `kept`.

        Columns that are not named, and those that were not counted, stay as they are.
        """
        changed = []
        counted = {name for names in self.tables for name in names}
        for name, levels in kept.items():
            column = self.schema[name]
            if name not in counted and column.kind != "target":
                continue
            held = {level_key(level) for level in levels}
            table = self.weight[None] if column.kind == "target" else self.table(name)
            filled = table.sum(axis=0) > 0
            changed.append(
                column.with_levels(
                    level
                    for place, level in enumerate(column.levels)
                    if filled[place] or level_key(level) in held
                )
            )
        return self._onto(self.schema.with_columns(changed), self.plan)

    def without_unused_words(self) -> Counts:
        """Return the same counts, which know no word that occurs in none of the rows."""
        if not self.words:
            return self
        return replace(self, words={key: words.compact() for key, words in self.words.items()})

    def __repr__(self) -> str:
        classes = [
            f"{n} {w:.10g}" for n, w in zip(self.classes, self.weight.tolist(), strict=False)
        ]
        tables = [" × ".join(names) for names in self.tables]
        groups = {"table": tables, "moment": list(self.moments), "grid": list(self.grids)}
        groups["word count"] = list(dict.fromkeys(name for name, _ in self.words))
        parts = [
            f"{len(names)} {kind}{'s' if len(names) > 1 else ''} of {shorten(names)}"
            for kind, names in groups.items()
            if names
        ]
        if any(moments.exact is None for moments in self.moments.values()):
            parts.append("sums of numbers rounded (fractional weights)")
        counted = f": {'; '.join(parts)}" if parts else ""
        return f"<Counts of {self.rows} rows ({shorten(classes)}){counted}>"

    def _repr_html_(self) -> str:
        """Show the weight of each class in a notebook, and what is counted."""
        named = zip((*self.classes, "(missing)"), self.weight.tolist(), strict=True)
        lines = [(label, weight) for label, weight in named if weight or label != "(missing)"]
        return html_table(("class", "rows"), lines, repr(self)[1:-1])

    @staticmethod
    def sum(parts: list[Counts]) -> Counts:
        """Merge several counts, in order."""
        if not parts:
            raise CountsError("Counts: there must be at least one part to sum; got none.")
        return reduce(lambda left, right: left + right, parts)


def sum_out(table: NDArray[Any], columns: Key, names: Key) -> NDArray[Any]:
    """Return the table of some of the columns of a larger one, in the order of `names`."""
    others = tuple(axis + 1 for axis, name in enumerate(columns) if name not in names)
    left = [name for name in columns if name in names]
    table = table.sum(axis=others) if others else table
    return table.transpose(0, *(1 + left.index(name) for name in names))


def merge_schemas(left: Schema, right: Schema) -> Schema:
    """Unite the levels of two schemas; columns must have the same names and kinds."""
    if _identical(left, right):
        return left
    for column in [*left, *right]:
        if column.kind not in ("id", "drop") and not (column.name in left and column.name in right):
            raise CountsError(
                f"Counts: both sides must know column {quote(column.name)}; got one that does not.",
                hint="Read both with the same schema",
            )
    columns = []
    for column in left:
        other = next((c for c in right if c.name == column.name), column)
        if column.kind != other.kind:
            raise CountsError(
                f"Counts: column {quote(column.name)} must be of one kind; got {column.kind} on "
                f"one side and {other.kind} on the other.",
                hint="Read both with the same schema",
            )
        columns.append(column.with_levels(_unite(column, other)) if column.coded else column)
    return Schema(tuple(columns))


def _unite(left: Column, right: Column) -> tuple[Level, ...]:
    if left.same_levels(right):
        return left.levels
    new = [level for level in right.levels if level_key(level) not in left.places]
    every = [*left.levels, *new]
    return tuple(by_value(every) if left.kind == "target" else every)


def _identical(left: Schema, right: Schema) -> bool:
    """Return whether schemas and the types of their levels are equal; to Python 1 is True."""
    return left is right or (
        left == right and all(a.same_levels(b) for a, b in zip(left, right, strict=True))
    )


def _target(schema: Schema) -> Column:
    if schema.target is None:
        raise CountsError(
            "Counts: rows are counted by class; got a table that names no class column.",
            hint="Read it with `target='column'`",
        )
    return schema.target


def _shape(schema: Schema, names: Key) -> tuple[int, ...]:
    return (_target(schema).width + 1, *(schema[name].width + 1 for name in names))


def _slots(old: Column, new: Column) -> NDArray[np.intp]:
    """Return where each slot of an old axis lies on the new one; the missing slot stays last."""
    # A level that the new axis does not know can only be empty: see _minus.
    slots = [new.places.get(level_key(level), new.width) for level in old.levels]
    return np.asarray([*slots, new.width], dtype=np.intp)


def _place(
    table: FloatArray, orders: tuple[NDArray[np.intp], ...], shape: tuple[int, ...]
) -> FloatArray:
    placed = np.zeros(shape)
    np.add.at(placed, np.ix_(*orders), table)
    return placed


def _minus(left: FloatArray, right: FloatArray, what: object) -> FloatArray:
    less = left - right
    floor = -1e-9 * np.maximum(left, 1.0)
    if np.any(less < floor):
        raise CountsError(
            f"Counts: rows can be taken away only once and only if they were counted; got a table "
            f"of {quote(what)} below zero.",
            hint="Check which rows are forgotten",
        )
    # What rounding leaves of fractional weights is nothing.
    return np.where(less <= 1e-12 * left, 0.0, less)
