"""The class shares a model was trained on, and what another prior makes of its posteriors."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError, listing
from countwise.tables.labels import positions, quoted
from countwise.tables.weights import weights_or_ones

Reals: TypeAlias = NDArray[np.float64]


def training_shares(model: Any, classes: NDArray[Any], labels: Any, sample_weight: Any) -> Reals:
    """Return the prior within a model's posteriors: the one it tells, else its labels' shares.

    A model may have been given a prior of its own (``GaussianNB(priors=...)``), so its word goes
    before the weighted shares of the labels it was fitted on.
    """
    column = np.asarray(labels)
    told = _told_by(model)
    if told is not None and told.shape == classes.shape:
        shares = told
    elif column.ndim:
        at = positions(column, classes, "Decide")
        weights = weights_or_ones(sample_weight, len(at), "Decide")
        shares = np.bincount(at[at >= 0], weights[at >= 0], len(classes)).astype(np.float64)
    else:
        raise ParameterError(
            "Decide: a prior needs the class shares of the training data, but "
            f"{type(model).__name__} does not tell them. Fit with the labels given as y, or give "
            "Decide.over the training_prior."
        )
    normal: Reals = shares / shares.sum()
    return normal


def _told_by(model: Any) -> Reals | None:
    for name in ("class_prior_", "priors_"):
        told = getattr(model, name, None)
        if told is not None:
            return np.asarray(told, dtype=np.float64)
    logs = getattr(model, "class_log_prior_", None)
    return None if logs is None else np.exp(np.asarray(logs, dtype=np.float64))


def refuse_product_of_posteriors(model: Any) -> None:
    """Refuse a model that multiplies P(c|x): its prior enters once per attribute, not once."""
    params = model.get_params() if hasattr(model, "get_params") else {}
    combined = [value for name, value in params.items() if name.split("__")[-1] == "combine"]
    if any(isinstance(value, str) and value == "posteriors" for value in combined):
        raise ParameterError(
            "Decide: a prior re-weights posteriors once, but with combine='posteriors' "
            f"{type(model).__name__} takes it in once per attribute. Give the prior to the model "
            "itself, or use combine='bayes'."
        )


def ratio_of(prior: Reals, training: Reals, classes: NDArray[Any]) -> tuple[Reals, str]:
    """Return what to multiply posteriors by, and a sentence that says so."""
    lost = classes[(training <= 0) & (prior > 0)].tolist()
    if lost:
        raise ParameterError(
            f"Decide: a class with a prior must have weight in training, but {listing(lost)} has "
            "none. Give it a prior of 0, or rows of a positive weight."
        )
    ratio = np.divide(prior, training, out=np.zeros_like(prior), where=training > 0)
    written = [", ".join(f"{share:.4g}" for share in shares) for shares in (training, prior)]
    note = (
        f"Posteriors are re-weighted from the training shares {written[0]} to the prior "
        f"{written[1]} of the classes {quoted(classes.tolist())}."
    )
    return ratio, note


def corrected(posteriors: Reals, ratio: Reals) -> Reals:
    """Return posteriors under the other prior, each row summing to one.

    A row that is left without any weight, its classes all having a prior of zero, says nothing:
    it gets equal shares of the classes that can occur.
    """
    moved = posteriors * ratio
    moved[moved.sum(axis=1) <= 0] = (ratio > 0).astype(np.float64)
    normal: Reals = moved / moved.sum(axis=1, keepdims=True)
    return normal
