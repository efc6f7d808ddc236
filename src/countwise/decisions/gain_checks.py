"""What labels and cells a gain matrix must have, and the sentences that refuse others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from countwise.decisions.labels import Label, find, is_missing, plain
from countwise.decisions.sources import Grid
from countwise.errors import GainError, did_you_mean, listing

Rows: TypeAlias = tuple[tuple[float, ...], ...]


def checked_labels(labels: Iterable[Any], what: str) -> tuple[Label, ...]:
    """Return labels that are there and differ; `what` names them in a refusal."""
    names = tuple(plain(label) for label in labels)
    if not names:
        raise GainError(f"GainMatrix: at least one {what} is needed, but none came. Add labels.")
    for at, name in enumerate(names):
        if is_missing(name):
            raise GainError(
                f"GainMatrix: every {what} needs a label, but number {at + 1} is {name!r}. "
                "Write its label."
            )
        if name in names[:at]:
            raise GainError(
                f"GainMatrix: every {what} may come once, but {name!r} comes again as number "
                f"{at + 1}. Rename or remove one of them."
            )
    return names


def checked_gains(
    rows: Sequence[Sequence[Any]], classes: Sequence[Label], decisions: Sequence[Label]
) -> Rows:
    """Return finite gains, a row per class and a column per decision."""
    if len(decisions) > len(classes) and decisions[-1] in classes:
        raise GainError(
            f"GainMatrix: no_decision must be a label that is no class, but {decisions[-1]!r} is "
            f"one of {listing(classes)}. Choose another word."
        )
    width, height = len(decisions), len(classes)
    if len(rows) != height or any(len(row) != width for row in rows):
        widths = " or ".join(str(size) for size in sorted({len(row) for row in rows}))
        raise GainError(
            f"GainMatrix: the classes {listing(classes)} need {height} rows of {width} gains, but "
            f"{len(rows)} rows of {widths} came. Give a row per class and a column per decision, "
            "and name a last column for undecided cases with no_decision=."
        )
    return tuple(
        tuple(_gain(cell, true, label) for cell, label in zip(row, decisions, strict=True))
        for row, true in zip(rows, classes, strict=True)
    )


def _gain(cell: Any, true: Label, decision: Label) -> float:
    try:
        gain = math.nan if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError):
        gain = math.nan
    if not math.isfinite(gain):
        empty = cell is None or (isinstance(cell, str) and not cell)
        raise GainError(
            f"GainMatrix: the gain of calling {true!r} {decision!r} must be a finite number, but "
            f"{'an empty cell' if empty else repr(cell)} came. Write the number there."
        )
    return gain


def arranged(
    grid: Grid, no_decision: Label | None
) -> tuple[tuple[Label, ...], tuple[tuple[Any, ...], ...], Label | None]:
    """Return classes, cells with the columns in class order, and the label of the extra column."""
    who = f"GainMatrix: {grid.origin}:" if grid.origin else "GainMatrix:"
    true = checked_labels(grid.true, "true class")
    assigned = checked_labels(grid.assigned, "assigned label")
    columns = [find(label, assigned, "GainMatrix") for label in true]
    extra = [at for at in range(len(assigned)) if at not in columns]
    strangers = [assigned[at] for at in extra]
    for label, at in zip(true, columns, strict=True):
        if at < 0:
            raise GainError(
                f"{who} every true class must be an assigned label too, but {label!r} is none of "
                f"{listing(assigned)}. Add a column for it.{did_you_mean(label, strangers)}"
            )
    if len(extra) > 1:
        raise GainError(
            f"{who} at most one assigned label may be no class (the decision not to decide), but "
            f"{listing(strangers)} came. Keep one, or add rows for the classes among them."
        )
    if no_decision is not None and strangers != [no_decision]:
        raise GainError(
            f"{who} no_decision must be an assigned label that is no class, but {no_decision!r} "
            f"came and the columns are {listing(assigned)}. Name the column as it is written."
            f"{did_you_mean(no_decision, strangers)}"
        )
    cells = tuple(tuple(row[at] for at in columns + extra) for row in grid.cells)
    return true, cells, strangers[0] if strangers else None


def order_of(wanted: Sequence[Label], classes: Sequence[Label]) -> list[int]:
    """Return where each wanted class stands in the matrix; both must name the same classes."""
    order = [find(label, classes, "GainMatrix") for label in wanted]
    missing = [label for label, at in zip(wanted, order, strict=True) if at < 0]
    spare = [label for at, label in enumerate(classes) if at not in order]
    if missing:
        raise GainError(
            f"GainMatrix: every class needs a row and a column, but {listing(missing)} has none; "
            f"the matrix has {listing(classes)}. Add its gains.{did_you_mean(missing[0], spare)}"
        )
    if spare:
        raise GainError(
            f"GainMatrix: every true label must be a class, but {listing(spare)} is none of "
            f"{listing(wanted)}. Take its row and column out."
        )
    return order
