"""Turn counts into probabilities that are not zero for levels that were never counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from countwise._typing import FloatArray
from countwise.errors import ParameterError, did_you_mean
from countwise.params import Constraint, number

#: A number, or one for each figure.
Number = float | FloatArray


class _Shares:
    """Shares of whole tables, from a rule for the share of a level."""

    def imagined(
        self, levels: Number, classes: int, in_all: Callable[[], FloatArray]
    ) -> tuple[Number, Number]:
        """Return how many rows are imagined with a level, and how many with any.

        `in_all` returns the level's share in all classes together.
        """
        raise NotImplementedError

    def share(self, count: FloatArray, total: FloatArray, levels: Number) -> FloatArray:
        """Return the share of levels with these counts among `total` rows; classes come first."""
        more, whole = self.imagined(levels, len(count), lambda: share_in_all(count, total, levels))
        whole = total + whole
        even = np.full_like(count, 1.0 / np.maximum(levels, 1))
        return np.asarray(np.divide(count + more, whole, out=even, where=whole > 0))

    def shares(self, counts: FloatArray) -> FloatArray:
        """Return the share of each level (second axis) within each class (first axis)."""
        return self.share(counts, counts.sum(axis=1, keepdims=True), counts.shape[1])

    def with_unseen(self, counts: FloatArray) -> FloatArray:
        """Return the shares as if one more level had been known and never counted."""
        return self.shares(np.concatenate([counts, np.zeros((len(counts), 1))], axis=1))


@dataclass(frozen=True)
class Laplace(_Shares):
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
            raise ParameterError("Laplace", "alpha", "a number of at least 0", self.alpha)
        if self.by not in ("values", "classes"):
            raise ParameterError("Laplace", "by", "'values' or 'classes'", self.by)

    def imagined(
        self, levels: Number, classes: int, in_all: Callable[[], FloatArray]
    ) -> tuple[Number, Number]:
        """Return how many rows are imagined with a level, and how many with any."""
        return self.alpha, self.alpha * (levels if self.by == "values" else classes)


@dataclass(frozen=True)
class MEstimate(_Shares):
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
            raise ParameterError("MEstimate", "m", "a number of at least 0", self.m)
        known = self.p in ("uniform", "overall") if isinstance(self.p, str) else 0 <= self.p <= 1
        if not known:
            raise ParameterError("MEstimate", "p", "'uniform', 'overall' or from 0 to 1", self.p)

    def imagined(
        self, levels: Number, classes: int, in_all: Callable[[], FloatArray]
    ) -> tuple[Number, Number]:
        """Return how many rows are imagined with a level, and how many with any."""
        p: Any = self.p
        if self.p == "uniform":
            p = 1.0 / np.maximum(levels, 1)
        elif self.p == "overall":
            p = in_all()
        return self.m * p, self.m


def share_in_all(count: FloatArray, total: FloatArray, levels: Number) -> FloatArray:
    """Return the share of levels in all classes together; their axis, the first, is kept."""
    every, rows = count.sum(axis=0, keepdims=True), total.sum(axis=0, keepdims=True)
    even = np.full_like(every, 1.0 / np.maximum(levels, 1))
    return np.asarray(np.divide(every, rows, out=even, where=rows > 0))


Smoothing = Laplace | MEstimate

_AN_AMOUNT = number(at_least=0)
#: What a text may be: a word, and after colons a number and how to spread it.
_FORMS = "'laplace', 'laplace:0.5', 'laplace:classes', 'm-estimate:2' or 'm-estimate:2:overall'"


def smoothing_of(smoothing: float | str | Smoothing | None) -> Smoothing:
    """Read a smoothing as a user writes it, in Python or in a shell.

    A number is Laplace's alpha and None adds nothing. A text is ``laplace`` or ``m-estimate``, and
    after colons a number and how to spread it.

    Examples
    --------
    >>> smoothing_of("laplace:classes")
    Laplace(alpha=1.0, by='classes')
    >>> smoothing_of("m-estimate:3:overall")
    MEstimate(m=3.0, p='overall')
    """
    if isinstance(smoothing, Laplace | MEstimate):
        return smoothing
    if smoothing is None or smoothing == "none":
        return Laplace(0.0)
    if isinstance(smoothing, str):
        return _parse(smoothing)
    if not _AN_AMOUNT.admits(smoothing):
        raise ParameterError("smoothing", "smoothing", a_smoothing().words, smoothing)
    return Laplace(float(smoothing))


def _parse(text: str) -> Smoothing:
    """Read ``laplace:0.5:classes`` or ``m-estimate:2:overall``; the rest is optional."""
    word, *rest = text.strip().casefold().split(":")
    spreads = {"laplace": ("values", "classes"), "m-estimate": ("uniform", "overall")}
    figures: list[float] = []
    spread = rest.pop() if rest and rest[-1] in spreads.get(word, ()) else ""
    try:
        figures = [float(part) for part in rest]
    except ValueError:
        word = ""
    most = 2 if word == "m-estimate" and not spread else 1
    if word not in spreads or len(figures) > most:
        near = did_you_mean(text.partition(":")[0], spreads).strip()
        raise ParameterError("smoothing", "smoothing", f"a number, None, {_FORMS}", text, near)
    settings: dict[str, Any] = {"by" if word == "laplace" else "p": spread} if spread else {}
    rule: Any = Laplace if word == "laplace" else MEstimate
    found: Smoothing = rule(*figures, **settings)
    return found


def a_smoothing() -> Constraint:
    """What `smoothing_of` reads."""

    def admits(value: Any) -> bool:
        try:
            smoothing_of(value)
        except ParameterError:
            return False
        return True

    return Constraint(
        f"a number of at least 0, None, {_FORMS}",
        admits,
        good=(
            0,
            0.5,
            None,
            "laplace",
            "laplace:0.5:classes",
            "m-estimate:2",
            Laplace(),
            MEstimate(),
        ),
        bad=(
            -1,
            "no such word",
            "laplace:x",
            "m-estimate:-1",
            "laplace:1:2",
            "laplace:classes:1",
            [],
            True,
        ),
    )
