"""Why a model answers as it does: its tables, densities and trees, as plain data.

The figures are the model's own: shares come from its counts with its smoothing, densities from what
it adds up for a row, trees from what it has learned. What a page cannot show is counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from countwise.counts.smoothing import Laplace, MEstimate, Smoothing, smoothing_of
from countwise.discretize.cut_points import cut_counts
from countwise.models.bayes.conditional_tables import BACK_OFF
from countwise.models.bayes.joint import JointClassifier
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes
from countwise.models.tree.id3 import TreeClassifier
from countwise.reports.densities import density_facts
from countwise.reports.grids import cell_facts
from countwise.reports.listings import listing_facts
from countwise.reports.questions import decision_facts
from countwise.reports.rounding import figures, names
from countwise.reports.shares import MOST_ATTRIBUTES, MOST_CLASSES, Shares, most_probable
from countwise.reports.structure import structure_facts, telling


def model_facts(
    model: Any, name: str | None = None, only: str | None = None
) -> dict[str, Any] | None:
    """Return what a fitted model can be understood by, or None if it has nothing to show."""
    model = getattr(model, "model_", model)
    if isinstance(model, NaiveBayes):
        return _naive_bayes(model, name, only)
    if isinstance(model, JointClassifier):
        return _joint(model, name, only)
    if isinstance(model, TreeClassifier):
        return _bare("decision-tree", name or type(model).__name__) | {
            "smoothing": _smoothing_words(smoothing_of(model.smoothing)),
            "classes": names(model.classes_.tolist())[:MOST_CLASSES],
            "more_classes": _left(len(model.classes_), MOST_CLASSES),
            "tree": decision_facts(model),
        }
    if isinstance(model, DiscreteBayes):
        return _bare("discrete-bayes", name or type(model).__name__) | {
            "classes": names(model.classes_.tolist())[:MOST_CLASSES],
            "more_classes": _left(len(model.classes_), MOST_CLASSES),
            "cells": cell_facts(model),
        }
    listing = listing_facts(model)
    if listing is not None:
        bare = _bare(type(model).__name__.lower(), name or type(model).__name__)
        classes = names(model.classes_.tolist())[:MOST_CLASSES]
        return bare | {"classes": classes, "listing": listing}
    return None


def _naive_bayes(model: NaiveBayes, name: str | None, only: str | None) -> dict[str, Any]:
    # Under combine="posteriors" terms are P(class | value); the same counts give P(value | class).
    plain: NaiveBayes = clone(model).set_params(combine="bayes", when_missing="omit")
    plain.fit_counts(model.counts_)
    seen = cut_counts(plain.counts_, plain.cut_points_) if plain.cut_points_ else plain.counts_
    rule = smoothing_of(model.smoothing)
    labels = plain.classes_.tolist()
    shares = Shares(seen, labels, plain.class_prior_, rule, model.when_missing == "value")
    shown = most_probable(plain.class_prior_)
    columns = [column for column in seen.schema.nominal if only in (None, column.name)]
    nominal = shares.tables(columns, shown)
    numeric, drawn = density_facts(plain, only)
    classes = names(labels)
    return {
        **_bare("naive-bayes", name or type(model).__name__),
        "smoothing": _smoothing_words(rule),
        "combine": model.combine,
        "classes": [classes[at] for at in shown],
        "more_classes": len(classes) - len(shown),
        "prior": figures(plain.class_prior_[shown]),
        "drawn": [classes[at] for at in drawn],
        "nominal": nominal,
        "more_nominal": len(columns) - len(nominal),
        "numeric": numeric[:MOST_ATTRIBUTES],
        "more_numeric": _left(len(seen.schema.numeric), len(numeric[:MOST_ATTRIBUTES])),
    }


def _joint(model: JointClassifier, name: str | None, only: str | None) -> dict[str, Any]:
    counts, labels = model.counts_, model.classes_.tolist()
    weight = counts.weight[[list(counts.classes).index(label) for label in labels]]
    given = getattr(model, "smoothing", None)
    rule = Laplace(1.0) if given == "back-off" else smoothing_of(given)
    told = {column for names_of in counts.tables for column in names_of}
    every = [column for column in counts.schema.nominal if column.name in told]
    columns = [column for column in every if only in (None, column.name)]
    prior = np.asarray(weight / weight.sum())
    shown, classes = most_probable(prior), names(labels)
    # As in the tree, bits are those of the counts themselves.
    shares = Shares(counts, labels, prior, rule, smoothed_bits=False)
    nominal = shares.tables(columns, shown)
    structure = structure_facts(model) if only is None else None
    return {
        **_bare(type(model).__name__.lower(), name or type(model).__name__),
        "smoothing": _back_off_words() if given == "back-off" else _smoothing_words(rule),
        "classes": [classes[at] for at in shown],
        "more_classes": len(classes) - len(shown),
        "prior": figures(prior[shown]),
        "nominal": nominal,
        "more_nominal": len(columns) - len(nominal),
        "structure": structure,
        "unused": len(counts.schema.nominal) - len(every),
        "telling": telling(model) if structure is None and only is None else [],
    }


def _bare(kind: str, name: str) -> dict[str, Any]:
    """What facts of a model hold if it has none of it."""
    return {
        "kind": kind,
        "name": name,
        "smoothing": "",
        "combine": "bayes",
        "classes": [],
        "more_classes": 0,
        "prior": [],
        "drawn": [],
        "nominal": [],
        "more_nominal": 0,
        "numeric": [],
        "more_numeric": 0,
        "structure": None,
        "unused": 0,
        "telling": [],
        "tree": None,
        "listing": None,
        "cells": None,
    }


def _smoothing_words(rule: Smoothing) -> str:
    if isinstance(rule, MEstimate):
        return f"Shares are m-estimates with m = {rule.m:g} and p = {rule.p}."
    if not rule.alpha:
        return "Nothing is added to the counts."
    return f"{rule.alpha:g} is added to every count (Laplace)."


def _back_off_words() -> str:
    return (
        f"Where a parent's value is rare, {BACK_OFF:g} imagined rows follow the class (back-off)."
    )


def _left(every: int, shown: int) -> int:
    return max(every - shown, 0)
