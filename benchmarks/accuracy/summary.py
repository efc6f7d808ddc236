"""Tables over sets: means, mean ranks, wins with Wilcoxon's test, and Weka's counterparts.

Means and ranks are over the sets of 100 to 3 000 rows, and over the folds that the reference has. A
model that lacks some of these is compared with the reference on the folds that both have, in a
table of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from benchmarks.accuracy.contestants import COUNTERPARTS
from benchmarks.accuracy.measure import SCORES
from benchmarks.accuracy.run import Run
from countwise.evaluation.experiment import rank_models

#: Differences that are no larger count as a tie.
_TIE = 1e-9
#: Points of accuracy behind Weka that are listed one by one.
_FAR_BEHIND = 0.05


def mean_scores(run: Run, data: str, model: str, folds: Iterable[int] | None = None) -> Any:
    """Return the mean of every score over folds, or None if the model has none of them."""
    kept = run.kept[data, model].folds
    chosen = sorted(kept if folds is None else folds)
    done = [kept[fold] for fold in chosen if "failed" not in kept[fold]]
    if not done:
        return None
    return {name: float(np.mean([one[name] for one in done])) for name in SCORES}


def done_folds(run: Run, data: str, model: str) -> set[int]:
    """Return the folds in which a model was measured."""
    return {fold for fold, one in run.kept[data, model].folds.items() if "failed" not in one}


def main_folds(run: Run, reference: str | None = None) -> dict[str, set[int]]:
    """Return the folds of the main sets that a reference has; all, if it lacks a set."""
    sets = [one for one in run.sets if one.group == "main"]
    if reference in [one.name for one in run.models]:
        done = {one.name: done_folds(run, one.name, str(reference)) for one in sets}
        if all(done.values()):
            return done
    return {one.name: set(range(one.folds)) for one in sets}


def has_all(run: Run, model: str, folds: dict[str, set[int]]) -> bool:
    """Return whether a model was measured in these folds of every set."""
    return bool(folds) and all(
        wanted <= done_folds(run, data, model) for data, wanted in folds.items()
    )


def compare_pair(run: Run, model: str, reference: str, score: str, group: str = "main") -> Any:
    """Compare a model with the reference on the folds that both have; None if there are none.

    Wins are sets on which the model is better. The p value is that of Wilcoxon's signed rank test.
    """
    pairs: list[tuple[str, int, float, float]] = []
    for one in run.sets:
        common = done_folds(run, one.name, model) & done_folds(run, one.name, reference)
        if one.group == group and common:
            ours, theirs = (mean_scores(run, one.name, m, common) for m in (model, reference))
            pairs.append((one.name, len(common), ours[score], theirs[score]))
    if not pairs:
        return None
    sign = -1.0 if score == "accuracy" else 1.0
    gaps = sign * np.array([mine - other for _, _, mine, other in pairs])
    wins, losses = int((gaps < -_TIE).sum()), int((gaps > _TIE).sum())
    return {
        "sets": [name for name, *_ in pairs],
        "folds": [folds for _, folds, *_ in pairs],
        "mean": float(np.mean([mine for *_, mine, _ in pairs])),
        "reference_mean": float(np.mean([other for *_, other in pairs])),
        "wins": wins,
        "ties": len(pairs) - wins - losses,
        "losses": losses,
        "p": wilcoxon_p(gaps),
    }


def wilcoxon_p(gaps: Any) -> float | None:
    """Return the two-sided p value of Wilcoxon's test; None if all differences are 0."""
    gaps = np.asarray(gaps, dtype=np.float64)
    if not (np.abs(gaps) > _TIE).any():
        return None
    return float(wilcoxon(gaps).pvalue)


def summarize(run: Run, reference: str) -> dict[str, Any]:
    """Return all tables as plain data."""
    models = [one.name for one in run.models]
    folds = main_folds(run, reference)
    complete = [name for name in models if has_all(run, name, folds)]
    partial = [name for name in models if name not in complete]
    scores = {
        one.name: {name: mean_scores(run, one.name, name) for name in models} for one in run.sets
    }
    main = [
        {name: mean_scores(run, data, name, wanted) for name in complete}
        for data, wanted in folds.items()
    ]
    lines = []
    for name in complete:
        means = {key: float(np.mean([found[name][key] for found in main])) for key in SCORES}
        lines.append({"model": name, **means, "against": _against(run, name, reference)})
    ranks = {
        score: rank_sets([[found[name][score] for name in complete] for found in main],
                         complete, lower_is_better=score != "accuracy")
        for score in ("log_loss", "accuracy")
    }  # fmt: skip
    return {
        "reference": reference,
        "folds": sorted({len(wanted) for wanted in folds.values()}),
        "means": sorted(lines, key=lambda line: line["log_loss"]),
        "ranks": ranks,
        "partial": [
            {"model": name, "against": _against(run, name, reference)}
            for name in partial
            if any(done_folds(run, data, name) for data in folds)
        ],
        "scores": {
            data: {
                name: {**one, "folds": len(done_folds(run, data, name))}
                for name, one in found.items()
                if one is not None
            }
            for data, found in scores.items()
        },
        "weka": compare_weka(run),
        "failures": [
            {"set": data, "model": name, "fold": fold, "why": one["failed"]}
            for (data, name), kept in run.kept.items()
            for fold, one in sorted(kept.folds.items())
            if "failed" in one
        ],
    }


def _against(run: Run, name: str, reference: str) -> dict[str, Any] | None:
    if name == reference or reference not in [one.name for one in run.models]:
        return None
    pairs = {s: compare_pair(run, name, reference, s) for s in ("log_loss", "accuracy")}
    return None if pairs["log_loss"] is None else pairs


def rank_sets(table: list[list[float]], models: list[str], lower_is_better: bool) -> dict[str, Any]:
    """Return mean ranks (1 is best) of one line of scores a set, with the critical difference."""
    sign = 1 if lower_is_better else -1
    ranks = [rankdata(sign * np.array(line)).tolist() for line in table] if models else []
    return vars(rank_models(models, ranks, 0.95))


def compare_weka(run: Run) -> list[dict[str, Any]]:
    """Compare our models with Weka's counterparts on the sets of the means."""
    names, folds = {one.name for one in run.models}, main_folds(run)
    rows = []
    for ours, theirs in COUNTERPARTS.items():
        if {ours, theirs} <= names and all(has_all(run, name, folds) for name in (ours, theirs)):
            sets = list(folds)
            mine, other = (
                np.array([mean_scores(run, data, name)["accuracy"] for data in sets])
                for name in (ours, theirs)
            )
            gaps = dict(zip(sets, (mine - other).tolist(), strict=True))
            rows.append({
                "ours": ours,
                "weka": theirs,
                "accuracy": float(mine.mean()),
                "weka_accuracy": float(other.mean()),
                "difference": float((mine - other).mean()),
                "by_set": gaps,
                "far_behind": {s: gap for s, gap in gaps.items() if gap < -_FAR_BEHIND},
            })  # fmt: skip
    return rows
