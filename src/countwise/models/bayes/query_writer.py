"""Write down how a database scores rows: the look-up tables and densities of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.engines.pushdown import read_levels
from countwise.models.bayes.score_terms import ZERO, GaussianTerm, ScoreTerms, TableTerm
from countwise.tables.scan import Scan
from countwise.tables.sources.query_source import Cells, QuerySource
from countwise.tables.sources.score_statement import (
    MOST_CLASSES,
    MOST_FIGURES,
    Levels,
    LookUp,
    Normal,
    ScoreQuery,
)
from countwise.tables.text_values import numbers_among


class QueryWriter:
    """Writes models that are sums of terms as queries for the rows of a scan."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self._levels: Mapping[str, Levels] | None = None

    def write(
        self,
        model: Any,
        gains: FloatArray,
        least: float,
        bins: tuple[Sequence[int], FloatArray],
    ) -> ScoreQuery | None:
        """Return how rows are scored; None if that cannot be written as a query."""
        scan, terms = self.scan, getattr(model, "sum_of_terms", None)
        if terms is None or len(model.classes_) != len(scan.classes) or scan.weight is not None:
            return None
        if max(gains.shape) > MOST_CLASSES:
            return None
        found = self._terms(terms)
        if found is None:
            return None
        look_ups, normals = found
        if sum(look_up.figures.size for look_up in look_ups) > MOST_FIGURES:
            return None
        named = list(dict.fromkeys(name for look_up in look_ups for name in look_up.columns))
        numbers = [name for name in named if scan.schema[name].kind == "numeric"]
        if not self._are_numbers([*numbers, *(normal.column for normal in normals)]):
            return None
        cells = {
            name: Cells(0, np.asarray(model.cut_points_[name], np.float64), self._marks(name))
            for name in numbers
        }
        names = [name for name in named if name not in cells]
        if self._levels is None or not self._levels.keys() >= {*names}:
            self._levels = read_levels(scan, names)
        if self._levels is None:
            return None
        target = scan.target_column.name
        labels = {
            value: code
            for value, code in self._levels[target].values.items()
            if code < len(scan.classes)
        }
        levels = {name: self._levels[name] for name in names}
        return ScoreQuery(
            target, labels, levels, cells, terms.base, look_ups, normals, model.temperature_,
            gains, least, *bins,
        )  # fmt: skip

    def _terms(self, terms: ScoreTerms) -> tuple[list[LookUp], list[Normal]] | None:
        """Return the terms of a model; None if there are others, or some rule values out."""
        look_ups, normals, lowest = [], [], [terms.base.min()]
        for term in terms.terms:
            if isinstance(term, TableTerm):
                look_ups.append(LookUp(term.columns, term.figures))
                lowest.append(term.figures.min())
            elif isinstance(term, GaussianTerm) and not term.normalize:
                (name,) = term.columns
                precision, constant = term.constants
                lowest += [constant.min(), term.missing.min()]
                normals.append(
                    Normal(name, term.mean, precision, constant, term.missing, self._marks(name))
                )
            else:
                return None
        return (look_ups, normals) if min(lowest) > ZERO / 2 else None

    def _marks(self, name: str) -> frozenset[float]:
        return numbers_among(self.scan.decision.reading(self.scan.options, False).marks(name))

    def _are_numbers(self, names: Sequence[str]) -> bool:
        source = self.scan.source
        assert isinstance(source, QuerySource)
        return all(name in source.schema.names and source.is_number(name) for name in names)
