"""Idea: a penalty on whole tables of pairs, which empties those that add little.

The sum of the lengths of the pairs' parameters is penalized instead of their squares (group lasso),
by a ridge fit that is repeated: the penalty of each pair is divided by its last length. Pairs that
become shorter than a hundredth of the longest are left out.
Run: COUNTWISE_DATA=folder python -m benchmarks.accuracy_ideas.group_sparsity
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

import countwise as cw
from benchmarks.accuracy_ideas.compare import compare
from countwise.models.additive.fit import TrainingRows, fit_parameters
from countwise.models.additive.folds import Pairs, TableFits, Validated

#: Sets of two classes on which pairs are accepted.
SETS = (
    "breast-cancer", "colic", "ionosphere", "credit-a", "breast-w", "credit-g", "keel:bands",
    "keel:sonar", "keel:tic-tac-toe", "keel:titanic",
)  # fmt: skip
_ROUNDS, _SHORT = 8, 0.01


def fit_sparse(
    self: TableFits, rows: TrainingRows, pairs: Pairs, best: Validated, scale: float, watch: Any
) -> tuple[Any, Any]:
    """Fit all rows with a penalty on the lengths of the pairs' tables; return tables and biases."""
    design = self.space.design(pairs, best.penalties)
    # Every parameter is a kind of its own, so that each pair can have a penalty of its own.
    single = replace(design, kinds=np.arange(len(design.kinds)))
    usual = best.penalties[design.kinds]
    starts = [*design.first_parameter.tolist(), design.basis.parameters]
    number = len(self.space.bins)
    parts = [slice(starts[number + k], starts[number + k + 1]) for k in range(len(pairs))]
    found, penalty = None, usual.copy()
    for _ in range(_ROUNDS if pairs else 1):
        found = fit_parameters(rows, single, penalty, found)
        lengths = np.asarray([np.linalg.norm(found[1:][part]) for part in parts])
        typical = lengths.mean() if len(lengths) else 1.0
        for part, length in zip(parts, lengths, strict=True):
            penalty[part] = usual[part] * min(typical / max(length, 1e-12), 1e6)
    assert found is not None
    for part, length in zip(parts, lengths, strict=True):
        if length < _SHORT * lengths.max():
            found[1:][part] = 0.0
    _kept.append((len(pairs), int(np.sum(lengths >= _SHORT * lengths.max(initial=0)))))
    return design.basis.tables_of(np.ascontiguousarray(found[1:])), found[0]


_kept: list[tuple[int, int]] = []


def both_ways(train: cw.Table, test: cw.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities with squared penalties, and with those on lengths."""
    usual = cw.Additive().fit(train).predict_proba(test)
    with patch.object(TableFits, "fit_all", fit_sparse):
        tried = cw.Additive().fit(train).predict_proba(test)
    return usual, tried


if __name__ == "__main__":
    compare(both_ways, SETS)
    before, after = np.asarray(_kept).mean(axis=0)
    print(f"mean number of pairs: usual {before:.1f}, idea {after:.1f}")
