"""P4, Kuo: an introductory lecture. Worked figures of naive Bayes, ensembles and boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from countwise.counts.smoothing import Laplace, MEstimate
from countwise.evaluation.bayes_error import bayes_error, bayes_error_bound
from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.ensembles.adaboost import AdaBoost
from countwise.models.ensembles.bagging import Bagging
from countwise.models.ensembles.vote import ensemble_error
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.tree.id3 import ID3
from countwise.reports.regions import regions
from countwise.tables.read import read
from countwise_papers.findings import Finding, Outcome, Part, Shown, Work, held, worked
from countwise_papers.lecture_figures import draw_bayes_error, draw_rounds, draw_sigmoids


def _by_class(model: Any, figures: NDArray[np.float64]) -> dict[str, float]:
    return {str(name): float(own) for name, own in zip(model.classes_, figures, strict=True)}


def meningitis(work: Work) -> Outcome:
    """Fit naive Bayes to the counts of a million patients, and ask about a stiff neck."""
    sick, stiff_sick, stiff, everybody = 20, 10, 50_000, 1_000_000
    rows = {"stiff neck": ["yes", "no", "yes", "no"], "class": ["m", "m", "well", "well"]}
    weight = [
        stiff_sick,
        sick - stiff_sick,
        stiff - stiff_sick,
        everybody - sick - stiff + stiff_sick,
    ]
    model = NaiveBayes(smoothing=0).fit(read(rows, target="class"), sample_weight=weight)
    share = _by_class(model, model.predict_proba({"stiff neck": ["yes"]})[0])["m"]
    return Outcome([worked("P4.2", "P(meningitis | stiff neck)", 0.0002, share, 4)])


def tax(work: Work) -> Outcome:
    """Mixed attributes: shares for refund and marital status, a normal density for income."""
    table = work.table("tax")
    model = NaiveBayes(smoothing=0).fit(table)
    income = table.schema.numeric[0].name
    no = model.classes_.tolist().index("No")
    moments = model.counts_.moments[income]
    row = {"Refund": ["No"], "Marital Status": ["Married"], income: [120]}
    why = model.explain(row)
    density = np.exp(why.parts[0, why.attributes.index(income)])
    given = np.exp(why.parts[0].sum(axis=0))
    rounded = 16 / 49 * round(float(density[no]), 4)
    out = Outcome()
    out.add(
        worked("P4.3", "mean income, class No", 110, float(moments.mean[no]), 0),
        worked("P4.3", "sample variance of income, class No", 2975, moments.variance()[no], 0),
        worked("P4.4", "normal density of income 120 given No", 0.0072, float(density[no]), 4),
        worked("P4.4", "normal density of income 120 given Yes", 1.2e-9, density[1 - no], 10),
        Finding(
            "P4.3",
            "P(x | No)",
            "0.0024",
            f"{given[no]:.6f}",
            "printed figure is wrong",
            "The slide multiplies the rounded density: 4/7 · 4/7 · 0.0072 = "
            f"{rounded:.6f}, which rounds to 0.0024; the exact product is {given[no]:.6f}, which "
            "rounds to 0.0023. The decision is the same.",
            value=float(given[no]),
        ),
        worked("P4.3", "P(x | Yes)", 0, float(given[1 - no]), 4),
        held("P4.3", "decision", model.predict(row)[0] == "No", "No", printed="No"),
    )
    cut = NaiveBayes(numeric="cuts", cuts="two-way").fit(table)
    point = float(cut.cut_points_[income][0])
    order = np.sort(table.values(income))
    out.add(
        held(
            "P4.4",
            "two-way split of income",
            bool(order[0] < point < order[-1]) and len(cut.cut_points_[income]) == 1,
            f"one boundary, at {point:g}",
            "The slide names the method and prints no boundary; ours has the most information.",
            value=point,
        )
    )
    return out


def vertebrates(work: Work) -> Outcome:
    """The table of twenty animals, without smoothing."""
    model = NaiveBayes(smoothing=0).fit(work.table("vertebrates"))
    new = {"Give Birth": ["yes"], "Can Fly": ["no"], "Live in Water": ["yes"], "Have Legs": ["no"]}
    given = _by_class(model, np.exp(model.explain(new).parts[0].sum(axis=0)))
    joint = _by_class(model, np.exp(model.predict_joint_log_proba(new)[0]))
    return Outcome(
        [
            worked("P4.5", "P(x | mammals)", 0.06, given["mammals"], 2),
            worked("P4.5", "P(x | non-mammals)", 0.0042, given["non-mammals"], 4),
            worked("P4.5", "P(x | mammals) P(mammals)", 0.021, joint["mammals"], 3),
            worked("P4.5", "P(x | non-mammals) P(non-mammals)", 0.0027, joint["non-mammals"], 4),
            held(
                "P4.5",
                "decision",
                model.predict(new)[0] == "mammals",
                "mammals",
                printed="mammals",
            ),
        ]
    )


def zero_probabilities(work: Work) -> Outcome:
    """The two corrections of the slide, by hand and by the model, on the tax table."""
    table = work.table("tax")
    model = NaiveBayes(smoothing=0).fit(table)
    name = table.schema.nominal[0].name
    counts = model.counts_.table(name)[:2, : len(model.counts_.levels(name))]
    by_slide = (counts + 1) / (counts.sum(axis=1, keepdims=True) + 2)
    usual = (counts + 1) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
    m, p = 3.0, 1 / counts.shape[1]
    estimate = (counts + m * p) / (counts.sum(axis=1, keepdims=True) + m)
    out = Outcome()
    for words, smoothing, hand in (
        ("Laplace as the slide has it, + number of classes", Laplace(1, by="classes"), by_slide),
        ("Laplace as usual, + number of values", Laplace(1), usual),
        ("m-estimate, m = 3", MEstimate(m), estimate),
    ):
        gap = float(np.abs(smoothing.shares(counts) - hand).max())
        out.add(held("P4.6", words, gap < 1e-12, f"largest gap to the formula {gap:.1g}"))
    row = {"Refund": ["No"], "Marital Status": ["Married"], table.schema.numeric[0].name: [120]}
    smoothed = NaiveBayes(smoothing=Laplace(1, by="classes")).fit(table)
    share = _by_class(smoothed, smoothed.predict_proba(row)[0])["Yes"]
    out.add(
        held(
            "P4.6",
            "the tax row's P(Yes) is no longer zero",
            share > 0,
            f"{share:.2g}",
            value=share,
        )
    )
    return out


def neighbours(work: Work) -> Outcome:
    """Votes of weight 1/d², by hand, and a row that lies on a training row."""
    iris = work.table("iris")
    train = iris.take(np.arange(0, 150, 2))
    asked = iris.take(np.arange(1, 150, 2))
    model = Neighbors(n_neighbors=7, weights="squared", scale=None).fit(train)
    near = model.neighbors(asked, k=len(train))
    shares = model.predict_proba(asked)
    worst = 0.0
    for at in range(len(asked)):
        gap = near.distances[at]
        # Rows as far as the seventh share the places that are left.
        inside, edge = gap < gap[6] * (1 - 1e-12), np.isclose(gap, gap[6], rtol=1e-12, atol=0)
        place = inside + edge * (7 - inside.sum()) / edge.sum()
        with np.errstate(divide="ignore"):
            weight = (gap == 0) * place if (gap == 0).any() else place / gap**2
        votes = [float(weight[near.labels[at] == name].sum()) for name in model.classes_]
        by_hand = np.asarray(votes) / sum(votes)
        worst = max(worst, float(np.abs(by_hand - shares[at]).max()))
    same = model.predict_proba(train).max(axis=1)
    trials = evaluate(
        _by_k(),
        iris,
        folds=10,
        random_state=work.seed,
    )
    best = max(_by_k(), key=lambda name: trials.score("accuracy", name).value)
    plain, scaled = _scaling(iris, work.seed)
    voronoi = regions(
        Neighbors(n_neighbors=1, scale=None), iris.select(["petal_length", "petal_width"])
    )
    return Outcome(
        [
            held(
                "P4.1",
                "vote shares under 1/d², iris, k = 7",
                worst < 1e-12,
                f"largest gap to the formula {worst:.1g}",
                value=worst,
            ),
            held(
                "P4.1",
                "d = 0: a row is answered by the training rows it lies on",
                bool((same > 0.49).all()),
                f"smallest winning share {same.min():.2f}",
                value=float(same.min()),
            ),
            held(
                "P4.1",
                "choice of k by cross-validation, iris",
                True,
                f"best is {best} with {trials.score('accuracy', best).value:.3f}",
                ", ".join(f"{n} {trials.score('accuracy', n).value:.3f}" for n in _by_k()),
                value=trials.score("accuracy", best).value,
            ),
            held(
                "P4.1",
                "one column in other units: scaling keeps the accuracy",
                scaled > plain,
                f"{scaled:.3f} scaled, {plain:.3f} as it came",
                "Iris with sepal width in thousandths.",
                value=scaled,
            ),
        ],
        [Shown("One nearest neighbour and Voronoi's cells", voronoi.svg, voronoi.title)],
    )


def _by_k() -> dict[str, Neighbors]:
    return {
        f"k = {k}": Neighbors(n_neighbors=k, weights="squared") for k in (1, 3, 5, 9, 15, 25, 45)
    }


def _scaling(iris: Any, seed: int) -> tuple[float, float]:
    """Accuracy without and with scaling when one column is measured in other units."""
    columns = {c.name: iris.values(c.name).copy() for c in iris.schema.numeric}
    name = list(columns)[1]
    columns[name] *= 1000
    table = read({**columns, "class": iris.labels}, target="class")
    models = {"plain": Neighbors(scale=None), "scaled": Neighbors(scale="range")}
    trials = evaluate(models, table, folds=10, random_state=seed)
    plain, scaled = (trials.score("accuracy", own).value for own in ("plain", "scaled"))
    return plain, scaled


def least_error(work: Work) -> Outcome:
    """Two normal densities with even priors: the shaded area, by integration and by draws."""
    apart, spread = 2.0, 1.0
    pair = [norm(0.0, spread), norm(apart, spread)]
    found = bayes_error(pair, priors=[0.5, 0.5])
    exact = float(norm.cdf(-apart / (2 * spread)))
    rng = np.random.default_rng(work.seed)
    truth = rng.integers(0, 2, 400_000)
    x = rng.normal(truth * apart, spread)
    drawn = float(np.mean((x > apart / 2) != truth))
    sample = read({"x": x[:4000], "class": truth[:4000]}, target="class")
    bound = bayes_error_bound(sample)
    picture = draw_bayes_error(pair, priors=[0.5, 0.5])
    out = Outcome(
        [
            held(
                "P4.7",
                "two normals, two deviations apart: least error against Φ(-1)",
                abs(found.error - exact) < 1e-9,
                f"{found.error:.6f}",
                f"Φ(-1) = {exact:.6f}; the boundary lies midway.",
                value=found.error,
            ),
            held(
                "P4.7",
                "the same by 400 000 draws",
                abs(drawn - exact) < 0.003,
                f"{drawn:.4f}",
                value=drawn,
            ),
            held(
                "P4.7",
                "bounds by neighbours on 4 000 rows hold the least error",
                bound.low <= exact <= bound.high,
                f"{bound.low:.3f} to {bound.high:.3f}",
                value=bound.error,
            ),
        ]
    )
    out.add(Shown("The minimum possible error", picture.svg, picture.title))
    return out


def logistic(work: Work) -> Outcome:
    """Gaussian naive Bayes with shared variances is a logistic regression: w₀, wᵢ of the slide."""
    iris = work.table("iris")
    two = iris.take(np.flatnonzero(iris.labels != "Iris-setosa"))
    names = [column.name for column in two.schema.numeric]
    X = np.stack([two.values(name) for name in names], axis=1)
    y = (two.labels == "Iris-virginica").astype(int)
    model = NaiveBayes(variance="shared").fit(X, y)
    closed = model.to_logistic()
    moments = [model.counts_.moments[name] for name in model.counts_.moments]
    mean = np.stack([own.mean[:2] for own in moments], axis=1)
    inside = np.stack([X[y == at] - X[y == at].mean(axis=0) for at in (0, 1)])
    found = np.asarray([own.value for own in closed.coefficients])
    shares = model.predict_proba(X)[:, 1]
    by_weights = 1 / (1 + np.exp(-(found[0] + X @ found[1:])))
    gap = float(np.abs(by_weights - shares).max())
    # The slide's weights are those of P(0 | x), so ours have the other sign.
    slope = (mean[1] - mean[0]) / _shared(inside, len(X))
    other = float(np.abs(slope - found[1:]).max())
    picture = draw_sigmoids(two, names[2])
    out = Outcome(
        [
            held(
                "P4.8",
                "posterior of naive Bayes equals the sigmoid of its closed-form weights",
                gap < 1e-10,
                f"largest gap of {len(X)} rows {gap:.1g}",
                value=gap,
            ),
            held(
                "P4.8",
                "wᵢ = (μ₁ - μ₀) / σ² by hand",
                other < 1e-8,
                f"largest gap {other:.1g}; " + ", ".join(f"{own:+.3f}" for own in found[1:]),
                "The slide writes the same with the signs of P(y = 0 | x).",
                value=other,
            ),
        ]
    )
    out.add(Shown("Generative and discriminative sigmoid", picture.svg, picture.title))
    return out


def _shared(inside: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """The variance around the class means, pooled over the classes."""
    return np.asarray((inside**2).sum(axis=(0, 1)) / (rows - len(inside)))


def independent_members(work: Work) -> Outcome:
    """The slide's sum, by the formula and by letting 25 coins err."""
    rng = np.random.default_rng(work.seed)
    wrong = rng.random((200_000, 25)) < 0.35
    share = float((wrong.sum(axis=1) >= 13).mean())
    exact = ensemble_error(25, 0.35)
    return Outcome(
        [
            worked("P4.9", "25 members, each wrong in 0.35 of all cases", 0.06, exact, 2),
            held(
                "P4.9",
                "the same by 200 000 seeded draws",
                abs(share - exact) < 0.003,
                f"{share:.4f} against {exact:.4f}",
                value=share,
            ),
        ]
    )


def bagging(work: Work) -> Outcome:
    """How many rows a bootstrap holds, and what bagging does to a model that varies."""
    rng = np.random.default_rng(work.seed)
    held_rows = [len(np.unique(rng.integers(0, 2000, 2000))) / 2000 for _ in range(200)]
    share = float(np.mean(held_rows))
    formula = 1 - (1 - 1 / 2000) ** 2000
    out = Outcome()
    out.add(
        worked(
            "P4.10", "share of rows in a bootstrap, 1 - (1 - 1/N)^N, N = 2000", 0.632, formula, 3
        ),
        worked("P4.10", "the same in 200 bootstraps", 0.632, share, 3 if not work.quick else 2),
    )
    iris = work.table("iris").select(["petal_length", "petal_width"])
    for words, own in (("One unpruned tree", ID3()), ("Fifty bagged trees", Bagging(ID3()))):
        picture = regions(own, iris)
        out.add(Shown(words, picture.svg, picture.title))
    for name, table in work.tables(("credit-g", "ionosphere", "glass")):
        members = 10 if work.quick else 50
        trials = evaluate(
            {"tree": ID3(), "bagged": Bagging(ID3(), n_estimators=members, random_state=work.seed)},
            table,
            folds=5,
            random_state=work.seed,
        )
        gap = trials.difference("bagged", "tree")
        out.add(
            held(
                "P4.10",
                f"{name}: bagging increases the accuracy of an unpruned tree",
                gap.value > 0,
                f"{gap.value:+.3f} ({gap.low:+.3f} to {gap.high:+.3f}), "
                f"{trials.score('accuracy', 'bagged').value:.3f} with {members} members",
                value=gap.value,
            )
        )
        model = Bagging(ID3(), n_estimators=members, oob_score=True, random_state=work.seed).fit(
            table
        )
        error = 1 - trials.score("accuracy", "bagged").value
        found = model.out_of_bag_
        out.add(
            held(
                "P4.10",
                f"{name}: out-of-bag error against five-fold error",
                abs(found.error - error) < 0.05,
                f"{found.error:.3f} against {error:.3f}; .632 {found.error_632:.3f}, "
                f".632+ {found.error_632_plus:.3f} of one tree",
                value=found.error,
            )
        )
    return out


_X = np.arange(1.0, 11.0)
_Y = np.array([1, 1, 1, -1, -1, -1, -1, 1, 1, 1])


def boosting(work: Work) -> Outcome:
    """Ten rows on a line, as the slide's picture has them; every round again by trying all cuts."""
    model = AdaBoost(n_estimators=3, keep_weights=True).fit(_X[:, None], _Y)
    out = Outcome()
    weight = np.full(10, 0.1)
    votes = np.zeros(10)
    for at, own in enumerate(model.rounds_):
        epsilon, said = _best_cut(weight)
        alpha = 0.5 * np.log((1 - epsilon) / epsilon)
        gap = float(np.abs(model.weights_[at] - weight).max())
        ours = f"ε = {own.epsilon:.4f}, α = {own.alpha:.4f}: {own.words}"
        out.add(
            held(
                "P4.11",
                f"round {at + 1}: error, vote and weights by the slide's formulas",
                abs(epsilon - own.epsilon) < 1e-12 and abs(alpha - own.alpha) < 1e-9 and gap < 1e-9,
                ours,
                f"By hand ε = {epsilon:.4f}, α = {alpha:.4f}; weights sum to "
                f"{model.weights_[at].sum():.6f}, largest gap {gap:.1g}.",
                value=float(own.alpha),
            )
        )
        votes += alpha * said
        weight = weight * np.where(said == _Y, np.exp(-alpha), np.exp(alpha))
        weight /= weight.sum()
    out.add(_rounds(work))
    decided = model.predict(_X[:, None])
    out.add(
        held(
            "P4.11",
            "the weighted majority of three rules is right on all ten rows",
            bool(np.array_equal(np.sign(votes), decided) and np.array_equal(decided, _Y)),
            f"{int((decided == _Y).sum())} of 10",
            value=float((decided == _Y).mean()),
        )
    )
    return out


def _rounds(work: Work) -> Shown:
    """The picture of rounds, on two columns of iris."""
    iris = work.table("iris").select(["petal_length", "petal_width"])
    model = AdaBoost(n_estimators=4, keep_weights=True).fit(iris)
    picture = draw_rounds(model, iris)
    return Shown("Rounds of AdaBoost on two columns of iris", picture.svg, picture.title)


def _best_cut(weight: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
    """The rule of one cut with the least weighted error, by trying all of them."""
    best: tuple[float, NDArray[np.int64]] | None = None
    for cut in _X[:-1] + 0.5:
        for left, right in ((1, -1), (-1, 1), (1, 1), (-1, -1)):
            said = np.where(cut >= _X, left, right)
            error = float(weight[said != _Y].sum())
            if best is None or error < best[0] - 1e-12:
                best = error, said
    assert best is not None
    return best


PARTS = (
    Part(
        "p4-meningitis",
        ("P4.2",),
        "Bayes' theorem on three given shares",
        "A million patients: 1 in 50 000 has meningitis, half of them a stiff neck; 1 in 20 of all "
        "has one. Naive Bayes without smoothing, from those counts as weights.",
        meningitis,
    ),
    Part(
        "p4-tax",
        ("P4.3", "P4.4"),
        "Naive Bayes on the tax table",
        "Ten rows; refund and marital status by shares, income by a normal density with the sample "
        "variance; the row (No, Married, 120). No smoothing.",
        tax,
        data=("tax",),
    ),
    Part(
        "p4-vertebrates",
        ("P4.5",),
        "Naive Bayes on the vertebrates",
        "Twenty rows, four nominal attributes, no smoothing; the row (yes, no, yes, no).",
        vertebrates,
        data=("vertebrates",),
    ),
    Part(
        "p4-zero",
        ("P4.6",),
        "Laplace and m-estimate",
        "Shares of the tax table's first attribute by the formulas, against the model's.",
        zero_probabilities,
        data=("tax",),
    ),
    Part(
        "p4-neighbours",
        ("P4.1",),
        "Nearest neighbours weighted by 1/d²",
        "Half of iris asked about the other half; the vote shares again by the formula. The choice "
        "of k, and one column in other units, by stratified ten-fold cross-validation.",
        neighbours,
        data=("iris",),
        cost=2,
    ),
    Part(
        "p4-independent",
        ("P4.9",),
        "The error of 25 independent members",
        "The binomial sum of the slide, and 200 000 seeded draws.",
        independent_members,
    ),
    Part(
        "p4-bagging",
        ("P4.10",),
        "Bagging",
        "Two hundred bootstraps of 2 000 rows; an unpruned ID3 alone and as 50 bagged members, "
        "stratified five-fold cross-validation on three sets; out-of-bag errors of the whole set.",
        bagging,
        data=("credit-g", "ionosphere", "glass", "iris"),
        cost=25,
    ),
    Part(
        "p4-boosting",
        ("P4.11",),
        "AdaBoost, round by round",
        "Ten rows on a line, three of class +1 at the left and three at the right, four of -1 "
        "between; three rounds of rules with one cut. Errors, votes and weights again by the "
        "slide's formulas, trying every cut.",
        boosting,
        data=("iris",),
    ),
    Part(
        "p4-least-error",
        ("P4.7",),
        "The minimum possible error",
        "Two normal densities, two deviations apart, even priors: by integration, by draws, and "
        "bounded by the nearest neighbours of 4 000 rows.",
        least_error,
    ),
    Part(
        "p4-logistic",
        ("P4.8",),
        "Logistic weights from naive Bayes",
        "Two iris species, four columns, one variance a column; the closed form of the slide "
        "against the model's posterior.",
        logistic,
        data=("iris",),
    ),
)
