"""Parameters of the boundary search, shared by `DiscreteBayes` and `Quantizer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise.params import Constraint, fraction, nothing, number, one_of, parameter, seed
from countwise.tables.estimator import DeclaredEstimator


def _levels() -> Constraint:
    def admits(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | np.ndarray):
            return False
        try:
            widths = np.asarray(value)
        except ValueError:
            return False
        whole = widths.size == 0 or (widths.dtype.kind in "iu" and int(widths.min()) >= 1)
        return widths.ndim == 1 and whole

    return Constraint(
        "a list of whole numbers, one for each numeric column", admits, bad=([0, 3], 7.5, [1.5])
    )


class SearchParameters(DeclaredEstimator):
    """The parameters of every estimator that searches boundaries."""

    levels: str | Sequence[int] = parameter(
        one_of("entropy", "merit") | _levels(),
        "how the budget is divided among the columns: by 'entropy' (eq. 11 to 13), by 'merit' "
        "(boundaries go where they are most useful on validation rows), or as a list with the "
        "number of levels of each numeric column",
        default="entropy",
    )
    search: str | None = parameter(
        one_of("sweep", "paper") | nothing(),
        "how boundaries are found: 'sweep' (see docs/discrete-bayes.md), 'paper' (the paper's "
        "random moves, then single steps), or None (no search: all levels of a column have equal "
        "weight, eq. 14 and 15)",
        default="sweep",
    )
    validation: float = parameter(
        fraction(zero=True),
        "fraction of the rows held out to evaluate boundaries, if there are at least 1 000 rows; "
        "after the search they are counted, too. 0: boundaries are evaluated on the training rows",
        default=0.3,
    )
    correction: str = parameter(
        one_of("miller-madow", "printed", "none"),
        "bias correction of the entropies: 'miller-madow', 'printed' (eq. 11 exactly as printed) "
        "or 'none'",
        default="miller-madow",
    )
    max_seconds: float | None = parameter(
        number(at_least=0) | nothing(),
        "time limit of the search; the best boundaries so far are then used",
        default=None,
    )
    random_state: Any = parameter(
        seed(),
        "random seed of the sample, the held-out rows and the search of the paper",
        default=0,
    )
