"""Boundaries that leave equal weight between them, of all rows: one column in memory at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors.row_blocks import Part
from countwise.posteriors.sweeping import Line, middle

Doubles = NDArray[np.float64]

_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def equal_weight(parts: Sequence[Part], at: int, levels: int) -> Doubles:
    """Where to cut a numeric column so that its levels weigh about the same (P3, eq. 14 and 15).

    What `Line.quantiles` finds, but of a copy of the numbers alone, sorted where it is.
    """
    if any(part.weight is not None for part in parts):
        values = np.concatenate([np.asarray(part.columns[at], np.float64) for part in parts])
        weight = np.concatenate(
            [np.ones(len(part)) if part.weight is None else part.weight for part in parts]
        )
        line = Line.of(values, np.zeros(len(values), np.uint16), weight)
        return np.array([line.boundary(place) for place in line.quantiles(levels)])
    values = np.concatenate([part.columns[at][~np.isnan(part.columns[at])] for part in parts])
    if len(values) < 2 or levels < 2:
        return np.empty(0)
    values.sort()
    wanted = (len(values) * own / levels for own in range(1, levels))
    cuts = {_nearest(values, own) for own in wanted}
    return np.array(sorted(own for own in cuts if own is not None))


def _nearest(values: NDArray[Any], wanted: float) -> float | None:
    """The cut next to so many rows: before or after those that share the value reached there."""
    value = values[min(max(ceil(wanted), 1), len(values)) - 1]
    before, after = (int(np.searchsorted(values, value, side)) for side in _SIDES)
    if after == len(values) or (before > 0 and wanted - before < after - wanted):
        return middle(float(values[before - 1]), float(value)) if before else None
    return middle(float(value), float(values[after]))
