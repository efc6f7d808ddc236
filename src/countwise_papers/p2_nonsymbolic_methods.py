"""P2, Stefanowski: a lecture on non-symbolic methods. Naive Bayes, neighbours, perceptrons."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.linear.neural_net import NeuralNet
from countwise.models.linear.perceptron import Perceptron
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.neighbors.condensed import CondensedNeighbors
from countwise.models.neighbors.local_regression import LocalRegression
from countwise.models.neighbors.regressor import NeighborsRegressor
from countwise.tables.read import read
from countwise.tables.table import Table
from countwise_papers.findings import Finding, Outcome, Part, Work, cannot, held, worked
from countwise_papers.p0_probabilistic_voting import SETS as P0_SETS

_DAY = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "windy": ["TRUE"]}

#: Counts by class (yes, no), as the slide's table has them.
_WEATHER = {
    "outlook": {"sunny": (2, 3), "overcast": (4, 0), "rainy": (3, 2)},
    "temperature": {"hot": (2, 2), "mild": (4, 2), "cool": (3, 1)},
    "humidity": {"high": (3, 4), "normal": (6, 1)},
    "windy": {"FALSE": (6, 2), "TRUE": (3, 3)},
}


def _classes(model: Any, figures: Any) -> tuple[float, float]:
    by_name = dict(zip(model.classes_.tolist(), figures.tolist(), strict=True))
    return by_name["yes"], by_name["no"]


def weather(work: Work) -> Outcome:
    """The table of counts, then a new day, then the same day with the outlook unknown."""
    model = NaiveBayes(smoothing=0).fit(work.table("weather"))
    yes = model.classes_.tolist().index("yes")
    same = 0
    for name, levels in _WEATHER.items():
        table, known = model.counts_.table(name), model.counts_.levels(name)
        for level, printed in levels.items():
            at = list(known).index(level)
            same += (int(table[yes, at]), int(table[1 - yes, at])) == printed
    out = Outcome()
    out.add(
        held(
            "P2.1", "ten pairs of counts of the slide", same == 10, f"{same} of 10 equal", "", "10"
        )
    )
    for ledger, day, joint, shares, digits in (
        ("P2.1", _DAY, (0.0053, 0.0206), (0.205, 0.795), 3),
        ("P2.2", {**_DAY, "outlook": [None]}, (0.0238, 0.0343), (0.41, 0.59), 2),
    ):
        words = "new day" if ledger == "P2.1" else "outlook unknown"
        found = _classes(model, np.exp(model.predict_joint_log_proba(day)[0]))
        posterior = _classes(model, model.predict_proba(day)[0])
        for name, own, ours in zip(("yes", "no"), joint, found, strict=True):
            out.add(worked(ledger, f"{words}: likelihood of {name}", own, ours, 4))
        for name, own, ours in zip(("yes", "no"), shares, posterior, strict=True):
            out.add(worked(ledger, f"{words}: P({name})", own, ours, digits))
    return out


def densities(work: Work) -> Outcome:
    """Kernel densities by their formula, and what they change on data that are not normal."""
    iris = work.table("iris")
    model = NaiveBayes(numeric="kernel", prior="uniform").fit(iris)
    out = Outcome()
    rows = iris.take(np.arange(0, len(iris), 7))
    shares = model.predict_proba(rows)
    out.add(
        held(
            "P2.3",
            "posteriors under kernel densities sum to one",
            bool(np.allclose(shares.sum(axis=1), 1.0)),
            f"largest gap {np.abs(shares.sum(axis=1) - 1).max():.1g}",
        )
    )
    ahead = []
    names = ("ionosphere", "glass", "iris", "ecoli", "breast-w")
    for name, table in work.tables(names):
        trials = evaluate(
            {"normal": NaiveBayes(), "kernel": NaiveBayes(numeric="kernel")},
            table,
            folds=10,
            random_state=work.seed,
        )
        gap = trials.difference("kernel", "normal")
        ahead.append(gap.value)
        out.add(
            held(
                "P2.3",
                f"{name}: kernel against normal densities",
                gap.high > 0,
                f"accuracy {gap.value:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})",
                "" if gap.high > 0 else "Normal densities are better here.",
                value=gap.value,
            )
        )
    out.add(
        held(
            "P2.3",
            "many numeric attributes are not normal: kernels help on average",
            float(np.mean(ahead)) > 0,
            f"mean gain {np.mean(ahead):+.3f} over {len(ahead)} sets",
            value=float(np.mean(ahead)),
        )
    )
    return out


def mixed_distance(work: Work) -> Outcome:
    """Numbers over their range, words 0 or 1, missing as far as can be: by a loop."""
    table = work.table("hepatitis")
    near = Neighbors(n_neighbors=10, metric="heom").fit(table).neighbors(table.take(np.arange(30)))
    worst = 0.0
    for at in range(30):
        for place, row in enumerate(near.rows[at]):
            gap = _heom(table, at, int(row)) - near.distances[at, place]
            worst = max(worst, abs(gap))
    scaled = Neighbors(n_neighbors=5, scale="z").fit(work.table("iris"))
    iris = work.table("iris")
    X = np.stack([iris.values(column.name) for column in iris.schema.numeric], axis=1)
    z = X / X.std(axis=0, ddof=1)
    found = scaled.neighbors(iris)
    by_hand = np.linalg.norm(z[:, None, :] - z[found.rows], axis=2)
    other = float(np.abs(by_hand - found.distances).max())
    return Outcome(
        [
            held(
                "P2.4",
                "range-normalised distance with nominal and missing values (hepatitis)",
                worst < 1e-12,
                f"largest gap of 300 distances to the formula {worst:.1g}",
                value=worst,
            ),
            held(
                "P2.4",
                "z-score normalisation (iris)",
                other < 1e-12,
                f"largest gap of 750 distances to the formula {other:.1g}",
                value=other,
            ),
        ]
    )


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


def relevance(work: Work) -> Outcome:
    """Irrelevant columns drown the distance; learned weights, or leaving columns out, mend it."""
    iris = work.table("iris")
    rng = np.random.default_rng(work.seed)
    columns: dict[str, Any] = {c.name: iris.values(c.name) for c in iris.schema.numeric}
    columns |= {f"noise {at}": rng.random(len(iris)) for at in range(12)}
    noisy = read({**columns, "class": iris.labels}, target="class")
    models = {
        "all columns alike": Neighbors(n_neighbors=5),
        "weighted by information": Neighbors(n_neighbors=5, attribute_weights="information"),
        "weighted by nearest misses and hits": Neighbors(n_neighbors=5, attribute_weights="relief"),
        "the 12 least relevant left out": Neighbors(n_neighbors=5, drop_least=12),
    }
    trials = evaluate(models, noisy, folds=10, random_state=work.seed)
    plain = trials.score("accuracy", "all columns alike")
    out = Outcome()
    for name in list(models)[1:]:
        gap = trials.difference(name, "all columns alike")
        own = trials.score("accuracy", name)
        out.add(
            held(
                "P2.7",
                f"iris with 12 columns of noise: {name}",
                gap.value > 0,
                f"{own.value:.3f} against {plain.value:.3f}: {gap.value:+.3f} "
                f"({gap.low:+.3f} to {gap.high:+.3f})",
                "Weights are learned in each training fold.",
                value=own.value,
            )
        )
    return out


def numbers(work: Work) -> Outcome:
    """Weighted votes and means by their formulas; a local plane against a plain mean."""
    rng = np.random.default_rng(work.seed)
    x = np.sort(rng.uniform(0, 10, 200))
    clean = np.sin(x) + 0.3 * x
    y = clean + rng.normal(0, 0.2, 200)
    asked = np.linspace(0.2, 9.8, 97)
    truth = np.sin(asked) + 0.3 * asked
    out = Outcome()
    for weights in ("uniform", "distance"):
        model = NeighborsRegressor(n_neighbors=5, weights=weights, scale=None).fit(x[:, None], y)
        worst = 0.0
        for at, own in zip(asked, model.predict(asked[:, None]), strict=True):
            near = np.argsort(np.abs(x - at), kind="stable")[:5]
            gap = np.abs(x[near] - at)
            weight = np.ones(5) if weights == "uniform" else 1 / gap
            worst = max(worst, abs(float((weight * y[near]).sum() / weight.sum()) - own))
        words = "mean" if weights == "uniform" else "distance-weighted mean"
        out.add(
            held(
                "P2.5",
                f"a number as the {words} of five neighbours",
                worst < 1e-12,
                f"largest gap of 97 to the formula {worst:.1g}",
                value=worst,
            )
        )
    out.add(*_votes_by_distance(work))
    errors = {}
    for words, model in (
        ("mean of 15", NeighborsRegressor(n_neighbors=15, scale=None)),
        ("weighted mean of 15", NeighborsRegressor(n_neighbors=15, weights="distance", scale=None)),
        ("local plane of 15", LocalRegression(n_neighbors=15, scale=None)),
    ):
        said = model.fit(x[:, None], y).predict(asked[:, None])
        errors[words] = float(np.sqrt(np.mean((said - truth) ** 2)))
    out.add(
        held(
            "P2.6",
            "a wave with a slope: locally weighted regression errs less than the mean",
            errors["local plane of 15"] < errors["mean of 15"],
            ", ".join(f"{words} {own:.3f}" for words, own in errors.items()),
            "Root mean squared error at 97 points, 200 noisy rows.",
            value=errors["local plane of 15"],
        ),
        _plane(rng),
    )
    return out


def _plane(rng: np.random.Generator) -> Finding:
    """A plane in three dimensions is found again, also beyond the rows."""
    X = rng.normal(size=(300, 3))
    slope = np.array([2.0, -1.0, 0.5])
    model = LocalRegression(n_neighbors=40, ridge=0.0).fit(X, X @ slope + 1)
    asked = 1.5 * rng.normal(size=(50, 3))
    worst = float(np.abs(model.predict(asked) - (asked @ slope + 1)).max())
    return held(
        "P2.6",
        "a plane over three columns is found again at new points",
        worst < 1e-8,
        f"largest gap {worst:.1g}",
        value=worst,
    )


def _votes_by_distance(work: Work) -> list[Finding]:
    """Distance weights against plain votes where neighbours are many."""
    table = work.table("glass")
    models = {
        "uniform": Neighbors(n_neighbors=25),
        "1/d": Neighbors(n_neighbors=25, weights="distance"),
    }
    trials = evaluate(models, table, folds=10, random_state=work.seed)
    gap = trials.difference("1/d", "uniform")
    return [
        held(
            "P2.5",
            "glass, k = 25: weighting votes by 1/d helps",
            gap.value > 0,
            f"{gap.value:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})",
            value=gap.value,
        )
    ]


def condensed(work: Work) -> Outcome:
    """How far Hart's rule reduces 15 sets, and whether what it keeps gets all rows right."""
    out = Outcome()
    shares = []
    for name, table in work.tables(P0_SETS):
        model = CondensedNeighbors(orders=3, random_state=work.seed).fit(table)
        right = float(np.mean(model.predict(table) == table.labels))
        clashes = int(model.conflicts_) / len(table)
        shares.append(model.reduction_)
        out.add(
            Finding(
                "P2.8",
                f"{name}: reduction",
                "60 % to 80 %",
                f"{100 * model.reduction_:.0f} %, {model.n_rows_} rows kept",
                "agrees" if 0.6 <= model.reduction_ <= 0.8 else "differs",
                f"{100 * right:.1f} % of its own rows right, {model.conflicts_} in conflict; "
                f"sizes by order {sorted(model.sizes_)}.",
                value=float(model.reduction_),
            )
        )
        if right < 1 - clashes - 1e-9:
            out.add(f"{name}: the kept rows miss some rows without an equal of another class.")
    for name, why in work.missing.items():
        out.add(cannot("P2.8", name, why))
    mean = float(np.mean(shares))
    out.add(
        held(
            "P2.8",
            f"average reduction over {len(shares)} sets",
            0.6 <= mean <= 0.8,
            f"{100 * mean:.0f} % (from {100 * min(shares):.0f} % to {100 * max(shares):.0f} %)",
            "It depends on how far classes overlap: near 90 % where they are apart, below 50 % "
            "where a third of all rows is noise.",
            printed="60 % to 80 %",
            value=mean,
        )
    )
    return out


def neurons(work: Work) -> Outcome:
    """The slide's neuron on all eight inputs, one that learns it, and a net for what it cannot."""
    rows = np.array(list(itertools.product((0, 1), repeat=3)))
    wanted = (rows.sum(axis=1) >= 2).astype(int)
    given = Perceptron.of({"x1": 0.3, "x2": 0.3, "x3": 0.3}, -0.4, classes=(0, 1))
    inputs = {f"x{at + 1}": rows[:, at] for at in range(3)}
    said = given.predict(inputs)
    learned = Perceptron().fit(rows, wanted)
    again = learned.predict(rows)
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    either = corners[:, 0] ^ corners[:, 1]
    net = NeuralNet(
        hidden_layer_sizes=(8,),
        activation="tanh",
        max_iter=500,
        n_iter_no_change=500,
        learning_rate_init=0.02,
    )
    net.fit(corners, either)
    alone = Perceptron().fit(corners, either)
    weights = ", ".join(
        f"{own.column or 'constant'} {own.value:+.2f}" for own in learned.coefficients_
    )
    return Outcome(
        [
            held(
                "P2.9",
                "I(0.3 X1 + 0.3 X2 + 0.3 X3 - 0.4 > 0): 1 if at least two inputs are 1",
                bool(np.array_equal(said, wanted)),
                f"{int((said == wanted).sum())} of 8 rows",
                printed="8 of 8",
                value=float((said == wanted).mean()),
            ),
            held(
                "P2.9",
                "a perceptron that learns the eight rows",
                bool(np.array_equal(again, wanted)),
                f"{int((again == wanted).sum())} of 8; weights {weights}",
                value=float((again == wanted).mean()),
            ),
            held(
                "P2.9",
                "exclusive or: a multi-layer perceptron learns it, one neuron cannot",
                net.score(corners, either) == 1.0 and alone.score(corners, either) < 1.0,
                f"net {net.score(corners, either):.2f}, one neuron "
                f"{alone.score(corners, either):.2f}",
                value=float(net.score(corners, either)),
            ),
        ]
    )


def times(work: Work) -> Outcome:
    """Seconds of training and of predicting, apart: a lazy learner against an eager one."""
    rng = np.random.default_rng(work.seed)
    rows = 5_000 if work.quick else 50_000
    X = rng.normal(size=(rows, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    models = {"eager": NaiveBayes(), "lazy": Neighbors(n_neighbors=5)}
    trials = evaluate(models, read(X, target=y), folds=5, random_state=work.seed)
    spent = {
        name: (float(np.sum(own["fit"])), float(np.sum(own["predict"])))
        for name, own in trials.times.items()
        if name in models
    }
    lazy, eager = spent["lazy"], spent["eager"]
    words = "training {:.3f} s, predicting {:.3f} s"
    return Outcome(
        [
            held(
                "P2.10",
                f"nearest neighbours on {rows:,} rows: predicting costs more than training",
                lazy[1] > lazy[0],
                words.format(*lazy),
                printed="less time training, more predicting",
                value=lazy[1],
            ),
            held(
                "P2.10",
                "naive Bayes predicts faster than nearest neighbours",
                eager[1] < lazy[1],
                words.format(*eager),
                value=eager[1],
            ),
        ]
    )


PARTS = (
    Part(
        "p2-weather",
        ("P2.1", "P2.2"),
        "Naive Bayes on the weather data",
        "Fourteen rows, four nominal attributes, no smoothing; a missing value is left out of the "
        "counts and of the product.",
        weather,
        data=("weather",),
    ),
    Part(
        "p2-densities",
        ("P2.3",),
        "Kernel densities for numeric attributes",
        "Naive Bayes with a kernel density against a normal one, stratified ten-fold "
        "cross-validation on five sets of numbers.",
        densities,
        data=("iris", "ionosphere", "glass", "ecoli", "breast-w"),
        cost=3,
    ),
    Part(
        "p2-distance",
        ("P2.4",),
        "Distances over mixed and missing values",
        "Numbers over their range, words 0 or 1, a missing cell at distance 1, Euclidean over "
        "columns; and z-scores. Each distance again by a loop.",
        mixed_distance,
        data=("hepatitis", "iris"),
    ),
    Part(
        "p2-relevance",
        ("P2.7",),
        "Stretching axes, or leaving columns out",
        "Iris with twelve columns of uniform noise, 5-NN, stratified ten-fold cross-validation; "
        "weights learned from each training fold.",
        relevance,
        data=("iris",),
        cost=3,
    ),
    Part(
        "p2-times",
        ("P2.10",),
        "Lazy against eager",
        "50 000 rows of eight normal columns, five folds; seconds of training and predicting are "
        "kept apart by the evaluation.",
        times,
        cost=8,
    ),
    Part(
        "p2-numbers",
        ("P2.5", "P2.6"),
        "Weighted neighbours and local planes",
        "200 noisy rows of a wave with a slope, asked at 97 points, each answer again by its "
        "formula; glass with 25 neighbours by stratified ten-fold cross-validation; a plane over "
        "three columns.",
        numbers,
        data=("glass",),
        cost=2,
    ),
    Part(
        "p2-condensed",
        ("P2.8",),
        "Condensed nearest neighbour",
        "Hart's rule on all rows of the 15 sets of P0, range-normalised distances, the smallest of "
        "three orders; the reduction is the share of rows left out.",
        condensed,
        data=P0_SETS,
        cost=3,
    ),
    Part(
        "p2-neurons",
        ("P2.9",),
        "Perceptron and multi-layer perceptron",
        "The eight rows of three binary inputs; and the four corners of exclusive or, 25 times.",
        neurons,
        cost=3,
    ),
)
