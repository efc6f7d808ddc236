"""A user's program: type checkers must know every public name it uses."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import countwise as cw


def compare(table: cw.Table) -> cw.Trials:
    models = {"one": cw.NaiveBayes(smoothing=0.5), "other": cw.TAN(cuts="mdl")}
    return cw.evaluate(models, table, folds=3)


def keep(table: cw.Table, path: Path) -> NDArray[np.float64]:
    model: cw.NaiveBayes = cw.NaiveBayes(numeric="kernel").fit(table)
    cw.save(model, path)
    again = cw.load(path)
    picture: cw.Picture = cw.draw(model)
    picture.save(path.with_suffix(".svg"))
    shares: NDArray[np.float64] = again.predict_proba(table)
    return shares


def decide(table: cw.Table) -> str:
    chosen = cw.Decide(cw.NaiveBayes(), [[1, 0], [0, 5]]).fit(table)
    labels: list[str] = chosen.predict(table).tolist()
    why: cw.Explanation = cw.NaiveBayes().fit(table).explain(table)
    return f"{labels[0]}: {why.describe(0)}"


def grow(table: cw.Table) -> int:
    curve: cw.Curve = cw.learning_curve(cw.Logistic(), table, points=2, repeats=1)
    counts: cw.Counts = cw.count(table, cw.Plan.each(table.schema))
    return len(curve.records()) + counts.rows


def main(folder: Path) -> None:
    table = cw.read("sample:weather")
    trials = compare(table)
    accuracy: float = trials.score("accuracy", "one").value
    if not 0 <= accuracy <= 1 or keep(table, folder / "model.cw").shape != (14, 2):
        raise SystemExit(1)
    if not decide(table) or grow(table) < 15:
        raise SystemExit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
