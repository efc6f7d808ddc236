"""The compiled search against all distances at once, where it groups queries and breaks off."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.counts.metrics import learn_space
from countwise.posteriors.search import BATCH, Search
from countwise.tables.table import Table


def mixed(rows: int, seed: int, levels: str, gaps: float) -> pd.DataFrame:
    """Ten numbers and six words, some cells missing."""
    stream = np.random.default_rng(seed)
    cells = {f"x{i}": stream.normal(size=rows) for i in range(10)}
    cells |= {f"w{i}": stream.choice([*levels], rows) for i in range(6)}
    frame = pd.DataFrame(cells)
    return frame.mask(stream.random(frame.shape) < gaps)


def every(search: Search, kept: Table, asked: Table) -> np.ndarray:
    """The powers of all distances, by the definition of the space."""
    own, other = search.space.cells(kept), search.space.cells(asked)
    shape = (len(asked), len(kept))
    left = [np.broadcast_to(cells, shape) for cells in own]
    right = [np.broadcast_to(cells[:, None], shape) for cells in other]
    parts = search.space.parts(left, right)
    return parts.max(axis=2) if np.isinf(search.space.p) else parts.sum(axis=2)


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("missing", ["far", "ignore"])
@pytest.mark.parametrize("levels", ["abcd", "abcdefghijkl", "abcdefghijklmnopqrst"])
@pytest.mark.parametrize(
    ("metric", "p"),
    [("vdm", 2), ("vdm", 1), ("vdm", 3), ("vdm", 5), ("vdm", 2.5), ("vdm", 1.3), ("vdm", np.inf),
     ("vdm", 20), ("minkowski", 300),
     ("heom", 2), ("gower", 1), ("minkowski", 4)],
)  # fmt: skip
def test_equals_all_distances_at_once(
    metric: str, p: float, levels: str, missing: str, gaps: float
) -> None:
    labels = np.random.default_rng(2).choice(["n", "y"], 333)
    kept = cw.read(mixed(333, 0, levels, gaps), target=labels)
    unlabelled = kept.schema.without_target()
    asked = cw.read(mixed(39, 1, levels, gaps), schema=unlabelled, keep_rows=True)
    search = Search(learn_space(kept, metric, p, "range", missing), kept)
    who, far = search.nearest(asked, 7)
    powers = every(search, kept, asked)
    order = np.argsort(powers, axis=1, kind="stable")[:, :7]
    np.testing.assert_allclose(far, np.take_along_axis(powers, order, axis=1), rtol=1e-12)
    np.testing.assert_allclose(far, np.take_along_axis(powers, who, axis=1), rtol=1e-12)
    low, high = np.zeros(len(asked)), far[:, -1] * (1 + 1e-12)
    label = kept.target.astype(np.int64)
    sums = search.tally(asked, low, high, label, np.ones(len(kept)), 2)
    within = (powers <= high[:, None]).astype(float)
    np.testing.assert_array_equal(sums, np.stack([within @ (label == c) for c in (0, 1)], axis=1))


def hart(powers: np.ndarray, label: np.ndarray) -> tuple[list[int], int]:
    """Hart's rule row by row, from all distances."""
    members: list[int] = []
    passes, before = 0, -1
    while len(members) > before:
        before, passes = len(members), passes + 1
        for row in range(len(label)):
            if row in members:
                continue
            own = powers[row, members]
            nearest = label[np.array(members, dtype=int)[own == own.min(initial=np.inf)]]
            if not members or np.any(nearest != label[row]):
                members.append(row)
    return members, passes


def test_batches_choose_the_rows_that_one_by_one_chooses() -> None:
    stream = np.random.default_rng(3)
    X = stream.normal(size=(BATCH + 700, 3))
    y = (X.sum(axis=1) + stream.normal(size=len(X)) > 0).astype(int)
    table = cw.read(X, target=y)
    search = Search(learn_space(table), table)
    label = table.target.astype(np.int64)
    order = np.arange(len(X), dtype=np.int64)
    chosen, passes, conflicts = search.condense(table, order, label, 1e-14)
    expected, rounds = hart(every(search, table, table), label)
    assert chosen.tolist() == expected
    assert (passes, conflicts) == (rounds, 0)


def test_rows_are_not_copied_twice() -> None:
    """Beside the table: single-precision tiles, a class and a weight a row, and little else."""
    rows, columns = 200_000, 16
    X = np.random.default_rng(4).random((rows, columns))
    table = cw.read(X, target=(X[:, 0] > 0.5).astype(int))
    asked = table.take(np.arange(2000))
    cw.Neighbors(k=3).fit(asked).predict(asked)  # what is imported late is not what is asked
    tracemalloc.start()
    try:
        model = cw.Neighbors(k=3).fit(table)
        model.predict(asked)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * rows * columns + 4 * 8 * rows + 2e6
