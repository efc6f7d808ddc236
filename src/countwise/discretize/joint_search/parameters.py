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
        "a list of whole numbers, one a numeric column", admits, bad=([0, 3], 7.5, [1.5])
    )


class SearchParameters(DeclaredEstimator):
    """The parameters of every estimator that searches boundaries."""

    levels: str | Sequence[int] = parameter(
        one_of("entropy", "merit") | _levels(),
        "how the budget is shared: by 'entropy' (eq. 11 to 13), by 'merit' (boundaries go to the "
        "columns where they earn most, judged on validation rows), or given, one number a "
        "numeric column",
        default="entropy",
    )
    search: str | None = parameter(
        one_of("sweep", "paper") | nothing(),
        "'sweep', the random perturbation and sequential check of the 'paper', or None for equal "
        "weight in all levels (eq. 14 and 15)",
        default="sweep",
    )
    validation: float = parameter(
        fraction(zero=True),
        "fraction of the rows held out to judge by, from 1 000 rows on; after the search they "
        "are counted too. 0: the training rows judge",
        default=0.3,
    )
    correction: str = parameter(
        one_of("miller-madow", "printed", "none"),
        "bias correction of the entropies: 'miller-madow', 'printed' (eq. 11 to the letter) or "
        "'none'",
        default="miller-madow",
    )
    max_seconds: float | None = parameter(
        number(at_least=0) | nothing(),
        "when to end the search; the best so far counts",
        default=None,
    )
    random_state: Any = parameter(
        seed(), "random seed of the sample, the held-out rows and the paper's search", default=0
    )
