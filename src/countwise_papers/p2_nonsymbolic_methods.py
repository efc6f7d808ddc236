"""P2, Stefanowski: a lecture on non-symbolic methods. Naive Bayes, neighbors, perceptrons."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from countwise.evaluation.evaluate import evaluate
from countwise.models.linear.neural_net import NeuralNet
from countwise.models.linear.perceptron import Perceptron
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.neighbors.condensed import CondensedNeighbors
from countwise.models.neighbors.local_regression import LocalRegression
from countwise.models.neighbors.regressor import NeighborsRegressor
from countwise.tables.read import read
from countwise.tables.table import Table
from countwise.tables.words import split_words
from countwise_papers.exact_models import exact_naive_bayes
from countwise_papers.findings import (
    TRUE,
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
)
from countwise_papers.p0_probabilistic_voting import SETS as P0_SETS

_DAY = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "windy": ["TRUE"]}

#: Counts by class (yes, no), as the slide's table has them.
_WEATHER = {
    "outlook": {"sunny": (2, 3), "overcast": (4, 0), "rainy": (3, 2)},
    "temperature": {"hot": (2, 2), "mild": (4, 2), "cool": (3, 1)},
    "humidity": {"high": (3, 4), "normal": (6, 1)},
    "windy": {"FALSE": (6, 2), "TRUE": (3, 3)},
}


@part("P2.1", "P2.2", data=["weather"])
def weather(work: Work) -> Found:
    """Naive Bayes on the weather data.

    Fourteen rows with four nominal attributes, without smoothing. A missing value is left out of
    the counts and of the product.
    """
    model = exact_naive_bayes(smoothing=0).fit(work.table("weather"))
    classes = model.classes_.tolist()
    order = [classes.index("yes"), classes.index("no")]
    same = 0
    for name, levels in _WEATHER.items():
        table, known = model.counts_.table(name), model.counts_.levels(name)
        for level, pair in levels.items():
            same += tuple(table[order, list(known).index(level)]) == pair
    text = "{:.0f} of 10 equal"
    yield held("P2.1", "ten pairs of counts of the slide", same, exactly(10), text, printed="10")
    for ledger, words, day, joint, normalized in (
        ("P2.1", "new day", _DAY, ("0.0053", "0.0206"), ("0.205", "0.795")),
        (
            "P2.2",
            "outlook unknown",
            {**_DAY, "outlook": [None]},
            ("0.0238", "0.0343"),
            ("0.41", "0.59"),
        ),
    ):
        likelihood = np.exp(model.predict_joint_log_proba(day)[0])[order]
        posterior = model.predict_proba(day)[0][order]
        for name, printed, ours in zip(("yes", "no"), joint, likelihood, strict=True):
            yield figure(ledger, f"{words}: likelihood of {name}", printed, ours)
        for name, printed, ours in zip(("yes", "no"), normalized, posterior, strict=True):
            yield figure(ledger, f"{words}: P({name})", printed, ours)


@part("P2.3", data=["iris", "ionosphere", "glass", "ecoli", "breast-w"])
def densities(work: Work) -> Found:
    """Kernel densities for numeric attributes.

    Naive Bayes with kernel densities is compared with naive Bayes with normal densities, by
    stratified ten-fold cross-validation on five sets with numeric columns.
    """
    iris = work.table("iris")
    model = exact_naive_bayes(numeric="kernel", prior="uniform").fit(iris)
    totals = model.predict_proba(iris.take(np.arange(0, len(iris), 7))).sum(axis=1)
    yield same_figures("P2.3", "posteriors under kernel densities sum to one", totals, 1, 1e-8)
    gaps = []
    for name, table in work.tables(("ionosphere", "glass", "iris", "ecoli", "breast-w")):
        trials = evaluate(
            {"normal": exact_naive_bayes(), "kernel": exact_naive_bayes(numeric="kernel")},
            table,
            folds=10,
            random_state=work.seed,
        )
        gap = trials.difference("kernel", "normal")
        gaps.append(gap.value)
        what = f"{name}: kernel against normal densities, gain in accuracy"
        yield figure("P2.3", what, "", gap, text=gain_text(gap))
    yield held(
        "P2.3",
        "many numeric attributes are not normal: kernels help on average",
        np.mean(gaps),
        above(0),
        f"mean gain {{:+.3f}} over {len(gaps)} sets",
        printed="kernel density estimators",
    )


@part("P2.4", data=["hepatitis", "iris"])
def distance(work: Work) -> Found:
    """Distances over mixed and missing values.

    In the first distance, numbers are divided by their range, nominal values differ by 0 or 1, a
    missing cell has distance 1, and the columns are combined as in the Euclidean distance. The
    second distance uses z-scores. Each distance is computed again by a loop.
    """
    table = work.table("hepatitis")
    near = Neighbors(n_neighbors=10, metric="heom").fit(table).neighbors(table.take(np.arange(30)))
    by_hand = np.array([[_heom(table, at, int(row)) for row in near.rows[at]] for at in range(30)])
    what = "range-normalized distance with nominal and missing values (hepatitis)"
    text = "largest gap between {} distances and the formula: {{:.1g}}"
    yield same_figures("P2.4", what, by_hand, near.distances, 1e-12, text.format(300))
    iris = work.table("iris")
    near = Neighbors(n_neighbors=5, scale="z").fit(iris).neighbors(iris)
    X = np.stack([iris.values(column.name) for column in iris.schema.numeric], axis=1)
    z = X / X.std(axis=0, ddof=1)
    by_hand = np.linalg.norm(z[:, None, :] - z[near.rows], axis=2)
    what = "z-score normalization (iris)"
    yield same_figures("P2.4", what, by_hand, near.distances, 1e-12, text.format(750))


def _heom(table: Table, one: int, two: int) -> float:
    total = 0.0
    for column in table.schema.attributes:
        if column.kind == "numeric":
            values = table.values(column.name)
            span = np.nanmax(values) - np.nanmin(values)
            gap = abs(values[one] - values[two]) / span if span > 0 else 0.0
            total += 1.0 if np.isnan(values[[one, two]]).any() else gap**2
        else:
            texts = table.decode(column.name)[[one, two]].tolist()
            total += float(None in texts or texts[0] != texts[1])
    return float(np.sqrt(total))


@part("P2.7", data=["iris"])
def relevance(work: Work) -> Found:
    """Stretching axes, or leaving columns out.

    Twelve columns of uniform noise are added to iris. 5-NN is tested by stratified ten-fold
    cross-validation, with weights learned from each training fold.
    """
    iris = work.table("iris")
    rng = np.random.default_rng(work.seed)
    columns: dict[str, Any] = {c.name: iris.values(c.name) for c in iris.schema.numeric}
    columns |= {f"noise {number}": rng.random(len(iris)) for number in range(12)}
    noisy = read({**columns, "class": iris.labels}, target="class")
    models = {
        "all columns alike": Neighbors(n_neighbors=5, smoothing=0),
        "weighted by information": Neighbors(
            n_neighbors=5, attribute_weights="information", smoothing=0
        ),
        "weighted by ReliefF": Neighbors(n_neighbors=5, attribute_weights="relief", smoothing=0),
        "the 12 least relevant left out": Neighbors(n_neighbors=5, drop_least=12, smoothing=0),
    }
    trials = evaluate(models, noisy, folds=10, random_state=work.seed)
    plain = trials.score("accuracy", "all columns alike").value
    for name in list(models)[1:]:
        gap = trials.difference(name, "all columns alike")
        score = trials.score("accuracy", name).value
        yield held(
            "P2.7",
            f"iris with 12 columns of noise: {name}",
            gap,
            above(0),
            f"{score:.3f} against {plain:.3f}: {gain_text(gap)}",
            printed="overcomes it",
        )


@part("P2.5", "P2.6", data=["glass"])
def numbers(work: Work) -> Found:
    """Weighted neighbors and local planes.

    A sine wave with a slope is learned from 200 noisy rows and predicted at 97 points; each answer
    is computed again by its formula. Glass is classified by 25 neighbors, in stratified ten-fold
    cross-validation. A plane over three columns is predicted at new points.
    """
    rng = np.random.default_rng(work.seed)
    x = np.sort(rng.uniform(0, 10, 200))
    y = np.sin(x) + 0.3 * x + rng.normal(0, 0.2, 200)
    queries = np.linspace(0.2, 9.8, 97)
    truth = np.sin(queries) + 0.3 * queries
    for weights, words in (("uniform", "mean"), ("distance", "distance-weighted mean")):
        model = NeighborsRegressor(n_neighbors=5, weights=weights, scale=None).fit(x[:, None], y)
        by_hand = []
        for query in queries:
            gap = np.abs(x - query)
            near = np.argsort(gap, kind="stable")[:5]
            by_hand.append(np.average(y[near], weights=None if words == "mean" else 1 / gap[near]))
        what = f"a number as the {words} of five neighbors"
        text = "largest gap between 97 answers and the formula: {:.1g}"
        yield same_figures("P2.5", what, by_hand, model.predict(queries[:, None]), 1e-12, text)
    models = {
        "uniform": Neighbors(n_neighbors=25, smoothing=0),
        "1/d": Neighbors(n_neighbors=25, weights="distance", smoothing=0),
    }
    trials = evaluate(models, work.table("glass"), folds=10, random_state=work.seed)
    gain = trials.difference("1/d", "uniform")
    what = "glass, k = 25: weighting votes by 1/d helps"
    yield held("P2.5", what, gain, above(0), gain_text(gain))
    errors = {}
    for words, regressor in (
        ("mean of 15", NeighborsRegressor(n_neighbors=15, scale=None)),
        ("weighted mean of 15", NeighborsRegressor(n_neighbors=15, weights="distance", scale=None)),
        ("local plane of 15", LocalRegression(n_neighbors=15, scale=None)),
    ):
        predicted = regressor.fit(x[:, None], y).predict(queries[:, None])
        errors[words] = float(np.sqrt(np.mean((predicted - truth) ** 2)))
    yield held(
        "P2.6",
        "a wave with a slope: locally weighted regression has a smaller error than the mean",
        errors["local plane of 15"],
        at_most(errors["mean of 15"]),
        ", ".join(f"{words}: {error:.3f}" for words, error in errors.items()),
        "The error is the root mean squared error at the 97 points.",
    )
    X = rng.normal(size=(300, 3))
    slope = np.array([2.0, -1.0, 0.5])
    plane = LocalRegression(n_neighbors=40, ridge=0.0).fit(X, X @ slope + 1)
    beyond = 1.5 * rng.normal(size=(50, 3))
    what = "a plane over three columns is predicted exactly at new points"
    yield same_figures("P2.6", what, plane.predict(beyond), beyond @ slope + 1, 1e-8)


@part("P2.8", data=P0_SETS)
def condensed(work: Work) -> Found:
    """Condensed nearest neighbor.

    Hart's rule is applied to all rows of the 15 sets of P0, with range-normalized distances. Three
    orders of the rows are tried, and the smallest set is kept. The reduction is the fraction of
    rows left out. The lecture states it on average; results for single sets are our additions.
    """
    reductions = []
    for name, table in work.tables(P0_SETS):
        model = CondensedNeighbors(orders=3, random_state=work.seed, smoothing=0).fit(table)
        right = float(np.mean(model.predict(table) == table.labels))
        reductions.append(model.reduction_)
        yield figure(
            "P2.8",
            f"{name}: reduction",
            "",
            model.reduction_,
            None,
            f"{100 * right:.1f} % of the training rows are classified correctly; rows in conflict: "
            f"{model.conflicts_}; sizes for the three orders: {sorted(model.sizes_)}.",
            text=f"{{:.0%}}, {model.n_rows_} rows kept",
        )
        if right < 1 - int(model.conflicts_) / len(table) - 1e-9:
            yield f"{name}: the kept rows misclassify some rows that equal no row of another class."
    yield from work.not_run("P2.8")
    yield held(
        "P2.8",
        f"average reduction over {len(reductions)} sets",
        np.mean(reductions),
        (0.6, 0.8),
        f"{{:.0%}} (from {min(reductions):.0%} to {max(reductions):.0%})",
        "It depends on how much the classes overlap: it is near 90 % if they are well separated, "
        "and below 50 % if a third of the rows is noise.",
        printed="60% to 80%",
    )


@part("P2.9")
def neurons(work: Work) -> Found:
    """Perceptron and multi-layer perceptron.

    A perceptron with given weights, and one that learns its weights, classify the eight rows of
    three binary inputs. The exclusive or is learned from its four corners, each repeated 25 times.
    """
    rows = np.array(list(itertools.product((0, 1), repeat=3)))
    truth = (rows.sum(axis=1) >= 2).astype(int)
    given = Perceptron.of({"x1": 0.3, "x2": 0.3, "x3": 0.3}, -0.4, classes=(0, 1))
    right = given.predict({f"x{at + 1}": rows[:, at] for at in range(3)}) == truth
    yield held(
        "P2.9",
        "I(0.3 X1 + 0.3 X2 + 0.3 X3 - 0.4 > 0): 1 if at least two inputs are 1",
        right.mean(),
        exactly(1),
        f"{int(right.sum())} of 8 rows",
        printed="8 of 8",
    )
    learned = Perceptron().fit(rows, truth)
    right = learned.predict(rows) == truth
    weights = ", ".join(f"{c.column or 'constant'} {c.value:+.2f}" for c in learned.coefficients_)
    yield held(
        "P2.9",
        "a perceptron that learns the eight rows",
        right.mean(),
        exactly(1),
        f"{int(right.sum())} of 8; weights {weights}",
    )
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    either = corners[:, 0] ^ corners[:, 1]
    net = NeuralNet(
        (8,), activation="tanh", max_iter=500, n_iter_no_change=500, learning_rate_init=0.02
    )
    score = net.fit(corners, either).score(corners, either)
    alone = Perceptron().fit(corners, either).score(corners, either)
    yield held(
        "P2.9",
        "exclusive or: a multi-layer perceptron learns it, one neuron cannot",
        score == 1.0 and alone < 1.0,
        TRUE,
        f"net {score:.2f}, one neuron {alone:.2f}",
    )


@part("P2.10", cost=3)
def times(work: Work) -> Found:
    """Lazy and eager learning.

    50 000 rows of eight normal columns, five folds. The evaluation measures the times of training
    and predicting separately.
    """
    rng = np.random.default_rng(work.seed)
    rows = 5_000 if work.quick else 50_000
    X = rng.normal(size=(rows, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    models = {"eager": exact_naive_bayes(), "lazy": Neighbors(n_neighbors=5, smoothing=0)}
    trials = evaluate(models, read(X, target=y), folds=5, random_state=work.seed)
    lazy, eager = (
        [float(np.sum(trials.times[name][step])) for step in ("fit", "predict")]
        for name in ("lazy", "eager")
    )
    yield held(
        "P2.10",
        f"nearest neighbors on {rows:,} rows: predicting costs more than training",
        lazy[1],
        above(lazy[0]),
        f"training {lazy[0]:.3f} s, predicting {{:.3f}} s",
        printed="less time training but more time predicting",
    )
    yield held(
        "P2.10",
        "naive Bayes predicts faster than nearest neighbors",
        eager[1],
        at_most(lazy[1]),
        f"training {eager[0]:.3f} s, predicting {{:.3f}} s",
    )


@part("P2.12", data=["help-desk"], cost=3)
def text(work: Work) -> Found:
    """Text classification by counts of words.

    Messages to a help desk, made up by a seeded generator. On the rows that have a message, ours is
    compared with scikit-learn's CountVectorizer and naive Bayes on the same words. On all columns
    it is compared with the most frequent class, by stratified ten-fold cross-validation.
    """
    desk = work.table("help-desk")
    rows = desk.take(~desk.missing("message")).select(["message"])
    words = CountVectorizer(tokenizer=split_words, lowercase=False, token_pattern=None)
    counted = words.fit_transform(rows.decode("message"))
    models = {"multinomial": MultinomialNB(), "bernoulli": BernoulliNB()}
    for name, peer in models.items():
        yield same_figures(
            "P2.12",
            f"{name}: posteriors of ours and of scikit-learn's {type(peer).__name__}",
            exact_naive_bayes(text=name).fit(rows).predict_proba(rows),
            peer.fit(counted, rows.labels).predict_proba(counted),
            1e-9,
        )
    ours = {name: exact_naive_bayes(text=name) for name in models}
    trials = evaluate(ours, desk, folds=10, random_state=work.seed)
    for name in models:
        gap = trials.difference(name, "majority")
        yield held(
            "P2.12",
            f"{name} against the most frequent class, gain in accuracy",
            gap.low,
            above(0),
            gain_text(gap),
            printed="quite effective in some problems, e.g. text classification",
        )
