"""Parameters of the boundary search, shared by `DiscreteBayes` and `Quantizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise.params import Constraint, Parameter, instance, nothing, number, one_of, whole


def _share() -> Constraint:
    part = number(at_least=0)
    return Constraint(
        "a share of at least 0 and below 1",
        lambda value: part.admits(value) and float(value) < 1,
        good=(0.0, 0.25),
        bad=(-0.1, 1.0, "half"),
    )


def _levels() -> Constraint:
    def admits(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | np.ndarray):
            return False
        try:
            given = np.asarray(value)
        except ValueError:
            return False
        return given.ndim == 1 and (
            given.size == 0 or (given.dtype.kind in "iu" and int(given.min()) >= 1)
        )

    return Constraint(
        "a list of whole numbers, one a numeric column", admits, bad=([0, 3], 7.5, [1.5])
    )


#: One line a parameter; see `countwise.params`.
SEARCH_PARAMETERS: Mapping[str, Parameter] = {
    "levels": Parameter(one_of("entropy", "merit") | _levels(), "how the budget is shared"),
    "search": Parameter(one_of("sweep", "paper") | nothing(), "how boundaries are found"),
    "validation": Parameter(_share(), "share of the rows held out to judge by"),
    "correction": Parameter(one_of("miller-madow", "printed", "none"), "bias of entropies"),
    "max_seconds": Parameter(number(at_least=0) | nothing(), "when to end the search"),
    "random_state": Parameter(
        whole(at_least=0) | nothing() | instance(np.random.RandomState, np.random.Generator),
        "which rows are held out and sampled",
    ),
}
