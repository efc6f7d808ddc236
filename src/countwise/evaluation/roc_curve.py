"""ROC curves of the models of a comparison: hits against false alarms on unseen rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.intervals import Estimate
from countwise.evaluation.predictions import Entry
from countwise.evaluation.scores import add_tallies, rows_not_kept
from countwise.evaluation.trials import Trials

#: Points of a curve that is a mean over classes, and of a curve that is drawn, at most.
_POINTS = 201


@dataclass(frozen=True, eq=False)
class RocCurve:
    """The curve of one model: its rate of false alarms, its rate of hits, and the area below.

    The curve and its area are those of the rows of all folds together; `auc` is the mean of the
    areas of the folds, with its interval.
    """

    name: str
    false_positive: FloatArray
    true_positive: FloatArray
    area: float
    auc: Estimate


def roc_curves(trials: Trials, label: Any = None) -> tuple[list[RocCurve], str]:
    """Return the curve of each model and what counts as a hit, in words; the largest area first.

    Of two classes `label` is the one to find, by default the second. Of more classes, without a
    label, each class is set against all others and the curves are averaged.
    """
    if not trials.has_areas:
        raise rows_not_kept("an ROC curve of so many classes")
    classes = list(trials.classes)
    if label is not None and label not in classes:
        raise ParameterError(
            f"draw: label must be a class; got {label!r}.{did_you_mean(label, classes)} "
            f"The classes are {listing(classes)}."
        )
    places = list(range(len(classes))) if label is None else [classes.index(label)]
    if label is None and len(classes) == 2:
        places = [1]
    sizes = trials.confusion(trials.names[0]).counts.sum(axis=1)
    places = [at for at in places if 0 < sizes[at] < sizes.sum()]
    if not places:
        raise ParameterError("draw: an ROC curve needs tested rows of at least two classes.")
    first: dict[str, Entry] = {}
    for entry in trials.entries.values():
        if not entry.baseline and not entry.certain:
            first.setdefault(entry.model, entry)
    curves = [
        _curve(trials, entry, places, trials.score("auc", entry.name, label=label))
        for entry in first.values()
    ]
    if not curves:
        raise ParameterError("draw: an ROC curve needs a model that gives probabilities.")
    words = "each class against all others, averaged"
    if len(places) == 1:
        words = f"class {classes[places[0]]!r} against the rest"
    return sorted(curves, key=lambda curve: -curve.area), words


def _curve(trials: Trials, entry: Entry, places: list[int], score: Estimate) -> RocCurve:
    lines = _lines_of_bins(entry, places) if entry.tallies else _lines(trials, entry, places)
    area = float(np.mean([np.trapezoid(up, across) for across, up in lines]))
    if len(lines) == 1:
        across, up = lines[0]
        return RocCurve(entry.model, across, up, area, score)
    grid = np.linspace(0.0, 1.0, _POINTS)
    mean = np.mean([np.interp(grid, across, up) for across, up in lines], axis=0)
    mean[0] = 0.0
    return RocCurve(entry.model, grid, mean, area, score)


def _lines(trials: Trials, entry: Entry, places: list[int]) -> list[tuple[FloatArray, FloatArray]]:
    from sklearn.metrics import roc_curve  # slow to import

    truth = np.concatenate([fold.truth for fold in trials.folds]).astype(np.int64)
    known = [fold.weight for fold in trials.folds if fold.weight is not None]
    weight = np.concatenate(known) if known else None
    posteriors = np.concatenate([fold.posteriors for fold in entry.predictions])
    return [
        roc_curve(truth == place, posteriors[:, place], sample_weight=weight)[:2]
        for place in places
    ]


def _lines_of_bins(entry: Entry, places: list[int]) -> list[tuple[FloatArray, FloatArray]]:
    """Return a point of each curve for every bin of the posteriors, the highest bin first."""
    bins = add_tallies(entry.tallies).posteriors
    assert bins is not None
    lines = []
    for place in places:
        cells = bins.of_class(place)[:, ::-1]
        sides = cells.sum(axis=0) - cells[place], cells[place]
        across, up = (np.concatenate([[0.0], np.cumsum(side) / side.sum()]) for side in sides)
        kept = np.flatnonzero(np.diff(across + up, append=np.inf) > 0)
        lines.append((across[kept], up[kept]))
    return lines
