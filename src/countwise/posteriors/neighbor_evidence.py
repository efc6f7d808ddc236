"""Why neighbours answer as they do: who they are, and how the votes move column by column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors.counted import shown_value
from countwise.posteriors.evidence import Explanation
from countwise.posteriors.nearest import Kept
from countwise.posteriors.neighborhood import Neighborhood
from countwise.posteriors.relevance import informative
from countwise.posteriors.spaces import Wanted, learned_space
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


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
    >>> why = cw.Neighbors(k=3, metric="vdm").fit(weather).explain(weather.take([0]))
    >>> print(why.describe().splitlines()[0])
    no (posterior 1.000) against yes: log-odds +1.653
    >>> print(why.describe().splitlines()[-1])
    3. row 2, no: distance 0.354 (windy 0.125)
    """

    shares: Doubles
    neighborhood: Neighborhood

    @property
    def posteriors(self) -> Doubles:
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
            tuple(shown_value(table, column.name, row) for column in columns)
            for row in range(len(table))
        ),
        base=np.log(prior),
        parts=parts,
        joint=np.asarray(last),
        shares=model._shares(table),
        neighborhood=near,
    )


def _votes(model: Any, table: Table, kept: Kept, names: list[str], prior: Doubles) -> Doubles:
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
