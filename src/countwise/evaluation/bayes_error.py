"""The Bayes error: the least possible error of any rule, from known densities or counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.errors import ParameterError, TableError
from countwise.evaluation.folds import Seed, generator, read_rows
from countwise.evaluation.intervals import LEVEL, wilson
from countwise.models.linear.encoder import Features
from countwise.notes import Note
from countwise.params import check
from countwise.progress import Progress, open_progress


@dataclass(frozen=True)
class BayesError:
    """The least possible error, the method that found it, and its bounds.

    Attributes
    ----------
    error
        The figure; of a neighbor bound the upper one: the error of one neighbor.
    how
        ``exact``, ``plug-in`` or ``neighbors``.
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
        return vars(self) | {"notes": [note.to_dict() for note in self.notes]}

    def describe(self) -> str:
        """Return the figure in a sentence, and the warnings."""
        if self.how == "neighbors":
            text = (
                f"No rule can be expected to err on less than {self.low:.1%} of such rows; one "
                f"neighbor errs on {self.error:.1%} (bound: at most {self.high:.1%})."
            )
        else:
            text = f"The least possible error is {self.error:.1%} ({self.how})."
        return "\n".join([text, *map(str, self.notes)])


def bayes_error(known: Any, prior: ArrayLike | None = None) -> BayesError:
    """Return the least error that any rule can have, where densities or counts are known.

    Parameters
    ----------
    known
        One frozen distribution of `scipy.stats` for each class, all continuous or all discrete;
        or a table classes × cells of counts, or `Counts` of one table: then it is a plug-in
        figure, which is too low where cells hold few rows.
    prior
        The share of each class; equal by default, and the counted ones for counts.

    Examples
    --------
    Two normals a standard deviation apart on both sides of the boundary:

    >>> from scipy.stats import norm
    >>> found = bayes_error([norm(0, 1), norm(2, 1)], prior=[0.5, 0.5])
    >>> round(found.error, 4), found.how
    (0.1587, 'exact')
    >>> bayes_error([[30, 10], [10, 30]]).error
    0.25
    """
    if isinstance(known, Counts):
        if not known.tables:
            raise ParameterError(
                "bayes_error: the counts must hold a table of nominal columns; they hold none.",
                hint="Count with Plan.joint.",
            )
        widest = max(known.tables, key=lambda names: (len(names), known.tables[names].size))
        cells = known.tables[widest][:-1]
        return _plug_in(cells.reshape(len(cells), -1), prior)
    if isinstance(known, Sequence) and known and all(hasattr(density, "cdf") for density in known):
        return _exact(list(known), _shares(prior, len(known)))
    try:
        table = np.asarray(known, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim < 2 or np.any(table < 0) or not np.isfinite(table).all() or not table.sum() > 0:
        raise ParameterError(
            "bayes_error: known must be frozen distributions, one a class, or counts, classes × "
            f"cells; got {type(known).__name__}.",
            hint="For rows use bayes_error_bound.",
        )
    return _plug_in(table.reshape(len(table), -1), prior)


def _shares(prior: ArrayLike | None, number: int) -> FloatArray:
    given = np.full(number, 1.0) if prior is None else np.asarray(prior, dtype=np.float64)
    if given.shape != (number,) or np.any(given < 0) or not given.sum() > 0:
        rule = f"{number} shares of at least 0, one a class"
        raise ParameterError("bayes_error", "prior", rule, np.asarray(prior).tolist())
    return np.asarray(given / given.sum())


def _plug_in(cells: FloatArray, prior: ArrayLike | None) -> BayesError:
    total = cells.sum(axis=1)
    joint = cells
    if prior is not None:
        shares = _shares(prior, len(cells))
        scale = np.divide(shares, total, out=np.zeros(len(cells)), where=total > 0)
        joint = cells * scale[:, None]
    joint = joint / joint.sum()
    error = max(float(joint.sum() - joint.max(axis=0).sum()), 0.0)
    filled = int(np.count_nonzero(cells.sum(axis=0)))
    notes: tuple[Note, ...] = ()
    if cells.sum() < 5 * filled * len(cells):
        notes = (Note.of("B01", rows=cells.sum(), cells=filled, classes=len(cells)),)
    return BayesError(error, "plug-in", error, error, notes)


def _exact(densities: list[Any], prior: FloatArray) -> BayesError:
    discrete = [hasattr(density, "pmf") and not hasattr(density, "pdf") for density in densities]
    from scipy import stats  # slow to import

    kinds = [isinstance(getattr(density, "dist", None), stats.rv_discrete) for density in densities]
    if any(discrete) or any(kinds):
        if not all(kinds):
            raise ParameterError(
                "bayes_error: all densities must be continuous or all discrete; got both."
            )
        error = _discrete_error(densities, prior)
    else:
        error = _continuous_error(densities, prior)
    return BayesError(error, "exact", error, error)


def _discrete_error(masses: list[Any], prior: FloatArray) -> float:
    low = min(float(density.ppf(1e-15)) for density in masses)
    high = max(float(density.ppf(1 - 1e-15)) for density in masses)
    places = np.arange(math.floor(low), math.ceil(high) + 1)
    joint = np.stack([p * density.pmf(places) for p, density in zip(prior, masses, strict=True)])
    return float(max(0.0, 1.0 - joint.max(axis=0).sum()))


def _continuous_error(densities: list[Any], prior: FloatArray) -> float:
    """Return one minus the mass of each class between the boundaries where it is the best."""
    edges = np.concatenate([[-np.inf], boundaries(densities, prior), [np.inf]])
    right = 0.0
    for low, high in pairwise(edges):
        masses = [
            p * (density.cdf(high) - density.cdf(low))
            for p, density in zip(prior, densities, strict=True)
        ]
        right += max(masses)
    return float(min(max(1.0 - right, 0.0), 1.0))


def boundaries(densities: Sequence[Any], prior: ArrayLike | None = None) -> FloatArray:
    """Return where the best class changes, for densities of one number."""
    shares = _shares(prior, len(densities))
    if len(densities) == 2 and all(_normal(density) is not None for density in densities):
        return _between_normals(densities, shares)

    def best(x: FloatArray) -> NDArray[np.intp]:
        joint = [p * density.pdf(x) for p, density in zip(shares, densities, strict=True)]
        return np.asarray(np.stack(joint).argmax(axis=0))

    steps = np.concatenate([np.geomspace(1e-12, 1e-3, 60), np.linspace(0.001, 0.999, 2000)])
    levels = np.unique(np.concatenate([steps, 1 - steps]))
    grid = np.unique(np.concatenate([density.ppf(levels) for density in densities]))
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
    """Return mean and spread of a frozen normal; None for anything else."""
    if getattr(getattr(density, "dist", None), "name", "") != "norm":
        return None
    return float(density.mean()), float(density.std())


def _between_normals(densities: Sequence[Any], prior: FloatArray) -> FloatArray:
    (m, s), (n, t) = (_normal(density) or (0.0, 1.0) for density in densities)
    with np.errstate(divide="ignore"):
        c = (np.log(prior[0]) - np.log(s)) - (np.log(prior[1]) - np.log(t))
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


#: The most rows whose neighbors are searched.
MAX_ROWS = 20_000
#: Rows after which progress is reported.
_BLOCK = 1_000
#: With fewer rows than this a column, the bound is far from that of many rows.
FEW_ROWS = 50


def bayes_error_bound(
    data: Any,
    target: Any = None,
    level: float = 0.95,
    random_state: Seed = 0,
    progress: Progress | bool | None = None,
    **read_options: Any,
) -> BayesError:
    """Bound the Bayes error of rows by the errors of their nearest neighbors, with an interval.

    One neighbor, asymptotically, errs at most twice as often as the best rule (Cover & Hart 1967).
    The error of each row's nearest other row is counted, Wilson's interval put around it, and both
    ends inverted by the bound: `low` is the least Bayes error that fits, `high` the upper end.

    Parameters
    ----------
    data
        A `Table` with classes, or anything `read` takes with `target`.
    target
        The class, as in `read`.
    level
        The confidence of the interval.
    random_state
        The random seed of the rows that are searched, where there are more than 20 000.
    progress
        True for a bar on a terminal, or a function that gets rows done, rows in all and a text.

    Examples
    --------
    >>> found = bayes_error_bound("sample:iris")
    >>> 0 < found.low < found.error < found.high < 0.15
    True
    """
    who = "bayes_error_bound"
    check(who, LEVEL, {"level": level})
    table = read_rows(bayes_error_bound, data, target, read_options)
    if not table.labelled:
        raise TableError(f"{who}: rows need classes.", hint="Read them with `target='column'`.")
    table = table.take(table.target < table.target_column.width)
    if len(table) < 3:
        raise TableError(f"{who}: there must be at least 3 rows with a class; got {len(table)}.")
    rows = np.arange(len(table))
    if len(rows) > MAX_ROWS:
        rows = generator(who, random_state).choice(rows, MAX_ROWS, replace=False)
    X = Features.learn(table).matrix(table)
    from sklearn.neighbors import NearestNeighbors  # slow to import

    search = NearestNeighbors(n_neighbors=2).fit(X)
    parts = []
    with open_progress(who, progress) as report:
        for start in range(0, len(rows), _BLOCK):
            part = X[rows[start : start + _BLOCK]]
            parts.append(search.kneighbors(part, return_distance=False))
            if report is not None:
                report(start + part.shape[0], len(rows), "nearest rows")
    near = np.concatenate(parts)
    # Of equal rows either may be listed first: the other one is the neighbor.
    other = np.where(near[:, 0] == rows, near[:, 1], near[:, 0])
    missed = table.target[other] != table.target[rows]
    error = wilson(float(missed.mean()), len(rows), level)
    low = _invert_bound(error.low, len(np.unique(table.target)))
    columns = len(table.schema.attributes)
    notes = []
    if len(table) < FEW_ROWS * max(columns, 1):
        notes.append(Note.of("B02", rows=len(table), columns=columns))
    if len(rows) < len(table):
        notes.append(Note.of("B03", used=len(rows), rows=len(table)))
    return BayesError(error.value, "neighbors", low, error.high, tuple(notes))


def _invert_bound(error: float, classes: int) -> float:
    """Return the least Bayes error under which one neighbor may err so often (Cover & Hart)."""
    if classes < 2:
        return 0.0
    most = (classes - 1) / classes
    return most * (1 - math.sqrt(max(0.0, 1 - min(error, most) / most)))
