"""Class shares as a user states them: a word, a mapping by label, or numbers in class order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.decisions.labels import Label, find, plain
from countwise.errors import ParameterError, did_you_mean, listing

Prior: TypeAlias = str | Mapping[Any, float] | ArrayLike
Reals: TypeAlias = NDArray[np.float64]

# Shares written with four digits, as papers print them, may miss one by this much.
SLACK = 1e-3


def class_shares(
    prior: Prior | None, classes: Sequence[Any] | NDArray[Any], who: str
) -> Reals | None:
    """Return the stated prior in class order, or None where the data's own shares are meant."""
    known = [plain(label) for label in classes]
    if prior is None:
        return None
    if isinstance(prior, str):
        return _from_word(prior, len(known), who)
    shares = _from_mapping(prior, known, who) if isinstance(prior, Mapping) else prior
    try:
        given = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{who}: prior must be numbers, but {shares!r} came. Give one share per class."
        ) from None
    if given.shape != (len(known),):
        raise ParameterError(
            f"{who}: prior must hold one share for each of {listing(known)}, but its shape is "
            f"{given.shape}. Give {len(known)} numbers, or a mapping from class to share."
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0):
        raise ParameterError(
            f"{who}: prior must hold shares of at least 0, but {given.tolist()} came. "
            "Give finite shares that sum to 1."
        )
    if abs(given.sum() - 1.0) > SLACK:
        raise ParameterError(
            f"{who}: prior must sum to 1, but {given.tolist()} sums to {given.sum():g}. "
            "Divide the shares by their sum."
        )
    shares_of_one: Reals = given / given.sum()
    return shares_of_one


def _from_word(word: str, count: int, who: str) -> Reals | None:
    if word == "uniform":
        return np.full(count, 1.0 / count)
    if word == "empirical":
        return None
    raise ParameterError(
        f"{who}: prior must be 'empirical', 'uniform', a mapping from class to share or an array "
        f"of shares, but {word!r} came.{did_you_mean(word, ['empirical', 'uniform'])}"
    )


def _from_mapping(prior: Mapping[Any, float], known: list[Label], who: str) -> list[Any]:
    shares: list[Any] = [None] * len(known)
    for label, share in prior.items():
        at = find(plain(label), known, who, ParameterError)
        if at < 0:
            raise ParameterError(
                f"{who}: prior must name classes, which are {listing(known)}, but {label!r} "
                f"came.{did_you_mean(label, known)}"
            )
        shares[at] = share
    missing = [label for label, share in zip(known, shares, strict=True) if share is None]
    if missing:
        raise ParameterError(
            f"{who}: prior must give a share to every class, but {listing(missing)} has none. "
            "Add it to the mapping, with 0 if it never occurs."
        )
    return shares


def weights_of(sample_weight: ArrayLike | None, rows: int, who: str) -> Reals:
    """Return one weight per row, ones if none were given."""
    weights = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weights.shape != (rows,):
        raise ParameterError(
            f"{who}: sample_weight must hold one number per row, {rows} in all, but its shape is "
            f"{weights.shape}. Give a weight for each row."
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ParameterError(
            f"{who}: sample_weight must be finite and at least 0, but row {at} has "
            f"{weights[at]:g}. Mend that weight or leave the row out."
        )
    if not weights.sum() > 0:
        raise ParameterError(
            f"{who}: at least one row must have a positive weight, but {rows} rows came with a "
            "total weight of 0. Give rows to judge by."
        )
    return weights
