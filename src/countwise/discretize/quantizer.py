"""A transformer that cuts all numeric columns together, in front of any model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.decisions.gain_matrix import GAIN_CONSTRAINT, GainMatrix
from countwise.discretize.cuts import CutTransformer
from countwise.discretize.joint_search.rows import Part, SearchTask
from countwise.discretize.joint_search.search import SearchParameters, quantize
from countwise.discretize.joint_search.sweep import GAIN, Aim
from countwise.notes import Note
from countwise.params import fitted, nothing, number, one_of, parameter
from countwise.tables.schema import Column
from countwise.tables.table import Table


class Quantizer(SearchParameters, CutTransformer):
    """Cut numeric columns together within a budget of cells, where it tells or earns most.

    The search of `DiscreteBayes` alone, to go in front of any other model. Frames, arrays and
    tables come out as they do from `Cuts`.

    Attributes
    ----------
    cut_points_
        By column, where it is cut.
    interval_names_
        By column, the names of its intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import countwise as cw
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)).round(3)
    >>> y = (X[:, 0] > 0.3) ^ (X[:, 1] > 0.8)
    >>> quantizer = cw.Quantizer(budget=4, random_state=0).fit(X, y)
    >>> {name: cuts.round(2).tolist() for name, cuts in quantizer.cut_points_.items()}
    {'x0': [0.3], 'x1': [0.8]}
    >>> quantizer.transform([[0.1, 0.9]])
    array([[0., 1.]])
    """

    aim: str = parameter(
        one_of("accuracy", "gain", "information"),
        "what the boundaries maximize: 'accuracy', expected 'gain' (see gain), or 'information' "
        "about the class",
        default="accuracy",
        kw_only=False,
    )
    gain: Any = parameter(
        nothing() | GAIN_CONSTRAINT,
        "gain matrix, by true class and decision, in the order of the classes or by name",
        default=None,
    )
    budget: float = parameter(number(at_least=1), "largest number of cells", default=10000)
    history_: list[dict[str, Any]] = fitted("the steps of the search")
    notes_: tuple[Note, ...] = fitted("notes on the search")

    _way = "aim"

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the boundaries."""
        numbers, codes, _, weight = self._read_training(X, y, sample_weight)
        kept = np.ones(len(codes), bool) if weight is None else weight > 0
        present, target = np.unique(codes[kept], return_inverse=True)
        labels = self._labels(X, y, present)
        part = Part(
            tuple(values[kept] for values in numbers.values()),
            target.reshape(-1).astype(np.uint16),
            None if weight is None else weight[kept],
        )
        columns = [Column(name, "numeric") for name in numbers]
        task = SearchTask(self, part, columns, len(labels), hold_out=self.search is not None)
        aim = self._aim(labels, task.by_class.sum(axis=0))
        found = quantize(task, float(self.budget), aim)
        self._keep({axis.name: axis.edges for axis in found.axes if axis.edges is not None})
        self.history_ = task.clock.history
        self.notes_ = found.notes
        return self

    @staticmethod
    def _labels(X: Any, y: ArrayLike | None, present: NDArray[Any]) -> list[Any]:
        if isinstance(X, Table) and y is None:
            return [X.classes[place] for place in present]
        return list(np.unique(np.asarray(y))[present].tolist())

    def _aim(self, labels: list[Any], weight: FloatArray) -> Aim:
        if self.aim == "information":
            return Aim.information(len(labels))
        gains = GainMatrix.of(self.gain if self.aim == "gain" else None, labels).values.copy()
        return Aim(GAIN, gains, gains, 0.0, int((weight @ gains).argmax()))
