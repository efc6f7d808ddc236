"""Count rows by a plan: the only functions that call the engines."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.counts.counts import Counts
from countwise.counts.plan import Plan
from countwise.errors import CountsError, ParameterError, did_you_mean, listing
from countwise.notes import Note
from countwise.tables.scan import Scan
from countwise.tables.schema import Schema
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

if TYPE_CHECKING:
    from countwise.progress import Progress

Engine = Callable[[Table, Plan, NDArray[np.float64] | None], Counts]
#: Engines by name, and their modules, each with a function `fold`.
ENGINES = {
    "memory": "countwise.counts.engines.memory",
    "reference": "countwise.counts.engines.reference",
}
#: Engines for rows outside memory, each with a function `fold_scan`.
SCAN_ENGINES = {
    "stream": "countwise.counts.engines.stream",
    "pushdown": "countwise.counts.engines.pushdown",
    "spark": "countwise.counts.engines.spark",
}
#: What `count` takes for a plan that depends on columns which a scan has still to find out.
PlanOf = Callable[[Schema], Plan]


def count(
    rows: Any,
    plan: Plan | PlanOf | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    engine: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    **read_options: Any,
) -> Counts:
    """Count rows once, by class, as the plan says (each attribute by class if none is given).

    Parameters
    ----------
    rows
        A `Table`, a `Scan`, or anything `read` takes; further keywords are handed to it.
    plan
        What to count, or a function that returns it for a schema. A plan made with `Plan.within`
        needs `count_groups`.
    sample_weight
        One weight a row; an integer weight equals repeating the row.
    engine
        ``memory`` (compiled, threaded) or ``reference`` (NumPy, slow, obvious). For a `Scan`:
        ``stream``, which counts its pieces by the engine ``memory``; ``pushdown``, which lets a
        database or a lazy frame group rows; or ``spark``, which counts where Spark has the rows.
    checkpoint
        For a `Scan`: a file to which the counts so far are written after each piece. If it is
        there, counting goes on from it.
    progress
        For a `Scan`: called with bytes done, bytes in all and a text; True shows a bar.

    Examples
    --------
    >>> import countwise as cw
    >>> cw.count("sample:weather", target="play").weight
    array([5., 9., 0.])
    """
    if isinstance(rows, Scan) and not read_options:
        if sample_weight is not None:
            raise ParameterError(
                "count: the weights of a Scan are a column of its own; got `sample_weight=`.",
                hint="Scan it with `weight=` and the name of that column",
            )
        return _count_scan(rows, plan, engine, checkpoint, progress)
    if checkpoint is not None:
        raise ParameterError(
            "count: only rows outside memory are counted with a `checkpoint=`.",
            hint="Pass cw.scan(source, target=…)",
        )
    table, plan, weight, fold = _read("count", rows, plan, sample_weight, engine, read_options)
    if plan.apart is not None:
        raise CountsError(
            "count: the plan must not keep groups apart; got one that does so within "
            f"{plan.apart!r}.",
            hint="Call count_groups(rows, plan)",
        )
    return fold(table, plan, weight)


def _count_scan(
    scan: Scan,
    plan: Plan | PlanOf | None,
    engine: str | None,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress | bool | None,
) -> Counts:
    """Count rows outside memory by the engine that suits them, or the one that is asked for."""
    from countwise.progress import open_progress

    engine = engine or scan.engine
    name = engine or scan.source.engine
    if name not in SCAN_ENGINES:
        hint = did_you_mean(name, SCAN_ENGINES).strip()
        raise ParameterError("count", "engine", f"one of {listing(SCAN_ENGINES)}", name, hint)
    plan_of = (
        plan if callable(plan) else (lambda schema: Plan.each(schema) if plan is None else plan)
    )
    with open_progress("count", progress) as report:
        fold = import_module(SCAN_ENGINES[name]).fold_scan
        counts: Counts = fold(scan, plan_of, checkpoint=checkpoint, progress=report)
    why = "as requested" if engine else scan.source.why_engine
    scan.add_note(Note.of("S01", rows=counts.rows, what=scan.source.what, engine=name, why=why))
    return counts


def count_groups(
    rows: Any,
    plan: Plan | None = None,
    groups: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    engine: str | None = None,
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
    who = "count_groups"
    table, plan, weight, fold = _read(who, rows, plan, sample_weight, engine, read_options)
    label, number = _groups(table, plan, groups)
    # Few distinct small numbers sort in linear time.
    label = label.astype(np.min_scalar_type(int(label.max(initial=0))))
    order = np.argsort(label, kind="stable")
    edges = np.searchsorted(label[order], np.arange(number + 1))
    whole = replace(plan, apart=None)
    # Sorted once, the rows of a group lie together: a slice of them is a view, not a copy.
    order = order[: edges[-1]]
    rows_sorted = table.take(order)
    weight = None if weight is None else weight[order]
    members = [slice(start, stop) for start, stop in pairwise(edges.tolist())]
    return [
        fold(rows_sorted.take(group), whole, None if weight is None else weight[group])
        for group in members
    ]


def _read(
    who: str,
    rows: Any,
    plan: Plan | PlanOf | None,
    sample_weight: ArrayLike | None,
    engine: str | None,
    read_options: dict[str, Any],
) -> tuple[Table, Plan, NDArray[np.float64] | None, Engine]:
    """Return the rows as a table, the plan, the weights and the function that counts."""
    if read_options or not isinstance(rows, Table):
        from countwise.tables.read import read

        known = ("sample_weight", "engine", *list(inspect.signature(read).parameters)[1:])
        for name in read_options:
            if name not in known:
                raise ParameterError(
                    f"{who}: a keyword must be an option of {who} or of read; got {name!r}.",
                    hint=did_you_mean(name, known).strip(),
                )
        rows = read(rows, **read_options)
    plan = Plan.each(rows.schema) if plan is None else plan
    plan = plan(rows.schema) if callable(plan) else plan
    engine = engine or "memory"
    if not isinstance(plan, Plan):
        raise ParameterError(who, "plan", "a Plan, such as Plan.each(table.schema)", plan)
    if engine not in ENGINES:
        hint = did_you_mean(engine, ENGINES).strip()
        raise ParameterError(who, "engine", f"one of {listing(ENGINES)}", engine, hint)
    weight = read_weights(sample_weight, len(rows), who)
    return rows, plan, weight, import_module(ENGINES[engine]).fold


def _groups(table: Table, plan: Plan, groups: ArrayLike | None) -> tuple[NDArray[np.intp], int]:
    if groups is None:
        if plan.apart is None:
            raise CountsError(
                "count_groups: groups must be stated; got neither one number a row nor a plan "
                "that keeps groups apart.",
                hint=("pass `groups=`", "use plan.within('column')"),
            )
        return table.codes(plan.apart).astype(np.intp), table.schema[plan.apart].width
    label = np.asarray(groups)
    if label.shape != (len(table),) or label.dtype.kind not in "iu":
        raise CountsError(
            f"count_groups: groups must be {len(table)} whole numbers, one a row; got an array of "
            f"{label.dtype} with shape {label.shape}."
        )
    if label.size and label.min() < 0:
        raise CountsError(f"count_groups: groups must be numbered from 0; got {label.min()}.")
    number = int(label.max()) + 1 if label.size else 0
    if number > 10 * len(label) + 1000:
        raise CountsError(
            f"count_groups: groups must be numbered one after the other; got {number - 1} as the "
            f"largest of {len(label)} rows.",
            hint="Number them anew, as np.unique does",
        )
    return label.astype(np.intp), number
