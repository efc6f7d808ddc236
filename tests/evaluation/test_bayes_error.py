"""The least possible error: exact, plugged in, bounded by neighbours."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import countwise as cw
from countwise.errors import ParameterError, TableError
from countwise.evaluation.bayes_error import bayes_error, bayes_error_bound, boundaries

SHARED = {"numeric": "gaussian", "variance": "shared", "min_deviation": 0, "calibrate": None}


def overlap(densities, prior):
    """The integral of all but the largest density: the Bayes error by another way."""

    def rest(x):
        joint = [p * density.pdf(x) for p, density in zip(prior, densities, strict=True)]
        return sum(joint) - max(joint)

    levels = [1e-13, 1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9]
    edges = np.concatenate([density.ppf([*levels, 1 - 1e-13]) for density in densities])
    edges = np.unique(np.concatenate([edges, boundaries(densities, prior)]))
    return sum(quad(rest, low, high, limit=200)[0] for low, high in pairwise(edges))


def test_two_normals_by_hand():
    found = bayes_error([stats.norm(0, 1), stats.norm(2, 1)])
    assert found.error == pytest.approx(stats.norm.cdf(-1), abs=1e-12)
    assert (found.how, found.low, found.high) == ("exact", found.error, found.error)
    assert boundaries([stats.norm(0, 1), stats.norm(2, 1)]) == pytest.approx([1.0])
    uneven = boundaries([stats.norm(0, 1), stats.norm(2, 1)], [0.9, 0.1])
    assert uneven == pytest.approx([1 + np.log(9) / 2])
    assert "exact" in found.describe()


def test_unequal_spreads_have_two_boundaries():
    densities = [stats.norm(0, 1), stats.norm(0, 3)]
    cuts = boundaries(densities)
    assert len(cuts) == 2
    assert cuts == pytest.approx([-cuts[1], cuts[1]])
    assert densities[0].pdf(cuts[1]) == pytest.approx(densities[1].pdf(cuts[1]))
    assert bayes_error(densities).error == pytest.approx(overlap(densities, [0.5, 0.5]), abs=1e-9)


@pytest.mark.parametrize(
    ("densities", "prior"),
    [
        ([stats.norm(0, 1), stats.norm(0.5, 2)], [0.7, 0.3]),
        ([stats.expon(), stats.gamma(3)], [0.5, 0.5]),
        ([stats.uniform(0, 1), stats.uniform(0.5, 1)], [0.5, 0.5]),
        ([stats.norm(0, 1), stats.norm(3, 1), stats.norm(6, 1)], [0.2, 0.5, 0.3]),
        ([stats.laplace(0, 1), stats.t(3, 1)], [0.4, 0.6]),
        ([stats.norm(0, 1), stats.norm(0, 1)], [0.8, 0.2]),
    ],
    ids=range(6),
)
def test_exact_errors_are_the_integral_of_all_but_the_largest(densities, prior):
    found = bayes_error(densities, prior).error
    assert found == pytest.approx(overlap(densities, prior), abs=1e-6)
    rng = np.random.default_rng(0)
    label = rng.choice(len(prior), 200_000, p=prior)
    x = np.choose(label, [own.rvs(200_000, random_state=rng) for own in densities])
    joint = np.stack([p * own.pdf(x) for p, own in zip(prior, densities, strict=True)])
    assert np.mean(joint.argmax(axis=0) != label) == pytest.approx(found, abs=0.004)


def test_discrete_distributions():
    found = bayes_error([stats.binom(10, 0.3), stats.binom(10, 0.6)])
    places = np.arange(11)
    one, two = stats.binom(10, 0.3).pmf(places), stats.binom(10, 0.6).pmf(places)
    assert found.error == pytest.approx(np.minimum(one, two).sum() / 2)
    with pytest.raises(ParameterError, match="got both"):
        bayes_error([stats.binom(10, 0.3), stats.norm()])


def test_counts_are_plugged_in_and_say_so():
    found = bayes_error([[300, 100], [100, 300]])
    assert (found.error, found.how, found.notes) == (0.25, "plug-in", ())
    prior = bayes_error([[300, 100], [100, 300]], [0.9, 0.1])
    assert prior.error == pytest.approx(0.1)
    weather = cw.count(cw.read("sample:weather"), cw.Plan.joint(
        cw.read("sample:weather").schema, "outlook", "humidity"))  # fmt: skip
    small = bayes_error(weather)
    assert small.error == pytest.approx(2 / 14)
    assert [note.code for note in small.notes] == ["B01"]


def test_a_neighbour_bound_holds_the_known_error():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6000)
    x = rng.normal(2.0 * y, 1.0)
    found = bayes_error_bound({"x": x, "y": y.tolist()}, target="y", numeric=["x"])
    exact = bayes_error([stats.norm(0, 1), stats.norm(2, 1)]).error
    assert found.how == "neighbors"
    assert found.low < exact < found.high
    assert found.error == pytest.approx(2 * exact * (1 - exact), abs=0.05)
    assert found.notes == ()
    assert "neighbor" in found.describe()


def test_few_rows_are_warned_about_and_many_sampled(monkeypatch):
    found = bayes_error_bound("sample:hepatitis")
    assert [note.code for note in found.notes] == ["B02"]
    from countwise.evaluation import bayes_error as bayes_error_module

    monkeypatch.setattr(bayes_error_module, "MAX_ROWS", 100)
    some = bayes_error_bound("sample:credit-g", random_state=1)
    assert "B03" in [note.code for note in some.notes]
    assert some.to_dict()["notes"]


def test_what_cannot_be_known_is_refused():
    for wrong in ("text", [1, 2], [[-1, 2], [1, 1]], [], [[0, 0], [0, 0]]):
        with pytest.raises(ParameterError, match="bayes_error"):
            bayes_error(wrong)
    with pytest.raises(ParameterError, match="prior must be 2 shares"):
        bayes_error([stats.norm(), stats.norm(1)], [1.0])
    with pytest.raises(TableError, match="classes"):
        bayes_error_bound({"x": [1.0, 2.0]})
    with pytest.raises(TableError, match="at least 3 rows"):
        bayes_error_bound({"x": ["u", "v"], "y": ["a", "b"]}, target="y")
    with pytest.raises(ParameterError, match="level"):
        bayes_error_bound("sample:iris", level=2)


# --------------------------------------------------------------------- P4.8, closed-form weights


@pytest.mark.parametrize("sample", ["iris", "glass", "credit-g", "hepatitis", "votes"])
def test_p4_8_the_closed_form_is_the_posterior(sample):
    table = cw.read(f"sample:{sample}")
    model = cw.NaiveBayes(**SHARED).fit(table)
    weights = model.to_logistic()
    np.testing.assert_allclose(weights.posteriors(table), model.predict_proba(table), atol=1e-9)


def test_p4_8_the_weights_by_hand():
    x, y = [[0.0], [2.0], [3.0], [5.0], [4.0]], [*"aabbb"]
    model = cw.NaiveBayes(**SHARED).fit(x, y)
    shared = (2 * 1 + (1 + 0 + 1)) / 3  # squares within classes over n - K
    slope = (4 - 1) / shared
    intercept = np.log(3 / 2) - (16 - 1) / (2 * shared)
    told = model.to_logistic().coefficients
    assert [(own.label, own.column) for own in told] == [("b", None), ("b", "x1")]
    assert [own.value for own in told] == pytest.approx([intercept, slope])
    odds = np.diff(model.predict_log_proba([[2.5]])[0])[0]
    assert odds == pytest.approx(intercept + slope * 2.5)


def test_p4_8_other_naive_bayes_are_not_linear():
    iris = cw.read("sample:iris")
    for odd in (
        {"variance": "sample"},
        {"variance": "shared", "numeric": "kernel"},
        {"variance": "shared", "combine": "posteriors"},
        {"variance": "shared", "when_missing": "value"},
    ):
        with pytest.raises(ParameterError, match="log-odds are linear"):
            cw.NaiveBayes(**odd).fit(iris).to_logistic()
    words = cw.NaiveBayes().fit(cw.read("sample:weather"))  # no numbers: nothing to share
    assert len(words.to_logistic().coefficients) == 1 + 10
