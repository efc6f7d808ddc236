"""The quantizer as a transformer: numbers cut together, for any model that wants levels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.decisions.gain_matrix import GAIN_CONSTRAINT, GainMatrix
from countwise.discretize.cut_points import interval_names
from countwise.discretize.cuts import CutTransformer
from countwise.discretize.joint_search.parameters import SearchParameters
from countwise.discretize.joint_search.rows import Part, held_out, seeded, tally
from countwise.discretize.joint_search.search import Wishes, quantize
from countwise.discretize.joint_search.sweep import GAIN, Aim
from countwise.discretize.joint_search.time_limit import SearchClock
from countwise.errors import ParameterError
from countwise.notes import Note
from countwise.params import fitted, nothing, number, one_of, parameter
from countwise.tables.schema import Column
from countwise.tables.table import Table
from countwise.tables.weights import read_weights


class Quantizer(SearchParameters, CutTransformer):
    """Cut numeric columns together within a budget of cells, where it tells or earns most.

    The search of `DiscreteBayes` on its own, to go in front of any other model. Frames, arrays and
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
    >>> {name: own.round(2).tolist() for name, own in quantizer.cut_points_.items()}
    {'x0': [0.3], 'x1': [0.8]}
    >>> quantizer.transform([[0.1, 0.9]])
    array([[0., 1.]])
    """

    aim: str = parameter(
        one_of("accuracy", "gain", "information"),
        "what the boundaries are fitted to: 'accuracy', 'gain' by the matrix given, or "
        "'information' about the class",
        default="accuracy",
        kw_only=False,
    )
    gain: Any = parameter(
        nothing() | GAIN_CONSTRAINT,
        "gains by true class and decision, in the order of the classes or by name",
        default=None,
    )
    budget: float = parameter(number(at_least=1), "how many cells there may be", default=10000)
    history_: list[dict[str, Any]] = fitted("the steps of the search")
    notes_: tuple[Note, ...] = fitted("remarks about the search")

    @property
    def _way(self) -> str:
        return f"aim {self.aim!r}"

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the boundaries."""
        self._check_parameters()
        numbers = self._numbers(X, reset=True)
        rows = len(X) if isinstance(X, Table) or not numbers else len(next(iter(numbers.values())))
        weight = read_weights(sample_weight, rows, "Quantizer")
        codes, _ = self._classes(X, y, rows)
        kept = np.ones(rows, bool) if weight is None else weight > 0
        if not kept.any():
            raise ParameterError("Quantizer: the sample weights must not all be zero.")
        present, target = np.unique(codes[kept], return_inverse=True)
        own = Part(
            tuple(values[kept] for values in numbers.values()),
            target.reshape(-1).astype(np.uint16),
            None if weight is None else weight[kept],
        )
        self._search(own, tuple(numbers), self._labels(X, y, present))
        return self

    @staticmethod
    def _labels(X: Any, y: ArrayLike | None, present: NDArray[Any]) -> list[Any]:
        if isinstance(X, Table) and y is None:
            return [X.classes[place] for place in present]
        return list(np.unique(np.asarray(y))[present].tolist())

    def _search(self, own: Part, names: tuple[str, ...], labels: list[Any]) -> None:
        rng, clock = seeded(self.random_state), SearchClock(self.max_seconds, None)
        part = held_out(own, self.validation if self.search is not None else 0.0, rng)
        by_class = np.zeros((2, len(labels)))
        tally(part, by_class)
        found = quantize(
            [part],
            [Column(name, "numeric") for name in names],
            len(labels),
            Wishes(float(self.budget), self.levels, self.correction, self.search),
            self._aim(labels, by_class.sum(axis=0)),
            (float(by_class[0].sum()), float(by_class[1].sum())),
            by_class.sum(axis=0) / by_class.sum(),
            clock,
            rng,
            "Quantizer",
        )
        edges = {axis.name: axis.edges for axis in found.axes}
        self.cut_points_ = {name: own for name, own in edges.items() if own is not None}
        self.interval_names_ = {n: interval_names(own) for n, own in self.cut_points_.items()}
        self.history_ = clock.history
        self.notes_ = tuple(found.notes)

    def _aim(self, labels: list[Any], weight: FloatArray) -> Aim:
        if self.aim == "information":
            return Aim.information(len(labels))
        given = self.gain if self.aim == "gain" else None
        gains = GainMatrix.of(given, labels).values.copy()
        return Aim(GAIN, gains, gains, 0.0, int((weight @ gains).argmax()))
