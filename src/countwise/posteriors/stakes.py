"""Gains and priors as arrays in the order of the classes, for models that learn by what is earned.

The gain matrix with its labels, sentences and files lives with the decisions, behind the models;
here it comes as an array, as nested mappings or as anything that writes itself as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError, did_you_mean, listing
from countwise.tables.schema import level_text

Doubles = NDArray[np.float64]


def gain_array(given: Any, classes: Sequence[Any], who: str) -> tuple[Doubles, tuple[Any, ...]]:
    """Gains by true class (rows) and decision (columns), and the decisions; None is identity."""
    labels = list(classes)
    if given is None:
        return np.eye(len(labels)), tuple(labels)
    plain = given.to_dict() if hasattr(given, "to_dict") else given
    made, decisions = (
        _named(plain, labels, who) if isinstance(plain, Mapping) else _bare(plain, labels, who)
    )
    if not np.isfinite(made).all():
        raise ParameterError(f"{who}: gains must be finite numbers, but {made.tolist()} came.")
    return np.ascontiguousarray(made), decisions


def _named(
    plain: Mapping[Any, Any], labels: list[Any], who: str
) -> tuple[Doubles, tuple[Any, ...]]:
    rows = {level_text(label): row for label, row in plain.items()}
    lost = [label for label in labels if level_text(label) not in rows]
    if lost:
        raise ParameterError(
            f"{who}: gain must have a row for every class, but {listing(lost)} got none."
            f"{did_you_mean(lost[0], list(plain))} Add it."
        )
    known = {level_text(label) for label in labels}
    more: dict[str, Any] = {}
    for label in labels:
        own = rows[level_text(label)]
        if not isinstance(own, Mapping):
            raise ParameterError(
                f"{who}: gain must give each class a mapping from decision to gain, but "
                f"{own!r} came for {label!r}."
            )
        more |= {level_text(name): name for name in own if level_text(name) not in known}
    decisions = (*labels, *more.values())
    made = np.empty((len(labels), len(decisions)))
    for place, label in enumerate(labels):
        own = {level_text(name): value for name, value in rows[level_text(label)].items()}
        for at, name in enumerate(decisions):
            if level_text(name) not in own:
                raise ParameterError(
                    f"{who}: gain must say what every decision earns, but for class {label!r} "
                    f"decision {name!r} is missing. Add it."
                )
            made[place, at] = float(own[level_text(name)])
    return made, decisions


def _bare(plain: Any, labels: list[Any], who: str) -> tuple[Doubles, tuple[Any, ...]]:
    try:
        made = np.asarray(plain, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{who}: gain must be a matrix of numbers, but {plain!r} came.") from (
            None
        )
    if made.shape != (len(labels), len(labels)):
        raise ParameterError(
            f"{who}: gain must be a matrix of {len(labels)} true classes (rows) by {len(labels)} "
            f"assigned ones, in the order {listing(labels)}, but one of shape {made.shape} came. "
            "Give the gains by name to add decisions."
        )
    return made, tuple(labels)


def prior_shares(given: Any, weight: Doubles, classes: Sequence[Any], who: str) -> Doubles:
    """Class shares by `prior`: as counted, uniform, or given by class or in class order."""
    labels = list(classes)
    if isinstance(given, str):
        if given == "uniform":
            return np.full(len(labels), 1.0 / len(labels))
        return np.asarray(weight / weight.sum())
    if isinstance(given, Mapping):
        by_text = {level_text(label): share for label, share in given.items()}
        lost = [label for label in labels if level_text(label) not in by_text]
        if lost:
            raise ParameterError(
                f"{who}: prior must give a share to every class, but {listing(lost)} got none. "
                "Add it."
            )
        shares = np.asarray([float(by_text[level_text(label)]) for label in labels])
    else:
        shares = np.asarray(given, dtype=np.float64)
    if shares.shape != (len(labels),):
        raise ParameterError(
            f"{who}: prior must hold {len(labels)} shares, one a class, but {shares.size} came. "
            f"The classes are {listing(labels)}."
        )
    if np.any(shares < 0) or not np.isclose(shares.sum(), 1.0, rtol=0, atol=1e-3):
        raise ParameterError(
            f"{who}: prior must hold shares that are not negative and sum to 1, but "
            f"{shares.tolist()} came."
        )
    return np.asarray(shares / shares.sum())
