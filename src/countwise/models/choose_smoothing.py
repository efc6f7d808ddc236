"""Imagined rows and votes: how many are added to those that were counted, and how.

They are spread like the class shares, so that no class is impossible. Few are right where rows of a
class lie together, many where the columns tell little: the number with the least log loss on rows
that were held out is taken.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.row_hash import content_folds, row_keys
from countwise.errors import TableError
from countwise.models.base import Classifier
from countwise.models.explanation import LEAST_POSTERIOR
from countwise.parallel import in_threads
from countwise.params import fitted
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import run_pass
from countwise.tables.scan_sample import join_tables
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

#: The numbers that are tried.
AMOUNTS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 32.0, 50.0)
#: Fewer rows do not tell which is best.
FEWEST_ROWS = 50
#: Of more rows about so many are fitted and judged, chosen by what is in them.
MOST_ROWS = 20_000
#: What a cell of them takes while they are fitted and judged.
_CELL_BYTES = 16
#: Class shares, or mean losses, that differ by less are equal.
_EQUAL = 1e-9


class SmoothedClassifier(Classifier):
    """A classifier that adds imagined rows or votes to what it counted.

    A model declares the parameter `smoothing`, and fills in `posteriors_by_smoothing`.
    """

    #: The number where 'auto' has nothing to choose by.
    usual_smoothing: ClassVar[float]
    smoothing_: float = fitted("the number of imagined rows or votes that are added")

    def posteriors_by_smoothing(self, table: Table, amounts: Sequence[float]) -> list[FloatArray]:
        """Return the posteriors of rows with each of these numbers."""
        raise NotImplementedError

    def _set_smoothing(
        self, rows: Table | Scan, weight: FloatArray | None = None, total: float | None = None
    ) -> None:
        """Know how many are added, as the parameter asks for.

        Rows outside memory bring weights of their own; `total` is the weight of all.
        """
        asked = self.get_params(deep=False)["smoothing"]
        if asked == "auto":
            self.smoothing_ = self.choose_smoothing(rows, weight, total)
        else:
            self.smoothing_ = float(len(self.classes_) if asked == "laplace" else asked)

    def _check_smoothing(self) -> None:
        """Refuse a loaded number that is not the one that the parameter asks for."""
        asked = self.get_params(deep=False)["smoothing"]
        known = (*AMOUNTS, self.usual_smoothing)
        chosen = self.smoothing_ in known if asked == "auto" else self.smoothing_ == asked
        if not chosen and asked != "laplace":
            raise TableError(
                f"{type(self).__name__}: its smoothing must be the one that its parameter asks for."
            )

    def choose_smoothing(
        self, rows: Table | Scan, weight: FloatArray | None = None, total: float | None = None
    ) -> float:
        """Return the number that loses least on rows held out, each part in turn.

        Neither the order of the rows nor repeating them, instead of weighing them, matters.
        """
        if total is None:
            total = len(rows)
            if weight is not None and (repeats := whole_repeats(weight)) is not None:
                total = int(repeats.sum())
        if total < FEWEST_ROWS:
            return self.usual_smoothing
        table, weight = _some_rows(rows, weight, total)

        def judge(fold: tuple[NDArray[np.intp], NDArray[np.intp]]) -> tuple[FloatArray, float]:
            """Return the loss of the rows held out with each number, and their weight."""
            rest, out = fold
            present = np.unique(table.target[rest])
            # A class of the rows held out alone cannot be known.
            out = out[np.isin(table.target[out], present)]
            if not len(out) or len(present) < 2:
                return np.zeros(len(AMOUNTS)), 0.0
            model = clone(self).set_params(smoothing=self.usual_smoothing)
            model.fit(table.take(rest), sample_weight=None if weight is None else weight[rest])
            place = np.searchsorted(present, table.target[out])
            judges = np.ones(len(out)) if weight is None else weight[out]
            found = model.posteriors_by_smoothing(table.take(out), AMOUNTS)
            return np.array([loss_of(each, place, judges) for each in found]), float(judges.sum())

        parts = in_threads(judge, list(content_folds(row_keys(table, target=True))))
        losses = sum((loss for loss, _ in parts), np.zeros(len(AMOUNTS)))
        judged = sum(weight for _, weight in parts)
        return least_loss(losses / judged) if judged else self.usual_smoothing


def _some_rows(
    rows: Table | Scan, weight: FloatArray | None, total: float
) -> tuple[Table, FloatArray | None]:
    """Return about `MOST_ROWS` rows and their weights; what is in a row decides."""
    share = MOST_ROWS / total
    if isinstance(rows, Table):
        some = _drawn(rows, share)
        return rows.take(some), None if weight is None else weight[some]
    # Fewer, where so many are too much for the memory of the scan.
    share = min(share, rows.memory / (_CELL_BYTES * len(rows.schema) * total))

    def fold(block: Block) -> list[Block]:
        if block.weight is not None:
            block = block.take(block.weight > 0)
        return [block.take(_drawn(block.table, share))]

    parts: list[Block] = run_pass(rows, fold, operator.add, progress=rows.progress)
    weights = [part.weight for part in parts if part.weight is not None]
    table = join_tables([part.table for part in parts])
    return table, np.concatenate(weights) if weights else None


def _drawn(table: Table, share: float) -> NDArray[np.intp]:
    """Return the rows whose keys are among the lower ones; `share` is how many of all are."""
    return np.flatnonzero((row_keys(table, target=True) >> np.uint64(32)) < 2**32 * share)


def loss_of(posteriors: FloatArray, truth: Any, weight: FloatArray) -> float:
    """Return the log loss of all rows together."""
    right = posteriors[np.arange(len(truth)), truth]
    return -float(weight @ np.log(np.maximum(right, LEAST_POSTERIOR)))


def least_loss(losses: FloatArray) -> float:
    """Return the number of `AMOUNTS` whose mean loss is least; of equal ones the first."""
    return AMOUNTS[int((losses <= losses.min() + _EQUAL).argmax())]


def keep_order(shares: FloatArray, added: FloatArray) -> FloatArray:
    """Return `added`, evened out among the classes as far as the first largest share needs it."""
    # Shares that are equal but for rounding are equal: the first of them leads.
    leading = shares >= shares.max(axis=1, keepdims=True) - _EQUAL
    rows, top = np.arange(len(shares)), leading.argmax(axis=1)
    lead = np.where(leading, 0.0, shares[rows, top][:, None] - shares)
    gains = added - added[rows, top][:, None]
    fits = np.divide(lead, gains, out=np.full(shares.shape, np.inf), where=gains > 0)
    # A little less than what makes them equal, so that rounding does not decide.
    kept = np.minimum(0.999 * fits.min(axis=1), 1.0)[:, None]
    return np.asarray(kept * added + (1.0 - kept) * added.mean(axis=1, keepdims=True))
