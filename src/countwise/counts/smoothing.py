"""From counts to shares: how much is added so that a level never seen is not held impossible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError

__all__ = ["Laplace", "MEstimate", "Smoothing", "smoothing_of"]

Doubles = NDArray[np.float64]


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

    def shares(self, counts: Doubles) -> Doubles:
        """Share of each level (columns) within each class (rows)."""
        classes, levels = counts.shape
        return self._divided(counts, levels if self.by == "values" else classes)

    def with_unseen(self, counts: Doubles) -> Doubles:
        """The shares as if one more level had been known and never counted."""
        wider = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
        return self._divided(wider, wider.shape[1] if self.by == "values" else len(counts))

    def _divided(self, counts: Doubles, number: int) -> Doubles:
        total = counts.sum(axis=1, keepdims=True) + self.alpha * number
        even = 1.0 / max(counts.shape[1], 1)
        shares: Doubles = np.divide(
            counts + self.alpha, total, out=np.full_like(counts, even), where=total > 0
        )
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

    def shares(self, counts: Doubles) -> Doubles:
        """Share of each level (columns) within each class (rows)."""
        levels = max(counts.shape[1], 1)
        p: Any = self.p
        if self.p == "uniform":
            p = np.full(levels, 1.0 / levels)
        elif self.p == "overall":
            every = counts.sum(axis=0)
            p = every / every.sum() if every.sum() > 0 else np.full(levels, 1.0 / levels)
        total = counts.sum(axis=1, keepdims=True) + self.m
        even = np.full_like(counts, 1.0 / levels)
        shares: Doubles = np.divide(counts + self.m * p, total, out=even, where=total > 0)
        return shares

    def with_unseen(self, counts: Doubles) -> Doubles:
        """The shares as if one more level had been known and never counted."""
        wider = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
        return self.shares(wider)


Smoothing = Laplace | MEstimate


def smoothing_of(given: float | str | Smoothing | Mapping[str, Any] | None) -> Smoothing:
    """Bring what a user writes to a smoothing: a number is Laplace's alpha, None adds nothing.

    Examples
    --------
    >>> smoothing_of(0.5), smoothing_of(None)
    (Laplace(alpha=0.5, by='values'), Laplace(alpha=0.0, by='values'))
    """
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
