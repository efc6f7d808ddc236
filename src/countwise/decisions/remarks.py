"""What a gain matrix says in words: its cells, and the decisions it can never favour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise.decisions.labels import Label

Reals = NDArray[np.float64]


def gain_sentences(values: Reals, classes: Sequence[Label], no_decision: Label | None) -> list[str]:
    """Say every cell of a gain matrix in a sentence, row by row."""
    said: list[str] = []
    for true, row in zip(classes, values, strict=True):
        for assigned, gain in zip(classes, row, strict=False):
            said.append(f"Calling a '{true}' case '{assigned}' {_amount(gain, 'loses')}.")
        if no_decision is not None:
            said.append(f"Leaving a '{true}' case undecided {_amount(row[-1], 'costs')}.")
    return said


def _amount(gain: float, losing: str) -> str:
    if gain == 0:
        return "earns nothing"
    return f"{'earns' if gain > 0 else losing} {abs(gain):.10g}"


def idle_decisions(values: Reals, decisions: Sequence[Label]) -> tuple[str, ...]:
    """Name the decisions that another one, or for two classes any mixture, always beats."""
    said = []
    for at, label in enumerate(decisions):
        other = _beaten_by(values, at)
        if other is not None:
            said.append(
                f"'{label}' is never better than '{decisions[other]}', whatever the true class."
            )
        elif values.shape[0] == 2 and not _ever_best(values, at):
            said.append(f"'{label}' is never the best decision, whatever the posterior.")
    return tuple(said)


def _beaten_by(values: Reals, at: int) -> int | None:
    """Find a column at least as good in every row; of two equal columns the first one wins."""
    mine = values[:, at]
    for other in range(values.shape[1]):
        theirs = values[:, other]
        if np.all(theirs >= mine) and other != at and (other < at or np.any(theirs > mine)):
            return other
    return None


def _ever_best(values: Reals, at: int) -> bool:
    """Tell for two classes whether a decision is the best at some posterior (p, 1 - p).

    Where a decision is best is an interval of p, whose ends are 0, 1 or crossings of two lines.
    """
    lead = values[:, [at]] - values
    slope = lead[0] - lead[1]
    crossings = -lead[1][slope != 0] / slope[slope != 0]
    points = np.concatenate([[0.0, 1.0], crossings[(crossings >= 0) & (crossings <= 1)]])
    leads = np.outer(points, lead[0]) + np.outer(1 - points, lead[1])
    scale = float(np.abs(values).max())
    return bool(np.any(np.all(leads >= -1e-12 * scale, axis=1)))
