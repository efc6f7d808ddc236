"""AdaBoost: rounds worked by hand, scikit-learn's errors and weights, how it stops."""

import math

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import countwise as cw
from countwise.errors import ParameterError
from countwise.models.ensembles.adaboost import AdaBoost, best_rule
from countwise.models.ensembles.calibrate import POWERS, best_calibration, calibrated, kept_offset
from countwise.numeric import softmax

TEN = {"x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]}
SIGNS = ["+", "+", "+", "-", "-", "-", "-", "+", "+", "+"]


@pytest.fixture(scope="module")
def ten():
    table = cw.read({**TEN, "y": SIGNS}, target="y", numeric=["x"], identifiers="keep")
    return table, AdaBoost(n_estimators=3, keep_weights=True, calibrate=None).fit(table)


def test_three_rounds_by_hand(ten):
    """Ten points on a line, as in Kuo's slides: no threshold is right, three together are."""
    table, model = ten
    np.testing.assert_allclose(model.epsilons_, [3 / 10, 3 / 14, 2 / 11])
    expected = [0.5 * math.log((1 - e) / e) for e in (3 / 10, 3 / 14, 2 / 11)]
    np.testing.assert_allclose(model.alphas_, expected)
    np.testing.assert_allclose(model.weights_[0], np.full(10, 0.1))
    np.testing.assert_allclose(model.weights_[1], [1 / 14] * 7 + [1 / 6] * 3)
    np.testing.assert_allclose(model.weights_[2], [1 / 6] * 3 + [1 / 22] * 4 + [7 / 66] * 3)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
    assert model.rounds_[0].words == "x ≤ 0.35: +; else: -"
    assert model.rounds_[1].words == "x ≤ 0.75: -; else: +"
    assert model.predict(table).tolist() == SIGNS


def test_the_votes_and_the_posterior_by_hand(ten):
    table, model = ten
    one, two, three = model.alphas_
    plus = np.array([one + three] * 3 + [three] * 4 + [two + three] * 3)
    votes = model.votes(table)
    np.testing.assert_allclose(votes[:, 0], plus)
    np.testing.assert_allclose(votes.sum(axis=1), model.alphas_.sum())
    log_odds = 2 * (votes[:, 0] - votes[:, 1])
    np.testing.assert_allclose(model.predict_proba(table)[:, 0], 1 / (1 + np.exp(-log_odds)))
    stages = list(model.staged_predict(table))
    assert [int((labels != np.array(SIGNS)).sum()) for labels in stages] == [3, 3, 0]


def test_explanations_add_up(ten):
    table, model = ten
    why = model.explain(table)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint)
    np.testing.assert_allclose(why.posteriors, model.predict_proba(table))
    assert "ε 0.3000  α 0.4236" in model.describe()


@pytest.mark.parametrize("classes", [2, 4])
def test_errors_and_weights_are_scikit_learns(classes):
    X, y = make_classification(
        400, 8, n_informative=5, n_redundant=0, n_classes=classes, random_state=1
    )
    base = DecisionTreeClassifier(max_depth=2, random_state=0)
    theirs = AdaBoostClassifier(base, n_estimators=12, random_state=0).fit(X, y)
    ours = AdaBoost(base, n_estimators=12).fit(X, y)
    np.testing.assert_allclose(ours.epsilons_, theirs.estimator_errors_)
    np.testing.assert_allclose(2 * ours.alphas_, theirs.estimator_weights_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_rule_without_error_decides_alone():
    table = cw.read({"a": [*"uuvv"] * 5, "b": [*"xyxy"] * 5, "y": [*"nnpp"] * 5}, target="y")
    model = AdaBoost(n_estimators=10, keep_weights=True, calibrate=None).fit(table)
    assert len(model.rounds_) == 1
    assert model.epsilons_.tolist() == [0.0]
    assert model.alphas_[0] == pytest.approx(0.5 * math.log(41))
    assert model.weights_.shape == (1, 20)
    assert model.score(table) == 1
    assert model.predict_proba(table).max() == pytest.approx(41 / 42)


def test_a_rule_no_better_than_chance_has_no_vote():
    table = cw.read({"a": [*"uuvv"] * 5, "b": [*"xyxy"] * 5, "y": [*"nppn"] * 5}, target="y")
    model = AdaBoost().fit(table)
    assert model.rounds_ == ()
    np.testing.assert_allclose(model.predict_proba(table), 0.5)
    assert [note.code for note in model.notes_ if note.code == "V01"] == ["V01"]
    np.testing.assert_allclose(model.explain(table).parts, 0.0, atol=1e-12)
    drawn = AdaBoost(method="resampling").fit(table)
    assert all(step.epsilon < 0.5 for step in drawn.rounds_)


def test_resampling_keeps_the_papers_arithmetic():
    table = cw.read({**TEN, "y": SIGNS}, target="y", numeric=["x"], identifiers="keep")
    model = AdaBoost(n_estimators=8, method="resampling", keep_weights=True, random_state=5).fit(
        table
    )
    assert len(model.rounds_) == 8
    cut = cw.read(TEN, schema=table.schema.without_target())
    for place, step in enumerate(model.rounds_):
        weight = model.weights_[place]
        assert weight.sum() == pytest.approx(1)
        missed = np.array(
            [label != sign for label, sign in zip(_labels(model, place, cut), SIGNS, strict=True)]
        )
        assert step.epsilon == pytest.approx(weight[missed].sum())
        assert step.alpha == pytest.approx(0.5 * math.log((1 - step.epsilon) / step.epsilon))
        if place + 1 < len(model.rounds_) and not np.allclose(model.weights_[place + 1], 0.1):
            after = weight * np.exp(np.where(missed, step.alpha, -step.alpha))
            np.testing.assert_allclose(model.weights_[place + 1], after / after.sum())


def _labels(model, place, rows):
    return model.classes_[model.member_votes(rows)[:, place].argmax(axis=1)]


def test_many_classes_count_any_rule_better_than_chance():
    iris = cw.read("sample:iris")
    model = AdaBoost(n_estimators=30).fit(iris)
    assert model.epsilons_[0] == pytest.approx(1 / 3)
    assert model.alphas_[0] == pytest.approx(0.5 * (math.log(2) + math.log(2)))
    assert model.score(iris) > 0.95


def test_thresholds_find_what_exact_ones_find():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    y = (X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=4000) > 0).astype(int)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=50).fit(X, y)
    ours = AdaBoost(n_estimators=50).fit(X, y)
    assert max(map(len, ours.cut_points_.values())) <= 254
    assert ours.score(X, y) > theirs.score(X, y) - 0.01


def test_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    cells = {f"w{at}": rng.choice([*"abc"], 600_000) for at in range(3)}
    y = np.where(rng.random(600_000) < 0.4, cells["w0"], cells["w1"]) == "a"
    table = cw.read({**cells, "y": y}, target="y")
    many = AdaBoost(n_estimators=4, keep_weights=True).fit(table)
    monkeypatch.setenv("COUNTWISE_THREADS", "1")
    one = AdaBoost(n_estimators=4, keep_weights=True).fit(table)
    np.testing.assert_array_equal(one.epsilons_, many.epsilons_)
    np.testing.assert_array_equal(one.weights_, many.weights_)


def test_missing_numbers_have_an_answer_of_their_own():
    table = cw.read({"x": [None] * 6 + [1.0, 2.0] * 3, "y": [*"aaaaaabbbbbb"]}, target="y",
                    numeric=["x"])  # fmt: skip
    model = AdaBoost().fit(table)
    assert model.predict({"x": [None, 1.5, 99.0]}).tolist() == ["a", "b", "b"]


def test_a_base_that_takes_no_weights_needs_resampling():
    X, y = make_classification(60, 4, random_state=0)
    with pytest.raises(ParameterError, match="method='resampling'"):
        AdaBoost(KNeighborsClassifier()).fit(X, y)
    assert (
        AdaBoost(KNeighborsClassifier(), n_estimators=3, method="resampling").fit(X, y).score(X, y)
        > 0.8
    )


def test_boosted_naive_bayes():
    credit = cw.read("sample:credit-g")
    model = AdaBoost(cw.NaiveBayes(), n_estimators=5).fit(credit)
    assert 1 <= len(model.rounds_) <= 5
    assert model.score(credit) > 0.7
    assert model.rounds_[0].column is None


def test_the_columns_left_out_of_a_search_are_none_that_could_win():
    random = np.random.default_rng(0)
    for _ in range(200):
        tables = {}
        for at, width in enumerate(random.integers(1, 9, 12).tolist()):
            cells = np.zeros((3, width + 2))
            shares = random.dirichlet(np.ones(3 * (width + 1)))
            cells[:, :-1] = random.multinomial(100, shares).reshape(3, -1)
            tables[f"x{at}"] = cells
        best = best_rule(tables, tuple(tables))
        alone = [best_rule({name: cells}, (name,)) for name, cells in tables.items()]
        assert best.error == min(rule.error for rule in alone)
        assert best.column == next(rule.column for rule in alone if rule.error == best.error)


def test_class_shares_count_where_votes_tell_little():
    """Held-out rows lose less than by the best temperature alone, and no decision changes."""
    rng = np.random.default_rng(5)
    log_shares = np.log([0.7, 0.2, 0.1])
    truth = rng.choice(3, 400, p=np.exp(log_shares))
    for strength in (0.5, 1.0, 3.0):
        scores = 4 * rng.normal(size=(400, 3)) + strength * np.eye(3)[truth]
        temperature, power = best_calibration(scores, truth, np.ones(400), log_shares)
        found = softmax(calibrated(scores, temperature, power * log_shares))
        loss = -np.log(found[np.arange(400), truth]).mean()
        alone = [
            -np.log(softmax(scores / other)[np.arange(400), truth]).mean()
            for other in np.geomspace(0.1, 1e4, 400)
        ]
        assert power in POWERS[1:]
        assert loss < min(alone)
        np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))


def test_class_shares_do_not_count_where_they_are_equal():
    rng = np.random.default_rng(5)
    truth = rng.integers(2, size=400)
    scores = rng.normal(size=(400, 2)) + np.eye(2)[truth]
    temperature, power = best_calibration(scores, truth, np.ones(400), np.log([0.5, 0.5]))
    assert power == 0
    alone = [
        -np.log(softmax(scores / other)[np.arange(400), truth]).mean()
        for other in (temperature, 0.99 * temperature, 1.01 * temperature)
    ]
    assert alone[0] <= min(alone[1:])


def test_an_offset_by_hand():
    scores = np.array([[2.0, 1.0], [1.0, 1.5], [1.0, 1.0]])
    offset = np.array([1.0, 0.0])
    # The whole offset; as much as the lead of half allows; equal scores stay with the first.
    expected = [[1, 0], [0.999 * 0.5, 0], [1, 0]]
    np.testing.assert_allclose(kept_offset(scores, offset), expected)
    np.testing.assert_allclose(kept_offset(scores[2:], -offset), [[0, 0]], atol=1e-12)


def test_without_calibration_class_shares_do_not_count():
    table = cw.read("sample:breast-cancer")
    plain, model = (cw.AdaBoost(calibrate=how).fit(table) for how in (None, "auto"))
    assert plain.share_power_ == 0 < model.share_power_
    np.testing.assert_array_equal(plain.predict(table), model.predict(table))
    why = model.explain(table)
    assert why.attributes[-1] == "calibration"
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-12)
    found = softmax(why.joint)
    np.testing.assert_allclose(found, model.predict_proba(table), rtol=1e-9)


def test_tables_of_few_different_rows_are_calibrated_by_their_copies():
    rng = np.random.default_rng(1)
    frame = {name: rng.choice(list("uvw"), 900) for name in "abc"}
    chance = 0.2 + 0.6 * (frame["a"] == "u")
    frame["y"] = np.where(rng.random(900) < chance, "yes", "no")
    table = cw.read(frame, target="y")
    train, test = table.take(np.arange(600)), table.take(np.arange(600, 900))
    model, plain = (
        cw.AdaBoost(n_estimators=20, calibrate=how).fit(train) for how in ("auto", None)
    )

    def loss(shares):
        return -np.log(shares[np.arange(300), test.target]).mean()

    even = np.bincount(train.target) / 600
    assert loss(model.predict_proba(test)) < loss(np.tile(even, (300, 1))) - 0.05
    assert loss(model.predict_proba(test)) < loss(plain.predict_proba(test)) + 0.01
