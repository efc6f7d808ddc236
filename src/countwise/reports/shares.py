"""How probable each value of a nominal attribute is in each class, as plain data.

Shares come from the counts with the smoothing of the model. Attributes are ordered by how much they
tell about the class under these shares,

    I = Σ_c P(c) Σ_v P(v | c) log2 (P(v | c) / P(v)),

and as many are kept as a page can show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.information import information_gain
from countwise.counts.smoothing import Smoothing
from countwise.reports.figures.panels import MANY_CLASSES
from countwise.reports.rounding import figures, names, rounded
from countwise.tables.schema import MISSING_VALUE, Column, Level

#: How many attributes are shown, how many values of each, and how many classes and cells in all.
MOST_ATTRIBUTES = 60
MOST_LEVELS = 30
MOST_LEVELS_ACROSS = 18
MOST_CLASSES = 30
MOST_CELLS = 3000


@dataclass(frozen=True)
class Shares:
    """What is needed to show the tables of a model: its counts, classes, prior and smoothing.

    Bits are those of the smoothed shares, or of the counts as they are (``smoothed_bits=False``).
    """

    counts: Counts
    classes: Sequence[Level]
    prior: FloatArray
    rule: Smoothing
    with_missing: bool = False
    smoothed_bits: bool = True

    def tables(self, columns: Sequence[Column], shown: list[int]) -> list[dict[str, Any]]:
        """Return the tables of columns, the most telling first, of the classes shown."""
        present = [list(self.counts.classes).index(label) for label in self.classes]
        found = []
        for column in columns:
            every = self.counts.table(column.name)[present]
            known = every if self.with_missing else every[:, :-1]
            if known.shape[1]:
                shares = self.rule.shares(known)
                plain = not self.smoothed_bits
                bits = information_gain(known) if plain else information(self.prior, shares)
                found.append((bits, column, known, shares))
        found.sort(key=lambda own: -round(own[0], 12))
        most = MOST_LEVELS if len(shown) <= MANY_CLASSES else MOST_LEVELS_ACROSS
        tables: list[dict[str, Any]] = []
        cells = 0
        for bits, column, known, shares in found[:MOST_ATTRIBUTES]:
            levels = names(column.levels) + ([MISSING_VALUE] if self.with_missing else [])
            keep = _frequent(known, most)
            cells += len(keep) * len(shown)
            if cells > MOST_CELLS and tables:
                break
            tables.append(
                {
                    "name": column.name,
                    "bits": rounded(bits),
                    "levels": [levels[at] for at in keep],
                    "more": len(levels) - len(keep),
                    "shares": figures(shares[np.ix_(shown, keep)], 4),
                    "counts": figures(known[np.ix_(shown, keep)]),
                }
            )
        return tables


def most_probable(prior: FloatArray) -> list[int]:
    """Return the classes shown: all, or the most probable in their own order."""
    if len(prior) <= MOST_CLASSES:
        return list(range(len(prior)))
    return sorted(np.argsort(-prior, kind="stable")[:MOST_CLASSES].tolist())


def information(prior: FloatArray, shares: FloatArray) -> float:
    """Return how many bits a value tells about the class, given P(value | class) in rows."""
    total = shares.sum(axis=1, keepdims=True)
    own = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
    mixed = prior @ own
    ratio = np.divide(own, mixed, out=np.ones_like(own), where=(own > 0) & (mixed > 0))
    return max(float(prior @ (own * np.log2(ratio)).sum(axis=1)), 0.0)


def _frequent(known: FloatArray, most: int) -> list[int]:
    """The levels shown: all, or the most frequent in their own order."""
    if known.shape[1] <= most:
        return list(range(known.shape[1]))
    return sorted(np.argsort(-known.sum(axis=0), kind="stable")[:most].tolist())
