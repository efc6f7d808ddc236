"""Forest: splits by hand, agreement with scikit-learn's, out-of-bag, paths, threads, bad files."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import countwise as cw
from countwise.errors import StoreError
from countwise.evaluation.refit import prepare_rows
from countwise.models.tree.forest_structure import MISSING, Bins


def one_tree(table, **settings):
    return cw.Forest(n_estimators=1, max_features=None, smoothing=0, **settings).fit(table)


def test_a_number_is_cut_halfway_and_a_node_counts_its_rows():
    rows = {"x": [1.0, 2, 3, 6, 7, 8] * 5, "class": ["a", "a", "a", "b", "b", "b"] * 5}
    model = one_tree(cw.read(rows, target="class"))
    tree = model.views()[1]
    assert tree.nodes == 3
    assert [rule.split(":")[0] for rule in tree.rules] == ["if x ≤ 4.5", "if x > 4.5"]
    assert model.trees_.counts[0].sum() == 30
    np.testing.assert_array_equal(model.trees_.counts[1:].sum(axis=0), model.trees_.counts[0])


def test_levels_are_split_into_two_sets():
    levels = ["a", "b", "c", "d", "e"] * 12
    rows = {"x": levels, "class": ["yes" if level in "ace" else "no" for level in levels]}
    model = one_tree(cw.read(rows, target="class"))
    assert len(model.trees_.feature) == 3
    texts = {rule.split(":")[0] for rule in model.views()[1].rules}
    assert texts == {"if x = a or c or e", "if x = b or d"}


def test_that_a_value_is_missing_can_tell_the_class():
    generator = np.random.default_rng(0)
    values = generator.normal(size=60)
    labels = np.where(generator.random(60) < 0.4, "gone", "there")
    values[labels == "gone"] = np.nan
    table = cw.read({"x": values, "class": labels}, target="class")
    assert one_tree(table).score(table) == 1.0


def test_the_importance_of_noise_is_small():
    generator = np.random.default_rng(1)
    x = generator.normal(size=(300, 3))
    model = cw.Forest(max_features=None).fit(x, x[:, 1] > 0)
    assert model.importances_.sum() == pytest.approx(1)
    assert model.importances_[1] > 0.9
    assert model.views()[0].columns[0].share == pytest.approx(model.feature_importances_[1])


@pytest.mark.parametrize("name", ["credit-g", "colic", "glass"])
def test_out_of_bag_agrees_with_scikit_learn(name):
    table = cw.read(f"sample:{name}")
    model = cw.Forest(oob_score=True).fit(table)
    peer = RandomForestClassifier(oob_score=True, random_state=0)
    rows = prepare_rows(peer, table)
    pipeline = rows.estimator(peer)
    pipeline.fit(rows.X, rows.y)
    fitted = pipeline if rows.steps is None else pipeline[-1]
    assert model.oob_score_ == pytest.approx(fitted.oob_score_, abs=0.04)
    votes = model.oob_decision_function_
    known = ~np.isnan(votes[:, 0])
    right = model.classes_[votes[known].argmax(axis=1)] == table.labels[known]
    assert right.mean() == pytest.approx(model.oob_score_)


def test_paths_add_up_to_the_posterior():
    table = cw.read("sample:colic")
    model = cw.Forest(n_estimators=30).fit(table)
    shares, changes = model.path_changes(table)
    posteriors = model.predict_proba(table)
    np.testing.assert_allclose(shares + changes.sum(axis=1), posteriors, atol=1e-12)
    why = model.explain(table)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), np.log(posteriors), atol=1e-9)
    # The sign of a part is that of the change.
    assert np.all(np.sign(why.parts) == np.sign(changes))


def test_rows_that_walk_side_by_side_do_not_meet():
    """Levels, numbers and missing values; any number of rows that a kernel takes at a time."""
    table = cw.read("sample:hepatitis")
    model = cw.Forest(n_estimators=10).fit(table)
    expected = model.predict_proba(table)
    for rows in (1, 2, 7, 8, 9, 17):
        some = table.take(slice(20, 20 + rows))
        np.testing.assert_array_equal(model.predict_proba(some), expected[20 : 20 + rows])


def test_the_number_of_threads_changes_nothing(monkeypatch):
    table = cw.read("sample:credit-g")
    answers = []
    for number in ("1", "3"):
        monkeypatch.setenv("COUNTWISE_THREADS", number)
        model = cw.Forest(n_estimators=12, oob_score=True).fit(table)
        answers.append((model.predict_proba(table), model.oob_decision_function_))
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_array_equal(answers[0][1], answers[1][1])


def test_seeds_differ():
    table = cw.read("sample:credit-g")
    one, two, again = (cw.Forest(n_estimators=5, random_state=s).fit(table) for s in (1, 2, 1))
    assert np.any(one.predict_proba(table) != two.predict_proba(table))
    np.testing.assert_array_equal(one.predict_proba(table), again.predict_proba(table))


@pytest.mark.parametrize("name", ["glass", "audiology", "anneal"])
def test_no_class_gets_probability_zero(name):
    table = cw.read(f"sample:{name}")
    assert cw.Forest(n_estimators=20).fit(table).predict_proba(table).min() > 0


def test_many_values_and_many_levels_share_bins(tmp_path):
    generator = np.random.default_rng(2)
    x = generator.normal(size=3000)
    levels = np.array([f"v{place}" for place in generator.integers(0, 400, 3000)])
    rows = {"x": x, "level": levels, "class": np.where(x > 0.3, "up", "down")}
    table = cw.read(rows, target="class", nominal=["level"])
    bins = Bins.learn(table, None)
    codes = bins.codes(table)
    assert codes.max() < MISSING
    counts = np.bincount(codes[:, 0], minlength=MISSING)
    assert len(counts) == MISSING
    assert counts.max() <= 2 * counts.min()
    assert np.bincount(codes[:, 1])[: MISSING - 1].min() >= 1
    model = cw.Forest(n_estimators=10).fit(table)
    assert model.score(table) > 0.97
    assert "x" in model.views()[1].rules[0]
    path = tmp_path / "forest.cw"
    cw.save(model, path)
    np.testing.assert_array_equal(cw.load(path).predict_proba(table), model.predict_proba(table))


def test_bins_of_equal_weight_see_a_weight_as_repeated_rows():
    generator = np.random.default_rng(3)
    x, weight = generator.normal(size=600), generator.integers(1, 4, 600).astype(float)
    table = cw.read({"x": x, "class": np.where(x > 0, "a", "b")}, target="class")
    repeated = table.take(np.repeat(np.arange(600), weight.astype(int)))
    one, two = Bins.learn(table, weight), Bins.learn(repeated, None)
    np.testing.assert_array_equal(one.cut_points["x"], two.cut_points["x"])


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("left", lambda array: np.where(array > 0, 0, array)),
        ("left", lambda array: np.where(array > 0, array + 10_000, array)),
        ("feature", lambda array: np.where(array >= 0, array + 1000, array)),
        ("cut", lambda array: array + 1_000_000),
        ("counts", lambda array: -array),
        ("counts", lambda array: array[:, :1]),
        ("start", lambda array: array[::-1].copy()),
        ("masks", lambda array: array[:, :8]),
    ],
)
def test_trees_that_lead_astray_are_refused(field, change):
    model = cw.Forest(n_estimators=3).fit(cw.read("sample:weather-numeric"))
    model.trees_ = replace(model.trees_, **{field: change(getattr(model.trees_, field))})

    def load():
        model.trees_.check()
        model.after_load()

    with pytest.raises(StoreError, match="Forest: "):
        load()


def test_bins_of_other_columns_are_refused():
    model = cw.Forest(n_estimators=3).fit(cw.read("sample:weather-numeric"))
    with pytest.raises(StoreError, match="in order"):
        Bins({"temperature": np.array([3.0, 1.0])}, {}).check()
    with pytest.raises(StoreError, match="must have cut points"):
        Bins({"other": np.array([3.0])}, {}).check_against(model.schema_)


@pytest.mark.parametrize(
    ("max_features", "drawn"), [("sqrt", 4), ("log2", 4), (0.5, 10), (3, 3), (50, 20), (None, 20)]
)
def test_how_many_columns_a_node_draws(max_features, drawn):
    assert cw.Forest(max_features=max_features)._features_drawn(20) == drawn


def test_a_forest_of_no_columns_answers_with_the_class_shares():
    table = cw.read({"x": [1.0] * 8, "class": ["a"] * 2 + ["b"] * 6}, target="class")
    model = cw.Forest(n_estimators=200).fit(table)
    np.testing.assert_allclose(model.predict_proba(table)[0], [0.25, 0.75], atol=0.06)


def test_imagined_rows_are_chosen_by_rows_that_trees_did_not_draw():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(400, 3)).round(1)
    sure = cw.Forest().fit(x, x[:, 0] > 0)
    noisy = cw.Forest().fit(x, generator.random(400) < 0.5)
    assert sure.smoothing_ == 0.25
    assert sure.smoothing_ < noisy.smoothing_
    fixed = cw.Forest(smoothing=2).fit(x, x[:, 0] > 0)
    assert fixed.smoothing_ == 2


def test_a_lone_row_of_a_class_does_not_choose_the_imagined_rows():
    x = np.arange(60.0)[:, None]
    y = np.where(x[:, 0] < 30, "a", "b")
    plain = cw.Forest().fit(x, y).smoothing_
    y[10] = "c"
    assert cw.Forest().fit(x, y).smoothing_ == plain
