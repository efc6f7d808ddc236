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
#: Of more columns than this, those whose own tables promise the most are paired. Each fold has its
#: own: columns chosen with the rows of the fold in view would make its pairs look good.
_COLUMNS = 500

Places = NDArray[np.intp]


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
    y, weight, shares = rows.y[taken], rows.weight[taken] / rows.unit, probabilities[taken]
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
    widths = np.asarray([part.cells for part in groups], dtype=np.int64)

    def measure(first: Places, second: Places) -> FloatArray:
        candidates = np.ascontiguousarray(np.column_stack([first, second]), dtype=np.int64)
        gains = np.zeros((len(candidates), rows.folds + 1))

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

        in_threads(work, blocks(len(candidates), 64 + len(candidates) // 64))
        return gains

    every = np.arange(len(groups))
    alone = measure(every, np.full(len(groups), -1))
    places = np.asarray(sorted(columns), dtype=np.intp)
    strong = np.zeros((len(groups), rows.folds + 1), dtype=bool)
    for allowed, gain in zip(strong.T, alone[places].T, strict=True):
        allowed[places[np.argsort(-gain, kind="stable")[:_COLUMNS]]] = True
    places = np.flatnonzero(strong.any(axis=1))
    first, second = (places[at] for at in np.triu_indices(len(places), 1))
    more = measure(first, second) - alone[first] - alone[second]
    more[~(strong[first] & strong[second])] = 0.0
    return [_best(np.column_stack([first, second]), line) for line in more.T]


def _best(joint: Places, gain: FloatArray) -> list[Pair]:
    order = np.argsort(-gain, kind="stable")
    chosen = order[gain[order] > 0][:MAX_PAIRS]
    return [(int(a), int(b)) for a, b in joint[chosen]]
