"""Imagined rows and votes: how many are added to those that were counted, and how.

They are spread like the class shares, so that no class is impossible. Few are right where rows of a
class lie together, many where the columns tell little: the number with the least log loss on rows
that were held out is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.row_hash import content_folds, row_keys
from countwise.errors import TableError
from countwise.models.base import Classifier
from countwise.models.explanation import LEAST_POSTERIOR
from countwise.params import fitted
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

#: The numbers that are tried.
AMOUNTS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 32.0, 50.0)
#: Fewer rows do not tell which is best.
FEWEST_ROWS = 50
#: Of more rows about so many are fitted and judged, chosen by what is in them.
MOST_ROWS = 20_000
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

    def _set_smoothing(self, table: Table | None, weight: FloatArray | None = None) -> None:
        """Know how many are added, as the parameter asks for; None are rows outside memory."""
        asked = self.get_params(deep=False)["smoothing"]
        if asked == "auto":
            usual = self.usual_smoothing
            self.smoothing_ = usual if table is None else self.choose_smoothing(table, weight)
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

    def choose_smoothing(self, table: Table, weight: FloatArray | None) -> float:
        """Return the number that loses least on rows held out, each part in turn.

        Neither the order of the rows nor repeating them, instead of weighing them, matters.
        """
        keys = row_keys(table, target=True)
        total = len(table)
        if weight is not None and (repeats := whole_repeats(weight)) is not None:
            total = int(repeats.sum())
        if total < FEWEST_ROWS:
            return self.usual_smoothing
        if total > MOST_ROWS:
            some = np.flatnonzero((keys >> np.uint64(32)) < 2**32 * MOST_ROWS / total)
            table, keys = table.take(some), keys[some]
            weight = None if weight is None else weight[some]
        losses, judged = np.zeros(len(AMOUNTS)), 0.0
        for rest, out in content_folds(keys):
            present = np.unique(table.target[rest])
            # A class of the rows held out alone cannot be known.
            out = out[np.isin(table.target[out], present)]
            if not len(out) or len(present) < 2:
                continue
            model = clone(self).set_params(smoothing=self.usual_smoothing)
            model.fit(table.take(rest), sample_weight=None if weight is None else weight[rest])
            place = np.searchsorted(present, table.target[out])
            judges = np.ones(len(out)) if weight is None else weight[out]
            found = model.posteriors_by_smoothing(table.take(out), AMOUNTS)
            losses += [loss_of(posteriors, place, judges) for posteriors in found]
            judged += float(judges.sum())
        return least_loss(losses / judged) if judged else self.usual_smoothing


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
