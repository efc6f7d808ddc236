"""The space a model asks for, learned from its training rows and no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.embedding import Space
from countwise.counts.metrics import learn_space, stretches
from countwise.errors import ParameterError
from countwise.posteriors.relevance import informative, kept_attributes, relief
from countwise.tables.notes import Note
from countwise.tables.table import Table

__all__ = ["Wanted", "learned_space"]

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Wanted:
    """What the parameters of a model say about distances."""

    who: str
    metric: str
    p: float
    scale: str | None
    missing: str | None
    attribute_weights: Any
    drop_least: float

    @classmethod
    def of(cls, model: Any) -> Wanted:
        """Read the parameters of a model."""
        return cls(
            type(model).__name__,
            model.metric,
            float(model.p),
            model.scale,
            model.missing,
            model.attribute_weights,
            float(model.drop_least),
        )


def learned_space(
    wanted: Wanted, table: Table, weight: Doubles | None
) -> tuple[Space, Doubles | None, tuple[Note, ...]]:
    """Learn the space, with attribute weights where they are asked for.

    Returns the space, the learned weights of the attributes (None if none were learned) and what
    should be said.

    Examples
    --------
    >>> import countwise as cw
    >>> wanted = Wanted("Neighbors", "heom", 2.0, "range", None, "information", 2)
    >>> space, worth, _ = learned_space(wanted, cw.read("sample:weather"), None)
    >>> worth.round(2).tolist(), [axis.attribute for axis in space.axes]
    ([0.25, 0.03, 0.15, 0.05], [0, 2])
    """
    given = wanted.attribute_weights
    learned = isinstance(given, str)
    if wanted.metric == "mahalanobis" and given is not None:
        raise ParameterError(
            f"{wanted.who}: the mahalanobis metric finds its own stretches, so attribute_weights "
            f"must be None, but {given!r} came. Leave it out, or choose another metric."
        )
    notes: tuple[Note, ...] = ()
    relevance = None
    if learned or wanted.drop_least > 0:
        if given == "relief":
            plain = _space(wanted, table, weight, None)
            relevance, notes = relief(plain, table, weight)
        else:
            relevance = informative(table, weight)
    factors = None if learned else stretches(wanted.who, given, table.schema.attributes)
    if learned and relevance is not None and relevance.max(initial=0.0) > 0:
        factors = relevance / relevance.max()
    if wanted.drop_least > 0 and relevance is not None:
        stays = kept_attributes(relevance, wanted.drop_least)
        factors = (np.ones(len(stays)) if factors is None else factors) * stays
    space = _space(wanted, table, weight, factors)
    return space, relevance, (*space.notes, *notes)


def _space(wanted: Wanted, table: Table, weight: Doubles | None, factors: Any) -> Space:
    return learn_space(
        table,
        wanted.metric,
        wanted.p,
        wanted.scale,
        wanted.missing,
        factors,
        weight,
    )
