"""How much each attribute matters, learned from the training rows: bits, or hits and misses.

Neighbours suffer from columns that say nothing: in many dimensions everything is far from
everything. Stefanowski's cure is to stretch the axes by what they are worth, or to drop the least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countwise.counts.count import count
from countwise.counts.cuts import cut_counts, cut_points
from countwise.counts.embedding import Space
from countwise.counts.left_out_gains import gains_without
from countwise.counts.measures import information_gain
from countwise.counts.plan import Plan
from countwise.posteriors.search import Search
from countwise.tables.notes import Note
from countwise.tables.table import Table

__all__ = ["MOST_ROWS", "informative", "informative_without", "kept_attributes", "relief"]

Doubles = NDArray[np.float64]

#: More rows than this are not asked for their hits and misses, but as many evenly spaced ones.
MOST_ROWS = 20_000
#: How many hits, and misses of each class, a row is compared with.
NEIGHBORS = 10
#: Bits that rounding may leave where there are none.
_NOTHING = 1e-12


def informative(table: Table, sample_weight: Doubles | None = None) -> Doubles:
    """How many bits each attribute tells about the class; numbers in ten equally full intervals.

    Examples
    --------
    >>> import countwise as cw
    >>> informative(cw.read("sample:weather")).round(3).tolist()
    [0.247, 0.029, 0.152, 0.048]
    """
    schema = table.schema
    names = tuple((column.name,) for column in schema.nominal)
    grids = tuple(column.name for column in schema.numeric)
    counts = count(table, Plan(names, (), grids), weight=sample_weight)
    points = {name: cut_points(counts.grids[name], "frequency", 10) for name in grids}
    seen = cut_counts(counts, points) if points else counts
    gains = [information_gain(seen.table(column.name)[:-1, :-1]) for column in schema.attributes]
    return _told(np.array(gains))


def informative_without(table: Table, sample_weight: Doubles | None = None) -> Doubles:
    """`informative` without each row in turn: rows × attributes, from counts that are made once.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> without = informative(weather.take(np.arange(1, 14)))
    >>> bool(np.allclose(informative_without(weather)[0], without))
    True
    """
    return _told(gains_without(table, sample_weight))


def _told(gains: Doubles) -> Doubles:
    """Gains that rounding alone made are none: an attribute that tells nothing weighs nothing."""
    return np.where(gains > _NOTHING, gains, 0.0)


def relief(
    space: Space, table: Table, sample_weight: Doubles | None = None
) -> tuple[Doubles, tuple[Note, ...]]:
    """How much more the nearest misses differ than the nearest hits, attribute by attribute.

    ReliefF of Kononenko (1994): for every row the gap to its nearest rows of each other class,
    weighted by that class' share, less the gap to the nearest rows of its own; both in the gaps
    of the space. What does not tell classes apart comes out at nought or below, and is then nought.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.counts.metrics import learn_space
    >>> iris = cw.read("sample:iris")
    >>> relief(learn_space(iris), iris)[0].round(2).tolist()
    [0.15, 0.14, 0.35, 0.36]
    """
    target = table.target.astype(np.intp)
    weight = np.ones(len(table)) if sample_weight is None else sample_weight
    share = np.bincount(target, weight, len(table.classes))
    share = share / share.sum()
    asked, notes = _asked(len(table))
    rows, truth = table.take(asked), target[asked]
    sums = np.zeros(len(table.schema.attributes))
    for label in np.flatnonzero(share > 0):
        members = np.flatnonzero((target == label) & (weight > 0))
        inside = np.full(len(table), -1)
        inside[members] = np.arange(len(members))
        k = min(NEIGHBORS, len(members) - 1) if len(members) > 1 else 0
        gaps = _gaps(space, table.take(members), rows, inside[asked], max(k, 1))
        hit = truth == label
        if k > 0:
            sums -= (gaps[hit] * weight[asked][hit, None]).sum(axis=0)
        other = np.where(hit, 0.0, share[label] / (1.0 - share[truth] + 1e-300))
        sums += (gaps * (other * weight[asked])[:, None]).sum(axis=0)
    return np.maximum(sums / weight[asked].sum(), 0.0), notes


def _gaps(space: Space, members: Table, rows: Table, skip: NDArray[np.int64], k: int) -> Doubles:
    """The mean gap of each row to its k nearest members, attribute by attribute."""
    if len(members) == 1 and np.any(skip == 0):
        skip = np.full(len(rows), -1)
    search = Search(space, members)
    who, _ = search.nearest(rows, min(k, len(members)), skip)
    parts = search.parts(rows, who)
    rooted = parts if np.isinf(space.p) else parts ** (1.0 / space.p)
    return np.asarray(rooted.mean(axis=1))


def _asked(rows: int) -> tuple[NDArray[np.intp], tuple[Note, ...]]:
    if rows <= MOST_ROWS:
        return np.arange(rows), ()
    spaced = np.linspace(0, rows - 1, MOST_ROWS).astype(np.intp)
    words = (
        f"Attribute weights were learned from the neighbours of {MOST_ROWS} evenly spaced rows of "
        f"{rows}."
    )
    return spaced, (Note("N02", None, words),)


def kept_attributes(worth: Doubles, drop: float) -> NDArray[np.bool_]:
    """Which attributes stay when the least relevant are dropped: a number of them, or a share.

    `worth` has one line of attributes, or many. Of equally relevant ones the first are dropped.

    Examples
    --------
    >>> kept_attributes(np.array([0.2, 0.0, 0.5, 0.1]), 2).tolist()
    [True, False, True, False]
    """
    attributes = worth.shape[-1]
    number = min(int(drop) if drop >= 1 else int(drop * attributes), attributes - 1)
    kept = np.ones(worth.shape, dtype=bool)
    # What differs by rounding alone is equally relevant.
    order = np.argsort(worth.round(12), axis=-1, kind="stable")[..., :number]
    np.put_along_axis(kept, order, False, axis=-1)
    return kept
