"""Plans: which tables, moments, histograms and words one pass over the rows fills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from countwise.errors import CountsError
from countwise.tables.schema import Schema

Numeric = Literal["moments", "grid", "both", "none"]


@dataclass(frozen=True)
class Plan:
    """What a model needs counted; plans unite with ``|`` so that several models share one pass.

    Make one with `each` (every attribute by class: naive Bayes), `pairs` (every two attributes by
    class: TAN, AODE) or `joint` (some attributes together by class), and keep the counts of groups
    of rows apart with `within`.

    Examples
    --------
    >>> import countwise as cw
    >>> schema = cw.read("sample:weather").schema
    >>> cw.Plan.each(schema).tables
    (('outlook',), ('temperature',), ('humidity',), ('windy',))
    >>> (cw.Plan.each(schema) | cw.Plan.joint(schema, "outlook", "windy")).tables[-1]
    ('outlook', 'windy')
    >>> cw.Plan.each(schema).within("windy").apart
    'windy'
    """

    tables: tuple[tuple[str, ...], ...] = ()
    moments: tuple[str, ...] = ()
    grids: tuple[str, ...] = ()
    #: Text columns, each with 1 to count its words or 2 to count its pairs of words in a row.
    words: tuple[tuple[str, int], ...] = ()
    apart: str | None = None

    @classmethod
    def each(cls, schema: Schema, numeric: Numeric = "moments") -> Plan:
        """Plan every attribute by class; numeric ones as moments, a fine grid, or both."""
        names = tuple(column.name for column in schema.numeric)
        return cls(
            tables=tuple((column.name,) for column in schema.nominal),
            moments=names if numeric in ("moments", "both") else (),
            grids=names if numeric in ("grid", "both") else (),
            words=tuple((column.name, 1) for column in schema.text),
        )

    @classmethod
    def pairs(cls, schema: Schema, columns: Sequence[str] | None = None) -> Plan:
        """Plan every two nominal attributes by class, and so every single one."""
        names = [column.name for column in schema.nominal] if columns is None else list(columns)
        _check_nominal(schema, names)
        single = cls(tables=tuple((name,) for name in names))
        return single | cls(tables=tuple(combinations(names, 2)))

    @classmethod
    def joint(cls, schema: Schema, *columns: str) -> Plan:
        """Plan these nominal attributes together, by class."""
        _check_nominal(schema, columns)
        if len(set(columns)) != len(columns):
            raise CountsError(f"Plan: joint columns must differ; got {columns!r}.")
        return cls(tables=(tuple(columns),))

    def within(self, column: str) -> Plan:
        """Keep the counts apart for each level of a nominal column: one `Counts` a level."""
        return replace(self, apart=column)

    def __or__(self, other: Plan) -> Plan:
        """Unite two plans; what both hold is counted once."""
        if self.apart is not None and other.apart not in (None, self.apart):
            raise CountsError(
                f"Plan: counts can be kept apart by one column; got {self.apart!r} and "
                f"{other.apart!r}.",
                hint="Count twice",
            )
        return Plan(
            tables=_union(self.tables, other.tables),
            moments=_union(self.moments, other.moments),
            grids=_union(self.grids, other.grids),
            words=_union(self.words, other.words),
            apart=self.apart or other.apart,
        )

    def __contains__(self, other: object) -> bool:
        """Return whether everything in another plan is counted by this one."""
        if not isinstance(other, Plan):
            return False
        return (
            {frozenset(names) for names in other.tables}
            <= {frozenset(names) for names in self.tables}
            and set(other.moments) <= set(self.moments)
            and set(other.grids) <= set(self.grids)
            and set(other.words) <= set(self.words)
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Every attribute the plan reads, in order of first mention."""
        flat = [name for names in self.tables for name in names]
        texts = [name for name, _ in self.words]
        return tuple(dict.fromkeys([*flat, *self.moments, *self.grids, *texts]))


def _union(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys([*left, *right]))


def _check_nominal(schema: Schema, names: Iterable[str]) -> None:
    for name in names:
        if schema[name].kind != "nominal":
            raise CountsError(
                f"Plan: columns counted together must be nominal; got {name!r}, which is "
                f"{schema[name].kind}.",
                hint="Cut it into intervals first",
            )
