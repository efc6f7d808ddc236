"""Explain and show votes by the nearest rows: distances, and what each attribute adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.models.explanation import Explanation
from countwise.models.neighbors.attribute_weights import information_gains
from countwise.models.neighbors.index import Index
from countwise.models.neighbors.metrics import learn_space
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import smooth_fractions
from countwise.models.views import NearRow, NeighborSample, SampleRow
from countwise.tables.labels import plain, text
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.neighbors.base import StoredRowsClassifier, StoredRowsRegressor


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The nearest training rows of some queries, nearest first.

    ``rows`` are their numbers among the training rows (from 0), ``labels`` their classes, or the
    targets of a regressor, ``distances`` how far they are, and ``parts`` (queries × neighbors ×
    attributes) what each attribute adds: the parts sum to the p-th power of the distance times the
    divisor of the space, which is 1 except for ``gower``; where p is above 16 to the distance
    itself (for the maximum metric the largest part is the distance).

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> near = cw.Neighbors(n_neighbors=2).fit(weather).neighbors(weather.take([3]))
    >>> print(near.describe())
    1. row 4, yes: distance 0
    2. row 8, no: distance 1 (outlook 1)
    """

    rows: NDArray[np.int64]
    distances: FloatArray
    parts: FloatArray
    labels: NDArray[Any]
    attributes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self, query: int = 0) -> list[dict[str, Any]]:
        """Return the neighbors of one query as plain data; rows are numbered from 1."""
        if not -len(self) <= query < len(self):
            rule = f"a number below {len(self)}, the number of queries"
            raise ParameterError("Neighborhood", "query", rule, query)
        return [
            {
                "row": int(self.rows[query, place]) + 1,
                "label": plain(self.labels[query, place]),
                "distance": float(self.distances[query, place]),
                "parts": dict(zip(self.attributes, self.parts[query, place].tolist(), strict=True)),
            }
            for place in range(self.rows.shape[1])
        ]

    def describe(self, query: int = 0, most: int = 4) -> str:
        """Describe each neighbor in a line: its distance, and the attributes that differ most."""
        lines = []
        for place, neighbor in enumerate(self.to_dict(query), start=1):
            label = neighbor["label"]
            label = f"{label:.6g}" if isinstance(label, float) else str(label)
            strong = sorted(neighbor["parts"].items(), key=lambda item: -item[1])[:most]
            parts = ", ".join(f"{name} {part:.3g}" for name, part in strong if part > 0)
            far = f"distance {neighbor['distance']:.3g}" + (f" ({parts})" if parts else "")
            lines.append(f"{place}. row {neighbor['row']}, {label}: {far}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        queries, k = self.rows.shape
        return f"<Neighborhood: the {k} nearest rows of each of {queries}>"


@dataclass(frozen=True, eq=False)
class NeighborExplanation(Explanation):
    """The votes, explained: ``parts`` holds how they change as columns enter one by one.

    Without any column all rows are equally near and the votes are the class frequencies
    (``base``). Columns then enter one by one, the most informative first; each part is what the log
    posterior of a class gains by it. Without smoothing one more vote is spread like the class
    frequencies in the parts, so that no class is impossible. ``neighborhood`` holds the rows that
    voted in the end.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> why = cw.Neighbors(n_neighbors=3, metric="vdm").fit(weather).explain(weather.take([0]))
    >>> print(why.describe().splitlines()[0])
    no (posterior 0.839) against yes: log-odds +1.653
    >>> print(why.describe().splitlines()[-1])
    3. row 2, no: distance 0.354 (windy 0.125)
    """

    fractions: FloatArray
    neighborhood: Neighborhood

    @property
    def posteriors(self) -> FloatArray:
        """The smoothed fractions of the votes."""
        return self.fractions

    def to_dict(self, row: int = 0, label: Any = None, against: Any = None) -> dict[str, Any]:
        """Return the explanation of one row as plain data, with its neighbors."""
        return super().to_dict(row, label, against) | {"neighbors": self.neighborhood.to_dict(row)}

    def describe(self, row: int = 0, most: int = 10) -> str:
        """Describe the explanation of one row in lines of text, the neighbors last."""
        return f"{super().describe(row, most)}\n{self.neighborhood.describe(row)}"


def explain_votes(model: StoredRowsClassifier, table: Table, index: Index) -> NeighborExplanation:
    """Explain the votes of a fitted model about the rows of a table."""
    rows = model.rows_
    names = [column.name for column in rows.schema.attributes]
    prior = model.class_shares
    order = np.argsort(-information_gains(rows, model.sample_weight_), kind="stable")
    parts = np.zeros((len(table), len(names), len(prior)))
    last = np.broadcast_to(np.log(prior), (len(table), len(prior)))
    for size in range(1, len(order) + 1):
        now = np.log(_smooth_votes(model, table, index, np.sort(order[:size]), prior))
        parts[:, order[size - 1]] = now - last
        last = now
    return NeighborExplanation(
        classes=tuple(model.classes_.tolist()),
        attributes=tuple(names),
        values=table.cell_texts(names),
        base=np.log(prior),
        parts=parts,
        joint=np.asarray(last),
        fractions=model.smooth(model.vote_fractions(table), model.amount),
        neighborhood=model.find_neighbors(table, model.k_and_weights[0]),
    )


def _smooth_votes(
    model: StoredRowsClassifier, table: Table, index: Index, places: NDArray[np.intp],
    prior: FloatArray,
) -> FloatArray:  # fmt: skip
    """Return the smoothed fractions of the votes by some columns."""
    k, scheme = model.k_and_weights
    if len(places) == len(model.rows_.schema.attributes):
        fractions = model.vote_fractions(table)
    else:
        weights = model.space_.weights[places]
        if not weights.any():
            return np.broadcast_to(prior, (len(table), len(prior)))
        rows = model.rows_.select([model.rows_.schema.attributes[place].name for place in places])
        factors = None if model.metric == "mahalanobis" else weights
        space = learn_space(
            rows, model.metric, float(model.p), model.scale, model.when_missing, factors,
            model.sample_weight_,
        )  # fmt: skip
        votes = Index(Search(space, rows), index.voters).sum_votes(table, k, scheme)
        total = votes.sum(axis=1, keepdims=True)
        fractions = np.divide(votes, total, out=np.broadcast_to(prior, votes.shape).copy(),
                              where=total > 0)  # fmt: skip
    smooth = model.smooth(fractions, model.amount)
    return smooth if smooth.all() else smooth_fractions(fractions, prior, k, 1.0)


@dataclass(frozen=True, eq=False)
class NumberExplanation:
    """A predicted number, explained: ``base + parts.sum(axis=1) = predictions``.

    Without any column all rows are equally near, and the prediction is the mean of the training
    rows (``base``). Columns then enter one by one; a part is what the prediction changes by a
    column, averaged over the order of the table and the opposite one. ``neighborhood`` holds the
    rows that count in the end.

    Examples
    --------
    >>> import countwise as cw
    >>> iris = cw.read("sample:iris", target="petal_width", drop=["class"])
    >>> why = cw.NeighborsRegressor().fit(iris).explain(iris.take([0]))
    >>> print(why.describe().splitlines()[0])
    0.32: mean of the training rows 1.199
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    base: float
    parts: FloatArray
    predictions: FloatArray
    neighborhood: Neighborhood

    def __len__(self) -> int:
        return len(self.parts)

    def to_dict(self, row: int = 0) -> dict[str, Any]:
        """Return one row's explanation as plain data, the strongest attribute first."""
        order = np.argsort(-np.abs(self.parts[row]), kind="stable")
        return {
            "prediction": float(self.predictions[row]),
            "mean": self.base,
            "parts": [
                {
                    "attribute": self.attributes[place],
                    "value": self.values[row][place],
                    "change": float(self.parts[row, place]),
                }
                for place in order
            ],
            "neighbors": self.neighborhood.to_dict(row),
        }

    def describe(self, row: int = 0, most: int = 10) -> str:
        """Return one row's explanation in lines of text."""
        facts = self.to_dict(row)
        lines = [f"{facts['prediction']:.4g}: mean of the training rows {facts['mean']:.4g}"]
        for part in facts["parts"][:most]:
            lines.append(f"  {part['change']:+8.4g}  {part['attribute']} = {part['value']}")
        if len(facts["parts"]) > most:
            rest = sum(part["change"] for part in facts["parts"][most:])
            lines.append(f"  {rest:+8.4g}  {len(facts['parts']) - most} further attributes")
        return "\n".join([*lines, self.neighborhood.describe(row)])


def explain_number(model: StoredRowsRegressor, table: Table) -> NumberExplanation:
    """Explain the predictions of a regressor by models of fewer columns."""
    names = [column.name for column in model.rows_.schema.attributes]
    predictions = model.predict(table)
    base = model.mean_target
    parts = np.zeros((len(table), len(names)))
    for order in (names, names[::-1]):
        before = np.full(len(table), base)
        for shown in range(1, len(names) + 1):
            after = predictions
            if shown < len(names):
                chosen = [name for name in names if name in order[:shown]]
                after = _with_columns(model, chosen).predict(table.select(chosen))
            parts[:, names.index(order[shown - 1])] += (after - before) / 2
            before = after
    values = table.cell_texts(names)
    shown = min(model.k_and_weights[0], MAX_NEIGHBORS)
    near = model.find_neighbors(table, shown)
    return NumberExplanation(tuple(names), values, base, parts, predictions, near)


def _with_columns(model: StoredRowsRegressor, names: list[str]) -> StoredRowsRegressor:
    """Return the model of the same rows with these columns only."""
    every = [column.name for column in model.rows_.schema.attributes]
    weights = model.space_.weights[[every.index(name) for name in names]]
    rows, factors = model.rows_.select(names), None if model.metric == "mahalanobis" else weights
    space = learn_space(
        rows, model.metric, float(model.p), model.scale, model.when_missing, factors,
        model.sample_weight_,
    )  # fmt: skip
    part: StoredRowsRegressor = clone(model)
    return part.store_rows(rows, model.sample_weight_, space, None, model.target_)


#: Rows that are sampled, and the neighbors shown of each: as many as decide, within these limits.
MAX_SAMPLES, MIN_NEIGHBORS, MAX_NEIGHBORS = 8, 3, 10


def neighbor_sample(model: Any, k: int | None) -> NeighborSample:
    """Return stored rows and their neighbors, of which `k` decide (None if that varies)."""
    table, target = model.rows_, model.target_
    classes = () if target is not None else tuple(map(text, model.classes_.tolist()))
    places = _spread(target) if target is not None else _by_class(table.target)
    shown = min(max(k or MAX_NEIGHBORS, MIN_NEIGHBORS), MAX_NEIGHBORS)
    near = model.find_neighbors(table.take(places), shown + 1)
    distances = np.nan_to_num(near.distances)  # one may be beyond the largest double
    numbers = places if model.places_ is None else model.places_[places]
    labels = table.labels if target is None else target
    attributes = tuple(column.name for column in table.schema.attributes)
    samples = []
    for at, (place, number) in enumerate(zip(places.tolist(), numbers.tolist(), strict=True)):
        others = [
            NearRow(int(row) + 1, _text(label), float(distance))
            for row, label, distance in zip(
                near.rows[at], near.labels[at], distances[at], strict=True
            )
            if row != number
        ]
        values = tuple(table.cell_text(name, place) for name in attributes)
        samples.append(
            SampleRow(int(number) + 1, _text(labels[place]), values, tuple(others[:shown]))
        )
    nearest = "the one nearest to it" if k == 1 else f"the {k} nearest to it"
    note = (
        f"{model.n_rows_:,} rows are stored. A new row is decided by "
        f"{'those within reach' if k is None else nearest}, by the {model.metric} distance. "
        "Shown are a few stored rows and the other stored rows nearest to them."
    )
    return NeighborSample(
        model.n_rows_,
        k,
        str(model.metric),
        classes,
        attributes,
        tuple(samples),
        note,
        _stretch(model.space_, len(attributes)),
    )


def _text(label: Any) -> str:
    return f"{label:.6g}" if isinstance(label, float) else text(label)


def _by_class(target: NDArray[Any]) -> NDArray[np.intp]:
    """A few rows of each class, evenly by position; one each of the most frequent if many."""
    classes, size = np.unique(target, return_counts=True)
    chosen = np.sort(np.argsort(-size, kind="stable")[:MAX_SAMPLES])
    rows = [np.flatnonzero(target == classes[at]) for at in chosen]
    return np.concatenate(
        [places[_evenly(len(places), MAX_SAMPLES // len(rows))] for places in rows]
    )


def _spread(target: FloatArray) -> NDArray[np.intp]:
    """Rows from the smallest to the largest target, evenly by rank."""
    return np.asarray(np.argsort(target, kind="stable")[_evenly(len(target), MAX_SAMPLES)])


def _evenly(rows: int, most: int) -> NDArray[np.intp]:
    """At most so many positions, from the first to the last."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.intp))


def _stretch(space: Space, attributes: int) -> FloatArray | None:
    """The factor of each attribute, where the distance is Euclidean; else None."""
    if space.p != 2 or space.whitening is not None:
        return None
    stretch = np.ones(attributes)
    for axis in space.axes:
        stretch[axis.attribute] = axis.stretch
    return stretch
