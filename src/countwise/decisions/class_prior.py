"""Read a class prior as a user states it: a word, a mapping by label, or numbers in class order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.errors import ParameterError, did_you_mean, listing
from countwise.params import array, mapping, one_of
from countwise.tables.labels import Label, find, plain, positions, quoted
from countwise.tables.weights import weights_or_ones

Prior: TypeAlias = str | Mapping[Any, float] | ArrayLike
Reals: TypeAlias = NDArray[np.float64]

#: What a model's parameter `prior` must be; `prior_of` reads it.
PRIOR_CONSTRAINT = (
    one_of("empirical", "uniform")
    | mapping("a mapping from class to probability")
    | array("an array of probabilities")
)
PRIOR_HELP = (
    "class probabilities before any attribute is known: 'empirical' (the class frequencies of "
    "the training rows), 'uniform', a mapping from class to probability, or an array in the "
    "order of 'classes_'"
)
#: Probabilities written with four digits, as papers print them, may miss one by this much.
SLACK = 1e-3


def class_shares(
    prior: Prior | None, classes: Sequence[Any] | NDArray[Any], who: str
) -> Reals | None:
    """Return the stated prior in class order, or None where that of the data is meant."""
    known = [plain(label) for label in classes]
    if prior is None:
        return None
    if isinstance(prior, str):
        if prior not in PRIOR_CONSTRAINT.choices:
            hint = did_you_mean(prior, PRIOR_CONSTRAINT.choices).strip()
            raise ParameterError(who, "prior", PRIOR_CONSTRAINT.words, prior, hint)
        return None if prior == "empirical" else np.full(len(known), 1.0 / len(known))
    shares = _from_mapping(prior, known, who) if isinstance(prior, Mapping) else prior
    try:
        values = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(who, "prior", "numbers", shares, "Give one share a class") from None
    if values.shape != (len(known),):
        raise ParameterError(
            f"{who}: prior must hold one share for each of {listing(known)}; got an array of "
            f"shape {values.shape}.",
            hint=(f"give {len(known)} shares", "a mapping from class to probability"),
        )
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ParameterError(
            f"{who}: prior must hold shares of at least 0; got {values.tolist()}.",
            hint="Give finite shares that sum to 1",
        )
    if abs(values.sum() - 1.0) > SLACK:
        raise ParameterError(
            f"{who}: prior must sum to 1; got {values.tolist()}, which sums to {values.sum():g}.",
            hint="Divide the shares by their sum",
        )
    return np.asarray(values / values.sum())


def prior_of(
    prior: Prior | None, weight: Reals, classes: Sequence[Any] | NDArray[Any], who: str
) -> Reals:
    """Return the stated prior or, where that of the data is meant, one for each axis of weights."""
    stated = class_shares(prior, classes, who)
    if stated is None:
        return np.asarray(weight / weight.sum(axis=0))
    return np.broadcast_to(stated.reshape(-1, *(1,) * (weight.ndim - 1)), weight.shape).copy()


def _from_mapping(prior: Mapping[Any, float], known: list[Label], who: str) -> list[Any]:
    shares: list[Any] = [None] * len(known)
    for label, share in prior.items():
        at = find(plain(label), known, who, ParameterError)
        if at < 0:
            raise ParameterError(
                f"{who}: prior must name classes, which are {listing(known)}; got {label!r}.",
                hint=did_you_mean(label, known).strip(),
            )
        shares[at] = share
    missing = [label for label, share in zip(known, shares, strict=True) if share is None]
    if missing:
        raise ParameterError(
            f"{who}: prior must give a share to every class; got none for {listing(missing)}.",
            hint="Add it to the mapping, with 0 if it never occurs",
        )
    return shares


def training_shares(model: Any, classes: NDArray[Any], labels: Any, sample_weight: Any) -> Reals:
    """Return the prior within a model's posteriors: its attribute, else its labels' fractions."""
    column = np.asarray(labels)
    logs = getattr(model, "class_log_prior_", None)
    stated = None if logs is None else np.exp(np.asarray(logs, dtype=np.float64))
    for name in ("priors_", "class_prior_"):
        if getattr(model, name, None) is not None:
            stated = np.asarray(getattr(model, name), dtype=np.float64)
    if stated is not None and stated.shape == classes.shape:
        shares = stated
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
    """Return posteriors under another prior, their ratio one line for all rows or one a row."""
    moved = posteriors * ratio
    empty = moved.sum(axis=1) <= 0  # equal shares of the classes that can occur
    moved[empty] = np.broadcast_to(ratio > 0, moved.shape)[empty]
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))
