"""What was met on the way: counts over rows that merge, and the summary made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.errors import listing
from countwise.notes import Note

#: Levels never seen before that are remembered by name.
_MAX_NAMED = 1000


@dataclass(frozen=True)
class PredictionSummary:
    """What `predict_file` met on the way.

    Attributes
    ----------
    rows
        Number of rows.
    classes, decisions
        The classes, and what a decision may be.
    labelled_rows
        Number of rows whose class is known.
    accuracy, decision_accuracy
        Fraction of them in which the most probable class, or the decision, is right; None without
        such rows.
    gain_per_row
        Mean gain of the decisions on them; None without a gain matrix.
    unseen
        Counts of levels that training never saw, by column, the most frequent first.
    notes
        What was assumed about the file, columns that it lacks, and unseen levels in sentences.
    seconds
        The time it took.
    unit
        The unit of the gain, if the matrix has one.
    costs
        Whether the matrix was given as costs; the sentences then speak of costs.
    r2, mean_absolute_error, root_mean_squared_error
        How good predicted numbers are on the labelled rows; None for a model that predicts classes.
    """

    rows: int
    classes: tuple[Any, ...]
    decisions: tuple[Any, ...]
    labelled_rows: int
    accuracy: float | None
    decision_accuracy: float | None
    gain_per_row: float | None
    unseen: dict[str, dict[Any, int]]
    notes: tuple[Note | str, ...]
    seconds: float
    unit: str = ""
    costs: bool = False
    r2: float | None = None
    mean_absolute_error: float | None = None
    root_mean_squared_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data; those of the other kind of model are left out."""
        numbers = ("r2", "mean_absolute_error", "root_mean_squared_error")
        classes = ("classes", "decisions", "accuracy", "decision_accuracy", "gain_per_row")
        hidden = ("notes", *(numbers if self.classes else classes))
        return {name: value for name, value in vars(self).items() if name not in hidden}

    def sentences(self) -> list[str]:
        """Return how good the predictions are, where the class is known."""
        if self.mean_absolute_error is not None:
            r2 = "" if self.r2 is None else f"R² {self.r2:.4f}, "
            return [
                f"{r2}mean absolute error {self.mean_absolute_error:.4g}, root mean squared error "
                f"{self.root_mean_squared_error:.4g} on the {self.labelled_rows:,} rows whose "
                "value is known."
            ]
        if self.accuracy is None or self.decision_accuracy is None:
            return []
        rows = f"on the {self.labelled_rows:,} rows whose class is known"
        if self.gain_per_row is None:
            return [f"Accuracy {self.accuracy:.4f} {rows}."]
        unit = self.unit and f" {self.unit}"
        losing = "cost" if self.costs else "lose"
        verb = losing if self.gain_per_row < 0 else "earn"
        return [
            f"Accuracy of the most probable class {self.accuracy:.4f}, of the decision "
            f"{self.decision_accuracy:.4f} {rows}.",
            f"The decisions {verb} {abs(self.gain_per_row):.4g}{unit} per row on them.",
        ]

    def __str__(self) -> str:
        done = "classified" if self.classes else "predicted"
        head = f"{self.rows:,} rows were {done}."
        return "\n".join([head, *self.sentences(), *map(str, self.notes)])


@dataclass
class Errors:
    """Sums over rows by which predicted numbers are judged; they merge like counts."""

    rows: int = 0
    absolute: float = 0.0
    squared: float = 0.0
    mean: float = 0.0
    #: The squared deviations of the true numbers from their mean.
    spread: float = 0.0

    @classmethod
    def of(cls, truth: FloatArray, predicted: FloatArray) -> Errors:
        """Return the sums over some rows."""
        if not len(truth):
            return cls()
        missed, mean = truth - predicted, float(truth.mean())
        return cls(
            len(truth),
            float(np.abs(missed).sum()),
            float((missed**2).sum()),
            mean,
            float(((truth - mean) ** 2).sum()),
        )

    def add(self, other: Errors) -> None:
        """Add the sums over other rows."""
        rows = self.rows + other.rows
        if not rows:
            return
        gap = other.mean - self.mean
        self.spread += other.spread + gap**2 * self.rows * other.rows / rows
        self.mean += gap * other.rows / rows
        self.rows = rows
        self.absolute += other.absolute
        self.squared += other.squared

    @property
    def r2(self) -> float | None:
        """The fraction of the spread that the predictions explain; None if there is none."""
        return 1 - self.squared / self.spread if self.spread > 0 else None


@dataclass
class Tally:
    """Counts over rows: right answers, what they earned, levels never seen."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    decided_right: int = 0
    earned: float = 0.0
    errors: Errors = field(default_factory=Errors)
    unseen: dict[str, Counter[Any]] = field(default_factory=dict)
    #: Cells with levels beyond those remembered by name.
    others: Counter[str] = field(default_factory=Counter)
    #: Remarks on the file and its columns, each once.
    remarks: dict[Note, None] = field(default_factory=dict)
    #: Texts among numbers that were taken for missing, by column.
    marks: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add the counts over other rows."""
        self.rows += other.rows
        self.labelled += other.labelled
        self.right += other.right
        self.decided_right += other.decided_right
        self.earned += other.earned
        self.errors.add(other.errors)
        self.others.update(other.others)
        self.remarks.update(other.remarks)
        for name, marks in other.marks.items():
            self.marks.setdefault(name, Counter()).update(marks)
        for name, levels in other.unseen.items():
            self.add_unseen(name, levels)

    def add_unseen(self, name: str, levels: Mapping[Any, int]) -> None:
        """Add counts of levels of a column that training never saw."""
        known = self.unseen.setdefault(name, Counter())
        for level, times in levels.items():
            if level in known or len(known) < _MAX_NAMED:
                known[level] += times
            else:
                self.others[name] += times

    def notes(self, treatment: str) -> Iterator[Note | str]:
        """Yield remarks, and a sentence for each column with unseen levels and what was done."""
        yield from self.remarks
        for name, marks in self.marks.items():
            cells = sum(marks.values())
            yield Note.of("T21", name, marks=listing(marks), cells=cells)
        for name, levels in self.unseen.items():
            cells = sum(levels.values()) + self.others[name]
            shown = listing([level for level, _ in levels.most_common()], 3)
            hold, were = (
                ("cell holds a level", "it was")
                if cells == 1
                else ("cells hold levels", "they were")
            )
            more = " at least" if self.others[name] else ""
            yield (
                f"Column {name!r}: {cells} {hold} that training never saw ({shown}{more}); "
                f"{were} {treatment}."
            )
