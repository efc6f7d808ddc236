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

__all__ = ["Neighborhood", "neighborhood"]

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The nearest training rows of some queries, nearest first.

    ``rows`` are their numbers in the training table (from 0), ``distances`` how far they are, and
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
        return [
            {
                "row": int(self.rows[query, place]) + 1,
                "label": self.labels[query, place].item()
                if isinstance(self.labels[query, place], np.generic)
                else self.labels[query, place],
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
            lines.append(
                f"{place + 1}. row {own['row']}, {own['label']}: distance {own['distance']:.3g}"
                + (f" ({told})" if told else "")
            )
        return "\n".join(lines)


def neighborhood(kept: Kept, rows: Table, k: int) -> Neighborhood:
    """Find the k nearest kept rows of each query."""
    there = kept.search.rows
    if not whole(at_least=1).admits(k):
        raise ParameterError(f"neighbors: k must be a whole number of at least 1, but {k!r} came.")
    who, powers = kept.search.nearest(rows, min(int(k), there))
    return Neighborhood(
        who,
        kept.space.rooted(powers),
        kept.search.parts(rows, who),
        np.asarray(kept.table.labels[who]) if kept.table.labelled else np.empty(who.shape, object),
        tuple(column.name for column in kept.table.schema.attributes),
    )
