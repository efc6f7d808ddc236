"""Evaluation: cross-validation and learning curves by merging counts, against refitting.

Run by itself: ``python benchmarks/bench_evaluation.py [--quick]``. Ours, and one fit and prediction
of ours, are the best of five, timed in turns, so that a busy machine slows both. scikit-learn gets
the same integer codes, the same two scores (accuracy and log loss), and the faster of one process
and as many as we use threads, the best of two runs each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.naive_bayes import CategoricalNB

import countwise as cw
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.learning_curve import learning_curve
from countwise.parallel import threads
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

LEVELS = 5


def nominal_table(rows: int, columns: int, seed: int = 0) -> Table:
    """Rows of two classes whose attributes say a little about the class."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, 2, rows).astype(np.uint8)
    data = {"y": target}
    made = []
    for at in range(columns):
        tilted = rng.random(rows) < 0.1
        codes = np.where(tilted, 4 * target, rng.integers(0, LEVELS, rows))
        data[f"a{at}"] = codes.astype(np.uint8)
        made.append(Column(f"a{at}", "nominal", tuple(f"v{level}" for level in range(LEVELS))))
    return Table(Schema((*made, Column("y", "target", ("no", "yes")))), data)


def best_in_turns(*calls: Callable[[], Any], times: int = 5) -> list[float]:
    """Time several calls in turns and return the best of each."""
    best = [float("inf")] * len(calls)
    for _ in range(times):
        for at, call in enumerate(calls):
            started = time.perf_counter()
            call()
            best[at] = min(best[at], time.perf_counter() - started)
    return best


def line(
    name: str, ours: float, peer: str, theirs: float, target: str, met: bool | None
) -> dict[str, Any]:
    """One line of the table of benchmarks; `met` is None where the target is for other sizes."""
    return {
        "name": name,
        "ours_seconds": ours,
        "peer": peer,
        "peer_seconds": theirs,
        "ratio": theirs / ours,
        "target": target,
        "met": met,
    }


def run(quick: bool) -> list[dict[str, Any]]:
    """Time ten-fold cross-validation, a 20-point curve and leave-one-out of naive Bayes."""
    rows = 100_000 if quick else 1_000_000
    table = nominal_table(rows, 20)
    size = f"{rows:,} × 20 nominal".replace(",", " ")
    once, ten, curve = best_in_turns(
        lambda: cw.NaiveBayes().fit(table).predict_proba(table),
        lambda: _ten_fold(table),
        lambda: learning_curve(cw.NaiveBayes(), table, points=20, repeats=1),
    )
    X = np.column_stack([table.codes(column.name) for column in table.schema.nominal])
    y = table.target.astype(np.int64)
    theirs = min(
        best_in_turns(
            lambda: _cross_validate(X, y, 1), lambda: _cross_validate(X, y, threads()), times=2
        )
    )
    credit = cw.read("sample:credit-g")
    every = np.arange(len(credit))

    def refit_each() -> None:
        for row in range(0, len(credit), 20):
            fitted = cw.NaiveBayes().fit(credit.take(np.delete(every, row)))
            fitted.predict_proba(credit.take([row]))

    one, refits = best_in_turns(
        lambda: evaluate(cw.NaiveBayes(), credit, leave_one_out=True), refit_each, times=3
    )
    peer = "CategoricalNB in cross_validate, same kind of folds"
    whole = "one fit and one predict_proba"
    full = not quick  # the targets are stated for a million rows
    return [
        line(
            f"ten-fold NaiveBayes, {size}",
            ten,
            whole,
            once,
            "at most 2 times as long",
            ten <= 2 * once if full else None,
        ),
        line(
            f"ten-fold NaiveBayes, {size}",
            ten,
            peer,
            theirs,
            "at least 20 times as fast",
            theirs >= 20 * ten if full else None,
        ),
        line(
            f"20-point curve NaiveBayes, {size}",
            curve,
            whole,
            once,
            "at most 2 times as long",
            curve <= 2 * once if full else None,
        ),
        line(
            "leave-one-out NaiveBayes, credit-g",
            one,
            "1 000 refits (from every 20th)",
            20 * refits,
            "under 2 s",
            one < 2,
        ),
    ]


def _ten_fold(table: Table) -> None:
    trials = evaluate(cw.NaiveBayes(), table)
    trials.score("accuracy", "NaiveBayes")
    trials.score("log_loss", "NaiveBayes")


def _cross_validate(X: np.ndarray, y: np.ndarray, n_jobs: int) -> None:
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    scoring = {"accuracy": "accuracy", "log_loss": "neg_log_loss"}
    model = CategoricalNB(min_categories=LEVELS)
    cross_validate(model, X, y, cv=folds, scoring=scoring, n_jobs=n_jobs)


if __name__ == "__main__":
    for own in run("--quick" in sys.argv):
        print(
            f"{own['name']}: {own['ours_seconds']:.3f} s; {own['peer']}: "
            f"{own['peer_seconds']:.3f} s; {own['ratio']:.2f} ({own['target']}: "
            f"{ {True: 'met', False: 'NOT met', None: 'at a million rows'}[own['met']] })"
        )
