"""Neighbours: search, mixed distances, the grid of k and p, condensed sets, and how they grow.

Peers that are not installed have a line that says so: ``pip install faiss-cpu gower
imbalanced-learn``, here or elsewhere with COUNTWISE_PEERS naming the ``site-packages`` folder they
are in. Where a peer is too slow it gets fewer queries, and its time is scaled; the line says so.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from benchmarks.timing import best, row
from countwise.evaluation.neighbor_grid import neighbor_grid
from countwise.models.neighbors.condensed import CondensedNeighbors
from countwise.models.neighbors.metrics import learn_space
from countwise.models.neighbors.search import Search
from countwise.tables.read import read
from countwise.tables.table import Table

# At the end, so that what we are measured with is not replaced.
sys.path += [own for own in os.environ.get("COUNTWISE_PEERS", "").split(os.pathsep) if own]

K = 5


def installed(name: str) -> bool:
    """Whether a peer can be imported."""
    return importlib.util.find_spec(name) is not None


def once(job: Callable[[], Any]) -> float:
    """The seconds of one run, where several would take too long."""
    return best(job, runs=1)


def peer(name: str, ours: float, who: str, there: bool, job: Callable[[], float], goal: str) -> Any:
    """A line of the table, or one that says the peer is not there."""
    if not there:
        return row(name, ours, f"{who}: not installed", math.nan, goal)
    return row(name, ours, who, job(), goal)


def numbers(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Normal numbers."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


def found(table: Table, asked: Table, metric: str, p: float = 2.0) -> float:
    """Seconds to build a search and find the neighbors, together."""
    return best(
        lambda: Search(learn_space(table, metric, p, None), table).nearest(asked, K), runs=3
    )


def search(quick: bool) -> Iterator[dict[str, Any]]:
    """Numeric rows: Euclidean, Minkowski and maximum."""
    rows, asked = (20_000, 2_000) if quick else (100_000, 10_000)
    X, Q = numbers(rows, 16), numbers(asked, 16, 1)
    table, queries = read(X), read(Q)
    ours = found(table, queries, "euclidean")

    def sklearn(algorithm: str, some: int, **metric: Any) -> float:
        model = NearestNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=-1, **metric)
        return best(lambda: model.fit(X).kneighbors(Q[:some]), runs=2) * asked / some

    quickest = {
        "brute": sklearn("brute", asked),
        "kd_tree": sklearn("kd_tree", asked // 10),
        "ball_tree": sklearn("ball_tree", asked // 10),
    }
    name = min(quickest, key=lambda own: quickest[own])
    what = f"{K} neighbors, {rows:,} × 16, {asked:,} queries"
    yield row(what, ours, f"scikit-learn {name}, its quickest", quickest[name], ">= 1")

    def flat() -> float:
        import faiss

        own, wanted = X.astype(np.float32), Q.astype(np.float32)

        def job() -> None:
            index = faiss.IndexFlatL2(16)
            index.add(own)
            index.search(wanted, K)

        return best(job, runs=3)

    yield peer(what, ours, "faiss flat, single precision", installed("faiss"), flat, "stated")
    flat_rows, flat_asked = numbers(rows, 3), numbers(asked, 3, 1)
    low, few = read(flat_rows), read(flat_asked)
    tree = NearestNeighbors(n_neighbors=K, algorithm="kd_tree", n_jobs=-1)
    theirs = best(lambda: tree.fit(flat_rows).kneighbors(flat_asked), runs=2)
    what = f"the same, 3 columns, {rows:,} rows"
    yield row(what, found(low, few, "euclidean"), "scikit-learn kd_tree", theirs, ">= 1")
    for metric, p, given in (
        ("minkowski", 3.0, {"metric": "minkowski", "p": 3}),
        ("maximum", 2.0, {"metric": "chebyshev"}),
    ):
        mine = found(table, queries, metric, p)
        words = "p = 3" if metric == "minkowski" else "maximum"
        some = max(asked // 20, 50)
        theirs = sklearn("brute", some, **given)
        yield row(
            f"the same, {words}", mine, f"scikit-learn brute, {some} queries scaled", theirs, ">= 2"
        )


def mixed_frame(rows: int, seed: int) -> pd.DataFrame:
    """Ten numbers and ten words of five levels."""
    stream = np.random.default_rng(seed)
    cells: dict[str, Any] = {f"x{i}": stream.normal(size=rows) for i in range(10)}
    cells |= {f"w{i}": stream.choice([*"abcde"], rows) for i in range(10)}
    return pd.DataFrame(cells)


def embedded(search: Search, table: Table) -> np.ndarray:
    """The space by hand: words as the columns that give the same Euclidean distance."""
    made = []
    for axis, cells in zip(search.space.axes, search.space.cells(table), strict=True):
        if axis.kind == "number":
            made.append((cells * axis.stretch)[:, None])
        elif axis.kind == "differs":
            made.append(np.eye(axis.width)[cells] * axis.stretch / math.sqrt(2))
    return np.concatenate(made, axis=1)


def shares_embedded(search: Search, table: Table, shares: dict[str, np.ndarray]) -> np.ndarray:
    """The space of HVDM by hand: words as their class shares."""
    made = []
    for axis, cells in zip(search.space.axes, search.space.cells(table), strict=True):
        if axis.kind == "number":
            made.append((cells * axis.stretch)[:, None])
        else:
            made.append(shares[search.space.attributes[axis.attribute].name][cells])
    return np.concatenate(made, axis=1)


def mixed(quick: bool) -> Iterator[dict[str, Any]]:
    """Mixed rows by HVDM and HEOM."""
    from countwise.models.neighbors.metrics import class_probabilities

    rows, asked = (10_000, 1_000) if quick else (50_000, 5_000)
    frame, wanted = mixed_frame(rows, 0), mixed_frame(asked, 1)
    labels = np.random.default_rng(2).choice(["n", "y"], rows)
    table = read(frame, target=labels)
    queries = read(wanted, schema=table.schema.without_target(), keep_rows=True)
    for metric in ("hvdm", "heom"):
        ours = found(table, queries, metric)
        own = Search(learn_space(table, metric), table)
        if metric == "heom":
            left, right = embedded(own, table), embedded(own, queries)
        else:
            shares = class_probabilities(table)
            left = shares_embedded(own, table, shares)
            right = shares_embedded(own, queries, shares)
        model = NearestNeighbors(n_neighbors=K, algorithm="brute")
        theirs = best(lambda m=model, a=left, b=right: m.fit(a).kneighbors(b), runs=3)
        what = f"{metric.upper()}, 10 + 10 columns, {rows:,} rows, {asked:,} queries"
        yield row(what, ours, "scikit-learn brute, embedded by hand", theirs, ">= 1")
    ours = found(table, queries, "gower")

    def gower() -> float:
        import gower

        some = 20
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            left, right = wanted.iloc[:some].to_numpy(object), frame.to_numpy(object)
            words = np.array([False] * 10 + [True] * 10)
            seconds = once(lambda: gower.gower_matrix(left, right, cat_features=words))
        return seconds * asked / some

    yield peer("Gower, the same rows", ours, "gower, 20 queries scaled", installed("gower"), gower,
               ">= 100")  # fmt: skip

    def distance(one: np.ndarray, two: np.ndarray) -> float:
        return math.sqrt(((one - two) ** 2).sum())

    heom = found(table, queries, "heom")
    few = NearestNeighbors(n_neighbors=K, algorithm="brute", metric=distance)
    own = Search(learn_space(table, "heom"), table)
    left, right = embedded(own, table), embedded(own, queries)
    callable_metric = once(lambda: few.fit(left).kneighbors(right[:5])) * asked / 5
    yield row("HEOM, the same rows", heom, "a metric in Python, 5 queries scaled",
              callable_metric, ">= 100")  # fmt: skip


def grid(quick: bool) -> Iterator[dict[str, Any]]:
    """The 20 × 9 grid under ten-fold cross-validation."""
    rows, columns = (150, 4) if quick else (1_000, 8)
    X = numbers(rows, columns)
    y = (X[:, :2].sum(axis=1) > 0).astype(int)
    table = read(X, target=y)
    ours = best(lambda: neighbor_grid(table, metric="minkowski"), runs=2)
    wish = {"n_neighbors": [1, 10, 20], "p": [1, 3, 9]}
    theirs = once(
        lambda: GridSearchCV(
            KNeighborsClassifier(), wish, cv=10, n_jobs=1 if quick else 2, refit=False
        ).fit(X, y)
    )
    yield row(
        f"20 × 9 grid of k and p, ten-fold, {rows:,} × {columns}",
        ours,
        "GridSearchCV(KNeighborsClassifier), 3 × 3 cells scaled",
        theirs * 20,
        ">= 30",
    )
    brute = GridSearchCV(KNeighborsClassifier(algorithm="brute"), wish, cv=10, refit=False)
    yield row("the same", ours, "GridSearchCV, brute search", once(lambda: brute.fit(X, y)) * 20,
              ">= 30")  # fmt: skip
    for many in (rows, 2_000 if quick else 10_000):
        X = numbers(many, columns)
        table = read(X, target=(X[:, :2].sum(axis=1) > 0).astype(int))
        one = best(lambda t=table: Search(learn_space(t), t).nearest(t, 20), runs=5)
        cross = best(lambda t=table: neighbor_grid(t, p=(2,), metric="minkowski"), runs=5)
        yield row(f"one p, every k, ten-fold, {many:,} × {columns}", cross,
                  "one search of all rows among all", one, "about 1")  # fmt: skip
    yield from left_out(1_000 if quick else 5_000)


def left_out(rows: int) -> Iterator[dict[str, Any]]:
    """Leave-one-out, every row in a space learned without it, against one search in one space."""
    frame = mixed_frame(rows, 3)[[*(f"x{i}" for i in range(4)), *(f"w{i}" for i in range(4))]]
    target = (frame["x0"] + frame["x1"] > 0).astype(int)
    table = read(frame, target=target)
    for metric, scale, words in (("minkowski", "z", "z"), ("vdm", "range", "vdm")):
        space = learn_space(table, metric, 2.0, scale)
        one = best(lambda s=space: Search(s, table).nearest(table, 20), runs=5)
        wish = {"p": (2,), "metric": metric, "scale": scale, "folds": "leave-one-out"}
        ours = best(lambda w=wish: neighbor_grid(table, **w), runs=5)
        yield row(f"leave-one-out, one p, every k, {words}, {rows:,} × 4 + 4", ours,
                  "one search of all rows among all", one, "about 1")  # fmt: skip


def condensed(quick: bool) -> Iterator[dict[str, Any]]:
    """Condensed sets: separable classes and noisy ones."""

    def made(rows: int, apart: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        X = numbers(rows, 10)
        if not apart:
            return X, (X[:, :3].sum(axis=1) > 0).astype(int)
        y = (X[:, 0] > 0).astype(int)
        X[:, 0] += apart * (2 * y - 1)
        return X, y

    def imbalanced(X: np.ndarray, y: np.ndarray) -> float:
        from imblearn.under_sampling import CondensedNearestNeighbour

        rule = CondensedNearestNeighbour(random_state=0, n_neighbors=1)
        return once(lambda: rule.fit_resample(X, y))

    few, many = (500, 2_000) if quick else (2_000, 10_000)
    cases = ((few, 0.0, "classes that touch"), (many, 1.0, "classes apart"))
    for rows, apart, words in cases:
        X, y = made(rows, apart)
        table = read(X, target=y)
        there = installed("imblearn")
        theirs = imbalanced(X, y) if there else math.nan
        who = "imbalanced-learn" + ("" if there else ": not installed")
        for method in ("hart", "fast"):
            ours = best(lambda m=method, t=table: CondensedNeighbors(m, scale=None).fit(t), runs=3)
            yield row(f"condensed by {method}, {rows:,} × 10, {words}", ours, who, theirs, ">= 300")
    X, y = made(many)
    table = read(X, target=y)
    ours = best(lambda: CondensedNeighbors(scale=None).fit(table), runs=3)
    yield row(f"condensed by hart, {many:,} × 10, classes that touch", ours, "a second", 1.0, "> 1")
    if not quick:
        big, labels = made(200_000)
        rows = read(big, target=labels)
        started = time.perf_counter()
        model = CondensedNeighbors(scale=None).fit(rows)
        seconds = time.perf_counter() - started
        yield row(f"condensed by hart, 200,000 × 10, {model.n_rows_:,} kept", seconds, "a minute",
                  60.0, "> 1")  # fmt: skip


def very_many() -> dict[str, Any]:
    """Ten million kept rows."""
    asked = 200
    X, Q = numbers(10_000_000, 10), numbers(asked, 10, 1)
    table = read(X)
    own = Search(learn_space(table, scale=None), table)
    queries = read(Q)
    model = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X)
    theirs = once(lambda: model.kneighbors(Q))
    ours = best(lambda: own.nearest(queries, K), runs=2)
    what = f"{asked} queries, 10,000,000 rows × 10"
    return row(what, ours, "scikit-learn brute", theirs, ">= 1")


def growth(quick: bool) -> Iterator[dict[str, Any]]:
    """How the search grows with rows and with columns: the time of the half beside the whole."""
    asked = 500 if quick else 2_000
    sizes = (20_000, 40_000, 80_000) if quick else (100_000, 200_000, 400_000)
    before = math.nan
    for rows in sizes:
        table, queries = read(numbers(rows, 10)), read(numbers(asked, 10, 1))
        ours = found(table, queries, "euclidean")
        yield row(f"{asked:,} queries, {rows:,} rows × 10", ours, "half the rows", before, "> 0.5")
        before = ours
    if not quick:
        yield very_many()
    before = math.nan
    for columns in (8, 16, 32, 64):
        table, queries = read(numbers(sizes[0], columns)), read(numbers(asked, columns, 1))
        ours = found(table, queries, "euclidean")
        what = f"{asked:,} queries, {sizes[0]:,} rows × {columns}"
        yield row(what, ours, "half the columns", before, "> 0.5")
        before = ours


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """All lines, each as soon as it is measured."""
    for part in (search, mixed, grid, condensed, growth):
        yield from part(quick)
