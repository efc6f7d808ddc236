"""Imagined rows and votes: how many are added to those that were counted, and how.

They are spread like the class shares, so that no class is impossible. Few are right where rows of a
class lie together, many where the columns tell little: the number with the least log loss on rows
that were held out is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.row_hash import FoldRows, Keys, content_folds, row_keys
from countwise.errors import TableError
from countwise.models.base import Classifier
from countwise.models.explanation import LEAST_POSTERIOR
from countwise.numeric import mix_bits
from countwise.parallel import in_threads
from countwise.params import Constraint, fitted, number, one_of
from countwise.tables.scan import Scan
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

#: The numbers that are tried, and the largest that may be given.
AMOUNTS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 32.0, 50.0)
MOST = 1e6
#: Fewer rows do not tell which is best.
FEWEST_ROWS = 50
#: Of more rows about so many are fitted and judged.
MOST_ROWS = 20_000
#: What a cell of them takes while they are fitted and judged.
_CELL_BYTES = 16
#: Class shares, or mean losses, that differ by less are equal.
_EQUAL = 1e-9
#: A little less than what would make a class equal to the leading one, and how far that is ahead
#: of it at least: rounding does not decide.
_KEPT, _AHEAD = 0.999, 1 + 1e-15


def an_amount() -> Constraint:
    """What the parameter `smoothing` may be."""
    return one_of("auto") | number(at_least=0, at_most=MOST)


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

    @property
    def amount(self) -> float:
        """The number that is added: the one that is asked for, or else the chosen one."""
        asked = self.get_params(deep=False)["smoothing"]
        return self.smoothing_ if isinstance(asked, str) else float(asked)

    def _set_smoothing(self, rows: Table | None, weight: FloatArray | None = None) -> None:
        """Know how many are added, as the parameter asks for; without rows none can be chosen."""
        asked = self.get_params(deep=False)["smoothing"]
        if asked == "laplace":
            self.smoothing_ = float(len(self.classes_))
        elif asked != "auto":
            self.smoothing_ = float(asked)
        elif rows is None:
            self.smoothing_ = self.usual_smoothing
        else:
            self.smoothing_ = self.choose_smoothing(rows, weight)

    def _set_smoothing_of_scan(self, scan: Scan) -> None:
        """Know how many are added to rows outside memory, which bring weights of their own."""
        from countwise.tables.scan_sample import draw

        rows, weight = None, None
        if self._draws(scan):
            rows, weight = draw(scan, _rows_within(scan))
            if weight is not None:
                rows, weight = rows.take(weight > 0), weight[weight > 0]
        self._set_smoothing(rows, weight)

    def _expect_rows(self, scan: Scan) -> None:
        """Let the first scan draw the rows by which the number is chosen."""
        if self._draws(scan):
            scan.expect_sample(_rows_within(scan))

    def _draws(self, scan: Scan) -> bool:
        """Return whether the number is chosen by rows of a scan, the same ones every time."""
        asked = self.get_params(deep=False)["smoothing"]
        return asked == "auto" and not scan.source.once and scan.source.stable_rows

    def _check_smoothing(self) -> None:
        """Refuse a loaded number that no model has."""
        if not 0 <= self.smoothing_ <= MOST:
            raise TableError(
                f"{type(self).__name__}: its smoothing must be a number from 0 to {MOST:g}."
            )

    def choose_smoothing(self, table: Table, weight: FloatArray | None = None) -> float:
        """Return the number that loses least on rows held out, each part in turn.

        Neither the order of rows and columns nor repeating rows, instead of weighing them, matters.
        """
        repeats = None if weight is None else whole_repeats(weight)
        total = len(table) if repeats is None else int(repeats.sum())
        if total < FEWEST_ROWS:
            return self.usual_smoothing
        if total > MOST_ROWS:
            table, weight = some_rows(table, weight, repeats, MOST_ROWS)

        def judge(part: FoldRows) -> tuple[FloatArray, float]:
            """Return the loss of the rows held out with each number, and their weight."""
            present = np.unique(table.target[part.rest])
            # A class of the rows held out alone cannot be known.
            some = np.isin(table.target[part.out], present)
            if not some.any() or len(present) < 2:
                return np.zeros(len(AMOUNTS)), 0.0
            model = clone(self).set_params(smoothing=self.usual_smoothing)
            model.fit(table.take(part.rest), sample_weight=part.rest_weight)
            out = part.out[some]
            place = np.searchsorted(present, table.target[out])
            judges = np.ones(len(out)) if part.out_weight is None else part.out_weight[some]
            found = model.posteriors_by_smoothing(table.take(out), AMOUNTS)
            return np.array([loss_of(each, place, judges) for each in found]), float(judges.sum())

        keys = _blind_keys(table, weight)
        order = np.lexsort((sorted_keys(table), keys))
        parts = in_threads(judge, list(content_folds(keys, weight, order)))
        losses = sum((loss for loss, _ in parts), np.zeros(len(AMOUNTS)))
        judged = sum(weight for _, weight in parts)
        return least_loss(losses / judged) if judged else self.usual_smoothing


def _rows_within(scan: Scan) -> int:
    """Return how many rows are drawn: fewer where they are too much for the memory of the scan."""
    return min(MOST_ROWS, max(scan.memory // (_CELL_BYTES * len(scan.first_schema)), FEWEST_ROWS))


def sorted_keys(table: Table) -> Keys:
    """Return a key a row that does not depend on the order of the columns."""
    return row_keys(table, target=True, names=sorted(c.name for c in table.schema.attributes))


def some_rows(
    table: Table, weight: FloatArray | None, repeats: NDArray[np.intp] | None, most: int
) -> tuple[Table, FloatArray | None]:
    """Return so many rows and their weights, evenly spread in the order of their keys."""
    order = np.argsort(sorted_keys(table), kind="stable")
    copies = np.ones(len(order), dtype=np.int64) if repeats is None else repeats[order]
    ends = np.cumsum(copies)
    taken = np.diff(-(-ends * most // ends[-1]), prepend=0)
    some = np.flatnonzero(taken)
    rows = order[some]
    if repeats is not None:
        return table.take(rows), taken[some].astype(np.float64)
    return table.take(rows), None if weight is None else weight[rows]


def _blind_keys(table: Table, weight: FloatArray | None) -> Keys:
    """Return a key a row that follows from how often its values go with each class.

    The names of classes, columns and levels do not count, nor the order of columns. Levels that go
    with each class equally often are alike.
    """
    repeats = np.ones(len(table)) if weight is None else whole_repeats(weight)
    repeats = np.ones(len(table)) if repeats is None else repeats.astype(np.float64)
    classes, y = len(table.classes), table.target.astype(np.intp)
    by_class = np.bincount(y, repeats, minlength=classes)[:classes]
    factors = _mixed(by_class.astype(np.uint64))
    keys = factors[y]
    for column in table.schema.attributes:
        if column.coded:
            codes = table.codes(column.name).astype(np.intp)
            cells = np.bincount(
                codes * classes + y, repeats, minlength=(column.width + 2) * classes
            )
            counts = _mixed(cells.astype(np.uint64).reshape(-1, classes) + factors)
            values = _mixed(counts.sum(axis=1, dtype=np.uint64))[codes]
        else:
            known = table.values(column.name) + 0.0
            known[np.isnan(known)] = np.nan
            values = _mixed(known.view(np.uint64))
        mark = _mixed((values * repeats.astype(np.uint64)).sum(dtype=np.uint64))
        keys = keys + _mixed(values ^ mark)
    return _mixed(keys)


def _mixed(numbers: Any) -> Keys:
    """Return numbers whose every bit depends on all bits of those given."""
    with np.errstate(over="ignore"):
        return mix_bits(np.asarray(numbers, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15))


def loss_of(posteriors: FloatArray, truth: Any, weight: FloatArray) -> float:
    """Return the log loss of all rows together."""
    right = posteriors[np.arange(len(truth)), truth]
    return -float(weight @ np.log(np.maximum(right, LEAST_POSTERIOR)))


def least_loss(losses: FloatArray) -> float:
    """Return the number of `AMOUNTS` whose mean loss is least; of equal ones the first."""
    return AMOUNTS[int((losses <= losses.min() + _EQUAL).argmax())]


def add_in_order(shares: FloatArray, added: FloatArray) -> FloatArray:
    """Return the sum of both; the first largest share stays ahead.

    What is added is evened out among the classes as far as that needs it.
    """
    # Shares that are equal but for rounding are equal: the first of them leads.
    leading = shares >= shares.max(axis=1, keepdims=True) - _EQUAL
    rows, top = np.arange(len(shares)), leading.argmax(axis=1)
    lead = np.where(leading, 0.0, shares[rows, top][:, None] - shares)
    gains = added - added[rows, top][:, None]
    fits = np.divide(lead, gains, out=np.full(shares.shape, np.inf), where=gains > 0)
    kept = np.minimum(_KEPT * fits.min(axis=1), 1.0)[:, None]
    total = shares + kept * added + (1.0 - kept) * added.mean(axis=1, keepdims=True)
    others = total.copy()
    others[rows, top] = 0.0
    total[rows, top] = np.maximum(total[rows, top], _AHEAD * others.max(axis=1))
    return np.asarray(total)
