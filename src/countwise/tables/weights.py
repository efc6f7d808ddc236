"""Sample weights: one number per row."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError, TableError

#: Between these a sum of squares of weights is still a number that is not zero.
LEAST_WEIGHT, MOST_WEIGHT = 1e-250, 1e100
#: Whole weights become repeated rows up to this many of them.
MAX_REPEATED = 1 << 22


def read_weights(sample_weight: ArrayLike | None, rows: int, who: str) -> FloatArray | None:
    """Check one weight a row: finite and not negative; None stays None, one number is for all."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{who}: sample_weight must be numbers, one a row; got some that are none. Convert "
            "them."
        ) from None
    if weight.shape == ():
        weight = np.full(rows, float(weight))
    weight = np.ascontiguousarray(weight)
    if weight.shape != (rows,):
        raise ParameterError(
            f"{who}: sample_weight must be one number for each of the {rows} rows; got an array of "
            f"shape {weight.shape}. Give a weight for each row."
        )
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ParameterError(
            f"{who}: sample_weight must be finite and at least 0; got {weight[at]:g} in row {at}. "
            "Correct that weight, or leave the row out."
        )
    if not is_weight(weight).all():
        used = weight[weight > 0]
        raise ParameterError(
            f"{who}: sample_weight must be 0 or between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}; got "
            f"{used.min():g} to {used.max():g}. Multiply all weights by one number."
        )
    return weight


def is_weight(numbers: FloatArray) -> NDArray[np.bool_]:
    """Return which numbers can be weights: 0, or such that sums of squares are numbers."""
    return np.asarray((numbers == 0) | ((numbers >= LEAST_WEIGHT) & (numbers <= MOST_WEIGHT)))


def bad_weight(who: str, column: str, value: float, place: str) -> TableError:
    """Return the error that says where a column of weights holds something else."""
    shown = "no number" if np.isnan(value) else f"{value:g}"
    return TableError(
        f"{who}: `weight=` must name a column of numbers that are 0 or from {LEAST_WEIGHT:g} to "
        f"{MOST_WEIGHT:g}; {place} holds {shown} in {column!r}.",
        hint="Correct that weight, or leave the row out.",
    )


def of_weights(error: TableError, name: str | None) -> TableError:
    """Return the error; if it refuses a text among weights, it says that these are weights."""
    text = f"column {name!r} is numeric but "
    if name is None or text not in error.message:
        return error
    rule = f"`weight=` must name a column of numbers; in {name!r} "
    hint = "Correct that weight, or leave the row out."
    return TableError(error.message.replace(text, rule), hint=hint)


def whole_repeats(weight: FloatArray) -> NDArray[np.intp] | None:
    """Return how often to repeat each row instead of weighing it; None if that cannot be done."""
    if np.any(weight % 1) or weight.sum() > MAX_REPEATED:
        return None
    return weight.astype(np.intp)


def weights_or_ones(sample_weight: ArrayLike | None, rows: int, who: str) -> FloatArray:
    """Return one weight a row, ones if none were given; some row must weigh something."""
    weight = read_weights(sample_weight, rows, who)
    weight = np.ones(rows) if weight is None else weight
    if not weight.sum() > 0:
        raise ParameterError(
            f"{who}: at least one row must have a positive weight; got {rows} rows of a total "
            "weight of 0. Give rows to judge by."
        )
    return weight
