"""A bound of the Bayes error from nearest neighbours, for data of which nothing else is known.

Asymptotically the error of one neighbour is at most E (2 - E K/(K - 1)) for a Bayes error E of K
classes (Cover & Hart 1967), so that E is at least what solves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.neighbors import NearestNeighbors

from countwise.errors import ParameterError, TableError
from countwise.posteriors.bayes_error import BayesError
from countwise.posteriors.features import Features
from countwise.tables.notes import Note
from countwise.tables.read import read
from countwise.tables.table import Table

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
        notes.append(
            Note(
                "B02",
                None,
                f"The bound holds for ever more rows; {len(table)} rows in {columns} columns leave "
                "neighbours far apart, and the figures may be well above the Bayes error.",
            )
        )
    if len(rows) < len(table):
        text = f"Neighbours of {len(rows)} of {len(table)} rows were looked at."
        notes.append(Note("B03", None, text))
    return tuple(notes)
