"""The validation of penalties: which folds are fitted, where paths stop."""

from __future__ import annotations

import numpy as np
import pytest

from countwise.models.additive import pairs
from countwise.models.additive.basis import group_column
from countwise.models.additive.bins import ColumnBins
from countwise.models.additive.fit import Rows
from countwise.models.additive.folds import Validated, validate
from countwise.models.additive.pairs import rank_pairs


class FakeFits:
    """Fits whose loss is least at penalty 3; they note what was asked for."""

    def __init__(self, rows: int, folds: int) -> None:
        bounds = np.arange(folds + 1, dtype=np.int64) * (rows // folds)
        self.rows = Rows(
            np.zeros((1, rows), np.uint16),
            np.zeros(rows, np.int32),
            np.ones(rows),
            2,
            bounds,
            folds,
        )
        self.asked: list[tuple[float, int]] = []

    def fit_fold(self, fold, pairs, penalties, start, spread):
        self.asked.append((float(penalties[0]), fold))
        share = 0.8 - 0.1 * abs(np.log(penalties[0] / 3))
        first, last = self.rows.bounds[fold : fold + 2]
        return np.zeros(1), np.tile([share, 1 - share], (last - first, 1))


PATH = [np.full(6, penalty) for penalty in (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)]


@pytest.mark.parametrize(
    ("rows", "folds", "first"),
    [(100, 10, 10), (240, 10, 7), (480, 10, 5), (900, 5, 3), (4000, 5, 1)],
)
def test_a_path_is_tried_on_the_first_folds_and_the_best_on_all(monkeypatch, rows, folds, first):
    monkeypatch.setenv("COUNTWISE_THREADS", "1")
    fits = FakeFits(rows, folds)
    best = validate(fits, [()] * folds, PATH)
    assert best is not None
    assert best.penalties[0] == 3.0
    assert best.loss == pytest.approx(-np.log(0.8))
    assert len(best.folds) == folds
    assert len(best.probabilities) == rows
    tried = [100.0, 30.0, 10.0, 3.0, 1.0]
    expected = [(penalty, fold) for penalty in tried for fold in range(first)]
    expected += [(3.0, fold) for fold in range(first, folds)]
    assert fits.asked == expected


def test_what_loses_against_a_rival_on_the_first_folds_is_given_up():
    fits = FakeFits(480, 10)
    best = validate(fits, [()] * 10, PATH)
    fits.asked.clear()
    assert validate(fits, [()] * 10, PATH[4:], best, best) is None
    assert {fold for _, fold in fits.asked} == {0, 1, 2, 3, 4}


def test_the_pairs_of_a_fold_know_nothing_of_its_rows(monkeypatch):
    # Of many columns some are paired: columns chosen with a fold in view make its pairs look good.
    monkeypatch.setattr(pairs, "_COLUMNS", 4)
    rng = np.random.default_rng(0)
    y, bounds = rng.integers(0, 2, 60).astype(np.int32), np.arange(0, 61, 20)
    codes = rng.integers(0, 3, (30, 60)).astype(np.uint16)
    none, counts = np.zeros(0), [np.bincount(code, minlength=5).astype(float) for code in codes]
    bins = [ColumnBins("x", False, none, count, np.zeros(3)) for count in counts]
    groups = [group_column(column, 8, 8, smooth=False) for column in bins]
    lists = []
    for labels in (y, np.where(np.arange(60) < 20, 1 - y, y)):
        rows = Rows(codes, labels.astype(np.int32), np.ones(60), 2, bounds, 3)
        lists.append(rank_pairs(rows, groups, np.full((60, 2), 0.5), range(30), 1.0))
    assert lists[0][0] == lists[1][0]
    assert lists[0][1:] != lists[1][1:]
    assert all(len({at for pair in each for at in pair}) <= 4 for each in lists[0])


def test_penalties_of_a_kind_change_if_the_loss_falls_clearly(monkeypatch):
    from countwise.models.additive import choose

    search = choose._Search.__new__(choose._Search)
    search.rows, search.fits = FakeFits(100, 10).rows, None
    search.best = Validated(0.5, np.ones(6), np.full((100, 2), 0.5), ())
    monkeypatch.setattr(choose, "is_better", lambda *_: False)
    for fall, expected in ((0.98, 1.0), (0.96, 0.09)):

        def better(fits, pairs, path, best, rival, part=fall):
            return Validated(best.loss * part, path[0], np.empty(0), ())

        monkeypatch.setattr(choose, "validate", better)
        search.rescale([0], 2, 1.0)
        assert search.best.penalties[0] == pytest.approx(expected)
