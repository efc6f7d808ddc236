"""Compare an idea with `Additive()` on the folds of sets in the folder COUNTWISE_DATA."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.model_selection import StratifiedKFold

import countwise as cw
from benchmarks.accuracy.data_sets import load_rows

#: Returns the probabilities of test rows by the usual model and by the idea.
Idea = Callable[[cw.Table, cw.Table], tuple[np.ndarray, np.ndarray]]
#: Sets whose fits take below a second.
QUICK = (
    "iris",
    "breast-cancer",
    "hepatitis",
    "heart-statlog",
    "heart-h",
    "heart-c",
    "breast-w",
    "house-votes-84",
    "credit-a",
)


def read_set(name: str) -> cw.Table:
    """Read a set of the folder, whose last column is the class; or of KEEL, as keel:name."""
    if name.startswith("keel:"):
        return load_rows(name)
    folder = os.environ.get("COUNTWISE_DATA")
    if not folder:
        sys.exit("Set COUNTWISE_DATA to the folder of the sets.")
    path = Path(folder) / f"{name}.csv"
    header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
    return cw.read(path, target=header[-1].strip('"'))


def log_loss(probabilities: np.ndarray, table: cw.Table, classes: np.ndarray) -> float:
    """Return the mean log loss of rows; probabilities are clipped at one in a million."""
    places = np.searchsorted(classes, np.asarray(table.classes)[table.target])
    chosen = probabilities[np.arange(len(table)), places]
    return float(-np.log(np.clip(chosen, 1e-6, 1)).mean())


def compare(idea: Idea, names: Sequence[str] = QUICK, folds: int = 3) -> None:
    """Print the log loss of both on each set, and a paired test over the sets."""
    rows = []
    for name in names:
        table = read_set(name)
        deal = StratifiedKFold(10, shuffle=True, random_state=0)
        parts = list(deal.split(np.zeros(len(table)), table.target))[:folds]
        found = []
        for train, test in parts:
            fitted, held = table.take(train), table.take(test)
            classes = np.unique(np.asarray(table.classes)[fitted.target])
            found.append([log_loss(p, held, classes) for p in idea(fitted, held)])
        rows.append(np.mean(found, axis=0))
        print(f"{name:16} Additive {rows[-1][0]:.4f}   idea {rows[-1][1]:.4f}", flush=True)
    usual, tried = np.asarray(rows).T
    test = wilcoxon(usual, tried) if np.any(usual != tried) else None
    p = 1.0 if test is None else float(test.pvalue)
    print(f"{'mean':16} Additive {usual.mean():.4f}   idea {tried.mean():.4f}   Wilcoxon p {p:.3f}")
