"""The statement by which PostgreSQL scores rows and adds up how well they are told.

What a row scores in a class is a sum of figures looked up by the codes of its columns, and of logs
of normal densities. Posteriors are their softmax; only sums over rows leave the database.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.tables.sources.query_source import Cells

#: Rows of more classes, or with more decisions, take PostgreSQL far longer to score than to send:
#: each class has a histogram, and the time grows with the square of their number.
MOST_CLASSES = 20
#: Figures that a statement may hold, at about 20 bytes each.
MOST_FIGURES = 1 << 18
#: What is added up of each group of rows.
TOTALS = ("rows", "loss", "loss2", "brier", "brier2")
#: Deviations from a mean whose squares are still doubles.
_FARTHEST, _NEAREST = 1e125, 1e-150
#: PostgreSQL refuses products too small for a double, such as the square of a squared posterior.
_LEAST_POWER = -170


class Levels(NamedTuple):
    """The code of each value of a nominal column, and that of a missing one."""

    values: Mapping[Any, int]
    missing: int


class LookUp(NamedTuple):
    """Figures by the codes of columns: one axis a column, then the classes."""

    columns: tuple[str, ...]
    figures: FloatArray


class Normal(NamedTuple):
    """Log densities of a column: ``constant - precision (x - mean)^2`` by class, or `missing`."""

    column: str
    mean: FloatArray
    precision: FloatArray
    constant: FloatArray
    missing: FloatArray
    marks: frozenset[float]


@dataclass(frozen=True, eq=False)
class ScoreQuery:
    """How rows are scored, and what is added up.

    Attributes
    ----------
    labels
        The code of each value of the class column.
    levels, cells
        How nominal columns are coded, and numbers that are cut.
    base, look_ups, normals
        The scores of a row without any evidence, and what its columns add.
    temperature
        What the scores of rows with some evidence are divided by.
    gains
        By class and decision; the decision with the most is taken.
    least
        No posterior of the true class counts as less.
    binned, edges
        The classes whose posteriors are counted by bins, and the edges between these.
    """

    target: str
    labels: Mapping[Any, int]
    levels: Mapping[str, Levels]
    cells: Mapping[str, Cells]
    base: FloatArray
    look_ups: Sequence[LookUp]
    normals: Sequence[Normal]
    temperature: float
    gains: FloatArray
    least: float
    binned: Sequence[int]
    edges: NDArray[np.float64]


def write_statement(
    asked: ScoreQuery, rows: str, quote: Callable[[str], str], without_marks: Any
) -> str:
    """Return the statement; `quote` writes names, `without_marks` numbers, some of them as NULL."""
    classes = range(len(asked.base))
    place = {name: at for at, name in enumerate((*asked.levels, *asked.cells))}
    target = f"given.{quote(asked.target)}"
    joins, found = "", [f"{_case(target, asked.labels)} AS label"]
    for name, levels in asked.levels.items():
        at = place[name]
        listed = ", ".join(f"({literal(value)}, {code})" for value, code in levels.values.items())
        if listed:
            joins += f" LEFT JOIN (VALUES {listed}) AS m{at}(v, c) ON m{at}.v = given.{quote(name)}"
        code = f"COALESCE(m{at}.c, {levels.missing})" if listed else str(levels.missing)
        found.append(f"{code} AS a{at}")
    for name, cell in asked.cells.items():
        assert cell.points is not None
        above = array(np.nextafter(cell.points, np.inf))
        number = f"NULLIF({without_marks(name, cell.marks, 'given.')}, 'NaN')"
        code = f"COALESCE(width_bucket({number}, {above}), {len(cell.points) + 1})"
        found.append(f"{code} AS a{place[name]}")
    for at, normal in enumerate(asked.normals):
        number = without_marks(normal.column, normal.marks, "given.")
        found.append(f"NULLIF({number}, 'NaN') AS x{at}")
    inner = f"(SELECT {', '.join(found)} FROM {rows} AS given{joins} OFFSET 0) AS coded"
    scores = [f"{_score(asked, c, place)} AS s{c}" for c in classes]
    inner = f"(SELECT label, {', '.join(scores)} FROM {inner} OFFSET 0) AS scored"
    if asked.temperature != 1.0:
        # Rows without any evidence keep the prior as it is.
        silent = " AND ".join(f"s{c} = {double(asked.base[c])}" for c in classes)
        divisor = f"CASE WHEN {silent} THEN 1 ELSE {double(asked.temperature)} END"
        tempered = ", ".join(f"s{c} / t AS s{c}" for c in classes)
        inner = f"(SELECT *, {divisor} AS t FROM {inner} OFFSET 0) AS divided"
        inner = f"(SELECT label, {tempered} FROM {inner} OFFSET 0) AS tempered"
    top = ", ".join(f"s{c}" for c in classes)
    powers = ", ".join(f"exp(greatest(s{c} - top, {_LEAST_POWER})) AS e{c}" for c in classes)
    inner = f"(SELECT *, greatest({top}) AS top FROM {inner} OFFSET 0) AS topped"
    inner = f"(SELECT label, {powers} FROM {inner} OFFSET 0) AS raised"
    total = " + ".join(f"e{c}" for c in classes)
    shares = ", ".join(f"e{c} / total AS p{c}" for c in classes)
    inner = f"(SELECT *, {total} AS total FROM {inner} OFFSET 0) AS summed"
    inner = f"(SELECT label, {shares} FROM {inner} OFFSET 0) AS shared"
    true = " ".join(f"WHEN {c} THEN p{c}" for c in classes)
    gaps = [f"(p{c} - (label = {c})::int)" for c in classes]
    brier = " + ".join(f"{gap} * {gap}" for gap in gaps)
    brier = f"({brier}) / {2 if len(classes) == 2 else 1}"
    binned = ", ".join(f"width_bucket(p{c}, {array(asked.edges)}) AS h{c}" for c in asked.binned)
    gains = [
        " + ".join(f"{double(asked.gains[c, d])} * p{c}" for c in classes if asked.gains[c, d])
        or "0::float8"
        for d in range(asked.gains.shape[1])
    ]
    listed = ", ".join(f"{gain} AS g{d}" for d, gain in enumerate(gains))
    figures = f"-ln(greatest(CASE label {true} END, {double(asked.least)})) AS loss"
    figures += f", {brier} AS brier, {listed}" + (f", {binned}" if binned else "")
    inner = f"(SELECT *, {figures} FROM {inner} WHERE label IS NOT NULL OFFSET 0) AS judged"
    best = "greatest(" + ", ".join(f"g{d}" for d in range(len(gains))) + ")"
    decided = " ".join(f"WHEN g{d} = {best} THEN {d}" for d in range(len(gains)))
    inner = f"(SELECT *, CASE {decided} END AS decided FROM {inner} OFFSET 0) AS decided"
    keys = ["decided", *(f"h{c}" for c in asked.binned)]
    sums = ["count(*)", "sum(loss)", "sum(loss * loss)", "sum(brier)", "sum(brier * brier)"]
    sums = [f"{what} AS {name}" for what, name in zip(sums, TOTALS, strict=True)]
    sums += [f"min(p{c}) AS low{c}, max(p{c}) AS high{c}" for c in asked.binned]
    sets = ", ".join(f"(label, {key})" for key in keys)
    every = ", ".join(keys)
    return (
        f"SELECT label, {every}, {', '.join(sums)}, GROUPING({every}) AS which FROM {inner} "
        f"GROUP BY GROUPING SETS ({sets})"
    )


def _score(asked: ScoreQuery, at: int, place: Mapping[str, int]) -> str:
    """Return the score of a class."""
    parts = [double(asked.base[at])]
    for look_up in asked.look_ups:
        shape = look_up.figures.shape[:-1]
        index = "0"
        for name, width in zip(look_up.columns, shape, strict=True):
            index = f"({index} * {width} + a{place[name]})"
        parts.append(f"({array(look_up.figures[..., at].reshape(-1))})[{index} + 1]")
    for column, normal in enumerate(asked.normals):
        # PostgreSQL refuses products that are too large or too small for a double.
        scale = math.sqrt(normal.precision[at])
        gap = f"least(abs(x{column} - {double(normal.mean[at])}), {double(_FARTHEST / scale)})"
        is_near = f"{gap} < {double(_NEAREST / scale)}"
        far = f"CASE WHEN {is_near} THEN 0 ELSE {gap} * {double(scale)} END"
        density = f"{double(normal.constant[at])} - ({far})^2"
        missing = double(normal.missing[at])
        parts.append(f"CASE WHEN x{column} IS NULL THEN {missing} ELSE {density} END")
    return " + ".join(parts)


def _case(column: str, codes: Mapping[Any, int]) -> str:
    listed = " ".join(f"WHEN {literal(value)} THEN {code}" for value, code in codes.items())
    return f"CASE {column} {listed} END"


def double(figure: float) -> str:
    """Return a double as SQL writes it."""
    return f"'{float(figure)!r}'::float8"


def array(figures: FloatArray) -> str:
    """Return doubles as an array of SQL."""
    return "'{" + ",".join(map(repr, figures.tolist())) + "}'::float8[]"


def literal(value: Any) -> str:
    """Return a value of a column as SQL writes it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return f"'{value}'::bigint"
    if isinstance(value, float):
        return double(value)
    return "'" + str(value).replace("'", "''") + "'::text"
