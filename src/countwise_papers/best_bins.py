"""The best number of bins against the number of classes, as Smart, Leh and Marsh claim (P1.12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import rankdata, spearmanr
from sklearn.utils.parallel import Parallel, delayed

from countwise._typing import FloatArray
from countwise.discretize.cuts import Cuts
from countwise.evaluation.folds import split_folds
from countwise.evaluation.intervals import Estimate, corrected
from countwise.models.tree.id3 import ID3
from countwise.reports.figures.line_plot import estimates_figure
from countwise.tables.table import Table
from countwise_papers.exact_models import exact_naive_bayes, exact_tan
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
from countwise_papers.word_claims import REPEATS, SETS, accuracy

BINS = tuple(range(2, 41))
_FOLDS = 10


@part("P1.12", data=SETS, cost=110)
def bins_and_classes(work: Work) -> Found:
    """The best number of bins, and the number of classes.

    Naive Bayes, TAN and unpruned ID3 on five sets, with 2, 3, 4 and so on to 40 bins of equal
    width, learned on the training rows; stratified ten-fold cross-validation, ten times by seed:
    58 500 models, minutes of work for two cores. The best number of bins of a
    repeat is the one with the highest accuracy, mean over the three learners (of equal ones the
    mean). *Proportional* is judged in two readings. Strictly, bins = c × classes: in the line of
    log bins over log classes the slope is 1, so the interval of the slopes of the ten repeats must
    hold 1 and not 0. Loosely, more classes want more bins: the rank correlation must be above 0.
    """
    bins, repeats = (BINS[::8], 2) if work.quick else (BINS, REPEATS)
    best, classes, means = [], [], {}
    for name, table in work.tables(SETS):
        figures = _by_bins(table, bins, repeats, work)  # repeats × folds × bins × learners
        score = figures.mean(axis=3)
        by_repeat = score.mean(axis=1)
        best.append([np.mean(np.asarray(bins)[line == line.max()]) for line in by_repeat])
        classes.append(len(table.classes))
        flat = score.reshape(-1, len(bins)).T  # bins × folds of all repeats
        means[f"{name}, {classes[-1]} classes"] = [_over_folds(line) for line in flat]
        most = int(flat.mean(axis=1).argmax())
        gaps = [_over_folds(flat[most] - line) for line in flat]
        near = [str(number) for number, gap in zip(bins, gaps, strict=True) if not gap.low > 0]
        yield figure(
            "P1.12",
            f"{name}, {classes[-1]} classes: best number of bins",
            "",
            bins[most],
            None,
            f"Not worse, by the paired interval: {', '.join(near)}. Best of each repeat: "
            f"{min(best[-1]):g} to {max(best[-1]):g}.",
            text=f"{{:.0f}}, accuracy {flat[most].mean():.3f}",
        )
    lines = {name: [one.to_dict() for one in line] for name, line in means.items()}
    title = "Accuracy by the number of bins, mean over three learners"
    yield Drawing(title, estimates_figure(title, bins, lines, "bins (logarithmic)", "accuracy"))
    yield from proportional(np.asarray(best), classes)


def _over_folds(values: FloatArray) -> Estimate:
    return corrected(values.tolist(), 1 / (_FOLDS - 1))


def proportional(best: FloatArray, classes: Sequence[int]) -> Iterator[Finding]:
    """Judge whether the best number of bins (sets × repeats) goes with the number of classes."""
    printed = "the ideal number of bins is proportional to the number of classes"
    slopes = _over_folds(np.asarray([_slope(line, classes) for line in best.T]))
    ratios = best.mean(axis=1) / np.asarray(classes)
    holds = slopes.low > 0 and slopes.low <= 1 <= slopes.high
    yield held(
        "P1.12",
        "strictly: slope of log bins over log classes, whose interval holds 1 and not 0",
        float(holds),
        text=gain_text(slopes),
        reason=f"Bins per class from {ratios.min():.1f} to {ratios.max():.1f}.",
        printed=printed,
    )
    ranks = _over_folds(np.asarray([_rank_correlation(line, classes) for line in best.T]))
    yield held(
        "P1.12",
        "loosely: rank correlation of the best number of bins with the number of classes, lower "
        "end of the interval above 0",
        ranks.low,
        above(0),
        gain_text(ranks),
        printed=printed,
    )


def _slope(best: FloatArray, classes: Sequence[int]) -> float:
    if len(set(classes)) < 2:
        return 0.0
    return float(np.polyfit(np.log(classes), np.log(best), 1)[0])


def _rank_correlation(one: FloatArray, two: Sequence[int]) -> float:
    if len(set(rankdata(one))) < 2 or len(set(two)) < 2:
        return 0.0
    return float(spearmanr(one, two).statistic)


def _by_bins(table: Table, bins: Sequence[int], repeats: int, work: Work) -> FloatArray:
    """Return accuracies by repeat, fold, number of bins and learner."""
    splits = split_folds(
        "reproduce", table, _FOLDS, repeats, True, np.random.default_rng(work.seed)
    )
    calls = (
        delayed(_try_bins)(table.take(fold.train), table.take(fold.test), bins)
        for fold in splits.folds()
    )
    found = Parallel(n_jobs=1 if work.quick else -1)(calls)
    return np.asarray(found).reshape(repeats, _FOLDS, len(bins), -1)


def _try_bins(train: Table, test: Table, bins: Sequence[int]) -> list[list[float]]:
    """Return accuracies by number of bins and learner; the bins are cut once for all learners."""
    found = []
    for number in bins:
        cuts = Cuts("width", bins=number).fit(train)
        rows = cuts.transform(train), cuts.transform(test)
        found.append(
            [
                accuracy(model, *rows)
                for model in (exact_naive_bayes(), exact_tan(), ID3(smoothing="laplace"))
            ]
        )
    return found
