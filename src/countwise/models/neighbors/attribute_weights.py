"""Attribute weights, given or learned (information gain, ReliefF), and distances that use them.

Columns that tell nothing about the class spoil neighbors: in many dimensions every row is far from
every other. The cure is to stretch each axis by the relevance of its attribute, or to drop the
least relevant attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.information import information_gain
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import cut_counts, cut_points
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.models.neighbors.metrics import POWERS, learn_spaces
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import tie_bounds
from countwise.notes import Note
from countwise.tables.schema import Column
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.neighbors.base import StoredRowsClassifier, StoredRowsRegressor

    Model: TypeAlias = StoredRowsClassifier | StoredRowsRegressor

#: The default exponent.
USUAL_POWER = 2.0
#: Of more rows, ReliefF looks for the neighbors of this many evenly spaced ones.
MOST_ROWS = 5_000
#: How many hits, and misses of each class, a row is compared with.
NEIGHBORS = 10
#: Information gains that rounding may leave where there is none.
_NOTHING = 1e-12
#: Equally near rows count alike; of more than this the first stand for all.
MOST_EQUALS = 512
#: Sums over rows in another order differ by less, relatively.
DIGITS = 1e-12
#: Cells of gaps that are held at a time.
_CELLS = 1 << 22
#: The largest attribute weight; the smallest positive one is its inverse.
_LARGEST = 1e6


def learn_weighted_space(
    model: Model, table: Table, weight: FloatArray | None
) -> tuple[Space, FloatArray | None, tuple[Note, ...]]:
    """Return the space a model asks for, the relevance if it is learned, and notes."""
    p = float(model.p)
    relevance, factors, notes = _learn_factors(model, table, weight, p)
    space = _learn_spaces(model, table, weight, factors, (p,))[0]
    if model.metric in POWERS and p not in (USUAL_POWER, POWERS[model.metric]):
        notes = (*notes, Note.of("N04", p=p, metric=model.metric))
    return space, relevance, (*space.notes, *notes)


def learn_weighted_spaces(
    model: Model, table: Table, weight: FloatArray | None, powers: Sequence[float]
) -> list[Space]:
    """Learn one space for each exponent; what all share is learned once."""
    if uses_relief(model):  # which rows are near, and so the relevance, depends on the exponent
        factors = [_learn_factors(model, table, weight, float(p))[1] for p in powers]
        pairs = zip(factors, powers, strict=True)
        return [_learn_spaces(model, table, weight, stretch, (p,))[0] for stretch, p in pairs]
    _, stretch, _ = _learn_factors(model, table, weight, USUAL_POWER)
    return _learn_spaces(model, table, weight, stretch, powers)


def uses_relief(model: Model) -> bool:
    """Return whether attribute weights are learned by ReliefF; given weights may be an array."""
    return isinstance(model.attribute_weights, str) and model.attribute_weights == "relief"


def uses_information(model: Model) -> bool:
    """Return whether information gains decide about attributes."""
    learned = isinstance(model.attribute_weights, str) or model.drop_least > 0
    return learned and not uses_relief(model)


def _learn_spaces(
    model: Model,
    table: Table,
    weight: FloatArray | None,
    factors: FloatArray | None,
    powers: Sequence[float],
) -> list[Space]:
    return learn_spaces(
        table, model.metric, powers, model.scale, model.when_missing, factors, weight
    )


def _learn_factors(
    model: Model, table: Table, weight: FloatArray | None, p: float
) -> tuple[FloatArray | None, FloatArray | None, tuple[Note, ...]]:
    """Return relevance, if it is learned, the factors of the axes, and notes."""
    who, given = type(model).__name__, model.attribute_weights
    if model.metric == "mahalanobis" and given is not None:
        raise ParameterError(
            who,
            "attribute_weights",
            "None with the mahalanobis metric, which scales the columns itself",
            given,
            ("leave it out", "choose another `metric=`"),
        )
    notes: tuple[Note, ...] = ()
    relevance = None
    if uses_relief(model):
        plain = _learn_spaces(model, table, weight, None, (p,))[0]
        relevance, notes = relief(plain, table, weight)
    elif uses_information(model):
        relevance = information_gains(table, weight)
    attributes = table.schema.attributes
    factors = None if isinstance(given, str) else read_weights(who, given, attributes)
    if relevance is None:
        return relevance, factors, notes
    if isinstance(given, str):
        most = relevance.max(initial=0.0)
        # Rounded, so that equal distances stay equal in any order of the rows.
        factors = np.round(relevance / most, 12) if most > 0 else np.ones(len(relevance))
    elif factors is None:
        factors = np.ones(len(relevance))
    if model.drop_least > 0:
        # An attribute of weight 0 is left out already, so it is the first to be dropped.
        worth = np.where(factors > 0, relevance, -1.0)
        names = [column.name for column in attributes]
        factors = factors * select_attributes(worth, float(model.drop_least), names)
    return relevance, factors, notes


def read_weights(who: str, given: Any, attributes: tuple[Column, ...]) -> FloatArray | None:
    """Read attribute weights: one factor an attribute, by order or by name (others keep 1)."""
    if given is None:
        return None
    names = [column.name for column in attributes]
    if isinstance(given, Mapping):
        rule = f"numbers by the names of attributes, {listing(names)}"
        hint = "".join(did_you_mean(name, names) for name in given if name not in names).strip()
        if any(name not in names for name in given):
            raise ParameterError(who, "attribute_weights", rule, dict(given), hint)
        try:
            factors = np.array([float(given.get(name, 1.0)) for name in names])
        except (TypeError, ValueError):
            raise ParameterError(who, "attribute_weights", rule, dict(given)) from None
    else:
        factors = np.asarray(given, dtype=np.float64)
    if factors.shape != (len(names),):
        raise ParameterError(
            f"{who}: attribute_weights must be {len(names)} factors, one an attribute; got an "
            f"array with shape {factors.shape}. The attributes are {listing(names)}."
        )
    if not np.all(np.isfinite(factors)) or np.any(factors < 0) or not np.any(factors > 0):
        rule = "finite, not negative and not all zero"
        raise ParameterError(who, "attribute_weights", rule, factors.tolist())
    if factors.max() > _LARGEST or factors[factors > 0].min() < 1 / _LARGEST:
        rule = f"0 or between {1 / _LARGEST:g} and {_LARGEST:g}"
        hint = "multiply them all by one number"
        raise ParameterError(who, "attribute_weights", rule, factors.tolist(), hint)
    return factors


def information_gains(table: Table, sample_weight: FloatArray | None = None) -> FloatArray:
    """Return the information gain (bits) of each attribute; numbers in ten equally full bins."""
    schema = table.schema
    names = tuple((column.name,) for column in schema.nominal)
    grids = tuple(column.name for column in schema.numeric)
    counts = count(table, Plan(names, (), grids), sample_weight=sample_weight)
    points = {name: cut_points(counts.grids[name], "frequency", 10) for name in grids}
    cut = cut_counts(counts, points) if points else counts
    tables = (cut.table(column.name)[:-1, :-1] for column in schema.attributes)
    gains = np.array([information_gain(cells) for cells in tables])
    # A gain that is only rounding is none: an attribute that tells nothing weighs nothing.
    return np.asarray(np.round(np.where(gains > _NOTHING, gains, 0.0), 12))


def relief(
    space: Space, table: Table, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, tuple[Note, ...]]:
    """Return how much more the nearest misses differ than the nearest hits (ReliefF, 1994)."""
    # Misses weigh by the frequency of their class. Equally near rows count alike, and a row of
    # integer weight w as w rows.
    target = table.target.astype(np.intp)
    weight = np.ones(len(table)) if sample_weight is None else sample_weight
    frequency = np.bincount(target, weight, len(table.classes))
    frequency = frequency / frequency.sum()
    notes: tuple[Note, ...] = ()
    chosen = np.arange(len(table))
    if len(table) > MOST_ROWS:
        chosen = np.linspace(0, len(table) - 1, MOST_ROWS).astype(np.intp)
        notes = (Note.of("N02", used=MOST_ROWS, rows=len(table)),)
    rows, truth, row_weight = table.take(chosen), target[chosen], weight[chosen]
    hits, misses = np.zeros((2, len(table.schema.attributes)))
    for label in np.flatnonzero(frequency > 0):
        members = np.flatnonzero((target == label) & (weight > 0))
        itself = np.full(len(table), -1)
        itself[members] = np.arange(len(members))
        gaps = _mean_gaps(space, table.take(members), weight[members], rows, itself[chosen])
        hit = truth == label
        hits += (gaps[hit] * row_weight[hit, None]).sum(axis=0)
        other = np.where(hit, 0.0, frequency[label] / (1.0 - frequency[truth] + 1e-300))
        misses += (gaps * (other * row_weight)[:, None]).sum(axis=0)
    # A difference that is only rounding is none.
    worth = np.where(misses - hits > DIGITS * misses, misses - hits, 0.0)
    return worth / row_weight.sum(), notes


def _mean_gaps(
    space: Space, members: Table, weight: FloatArray, rows: Table, itself: NDArray[np.int64]
) -> FloatArray:
    """Return the mean gap of each row to its nearest members, itself left out."""
    search = Search(space, members)
    means = np.zeros((len(rows), len(space.attributes)))
    left = np.arange(len(rows))
    for size in (NEIGHBORS + 2, 8 * NEIGHBORS, MOST_EQUALS):
        size, again = min(size, len(members)), []
        step = max(1, _CELLS // (size * len(space.attributes)))
        for part in (left[at : at + step] for at in range(0, len(left), step)):
            who, powers = search.nearest(rows.take(part), size)
            vote, cut = _weigh_nearest(powers, weight[who], who == itself[part, None], space.p)
            gaps = search.gaps(rows.take(part), who)
            total = vote.sum(axis=1, keepdims=True)
            sums = np.einsum("qk,qka->qa", vote, gaps)
            means[part] = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
            again.append(part[cut])
        left = np.concatenate(again)
        if size in (len(members), MOST_EQUALS) or not len(left):
            break
    return means


def _weigh_nearest(
    powers: FloatArray, weight: FloatArray, itself: NDArray[np.bool_], p: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return how much each listed row counts, equals alike, and where equals may be cut off."""
    weight = np.where(itself, np.maximum(weight - 1.0, 0.0), weight)
    places = np.where(itself, weight, np.maximum(weight, 1.0))
    full = np.cumsum(places, axis=1) >= NEIGHBORS - 1e-9
    last = np.where(full[:, -1], full.argmax(axis=1), powers.shape[1] - 1)
    low, high = tie_bounds(powers[np.arange(len(last)), last], p)
    nearer = powers < low[:, None]
    tied = ~nearer & (powers <= high[:, None])
    open_places = NEIGHBORS - (places * nearer).sum(axis=1)
    equals = (places * tied).sum(axis=1)
    fraction = np.divide(open_places, equals, out=np.zeros_like(equals), where=equals > 0)
    vote = weight * (nearer + np.clip(fraction, 0.0, 1.0)[:, None] * tied)
    return vote, powers[:, -1] <= high


def select_attributes(worth: FloatArray, drop: float, names: Sequence[str]) -> NDArray[np.bool_]:
    """Mark the attributes left when the least relevant are dropped: a number, or a fraction."""
    # Of equally relevant ones those later by name go first, in whatever order they stand.
    number = min(int(drop) if drop >= 1 else int(drop * len(worth)), len(worth) - 1)
    selected = np.ones(len(worth), dtype=bool)
    by_name = np.array(sorted(range(len(worth)), key=lambda at: names[at], reverse=True))
    # Attributes that differ by rounding alone are equally relevant.
    order = np.argsort(worth.round(12)[by_name], kind="stable")[:number]
    selected[by_name[order]] = False
    return selected
