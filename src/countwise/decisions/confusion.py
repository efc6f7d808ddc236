"""Confusion matrices: the joint probabilities of the true class and the decision.

Panda and Garg, eq. 6: P(c_j, c_k) is the sum over the cases of f_d(c_k) P(c_j, d); rows are the
true classes, columns the decisions. Their eq. 7 weighs it with the gains.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.decisions.class_prior import Prior, class_shares
from countwise.decisions.expected_gain import earned_by_cells, gains_of
from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.show_rows import html_table
from countwise.tables.labels import Label, as_array, find, plain, positions
from countwise.tables.weights import weights_or_ones

Reals: TypeAlias = NDArray[np.float64]
Cells: TypeAlias = tuple[tuple[float, ...], ...]

#: Printed probabilities are rounded: four digits in a dozen cells may miss one by this much.
SLACK = 1e-2
#: The most decisions of which `repr` shows the table.
_MOST_SHOWN = 12


def count_cells(
    true: NDArray[Any], decided: NDArray[Any], shape: tuple[int, int], weight: Reals | None = None
) -> Reals:
    """Return the weight of every true class (row) and decision, given as positions or shares."""
    if decided.ndim == 1:
        place = true.astype(np.intp) * shape[1] + decided
        counted = np.bincount(place, weights=weight, minlength=shape[0] * shape[1])
        return counted.astype(np.float64).reshape(shape)
    weight = np.ones(len(true)) if weight is None else weight
    columns = [np.bincount(true, weight * share, shape[0]) for share in decided.T]
    return np.stack(columns, axis=1)


def recall(cells: Reals) -> Reals:
    """Return for each class the share of its rows that are called so; NaN without such rows."""
    return _ratio(np.diagonal(cells), cells.sum(axis=1))


def precision(cells: Reals) -> Reals:
    """Return for each class the share of rows called so that are so; NaN where none is."""
    return _ratio(np.diagonal(cells), cells.sum(axis=0)[: len(cells)])


@dataclass(frozen=True, repr=False)
class Confusion:
    """The joint probabilities of true class and decision, to read accuracy, recall and gain off.

    Make one with `of` from data, or with `from_joint` from printed probabilities.

    Parameters
    ----------
    classes
        The true classes, in row order.
    decisions
        The decisions, in column order: the classes, then the decision not to decide if any.
    weighed
        The weight of the cases in each cell, before any prior.
    probabilities
        The joint probabilities.

    Examples
    --------
    >>> from countwise.decisions.confusion import Confusion
    >>> printed = Confusion.from_joint([[0.4699, 0.0311], [0.0043, 0.4947]])
    >>> round(printed.expected_gain([[1, -1], [-2, 3]]), 4)
    1.9143
    >>> printed
    <Confusion of 2 classes, accuracy 0.965>
    true / decided       0       1
    0               0.4699  0.0311
    1               0.0043  0.4947
    """

    classes: tuple[Label, ...]
    decisions: tuple[Label, ...]
    weighed: Cells
    probabilities: Cells

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        shares_or_labels: ArrayLike,
        classes: Iterable[Any],
        sample_weight: ArrayLike | None = None,
        prior: Prior | None = None,
        decisions: Iterable[Any] | None = None,
    ) -> Confusion:
        """Count the decisions on cases whose class is known.

        Parameters
        ----------
        y
            The true labels.
        shares_or_labels
            Either one decision per case, or a table of shares f_d(c) with a column per decision,
            as a rule's `shares` gives it.
        classes
            The classes, in the order wanted.
        sample_weight
            A weight per case.
        prior
            Class shares to stand in for the data's own: a mapping, an array in class order, or
            ``'uniform'``. Each row is weighed to have this share.
        decisions
            The decisions, in the order of the columns; without them the classes and, if one
            label among the decisions taken is no class, that label.

        Examples
        --------
        >>> Confusion.of(["a", "a", "b", "b"], ["a", "b", "b", "b"], ["a", "b"]).joint
        array([[0.25, 0.25],
               [0.  , 0.5 ]])
        """
        names = tuple(plain(label) for label in classes)
        true = positions(y, names, "Confusion")
        _refuse_unknown(true, y, names)
        table = as_array(shares_or_labels)
        columns = None if decisions is None else tuple(plain(label) for label in decisions)
        if table.ndim == 2 and table.shape[1] != 1:
            shares, columns = _as_shares(table, names, columns)
        else:
            shares, columns = _from_labels(table, names, columns)
        if len(shares) != len(true):
            raise ParameterError(
                f"Confusion: there must be a decision for each of the {len(true)} labels of y; "
                f"got {len(shares)}.",
                hint="Give both for the same cases",
            )
        weights = weights_or_ones(sample_weight, len(true), "Confusion")
        counts = count_cells(true, shares, (len(names), len(columns)), weights)
        joint = _with_prior(counts, class_shares(prior, names, "Confusion"), names)
        return cls(names, columns, as_cells(counts), as_cells(joint))

    @classmethod
    def from_joint(
        cls,
        joint: ArrayLike,
        classes: Iterable[Any] | None = None,
        decisions: Iterable[Any] | None = None,
    ) -> Confusion:
        """Take joint probabilities as they stand, such as a paper's; `counts` is the same table.

        Without classes they are the positions 0, 1, ...
        """
        table = np.asarray(joint, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] - table.shape[0] not in (0, 1):
            raise ParameterError(
                "Confusion: joint probabilities must have a row per class and a column per "
                f"decision; got the shape {table.shape}.",
                hint="Give a square table, or one more column for undecided cases",
            )
        names = tuple(range(len(table))) if classes is None else tuple(map(plain, classes))
        columns = tuple(map(plain, decisions)) if decisions is not None else names
        if len(columns) < table.shape[1] and decisions is None:
            columns = (*names, "no decision")
        if (len(names), len(columns)) != table.shape:
            raise ParameterError(
                f"Confusion: a table of shape {table.shape} must have a label for every row and "
                f"column; got {len(names)} classes and {len(columns)} decisions."
            )
        if not np.all(table >= 0) or abs(table.sum() - 1.0) > SLACK:
            raise ParameterError(
                "Confusion: joint probabilities must be at least 0 and sum to 1; got "
                f"{table.min():g} as the least and {table.sum():g} as the sum.",
                hint=("divide counts by their sum", "use Confusion.of"),
            )
        return cls(names, columns, as_cells(table), as_cells(table))

    @property
    def counts(self) -> Reals:
        """The weight of the cases in each cell: rows true, columns decided."""
        return np.array(self.weighed)

    @property
    def joint(self) -> Reals:
        """P(true class, decision), summing to one (eq. 6)."""
        return np.array(self.probabilities)

    @property
    def accuracy(self) -> float:
        """The probability that the decision is the true class; undecided is not right."""
        return float(np.diagonal(self._ordered).sum())

    @property
    def undecided(self) -> float:
        """The probability of leaving a case undecided."""
        idle = [at for at, label in enumerate(self.decisions) if label not in self.classes]
        return float(self.joint[:, idle].sum())

    @property
    def recall(self) -> Reals:
        """For each class, the share of its cases that are called so; nan if it has no case."""
        return recall(self._ordered)

    @property
    def precision(self) -> Reals:
        """For each class, the share of the cases called so that are so; nan if none is."""
        return precision(self._ordered)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have cases."""
        return float(np.nanmean(self.recall))

    def expected_gain(self, gain: Gains) -> float:
        """Weigh the table with the gains of each cell (eq. 7).

        Examples
        --------
        >>> Confusion.from_joint([[0.5, 0.0], [0.25, 0.25]]).expected_gain([[1, -1], [-2, 3]])
        0.75
        """
        matrix = GainMatrix.of(gain, self.classes, no_decision=self._idle_label(gain))
        return earned_by_cells(gains_of(matrix, self.decisions), self.joint)

    def __repr__(self) -> str:
        """Show the joint probabilities as a table; of many classes only the accuracy."""
        head = f"<Confusion of {len(self.classes)} classes, accuracy {self.accuracy:.3f}>"
        if len(self.decisions) > _MOST_SHOWN:
            return head
        rows = [["true / decided", *map(str, self.decisions)]]
        rows += [
            [str(label), *(f"{share:.4f}" for share in row)]
            for label, row in zip(self.classes, self.probabilities, strict=True)
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers, ready for JSON; nan becomes None."""
        return {
            "classes": list(self.classes),
            "decisions": list(self.decisions),
            "counts": self.counts.tolist(),
            "joint": self.joint.tolist(),
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "undecided": self.undecided,
            "recall": [None if np.isnan(share) else share for share in self.recall.tolist()],
            "precision": [None if np.isnan(share) else share for share in self.precision.tolist()],
        }

    @property
    def _ordered(self) -> Reals:
        """The joint probabilities with the columns of the classes first, in class order."""
        first = [find(label, self.decisions, "Confusion", ParameterError) for label in self.classes]
        rest = [at for at in range(len(self.decisions)) if at not in first]
        return self.joint[:, first + rest]

    def _idle_label(self, gain: Gains) -> Label | None:
        """Name the extra column of a bare array as this table names its own."""
        if not isinstance(gain, np.ndarray | list | tuple) or np.ndim(gain[0]) != 1:
            return None
        extra = [label for label in self.decisions if label not in self.classes]
        return extra[0] if extra and len(gain[0]) > len(self.classes) else None

    def _repr_html_(self) -> str:
        """Show the counts, recall and precision in a notebook."""
        columns = zip(
            self.classes,
            self.counts.tolist(),
            self.recall.tolist(),
            self.precision.tolist(),
            strict=True,
        )
        lines = [[true, *cells, recall, precision] for true, cells, recall, precision in columns]
        return html_table(
            ["", *self.decisions, "recall", "precision"],
            lines,
            "True classes (rows) and decisions (columns)",
            f"accuracy {self.accuracy:.4g}",
        )


def _refuse_unknown(at: NDArray[np.intp], y: Any, classes: tuple[Label, ...]) -> None:
    if np.any(at < 0):
        row = int(np.argmin(at))
        label = plain(as_array(y).ravel()[row])
        raise ParameterError(
            f"Confusion: every label must be one of {listing(classes)}; got {label!r} in row "
            f"{row}.",
            hint=did_you_mean(label, classes).strip() or "Add it to the classes",
        )


def _as_shares(
    table: NDArray[Any], names: tuple[Label, ...], columns: tuple[Label, ...] | None
) -> tuple[Reals, tuple[Label, ...]]:
    shares = np.asarray(table, dtype=np.float64)
    if columns is None:
        columns = names if shares.shape[1] == len(names) else (*names, "no decision")
    if shares.shape[1] != len(columns):
        raise ParameterError(
            f"Confusion: shares must have a column for each of {listing(columns)}; got "
            f"{shares.shape[1]} columns.",
            hint="Give the decisions in the order of the columns",
        )
    if not np.all(shares >= 0) or not np.allclose(shares.sum(axis=1), 1.0):
        raise ParameterError(
            "Confusion: the shares of a case must be at least 0 and sum to 1; got others.",
            hint="Pass what a rule's shares() returns",
        )
    return shares, columns


def _from_labels(
    table: NDArray[Any], names: tuple[Label, ...], columns: tuple[Label, ...] | None
) -> tuple[Reals, tuple[Label, ...]]:
    decided = positions(table, columns or names, "Confusion")
    extra = sorted({plain(label) for label in table.ravel()[decided < 0]}, key=str)
    if columns is not None or len(extra) > 1:
        _refuse_unknown(decided, table, columns or names)
    columns = columns or (*names, *extra)
    decided = np.where(decided < 0, len(names), decided)
    return np.eye(len(columns))[decided], columns


def _with_prior(counts: Reals, prior: Reals | None, names: tuple[Label, ...]) -> Reals:
    if prior is None:
        return np.asarray(counts / counts.sum())
    totals = counts.sum(axis=1)
    empty = [label for label, total, p in zip(names, totals, prior, strict=True) if p and not total]
    if empty:
        raise ParameterError(
            f"Confusion: a class with a prior must have cases in y; got none of {listing(empty)}.",
            hint="Give it a prior of 0, or cases",
        )
    ratio = np.divide(prior, totals, out=np.zeros_like(totals), where=totals > 0)
    return np.asarray(counts * ratio[:, np.newaxis])


def _ratio(part: Reals, whole: Reals) -> Reals:
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))


def as_cells(table: Reals) -> Cells:
    """Return a table as tuples, which a frozen `Confusion` can hold."""
    return tuple(tuple(row) for row in table.tolist())
