"""Find pairs of columns that tell more about the class together than separately."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.additive._passes import screen
from countwise.models.additive.basis import Groups, Pair
from countwise.models.additive.fit import Rows
from countwise.parallel import blocks, in_threads

#: Pairs that a model may have.
MAX_PAIRS = 200
#: Rows that are enough to compare pairs.
_ROWS = 20_000


def rank_pairs(
    rows: Rows,
    groups: Sequence[Groups],
    probabilities: FloatArray,
    columns: Sequence[int],
    ridge: float,
) -> list[list[Pair]]:
    """Return the pairs that promise something, the best first: for each fold, then for all rows.

    The list of a fold knows nothing of the rows of the fold. `probabilities` are those of all rows,
    of the validated ones by a model that has not seen them.
    """
    some = np.arange(0, len(rows), len(rows) // _ROWS + 1) if len(rows) > _ROWS else None
    taken = slice(None) if some is None else some
    y, weight, shares = rows.y[taken], rows.weight[taken], probabilities[taken]
    residual = -shares
    residual[np.arange(len(y)), y] += 1
    curvature = shares * (1 - shares)
    if rows.scores == 1:
        residual, curvature = residual[:, 1:], curvature[:, 1:]
    residual = np.ascontiguousarray(residual * weight[:, None])
    curvature = np.ascontiguousarray(curvature * weight[:, None])
    codes = np.empty((len(groups), len(y)), np.uint16)
    for line, part, code in zip(codes, groups, rows.codes, strict=True):
        line[:] = part.group[code[taken]]
    fold = np.searchsorted(rows.bounds[1:], np.arange(len(rows)), side="right")[taken]
    parts = np.minimum(fold, rows.folds).astype(np.int32)
    places = np.asarray(sorted(columns), dtype=np.int64)
    first, second = np.triu_indices(len(places), 1)
    single = np.column_stack([np.arange(len(groups)), np.full(len(groups), -1)])
    joint = np.column_stack([places[first], places[second]]).astype(np.int64)
    candidates = np.concatenate([single, joint]).astype(np.int64)
    gains = np.zeros((len(candidates), rows.folds + 1))
    widths = np.asarray([part.cells for part in groups], dtype=np.int64)

    def work(part: slice) -> None:
        screen(
            codes,
            widths,
            parts,
            rows.folds,
            residual,
            curvature,
            candidates[part],
            ridge,
            gains[part],
        )

    in_threads(work, blocks(len(candidates), 64))
    alone = gains[: len(groups)]
    more = gains[len(groups) :] - alone[joint[:, 0]] - alone[joint[:, 1]]
    return [_best(joint, line) for line in more.T]


def _best(joint: NDArray[np.int64], gain: FloatArray) -> list[Pair]:
    order = np.argsort(-gain, kind="stable")
    chosen = order[gain[order] > 0][:MAX_PAIRS]
    return [(int(a), int(b)) for a, b in joint[chosen]]
