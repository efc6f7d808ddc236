"""Claims that the papers make in words (P2.11, P4.12), each shown by an experiment.

Rows are split 70:30, class by class, ten times by seed. Every setting of an experiment is tried on
the same splits, so that differences are paired; figures are means over the sets, with Nadeau and
Bengio's interval over the ten splits. That something happens holds if the whole interval of the
difference lies above zero; that it does not happen holds if the whole interval does not. A sentence
that can be read in two ways is judged in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.evaluation.folds import split_holdout
from countwise.evaluation.intervals import Estimate, corrected
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.ensembles.bagging import Bagging
from countwise.models.linear.logistic import Logistic
from countwise.models.linear.svm import LinearSVM
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.tree.id3 import ID3
from countwise.reports.figures.line_plot import estimates_figure
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table
from countwise_papers.exact_models import exact_naive_bayes, exact_tan
from countwise_papers.findings import (
    Drawing,
    Finding,
    Found,
    Work,
    above,
    at_most,
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
        whole = [setting for setting in self.settings if setting != HALF]
        lines = {
            line: [self.mean(line, setting).to_dict() for setting in whole] for line in self.lines
        }
        svg = estimates_figure(title, whole, lines, below, aside)
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


@dataclass(frozen=True)
class Claim:
    """A sentence, and the difference (sets × splits) that is above zero if it is true.

    With ``absent=True`` the sentence says that there is no such difference.
    """

    printed: str
    what: str
    gaps: Callable[[Runs], FloatArray]
    absent: bool = False
    beside: tuple[str, ...] = ()  # lines whose means are named beside the verdict

    def judge(self, ledger: str, runs: Runs) -> Finding:
        """Return the finding on the sentence."""
        gaps = self.gaps(runs)
        gap = corrected(gaps.mean(axis=0).tolist(), _RATIO)
        text = f"{gain_text(gap)}, above zero in {_sets_above(gaps)} of {len(gaps)} sets alone"
        what = f"{self.what}: lower end of the interval {'not ' * self.absent}above 0"
        means = [f"{line} {runs.mean(line, runs.settings[0]).value:.3f}" for line in self.beside]
        reason = f"Means: {', '.join(means)}." if means else ""
        low = gap.value if math.isnan(gap.low) else gap.low
        holds = at_most(0) if self.absent else above(0)
        return held(ledger, what, low, holds, text, reason, self.printed)


@dataclass(frozen=True)
class Experiment:
    """What is measured at which settings, the title of its drawing, and the claims it decides."""

    settings: tuple[Any, ...]
    measure: Measure
    claims: tuple[Claim, ...]
    title: str = ""
    below: str = ""

    def judge(self, ledger: str, work: Work) -> Found:
        """Run the experiment, draw it and judge its claims."""
        runs = run(work, self.settings, self.measure)
        if self.title:
            yield runs.draw(self.title, self.below)
        for claim in self.claims:
            yield claim.judge(ledger, runs)


def _loss(line: str, setting: Any, less: str = "") -> Callable[[Runs], FloatArray]:
    """Return what a line loses by a setting, or how much more than another line."""
    if not less:
        return lambda runs: runs.loss(line, setting)
    return lambda runs: runs.loss(line, setting) - runs.loss(less, setting)


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


def copy_columns(table: Table, names: Sequence[str], copies: int) -> Table:
    """Add identical copies of columns."""
    columns, data = [], {}
    for name in names:
        column = table.schema[name]
        for at in range(copies):
            columns.append(Column(f"{name} copy {at}", column.kind, column.levels))
            data[columns[-1].name] = table.raw_array(name)
    return Table(_with(table, columns), _arrays(table) | data)


def _arrays(table: Table) -> dict[str, Any]:
    names = [column.name for column in table.schema.attributes]
    return {name: table.raw_array(name) for name in names} | {
        table.target_column.name: table.target
    }


def _with(table: Table, columns: Sequence[Column]) -> Schema:
    return Schema((*table.schema.attributes, *columns, table.target_column))


_COPIES = (0, 2, 8, 32)
_NOISE = (0.0, 0.1, 0.2, 0.3, 0.4)
_COLUMNS = (0, 5, 10, 20, 50)
_KS = (1, 3, 5, 9, 15, 31)
#: Stands for a k that is too large: half of the training rows.
HALF = 0.5


def _measure_copies(train: Table, test: Table, copies: int, rng: Any) -> Mapping[str, float]:
    names = [column.name for column in train.schema.attributes]

    def copied(*some: str) -> float:
        return accuracy(_bayes(), *(copy_columns(rows, some, copies) for rows in (train, test)))

    alone = [copied(name) for name in names] if copies else [copied()]
    return {"one column": float(np.mean(alone)), "every column": copied(*names)}


def _bayes() -> NaiveBayes:
    """Return naive Bayes with normal densities no narrower than the values are fine."""
    return exact_naive_bayes(min_deviation="weka")


def _neighbors(k: int) -> Neighbors:
    return Neighbors(n_neighbors=k, smoothing=0)


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
        "1-NN": accuracy(_neighbors(1), wide, new),
        "naive Bayes": accuracy(_bayes(), wide, new),
    }


def _measure_families(train: Table, test: Table, setting: Any, rng: Any) -> Mapping[str, float]:
    models = {
        "logistic": Logistic(),
        "SVM": LinearSVM(),
        "naive Bayes": _bayes(),
        "TAN": exact_tan(),
    }
    return {name: accuracy(model, train, test) for name, model in models.items()}


def _measure_k(train: Table, test: Table, k: float, rng: Any) -> Mapping[str, float]:
    number = int(k) if k >= 1 else int(k * len(train))
    return {"k-NN": accuracy(_neighbors(number), train, test)}


def _measure_variance(train: Table, test: Table, setting: Any, rng: Any) -> Mapping[str, float]:
    half = rng.permutation(len(train)) % 2 == 0
    models = {
        "tree": ID3(smoothing="laplace"),
        "bagged": Bagging(
            ID3(smoothing="laplace"), n_estimators=10, random_state=int(rng.integers(1 << 30))
        ),
    }
    found = {}
    for name, model in models.items():
        one = model.fit(train.take(half)).predict(test)
        found[name] = float(np.mean(one != model.fit(train.take(~half)).predict(test)))
    return found


def _gap(more: tuple[str, ...], less: tuple[str, ...]) -> Callable[[Runs], FloatArray]:
    """Return how much higher the mean of some lines is than that of others."""

    def gaps(runs: Runs) -> FloatArray:
        means = [np.mean([runs.values(one, 0) for one in lines], axis=0) for lines in (more, less)]
        return np.asarray(means[0] - means[1])

    return gaps


_REDUNDANT = "adding too many redundant attributes will cause problems (e.g. identical attributes)"
WARNINGS = (
    Experiment(
        _COPIES,
        _measure_copies,
        (
            Claim(
                _REDUNDANT,
                "naive Bayes, one column copied 32 times, mean over all columns: accuracy lost",
                _loss("one column", 32),
            ),
            Claim(
                _REDUNDANT,
                "naive Bayes, every column copied 32 times: accuracy lost",
                _loss("every column", 32),
            ),
        ),
        "Copies of columns, naive Bayes",
        "copies",
    ),
    Experiment(
        _NOISE,
        _measure_noise,
        (
            Claim(
                "the accuracy of the NN algorithm degrades with increase of noise",
                "1 nearest neighbor: accuracy lost by 40 % wrong classes",
                _loss("1-NN", 0.4),
            ),
        ),
        "Wrong classes in the training rows",
        "fraction of training rows",
    ),
    Experiment(
        _COLUMNS,
        _measure_columns,
        (
            Claim(
                "the accuracy of the NN algorithm degrades with increase of irrelevant attributes",
                "1 nearest neighbor: accuracy lost by 50 columns of random numbers",
                _loss("1-NN", 50),
            ),
        ),
        "Irrelevant columns",
        "columns of random numbers",
    ),
    Experiment(
        (0,),
        _measure_families,
        (
            Claim(
                "prediction accuracy is generally high (as compared to Bayesian methods in "
                "general)",
                "discriminative against Bayesian models: gain in accuracy",
                _gap(("logistic", "SVM"), ("naive Bayes", "TAN")),
                beside=("logistic", "SVM", "naive Bayes", "TAN"),
            ),
        ),
    ),
)


@part("P2.11", data=SETS, cost=60)
def warnings(work: Work) -> Found:
    """The lecture's warnings: copies, noise, irrelevant columns; and who is more accurate.

    Five sets, ten hold-outs of 30 per cent. Copies: the lecture does not say which attributes are
    redundant, so each column in turn is copied up to 32 times (mean over all columns), and in a
    second reading every column is. Up to 40 per cent of the training rows get a wrong class, and up
    to 50 columns of random numbers are added; the NN algorithm is one nearest neighbor. Logistic
    regression and a linear support vector machine against naive Bayes and TAN.
    """
    for experiment in WARNINGS:
        yield from experiment.judge("P2.11", work)


_NOISE_POINTS = "naive Bayes is robust to isolated noise points"
_IRRELEVANT = "naive Bayes is robust to irrelevant attributes"
SUMMARIES = (
    Experiment(
        _NOISE,
        _measure_noise,
        (
            Claim(
                _NOISE_POINTS,
                "10 % noise points: accuracy that naive Bayes loses",
                _loss("naive Bayes", 0.1),
                absent=True,
            ),
            Claim(
                _NOISE_POINTS,
                "10 % noise points: what 1-NN loses more than naive Bayes",
                _loss("1-NN", 0.1, "naive Bayes"),
            ),
            Claim(
                "if k is too small, sensitive to noise points",
                "20 % noise points: what 1-NN loses more than 15-NN",
                _loss("1-NN", 0.2, "15-NN"),
            ),
        ),
        "Noise points",
        "fraction of training rows with a wrong class",
    ),
    Experiment(
        _COLUMNS,
        _measure_columns,
        (
            Claim(
                _IRRELEVANT,
                "50 columns of random numbers: accuracy that naive Bayes loses",
                _loss("naive Bayes", 50),
                absent=True,
            ),
            Claim(
                _IRRELEVANT,
                "50 columns of random numbers: what 1-NN loses more than naive Bayes",
                _loss("1-NN", 50, "naive Bayes"),
            ),
        ),
        "Irrelevant attributes",
        "columns of random numbers",
    ),
    Experiment(
        (*_KS, HALF),
        _measure_k,
        (
            Claim(
                "if k is too large, neighborhood may include points from other classes",
                "accuracy with k = 9, above that with half of the rows as neighbors",
                lambda runs: runs.values("k-NN", 9) - runs.values("k-NN", HALF),
            ),
        ),
        "Neighbors that vote",
        "k (logarithmic)",
    ),
    Experiment(
        (0,),
        _measure_variance,
        (
            Claim(
                "bagging reduces the variance of the individual classifier",
                "variance of a tree, above that of ten bagged trees",
                _gap(("tree",), ("bagged",)),
                beside=("tree", "bagged"),
            ),
        ),
    ),
)


@part("P4.12", data=SETS, cost=30)
def summaries(work: Work) -> Found:
    """The slides' summaries: noise points, irrelevant attributes, small and large k, bagging.

    Five sets, ten hold-outs of 30 per cent. *Robust* is judged in two readings: strictly, naive
    Bayes loses nothing that the splits could show; in comparison, it loses less than one nearest
    neighbor. Noise points are training rows with a wrong class; isolated ones are 10 per cent. A
    too large k is half of the training rows. The variance of a classifier is how often two of its
    models, fitted to two halves of the training rows, decide a test row differently; unpruned ID3
    alone and as ten bagged members.
    """
    for experiment in SUMMARIES:
        yield from experiment.judge("P4.12", work)
