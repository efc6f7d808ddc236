"""Hypothesis strategies for tables: mixed columns, missing cells, rare levels, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from countwise.tables.read import read
from countwise.tables.table import Table

_WORDS = ("to", "be", "or", "not", "Être", "être", "don't", "42", "—", "it's:")
_LEVELS = ("a", "b", "c", "d, with comma", "é", "🙂")


@st.composite
def columns(
    draw: st.DrawFn,
    rows: int,
    kinds: tuple[str, ...] = ("nominal", "numeric"),
    most: int = 4,
    missing: bool = True,
) -> dict[str, list[Any]]:
    """Draw columns of `rows` cells: levels, numbers or texts, some of them missing."""
    blank = st.none() if missing else st.nothing()
    words = st.one_of(st.sampled_from(_LEVELS), blank)
    numbers = st.one_of(
        st.floats(-1e6, 1e6, allow_nan=False, width=32), st.integers(-3, 3).map(float), blank
    )
    texts = st.one_of(st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join), blank)
    data: dict[str, list[Any]] = {}
    for place in range(draw(st.integers(1, most))):
        kind = draw(st.sampled_from(kinds))
        cells = {"nominal": words, "numeric": numbers, "text": texts}[kind]
        data[f"{kind}{place}"] = draw(st.lists(cells, min_size=rows, max_size=rows))
    return data


@st.composite
def tables(
    draw: st.DrawFn,
    least_rows: int = 1,
    most_rows: int = 14,
    kinds: tuple[str, ...] = ("nominal", "numeric"),
    most: int = 4,
    missing: bool = True,
    classes: tuple[str, ...] = ("no", "perhaps", "yes"),
) -> Table:
    """Draw labeled tables of nominal, numeric and text columns."""
    rows = draw(st.integers(least_rows, most_rows))
    data = draw(columns(rows, kinds, most, missing))
    data["class"] = draw(st.lists(st.sampled_from(classes), min_size=rows, max_size=rows))
    named: Any = {kind: [name for name in data if name.startswith(kind)] for kind in kinds}
    return read(data, target="class", identifiers="keep", **named)


@st.composite
def weights(draw: st.DrawFn, rows: int, whole: bool = True) -> NDArray[np.float64]:
    """Draw one weight a row, not all of them zero."""
    one = st.integers(0, 3).map(float) if whole else st.floats(0, 5, allow_nan=False, width=16)
    drawn = draw(st.lists(one, min_size=rows, max_size=rows).filter(lambda given: sum(given) > 0))
    return np.asarray(drawn, dtype=np.float64)
