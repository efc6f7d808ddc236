"""Who the nearest rows are: their numbers, labels, distances, and what each attribute adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError
from countwise.params import whole
from countwise.posteriors.nearest import Kept
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


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
    >>> near = cw.Neighbors(k=2).fit(weather).neighbors(weather.take([3]))
    >>> print(near.describe())
    1. row 4, yes: distance 0
    2. row 8, no: distance 1 (outlook 1)
    """

    rows: NDArray[np.int64]
    distances: Doubles
    parts: Doubles
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
    values: Doubles | None = None,
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
