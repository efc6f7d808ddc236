"""The compiled search against all distances at once, where it groups queries and breaks off."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.models.neighbors.metrics import learn_space
from countwise.models.neighbors.search import BATCH, Search
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


@pytest.mark.parametrize(
    ("p", "weights"),
    [(16, [1, 1e-3, 1]), (16, [1e6, 1, 1]), (40, [1, 1e-3, 1e-2]), (16, [1e-6] * 3)],
)
def test_attributes_of_little_weight_still_find_rows_that_miss_the_others(
    p: float, weights: list[float]
) -> None:
    """What is left over may weigh less, to the p, than a single figure can tell."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(200, 3))
    X[stream.random(X.shape) < 0.3] = np.nan
    table = cw.read(X, target=stream.choice(["n", "y"], 200))
    space = learn_space(table, "minkowski", p, "range", "ignore", np.array(weights, dtype=float))
    search = Search(space, table)
    who, powers = search.nearest(table, 5)
    far = space.to_distances(powers)
    cells = np.stack(space.cells(table), axis=1)
    gaps = np.abs(cells[:, None] - cells) * [axis.stretch for axis in space.axes]
    mass = np.array([axis.mass for axis in space.axes])
    present = (~np.isnan(gaps) * mass).sum(axis=2)
    gaps = np.nan_to_num(gaps)
    top = gaps.max(axis=2, keepdims=True)
    shares = np.divide(gaps, top, out=np.zeros_like(gaps), where=top > 0) ** p
    with np.errstate(divide="ignore", invalid="ignore"):
        full = top[..., 0] * (shares.sum(axis=2) * mass.sum() / present) ** (1 / p)
    full[present == 0] = np.inf
    np.testing.assert_allclose(far, np.sort(full, axis=1)[:, :5], rtol=1e-12)
    np.testing.assert_allclose(far, np.take_along_axis(full, who, axis=1), rtol=1e-12)


def test_a_tree_that_names_nobody_leaves_queries_to_the_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Far enough out every power is infinite: all rows are equally far, the first come first."""
    X = np.random.default_rng(5).normal(size=(10_000, 2))
    table = cw.read(X, target=["n", "y"] * 5_000)
    search = Search(learn_space(table, "minkowski", 16.0, None), table)
    monkeypatch.setattr("countwise.models.neighbors.search._QUERIES", 0)
    unlabelled = table.schema.without_target()
    asked = cw.read(np.full((8, 2), 1e30), schema=unlabelled, keep_rows=True)
    for _ in range(3):  # what memory held before must not show
        np.full((8, 6), 1e-9)
        who, far = search.nearest(asked, 4)
        assert who.tolist() == [[0, 1, 2, 3]] * 8
        assert np.isinf(far).all()


def test_labels_without_a_sum_are_refused() -> None:
    iris = cw.read("sample:iris")
    search = Search(learn_space(iris), iris)
    bounds = np.zeros(1), np.ones(1)
    label = iris.target.astype(np.int64)
    with pytest.raises(ValueError, match="each label"):
        search.tally(iris.take([0]), *bounds, label, np.ones(150), 2)


def test_a_row_stands_where_it_stands_alone_and_among_others() -> None:
    """Sums over many columns may not depend on how many rows are whitened together."""
    table = cw.read(np.random.default_rng(6).normal(size=(60, 12)), target=["n", "y"] * 30)
    space = learn_space(table, "mahalanobis")
    among = np.stack(space.cells(table))
    alone = [np.stack(space.cells(table.take([row])))[:, 0] for row in range(60)]
    np.testing.assert_array_equal(among.T, alone)


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
    cw.Neighbors(n_neighbors=3).fit(asked).predict(
        asked
    )  # what is imported late is not what is asked
    tracemalloc.start()
    try:
        model = cw.Neighbors(n_neighbors=3).fit(table)
        model.predict(asked)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * rows * columns + 4 * 8 * rows + 2e6
