"""Linear models behind our tables: named coefficients, gaps, unseen levels, peers' fits."""

import itertools

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import countwise as cw
from countwise.errors import ParameterError, UnseenLevelWarning
from countwise.models.linear.base import fit_slope
from countwise.models.linear.discriminant import LinearDiscriminant
from countwise.models.linear.encoder import MOST_LEVELS, Features
from countwise.models.linear.logistic import Logistic
from countwise.models.linear.perceptron import Perceptron
from countwise.models.linear.svm import LinearSVM
from countwise.store.codec import decode, encode

MODELS = {
    "logistic": Logistic,
    "discriminant": LinearDiscriminant,
    "perceptron": Perceptron,
    "svm": LinearSVM,
}
each = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))

EIGHT = list(itertools.product([0, 1], repeat=3))
AT_LEAST_TWO = [int(sum(row) >= 2) for row in EIGHT]


@pytest.fixture(scope="module")
def credit():
    return cw.read("sample:credit-g")


@pytest.fixture(scope="module")
def iris():
    return cw.read("sample:iris")


# ------------------------------------------------------------------- P2.9, the perceptron


def test_p2_9_the_papers_perceptron_says_whether_two_of_three_inputs_are_one():
    given = Perceptron.of({"X1": 0.3, "X2": 0.3, "X3": 0.3}, -0.4, classes=(0, 1))
    rows = {f"X{at + 1}": [row[at] for row in EIGHT] for at in range(3)}
    assert given.predict(rows).tolist() == AT_LEAST_TWO
    told = {own.column: own.value for own in given.coefficients_}
    assert told == pytest.approx({None: -0.4, "X1": 0.3, "X2": 0.3, "X3": 0.3})
    assert (given.predict_proba(rows).argmax(axis=1) == AT_LEAST_TWO).all()


def test_p2_9_a_perceptron_learns_it_from_the_eight_rows():
    model = Perceptron().fit(EIGHT, AT_LEAST_TWO)
    assert model.predict(EIGHT).tolist() == AT_LEAST_TWO
    told = {own.column: own.value for own in model.coefficients_}
    weights = [told["x1"], told["x2"], told["x3"]]
    bias = told[None]
    assert min(weights) > 0
    assert sum(weights) - max(weights) + bias > 0  # any two inputs are enough
    assert max(weights) + bias < 0  # one is not


# ----------------------------------------------------------------------- what scikit-learn says


def test_logistic_regression_is_scikit_learns(iris):
    X = np.column_stack([iris.values(c.name) for c in iris.schema.numeric])
    scaled = StandardScaler().fit_transform(X)
    theirs = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(scaled, iris.labels)
    ours = Logistic(C=0.5).fit(iris)
    np.testing.assert_allclose(
        ours.predict_proba(iris), theirs.predict_proba(scaled), rtol=1e-3, atol=1e-4
    )


def test_the_discriminant_is_scikit_learns(iris):
    X = np.column_stack([iris.values(c.name) for c in iris.schema.numeric])
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, iris.labels)
    ours = LinearDiscriminant(shrinkage=0, calibrate=None).fit(iris)
    np.testing.assert_allclose(ours.predict_proba(iris), theirs.predict_proba(X), atol=1e-6)
    even = LinearDiscriminant(shrinkage=0, prior="uniform").fit(iris.take(slice(0, 120)))
    assert even.score(iris) > 0.9


@pytest.mark.parametrize("name", ["audiology", "ecoli", "hepatitis"])
def test_a_calibrated_discriminant_makes_no_class_impossible(name):
    table = cw.read(f"sample:{name}")
    train, test = (
        table.take(np.flatnonzero(np.arange(len(table)) % 3 // 2 == at)) for at in (0, 1)
    )
    ours, plain = (LinearDiscriminant(calibrate=how).fit(train) for how in ("auto", None))
    assert ours.predict_proba(test).min() > 0
    if name == "audiology":
        assert plain.predict_proba(test).min() == 0
    np.testing.assert_array_equal(ours.predict(test), plain.predict(test))
    known = np.isin(test.labels, ours.classes_)
    place = np.searchsorted(ours.classes_, test.labels[known])
    rows = np.arange(len(place))
    new, old = (
        -np.log(np.maximum(model.predict_proba(test)[known][rows, place], 1e-300)).mean()
        for model in (ours, plain)
    )
    assert new < old


def test_another_prior_leaves_a_discriminant_as_it_is(iris):
    given = LinearDiscriminant(prior="uniform").fit(iris)
    plain = LinearDiscriminant(prior="uniform", calibrate=None).fit(iris)
    np.testing.assert_array_equal(given.predict_proba(iris), plain.predict_proba(iris))


def test_coefficients_are_per_unit_of_the_column_itself(credit):
    model = Logistic().fit(credit)
    told = {(own.column, own.level): own.value for own in model.coefficients_}
    assert len(told) == len(model.features_.names) + 1
    row = credit.take([3])
    by_hand = told[None, None]
    for column in credit.schema.attributes:
        if column.coded:
            by_hand += told[column.name, str(row.decode(column.name)[0])]
        else:
            by_hand += told[column.name, None] * float(row.values(column.name)[0])
    odds = np.diff(model.predict_log_proba(row)[0])[0]
    assert by_hand == pytest.approx(odds, abs=1e-9)
    assert {own.label for own in model.coefficients_} == {model.classes_[1]}


def test_of_several_classes_each_has_its_coefficients(iris):
    told = LinearSVM().fit(iris).coefficients_
    assert {own.label for own in told} == set(iris.classes)
    assert len(told) == 3 * 5


# ------------------------------------------------------------------------------ what all share


@each
def test_labels_are_the_argmax_of_posteriors_and_explanations_add_up(make, credit, iris):
    for table in (credit, iris):
        model = make().fit(table)
        shares = model.predict_proba(table)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(model.predict(table), model.classes_[shares.argmax(axis=1)])
        why = model.explain(table.take([0, 5]))
        np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint)
        np.testing.assert_allclose(why.posteriors, shares[[0, 5]], atol=1e-9)


@each
def test_gaps_and_unseen_levels_have_their_place(make):
    rng = np.random.default_rng(0)
    size = rng.normal(size=300)
    y = np.where(size + rng.normal(size=300) / 2 > 0, "large", "small")
    size[::7] = np.nan
    colour = rng.choice(["red", "blue", None], 300)
    model = make().fit({"size": size.tolist(), "colour": colour.tolist()}, y)
    names = [str(own) for own in model.features_.names]
    assert names == ["size", "size = (missing)", *names[2:]]
    assert set(names[2:]) == {"colour = red", "colour = blue", "colour = (missing)"}
    with pytest.warns(UnseenLevelWarning):
        shares = model.predict_proba({"size": [None, 2.0], "colour": ["green", None]})
    assert np.isfinite(shares).all()
    assert model.predict({"size": [3.0, -3.0], "colour": ["red"] * 2}).tolist() == [
        "large",
        "small",
    ]


@each
def test_ten_thousand_levels_share_a_place(make):
    rng = np.random.default_rng(0)
    word = rng.integers(0, 10_000, 4000)
    y = np.where(rng.random(4000) < 0.9, word % 2, 1 - word % 2)
    model = make().fit({"w": [f"w{own}" for own in word], "x": rng.normal(size=4000)}, y)
    assert len(model.features_.names) == MOST_LEVELS + 1
    assert any(note.code == "P01" for note in model.notes_)
    assert model.score({"w": [f"w{own}" for own in word], "x": [0.0] * 4000}, y) > 0.5


@each
def test_one_class_is_certain(make):
    model = make().fit({"x": [1.0, 2.0]}, ["a", "a"])
    assert model.predict_proba({"x": [5.0]}).tolist() == [[1.0]]


@each
def test_a_column_missing_throughout_says_nothing(make):
    rows = {"x": [None] * 40, "z": [0.0, 1.0] * 20}
    table = cw.read({**rows, "y": ["a", "b"] * 20}, target="y", numeric=["x", "z"])
    assert make().fit(table).score(table) == 1


def test_class_weights_move_the_boundary():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (450, 1)), rng.normal(1.5, 1, (50, 1))])
    y = np.repeat(["often", "rare"], [450, 50])
    for make in (Logistic, LinearSVM, Perceptron):
        plain = (make().fit(X, y).predict(X) == "rare").sum()
        even = (make(class_weight="balanced").fit(X, y).predict(X) == "rare").sum()
        assert even > plain or make is Perceptron
    strong = Logistic(class_weight={"often": 1, "rare": 100}).fit(X, y)
    assert (strong.predict(X) == "rare").mean() > 0.5
    with pytest.raises(ParameterError, match="got none for 'rare'"):
        Logistic(class_weight={"often": 1}).fit(X, y)


def test_calibrated_margins_are_honest():
    """Of rows to which the model gives about 0.8, about 80 % are of that class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = (X.sum(axis=1) + 1.5 * rng.logistic(size=6000) > 0).astype(int)
    for make in (LinearSVM, Perceptron):
        shares = make().fit(X[:3000], y[:3000]).predict_proba(X[3000:])[:, 1]
        near = (shares > 0.7) & (shares < 0.9)
        if make is LinearSVM:
            assert y[3000:][near].mean() == pytest.approx(0.8, abs=0.06)
        assert shares.min() > 0
        assert shares.max() < 1


def test_steepness_finds_the_factor_of_a_logistic():
    rng = np.random.default_rng(0)
    margin = rng.normal(size=20_000)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-2.5 * margin))).astype(int)
    both = np.column_stack([np.zeros(20_000), margin])
    assert fit_slope(both, y, np.ones(20_000)) == pytest.approx(2.5, abs=0.1)


def test_features_far_away_stay_finite_and_sparse_equals_dense(credit):
    features = Features.learn(credit)
    dense, sparse = features.matrix(credit), features.matrix(credit, sparse=True)
    np.testing.assert_array_equal(dense, sparse.toarray())
    far = cw.read({"x": [1e139, -1e139, 0.0], "y": ["a", "b", "a"]}, target="y", numeric=["x"])
    assert np.isfinite(Features.learn(far).matrix(far)).all()
    again = decode(Features, *encode(features))
    np.testing.assert_array_equal(again.matrix(credit), dense)


@pytest.mark.parametrize("kind", [cw.LinearSVM, cw.Perceptron, cw.LinearDiscriminant])
def test_a_class_of_one_row_does_not_end_the_calibration(kind):
    """Where that row is held out, the other classes calibrate."""
    iris = cw.read("sample:iris")
    frame = {c.name: [*iris.values(c.name), 9.0] for c in iris.schema.attributes}
    rows = cw.read({**frame, "kind": [*iris.labels, "a tree"]}, target="kind")
    model, known = kind().fit(rows), kind().fit(iris)
    shares = model.predict_proba(iris)
    expected = known.predict_proba(iris)
    assert shares[:, model.classes_.tolist().index("a tree")].mean() < 0.1
    right = np.searchsorted(model.classes_, iris.labels)
    loss = -np.log(shares[np.arange(150), right]).mean()
    assert loss < -np.log(expected[np.arange(150), iris.target]).mean() + 0.05


def test_no_class_is_farther_behind_than_where_it_was_judged():
    iris = cw.read("sample:iris")
    far = {c.name: [1e6 * (1 + at)] for at, c in enumerate(iris.schema.attributes)}
    model = cw.LinearSVM().fit(iris)
    shares = model.predict_proba(far)
    assert np.exp(-20) * 0.3 < shares.min() < np.exp(-20) * 1.01
    why = model.explain(far)
    assert why.attributes[-1] == "calibration"
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, rtol=1e-12)
    why = model.explain(iris)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-9)
    found = np.exp(why.joint - why.joint.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, model.predict_proba(iris), rtol=1e-9)
    assert set(why.parts[:, -1][:, :].ravel() > 0) == {False, True}
