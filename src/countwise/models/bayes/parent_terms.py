"""The terms of one attribute as the parent of all others, for each attribute in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.smoothing import Smoothing
from countwise.models.bayes.score_terms import ScoreTerms, TableTerm, child_figures

#: Figures of all parents together that are kept after learning. Joined for speed they take a few
#: times this; more of them are computed from the counts whenever rows are scored.
MOST_FIGURES = 1 << 23


class ParentTerms:
    """The terms of every parent in turn: kept where they are few, else computed as they are asked.

    The figures of all parents hold each pair of attributes twice, with a line for every class. For
    279 columns of five levels and 13 classes they and their joined tables would take 2 GB, where
    the counts take 0.15; computed one parent at a time, they take 2 MB.
    """

    def __init__(
        self,
        counts: Counts,
        names: Sequence[str],
        base: FloatArray,
        present: NDArray[np.intp],
        rule: Smoothing | str,
    ) -> None:
        self._counts, self._names, self._base = counts, list(names), base
        self._present, self._rule = present, rule
        widths = np.array([counts.schema[name].width + 2.0 for name in names])
        figures = len(base) * (widths.sum() ** 2 - (widths**2).sum())
        self.kept = bool(figures <= MOST_FIGURES)
        self._all = [self._terms(parent) for parent in names] if self.kept else []

    def __iter__(self) -> Iterator[ScoreTerms]:
        """Give the terms of each parent, in the order of the attributes."""
        return iter(self._all) if self.kept else map(self._terms, self._names)

    def _terms(self, parent: str) -> ScoreTerms:
        """Return the terms of one parent: its table, then that of each child."""
        by_width: dict[int, list[str]] = {}
        for child in self._names:
            if child != parent:
                by_width.setdefault(self._counts.schema[child].width, []).append(child)
        figures: dict[str, FloatArray] = {}
        for children in by_width.values():
            figures.update(zip(children, self._figures(parent, children), strict=True))
        alone = child_figures(self._counts.table(parent)[self._present], self._rule)
        tables = [
            TableTerm((child, parent), figures[child]) for child in self._names if child != parent
        ]
        return ScoreTerms(self._base, [TableTerm((parent,), alone), *tables], join=self.kept)

    def _figures(self, parent: str, children: Sequence[str]) -> FloatArray:
        """Return the figures of children of one width, computed together: children first."""
        tables = np.stack([self._counts.table(child, parent) for child in children], axis=-1)
        figures = child_figures(tables[self._present], self._rule, parents=1)
        return np.ascontiguousarray(np.moveaxis(figures, 2, 0))
