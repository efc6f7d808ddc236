"""The only door to the engines: rows and a plan in, counts out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.counts.counts import Counts
from countwise.counts.engines import memory, reference
from countwise.counts.plan import Plan
from countwise.errors import CountsError, ParameterError, did_you_mean, listing
from countwise.tables.read import read
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

#: Engine names and the function that folds a table by a plan.
ENGINES: dict[str, Callable[[Table, Plan, NDArray[np.float64] | None], Counts]] = {
    "memory": memory.fold,
    "reference": reference.fold,
}


def count(
    rows: Any,
    plan: Plan | None = None,
    *,
    weight: ArrayLike | None = None,
    engine: str = "memory",
    **read_options: Any,
) -> Counts:
    """Count rows once, by class, as the plan says (each attribute by class if none is given).

    Parameters
    ----------
    rows
        A `Table`, or anything `read` takes; further keywords are handed to it.
    plan
        What to count. A plan made with `Plan.within` needs `count_groups`.
    weight
        One weight a row; an integer weight equals repeating the row.
    engine
        ``memory`` (compiled, threaded) or ``reference`` (NumPy, slow, obvious).

    Examples
    --------
    >>> import countwise as cw
    >>> cw.count("sample:weather", target="play").weight
    array([5., 9., 0.])
    """
    table = _table(rows, read_options)
    plan = _plan(plan, table)
    if plan.apart is not None:
        raise CountsError(
            f"count: the plan keeps counts apart within {plan.apart!r}, which makes several of "
            "them. Call count_groups(rows, plan)."
        )
    fold = _engine(engine)
    return fold(table, plan, read_weights(weight, len(table), "count"))


def count_groups(
    rows: Any,
    plan: Plan | None = None,
    groups: ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
    engine: str = "memory",
    **read_options: Any,
) -> list[Counts]:
    """Count groups of rows apart: the folds of a cross-validation, the parts of a curve.

    Groups are whole numbers from 0, one a row, or the levels of the plan's `within` column (rows
    where it is missing belong to no group). Their counts add up to those of all rows.

    Examples
    --------
    >>> import countwise as cw
    >>> table = cw.read("sample:weather")
    >>> parts = cw.count_groups(table, groups=[0, 1] * 7)
    >>> parts[0] + parts[1] == cw.count(table)
    True
    """
    table = _table(rows, read_options)
    plan = _plan(plan, table)
    label, number = _groups(table, plan, groups)
    given = read_weights(weight, len(table), "count_groups")
    fold = _engine(engine)
    # Few distinct small numbers sort in linear time.
    label = label.astype(np.min_scalar_type(int(label.max(initial=0))))
    order = np.argsort(label, kind="stable")
    edges = np.searchsorted(label[order], np.arange(number + 1))
    whole = Plan(plan.tables, plan.moments, plan.grids)
    # Sorted once, the rows of a group lie together: a slice of them is a view, not a copy.
    order = order[: edges[-1]]
    rows_sorted = table.take(order)
    weights = None if given is None else given[order]
    parts = []
    for group in range(number):
        own = slice(int(edges[group]), int(edges[group + 1]))
        parts.append(fold(rows_sorted.take(own), whole, None if weights is None else weights[own]))
    return parts


def _table(rows: Any, read_options: dict[str, Any]) -> Table:
    if isinstance(rows, Table) and not read_options:
        return rows
    return read(rows, **read_options)


def _plan(plan: Plan | None, table: Table) -> Plan:
    if plan is None:
        return Plan.each(table.schema)
    if not isinstance(plan, Plan):
        raise ParameterError(
            f"count: a plan must be a Plan, such as Plan.each(table.schema), but {plan!r} came."
        )
    return plan


def _engine(name: str) -> Callable[[Table, Plan, NDArray[np.float64] | None], Counts]:
    if name not in ENGINES:
        raise ParameterError(
            f"count: engine must be one of {listing(ENGINES)}, but {name!r} came."
            f"{did_you_mean(name, ENGINES)}"
        )
    return ENGINES[name]


def _groups(table: Table, plan: Plan, groups: ArrayLike | None) -> tuple[NDArray[np.intp], int]:
    if groups is None:
        if plan.apart is None:
            raise CountsError(
                "count_groups: groups must come as one whole number a row, or from the plan's "
                "within column, but neither was given. Pass groups= or use plan.within('column')."
            )
        column = table.schema[plan.apart]
        return table.codes(plan.apart).astype(np.intp), column.width
    label = np.asarray(groups)
    if label.shape != (len(table),) or label.dtype.kind not in "iu":
        raise CountsError(
            f"count_groups: groups must be {len(table)} whole numbers, one a row, but an array of "
            f"{label.dtype} with shape {label.shape} came."
        )
    if label.size and label.min() < 0:
        raise CountsError("count_groups: groups are numbered from 0, but a negative one came.")
    number = int(label.max()) + 1 if label.size else 0
    if number > 10 * len(label) + 1000:
        raise CountsError(
            f"count_groups: groups are numbered one after the other, but the largest is "
            f"{number - 1} for {len(label)} rows. Number them anew, as np.unique does."
        )
    return label.astype(np.intp), number
