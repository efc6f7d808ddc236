"""What a page shows of an additive model: the shapes of its columns, its strongest pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.discretize.cut_points import interval_names
from countwise.models.additive.terms import ColumnTerm, Terms
from countwise.models.views import PairShape, PairShapes, Shape, Shapes, View
from countwise.tables.labels import text
from countwise.tables.schema import Schema

#: A column does nothing if its mean absolute log-odds are below this.
NOTHING = 1e-3
#: So many words have a shape, those that add the most.
_SHOWN_WORDS = 30


def shapes_of(terms: Terms, schema: Schema, classes: Sequence[Any]) -> Sequence[View]:
    """Return the shapes of the columns and the tables of the pairs, the strongest first."""
    labels = tuple(text(label) for label in classes)
    shown = labels[1:] if len(labels) == 2 else labels
    strengths = terms.strengths()
    shares = strengths / (strengths.sum() or 1.0)
    order = np.argsort(-strengths, kind="stable").tolist()
    number = len(terms.columns)
    columns, unused = [], []
    words = [at for at in order if at < number and terms.columns[at].bins.word is not None]
    hidden = set(words[_SHOWN_WORDS:])
    for at in (at for at in order if at < number and at not in hidden):
        name = terms.columns[at].bins.label
        if strengths[at] < NOTHING:
            unused.append(name)
        else:
            columns.append(
                _shape(terms.columns[at], schema, float(strengths[at]), float(shares[at]))
            )
    pairs_share = float(shares[number:].sum())
    views: list[View] = [
        Shapes(
            shown,
            terms.base,
            tuple(columns),
            tuple(unused),
            pairs_share,
            _note(shown, pairs_share),
        )
    ]
    pairs = [at for at in order if at >= number]
    if pairs:
        views.append(
            PairShapes(
                tuple(
                    _pair(
                        terms, at - number, schema, shown, float(strengths[at]), float(shares[at])
                    )
                    for at in pairs
                ),
                pairs_share,
                "What two columns add together, beyond what each adds alone.",
            )
        )
    return tuple(views)


def _note(shown: tuple[str, ...], pairs_share: float) -> str:
    of = f"log-odds of class {shown[0]!r}" if len(shown) == 1 else "score of each class"
    note = (
        f"A row's {of} is that of the average row plus what its value in each column adds. The "
        "share of a column is its part of the mean absolute figures that all terms add"
    )
    if pairs_share:
        note += f"; pairs of columns have {100 * pairs_share:.0f} %"
    return f"{note}."


def _shape(column: ColumnTerm, schema: Schema, strength: float, share: float) -> Shape:
    bins = column.bins
    kept = slice(0, bins.width)
    return Shape(
        name=bins.label,
        levels=_level_names(column, schema),
        edges=_edges(bins.cuts) if bins.numeric else None,
        added=column.table[kept],
        errors=None if column.errors is None else column.errors[kept],
        counts=bins.counts[kept],
        missing=column.table[bins.width] if bins.counts[bins.width] > 0 else None,
        strength=strength,
        share=share,
        dates=bins.numeric and schema[bins.name].dates,
    )


def _level_names(column: ColumnTerm, schema: Schema) -> tuple[str, ...]:
    if column.bins.numeric:
        return interval_names(column.bins.cuts, schema[column.bins.name].dates)
    if column.bins.word is not None:
        return ("without", "with")
    return tuple(text(level) for level in schema[column.bins.name].levels)


def _edges(cuts: FloatArray) -> FloatArray:
    """Return the ends of all intervals; the outer ones get a twelfth of the range."""
    if not len(cuts):
        return np.asarray([0.0, 1.0])
    margin = (cuts[-1] - cuts[0]) / 12 or abs(cuts[0]) / 2 or 1.0
    return np.concatenate([[cuts[0] - margin], cuts, [cuts[-1] + margin]])


def _pair(
    terms: Terms, at: int, schema: Schema, shown: tuple[str, ...], strength: float, share: float
) -> PairShape:
    pair = terms.pairs[at]
    one, two = terms.columns[pair.first], terms.columns[pair.second]
    weight = pair.counts[:, :, None] * np.abs(pair.table)
    best = int(weight.sum(axis=(0, 1)).argmax())
    rows = np.flatnonzero(pair.counts.sum(axis=1) > 0)
    columns = np.flatnonzero(pair.counts.sum(axis=0) > 0)
    names, across = _group_names(one, schema), _group_names(two, schema)
    kept = np.ix_(rows, columns)
    return PairShape(
        first=one.bins.name,
        second=two.bins.name,
        first_levels=tuple(names[row] for row in rows.tolist()),
        second_levels=tuple(across[column] for column in columns.tolist()),
        label=shown[best],
        added=pair.table[:, :, best][kept],
        counts=pair.counts[kept],
        strength=strength,
        share=share,
    )


def _group_names(column: ColumnTerm, schema: Schema) -> list[str]:
    """Return the names of the groups of a column: intervals, levels, or the rarer levels."""
    group, width = column.group[:-2], column.bins.width
    if column.bins.numeric:
        first = np.flatnonzero(np.diff(group.astype(np.int64), prepend=-1))
        cuts, dates = column.bins.cuts[first[1:] - 1], schema[column.bins.name].dates
        return [*interval_names(cuts, dates), "missing", "never seen"]
    levels = _level_names(column, schema)
    names = []
    for place in range(column.groups - 2):
        members = np.flatnonzero(group == place).tolist()
        names.append(levels[members[0]] if len(members) == 1 else f"{len(members)} others")
    return [*names, "missing", "never seen"] if width else ["missing", "never seen"]
