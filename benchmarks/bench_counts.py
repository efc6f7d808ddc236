"""Counting, fitting and predicting against scikit-learn and plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import countwise as cw
from benchmarks.timing import best, row
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table


def coded(rows: int, columns: int, levels: int = 5) -> tuple[Table, np.ndarray, np.ndarray]:
    """Make a coded table of nominal columns, and the same codes as one array for the peer."""
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, rows, dtype=np.uint8)
    names = [f"c{place}" for place in range(columns)]
    data = {name: rng.integers(0, levels, rows, dtype=np.uint8) for name in names}
    words = tuple("abcdefghij"[:levels])
    schema = Schema(
        (*(Column(n, "nominal", words) for n in names), Column("y", "target", ("n", "y")))
    )
    X = np.column_stack(list(data.values()))
    return Table(schema, {**data, "y": target}), X, target


def mixed(rows: int) -> tuple[Table, np.ndarray, np.ndarray, np.ndarray]:
    """Ten nominal and ten numeric columns with 5 % missing; for the peer filled, as it must be."""
    rng = np.random.default_rng(1)
    target = rng.integers(0, 2, rows, dtype=np.uint8)
    words = tuple("abcde")
    columns: list[Column] = []
    data: dict[str, Any] = {"y": target}
    for place in range(10):
        codes = rng.integers(0, 5, rows, dtype=np.uint8)
        codes[rng.random(rows) < 0.05] = 5
        data[f"w{place}"] = codes
        columns.append(Column(f"w{place}", "nominal", words))
        values = rng.normal(place, 1 + place, rows)
        values[rng.random(rows) < 0.05] = np.nan
        data[f"x{place}"] = values
        columns.append(Column(f"x{place}", "numeric"))
    codes = np.column_stack([data[f"w{place}"] for place in range(10)])
    values = np.column_stack([data[f"x{place}"] for place in range(10)])
    table = Table(Schema((*columns, Column("y", "target", ("n", "y")))), data)
    return table, codes, values, target


def two_models(codes: np.ndarray, values: np.ndarray, target: np.ndarray) -> None:
    """What a scikit-learn user does for mixed columns: fill, fit two models, add their logs."""
    filled = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    CategoricalNB(min_categories=6).fit(codes, target)
    GaussianNB().fit(filled, target)


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure."""
    rows = 1_000_000 if quick else 10_000_000
    table, X, y = coded(rows, 20)
    plan = cw.Plan.each(table.schema)
    ours = best(lambda: cw.count(table, plan))
    flat = np.ascontiguousarray(X.T).reshape(-1)
    summing = best(flat.sum)
    peer = best(lambda: CategoricalNB().fit(X, y), 1 if not quick else 2)
    lines = [
        row(f"count {rows:,} x 20 nominal (coded)", ours, "CategoricalNB.fit", peer, ">= 80x"),
        row("  the same against NumPy's sum of those bytes", ours, "np.sum", summing, ">= 0.2x"),
    ]
    del flat
    few = 1_000_000
    small, Xs, ys = table.take(slice(0, few)), X[:few], y[:few]
    model, other = cw.NaiveBayes().fit(small), CategoricalNB().fit(Xs, ys)
    lines.append(
        row(
            "predict 1,000,000 x 20 nominal (coded)",
            best(lambda: model.predict(small)),
            "CategoricalNB.predict",
            best(lambda: other.predict(Xs), 3),
            ">= 15x",
        )
    )
    mix, codes, values, target = mixed(1_000_000)
    lines.append(
        row(
            "fit 1,000,000 x (10 nominal + 10 numeric), 5 % missing",
            best(lambda: cw.NaiveBayes(numeric="gaussian").fit(mix)),
            "CategoricalNB + GaussianNB",
            best(lambda: two_models(codes, values, target), 3),
            ">= 8x",
        )
    )
    kernel = cw.NaiveBayes(numeric="kernel").fit(mix)
    gaussian = cw.NaiveBayes(numeric="gaussian").fit(mix)
    lines.append(
        row(
            "predict 1,000,000 mixed, kernel against Gaussian",
            best(lambda: kernel.predict(mix), 2),
            "Gaussian",
            best(lambda: gaussian.predict(mix), 3),
            "stated",
        )
    )
    return lines
