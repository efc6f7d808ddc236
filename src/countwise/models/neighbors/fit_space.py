"""The space a model asks for, learned from its training rows and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.models.neighbors.attribute_weights import (
    informative,
    informative_without,
    kept_attributes,
    relief,
)
from countwise.models.neighbors.leave_one_out_space import LeftOut
from countwise.models.neighbors.metrics import POWERS, learn_spaces, stretches
from countwise.models.neighbors.space import Space
from countwise.notes import Note
from countwise.tables.table import Table

#: The exponent nobody asked for.
USUAL_POWER = 2.0


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
            model.when_missing,
            model.attribute_weights,
            float(model.drop_least),
        )


def learned_space(
    wanted: Wanted, table: Table, weight: FloatArray | None
) -> tuple[Space, FloatArray | None, tuple[Note, ...]]:
    """Learn the space, with attribute weights where they are asked for.

    Returns the space, the learned weights of the attributes (None if none were learned) and what
    should be said.
    """
    relevance, factors, notes = learned_factors(wanted, table, weight)
    space = _spaces(wanted, table, weight, factors, (wanted.p,))[0]
    return space, relevance, (*space.notes, *notes, *_unasked_power(wanted))


def _unasked_power(wanted: Wanted) -> tuple[Note, ...]:
    """Say so where an exponent was given that the metric does not ask for."""
    if wanted.metric not in POWERS or wanted.p in (USUAL_POWER, POWERS[wanted.metric]):
        return ()
    return (Note.of("N04", p=wanted.p, metric=wanted.metric),)


def spaces_of_powers(
    wanted: Wanted, table: Table, weight: FloatArray | None, powers: Sequence[float]
) -> list[Space]:
    """Learn one space for each exponent; what does not depend on exponents is learned once."""
    if _by_hits(wanted):  # who is near, and so what attributes are worth, depends on the exponent
        return [learned_space(replace(wanted, p=float(p)), table, weight)[0] for p in powers]
    _, factors, _ = learned_factors(wanted, table, weight)
    return _spaces(wanted, table, weight, factors, powers)


def _by_hits(wanted: Wanted) -> bool:
    """Whether attributes are weighed by hits and misses; given weights may be an array."""
    given = wanted.attribute_weights
    return isinstance(given, str) and given == "relief"


def learned_factors(
    wanted: Wanted, table: Table, weight: FloatArray | None
) -> tuple[FloatArray | None, FloatArray | None, tuple[Note, ...]]:
    """What the attributes are worth (None if that was not asked), the factors of their axes."""
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
        if _by_hits(wanted):
            plain = _spaces(wanted, table, weight, None, (wanted.p,))[0]
            relevance, notes = relief(plain, table, weight)
        else:
            relevance = informative(table, weight)
    factors = None if learned else stretches(wanted.who, given, table.schema.attributes)
    if relevance is not None:
        names = [column.name for column in table.schema.attributes]
        factors = _weighed(wanted, names, relevance, factors)
    return relevance, factors, notes


def _weighed(
    wanted: Wanted, names: Sequence[str], relevance: FloatArray, given: FloatArray | None
) -> FloatArray:
    """The factors of axes by what attributes are worth: for one line of attributes, or many."""
    factors = np.ones(relevance.shape) if given is None else np.broadcast_to(given, relevance.shape)
    if isinstance(wanted.attribute_weights, str):
        most = relevance.max(axis=-1, keepdims=True, initial=0.0)
        shares = np.divide(relevance, most, out=np.ones(relevance.shape), where=most > 0)
        # Shorter than rounding reaches: equal distances stay equal in any order of the rows.
        factors = np.round(shares, 12)
    if wanted.drop_least > 0:
        # What is given no weight is left out already, so it is the first to be dropped.
        worth = np.where(factors > 0, relevance, -1.0)
        factors = factors * kept_attributes(worth, wanted.drop_least, names)
    return factors


def left_out_spaces(
    wanted: Wanted, table: Table, weight: FloatArray | None, powers: Sequence[float]
) -> LeftOut | None:
    """Learn the spaces without each row in turn; None where each must be learned by itself.

    Hits and misses (``relief``) are themselves found by a search among the rows that are left, and
    rows that drop other attributes have a covariance of other columns.
    """
    given, attributes = wanted.attribute_weights, table.schema.attributes
    drops = wanted.drop_least > 0
    if _by_hits(wanted) or (wanted.metric == "mahalanobis" and (drops or given is not None)):
        return None
    factors = np.ones(len(attributes))
    if not isinstance(given, str) and given is not None:
        factors = np.asarray(stretches(wanted.who, given, attributes))
    if isinstance(given, str) or drops:
        names = [column.name for column in attributes]
        factors = _weighed(wanted, names, informative_without(table, weight), factors)
    return LeftOut(table, wanted.metric, powers, wanted.scale, wanted.missing, weight, factors)


def _spaces(
    wanted: Wanted, table: Table, weight: FloatArray | None, factors: Any, powers: Sequence[float]
) -> list[Space]:
    return learn_spaces(table, wanted.metric, powers, wanted.scale, wanted.missing, factors, weight)
