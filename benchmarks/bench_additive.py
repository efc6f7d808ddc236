"""Additive on several classes and on a million rows, with its peak of memory, against their goals.

The goals are seconds on two free cores, so the ratio is that of the goal to our time. On a busy
machine the processor seconds, which the lines give as well, tell more.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.bench_ensembles import learnable, peak
from benchmarks.timing import best, row
from countwise.models.additive.additive import Additive
from countwise.tables.read import read


def several_classes(rows: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Twenty numbers and classes that depend on sums, on a product and on a wave of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 20))
    score = X @ rng.normal(scale=0.6, size=(20, classes))
    score[:, 0] += X[:, 0] * X[:, 1]
    score[:, 1] += 2 * np.sin(2 * X[:, 2])
    return X, (score + rng.gumbel(size=score.shape)).argmax(axis=1)


def _against_goal(
    name: str, X: np.ndarray, y: np.ndarray, goal: float, runs: int
) -> list[dict[str, Any]]:
    table = read(X, target=y, identifiers="keep")
    started = time.process_time()
    ours = best(lambda: Additive().fit(table), runs)
    used = (time.process_time() - started) / runs
    words = f"additive {name}, {used:.1f} s of processors"
    return [row(words, ours, f"goal of {goal:g} s on two free cores", goal, ">= 1x")]


def _memory(X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Not seconds but megabytes: what a fit adds at its peak, against three coded tables."""
    table = read(X, target=y, identifiers="keep")
    most = peak(lambda: Additive().fit(table))
    coded = X.size * 2 / 2**20
    name = f"additive {len(X):,} x 20, peak in MB (not s)"
    return [row(name, most, "3 x the coded table, in MB", 3 * coded, ">= 1x")]


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure."""
    rows = 100_000 if quick else 1_000_000
    many = learnable(rows)
    return [
        *_against_goal("2,000 x 20, 7 classes", *several_classes(2000, 7), 2.0, 2),
        *_against_goal(f"{rows:,} x 20", *many, 20.0 * rows / 1_000_000, 1),
        *_memory(*many),
    ]


if __name__ == "__main__":
    for line in run("--quick" in sys.argv):
        figures = f"{line['ours_seconds']:.2f}; {line['peer']}: {line['peer_seconds']:.2f}"
        print(f"{line['name']}: {figures}", flush=True)
