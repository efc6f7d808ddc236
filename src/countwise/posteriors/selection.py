"""Leave-one-out from counts: how well the other rows' model does, with ever more attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise.counts.counts import Counts
from countwise.counts.smoothing import Smoothing
from countwise.posteriors.bayes_leave_one_out import Family, LeftOut
from countwise.tables.table import Table

Doubles = NDArray[np.float64]

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
    for start in range(0, len(table), _BLOCK):
        rows = table.take(slice(start, start + _BLOCK))
        own = np.ones(len(rows)) if weight is None else weight[start : start + _BLOCK]
        keep = (rows.target < rows.target_column.width) & (own > 0)
        rows, own = rows.take(keep), own[keep]
        left_out = LeftOut(rows, counts, np.minimum(own, 1.0))
        losses += _losses(left_out, families, rule, own)
        total += float(own.sum())
    return losses / max(total, 1e-300)


def _losses(
    left_out: LeftOut, families: Sequence[Family], rule: Smoothing | str, weight: Doubles
) -> Doubles:
    """The summed loss after none, one, two … families."""
    with np.errstate(divide="ignore"):
        scores = np.log(left_out.class_weights())
    losses = [_loss(left_out, scores, weight)]
    for family in families:
        scores += left_out.log_shares(family, rule)
        losses.append(_loss(left_out, scores, weight))
    return np.asarray(losses)


def _loss(left_out: LeftOut, scores: Doubles, weight: Doubles) -> float:
    top = scores.max(axis=0)
    shares = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    whole = shares.sum(axis=0)
    true = shares[left_out.truth, left_out.every]
    sure = np.divide(true, whole, out=np.zeros_like(whole), where=whole > 0)
    return float((weight * (1.0 - sure) ** 2).sum())
