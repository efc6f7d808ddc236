"""P4, Kuo: an introductory lecture. Worked figures of naive Bayes, ensembles and boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from countwise.counts.smoothing import Laplace, MEstimate
from countwise.evaluation.bayes_error import bayes_error, bayes_error_bound
from countwise.evaluation.evaluate import evaluate
from countwise.models.ensembles.adaboost import AdaBoost
from countwise.models.ensembles.bagging import Bagging
from countwise.models.ensembles.vote import ensemble_error
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.tree.id3 import ID3
from countwise.reports.regions import regions
from countwise.tables.read import read
from countwise_papers.exact_models import exact_naive_bayes
from countwise_papers.findings import (
    Drawing,
    Found,
    Work,
    above,
    at_most,
    exactly,
    figure,
    gain_text,
    held,
    part,
    same_figures,
    same_word,
)
from countwise_papers.lecture_figures import draw_bayes_error, draw_rounds, draw_sigmoids


def _by_class(model: Any, figures: NDArray[np.float64]) -> dict[str, float]:
    return {str(name): float(number) for name, number in zip(model.classes_, figures, strict=True)}


@part("P4.2")
def meningitis(work: Work) -> Found:
    """Bayes' theorem on three given fractions.

    Of a million patients, 1 in 50 000 has meningitis, and half of these have a stiff neck; 1 in 20
    of all patients has a stiff neck. Naive Bayes without smoothing is trained with these counts as
    weights.
    """
    sick, stiff_sick, stiff, everybody = 20, 10, 50_000, 1_000_000
    rows = {"stiff neck": ["yes", "no", "yes", "no"], "class": ["m", "m", "well", "well"]}
    well = stiff - stiff_sick, everybody - sick - stiff + stiff_sick
    weight = [stiff_sick, sick - stiff_sick, *well]
    model = exact_naive_bayes(smoothing=0).fit(read(rows, target="class"), sample_weight=weight)
    posterior = _by_class(model, model.predict_proba({"stiff neck": ["yes"]})[0])
    yield figure("P4.2", "P(meningitis | stiff neck)", "0.0002", posterior["m"])


@part("P4.3", "P4.4", data=["tax"])
def tax(work: Work) -> Found:
    """Naive Bayes on the tax table.

    Ten rows, without smoothing. Refund and marital status are modeled by fractions, income by a
    normal density with the sample variance. The row to classify is (No, Married, 120).
    """
    table = work.table("tax")
    model = exact_naive_bayes(smoothing=0).fit(table)
    income = table.schema.numeric[0].name
    no = model.classes_.tolist().index("No")
    moments = model.counts_.moments[income]
    row = {"Refund": ["No"], "Marital Status": ["Married"], income: [120]}
    why = model.explain(row)
    density = np.exp(why.parts[0, why.attributes.index(income)])
    given = np.exp(why.parts[0].sum(axis=0))
    yield figure("P4.3", "mean income, class No", "110", moments.mean[no])
    yield figure("P4.3", "sample variance of income, class No", "2975", moments.variance()[no])
    yield figure("P4.4", "normal density of income 120 given No", "0.0072", density[no])
    yield figure("P4.4", "normal density of income 120 given Yes", "1.2e-9", density[1 - no])
    right = 16 / 49 * float(norm(110, 2975**0.5).pdf(120))
    yield figure(
        "P4.3",
        "P(x | No)",
        "0.0024",
        given[no],
        (right - 1e-9, right + 1e-9),
        "The slide multiplies the rounded density: 4/7 · 4/7 · 0.0072 = "
        f"{16 / 49 * 0.0072:.6f}, which rounds to 0.0024; the exact product is {right:.6f}, which "
        "rounds to 0.0023. The decision is the same.",
        kind="arithmetic",
        text="{:.6f}",
    )
    yield figure("P4.3", "P(x | Yes)", "0", given[1 - no])
    yield same_word("P4.3", "decision", "No", str(model.predict(row)[0]))
    points = exact_naive_bayes(numeric="cuts", cuts="two-way").fit(table).cut_points_[income]
    order = np.sort(table.values(income))
    yield held(
        "P4.4",
        "two-way split of income",
        float(points[0]) if len(points) == 1 else np.nan,
        (order[0], order[-1]),
        "one boundary, at {:g}",
        "The slide names the method and prints no boundary; ours is the most informative one.",
    )


@part("P4.5", data=["vertebrates"])
def vertebrates(work: Work) -> Found:
    """Naive Bayes on the vertebrates.

    Twenty rows with four nominal attributes, without smoothing. The row to classify is (yes, no,
    yes, no).
    """
    model = exact_naive_bayes(smoothing=0).fit(work.table("vertebrates"))
    new = {"Give Birth": ["yes"], "Can Fly": ["no"], "Live in Water": ["yes"], "Have Legs": ["no"]}
    given = _by_class(model, np.exp(model.explain(new).parts[0].sum(axis=0)))
    joint = _by_class(model, np.exp(model.predict_joint_log_proba(new)[0]))
    yield figure("P4.5", "P(x | mammals)", "0.06", given["mammals"])
    yield figure("P4.5", "P(x | non-mammals)", "0.0042", given["non-mammals"])
    yield figure("P4.5", "P(x | mammals) P(mammals)", "0.021", joint["mammals"])
    yield figure("P4.5", "P(x | non-mammals) P(non-mammals)", "0.0027", joint["non-mammals"])
    yield same_word("P4.5", "decision", "mammals", str(model.predict(new)[0]))


@part("P4.6", data=["tax"])
def zero(work: Work) -> Found:
    """Laplace and m-estimate.

    The probabilities of the first attribute of the tax table are computed by the formulas and
    compared with those of the model.
    """
    table = work.table("tax")
    name = table.schema.nominal[0].name
    model = exact_naive_bayes(smoothing=0).fit(table)
    counts = model.counts_.table(name)[:2, : len(model.counts_.levels(name))]
    total, values = counts.sum(axis=1, keepdims=True), counts.shape[1]
    for words, smoothing, by_hand in (
        (
            "Laplace as on the slide (denominator plus number of classes)",
            Laplace(1, by="classes"),
            (counts + 1) / (total + 2),
        ),
        (
            "Laplace as usual (denominator plus number of values)",
            Laplace(1),
            (counts + 1) / (total + values),
        ),
        ("m-estimate, m = 3", MEstimate(3.0), (counts + 3.0 / values) / (total + 3.0)),
    ):
        text = "largest gap to the formula {:.1g}"
        yield same_figures("P4.6", words, smoothing.shares(counts), by_hand, 1e-12, text)
    row = {"Refund": ["No"], "Marital Status": ["Married"], table.schema.numeric[0].name: [120]}
    smoothed = exact_naive_bayes(smoothing=Laplace(1, by="classes")).fit(table)
    posterior = _by_class(smoothed, smoothed.predict_proba(row)[0])["Yes"]
    what = "the tax row's P(Yes) is no longer zero"
    yield held("P4.6", what, posterior, above(0), "{:.2g}")


@part("P4.1", data=["iris"])
def neighbors(work: Work) -> Found:
    """Nearest neighbors weighted by 1/d².

    Half of iris is classified by the other half, and the votes are computed again by the formula.
    The choice of k, and the effect of one column in other units, are tested by stratified ten-fold
    cross-validation.
    """
    iris = work.table("iris")
    train, queries = (iris.take(np.arange(start, 150, 2)) for start in (0, 1))
    model = Neighbors(n_neighbors=7, weights="squared", scale=None, smoothing=0).fit(train)
    near = model.neighbors(queries, k=len(train))
    by_hand = []
    for gap, labels in zip(near.distances, near.labels, strict=True):
        # Rows as far as the seventh divide the places that are left.
        inside, edge = gap < gap[6] * (1 - 1e-12), np.isclose(gap, gap[6], rtol=1e-12, atol=0)
        place = inside + edge * (7 - inside.sum()) / edge.sum()
        with np.errstate(divide="ignore"):
            weight = (gap == 0) * place if (gap == 0).any() else place / gap**2
        votes = np.array([weight[labels == name].sum() for name in model.classes_])
        by_hand.append(votes / votes.sum())
    what, text = "votes weighted by 1/d², iris, k = 7", "largest gap to the formula {:.1g}"
    yield same_figures("P4.1", what, by_hand, model.predict_proba(queries), 1e-12, text)
    yield held(
        "P4.1",
        "d = 0: a row is decided by the training rows that equal it",
        model.predict_proba(train).max(axis=1).min(),
        above(0.49),
        "smallest winning probability {:.2f}",
    )
    models = {
        f"k = {k}": Neighbors(n_neighbors=k, weights="squared", smoothing=0)
        for k in (1, 3, 5, 9, 15, 25, 45)
    }
    trials = evaluate(models, iris, folds=10, random_state=work.seed)
    scores = {name: trials.score("accuracy", name).value for name in models}
    best = max(scores, key=lambda name: scores[name])
    yield figure(
        "P4.1",
        "choice of k by cross-validation, iris",
        "",
        scores[best],
        None,
        ", ".join(f"{name} {score:.3f}" for name, score in scores.items()),
        text=f"best is {best} with {{:.3f}}",
    )
    # One column is measured in other units.
    columns = {c.name: iris.values(c.name).copy() for c in iris.schema.numeric}
    columns[list(columns)[1]] *= 1000
    table = read({**columns, "class": iris.labels}, target="class")
    models = {
        "plain": Neighbors(scale=None, smoothing=0),
        "scaled": Neighbors(scale="range", smoothing=0),
    }
    trials = evaluate(models, table, folds=10, random_state=work.seed)
    plain = trials.score("accuracy", "plain").value
    yield held(
        "P4.1",
        "one column in other units: scaling keeps the accuracy",
        trials.score("accuracy", "scaled"),
        above(plain),
        f"{{:.3f}} scaled, {plain:.3f} unscaled",
        "Iris with sepal width multiplied by 1000.",
    )
    picture = regions(
        Neighbors(n_neighbors=1, scale=None, smoothing=0),
        iris.select(["petal_length", "petal_width"]),
    )
    yield Drawing("One nearest neighbor and Voronoi cells", picture.svg, picture.title)


@part("P4.7")
def least_error(work: Work) -> Found:
    """The minimum possible error.

    Two normal densities, two standard deviations apart, with equal priors. The least error is
    computed by integration, estimated by random draws, and bounded by the nearest neighbors of 4
    000 rows.
    """
    pair = [norm(0.0, 1.0), norm(2.0, 1.0)]
    exact = float(norm.cdf(-1.0))
    yield held(
        "P4.7",
        "two normals, two deviations apart: least error against Φ(-1)",
        bayes_error(pair, prior=[0.5, 0.5]).error,
        (exact - 1e-9, exact + 1e-9),
        "{:.6f}",
        f"Φ(-1) = {exact:.6f}; the boundary lies midway.",
    )
    rng = np.random.default_rng(work.seed)
    truth = rng.integers(0, 2, 400_000)
    x = rng.normal(truth * 2.0, 1.0)
    error, interval = np.mean((x > 1.0) != truth), (exact - 0.003, exact + 0.003)
    yield held("P4.7", "the same by 400 000 draws", error, interval, "{:.4f}")
    bound = bayes_error_bound(read({"x": x[:4000], "class": truth[:4000]}, target="class"))
    yield held(
        "P4.7",
        "bounds by neighbors on 4 000 rows contain the least error",
        exact,
        (bound.low, bound.high),
        f"{bound.low:.3f} to {bound.high:.3f}",
    )
    picture = draw_bayes_error(pair, prior=[0.5, 0.5])
    yield Drawing("The minimum possible error", picture.svg, picture.title)


@part("P4.8", data=["iris"])
def logistic(work: Work) -> Found:
    """Logistic weights from naive Bayes.

    Two iris species and four columns, with one variance per column. The closed form of the slide is
    compared with the posterior of the model.
    """
    iris = work.table("iris")
    two = iris.take(np.flatnonzero(iris.labels != "Iris-setosa"))
    names = [column.name for column in two.schema.numeric]
    X = np.stack([two.values(name) for name in names], axis=1)
    y = (two.labels == "Iris-virginica").astype(int)
    model = exact_naive_bayes(variance="shared").fit(X, y)
    weights = np.asarray([weight.value for weight in model.to_logistic().coefficients])
    by_weights = 1 / (1 + np.exp(-(weights[0] + X @ weights[1:])))
    yield same_figures(
        "P4.8",
        "posterior of naive Bayes equals the sigmoid of its closed-form weights",
        by_weights,
        model.predict_proba(X)[:, 1],
        1e-10,
        f"largest gap over {len(X)} rows: {{:.1g}}",
    )
    means = np.stack([X[y == label].mean(axis=0) for label in (0, 1)])
    pooled = ((X - means[y]) ** 2).sum(axis=0) / (len(X) - 2)
    # The slide's weights are those of P(0 | x), so ours have the other sign.
    yield same_figures(
        "P4.8",
        "wᵢ = (μ₁ - μ₀) / σ² by hand",
        (means[1] - means[0]) / pooled,
        weights[1:],
        1e-8,
        "largest gap {:.1g}; " + ", ".join(f"{weight:+.3f}" for weight in weights[1:]),
        "The slide prints the weights of P(y = 0 | x), which have the opposite signs.",
    )
    picture = draw_sigmoids(two, names[2])
    yield Drawing("Generative and discriminative sigmoid", picture.svg, picture.title)


@part("P4.9")
def independent(work: Work) -> Found:
    """The error of 25 independent members.

    The binomial sum of the slide is compared with 200 000 seeded random draws.
    """
    exact = ensemble_error(25, 0.35)
    yield figure("P4.9", "25 members, each wrong in 0.35 of all cases", "0.06", exact)
    wrong = np.random.default_rng(work.seed).random((200_000, 25)) < 0.35
    error, interval = (wrong.sum(axis=1) >= 13).mean(), (exact - 0.003, exact + 0.003)
    text = f"{{:.4f}} against {exact:.4f}"
    yield held("P4.9", "the same by 200 000 seeded draws", error, interval, text)


@part("P4.10", data=["credit-g", "ionosphere", "glass", "iris"], cost=16)
def bagging(work: Work) -> Found:
    """Bagging.

    The fraction of rows in a bootstrap sample is estimated from two hundred samples of 2 000 rows.
    An unpruned ID3 is compared with 50 bagged ones by stratified five-fold cross-validation on
    three sets. Out-of-bag errors are computed on the whole sets.
    """
    rng = np.random.default_rng(work.seed)
    fractions = [len(np.unique(rng.integers(0, 2000, 2000))) / 2000 for _ in range(200)]
    mean, error = float(np.mean(fractions)), 2 * float(np.std(fractions)) / 200**0.5
    what = "fraction of rows in a bootstrap, 1 - (1 - 1/N)^N, N = 2000"
    yield figure("P4.10", what, "0.632", 1 - (1 - 1 / 2000) ** 2000)
    interval = mean - error, mean + error
    yield figure("P4.10", "the same in 200 bootstraps", "0.632", mean, interval, digits=4)
    iris = work.table("iris").select(["petal_length", "petal_width"])
    for words, model in (
        ("One unpruned tree", ID3(smoothing="laplace")),
        ("Fifty bagged trees", Bagging(ID3(smoothing="laplace"))),
    ):
        picture = regions(model, iris)
        yield Drawing(words, picture.svg, picture.title)
    members = 10 if work.quick else 50
    for name, table in work.tables(("credit-g", "ionosphere", "glass")):
        models = {
            "tree": ID3(smoothing="laplace"),
            "bagged": Bagging(
                ID3(smoothing="laplace"), n_estimators=members, random_state=work.seed
            ),
        }
        trials = evaluate(models, table, folds=5, random_state=work.seed)
        gap = trials.difference("bagged", "tree")
        accuracy = trials.score("accuracy", "bagged").value
        yield held(
            "P4.10",
            f"{name}: bagging increases the accuracy of an unpruned tree",
            gap,
            above(0),
            f"{gain_text(gap)}, {accuracy:.3f} with {members} members",
            printed="increases prediction accuracy",
        )
        bag = Bagging(
            ID3(smoothing="laplace"), n_estimators=members, oob_score=True, random_state=work.seed
        )
        found = bag.fit(table).out_of_bag_
        assert found is not None  # it was asked for
        yield held(
            "P4.10",
            f"{name}: out-of-bag error against five-fold error",
            found.error,
            (1 - accuracy - 0.05, 1 - accuracy + 0.05),
            f"{{:.3f}} against {1 - accuracy:.3f}; for one tree, .632 estimates "
            f"{found.error_632:.3f} and .632+ {found.error_632_plus:.3f}",
        )


_X = np.arange(1.0, 11.0)
_Y = np.array([1, 1, 1, -1, -1, -1, -1, 1, 1, 1])


@part("P4.11", data=["iris"])
def boosting(work: Work) -> Found:
    """AdaBoost, round by round.

    Ten rows on a line: three of class +1, then four of class -1, then three of class +1. AdaBoost
    runs three rounds with rules of one cut. Errors, votes and weights are computed again by the
    slide's formulas; in each round, every possible cut is tried.
    """
    model = AdaBoost(n_estimators=3, keep_weights=True, calibrate=None).fit(_X[:, None], _Y)
    weight = np.full(10, 0.1)
    votes = np.zeros(10)
    for at, learned in enumerate(model.rounds_):
        epsilon, answers = _best_cut(weight)
        alpha = 0.5 * np.log((1 - epsilon) / epsilon)
        gap = float(np.abs(model.weights_[at] - weight).max())
        yield held(
            "P4.11",
            f"round {at + 1}: largest gap of error, vote and weights to the slide's formulas",
            max(gap, abs(epsilon - learned.epsilon), abs(alpha - learned.alpha)),
            at_most(1e-9),
            f"{{:.1g}}; ε = {learned.epsilon:.4f}, α = {learned.alpha:.4f}: {learned.words}",
            f"By hand ε = {epsilon:.4f}, α = {alpha:.4f}; weights sum to "
            f"{model.weights_[at].sum():.6f}.",
        )
        votes += alpha * answers
        weight = weight * np.where(answers == _Y, np.exp(-alpha), np.exp(alpha))
        weight /= weight.sum()
    iris = work.table("iris").select(["petal_length", "petal_width"])
    picture = draw_rounds(
        AdaBoost(n_estimators=4, keep_weights=True, calibrate=None).fit(iris), iris
    )
    yield Drawing("Rounds of AdaBoost on two columns of iris", picture.svg, picture.title)
    decided = model.predict(_X[:, None])
    yield held(
        "P4.11",
        "the weighted majority of three rules is right on all ten rows",
        ((decided == _Y) & (np.sign(votes) == decided)).sum(),
        exactly(10),
        "{:.0f} of 10",
    )


def _best_cut(weight: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
    """Return the least weighted error of a rule of one cut, by trying all, and its answers."""
    best: tuple[float, NDArray[np.int64]] | None = None
    for cut in _X[:-1] + 0.5:
        for left, right in ((1, -1), (-1, 1), (1, 1), (-1, -1)):
            answers = np.where(cut >= _X, left, right)
            error = float(weight[answers != _Y].sum())
            if best is None or error < best[0] - 1e-12:
                best = error, answers
    assert best is not None
    return best
