"""The gain matrix: what every decision earns for every true class."""

from __future__ import annotations

import csv
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise.decisions.read_gains import (
    SEPARATORS,
    Bare,
    Grid,
    PathLike,
    Rows,
    arrange,
    check_gains,
    check_labels,
    grid_from,
    grid_from_file,
    order_of,
)
from countwise.errors import GainError
from countwise.params import Constraint
from countwise.show_rows import html_table
from countwise.tables.labels import Label, plain, quoted
from countwise.tables.schema import Level

Reals = NDArray[np.float64]


def _amount(gain: float, losing: str, zero: str, unit: str) -> str:
    if gain == 0:
        return f"{zero} nothing"
    return f"{'earns' if gain > 0 else losing} {abs(gain):.10g}{unit and f' {unit}'}"


def idle_decisions(values: Reals, decisions: Sequence[Label]) -> tuple[str, ...]:
    """Name the decisions that another one, or for two classes any mixture, always beats."""
    sentences = []
    for at, label in enumerate(decisions):
        other = _beaten_by(values, at)
        if other is not None:
            sentences.append(
                f"'{label}' is never better than '{decisions[other]}', whatever the true class."
            )
        elif values.shape[0] == 2 and not _ever_best(values, at):
            sentences.append(f"'{label}' is never the best decision, whatever the posterior.")
    return tuple(sentences)


def _beaten_by(values: Reals, at: int) -> int | None:
    """Find a column at least as good in every row; of two equal columns the first one wins."""
    column = values[:, at]
    for other, better in enumerate(values.T):
        if np.all(better >= column) and other != at and (other < at or np.any(better > column)):
            return other
    return None


def _ever_best(values: Reals, at: int) -> bool:
    """Return for two classes whether a decision is the best at some posterior (p, 1 - p)."""
    # Where it is best is an interval of p, whose ends are 0, 1 or crossings of two lines.
    lead = values[:, [at]] - values
    slope = lead[0] - lead[1]
    crossings = -lead[1][slope != 0] / slope[slope != 0]
    points = np.concatenate([[0.0, 1.0], crossings[(crossings >= 0) & (crossings <= 1)]])
    leads = np.outer(points, lead[0]) + np.outer(1 - points, lead[1])
    scale = float(np.abs(values).max())
    return bool(np.any(np.all(leads >= -1e-12 * scale, axis=1)))


#: What a model's parameter `gain` must be; `GainMatrix.of` reads it.
GAIN_CONSTRAINT = Constraint(
    "a gain matrix",
    lambda thing: not (thing is None or isinstance(thing, numbers.Number)),
    bad=(7.5,),
)


@dataclass(frozen=True, repr=False)
class GainMatrix:
    """What every decision earns for every true class, by name, so that no order can slip.

    The columns stand in the order of the classes; one more decision, which is no class, may
    follow them: leaving the case undecided. Make one with `of`, `read` or `identity`;
    the plain constructor is for arrays already in order.

    Parameters
    ----------
    classes
        The true classes, in row order.
    rows
        The gains: a row per true class, a column per class and one for `no_decision` if given.
    no_decision
        The label of the decision not to decide, or None.
    readings
        Sentences on how the gains were read; they lead the `notes`.
    positional
        Whether the classes are mere positions, to be named by `align`.
    unit
        The unit of the gains, such as "€", for sentences, tables and pages.
    costs
        Whether the user gave costs, so that sentences, tables and pages speak of costs. The rows
        are gains all the same: a cost is a negative gain.

    Attributes
    ----------
    notes
        Sentences worth showing: how a bare array was read, which decision is never the best.

    Examples
    --------
    >>> from countwise.decisions.gain_matrix import GainMatrix
    >>> gains = GainMatrix.of({"bad": {"bad": 1, "good": -5}, "good": {"bad": -1, "good": 1}})
    >>> gains.values
    array([[ 1., -5.],
           [-1.,  1.]])
    >>> gains.sentences()[1]
    "Calling a 'bad' case 'good' loses 5."
    """

    classes: tuple[Label, ...] = field(metadata={"saved": tuple[Level, ...]})
    rows: Rows
    no_decision: Label | None = field(default=None, metadata={"saved": Level | None})
    readings: tuple[str, ...] = field(default=(), compare=False)
    positional: bool = field(default=False, compare=False)
    unit: str = field(default="", compare=False)
    costs: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse labels and cells that leave the meaning open."""
        object.__setattr__(self, "classes", check_labels(self.classes, "true class"))
        object.__setattr__(self, "no_decision", plain(self.no_decision))
        gains = check_gains(self.rows, self.classes, self.decisions)
        object.__setattr__(self, "rows", gains)

    @classmethod
    def of(
        cls,
        thing: Gains | None,
        classes: Iterable[Label] | None = None,
        costs: bool = False,
        no_decision: Label | None = None,
        unit: str = "",
    ) -> GainMatrix:
        """Read a gain matrix from anything that can be one; the door for user input.

        Parameters
        ----------
        thing
            A `GainMatrix`, a ``{true: {assigned: gain}}`` dict, the path of a CSV file, a data
            frame (true labels in a pandas index, else in the first column), or rows of numbers
            without labels. None, with classes, is `identity`.
        classes
            The classes in the order wanted. Labels are matched to them by equality, then by text.
            Rows without labels are taken in this order, rows true, and `notes` says so. Without
            classes they are refused, unless the matrix is symmetric: then it reads the same both
            ways, and its classes are the positions 0, 1, ... until `align` names them.
        costs
            Whether the numbers are costs, to be negated; words then speak of costs.
        no_decision
            The label of the decision not to decide. Found by itself where there are labels;
            needed for rows of numbers with a column more than there are classes.
        unit
            The unit of the gains, such as "€".

        Examples
        --------
        >>> GainMatrix.of([[1, -1], [-2, 3]], classes=["bad", "good"]).notes[0]
        "Bare array: rows are the true classes and columns the assigned ones, both in the order \
'bad', 'good'."
        """
        names = None if classes is None else tuple(plain(label) for label in classes)
        if unit:
            return replace(cls.of(thing, names, costs, no_decision), unit=unit)
        if thing is None and names is not None:
            return cls.identity(names)
        if isinstance(thing, GainMatrix):
            if no_decision not in (None, thing.no_decision):
                raise GainError(
                    "GainMatrix: no_decision must be that of the matrix, "
                    f"{thing.no_decision!r}; got {no_decision!r}.",
                    hint=("leave it out", "name it where the matrix is made"),
                )
            matrix = thing._from_costs() if costs else thing
        else:
            grid = thing if isinstance(thing, Grid | Bare) else grid_from(thing)
            if isinstance(grid, Bare):
                return cls._from_bare(grid, names, costs, no_decision)
            matrix = cls._from_grid(grid, costs, no_decision)
        return matrix if names is None else matrix.align(names)

    @classmethod
    def read(
        cls, path: PathLike, costs: bool = False, no_decision: Label | None = None
    ) -> GainMatrix:
        """Read a CSV file: assigned labels in the first row, true labels in the first column.

        Commas, semicolons and tabs are told apart, a byte-order mark is skipped, and a decimal
        comma is understood where the comma does not separate. All labels are text.
        """
        return cls._from_grid(grid_from_file(path), costs, no_decision)

    @classmethod
    def identity(cls, classes: Iterable[Label]) -> GainMatrix:
        """Return the matrix that earns 1 for the true class and 0 otherwise: its gain is accuracy.

        Examples
        --------
        >>> GainMatrix.identity(["bad", "good"]).values
        array([[1., 0.],
               [0., 1.]])
        """
        names = tuple(classes)
        return cls(names, tuple(tuple(row) for row in np.eye(len(names)).tolist()))

    @classmethod
    def _from_grid(cls, grid: Grid, costs: bool, no_decision: Label | None) -> GainMatrix:
        true, rows, extra = arrange(grid, no_decision)
        matrix = cls(true, rows, extra)
        return matrix._from_costs() if costs else matrix

    @classmethod
    def _from_bare(
        cls, bare: Bare, classes: tuple[Label, ...] | None, costs: bool, no_decision: Label | None
    ) -> GainMatrix:
        positional = classes is None
        if classes is None:
            if bare.cells != tuple(zip(*bare.cells, strict=True)):
                raise GainError(
                    "GainMatrix: rows of numbers without labels must be symmetric, so that either "
                    "side may be the true class; got others.",
                    hint=("give `classes=`", "labels on both sides: {true: {assigned: gain}}"),
                )
            classes = tuple(range(len(bare.cells)))
        last = "" if no_decision is None else f"; the last column is '{no_decision}'"
        reading = (
            "Bare array: rows are the true classes and columns the assigned ones, both in the "
            f"order {quoted(classes)}{last}."
        )
        matrix = cls(classes, bare.cells, no_decision, (reading,), positional)
        return matrix._from_costs() if costs else matrix

    def _from_costs(self) -> GainMatrix:
        """Return the gains that these numbers, which are costs, stand for."""
        return replace(-self, costs=True)

    @property
    def word(self) -> str:
        """What its numbers are called: "gain", or "cost" if the user gave costs."""
        return "cost" if self.costs else "gain"

    @property
    def score(self) -> str:
        """The score that it ranks by: ``expected_gain`` or ``expected_cost``."""
        return f"expected_{self.word}"

    @property
    def sign(self) -> float:
        """What to multiply gains by to show them: 1, or -1 to show costs."""
        return -1.0 if self.costs else 1.0

    @property
    def decisions(self) -> tuple[Label, ...]:
        """The labels of the columns: the classes, then the decision not to decide if any."""
        extra = () if self.no_decision is None else (self.no_decision,)
        return (*self.classes, *extra)

    @property
    def values(self) -> NDArray[np.float64]:
        """The gains as a read-only array, rows true, columns assigned."""
        array = np.array(self.rows, dtype=np.float64).reshape(len(self.rows), -1)
        array.flags.writeable = False
        return array

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences worth showing beside the matrix."""
        doubt = (self.doubt,) if self.doubt else ()
        return self.readings + doubt + idle_decisions(self.values, self.decisions)

    @property
    def doubt(self) -> str:
        """A sentence if the right decision earns least in every row, as if costs were given.

        Examples
        --------
        >>> GainMatrix.of({"bad": {"bad": 0, "good": 5}, "good": {"bad": 1, "good": 0}}).doubt
        'For every true class the right decision earns least: these look like costs, not gains.'
        """
        right = np.eye(len(self.classes), len(self.decisions), dtype=bool)
        others = np.where(right, np.inf, self.values).min(axis=1)
        if len(self.decisions) < 2 or not np.all(self.values[right] < others):
            return ""
        most, other = ("costs most", "gain") if self.costs else ("earns least", "cost")
        return (
            f"For every true class the right decision {most}: these look like {other}s, not "
            f"{self.word}s."
        )

    def sentences(self) -> list[str]:
        """Return every cell as a sentence, row by row.

        Examples
        --------
        >>> gains = GainMatrix.of({0: {0: 0, 1: -2, "ask": -0.5}, 1: {0: -1, 1: 3, "ask": -0.5}})
        >>> gains.sentences()[:3]
        ["Calling a '0' case '0' earns nothing.", "Calling a '0' case '1' loses 2.", \
"Leaving a '0' case undecided costs 0.5."]
        """
        sentences = []
        losing, zero = ("costs", "costs") if self.costs else ("loses", "earns")
        for true, row in zip(self.classes, self.rows, strict=True):
            for assigned, gain in zip(self.classes, row, strict=False):
                amount = _amount(gain, losing, zero, self.unit)
                sentences.append(f"Calling a '{true}' case '{assigned}' {amount}.")
            if self.no_decision is not None:
                amount = _amount(row[-1], "costs", zero, self.unit)
                sentences.append(f"Leaving a '{true}' case undecided {amount}.")
        return sentences

    def weigh(self, posterior: Sequence[float]) -> dict[str, Any]:
        """Weigh the decisions for one row: what each is expected to earn or cost, and the best.

        Parameters
        ----------
        posterior
            The probabilities of the classes, in the order of the matrix.

        Examples
        --------
        >>> gains = GainMatrix.of({"bad": {"bad": 0, "good": -5}, "good": {"bad": -1, "good": 0}})
        >>> gains.weigh([0.25, 0.75])["sentence"]
        "Most likely 'good' (75 %), decided 'bad': expected gain −0.75 against −1.25 for 'good'."
        """
        expected = np.asarray(posterior, dtype=np.float64) @ self.values
        likely, best = int(np.argmax(posterior)), int(np.argmax(expected))
        shown = self.sign * expected + 0.0
        chosen = f"decided '{self.decisions[best]}': expected {self.word} {self._text(shown[best])}"
        others = [at for at in np.argsort(-expected, kind="stable").tolist() if at != best]
        rival = likely if likely != best else (others or [best])[0]
        if rival != best:
            other = f"{self._text(shown[rival])} for '{self.decisions[rival]}'"
            chosen += f" against {other}"
        return {
            "likely": self.classes[likely],
            "decision": self.decisions[best],
            "measure": self.word,
            "expected": dict(zip(map(str, self.decisions), shown.tolist(), strict=True)),
            "sentence": f"Most likely '{self.classes[likely]}' ({100 * posterior[likely]:.0f} %), "
            f"{chosen}.",
        }

    def _text(self, figure: float) -> str:
        return f"{figure:.3g}{self.unit and f' {self.unit}'}".replace("-", "−")

    def describe(self) -> str:
        """Return the sentences and notes as one text, a line each."""
        return "\n".join([*self.sentences(), *self.notes])

    def to_dict(self) -> dict[Label, dict[Label, float]]:
        """Return ``{true: {assigned: gain}}``."""
        return {
            true: dict(zip(self.decisions, row, strict=True))
            for true, row in zip(self.classes, self.rows, strict=True)
        }

    def write(self, path: PathLike) -> None:
        """Write a CSV file that `read` reads back; labels become text."""
        quoted_labels = any(mark in str(name) for name in self.decisions for mark in SEPARATORS)
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(
                file,
                lineterminator="\n",
                quoting=csv.QUOTE_NONNUMERIC if quoted_labels else csv.QUOTE_MINIMAL,
            )
            writer.writerow(["true \\ assigned", *self.decisions])
            writer.writerows(
                [true, *row] for true, row in zip(self.classes, self.rows, strict=True)
            )

    def align(self, classes: Iterable[Label]) -> GainMatrix:
        """Return the same gains with rows and columns in the order of these classes.

        Examples
        --------
        >>> read = GainMatrix.of({"1": {"1": 3, "0": -2}, "0": {"1": -1, "0": 1}})
        >>> read.align([0, 1]).values
        array([[ 1., -1.],
               [-2.,  3.]])
        """
        names = tuple(plain(label) for label in classes)
        if self.positional and len(names) == len(self.classes):
            named = self._from_bare(Bare(self.rows), names, False, self.no_decision)
            return replace(named, unit=self.unit, costs=self.costs)
        order = order_of(names, self.classes)
        columns = order if self.no_decision is None else [*order, len(self.classes)]
        rows = tuple(tuple(self.rows[at][column] for column in columns) for at in order)
        return replace(self, classes=names, rows=rows)

    def __neg__(self) -> GainMatrix:
        """Turn gains into costs and costs into gains."""
        return replace(self, rows=tuple(tuple(0.0 - cell for cell in row) for row in self.rows))

    def __repr__(self) -> str:
        """Show the matrix as the call that makes it."""
        body = ", ".join(
            f"{true!r}: {{"
            + ", ".join(f"{label!r}: {self.sign * gain + 0.0:.10g}" for label, gain in row.items())
            + "}"
            for true, row in self.to_dict().items()
        )
        return f"GainMatrix.of({{{body}}}{', costs=True' if self.costs else ''})"

    def _repr_html_(self) -> str:
        """Show the matrix in a notebook."""
        rows = (self.sign * self.values + 0.0).tolist()
        lines = [[true, *row] for true, row in zip(self.classes, rows, strict=True)]
        unit = f" in {self.unit}" if self.unit else ""
        title = f"{self.word.capitalize()}{unit} by true class (rows) and decision (columns)"
        return html_table(["", *self.decisions], lines, title)


Gains: TypeAlias = (
    GainMatrix | Mapping[Any, Mapping[Any, float]] | PathLike | Sequence[Sequence[float]] | Any
)
