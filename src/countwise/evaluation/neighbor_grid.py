"""The whole grid of k and p for the price of a search: every k is read off one list of neighbours.

Each test part is compared in a space learned from its own training rows (scales, class shares,
covariance, attribute weights), so nothing leaks. The tiles of the rows are shared by all exponents
p, and a list of the farthest k wanted holds the answers of all smaller k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError, listing
from countwise.evaluation.folds import Seed, folds_of, generator, holdouts_of
from countwise.models.neighbors.base import POWER, voters
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.neighbors.fit_space import Wanted, spaces_of_powers
from countwise.models.neighbors.index import BLOCK, found_rows
from countwise.models.neighbors.leave_one_out import Progress, Steps, found_without
from countwise.models.neighbors.metrics import POWERS
from countwise.models.neighbors.search import searches
from countwise.models.neighbors.votes import Electorate, Found, verdicts
from countwise.parallel import in_threads
from countwise.params import check, whole
from countwise.tables.estimator import drop_zero_weight
from countwise.tables.read import read
from countwise.tables.table import Table

Part = tuple[NDArray[np.intp], NDArray[np.intp]]

#: Test parts of at most so many rows are searched side by side.
TOGETHER = 512


@dataclass(frozen=True, eq=False)
class NeighborGrid:
    """How well each k and p does: shares of rows decided right, part by part.

    ``parts`` (test parts × k × p) holds accuracies by the largest vote, ``expected`` those of a
    roulette wheel over the votes (Liu, Gegov & Cocea), which are exact means; ``sizes`` the weights
    of the test parts, and ``over`` says what these are.

    Examples
    --------
    >>> import countwise as cw
    >>> grid = cw.neighbor_grid("sample:iris", k=range(1, 6), p=(1, 2))
    >>> grid.accuracy.shape, grid.best["k"], grid.best["p"]
    ((5, 2), 1, 2.0)
    """

    k: tuple[int, ...]
    p: tuple[float, ...]
    parts: FloatArray
    expected: FloatArray
    sizes: FloatArray
    protocol: str
    metric: str
    data: str = ""
    over: str = "test parts"

    @property
    def accuracy(self) -> FloatArray:
        """The share of all tested rows decided right (k × p)."""
        return np.asarray(np.average(self.parts, axis=0, weights=self.sizes))

    @property
    def expected_accuracy(self) -> FloatArray:
        """What a roulette wheel over the votes gets right on average (k × p)."""
        return np.asarray(np.average(self.expected, axis=0, weights=self.sizes))

    @property
    def spread(self) -> FloatArray:
        """The standard deviation of the accuracy over the test parts (k × p)."""
        few = len(self.parts) < 2
        return np.zeros(self.parts.shape[1:]) if few else np.asarray(self.parts.std(axis=0, ddof=1))

    @property
    def best(self) -> dict[str, Any]:
        """The k and p that decide most rows right; of equal ones the smallest k, then p."""
        at, by = np.unravel_index(int(self.accuracy.argmax()), self.accuracy.shape)
        return {
            "k": self.k[at],
            "p": self.p[by],
            "accuracy": float(self.accuracy[at, by]),
            "spread": float(self.spread[at, by]),
        }

    @classmethod
    def mean(cls, grids: Sequence[NeighborGrid]) -> NeighborGrid:
        """The average over data sets: every one counts the same, and is a part of the result."""
        if not grids or any(own.k != grids[0].k or own.p != grids[0].p for own in grids):
            raise ParameterError(
                "NeighborGrid.mean: at least one grid is needed, and all must have the same k and "
                "p. Make them by the same call."
            )
        first = grids[0]
        return cls(
            first.k,
            first.p,
            np.stack([own.accuracy for own in grids]),
            np.stack([own.expected_accuracy for own in grids]),
            np.ones(len(grids)),
            first.protocol,
            first.metric,
            f"mean of {len(grids)} data sets",
            "data sets",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain data."""
        powers = [own if math.isfinite(own) else "maximum" for own in self.p]
        best = self.best
        return {
            "data": self.data,
            "metric": self.metric,
            "protocol": self.protocol,
            "k": list(self.k),
            "p": powers,
            "accuracy": self.accuracy.tolist(),
            "expected_accuracy": self.expected_accuracy.tolist(),
            "spread": self.spread.tolist(),
            "parts": self.parts.tolist(),
            "sizes": self.sizes.tolist(),
            "best": best | {"p": powers[self.p.index(best["p"])]},
        }

    def describe(self) -> str:
        """Say in a sentence what is best."""
        own = self.best
        p = "maximum" if math.isinf(own["p"]) else f"{own['p']:g}"
        spread = f" ± {own['spread']:.4f} over {self.over}" if len(self.parts) > 1 else ""
        return (
            f"{self.data or 'The table'}: best k = {own['k']} and p = {p}, accuracy "
            f"{own['accuracy']:.4f}{spread} ({self.metric}, {self.protocol})."
        )

    def __repr__(self) -> str:
        return f"<NeighborGrid: {self.describe().rstrip('.')}>"


def neighbor_grid(
    data: Any,
    k: Iterable[int] = range(1, 21),
    p: Iterable[float] = range(1, 10),
    *,
    metric: str = "vdm",
    weights: str | Callable[[FloatArray], FloatArray] = "uniform",
    scale: str | None = "range",
    when_missing: str | None = None,
    attribute_weights: Any = None,
    drop_least: float = 0,
    folds: int | str = 10,
    repeats: int = 1,
    holdout: float | None = None,
    stratified: bool = True,
    random_state: Seed = 0,
    sample_weight: ArrayLike | None = None,
    progress: Progress | None = None,
    **read_options: Any,
) -> NeighborGrid:
    """Measure neighbours at every k and p by cross-validation, with one list of neighbours a p.

    The answers are those of `evaluate` with a `Neighbors` of each k and p.

    Parameters
    ----------
    data
        A `Table`, or anything `read` takes; further keywords are handed to `read`.
    k, p
        The numbers of neighbours and the exponents; ``float("inf")`` for the maximum.
    metric
        ``minkowski`` or ``vdm``, whose exponent varies; any other metric has one p of its own.
    weights, scale, when_missing, attribute_weights, drop_least
        As in `Neighbors`.
    folds
        How many folds, or ``"leave-one-out"``: about one search of all rows for every metric, each
        row in a space learned without it. Only with ``attribute_weights="relief"`` (and where a
        covariance is singular, misses numbers or has dropped attributes) is each learned anew.
    repeats, holdout, stratified, random_state
        As in `evaluate`.
    sample_weight
        One weight a row, for training and for scores.
    progress
        A function that is told ``(done, total, text)``, a step for each test part and p.

    Examples
    --------
    >>> import countwise as cw
    >>> grid = cw.neighbor_grid("sample:votes", k=(1, 3), p=(1, 3), folds=5)
    >>> grid.accuracy.shape, len(grid.parts)
    ((2, 2), 5)
    """
    who = "neighbor_grid"
    ks, ps = _numbers(who, k, p)
    settings = {
        "metric": metric, "p": 2.0, "scale": scale, "when_missing": when_missing,
        "attribute_weights": attribute_weights, "drop_least": drop_least, "weights": weights,
    }  # fmt: skip
    check(who, {name: Neighbors.PARAMETERS[name] for name in settings}, settings)
    ps = ps if metric in ("minkowski", "vdm") else ps[:1]
    table = data if isinstance(data, Table) and not read_options else read(data, **read_options)
    wanted = Wanted(who, metric, 2.0, scale, when_missing, attribute_weights, float(drop_least))
    known = table.target < table.target_column.width
    table, given, _, _ = drop_zero_weight(who, table, sample_weight, known)
    split = _Split(table, folds, repeats, holdout, stratified, generator(who, random_state))
    electorate = voters(table, given, np.arange(len(table.classes)))
    rows = _Rows(table, given, electorate, np.ones(len(table)) if given is None else given)
    if split.alone:
        found = found_without(wanted, table, given, electorate, ks[-1], ps, progress)
        right, hoped, sizes = _scores(found, rows, split.rows, ks, weights)
    else:
        right, hoped, sizes = _crossed(wanted, rows, split.pairs, ks, ps, weights, progress)
    parts, expected = right / sizes[:, None, None], hoped / sizes[:, None, None]
    powers = [POWERS.get(metric, own) for own in ps]
    name = str(data) if isinstance(data, str) else ""
    return NeighborGrid(tuple(ks), tuple(powers), parts, expected, sizes, split.words, metric, name)


def _numbers(who: str, k: Iterable[int], p: Iterable[float]) -> tuple[list[int], list[float]]:
    ks = list(k) if isinstance(k, Iterable) else [k]
    ps = list(p) if isinstance(p, Iterable) else [p]
    if not ks or not all(map(whole(at_least=1).admits, ks)):
        raise ParameterError(
            f"{who}: k must be whole numbers of at least 1, one or more of them, but "
            f"{listing(ks, 5) or 'none'} came. Give k=range(1, 21); labels are read by target=."
        )
    if not ps or not all(map(POWER.admits, ps)):
        raise ParameterError(
            f"{who}: p must be numbers of at least 1, or infinite for the maximum, one or more of "
            f"them, but {listing(ps, 5) or 'none'} came. Give p=range(1, 10)."
        )
    return sorted({int(own) for own in ks}), sorted({float(own) for own in ps})


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows with their weights: as given (None if none were), as voters, and in scores."""

    table: Table
    weight: FloatArray | None
    electorate: Electorate
    own: FloatArray

    def truth(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        return self.table.target[rows].astype(np.int64)


class _Split:
    """The test parts of a protocol, one after the other, and who trains for each."""

    def __init__(
        self,
        table: Table,
        folds: int | str,
        repeats: int,
        holdout: float | None,
        stratified: bool,
        rng: np.random.Generator,
    ) -> None:
        self.pairs: list[Part] = []
        self.alone = folds == "leave-one-out"
        if self.alone:
            if len(table) < 2:
                raise ParameterError(
                    "neighbor_grid: leave-one-out needs at least two rows, but one came."
                )
            self.words = f"leave-one-out over {len(table)} rows"
            self.rows = np.arange(len(table))
            return
        if holdout is not None:
            split = holdouts_of(table, holdout, repeats, stratified, rng, "neighbor_grid")
        else:
            split = folds_of(table, folds, repeats, stratified, rng, "neighbor_grid")
        self.words = split.words
        for deal in split.deals:
            for part in range(deal.parts):
                test = np.flatnonzero(deal.part == part)
                train = np.flatnonzero((deal.part != part) & (deal.part <= deal.parts))
                self.pairs.append((train, test))


def _scores(
    found: list[Found], rows: _Rows, tested: NDArray[np.intp], ks: list[int], scheme: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The weight decided right by every k and p, what a wheel is worth, and the weight of all."""
    right = np.zeros((1, len(ks), len(found)))
    hoped = np.zeros_like(right)
    truth, own = rows.truth(tested), rows.own[tested]
    for by, lists in enumerate(found):
        right[0, :, by], hoped[0, :, by] = verdicts(lists, rows.electorate, ks, truth, own, scheme)
    return right, hoped, own.sum(keepdims=True)


def _crossed(
    wanted: Wanted,
    rows: _Rows,
    pairs: Sequence[Part],
    ks: list[int],
    powers: list[float],
    scheme: Any,
    progress: Progress | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `_scores`, test part by test part, each among its own training rows and in their space.

    Lists are read off as soon as they are found, a block of queries at a time.
    """
    right = np.zeros((len(pairs), len(ks), len(powers)))
    hoped = np.zeros_like(right)
    steps = Steps(progress, len(pairs) * len(powers))

    def judged(place: int) -> None:
        train, test = pairs[place]
        kept, asked = rows.table.take(train), rows.table.take(test)
        part = None if rows.weight is None else rows.weight[train]
        local = rows.electorate.take(train)
        truth, own = rows.truth(test), rows.own[test]
        spaces = spaces_of_powers(wanted, kept, part, powers)
        for by, search in enumerate(searches(spaces, kept)):
            for at in range(0, len(test), BLOCK):
                block = slice(at, at + BLOCK)
                found = found_rows(search, local, asked.take(block), ks[-1])
                hits, shares = verdicts(found, local, ks, truth[block], own[block], scheme)
                right[place, :, by] += hits
                hoped[place, :, by] += shares
            steps.tell(f"test part {place + 1}")

    _each(len(pairs), judged, max(len(test) for _, test in pairs), callable(scheme))
    return right, hoped, np.array([rows.own[test].sum() for _, test in pairs])


def _each(parts: int, work: Callable[[int], None], largest: int, in_turn: bool) -> None:
    """Work on all test parts: small ones side by side, large ones in turn, each with threads."""
    if in_turn or largest > TOGETHER:
        for place in range(parts):
            work(place)
    else:
        in_threads(work, range(parts))
