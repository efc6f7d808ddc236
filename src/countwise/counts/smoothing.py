"""From counts to shares: how much is added so that a level never seen is not held impossible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from countwise._typing import FloatArray
from countwise.errors import ParameterError


@dataclass(frozen=True)
class Laplace:
    """Add `alpha` to every count: (n + alpha) / (N + alpha · number of values).

    ``by="classes"`` divides by N + alpha · number of classes instead, as Kuo's slides print it; the
    shares of a column then sum to one only if it has as many values as there are classes.
    ``Laplace(0)`` adds nothing.

    Examples
    --------
    >>> Laplace(1).shares(np.array([[2.0, 0.0, 1.0]]))
    array([[0.5       , 0.16666667, 0.33333333]])
    """

    alpha: float = 1.0
    by: Literal["values", "classes"] = "values"

    def __post_init__(self) -> None:
        """Refuse what would make a share negative."""
        if not np.isfinite(self.alpha) or self.alpha < 0:
            raise ParameterError(
                f"Laplace: alpha must be a number of at least 0, but {self.alpha!r} came."
            )
        if self.by not in ("values", "classes"):
            raise ParameterError(
                f"Laplace: by must be 'values' or 'classes', but {self.by!r} came."
            )

    def shares(self, counts: FloatArray) -> FloatArray:
        """Share of each level (second axis) within each class (first axis) and further axes."""
        return self.share(counts, counts.sum(axis=1, keepdims=True), counts.shape[1])

    def with_unseen(self, counts: FloatArray) -> FloatArray:
        """The shares as if one more level had been known and never counted."""
        wider = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
        return self.shares(wider)

    def share(self, own: FloatArray, total: FloatArray, levels: int) -> FloatArray:
        """Share of levels counted `own` times among `total` rows; classes on the first axis."""
        number = levels if self.by == "values" else len(own)
        whole = total + self.alpha * number
        even = np.full_like(own, 1.0 / max(levels, 1))
        shares: FloatArray = np.divide(own + self.alpha, whole, out=even, where=whole > 0)
        return shares


@dataclass(frozen=True)
class MEstimate:
    """Add `m` imagined rows spread by `p`: (n + m·p) / (N + m) (Cestnik 1990; Kuo's slides).

    `p` is ``"uniform"`` (one over the number of values), ``"overall"`` (the level's share in all
    classes together) or a number used for every level, as the slides have it.

    Examples
    --------
    >>> MEstimate(m=3).shares(np.array([[2.0, 0.0, 1.0]]))
    array([[0.5       , 0.16666667, 0.33333333]])
    """

    m: float = 2.0
    p: Literal["uniform", "overall"] | float = "uniform"

    def __post_init__(self) -> None:
        """Refuse what would make a share negative."""
        if not np.isfinite(self.m) or self.m < 0:
            raise ParameterError(
                f"MEstimate: m must be a number of at least 0, but {self.m!r} came."
            )
        if isinstance(self.p, str):
            if self.p not in ("uniform", "overall"):
                raise ParameterError(
                    f"MEstimate: p must be 'uniform', 'overall' or a number, but {self.p!r} came."
                )
        elif not 0 <= self.p <= 1:
            raise ParameterError(f"MEstimate: p must lie between 0 and 1, but {self.p!r} came.")

    def shares(self, counts: FloatArray) -> FloatArray:
        """Share of each level (second axis) within each class (first axis) and further axes."""
        return self.share(counts, counts.sum(axis=1, keepdims=True), counts.shape[1])

    def share(self, own: FloatArray, total: FloatArray, levels: int) -> FloatArray:
        """Share of levels counted `own` times among `total` rows; classes on the first axis."""
        p: Any = self.p
        even = 1.0 / max(levels, 1)
        if self.p == "uniform":
            p = even
        elif self.p == "overall":
            every, rows = own.sum(axis=0, keepdims=True), total.sum(axis=0, keepdims=True)
            p = np.divide(every, rows, out=np.full_like(every, even), where=rows > 0)
        whole = total + self.m
        shares: FloatArray = np.divide(
            own + self.m * p, whole, out=np.full_like(own, even), where=whole > 0
        )
        return shares

    def with_unseen(self, counts: FloatArray) -> FloatArray:
        """The shares as if one more level had been known and never counted."""
        wider = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
        return self.shares(wider)


Smoothing = Laplace | MEstimate


def smoothing_of(given: float | str | Smoothing | Mapping[str, Any] | None) -> Smoothing:
    """Bring what a user writes to a smoothing: a number is Laplace's alpha, None adds nothing."""
    if isinstance(given, Laplace | MEstimate):
        return given
    if given is None or given == "none":
        return Laplace(0.0)
    if given == "laplace":
        return Laplace(1.0)
    if isinstance(given, str | bytes | bool):
        raise ParameterError(
            f"smoothing must be a number, None, Laplace(...) or MEstimate(...), but {given!r} came."
        )
    return Laplace(float(given))  # type: ignore[arg-type]
