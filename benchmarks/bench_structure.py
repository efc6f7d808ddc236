"""TAN, AODE, KDB and ID3: fitting, predicting and cross-validation against pyAgrum and pgmpy.

The peers get the same integer codes as a data frame, on fewer rows. What they take for a row more,
measured between two sizes, is scaled to our rows, so that what they take once counts once; the
line says from how many rows. pyAgrum's own classifier counts each pair three times over and loops
in Python, 35 s for 100 000 rows; it is given the shorter way through its learner instead. A peer
that is not installed has a line that says so: ``pip install pyagrum pgmpy``, here or elsewhere with
COUNTWISE_PEERS naming the ``site-packages`` folder they are in.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bench_counts import coded
from benchmarks.bench_evaluation import best_in_turns
from benchmarks.timing import best, row
from countwise.counts.engines.memory import count_pairs
from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.bayes.tan import TAN, spanning_tree
from countwise.models.tree.id3 import ID3
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

os.environ.setdefault("TQDM_DISABLE", "1")
# At the end, so that what we are measured with is not replaced.
sys.path += [own for own in os.environ.get("COUNTWISE_PEERS", "").split(os.pathsep) if own]

FEW = 100_000  # rows the peers are fitted on
ASKED = {"pyAgrum": 2000, "pgmpy": 100}  # rows they predict


def frame(X: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """The codes as the peers take them."""
    return pd.DataFrame(X, columns=[f"c{at}" for at in range(X.shape[1])]).assign(y=y)


def pyagrum_tan(rows: pd.DataFrame) -> Any:
    """Fit TAN with pyAgrum: its learner's information of each pair, a tree, its parameters."""
    import pyagrum
    from pyagrum.skbn import createBNClassifier

    names = [name for name in rows if name != "y"]
    learner = pyagrum.BNLearner(rows)
    learner.useSmoothingPrior()
    shared = np.zeros((len(names), len(names)))
    for i, one in enumerate(names):
        for j, two in enumerate(names[:i]):
            shared[i, j] = shared[j, i] = learner.mutualInformation(one, two, ["y"])
    dag = pyagrum.DAG()
    for place in range(len(rows.columns)):
        dag.addNodeWithId(place)
    place_of = {name: learner.idFromName(name) for name in rows}
    for name in names:
        dag.addArc(place_of["y"], place_of[name])
    edges, reached = spanning_tree(shared), {0}
    while len(reached) < len(names):
        for _, i, j in edges:
            if (i in reached) != (j in reached):
                parent, child = (i, j) if i in reached else (j, i)
                dag.addArc(place_of[names[parent]], place_of[names[child]])
                reached.add(child)
    model = createBNClassifier()
    model.fromTrainedModel(learner.learnParameters(dag), targetAttribute="y")
    return model


def pgmpy_tan(rows: pd.DataFrame) -> Any:
    """Fit pgmpy's TAN: search the tree, then count."""
    from pgmpy.estimators import TreeSearch
    from pgmpy.models import DiscreteBayesianNetwork

    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    search = TreeSearch(rows, root_node="c0", n_jobs=1)
    tree = search.estimate(estimator_type="tan", class_node="y", show_progress=False)
    net = DiscreteBayesianNetwork(tree.edges())
    net.fit(rows)
    return net


PEERS: dict[str, Callable[[pd.DataFrame], Any]] = {"pyAgrum": pyagrum_tan, "pgmpy": pgmpy_tan}


def installed(peer: str) -> bool:
    """Whether a peer can be imported."""
    return importlib.util.find_spec(peer.lower()) is not None


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one run, and what it returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        made = job()
        return time.perf_counter() - started, made


def _fits_and_predictions(rows: int, few: int) -> list[dict[str, Any]]:
    table, X, y = coded(rows, 20)
    size = f"{rows:,} x 20 x 5 levels"
    model = TAN().fit(table)
    fitting, asking = best(lambda: TAN().fit(table)), best(lambda: model.predict(table))
    lines, given = [], frame(X[:few], y[:few])
    for peer, fit in PEERS.items():
        if not installed(peer):
            lines += [absent(f"TAN fit {size}", fitting, peer, ">= 50x")]
            lines += [absent(f"TAN predict {size}", asking, peer, ">= 1000x")]
            continue
        timed(lambda fit=fit: fit(given.head(200)))  # imports are nobody's work
        less, _ = timed(lambda fit=fit: fit(given.head(few // 5)))
        more, net = timed(lambda fit=fit: fit(given))
        theirs = more + (rows - few) * max(more - less, 0.0) / (few - few // 5)
        lines.append(
            row(f"TAN fit {size}", fitting, f"{peer} on {few:,} rows, scaled", theirs, ">= 50x")
        )
        some = given.drop(columns="y").head(ASKED[peer])
        theirs, _ = timed(lambda net=net, some=some: net.predict(some))
        lines.append(
            row(f"TAN predict {size}", asking, f"{peer} on {len(some):,} rows, scaled",
                theirs * rows / len(some), ">= 1000x")
        )  # fmt: skip
    return lines


def absent(name: str, ours: float, peer: str, target: str) -> dict[str, Any]:
    """A line for a peer that is not there."""
    return row(name, ours, f"{peer}: not installed", float("nan"), target)


def _wide(columns: int) -> list[dict[str, Any]]:
    """Many columns: what the pairs cost. The peers take minutes, pair by pair."""
    table, _, _ = coded(10_000, columns)
    size = f"10,000 x {columns} x 5 levels"
    pairs = list(combinations([column.name for column in table.schema.nominal], 2))
    model = TAN().fit(table)
    fitting, counting = best_in_turns(
        lambda: TAN().fit(table), lambda: count_pairs(table, pairs), times=5
    )
    asking = best(lambda: model.predict_proba(table), 3)
    choosing = best(lambda: KDB(2).fit(table), 1)
    return [
        row(f"TAN fit {size}", fitting, "compiled count of all pairs", counting, ">= 0.33x"),
        row(f"TAN predict_proba {size}", asking, "TAN fit", fitting, "stated"),
        row(f"KDB(2), selective, fit {size}", choosing, "TAN fit", fitting, "stated"),
        *_many_classes(),
    ]


def _many_classes() -> list[dict[str, Any]]:
    """More tables than rows: 450 rows of 279 columns and 13 classes, and the memory they take."""
    rng = np.random.default_rng(0)
    levels, classes = tuple("abcde"), tuple(f"k{at:02d}" for at in range(13))
    data = {f"c{at}": rng.integers(0, 5, 450).astype(np.uint8) for at in range(279)}
    schema = Schema((*(Column(n, "nominal", levels) for n in data), Column("y", "target", classes)))
    table = Table(schema, {**data, "y": rng.integers(0, 13, 450).astype(np.uint8)})
    lines = []
    for model, goal in ((TAN(), "1 s and 500 MB"), (AODE(), "1,000 MB")):
        before = _resident("VmRSS")
        _forget_peak()
        seconds, _ = timed(lambda model=model: model.fit(table).predict_proba(table))
        extra = _resident("VmHWM") - before
        name = f"{type(model).__name__} fit and predict_proba 450 x 279 x 13 classes"
        lines.append(row(f"{name}, {extra:.0f} MB", seconds, "a second", 1.0, goal))
    return lines


def _ladder(rows: int) -> list[dict[str, Any]]:
    """Ten-fold cross-validation of three models together, against each once on all rows."""
    lines = []
    for kind, table in (("nominal", coded(rows, 20)[0]), ("numeric", numbers(rows, 20))):

        def once(table: Table = table) -> None:
            for model in (NaiveBayes(numeric="cuts"), TAN(), AODE()):
                model.fit(table).predict_proba(table)

        def tenfold(table: Table = table) -> None:
            evaluate([NaiveBayes(numeric="cuts"), TAN(), AODE()], table, folds=10)

        each, ten = best_in_turns(once, tenfold, times=3)
        lines.append(
            row(f"ten-fold NB + TAN + AODE, {rows:,} x 20 {kind}", ten,
                "fit and predict_proba, each once", each, ">= 0.33x")
        )  # fmt: skip
    return lines


def numbers(rows: int, columns: int) -> Table:
    """Make a table of measurements, of which each tells a little about the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows, dtype=np.uint8)
    data = {f"x{at}": np.round(rng.normal(at + 0.3 * y, 1 + at), 3) for at in range(columns)}
    schema = Schema((*(Column(n, "numeric") for n in data), Column("y", "target", ("n", "y"))))
    return Table(schema, {**data, "y": y})


def _trees(rows: int) -> list[dict[str, Any]]:
    """Unpruned ID3 against scikit-learn's tree on the same codes, and the memory it takes."""
    table, X, y = coded(rows, 20)
    ID3().fit(table.take(slice(0, 1000)))  # what is loaded once is nobody's memory
    before = _resident("VmRSS")
    _forget_peak()
    model = ID3().fit(table)
    extra = _resident("VmHWM") - before
    codes = sum(table.codes(column.name).nbytes for column in table.schema.nominal) / 1e6
    size = f"{rows:,} x 20 x 5 levels"
    fitting = best(lambda: ID3().fit(table), 3)
    theirs, peer = timed(lambda: DecisionTreeClassifier(random_state=0).fit(X, y))
    memory = f"{extra:.0f} MB beside {codes:.0f} MB of codes" if extra > 0 else "memory not known"
    some = table.take(slice(0, 100_000))
    asking = best(lambda: model.predict(some), 1)
    asked = best(lambda: peer.predict(X[:100_000]), 1)
    return [
        row(f"ID3 unpruned, {size}, {len(model.tree_):,} nodes, {memory}", fitting,
            "DecisionTreeClassifier on the codes", theirs, ">= 8x"),
        row("ID3 predict 100,000 rows", asking, "DecisionTreeClassifier", asked, "stated"),
    ]  # fmt: skip


def _resident(what: str) -> float:
    """Megabytes of this program, where the system tells."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024 / 1e6


def _forget_peak() -> None:
    """Have the peak counted from here."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure."""
    rows = 100_000 if quick else 1_000_000
    return [
        *_trees(rows),  # first, while memory is not yet torn up
        *_fits_and_predictions(rows, FEW // 5 if quick else FEW),
        *_wide(60 if quick else 200),
        *_ladder(rows),
    ]


if __name__ == "__main__":
    for own in run("--quick" in sys.argv):
        print(
            f"{own['name']}: {own['ours_seconds']:.3f} s; {own['peer']}: "
            f"{own['peer_seconds']:.3f} s; {own['ratio']:.2f} (goal {own['target']})",
            flush=True,
        )
