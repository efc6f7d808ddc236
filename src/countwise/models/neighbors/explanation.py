"""Who the nearest rows are: their numbers, labels, distances, and what each attribute adds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.models.explanation import Explanation
from countwise.models.neighbors.attribute_weights import informative
from countwise.models.neighbors.fit_space import Wanted, learned_space
from countwise.models.neighbors.index import Kept
from countwise.params import whole
from countwise.tables.table import Table


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The nearest training rows of some queries, nearest first.

    ``rows`` are their numbers among the rows that came to train with (from 0), ``labels`` their
    classes, or the numbers of a regressor, ``distances`` how far they are, and
    ``parts`` (queries × neighbours × attributes) what each attribute adds: the parts sum to the
    p-th power of the distance times the space's divisor, which is 1 but for ``gower``; where p is
    above 16 to the distance itself (for the maximum metric the largest part is the distance).

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
        """Return the neighbours of one query as plain data; rows are numbered from 1."""
        if not -len(self) <= query < len(self):
            raise ParameterError(
                f"Neighborhood: query must be a number below {len(self)}, for so many rows were "
                f"asked about, but {query} came. The first is 0."
            )
        return [
            {
                "row": int(self.rows[query, place]) + 1,
                "label": _plain(self.labels[query, place]),
                "distance": float(self.distances[query, place]),
                "parts": dict(zip(self.attributes, self.parts[query, place].tolist(), strict=True)),
            }
            for place in range(self.rows.shape[1])
        ]

    def describe(self, query: int = 0, most: int = 4) -> str:
        """Say in a line a neighbour who it is, how far, and which attributes differ most."""
        lines = []
        for place, own in enumerate(self.to_dict(query)):
            strong = sorted(own["parts"].items(), key=lambda item: -item[1])[:most]
            told = ", ".join(f"{name} {part:.3g}" for name, part in strong if part > 0)
            who = f"{place + 1}. row {own['row']}, {_told(own['label'])}"
            far = f"distance {own['distance']:.3g}" + (f" ({told})" if told else "")
            lines.append(f"{who}: {far}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        queries, k = self.rows.shape
        return f"<Neighborhood: the {k} nearest rows of each of {queries}>"


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _told(label: Any) -> str:
    return f"{label:.6g}" if isinstance(label, float) else str(label)


def neighborhood(
    kept: Kept,
    rows: Table,
    k: int,
    places: NDArray[np.int64] | None = None,
    values: FloatArray | None = None,
) -> Neighborhood:
    """Find the k nearest kept rows of each query; `places` are the numbers they came with."""
    there = kept.search.rows
    if not whole(at_least=1).admits(k):
        raise ParameterError(f"neighbors: k must be a whole number of at least 1, but {k!r} came.")
    who, powers = kept.search.nearest(rows, min(int(k), there))
    labels = values if not kept.table.labelled else kept.table.labels
    return Neighborhood(
        who if places is None else places[who],
        kept.space.rooted(powers),
        kept.search.parts(rows, who),
        np.empty(who.shape, object) if labels is None else np.asarray(labels[who]),
        tuple(column.name for column in kept.table.schema.attributes),
    )


@dataclass(frozen=True, eq=False)
class NeighborExplanation(Explanation):
    """The votes, explained: ``parts`` says how they move as the columns are looked at in turn.

    Without any column all rows are equally near and the votes are the class shares (``base``).
    Columns then enter one by one, the most informative first; each part is what the log share of a
    class gains by it, with one more vote spread like the class shares so that none is impossible.
    ``neighborhood`` tells who voted in the end.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> why = cw.Neighbors(n_neighbors=3, metric="vdm").fit(weather).explain(weather.take([0]))
    >>> print(why.describe().splitlines()[0])
    no (posterior 1.000) against yes: log-odds +1.653
    >>> print(why.describe().splitlines()[-1])
    3. row 2, no: distance 0.354 (windy 0.125)
    """

    shares: FloatArray
    neighborhood: Neighborhood

    @property
    def posteriors(self) -> FloatArray:
        """The shares of the votes."""
        return self.shares

    def to_dict(self, row: int = 0, label: Any = None, against: Any = None) -> dict[str, Any]:
        """Return one row's explanation as plain data, with its neighbours."""
        return super().to_dict(row, label, against) | {"neighbors": self.neighborhood.to_dict(row)}

    def describe(self, row: int = 0, most: int = 10) -> str:
        """Say one row's explanation in lines of text, the neighbours last."""
        return f"{super().describe(row, most)}\n{self.neighborhood.describe(row)}"


def explained(model: Any, table: Table, kept: Kept, near: Neighborhood) -> NeighborExplanation:
    """Explain a fitted model of neighbours; `near` are those of the rows of `table`."""
    rows, weight = model.rows_, model.sample_weight_
    columns = rows.schema.attributes
    prior = kept.electorate.total()
    prior = prior / prior.sum()
    order = np.argsort(-informative(rows, weight), kind="stable")
    parts = np.zeros((len(table), len(columns), len(prior)))
    last = np.broadcast_to(np.log(prior), (len(table), len(prior)))
    for size in range(1, len(order) + 1):
        inside = [columns[at].name for at in np.sort(order[:size])]
        now = np.log(_votes(model, table, kept, inside, prior))
        parts[:, order[size - 1]] = now - last
        last = now
    return NeighborExplanation(
        classes=tuple(model.classes_.tolist()),
        attributes=tuple(column.name for column in columns),
        values=tuple(
            tuple(table.cell_text(column.name, row) for column in columns)
            for row in range(len(table))
        ),
        base=np.log(prior),
        parts=parts,
        joint=np.asarray(last),
        shares=model._shares(table),
        neighborhood=near,
    )


def _votes(model: Any, table: Table, kept: Kept, names: list[str], prior: FloatArray) -> FloatArray:
    """Shares of the votes, and one more spread like the classes, by these columns alone."""
    every = [column.name for column in model.rows_.schema.attributes]
    k, scheme = model.votes_by
    if len(names) == len(every):
        own = kept
    else:
        factor = dict(zip(every, model.space_.weights.tolist(), strict=True))
        given = {name: factor[name] for name in names}
        if not any(given.values()):
            return np.broadcast_to(prior, (len(table), len(prior)))
        wanted = replace(Wanted.of(model), attribute_weights=given, drop_least=0.0)
        if wanted.metric == "mahalanobis":
            wanted = replace(wanted, attribute_weights=None)
        rows = model.rows_.select(names)
        space, _, _ = learned_space(wanted, rows, model.sample_weight_)
        own = Kept(space, rows, kept.electorate)
    votes = own.votes(table, k, scheme)
    total = votes.sum(axis=1, keepdims=True)
    shares = np.divide(votes, total, out=np.broadcast_to(prior, votes.shape).copy(),
                       where=total > 0)  # fmt: skip
    return np.asarray((k * shares + prior) / (k + 1.0))
