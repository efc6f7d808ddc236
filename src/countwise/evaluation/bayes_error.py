"""The Bayes error: the least error any rule can have, where densities or counts are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.integrate import quad
from sklearn.neighbors import NearestNeighbors

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.errors import ParameterError, TableError
from countwise.models.linear.encoder import Features
from countwise.notes import Note
from countwise.tables.read import read
from countwise.tables.table import Table


@dataclass(frozen=True)
class BayesError:
    """The least possible error, how it was found, and for data its bounds.

    Attributes
    ----------
    error
        The figure; of a neighbour bound the upper one: the error of one neighbour.
    how
        ``exact``, ``plug-in`` or ``neighbours``.
    low, high
        What the Bayes error lies between; equal to `error` where it is exact.
    notes
        Warnings that belong to the figure.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> round(bayes_error([norm(0, 1), norm(2, 1)]).error, 4)
    0.1587
    """

    error: float
    how: str
    low: float
    high: float
    notes: tuple[Note, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "error": self.error,
            "how": self.how,
            "low": self.low,
            "high": self.high,
            "notes": [note.to_dict() for note in self.notes],
        }

    def describe(self) -> str:
        """Return the figure in a sentence, and the warnings."""
        if self.how == "neighbours":
            text = (
                f"No rule can be expected to err on less than {self.low:.1%} of such rows; one "
                f"neighbour errs on {self.error:.1%} (bound: at most {self.high:.1%})."
            )
        else:
            text = f"The least possible error is {self.error:.1%} ({self.how})."
        return "\n".join([text, *map(str, self.notes)])


def bayes_error(known: Any, priors: ArrayLike | None = None) -> BayesError:
    """Return the least error that any rule can have, where densities or counts are known.

    Parameters
    ----------
    known
        One frozen distribution of `scipy.stats` for each class, all continuous or all discrete;
        or a table classes × cells of counts, or `Counts` of one table: then it is a plug-in
        figure, which is too low where cells hold few rows.
    priors
        The share of each class; equal by default, and the counted ones for counts.

    Examples
    --------
    Two normals a standard deviation apart on both sides of the boundary:

    >>> from scipy.stats import norm
    >>> found = bayes_error([norm(0, 1), norm(2, 1)], priors=[0.5, 0.5])
    >>> round(found.error, 4), found.how
    (0.1587, 'exact')
    >>> bayes_error([[30, 10], [10, 30]]).error
    0.25
    """
    if isinstance(known, Counts):
        if not known.tables:
            raise ParameterError(
                "bayes_error: the counts must hold a table of nominal columns, but they hold none. "
                "Count with Plan.joint."
            )
        widest = max(known.tables, key=lambda names: (len(names), known.tables[names].size))
        cells = known.tables[widest][:-1]
        return _plug_in(cells.reshape(len(cells), -1), priors)
    if isinstance(known, Sequence) and known and all(hasattr(own, "cdf") for own in known):
        return _exact(list(known), _shares(priors, len(known)))
    try:
        table = np.asarray(known, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim < 2 or np.any(table < 0) or not np.isfinite(table).all() or not table.sum() > 0:
        raise ParameterError(
            "bayes_error: frozen distributions, one a class, or counts, classes × cells, must "
            f"come, but {type(known).__name__} did. For rows use bayes_error_bound."
        )
    return _plug_in(table.reshape(len(table), -1), priors)


def _shares(priors: ArrayLike | None, number: int) -> FloatArray:
    given = np.full(number, 1.0) if priors is None else np.asarray(priors, dtype=np.float64)
    if given.shape != (number,) or np.any(given < 0) or not given.sum() > 0:
        raise ParameterError(
            f"bayes_error: priors must be {number} shares of at least 0, one a class, but "
            f"{np.asarray(priors).tolist()} came."
        )
    return np.asarray(given / given.sum())


def _plug_in(cells: FloatArray, priors: ArrayLike | None) -> BayesError:
    total = cells.sum(axis=1)
    if priors is not None:
        shares = _shares(priors, len(cells))
        scale = np.divide(shares, total, out=np.zeros(len(cells)), where=total > 0)
        joint = cells * scale[:, None]
    else:
        joint = cells
    joint = joint / joint.sum()
    error = float(joint.sum() - joint.max(axis=0).sum())
    filled = int(np.count_nonzero(cells.sum(axis=0)))
    notes: tuple[Note, ...] = ()
    if cells.sum() < 5 * filled * len(cells):
        notes = (Note.of("B01", rows=cells.sum(), cells=filled, classes=len(cells)),)
    return BayesError(max(error, 0.0), "plug-in", max(error, 0.0), max(error, 0.0), notes)


def _exact(densities: list[Any], priors: FloatArray) -> BayesError:
    discrete = [hasattr(own, "pmf") and not hasattr(own, "pdf") for own in densities]
    kinds = [isinstance(getattr(own, "dist", None), stats.rv_discrete) for own in densities]
    if any(discrete) or any(kinds):
        if not all(kinds):
            raise ParameterError(
                "bayes_error: all densities must be continuous or all discrete, but both came."
            )
        error = _discrete_error(densities, priors)
    else:
        error = _continuous_error(densities, priors)
    return BayesError(error, "exact", error, error)


def _discrete_error(masses: list[Any], priors: FloatArray) -> float:
    low = min(float(own.ppf(1e-15)) for own in masses)
    high = max(float(own.ppf(1 - 1e-15)) for own in masses)
    places = np.arange(math.floor(low), math.ceil(high) + 1)
    joint = np.stack([p * own.pmf(places) for p, own in zip(priors, masses, strict=True)])
    return float(max(0.0, 1.0 - joint.max(axis=0).sum()))


def _continuous_error(densities: list[Any], priors: FloatArray) -> float:
    """One minus the mass of each class where it is the best: between boundaries, by its own cdf."""
    cuts = boundaries(densities, priors)
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    right = 0.0
    for low, high in pairwise(edges):
        masses = [
            p * (own.cdf(high) - own.cdf(low)) for p, own in zip(priors, densities, strict=True)
        ]
        right += max(masses)
    return float(min(max(1.0 - right, 0.0), 1.0))


def boundaries(densities: Sequence[Any], priors: ArrayLike | None = None) -> FloatArray:
    """Return where the best class changes, for densities of one number.

    Between two normals the places are roots of a quadratic; otherwise they are searched for on a
    fine grid of quantiles and narrowed by bisection.
    """
    shares = _shares(priors, len(densities))
    if len(densities) == 2 and all(_normal(own) is not None for own in densities):
        return _between_normals(densities, shares)

    def best(x: FloatArray) -> NDArray[np.intp]:
        joint = [p * own.pdf(x) for p, own in zip(shares, densities, strict=True)]
        return np.asarray(np.stack(joint).argmax(axis=0))

    steps = np.concatenate([np.geomspace(1e-12, 1e-3, 60), np.linspace(0.001, 0.999, 2000)])
    levels = np.unique(np.concatenate([steps, 1 - steps]))
    grid = np.unique(np.concatenate([own.ppf(levels) for own in densities]))
    grid = grid[np.isfinite(grid)]
    wins = best(grid)
    found = []
    for at in np.flatnonzero(wins[1:] != wins[:-1]):
        low, high = float(grid[at]), float(grid[at + 1])
        for _ in range(80):
            middle = low / 2 + high / 2
            same = int(best(np.array([middle]))[0]) == int(wins[at])
            low, high = (middle, high) if same else (low, middle)
        found.append(low / 2 + high / 2)
    return np.asarray(found)


def _normal(density: Any) -> tuple[float, float] | None:
    """Mean and spread of a frozen normal; None of anything else."""
    if getattr(getattr(density, "dist", None), "name", "") != "norm":
        return None
    return float(density.mean()), float(density.std())


def _between_normals(densities: Sequence[Any], priors: FloatArray) -> FloatArray:
    (m, s), (n, t) = (_normal(own) or (0.0, 1.0) for own in densities)
    with np.errstate(divide="ignore"):
        c = (np.log(priors[0]) - np.log(s)) - (np.log(priors[1]) - np.log(t))
    if not np.isfinite(c):
        return np.empty(0)
    a = 0.5 / t**2 - 0.5 / s**2
    b = m / s**2 - n / t**2
    c += n**2 / (2 * t**2) - m**2 / (2 * s**2)
    if abs(a) < 1e-14 * max(0.5 / t**2, 0.5 / s**2):
        return np.asarray([-c / b]) if b != 0 else np.empty(0)
    inside = b * b - 4 * a * c
    if inside <= 0:
        return np.empty(0)
    # Without the difference of two close numbers.
    q = -0.5 * (b + math.copysign(math.sqrt(inside), b))
    return np.sort(np.asarray([q / a, c / q if q != 0 else -b / a]))


def overlap(densities: Sequence[Any], priors: ArrayLike | None = None) -> float:
    """Return the integral of all but the largest density: the Bayes error by another way."""
    shares = _shares(priors, len(densities))

    def rest(x: float) -> float:
        joint = [p * own.pdf(x) for p, own in zip(shares, densities, strict=True)]
        return float(sum(joint) - max(joint))

    levels = [1e-13, 1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9]
    edges = np.concatenate([own.ppf([*levels, 1 - 1e-13]) for own in densities])
    edges = np.unique(np.concatenate([edges, boundaries(densities, shares)]))
    return float(sum(quad(rest, low, high, limit=200)[0] for low, high in pairwise(edges)))


#: Rows of which neighbours are looked for; more say the same more slowly.
MOST_ROWS = 20_000
#: Fewer rows than this for each column leave the bound far from what it says of many.
FEW_ROWS = 50


def bayes_error_bound(
    data: Any, target: Any = None, level: float = 0.95, random_state: int = 0, **read_options: Any
) -> BayesError:
    """Bound the Bayes error of rows by the errors of their nearest neighbours, with an interval.

    One neighbour, asymptotically, errs at most twice as often as the best rule (Cover & Hart 1967).
    The error of each row's nearest other row is counted, Wilson's interval put around it, and both
    ends turned round by the bound: `low` is the least Bayes error that fits, `high` the upper end.

    Parameters
    ----------
    data
        A `Table` with classes, or anything `read` takes with `target`.
    target
        The class, as in `read`.
    level
        The confidence of the interval.
    random_state
        Which rows are looked at, where there are more than 20 000.

    Examples
    --------
    >>> found = bayes_error_bound("sample:iris")
    >>> 0 < found.low < found.error < found.high < 0.15
    True
    """
    table = data if isinstance(data, Table) else read(data, target=target, **read_options)
    if not table.labelled:
        raise TableError("bayes_error_bound: rows need classes. Read them with target='column'.")
    table = table.take(table.target < table.target_column.width)
    if len(table) < 3:
        raise TableError(
            f"bayes_error_bound: at least 3 rows with a class are needed, but {len(table)} came."
        )
    if not 0 < level < 1:
        raise ParameterError(
            f"bayes_error_bound: level must be between 0 and 1, such as 0.95, but {level!r} came."
        )
    rows = np.arange(len(table))
    if len(rows) > MOST_ROWS:
        rows = np.random.default_rng(random_state).choice(rows, MOST_ROWS, replace=False)
    missed = _neighbour_errors(table, rows)
    low, high = _wilson(int(missed.sum()), len(rows), level)
    number = len(np.unique(table.target))
    error = float(missed.mean())
    undo = _cover_hart(number)
    return BayesError(error, "neighbours", undo(low), high, _warnings(table, rows))


def _neighbour_errors(table: Table, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the nearest other row of each of some rows is of another class."""
    X = Features.learn(table).matrix(table)
    search = NearestNeighbors(n_neighbors=2).fit(X)
    near = search.kneighbors(X[rows], return_distance=False)
    # Of equal rows either may come first: the other one is the neighbour.
    other = np.where(near[:, 0] == rows, near[:, 1], near[:, 0])
    return np.asarray(table.target[other] != table.target[rows])


def _wilson(times: int, rows: int, level: float) -> tuple[float, float]:
    """Wilson's interval for a share."""
    z = float(stats.norm.ppf(0.5 + level / 2))
    share = times / rows
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _cover_hart(classes: int) -> Callable[[float], float]:
    """The least Bayes error under which one neighbour may err so often."""
    most = (classes - 1) / classes if classes > 1 else 0.0

    def least(error: float) -> float:
        if most == 0:
            return 0.0
        return most * (1 - math.sqrt(max(0.0, 1 - min(error, most) / most)))

    return least


def _warnings(table: Table, rows: NDArray[np.intp]) -> tuple[Note, ...]:
    columns = len(table.schema.attributes)
    notes = []
    if len(table) < FEW_ROWS * max(columns, 1):
        notes.append(Note.of("B02", rows=len(table), columns=columns))
    if len(rows) < len(table):
        notes.append(Note.of("B03", used=len(rows), rows=len(table)))
    return tuple(notes)
