"""Correct posteriors for a prior that differs from the one a model was trained on."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError, listing
from countwise.tables.labels import positions, quoted
from countwise.tables.weights import weights_or_ones

Reals: TypeAlias = NDArray[np.float64]


def training_shares(model: Any, classes: NDArray[Any], labels: Any, sample_weight: Any) -> Reals:
    """Return the prior within a model's posteriors: its attribute, else its labels' fractions.

    A model may have been given another prior than its labels' (``GaussianNB(priors=...)``), so its
    attribute goes before the weighted fractions of the labels it was fitted on.
    """
    column = np.asarray(labels)
    attribute = _prior_attribute(model)
    if attribute is not None and attribute.shape == classes.shape:
        shares = attribute
    elif column.ndim:
        at = positions(column, classes, "Decide")
        weights = weights_or_ones(sample_weight, len(at), "Decide")
        shares = np.bincount(at[at >= 0], weights[at >= 0], len(classes)).astype(np.float64)
    else:
        raise ParameterError(
            "Decide: with a prior the model must tell the one it was trained on; got "
            f"{type(model).__name__}, which has no class_prior_.",
            hint=("fit with the labels given as y", "give Decide.over the `training_prior=`"),
        )
    return np.asarray(shares / shares.sum())


def _prior_attribute(model: Any) -> Reals | None:
    for name in ("class_prior_", "priors_"):
        prior = getattr(model, name, None)
        if prior is not None:
            return np.asarray(prior, dtype=np.float64)
    logs = getattr(model, "class_log_prior_", None)
    return None if logs is None else np.exp(np.asarray(logs, dtype=np.float64))


def refuse_product_of_posteriors(model: Any) -> None:
    """Refuse a model that multiplies P(c|x): its prior enters once per attribute, not once."""
    params = model.get_params() if hasattr(model, "get_params") else {}
    combined = [value for name, value in params.items() if name.split("__")[-1] == "combine"]
    if any(isinstance(value, str) and value == "posteriors" for value in combined):
        raise ParameterError(
            "Decide: with a prior the model must take it in once; got "
            f"{type(model).__name__} with `combine='posteriors'`, which takes it in once per "
            "attribute.",
            hint=("give the prior to the model itself", "use `combine='bayes'`"),
        )


def ratio_of(prior: Reals, training: Reals, classes: NDArray[Any]) -> tuple[Reals, str]:
    """Return what to multiply posteriors by, and a sentence that says so."""
    empty = classes[(training <= 0) & (prior > 0)].tolist()
    if empty:
        raise ParameterError(
            "Decide: a class with a prior must have weight in training; got none for "
            f"{listing(empty)}.",
            hint=("give it a prior of 0", "rows of a positive weight"),
        )
    ratio = np.divide(prior, training, out=np.zeros_like(prior), where=training > 0)
    written = [", ".join(f"{share:.4g}" for share in shares) for shares in (training, prior)]
    return ratio, (
        f"Posteriors are re-weighted from the training shares {written[0]} to the prior "
        f"{written[1]} of the classes {quoted(classes.tolist())}."
    )


def corrected(posteriors: Reals, ratio: Reals) -> Reals:
    """Return posteriors under the other prior, each row summing to one.

    A row whose classes all have a prior of zero gets equal shares of the classes that can occur.
    """
    moved = posteriors * ratio
    moved[moved.sum(axis=1) <= 0] = (ratio > 0).astype(np.float64)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))
