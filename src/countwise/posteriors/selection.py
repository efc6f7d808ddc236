"""Leave-one-out from counts: how well the other rows' model does, with ever more attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.counts import Counts
from countwise.counts.smoothing import Smoothing
from countwise.posteriors.conditional import backed_off
from countwise.tables.table import Table

Doubles = NDArray[np.float64]
Codes = NDArray[np.intp]
Family = tuple[str, ...]

_BLOCK = 1 << 16


def best_prefix(
    table: Table,
    counts: Counts,
    families: Sequence[Family],
    rule: Smoothing | str,
    weight: Doubles | None = None,
) -> int:
    """How many families, in order, give the least leave-one-out loss; of equal ones the fewest."""
    return int(np.argmin(np.round(prefix_losses(table, counts, families, rule, weight), 12)))


def prefix_losses(
    table: Table,
    counts: Counts,
    families: Sequence[Family],
    rule: Smoothing | str,
    weight: Doubles | None = None,
) -> Doubles:
    """Mean squared loss 1 - P(true class) after none, one, two … families, each row left out.

    A row is taken out of the counts of its own class only where it stands: in its cell and in the
    totals of its parents' values. A row of weight 3 stands for three rows, of which one is left
    out. One pass over the rows serves all prefixes.
    """
    losses = np.zeros(len(families) + 1)
    total = 0.0
    present = np.flatnonzero(counts.weight[:-1] > 0)
    place = np.searchsorted(present, np.arange(len(counts.weight)))
    for start in range(0, len(table), _BLOCK):
        rows = table.take(slice(start, start + _BLOCK))
        own = np.ones(len(rows)) if weight is None else weight[start : start + _BLOCK]
        keep = (rows.target < rows.target_column.width) & (own > 0)
        rows, own = rows.take(keep), own[keep]
        left_out = _LeftOut(rows, counts, present, rule, place[rows.target], own)
        losses += left_out.losses(families)
        total += float(own.sum())
    return losses / max(total, 1e-300)


class _LeftOut:
    """Rows of a block, each asked about by the counts of all other rows."""

    def __init__(
        self,
        table: Table,
        counts: Counts,
        present: Codes,
        rule: Smoothing | str,
        truth: Codes,
        weight: Doubles,
    ) -> None:
        self.table, self.counts, self.present, self.rule = table, counts, present, rule
        self.truth, self.weight = truth, weight
        self.left_out = np.minimum(weight, 1.0)
        self.every = np.arange(len(table))

    def losses(self, families: Sequence[Family]) -> Doubles:
        """The summed loss after none, one, two … families."""
        prior = np.repeat(self.counts.weight[self.present, None], len(self.table), axis=1)
        self._less(prior, self.every)
        with np.errstate(divide="ignore"):
            scores = np.log(prior)
        losses = [self._loss(scores)]
        for family in families:
            scores += self._logs(family)
            losses.append(self._loss(scores))
        return np.asarray(losses)

    def _codes(self, name: str) -> Codes:
        """Codes in which unseen levels are missing, as they are in the counts."""
        codes = self.table.codes(name).astype(np.intp)
        return np.minimum(codes, self.table.schema[name].width)

    def _less(self, figures: Doubles, rows: Codes) -> None:
        """Take rows out of figures of their own class: classes × rows."""
        at = (self.truth[rows], np.arange(len(rows)))
        figures[at] = np.maximum(figures[at] - self.left_out[rows], 0.0)

    def _logs(self, family: Family) -> Doubles:
        """Log shares of the rows' values given their parents' values: classes × rows.

        Parents that a row lacks are summed out; a row that lacks the value itself adds nothing.
        """
        cells = self.counts.table(*family)[self.present]
        child, parents = self._codes(family[0]), [self._codes(name) for name in family[1:]]
        made = np.zeros((len(self.present), len(self.table)))
        gaps = np.zeros(len(child), dtype=np.intp)
        for place, codes in enumerate(parents):
            gaps += (codes == cells.shape[2 + place] - 1).astype(np.intp) << place
        known = child < cells.shape[1] - 1
        for pattern in np.unique(gaps[known]).tolist():
            rows = np.flatnonzero(known & (gaps == pattern))
            gone = tuple(2 + at for at in range(len(parents)) if pattern >> at & 1)
            at = [codes[rows] for place, codes in enumerate(parents) if not pattern >> place & 1]
            made[:, rows] = self._shares(cells[:, :-1].sum(axis=gone), child[rows], at, rows)
        with np.errstate(divide="ignore"):
            logs = np.log(made, out=np.zeros_like(made), where=known)
        # As in the model: what no class was ever seen with says nothing.
        logs[:, ~np.isfinite(logs).any(axis=0)] = 0.0
        return logs

    def _shares(self, cells: Doubles, child: Codes, parents: list[Codes], rows: Codes) -> Doubles:
        index: tuple[Any, ...] = (slice(None), child, *parents)
        own = cells[index].copy()
        total = cells.sum(axis=1)[(slice(None), *parents)]
        total = total.copy() if parents else np.repeat(total[:, None], len(rows), axis=1)
        self._less(own, rows)
        self._less(total, rows)
        if not isinstance(self.rule, str):
            return self.rule.share(own, total, cells.shape[1])
        every = cells.sum(axis=(0, *range(2, cells.ndim)))
        less = self.left_out[rows]
        whole = every.sum() - less
        overall = np.divide(every[child] - less, whole, out=np.zeros_like(whole), where=whole > 0)
        return backed_off(own, total, np.maximum(overall, 0.0))

    def _loss(self, scores: Doubles) -> float:
        top = scores.max(axis=0)
        shares = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        whole = shares.sum(axis=0)
        own = shares[self.truth, self.every]
        sure = np.divide(own, whole, out=np.zeros_like(whole), where=whole > 0)
        return float((self.weight * (1.0 - sure) ** 2).sum())
