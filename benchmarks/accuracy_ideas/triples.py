"""Idea: tables of three columns at once, as further terms of tables with many rows.

A triple is a nominal column more: its levels are the combinations of four groups of each column.
Candidates are the triples of the columns whose pairs are strongest. They are ranked by what a model
of two thirds of the rows leaves unexplained in the last third; the best ten are added.
Run: COUNTWISE_DATA=folder python -m benchmarks.accuracy_ideas.triples
"""

from __future__ import annotations

from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np

import countwise as cw
from benchmarks.accuracy_ideas.compare import compare
from countwise.models.additive.space import Space

SETS = (
    "keel:phoneme", "keel:titanic", "keel:contraceptive", "keel:mammographic", "credit-g",
    "keel:pima", "keel:vehicle", "keel:segment",
)  # fmt: skip
_GROUPS, _COLUMNS, _TRIPLES = 4, 7, 10
_MARK = "triple "


def group_columns(train: cw.Table, test: cw.Table) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the groups of each column in both tables: quarters, or the most frequent levels."""
    found = []
    for column in train.schema.attributes:
        if column.coded:
            counts = np.bincount(train.codes(column.name), minlength=column.width + 2)
            group = np.empty(len(counts), np.intp)
            order = np.argsort(-counts, kind="stable")
            group[order] = np.minimum(np.arange(len(counts)), _GROUPS)
            found.append((group[train.codes(column.name)], group[test.codes(column.name)]))
            continue
        values = np.asarray(train.values(column.name), dtype=np.float64)
        cuts = np.unique(np.nanquantile(values, np.arange(1, _GROUPS) / _GROUPS))
        found.append(tuple(
            np.where(np.isnan(part), _GROUPS, np.searchsorted(cuts, np.nan_to_num(part)))
            for part in (values, np.asarray(test.values(column.name), dtype=np.float64))
        ))  # fmt: skip
    return found


def rank_triples(train: cw.Table, groups: list[Any]) -> list[tuple[int, int, int]]:
    """Return the triples that explain most of what columns and pairs leave."""
    half = np.arange(len(train)) % 3 == 0
    rest = train.take(np.flatnonzero(half))
    model = cw.Additive().fit(train.take(np.flatnonzero(~half)))
    strengths = model.terms_.strengths()
    merit = strengths[: len(groups)].copy()
    for pair, strength in zip(model.terms_.pairs, strengths[len(groups) :], strict=True):
        merit[[pair.first, pair.second]] += strength
    shares = model.predict_proba(rest)
    places = np.searchsorted(model.classes_, np.asarray(rest.labels))
    residual = -shares
    residual[np.arange(len(rest)), np.minimum(places, shares.shape[1] - 1)] += 1
    curvature = shares * (1 - shares)
    best = []
    for triple in combinations(np.sort(np.argsort(-merit)[:_COLUMNS]).tolist(), 3):
        cell = _cells([groups[at][0][half] for at in triple])
        gain = 0.0
        for k in range(shares.shape[1]):
            g, h = (np.bincount(cell, line[:, k]) for line in (residual, curvature))
            gain += float(((g**2 - h) / (h + 1)).sum())
        best.append((gain, triple))
    return [triple for gain, triple in sorted(best, reverse=True)[:_TRIPLES] if gain > 0]


def _cells(groups: list[np.ndarray]) -> np.ndarray:
    one, two, three = groups
    return (one * (_GROUPS + 1) + two) * (_GROUPS + 1) + three


def add_triples(
    table: cw.Table, groups: list[np.ndarray], triples: list[tuple[int, int, int]]
) -> cw.Table:
    """Return the table with a nominal column for each triple."""
    columns: dict[str, Any] = {name: table.decode(name).tolist() for name in table.names}
    nominal = [column.name for column in table.schema.attributes if column.coded]
    for triple in triples:
        name = _MARK + "-".join(map(str, triple))
        columns[name] = [f"c{cell}" for cell in _cells([groups[at] for at in triple])]
        nominal.append(name)
    target = table.target_column.name
    options = {"nominal": [*nominal, target], "identifiers": "keep"}
    return cw.read(columns, target=target, **options)


def both_ways(train: cw.Table, test: cw.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities with columns and pairs, and with triples as well."""
    usual = cw.Additive().fit(train).predict_proba(test)
    groups = group_columns(train, test)
    triples = rank_triples(train, groups)
    more = add_triples(train, [part for part, _ in groups], triples)
    paired = Space.paired.fget
    assert paired is not None

    def without_triples(space: Space) -> list[int]:
        return [at for at in paired(space) if not space.bins[at].name.startswith(_MARK)]

    with patch.object(Space, "paired", property(without_triples)):
        model = cw.Additive().fit(more)
    return usual, model.predict_proba(add_triples(test, [part for _, part in groups], triples))


if __name__ == "__main__":
    compare(both_ways, SETS, 2)
