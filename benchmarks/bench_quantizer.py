"""DiscreteBayes against one plain NumPy evaluation of the same rows, and its growth.

The rows are uniform with classes on a hidden grid of 6 × 6 × 6 × 6 × 6 cells, at the boundaries
behind the course data of Panda and Garg (10 million rows; a tenth with ``--quick``), in thirds to
train, validate and test. The peer is what any search must do at least once: put every row into its
cell, count, decide and add up the gain, in NumPy. Lines of growth have our own smaller fit as peer.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best, row
from countwise.decisions.decide import Decide
from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes
from countwise_papers.planted_data import GAIN as PAPERS_GAIN
from countwise_papers.planted_data import HIDDEN, HiddenGrid

__all__ = ["run"]

GAIN = np.asarray(PAPERS_GAIN)


def evaluate_plainly(X: NDArray[Any], y: NDArray[Any]) -> float:
    """Cells of all rows, counts, rule and gain, in NumPy."""
    cell = np.zeros(len(X), np.int64)
    for at, cuts in enumerate(HIDDEN):
        cell = cell * 6 + np.searchsorted(np.asarray(cuts, X.dtype), X[:, at])
    counts = np.bincount(2 * cell + y, minlength=2 * 6**5).reshape(-1, 2)
    return float(GAIN[y, (counts @ GAIN).argmax(axis=1)[cell]].mean())


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Measure the fit, its growth in rows and columns, and the paper's search."""
    rows = 1_000_000 if quick else 10_000_000
    grid = HiddenGrid(HIDDEN)
    X, y = grid.rows(rows)
    third = rows // 3
    plain = best(lambda: evaluate_plainly(X, y), 3)
    train, check = slice(0, third), slice(third, 2 * third)

    def fitted(search: str, seconds: float | None = None) -> DiscreteBayes:
        model = DiscreteBayes(10_000, gain=GAIN, search=search, max_seconds=seconds, random_state=0)
        return model.fit(X[train], y[train], validation=(X[check], y[check]))

    start = time.perf_counter()
    model = fitted("sweep")
    ours = time.perf_counter() - start
    told = _told(model, X[2 * third :], y[2 * third :], grid)
    made = [row(f"fit {rows:,} rows, {told}", ours, "one NumPy evaluation", plain, "> 0.1")]
    paper = fitted("paper", 10 * ours)
    own, theirs = model.gain_["validation"] or 0.0, paper.gain_["validation"] or 0.0
    name = f"validation gain {own:.4f}; the paper's search {theirs:.4f}"
    spent = float(paper.history_[-1]["seconds"])
    made.append(row(name, ours, "the paper's search, ended at ten times", spent, "gain below"))
    return [*made, *_growth(quick)]


def _told(model: DiscreteBayes, X: NDArray[Any], y: NDArray[Any], grid: HiddenGrid) -> str:
    far = max(
        float(np.abs(found - cuts).max())
        for found, cuts in zip(model.boundaries_, HIDDEN, strict=True)
    )
    share = Decide.over(model, GAIN).expected_gain(X, y) / grid.best_gain(X, y, GAIN)
    return f"{far:.0e} off, {model.score(X, y):.2%}, {share:.2%} of gain"


def _growth(quick: bool) -> list[dict[str, Any]]:
    made, before = [], 0.0
    for rows in (100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000):
        X, y = HiddenGrid(HIDDEN).rows(rows)
        ours = best(lambda: DiscreteBayes(10_000, gain=GAIN, random_state=0).fit(X, y), 1)  # noqa: B023
        made.append(row(f"growth: {rows:,} rows × 5", ours, "a tenth", before or ours, "> 0.1"))
        before = ours
    before = 0.0
    for columns in (3, 5, 10, 20):
        X, y = HiddenGrid(HIDDEN[:3], nuisance=columns - 3).rows(200_000)
        ours = best(lambda: DiscreteBayes(10_000, gain=GAIN, random_state=0).fit(X, y), 1)  # noqa: B023
        made.append(
            row(f"growth: 200,000 rows × {columns}", ours, "fewer columns", before or ours, "")
        )
        before = ours
    return made
