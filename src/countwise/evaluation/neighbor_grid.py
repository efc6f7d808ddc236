"""Score nearest neighbors for every k and p: one list of neighbors serves every k.

The tested rows of each fold are compared in a space learned from its training rows alone (scales,
class shares, covariance, attribute weights), so nothing leaks. The tiles of the rows are shared by
all exponents p, and a list of the largest k holds the answers of all smaller k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.evaluation.folds import (
    PROTOCOL,
    Seed,
    Split,
    generator,
    read_rows,
    split_folds,
    split_holdout,
)
from countwise.models import registry
from countwise.models.base import leave_out_text
from countwise.models.neighbors.attribute_weights import learn_weighted_spaces
from countwise.models.neighbors.base import POWER
from countwise.models.neighbors.index import BLOCK, Index
from countwise.models.neighbors.leave_one_out import nearest_without_each_row
from countwise.models.neighbors.metrics import POWERS
from countwise.models.neighbors.search import searches
from countwise.models.neighbors.votes import Nearest, Voters, score_votes
from countwise.parallel import threads
from countwise.params import Parameter, check, number, whole
from countwise.progress import Progress, Steps, open_progress
from countwise.tables.estimator import drop_zero_weight
from countwise.tables.table import Table

#: Folds of at most so many tested rows are searched side by side.
MAX_ROWS_SIDE_BY_SIDE = 512
#: Parameters that a model of neighbors has, too.
_SHARED = ("metric", "weights", "scale", "when_missing", "attribute_weights", "drop_least")
_OWN = {"smoothing": Parameter(number(at_least=0), "number of imagined votes")}


@dataclass(frozen=True, eq=False)
class NeighborGrid:
    """The accuracy at each k and p, fold by fold.

    ``folds`` (folds × k × p) holds accuracies by the largest vote, ``expected`` those of a
    roulette wheel over the votes (Liu, Gegov & Cocea), which are exact means; ``sizes`` the weights
    of the folds, and ``over`` what they are in words.

    Examples
    --------
    >>> import countwise as cw
    >>> grid = cw.neighbor_grid("sample:iris", k=range(1, 6), p=(1, 2))
    >>> grid.accuracy.shape, grid.best["k"], grid.best["p"]
    ((5, 2), 1, 2.0)
    """

    k: tuple[int, ...]
    p: tuple[float, ...]
    folds: FloatArray
    expected: FloatArray
    sizes: FloatArray
    protocol: str
    metric: str
    data: str = ""
    over: str = "folds"

    @property
    def accuracy(self) -> FloatArray:
        """The fraction of all tested rows decided right (k × p)."""
        return np.asarray(np.average(self.folds, axis=0, weights=self.sizes))

    @property
    def expected_accuracy(self) -> FloatArray:
        """The mean accuracy of a roulette wheel over the votes (k × p)."""
        return np.asarray(np.average(self.expected, axis=0, weights=self.sizes))

    @property
    def spread(self) -> FloatArray:
        """The standard deviation of the accuracy over the folds (k × p)."""
        few = len(self.folds) < 2
        return np.zeros(self.folds.shape[1:]) if few else np.asarray(self.folds.std(axis=0, ddof=1))

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
        """Return the average over data sets: each counts the same, as a fold of the result."""
        if not grids or any((grid.k, grid.p) != (grids[0].k, grids[0].p) for grid in grids):
            raise ParameterError(
                "NeighborGrid.mean: there must be at least one grid, and all must have the same k "
                "and p.",
                hint="Make them by the same call.",
            )
        return replace(
            grids[0],
            folds=np.stack([grid.accuracy for grid in grids]),
            expected=np.stack([grid.expected_accuracy for grid in grids]),
            sizes=np.ones(len(grids)),
            data=f"mean of {len(grids)} data sets",
            over="data sets",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain data."""
        powers = [p if math.isfinite(p) else "maximum" for p in self.p]
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
            "folds": self.folds.tolist(),
            "sizes": self.sizes.tolist(),
            "best": best | {"p": powers[self.p.index(best["p"])]},
        }

    def describe(self) -> str:
        """Name the best k and p in a sentence."""
        best = self.best
        p = "maximum" if math.isinf(best["p"]) else f"{best['p']:g}"
        spread = f" ± {best['spread']:.4f} over {self.over}" if len(self.folds) > 1 else ""
        return (
            f"{self.data or 'The table'}: best k = {best['k']} and p = {p}, accuracy "
            f"{best['accuracy']:.4f}{spread} ({self.metric}, {self.protocol})."
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
    smoothing: float = 1.0,
    folds: int | str = 10,
    repeats: int = 1,
    holdout: float | None = None,
    stratified: bool = True,
    random_state: Seed = 0,
    sample_weight: ArrayLike | None = None,
    progress: Progress | bool | None = None,
    **read_options: Any,
) -> NeighborGrid:
    """Measure neighbors at every k and p by cross-validation, with one list of neighbors a p.

    The answers are those of `evaluate` with a `Neighbors` of each k and p and this smoothing.

    Parameters
    ----------
    data
        A `Table`, or anything `read` takes; further keywords are those of `read`.
    k, p
        The numbers of neighbors and the exponents; ``float("inf")`` for the maximum.
    metric
        ``minkowski`` or ``vdm``, whose exponent varies; any other metric has one p of its own.
    weights, scale, when_missing, attribute_weights, drop_least
        As in `Neighbors`.
    smoothing
        The number of imagined votes, the same at every k and p.
    folds
        The number of folds, or ``"leave-one-out"``: each row in a space learned without it, which
        costs about one search of all rows. With the ``mahalanobis`` metric, learned attribute
        weights or ``drop_least`` each space is learned anew: seconds at 3 000 rows, minutes with
        ``relief``.
    repeats, holdout, stratified, random_state, progress
        As in `evaluate`; a step is one fold at one p.
    sample_weight
        One weight a row, for training and for scores.

    Examples
    --------
    >>> import countwise as cw
    >>> grid = cw.neighbor_grid("sample:votes", k=(1, 3), p=(1, 3), folds=5)
    >>> grid.accuracy.shape, len(grid.folds)
    ((2, 2), 5)
    """
    who = "neighbor_grid"
    ks, ps = _read_grid(who, k, p)
    kind = registry.ENTRIES["Neighbors"].load()
    check(who, PROTOCOL | {name: kind.PARAMETERS[name] for name in _SHARED} | _OWN, locals())
    ps = ps if metric in ("minkowski", "vdm") else ps[:1]
    table = read_rows(neighbor_grid, data, read_options.pop("target", None), read_options)
    model = kind(
        metric=metric,
        scale=scale,
        when_missing=when_missing,
        attribute_weights=attribute_weights,
        drop_least=drop_least,
        smoothing=smoothing,
    )
    table = leave_out_text(model, table)
    known = table.target < table.target_column.width
    table, given, _, _ = drop_zero_weight(who, table, sample_weight, known)
    rng = generator(who, random_state)
    voters = Voters.of_classes(table.target, len(table.classes), given)
    rows = _Rows(table, given, voters, np.ones(len(table)) if given is None else given)
    with open_progress(who, progress) as report:
        if folds == "leave-one-out":
            words = f"leave-one-out over {len(table)} rows"
            if len(table) < 2:
                raise ParameterError(f"{who}: leave-one-out needs at least two rows; got one.")
            found = nearest_without_each_row(model, table, given, voters, ks[-1], ps, report)
            right, hoped, sizes = _score_lists(found, rows, ks, weights, smoothing)
        else:
            split = (
                split_folds(who, table, folds, repeats, stratified, rng)
                if holdout is None
                else split_holdout(table, holdout, repeats, stratified, rng)
            )
            words = split.words
            right, hoped, sizes = _score_folds(model, rows, split, ks, ps, weights, report)
    accuracy, expected = right / sizes[:, None, None], hoped / sizes[:, None, None]
    powers = tuple(POWERS.get(metric, power) for power in ps)
    name = data if isinstance(data, str) else ""
    return NeighborGrid(tuple(ks), powers, accuracy, expected, sizes, words, metric, name)


def _read_grid(who: str, k: Iterable[int], p: Iterable[float]) -> tuple[list[int], list[float]]:
    ks = list(k) if isinstance(k, Iterable) else [k]
    ps = list(p) if isinstance(p, Iterable) else [p]
    if not ks or not all(map(whole(at_least=1).admits, ks)):
        rule = "one or more whole numbers of at least 1"
        hint = "Give `k=range(1, 21)`; labels are read by `target=`."
        raise ParameterError(who, "k", rule, ks, hint)
    if not ps or not all(map(POWER.admits, ps)):
        rule = "one or more numbers of at least 1, or infinite for the maximum"
        raise ParameterError(who, "p", rule, ps, "Give `p=range(1, 10)`.")
    return sorted({int(number) for number in ks}), sorted({float(power) for power in ps})


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows with their weights: as given (None if none were), as voters, and in scores."""

    table: Table
    weight: FloatArray | None
    voters: Voters
    scored: FloatArray

    def truth(self, rows: Any) -> NDArray[np.int64]:
        return np.asarray(self.table.target[rows], dtype=np.int64)


def _score_lists(
    found: list[Nearest], rows: _Rows, ks: list[int], scheme: Any, smoothing: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weight decided right by every k and p, that of a wheel, and the weight of all."""
    right = np.zeros((1, len(ks), len(found)))
    hoped = np.zeros_like(right)
    truth, weight = rows.truth(slice(None)), rows.scored
    for by, lists in enumerate(found):
        answers = score_votes(lists, rows.voters, ks, truth, weight, scheme, smoothing, weight)
        right[0, :, by], hoped[0, :, by], _ = answers
    return right, hoped, weight.sum(keepdims=True)


def _score_folds(
    model: Any,
    rows: _Rows,
    split: Split,
    ks: list[int],
    powers: list[float],
    scheme: Any,
    report: Progress | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the figures of `_score_lists` fold by fold, each in the space of its training rows."""
    folds = split.folds()
    right = np.zeros((len(folds), len(ks), len(powers)))
    hoped = np.zeros_like(right)
    steps = Steps(report, len(folds) * len(powers))

    def score(place: int) -> None:
        train, test = folds[place]
        kept, tested = rows.table.take(train), rows.table.take(test)
        part = None if rows.weight is None else rows.weight[train]
        local = rows.voters.take(train)
        truth, weight = rows.truth(test), rows.scored[test]
        spaces = learn_weighted_spaces(model, kept, part, powers)
        for by, search in enumerate(searches(spaces, kept)):
            for at in range(0, len(test), BLOCK):
                block = slice(at, at + BLOCK)
                found = Index(search, local).nearest(tested.take(block), ks[-1])
                hits, shares, _ = score_votes(
                    found, local, ks, truth[block], weight[block], scheme, float(model.smoothing)
                )
                right[place, :, by] += hits
                hoped[place, :, by] += shares
            steps.advance(f"fold {place + 1}")

    # Small folds are searched side by side; large ones in turn, each with threads.
    workers = min(threads(), len(folds))
    if callable(scheme) or max(len(fold.test) for fold in folds) > MAX_ROWS_SIDE_BY_SIDE:
        workers = 1
    if workers == 1:
        for place in range(len(folds)):
            score(place)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(score, range(len(folds))))
    return right, hoped, np.array([rows.scored[test].sum() for _, test in folds])
