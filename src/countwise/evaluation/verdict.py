"""The ranking in words: one sentence that says what the data support, and the table above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from countwise.evaluation.intervals import Estimate


def sentence(
    leader: str,
    others: Sequence[str],
    baseline: str | None,
    difference: Callable[[str], Estimate],
    score: str,
) -> str:
    """Say whom the leader is ahead of, by how much, and from whom it cannot be told apart.

    `difference` gives the leader's advantage over another entry with its interval.
    """
    words = score.replace("_", " ")
    if not others:
        return f"{leader} was the only entry: there is nothing to compare it with."
    gaps = {name: difference(name) for name in others}
    behind = [name for name in others if gaps[name].low > 0]
    level = [name for name in others if name not in behind]
    ahead = _ahead(leader, behind, gaps, words)
    if leader == baseline:
        return (
            f"No model does better than {leader} in {words}: the attributes did not help"
            f"{_apart(level)}."
        )
    if baseline is not None and baseline in level:
        gap = gaps[baseline]
        return (
            f"{leader} leads in {words}, but the data do not show that it beats {baseline}: the "
            f"difference is {_figures(gap)}."
        )
    if not level:
        return f"{ahead}."
    if not behind:
        return f"{leader} leads in {words}, but {_cannot(leader, level)}."
    return f"{ahead}; {_cannot('it', level)}."


def _ahead(leader: str, behind: Sequence[str], gaps: dict[str, Estimate], words: str) -> str:
    if not behind:
        return ""
    nearest = min(behind, key=lambda name: gaps[name].value)
    more = f", the nearest of them, {nearest}, by" if len(behind) > 1 else " by"
    return f"{leader} is ahead of {_joined(behind)} in {words}{more} {_figures(gaps[nearest])}"


def _cannot(who: str, level: Sequence[str]) -> str:
    if len(level) == 1:
        return f"{who} and {level[0]} cannot be told apart on these rows"
    return f"{who} cannot be told apart from {_joined(level)} on these rows"


def _apart(level: Sequence[str]) -> str:
    return f", and {_cannot('it', level)}" if level else ""


def _joined(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _figures(gap: Estimate) -> str:
    return f"{gap.value:.3g} ({100 * gap.level:g} % interval {gap.low:.3g} to {gap.high:.3g})"


def table_of(lines: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Lay lines out in columns; numbers with four digits, what is unknown as a dash."""
    cells = [[_shown(line[name]) for name in columns] for line in lines]
    heads = [name.replace("_", " ") for name in columns]
    widths = [max(len(row[at]) for row in [heads, *cells]) for at in range(len(columns))]
    left = [isinstance(lines[0][name], str) if lines else True for name in columns]

    def laid(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([laid(heads), *map(laid, cells)])


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
