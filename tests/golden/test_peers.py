"""Our posteriors against those that R's e1071, Weka and scikit-learn give for the same rows."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import countwise as cw
from countwise_papers.exact_models import exact_naive_bayes

PEERS = json.loads((Path(__file__).parent / "peers.json").read_text())


def expected(program, name, model):
    known = PEERS[program][name]
    order = [known["classes"].index(str(label)) for label in model.classes_]
    return np.asarray(known["posteriors"])[:, order]


@pytest.mark.parametrize(
    ("name", "sample", "smoothing"),
    [
        ("weather, laplace 1", "weather", 1.0),
        ("iris", "iris", 0.0),
        ("weather-numeric", "weather-numeric", 0.0),
        ("weather, laplace 0", "weather", 0.0),
    ],
)
def test_e1071(name, sample, smoothing):
    table = cw.read(f"sample:{sample}")
    model = exact_naive_bayes(smoothing).fit(table)
    ours = model.predict_proba(table)
    theirs = expected("e1071", name, model)
    # e1071 replaces shares of nought by 0.001; where ours has none of them both must agree.
    plain = np.all(ours > 0, axis=1)
    assert plain.sum() >= 10
    np.testing.assert_allclose(ours[plain], theirs[plain], rtol=0, atol=1e-9)


def test_weka_on_weather():
    table = cw.read("sample:weather")
    # Weka adds one to the class counts as well: 5 + 1 and 9 + 1 of 14 + 2.
    model = exact_naive_bayes(prior={"no": 6 / 16, "yes": 10 / 16}).fit(table)
    np.testing.assert_allclose(
        model.predict_proba(table), expected("weka", "weather", model), atol=5.1e-4
    )


def test_categorical_nb_of_scikit_learn():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, (400, 7))
    y = rng.choice(["a", "b", "c"], 400, p=[0.6, 0.3, 0.1])
    for alpha in (0.3, 1.0):
        theirs = CategoricalNB(alpha=alpha).fit(X, y)
        ours = exact_naive_bayes(smoothing=alpha, nominal="all").fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose(
            ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), atol=1e-9
        )


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gaussian_nb_of_scikit_learn(offset):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 6)) * [1, 2, 3, 4, 5, 6] + offset
    y = rng.integers(0, 3, 300)
    weight = rng.random(300)
    theirs = GaussianNB(var_smoothing=0).fit(X, y, sample_weight=weight)
    ours = exact_naive_bayes(variance="population").fit(X, y, sample_weight=weight)
    # At an offset of 1e6 the rounding of the peer's one-pass variance sets the tolerance.
    tolerance = 1e-9 if offset == 0 else 1e-6
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=tolerance)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), atol=tolerance * 10
    )


@pytest.mark.parametrize("name", ["breast-w", "credit-g", "glass", "ionosphere", "iris"])
def test_gaussian_nb_on_real_rows(name):
    table = cw.read(f"sample:{name}")
    columns = [c.name for c in table.schema.numeric if c.name != "a02"]
    X = np.column_stack([table.values(column) for column in columns])
    full = ~np.isnan(X).any(axis=1)
    theirs = GaussianNB(var_smoothing=0)
    varying = [
        j
        for j in range(X.shape[1])
        if all(np.ptp(X[full & (table.labels == label), j]) > 0 for label in table.classes)
    ]
    X, y = X[full][:, varying], table.labels[full]
    ours = exact_naive_bayes(variance="population").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.fit(X, y).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", PEERS["ibk"])
def test_weka_ibk(name):
    """Weka lets all vote who are as far as the last, ours share its place: ties may differ."""
    sample, k = name.split(", k ")
    table = cw.read(f"sample:{sample}")
    third = np.arange(len(table)) % 3 == 0
    inside = third.copy()
    for column in table.schema.numeric:
        values, others = table.values(column.name), table.values(column.name)[~third]
        inside &= ~((values < np.nanmin(others)) | (values > np.nanmax(others)))
    asked = table.take(inside)
    model = cw.Neighbors(n_neighbors=int(k), smoothing=0).fit(table.take(~inside))
    labels = [str(label) for label in table.classes]
    ours = np.array([labels.index(str(label)) for label in model.predict(asked)])
    theirs = np.array([int(digit) for digit in PEERS["ibk"][name]])
    far = model.neighbors(asked, int(k) + 1).distances
    clear = far[:, -1] > far[:, -2] * (1 + 1e-9)
    assert clear.sum() >= 13
    np.testing.assert_array_equal(ours[clear], theirs[clear])
    assert np.mean(ours == theirs) > 0.97
