"""How much each attribute matters, learned from the training rows: bits, or hits and misses.

Neighbours suffer from columns that say nothing: in many dimensions everything is far from
everything. Stefanowski's cure is to stretch the axes by what they are worth, or to drop the least.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.information import information_gain
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import cut_counts, cut_points
from countwise.models.neighbors.leave_one_out_weights import gains_without
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import beyond
from countwise.notes import Note
from countwise.tables.table import Table

#: More rows than this are not asked for their hits and misses, but as many evenly spaced ones.
MOST_ROWS = 5_000
#: How many hits, and misses of each class, a row is compared with.
NEIGHBORS = 10
#: Bits that rounding may leave where there are none.
_NOTHING = 1e-12
#: Equally near rows count alike; of more than this the first stand for all.
MOST_EQUALS = 512
#: Sums over rows in another order differ by less, relatively.
DIGITS = 1e-12
#: Cells of gaps that are held at a time.
_CELLS = 1 << 22


def informative(table: Table, sample_weight: FloatArray | None = None) -> FloatArray:
    """How many bits each attribute tells about the class; numbers in ten equally full intervals."""
    schema = table.schema
    names = tuple((column.name,) for column in schema.nominal)
    grids = tuple(column.name for column in schema.numeric)
    counts = count(table, Plan(names, (), grids), sample_weight=sample_weight)
    points = {name: cut_points(counts.grids[name], "frequency", 10) for name in grids}
    seen = cut_counts(counts, points) if points else counts
    gains = [information_gain(seen.table(column.name)[:-1, :-1]) for column in schema.attributes]
    return _told(np.array(gains))


def informative_without(table: Table, sample_weight: FloatArray | None = None) -> FloatArray:
    """`informative` without each row in turn: rows × attributes, from counts that are made once."""
    return _told(gains_without(table, sample_weight))


def _told(gains: FloatArray) -> FloatArray:
    """Gains that rounding alone made are none: an attribute that tells nothing weighs nothing."""
    return np.asarray(np.round(np.where(gains > _NOTHING, gains, 0.0), 12))


def relief(
    space: Space, table: Table, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, tuple[Note, ...]]:
    """How much more the nearest misses differ than the nearest hits, attribute by attribute.

    ReliefF of Kononenko (1994): for every row the gap to its nearest rows of each other class,
    weighted by that class' share, less the gap to the nearest rows of its own; both in the gaps
    of the space. What does not tell classes apart comes out at nought or below, and is then nought.
    Equally near rows count alike, and a row of integer weight w as w rows.
    """
    target = table.target.astype(np.intp)
    weight = np.ones(len(table)) if sample_weight is None else sample_weight
    share = np.bincount(target, weight, len(table.classes))
    share = share / share.sum()
    asked, notes = _asked(len(table))
    rows, truth, say = table.take(asked), target[asked], weight[asked]
    hits, misses = np.zeros((2, len(table.schema.attributes)))
    for label in np.flatnonzero(share > 0):
        members = np.flatnonzero((target == label) & (weight > 0))
        itself = np.full(len(table), -1)
        itself[members] = np.arange(len(members))
        gaps = _gaps(space, table.take(members), weight[members], rows, itself[asked])
        hit = truth == label
        hits += (gaps[hit] * say[hit, None]).sum(axis=0)
        other = np.where(hit, 0.0, share[label] / (1.0 - share[truth] + 1e-300))
        misses += (gaps * (other * say)[:, None]).sum(axis=0)
    # What only rounding leaves of two equal sums is nothing.
    worth = np.where(misses - hits > DIGITS * misses, misses - hits, 0.0)
    return worth / say.sum(), notes


def _gaps(
    space: Space, members: Table, weight: FloatArray, rows: Table, itself: NDArray[np.int64]
) -> FloatArray:
    """The mean gap of each row to its nearest members, attribute by attribute.

    A row that is a member itself meets its copies alone: one less than it weighs.
    """
    search = Search(space, members)
    made = np.zeros((len(rows), len(space.attributes)))
    left = np.arange(len(rows))
    for size in (NEIGHBORS + 2, 8 * NEIGHBORS, MOST_EQUALS):
        size, again = min(size, len(members)), []
        step = max(1, _CELLS // (size * len(space.attributes)))
        for part in (left[at : at + step] for at in range(0, len(left), step)):
            who, powers = search.nearest(rows.take(part), size)
            say, cut = _says(powers, weight[who], who == itself[part, None], space.p)
            gaps = search.gaps(rows.take(part), who)
            total = say.sum(axis=1, keepdims=True)
            mean = np.einsum("qk,qka->qa", say, gaps)
            made[part] = np.divide(mean, total, out=np.zeros_like(mean), where=total > 0)
            again.append(part[cut])
        left = np.concatenate(again)
        if size in (len(members), MOST_EQUALS) or not len(left):
            break
    return made


def _says(
    powers: FloatArray, weight: FloatArray, itself: NDArray[np.bool_], p: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """How much each listed row counts, equals alike, and where equals may be cut off."""
    weight = np.where(itself, np.maximum(weight - 1.0, 0.0), weight)
    places = np.where(itself, weight, np.maximum(weight, 1.0))
    full = np.cumsum(places, axis=1) >= NEIGHBORS - 1e-9
    last = np.where(full[:, -1], full.argmax(axis=1), powers.shape[1] - 1)
    low, high = beyond(powers[np.arange(len(last)), last], p)
    nearer = powers < low[:, None]
    tied = ~nearer & (powers <= high[:, None])
    open_places = NEIGHBORS - (places * nearer).sum(axis=1)
    equals = (places * tied).sum(axis=1)
    share = np.divide(open_places, equals, out=np.zeros_like(equals), where=equals > 0)
    say = weight * (nearer + np.clip(share, 0.0, 1.0)[:, None] * tied)
    return say, powers[:, -1] <= high


def _asked(rows: int) -> tuple[NDArray[np.intp], tuple[Note, ...]]:
    if rows <= MOST_ROWS:
        return np.arange(rows), ()
    spaced = np.linspace(0, rows - 1, MOST_ROWS).astype(np.intp)
    return spaced, (Note.of("N02", used=MOST_ROWS, rows=rows),)


def kept_attributes(worth: FloatArray, drop: float, names: Sequence[str]) -> NDArray[np.bool_]:
    """Which attributes stay when the least relevant are dropped: a number of them, or a share.

    `worth` has one line of attributes, or many. Of equally relevant ones those that come later by
    name go first, in whatever order they stand.
    """
    attributes = worth.shape[-1]
    number = min(int(drop) if drop >= 1 else int(drop * attributes), attributes - 1)
    kept = np.ones(worth.shape, dtype=bool)
    by_name = np.array(sorted(range(attributes), key=lambda at: names[at], reverse=True))
    # What differs by rounding alone is equally relevant.
    order = np.argsort(worth.round(12)[..., by_name], axis=-1, kind="stable")[..., :number]
    np.put_along_axis(kept, by_name[order], False, axis=-1)
    return kept
