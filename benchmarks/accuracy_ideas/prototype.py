"""Compare `Additive()` with a prototype of it, fold by fold: log loss, accuracy, processor seconds.

The prototype is a Python file with a class ``WeightedBayes``: ``fit(columns, nominal, y, classes)``
and ``proba(columns)``. Its answers are kept in a JSON file, since they do not change.
Run: COUNTWISE_DATA=folder python -m benchmarks.accuracy_ideas.prototype prototype.py answers.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

import countwise as cw
from benchmarks.accuracy.data_sets import deal_folds, find_sets, group_of, load_rows
from benchmarks.accuracy.measure import Answer, Predict, measure_fold, time_model
from benchmarks.accuracy.peers import refit_model
from countwise.evaluation.folds import Fold

Scores = dict[str, float]
SCORES = ("log_loss", "accuracy", "fit_seconds")


def to_columns(table: cw.Table) -> tuple[list[np.ndarray], list[bool]]:
    """Return the columns as the prototype takes them: levels or None, numbers or NaN."""
    columns, nominal = [], []
    for column in table.schema.attributes:
        nominal.append(column.coded)
        if column.coded:
            levels = np.asarray([*column.levels, None, None], dtype=object)
            columns.append(levels[table.codes(column.name)])
        else:
            columns.append(np.asarray(table.values(column.name), dtype=np.float64))
    return columns, nominal


def load_prototype(path: Path) -> Predict:
    """Return how the prototype answers; a first small fit compiles its functions."""
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)

    def predict(table: cw.Table, fold: Fold) -> Answer:
        columns, nominal = to_columns(table.take(fold.train))
        tested, _ = to_columns(table.take(fold.test))
        present, y = np.unique(table.target[fold.train], return_inverse=True)
        found, *seconds = time_model(
            lambda: module.WeightedBayes().fit(columns, nominal, y, len(present)),
            lambda model: model.proba(tested),
        )
        posteriors = np.zeros((len(fold.test), len(table.classes)))
        posteriors[:, present] = found
        return Answer(posteriors, *seconds)

    iris = cw.read("sample:iris")
    predict(iris, deal_folds(iris)[0])
    return predict


def predict_additive(table: cw.Table, fold: Fold) -> Answer:
    """Return the answers of `Additive()`."""
    return refit_model(cw.Additive(), table, fold)


def measure(predict: Predict, name: str, folds: int, known: dict[str, Scores]) -> list[Scores]:
    """Return the scores of the first folds of a set; `known` keeps those already measured."""
    table = load_rows(name)
    found = []
    for place, fold in enumerate(deal_folds(table)[:folds]):
        key = f"{name}/{place}"
        if key not in known:
            known[key] = measure_fold(predict, table, fold)
        found.append(known[key])
    return found


def _mean(scores: Sequence[Scores], name: str) -> float:
    return float(np.mean([one[name] for one in scores]))


def compare(
    names: Sequence[str], folds: int, prototype: Callable[[], Predict], answers: Path
) -> list[dict[str, Any]]:
    """Print and return the scores of both on each set, and a paired test over the sets."""
    known = json.loads(answers.read_text(encoding="utf-8")) if answers.is_file() else {}
    predict: list[Predict] = []

    def answer(table: cw.Table, fold: Fold) -> Answer:
        if not predict:
            predict.append(prototype())
        return predict[0](table, fold)

    lines = []
    titles = ("log loss", "proto", "accuracy", "proto", "seconds", "proto")
    print(f"{'set':18}", *(f"{title:>8}" for title in titles))
    for name in names:
        old = measure(answer, name, folds, known)
        answers.write_text(json.dumps(known), encoding="utf-8")
        new = measure(predict_additive, name, folds, {})
        line = {"set": name}
        for score in SCORES:
            line[score], line[f"{score}_prototype"] = _mean(new, score), _mean(old, score)
        lines.append(line)
        print(_to_text(line), flush=True)
    print(_to_text({key: _mean(lines, key) if key != "set" else "mean" for key in lines[0]}))
    print(_to_text({key: _median(lines, key) if key != "set" else "median" for key in lines[0]}))
    for score in ("log_loss", "accuracy"):
        gap = np.asarray([line[score] - line[f"{score}_prototype"] for line in lines])
        p = float(wilcoxon(gap).pvalue) if np.any(gap) else 1.0
        print(f"{score}: mean difference {gap.mean():+.4f}, Wilcoxon p {p:.3f}")
    return lines


def _median(lines: Sequence[dict[str, Any]], name: str) -> float:
    return float(np.median([line[name] for line in lines]))


def _to_text(line: dict[str, Any]) -> str:
    figures = [f"{line[key]:8.4f}" for score in SCORES for key in (score, f"{score}_prototype")]
    return " ".join([f"{line['set']:18}", *figures])


def main() -> None:
    """Read the arguments and compare."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("prototype", type=Path, help="Python file of the prototype")
    reader.add_argument("answers", type=Path, help="JSON file that keeps the prototype's answers")
    reader.add_argument("--sets", default="", help="names, separated by commas; else all")
    reader.add_argument("--folds", type=int, default=10, help="how many folds of each set")
    reader.add_argument("--output", type=Path, help="JSON file for the scores")
    given = reader.parse_args()
    names = [one for one in given.sets.split(",") if one]
    if not names:
        names = [one.name for one in find_sets() if group_of(len(load_rows(one.name))) == "main"]
    lines = compare(names, given.folds, lambda: load_prototype(given.prototype), given.answers)
    if given.output:
        given.output.write_text(json.dumps(lines, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
