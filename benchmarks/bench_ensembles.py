"""Bagging, boosting and forests against scikit-learn, bagging against as many single fits of ours.

scikit-learn's members and rounds cost the same each, so a few of them are timed and scaled; the
line says how many. Both boostings are then run in full on fewer rows, to compare their accuracy.
Memory is what a fit adds at its peak, members beside the counts of one pass.
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bench_counts import coded
from benchmarks.timing import best, row
from countwise.evaluation.refit import prepare_rows
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.ensembles.adaboost import AdaBoost
from countwise.models.ensembles.bagging import Bagging
from countwise.models.tree.forest import Forest
from countwise.tables.read import read
from countwise.tables.table import Table

MEMBERS = 50
FEW = 3  # members or rounds of the peer that are timed


def learnable(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Twenty numbers, of which seven tell about a class of two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 20))
    score = X[:, :6].sum(axis=1) + 2 * np.sin(2 * X[:, 6]) + rng.normal(size=rows)
    return X, (score > 0).astype(int)


def intervals(X: np.ndarray) -> np.ndarray:
    """The numbers in five levels each."""
    return np.digitize(X, [-1.0, -0.3, 0.3, 1.0])


def seconds(job: Any) -> float:
    """Seconds of one run."""
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def _bagging(rows: int) -> list[dict[str, Any]]:
    table, X, y = coded(rows, 20)
    size = f"{MEMBERS} naive Bayes, {rows:,} x 20"
    ours = best(lambda: Bagging(NaiveBayes(), n_estimators=MEMBERS).fit(table), 3)
    each = best(lambda: [NaiveBayes().fit(table) for _ in range(MEMBERS)], 2)
    few = seconds(lambda: BaggingClassifier(CategoricalNB(), FEW, random_state=0).fit(X, y))
    theirs = few * MEMBERS / FEW
    peer = f"BaggingClassifier(CategoricalNB), {FEW} members scaled"
    return [
        row(f"bagging {size}", ours, peer, theirs, ">= 20x"),
        row(f"bagging {size}", ours, f"{MEMBERS} single fits of ours", each, ">= 0.67x"),
        *_memory(table),
    ]


def peak(job: Any) -> float:
    """Megabytes that a job takes at its peak."""
    tracemalloc.start()
    job()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def _memory(table: Table) -> list[dict[str, Any]]:
    """Not seconds but megabytes: ten members against fifty."""
    many, ten = (
        peak(lambda n=n: Bagging(NaiveBayes(), n_estimators=n).fit(table)) for n in (MEMBERS, 10)
    )
    name = f"bagging, peak of {MEMBERS} members in MB (not s)"
    return [row(name, many, "10 members, in MB", ten, ">= 0.8x")]


def _boosting(rows: int) -> list[dict[str, Any]]:
    X, y = learnable(rows)
    lines = []
    for words, given in (("nominal", intervals(X)), ("numeric", X)):
        options: dict[str, Any] = {"nominal": "all"} if words == "nominal" else {}
        table = read(given, target=y, identifiers="keep", **options)
        ours = best(lambda table=table: AdaBoost(n_estimators=MEMBERS).fit(table), 2)
        stump = DecisionTreeClassifier(max_depth=1)
        few = seconds(
            lambda given=given, s=stump: AdaBoostClassifier(s, n_estimators=FEW).fit(given, y)
        )
        theirs = few * MEMBERS / FEW
        part = slice(0, min(rows, 50_000))
        mine = AdaBoost(n_estimators=MEMBERS).fit(table.take(part)).score(table.take(part))
        peer = AdaBoostClassifier(stump, n_estimators=MEMBERS).fit(given[part], y[part])
        right = f"accuracy {mine:.3f} to {peer.score(given[part], y[part]):.3f}"
        lines.append(
            row(f"AdaBoost, {MEMBERS} rounds, {rows:,} x 20 {words}, {right}", ours,
                f"AdaBoostClassifier(stump), {FEW} rounds scaled", theirs, ">= 20x")
        )  # fmt: skip
    return lines


def mixed(rows: int, seed: int = 0) -> Table:
    """Ten numbers and ten columns of eight levels, 5 % of the cells missing, and two classes."""
    rng = np.random.default_rng(seed)
    X, y = learnable(rows, seed)
    levels = np.digitize(X[:, 10:] + 0.5 * X[:, :10], np.linspace(-1.5, 1.5, 7)).astype(object)
    numbers = X[:, :10].copy()
    numbers[rng.random(numbers.shape) < 0.05] = np.nan
    levels[rng.random(levels.shape) < 0.05] = None
    words = np.where(levels == None, None, np.char.add("v", levels.astype(str)))  # noqa: E711
    columns = {f"n{place}": numbers[:, place] for place in range(10)}
    columns |= {f"c{place}": words[:, place].tolist() for place in range(10)}
    return read({**columns, "class": y.astype(str)}, target="class")


def _forest(rows: int) -> list[dict[str, Any]]:
    table = mixed(rows)
    train, test = np.arange(0, rows, 2), np.arange(1, rows, 2)
    peer = RandomForestClassifier(100, random_state=0, n_jobs=2)
    material = prepare_rows(peer, table)
    scores: dict[str, float] = {}

    def ours() -> None:
        scores["ours"] = Forest().fit(table.take(train)).score(table.take(test))

    def theirs() -> None:
        model = material.estimator(peer).fit(material.rows(train), material.y[train])
        scores["peer"] = model.score(material.rows(test), material.y[test])

    mine, other = best(ours, 2), best(theirs, 1)
    right = f"accuracy {scores['ours']:.3f} to {scores['peer']:.3f}"
    name = f"forest of 100, fit and predict {rows // 2:,} x 20 mixed, 5 % missing, {right}"
    return [row(name, mine, "RandomForestClassifier, one-hot, two jobs", other, ">= 1x")]


def _forest_predicts(rows: int) -> list[dict[str, Any]]:
    """Seconds of CPU of both, with one thread each and with two."""
    rng = np.random.default_rng(0)
    X, asked = rng.normal(size=(2, rows, 30))
    y = (X[:, :6].sum(axis=1) + 2 * np.sin(2 * X[:, 6]) + rng.normal(size=rows) > 0).astype(int)
    ours, theirs = Forest().fit(X, y), RandomForestClassifier(100, random_state=0).fit(X, y)
    lines = []
    for jobs in (1, 2):
        theirs.n_jobs = jobs
        with mock.patch.dict(os.environ, COUNTWISE_THREADS=str(jobs)):
            mine, other = (
                min(_processor_seconds(lambda model=model: model.predict(asked)) for _ in range(5))
                for model in (ours, theirs)
            )
        name = f"forest of 100, predict {rows:,} x 30 numbers, {jobs} thread(s), CPU"
        lines.append(row(name, mine, "RandomForestClassifier, the same", other, ">= 1x"))
    return lines


def _processor_seconds(job: Callable[[], Any]) -> float:
    started = time.process_time()
    job()
    return time.process_time() - started


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure."""
    rows = 100_000 if quick else 1_000_000
    return [*_bagging(rows), *_boosting(rows), *_forest(rows // 50), *_forest_predicts(20_000)]


if __name__ == "__main__":
    for own in run("--quick" in sys.argv):
        print(
            f"{own['name']}: {own['ours_seconds']:.3f} s; {own['peer']}: "
            f"{own['peer_seconds']:.3f} s; {own['ratio']:.2f} (goal {own['target']})",
            flush=True,
        )
