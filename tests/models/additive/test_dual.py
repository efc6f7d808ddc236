"""The dual form of small tables: the same optimum as the search over parameters."""

from __future__ import annotations

import numpy as np
import pytest

from countwise.models.additive import choose
from countwise.models.additive.additive import Additive
from countwise.models.additive.basis import KINDS, find_knots
from countwise.models.additive.bins import class_counts, learn_bins
from countwise.models.additive.dual import DualFits, is_dual_cheaper
from countwise.models.additive.fit import Rows
from countwise.models.additive.folds import FoldFit, TableFits, Validated
from countwise.models.additive.space import Space
from countwise.models.additive.words import code_columns
from countwise.tables.read import read

PAIRS = ((0, 1), (1, 2), (0, 2))


def make_rows(rows=120, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=rows), rng.integers(0, 5, rows).astype(float)
    word = rng.choice(["a", "b", "c"], rows)
    x[::9] = np.nan
    score = np.nan_to_num(x) * np.where(word == "a", 2, -1) + z / 3 + rng.logistic(size=rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    table = read(
        {"x": x.tolist(), "z": z.tolist(), "word": word.tolist(), "y": [f"c{c}" for c in y]},
        target="y",
        nominal=["word"],
    )
    target, weight = table.target.astype(np.int32), rng.uniform(0.5, 2.0, rows)
    bins = [learn_bins(table, name, target, weight, classes, 16) for name in ("x", "z", "word")]
    codes = code_columns(bins, table)
    knots = [
        find_knots(column, class_counts(code.astype(int), target, weight, len(column.counts), 3))
        for column, code in zip(bins, codes, strict=True)
    ]
    bounds = np.asarray([0, rows // 3, 2 * rows // 3, rows], dtype=np.int64)
    return Rows(codes, target, weight, classes, bounds, 3), Space.learn(bins, knots, [0] * 3, 80)


@pytest.mark.parametrize("classes", [2, 3])
def test_both_forms_give_the_same_probabilities_of_a_fold(monkeypatch, classes):
    monkeypatch.setattr("countwise.models.additive.dual.LOSS_LIMIT", 1e-13)
    monkeypatch.setattr("countwise.models.additive.fit.LOSS_LIMIT", 1e-13)
    rows, space = make_rows(classes=classes)
    penalties = np.linspace(0.5, 2.0, KINDS)
    penalties[3] = penalties[2]
    one = TableFits(rows, space).fit_fold(1, PAIRS, penalties, None, None)[1]
    two = DualFits(rows, space).fit_fold(1, PAIRS, penalties, None, None)[1]
    np.testing.assert_allclose(two, one, atol=2e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("pairs", [(), PAIRS])
def test_both_forms_give_the_same_tables_of_all_rows(pairs, classes):
    rows, space = make_rows(classes=classes)
    penalties = np.full(KINDS, 0.7)
    dual, plain = DualFits(rows, space), TableFits(rows, space)
    expected = None
    scores = []
    for fits in (plain, dual):
        folds = []
        for fold in range(3):
            found, expected = fits.fit_fold(fold, pairs, penalties, None, None)
            folds.append(FoldFit(pairs, penalties, found))
        best = Validated(0.0, penalties, np.full((len(rows), classes), 1 / classes), tuple(folds))
        tables, biases = fits.fit_all(rows.part(None), pairs, best, 1.0)
        cells = space.design(pairs, penalties)
        scores.append(_scores(rows, space, cells, tables, biases))
    assert expected is not None
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-5)


def _scores(rows, space, design, tables, biases):
    from countwise.models.additive.fit import score_rows, to_probabilities

    return to_probabilities(
        score_rows(
            design.layout,
            rows.codes,
            np.ascontiguousarray(tables),
            np.ascontiguousarray(biases),
        )
    )


def test_many_rows_and_monotone_columns_keep_the_parameters():
    rows, space = make_rows()
    assert not is_dual_cheaper(*make_rows(400))
    assert not is_dual_cheaper(*make_rows(30, classes=2))
    assert is_dual_cheaper(*make_rows(15, classes=2))
    assert not is_dual_cheaper(rows, Space.learn(space.bins, space.knots, [1, 0, 0], 80))
    few, wide = make_rows(30)
    assert is_dual_cheaper(few, wide)


def test_few_rows_afford_all_pairs_and_many_rows_of_many_classes_a_hundred():
    rows, space = make_rows()
    assert DualFits(rows, space).most_pairs() == TableFits(rows, space).most_pairs() == 200
    y, weight = np.zeros(20_000, np.int32), np.ones(20_000)
    bounds = np.asarray([0, 4_000, 20_000])
    many = Rows(np.zeros((3, 20_000), np.uint16), y, weight, 26, bounds, 1)
    assert TableFits(many, space).most_pairs() == 100


def test_folds_with_the_same_pairs_share_their_kernels():
    fits = DualFits(*make_rows())
    penalties = np.linspace(0.5, 2.0, KINDS)
    gram = fits.gram(PAIRS, penalties)
    assert fits.gram(PAIRS, penalties.copy()) is gram
    other = fits.gram(PAIRS, penalties * 2)
    assert other is not gram
    np.testing.assert_array_equal(fits.gram(PAIRS, penalties), gram)


def test_a_model_of_a_small_table_is_nearly_the_same_in_both_forms(monkeypatch):
    glass = read("sample:glass")
    one = Additive(pairs=3).fit(glass)
    monkeypatch.setattr(choose, "is_dual_cheaper", lambda rows, space: False)
    two = Additive(pairs=3).fit(glass)
    assert one.validation_loss_ == pytest.approx(two.validation_loss_, rel=0.02)


def test_rows_sampled_from_more_keep_the_parameters(monkeypatch):
    rows, space = make_rows(30)
    assert is_dual_cheaper(rows, space)
    forms = [
        type(choose.choose(rows, space, 1, lambda _: None, sampled).fits)
        for sampled in (False, True)
    ]
    assert forms == [DualFits, TableFits]
    monkeypatch.setattr("countwise.models.additive.prepare.SAMPLE_ROWS", 150)
    glass = read("sample:glass")
    assert np.isfinite(Additive(pairs=1).fit(glass).predict_proba(glass)).all()
