"""Claims that the papers make in words (P1.12, P2.11, P4.12), each shown by an experiment.

Rows are split 70:30, class by class, ten times by seed. Every setting of an experiment is tried on
the same splits, so that differences are paired; figures are means over the sets, with Nadeau and
Bengio's interval over the ten splits. A claim holds if the whole interval of the difference lies
above zero. *Robust* is meant in comparison with nearest neighbors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

from countwise._typing import FloatArray
from countwise.evaluation.folds import split_holdout
from countwise.evaluation.intervals import Estimate, corrected
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.bayes.tan import TAN
from countwise.models.ensembles.bagging import Bagging
from countwise.models.linear.logistic import Logistic
from countwise.models.linear.svm import LinearSVM
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.tree.id3 import ID3
from countwise.reports.figures.line_plot import estimates_figure
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table
from countwise_papers.findings import (
    Drawing,
    Finding,
    Found,
    Work,
    above,
    figure,
    gain_text,
    held,
    part,
)

SETS = ("iris", "glass", "ecoli", "breast-w", "heart-c")
REPEATS = 10
_HOLDOUT = 0.3
_RATIO = _HOLDOUT / (1 - _HOLDOUT)

#: Takes training rows, test rows, a setting and random numbers; returns a figure a line.
Measure = Callable[[Table, Table, Any, np.random.Generator], Mapping[str, float]]


@dataclass(frozen=True)
class Runs:
    """Figures of an experiment by line, setting, set and split."""

    lines: tuple[str, ...]
    settings: tuple[Any, ...]
    sets: tuple[str, ...]
    figures: FloatArray

    def values(self, line: str, setting: Any) -> FloatArray:
        """Return the figures of one line and setting: sets × splits."""
        place = self.lines.index(line), self.settings.index(setting)
        return np.asarray(self.figures[place])

    def mean(self, line: str, setting: Any) -> Estimate:
        """Return the mean over the sets, with its interval over the splits."""
        return corrected(self.values(line, setting).mean(axis=0).tolist(), _RATIO)

    def loss(self, line: str, setting: Any) -> FloatArray:
        """Return how much less than in the first setting: sets × splits."""
        return self.values(line, self.settings[0]) - self.values(line, setting)

    def draw(self, title: str, below: str, aside: str = "accuracy, mean over the sets") -> Drawing:
        """Draw a line each over the settings, which are numbers, with intervals as bands."""
        lines = {
            line: [self.mean(line, setting).to_dict() for setting in self.settings]
            for line in self.lines
        }
        svg = estimates_figure(title, self.settings, lines, below, aside)
        return Drawing(title, svg, f"{aside}: {', '.join(self.sets)}")


def run(work: Work, settings: Sequence[Any], measure: Measure) -> Runs:
    """Measure every setting on the same ten splits of every set.

    Random numbers begin anew with each setting: what is drawn for one is part of the next.
    """
    found, names = [], []
    for name, table in work.tables(SETS[:2] if work.quick else SETS):
        names.append(name)
        rng = np.random.default_rng((work.seed, len(names)))
        splits = split_holdout(table, _HOLDOUT, 4 if work.quick else REPEATS, True, rng)
        by_split = []
        for place, rows in enumerate(splits.folds()):
            train, test = table.take(rows.train), table.take(rows.test)
            seed = work.seed, len(names), place
            by_split.append(
                [measure(train, test, setting, np.random.default_rng(seed)) for setting in settings]
            )
        found.append(by_split)
    lines = tuple(found[0][0][0])
    figures = [
        [[[split[at][line] for split in by_set] for by_set in found] for at in range(len(settings))]
        for line in lines
    ]
    return Runs(lines, tuple(settings), tuple(names), np.asarray(figures))


def matters(ledger: str, what: str, gaps: FloatArray, printed: str, reason: str = "") -> Finding:
    """Return the finding on a difference (sets × splits) that is to be above zero."""
    gap = corrected(gaps.mean(axis=0).tolist(), _RATIO)
    text = f"{gain_text(gap)}, above zero in {_sets_above(gaps)} of {len(gaps)} single sets"
    what = f"{what} (agrees if the whole interval is above 0)"
    return held(ledger, what, gap.low, above(0), text, reason, printed)


def _sets_above(gaps: FloatArray) -> int:
    return sum(corrected(gap.tolist(), _RATIO).low > 0 for gap in gaps)


def accuracy(model: Any, train: Table, test: Table) -> float:
    """Return the accuracy on test rows of a model fitted to training rows."""
    return float(np.mean(model.fit(train).predict(test) == test.labels))


def mislabel(table: Table, fraction: float, rng: np.random.Generator) -> Table:
    """Give a fraction of the rows another class, drawn from the others."""
    wrong = rng.random(len(table)) < fraction
    classes = len(table.classes)
    steps = rng.integers(1, classes, len(table))
    target = np.where(wrong, (table.target + steps) % classes, table.target)
    data = _arrays(table) | {table.target_column.name: target.astype(table.target.dtype)}
    return Table(table.schema, data)


def add_noise_columns(table: Table, number: int, rng: np.random.Generator) -> Table:
    """Add columns of uniform random numbers."""
    names = [f"noise {at}" for at in range(number)]
    columns = [Column(name, "numeric") for name in names]
    data = {name: rng.random(len(table)) for name in names}
    return Table(_with(table, columns), _arrays(table) | data)


def copy_column(table: Table, name: str, copies: int) -> Table:
    """Add identical copies of a column."""
    column = table.schema[name]
    names = [f"{name} copy {at}" for at in range(copies)]
    columns = [Column(other, column.kind, column.levels) for other in names]
    data = dict.fromkeys(names, table.raw_array(name))
    return Table(_with(table, columns), _arrays(table) | data)


def _arrays(table: Table) -> dict[str, Any]:
    names = [column.name for column in table.schema.attributes]
    return {name: table.raw_array(name) for name in names} | {
        table.target_column.name: table.target
    }


def _with(table: Table, columns: Sequence[Column]) -> Schema:
    return Schema((*table.schema.attributes, *columns, table.target_column))


BINS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)


@part("P1.12", data=SETS, cost=25)
def bins_and_classes(work: Work) -> Found:
    """The best number of bins, and the number of classes.

    Naive Bayes, TAN and unpruned ID3 on five sets, with 2 to 40 bins of equal width learned on the
    training rows; ten hold-outs of 30 percent within each class. The best number of bins has the
    highest accuracy, averaged over the three learners. If it is proportional to the number of
    classes, it must rise with the number of classes over the sets.
    """
    bins, repeats = (BINS[::3], 2) if work.quick else (BINS, REPEATS)
    best, classes, means = [], [], {}
    for name, table in work.tables(SETS):
        figures = np.asarray(_by_bins(table, bins, repeats, work.seed))  # bins × learners × splits
        score = figures.mean(axis=1)
        best.append([np.mean(np.asarray(bins)[line == line.max()]) for line in score.T])
        classes.append(len(table.classes))
        means[f"{name}, {classes[-1]} classes"] = [
            corrected(line.tolist(), _RATIO) for line in score
        ]
        most = int(score.mean(axis=1).argmax())
        gaps = [corrected((score[most] - line).tolist(), _RATIO) for line in score]
        near = [str(number) for number, gap in zip(bins, gaps, strict=True) if not gap.low > 0]
        yield figure(
            "P1.12",
            f"{name}, {classes[-1]} classes: best number of bins",
            "",
            bins[most],
            None,
            f"Not significantly worse: {', '.join(near)}.",
            text=f"{{:.0f}}, accuracy {score[most].mean():.3f}",
        )
    lines = {name: [one.to_dict() for one in line] for name, line in means.items()}
    title = "Accuracy by the number of bins, mean over three learners"
    yield Drawing(title, estimates_figure(title, bins, lines, "bins (logarithmic)", "accuracy"))
    yield proportional(np.asarray(best), classes)


def proportional(best: FloatArray, classes: Sequence[int]) -> Finding:
    """Judge whether the best number of bins (sets × splits) rises with the number of classes."""
    ranks = [_rank_correlation(line, classes) for line in best.T]
    rises = corrected(ranks, _RATIO)
    ratios = best.mean(axis=1) / np.asarray(classes)
    return held(
        "P1.12",
        "rank correlation of the best number of bins with the number of classes (agrees if the "
        "whole interval is above 0)",
        rises.low,
        above(0),
        f"{gain_text(rises)}; bins per class from {ratios.min():.1f} to {ratios.max():.1f}",
        "If they were proportional, the bins per class would be similar in all sets.",
        printed="the ideal number of bins is proportional to the number of classes",
    )


def _rank_correlation(one: FloatArray, two: Sequence[int]) -> float:
    if len(set(rankdata(one))) < 2 or len(set(two)) < 2:
        return 0.0
    return float(spearmanr(one, two).statistic)


def _by_bins(table: Table, bins: Sequence[int], repeats: int, seed: int) -> list[list[list[float]]]:
    splits = split_holdout(table, _HOLDOUT, repeats, True, np.random.default_rng(seed))
    parts = [(table.take(rows.train), table.take(rows.test)) for rows in splits.folds()]
    learners: list[Callable[[int], Any]] = [
        lambda number: NaiveBayes(numeric="cuts", cuts="width", bins=number),
        lambda number: TAN(cuts="width", bins=number),
        lambda number: ID3(numeric="cuts", cuts="width", bins=number),
    ]
    return [
        [[accuracy(make(number), *rows) for rows in parts] for make in learners] for number in bins
    ]


_COPIES = (0, 2, 8, 32)
_NOISE = (0.0, 0.1, 0.2, 0.3, 0.4)
_COLUMNS = (0, 5, 10, 20, 50)


@part("P2.11", data=SETS, cost=20)
def warnings(work: Work) -> Found:
    """The lecture's warnings (copies, noise, irrelevant columns), and which models are better.

    Five sets, ten hold-outs of 30 percent. For naive Bayes, the first, the middle or the last
    column is copied up to 32 times; the accuracy is the mean of the three cases. For nearest
    neighbors, up to 40 percent of the training rows get a wrong class, or up to 50 columns of
    random numbers are added. Logistic regression and a linear support vector machine are compared
    with naive Bayes and TAN.
    """
    copies = run(work, _COPIES, _measure_copies)
    yield copies.draw("Copies of one column", "copies")
    yield matters(
        "P2.11",
        "naive Bayes: accuracy lost by 32 copies of a column",
        copies.loss("naive Bayes", 32),
        "adding too many redundant attributes will cause problems",
    )
    noise = run(work, _NOISE, _measure_noise)
    yield noise.draw("Wrong classes in the training rows", "fraction of training rows")
    yield matters(
        "P2.11",
        "1 nearest neighbor: accuracy lost by 40 % wrong classes",
        noise.loss("1-NN", 0.4),
        "degrades with increase of noise",
    )
    columns = run(work, _COLUMNS, _measure_columns)
    yield columns.draw("Irrelevant columns", "columns of random numbers")
    yield matters(
        "P2.11",
        "5 nearest neighbors: accuracy lost by 50 columns of random numbers",
        columns.loss("5-NN", 50),
        "degrades with increase of irrelevant attributes",
    )
    families = run(work, (0,), _measure_families)
    both = [
        np.mean([families.values(line, 0) for line in lines], axis=0)
        for lines in (("logistic", "SVM"), ("naive Bayes", "TAN"))
    ]
    yield matters(
        "P2.11",
        "discriminative against Bayesian models: gain in accuracy",
        both[0] - both[1],
        "prediction accuracy is generally high (as compared to Bayesian methods in general)",
        ", ".join(f"{line} {families.mean(line, 0).value:.3f}" for line in families.lines) + ".",
    )


def _measure_copies(train: Table, test: Table, copies: int, rng: Any) -> Mapping[str, float]:
    names = [column.name for column in train.schema.attributes]
    found = [
        accuracy(_bayes(), copy_column(train, name, copies), copy_column(test, name, copies))
        for name in (names[0], names[len(names) // 2], names[-1])
    ]
    return {"naive Bayes": float(np.mean(found))}


def _bayes() -> NaiveBayes:
    """Return naive Bayes with normal densities no narrower than the values are fine."""
    return NaiveBayes(numeric="gaussian", min_deviation="precision")


def _neighbors(k: int) -> Neighbors:
    return Neighbors(n_neighbors=k)


def _measure_noise(train: Table, test: Table, fraction: float, rng: Any) -> Mapping[str, float]:
    noisy = mislabel(train, fraction, rng)
    return {
        "1-NN": accuracy(_neighbors(1), noisy, test),
        "15-NN": accuracy(_neighbors(15), noisy, test),
        "naive Bayes": accuracy(_bayes(), noisy, test),
    }


def _measure_columns(train: Table, test: Table, number: int, rng: Any) -> Mapping[str, float]:
    wide, new = (add_noise_columns(table, number, rng) for table in (train, test))
    return {
        "5-NN": accuracy(_neighbors(5), wide, new),
        "naive Bayes": accuracy(_bayes(), wide, new),
    }


def _measure_families(train: Table, test: Table, setting: Any, rng: Any) -> Mapping[str, float]:
    models = {
        "logistic": Logistic(),
        "SVM": LinearSVM(),
        "naive Bayes": _bayes(),
        "TAN": TAN(),
    }
    return {name: accuracy(model, train, test) for name, model in models.items()}


_KS = (1, 3, 5, 9, 15, 31)
#: The fraction of the training rows that stands for a k that is too large.
_HALF = 0.5


@part("P4.12", data=SETS, cost=30)
def summaries(work: Work) -> Found:
    """The slides' summaries: noise points, irrelevant attributes, small and large k, bagging.

    Five sets, ten hold-outs of 30 percent. Noise points are training rows with a wrong class;
    *isolated* means 10 percent of the rows. As an example of a k that is too large, k is half the
    number of training rows. The variance of a classifier is the fraction of test rows on which two
    of its models disagree, if they are trained on two halves of the training rows. It is measured
    for one unpruned ID3 and for ten bagged ones.
    """
    noise = run(work, _NOISE, _measure_noise)
    yield noise.draw("Noise points", "fraction of training rows with a wrong class")
    yield matters(
        "P4.12",
        "10 % noise points: how much more accuracy 1-NN loses than naive Bayes",
        noise.loss("1-NN", 0.1) - noise.loss("naive Bayes", 0.1),
        "naive Bayes is robust to isolated noise points",
        f"Naive Bayes itself loses {_loss_text(noise, 'naive Bayes', 0.1)}.",
    )
    yield matters(
        "P4.12",
        "20 % noise points: how much more accuracy 1-NN loses than 15-NN",
        noise.loss("1-NN", 0.2) - noise.loss("15-NN", 0.2),
        "if k is too small, sensitive to noise points",
    )
    columns = run(work, _COLUMNS, _measure_columns)
    yield columns.draw("Irrelevant attributes", "columns of random numbers")
    yield matters(
        "P4.12",
        "50 columns of random numbers: how much more accuracy 5-NN loses than naive Bayes",
        columns.loss("5-NN", 50) - columns.loss("naive Bayes", 50),
        "naive Bayes is robust to irrelevant attributes",
        f"Naive Bayes itself loses {_loss_text(columns, 'naive Bayes', 50)}.",
    )
    ks = run(work, (*_KS, _HALF), _measure_k)
    several = Runs(ks.lines, _KS, ks.sets, ks.figures[:, :-1])
    yield several.draw("Neighbors that vote", "k (logarithmic)")
    yield matters(
        "P4.12",
        "accuracy with k = 9 minus accuracy with half of the rows as neighbors",
        ks.values("k-NN", 9) - ks.values("k-NN", _HALF),
        "if k is too large, neighborhood may include points from other classes",
    )
    variance = run(work, (0,), _measure_variance)
    yield matters(
        "P4.12",
        "variance of a tree minus variance of ten bagged trees",
        variance.values("tree", 0) - variance.values("bagged", 0),
        "reduces the variance of the individual classifier",
        f"Fraction of the test rows: {variance.mean('tree', 0).value:.3f} for a tree, "
        f"{variance.mean('bagged', 0).value:.3f} for bagged trees.",
    )


def _loss_text(runs: Runs, line: str, setting: Any) -> str:
    return gain_text(corrected(runs.loss(line, setting).mean(axis=0).tolist(), _RATIO))


def _measure_k(train: Table, test: Table, k: float, rng: Any) -> Mapping[str, float]:
    number = int(k) if k >= 1 else int(k * len(train))
    return {"k-NN": accuracy(_neighbors(number), train, test)}


def _measure_variance(train: Table, test: Table, setting: Any, rng: Any) -> Mapping[str, float]:
    half = rng.permutation(len(train)) % 2 == 0
    models = {
        "tree": ID3(),
        "bagged": Bagging(ID3(), n_estimators=10, random_state=int(rng.integers(1 << 30))),
    }
    found = {}
    for name, model in models.items():
        one = model.fit(train.take(half)).predict(test)
        found[name] = float(np.mean(one != model.fit(train.take(~half)).predict(test)))
    return found
