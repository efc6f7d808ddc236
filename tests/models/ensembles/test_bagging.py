"""Bagging: one pass equals refits, out-of-bag equals a recount, votes are counts."""

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import countwise as cw
from countwise.counts.resampling import draws_of
from countwise.counts.row_hash import row_keys
from countwise.errors import ParameterError, UnseenLevelWarning
from countwise.models.ensembles.bagging import Bagging, OutOfBag
from countwise.testing.laws import uncalibrated


@pytest.fixture(scope="module")
def iris():
    return cw.read("sample:iris")


@pytest.fixture(scope="module")
def votes():
    return cw.read("sample:votes")


def in_order(table):
    return table.take(np.argsort(row_keys(table, target=True), kind="stable"))


@pytest.mark.parametrize(
    "base",
    [cw.NaiveBayes(), cw.NaiveBayes(numeric="kernel"), cw.TAN(), cw.ID3(max_depth=2, smoothing=1)],
    ids=["one pass", "grids", "pairs", "tree"],
)
@pytest.mark.parametrize("sample", ["votes", "iris"])
def test_members_are_fits_to_what_they_drew(base, sample):
    table = in_order(cw.read(f"sample:{sample}"))
    model = Bagging(base, n_estimators=3, random_state=4).fit(table)
    draws = draws_of(len(table), 3, model._seed)
    for place, member in enumerate(model.members_):
        times = draws.times(place).astype(float)
        alone = uncalibrated(base).fit(table, sample_weight=times)
        np.testing.assert_allclose(
            member.predict_proba(table), alone.predict_proba(table), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("vote", ["mean", "majority", "roulette"])
def test_votes_sum_to_the_members_and_win_by_argmax(votes, vote):
    model = Bagging(cw.NaiveBayes(), n_estimators=7, vote=vote).fit(votes)
    counted = model.votes(votes)
    np.testing.assert_allclose(counted.sum(axis=1), 7)
    np.testing.assert_allclose(model.predict_proba(votes), counted / 7)
    np.testing.assert_array_equal(model.predict(votes), model.classes_[counted.argmax(axis=1)])
    each = model.member_votes(votes)
    np.testing.assert_allclose(each.sum(axis=1), counted)
    if vote != "mean":
        assert set(np.unique(each)) <= {0.0, 1.0}


def test_long_run_roulette_shares_are_the_mean_posterior(votes):
    some = votes.take(slice(0, 40))
    mean = Bagging(cw.NaiveBayes(), n_estimators=25).fit(votes)
    shares = np.zeros((40, 2))
    for seed in range(30):
        wheel = Bagging(cw.NaiveBayes(), n_estimators=25, vote="roulette").fit(votes)
        wheel._seed = 1000 + seed
        shares += wheel.predict_proba(some) / 30
    # A share of 750 draws has a standard error of at most 0.018.
    np.testing.assert_allclose(shares, mean.predict_proba(some), atol=0.06)


def test_roulette_answers_a_row_alike_wherever_it_stands(votes):
    model = Bagging(cw.NaiveBayes(), n_estimators=5, vote="roulette").fit(votes)
    whole = model.predict_proba(votes)
    backwards = model.predict_proba(votes.take(slice(None, None, -1)))
    np.testing.assert_array_equal(whole[::-1], backwards)


@pytest.mark.parametrize("vote", ["mean", "majority", "roulette"])
@pytest.mark.parametrize("base", [cw.NaiveBayes(), cw.ID3(), LogisticRegression()], ids=repr)
def test_out_of_bag_equals_a_slow_recount(iris, vote, base):
    iris = iris.take(np.random.default_rng(3).permutation(len(iris)))
    model = Bagging(base, n_estimators=9, vote=vote, oob_score=True, random_state=2).fit(iris)
    order = np.argsort(row_keys(iris, target=True), kind="stable")
    draws = draws_of(len(iris), 9, model._seed)
    cast = model.member_votes(iris)
    labels = np.stack([member.labels(iris, 3) for member in model._trained])
    tally, single, wrong, tested = np.zeros((len(iris), 3)), [], 0, 0
    for place, row in enumerate(order):
        out = [m for m in range(9) if draws.times(m)[place] == 0]
        if not out:
            continue
        tested += 1
        for member in out:
            tally[row] += cast[row, member]
        wrong += int(np.argmax(tally[row]) != iris.target[row])
        single.append(np.mean([labels[m, row] != iris.target[row] for m in out]))
    found = model.out_of_bag_
    np.testing.assert_allclose(found.votes, tally, atol=1e-12)
    np.testing.assert_array_equal(model.votes_, found.votes)
    assert found.coverage == tested / len(iris)
    assert found.error == pytest.approx(wrong / tested)
    assert found.single_error == pytest.approx(np.mean(single))


def test_632_and_632_plus_by_hand():
    """Efron & Tibshirani (1997): 1-NN on noise has apparent error 0 and bootstrap error 1/2."""
    noise = OutOfBag(np.zeros((1, 2)), 0.5, 1.0, 0.5, 0.0, 0.5)
    assert noise.error_632 == pytest.approx(0.316)
    assert noise.overfitting == 1
    assert noise.error_632_plus == pytest.approx(0.5)
    some = OutOfBag(np.zeros((1, 2)), 0.2, 1.0, 0.3, 0.1, 0.5)
    assert some.overfitting == pytest.approx(0.5)
    weight = 0.632 / (1 - 0.368 * 0.5)
    assert some.error_632_plus == pytest.approx((1 - weight) * 0.1 + weight * 0.3)
    none = OutOfBag(np.zeros((1, 2)), 0.1, 1.0, 0.1, 0.1, 0.5)
    assert none.error_632_plus == pytest.approx(0.1)
    assert "%" in none.describe()
    assert none.to_dict()["error_632"] == pytest.approx(0.1)


def test_about_two_thirds_of_the_rows_are_drawn(votes):
    model = Bagging(cw.NaiveBayes(), n_estimators=30, oob_score=True).fit(votes)
    draws = draws_of(len(votes), 30, model._seed)
    share = np.mean(draws.between(0, 30, 0, len(votes)) > 0)
    assert share == pytest.approx(0.632, abs=0.01)
    assert 0.05 < model.out_of_bag_.error < 0.15


def test_what_members_take_does_not_grow_with_the_rows():
    """Members hold their tables; what they drew, and the rows, are never copied for them."""

    def taken(rows, members):
        rng = np.random.default_rng(0)
        cells = {f"w{at}": rng.choice([*"abc"], rows) for at in range(6)}
        table = cw.read({**cells, "y": rng.choice([*"np"], rows)}, target="y")
        tracemalloc.start()
        Bagging(cw.NaiveBayes(), n_estimators=members).fit(table)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = (taken(rows, 60) - taken(rows, 6) for rows in (50_000, 300_000))
    assert many < few + 500_000  # fifty-four copies of a byte a row would be 13 MB more


def test_ten_thousand_levels_and_few_rows_of_each():
    rng = np.random.default_rng(0)
    word = rng.integers(0, 10_000, 3000)
    table = cw.read({"w": [f"w{number}" for number in word], "y": word % 2}, target="y",
                    identifiers="keep")  # fmt: skip
    for model in (Bagging(cw.NaiveBayes(), n_estimators=4), cw.AdaBoost(n_estimators=5), cw.Vote()):
        shares = model.fit(table).predict_proba(table)
        assert np.isfinite(shares).all()


def test_the_same_seed_gives_the_same_model_and_another_another(iris):
    one, two, other = (
        Bagging(n_estimators=5, random_state=seed).fit(iris).predict_proba(iris)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_shuffled_rows_give_the_same_model(votes):
    order = np.random.default_rng(0).permutation(len(votes))
    one = Bagging(cw.NaiveBayes(), n_estimators=5).fit(votes)
    two = Bagging(cw.NaiveBayes(), n_estimators=5).fit(votes.take(order))
    np.testing.assert_array_equal(one.predict_proba(votes), two.predict_proba(votes))


def test_a_base_without_posteriors_votes_by_its_labels(iris):
    model = Bagging(LinearSVC(), n_estimators=3).fit(iris)
    assert set(np.unique(model.member_votes(iris))) == {0.0, 1.0}
    assert model.score(iris) > 0.9


def test_a_member_that_missed_a_class_gives_it_nothing():
    table = cw.read({"x": ["a", "b"] * 20, "y": ["n"] * 39 + ["rare"]}, target="y")
    model = Bagging(cw.NaiveBayes(), n_estimators=20).fit(table)
    assert {len(member.classes_) for member in model.members_} == {1, 2}
    assert model.predict_proba(table).shape == (40, 2)
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1)


def test_unseen_levels_are_reported_once(votes):
    model = Bagging(cw.NaiveBayes(), n_estimators=5).fit(votes)
    row = {name: ["never"] for name in (c.name for c in votes.schema.attributes)}
    with pytest.warns(UnseenLevelWarning) as caught:
        model.predict(row)
    assert len(caught) == 1


def test_what_cannot_be_is_refused_in_a_sentence(iris):
    with pytest.raises(ParameterError, match="estimator must be"):
        Bagging("naive-bayes").fit(iris)
    with pytest.raises(ParameterError, match="above 0 and at most 1"):
        Bagging(fraction=2).fit(iris)
    with pytest.raises(ParameterError, match="numeric names 'petal'"):
        Bagging(cw.NaiveBayes(numeric={"petal": "kernel"})).fit(iris)
    with pytest.raises(ParameterError, match="could not be trained"):
        Bagging(LogisticRegression(C=-1)).fit(iris)
    with pytest.raises(ParameterError, match="all be zero"):
        Bagging().fit([[1.0], [2.0]], ["a", "b"], sample_weight=[0, 0])


def test_weights_that_are_not_whole_are_drawn_by(iris):
    weight = np.where(iris.labels == "Iris-setosa", 0.0, 0.7)
    model = Bagging(cw.NaiveBayes(), n_estimators=3, oob_score=True).fit(iris, sample_weight=weight)
    assert model.classes_.tolist() == ["Iris-versicolor", "Iris-virginica"]
    assert np.isfinite(model.out_of_bag_.error)
