"""The facts of a comparison as plain data: ranking, differences, confusion, gain, curve."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.evaluation.experiment import Experiment
from countwise.evaluation.learning_curve import Curve
from countwise.evaluation.scores import find_score
from countwise.evaluation.trials import SUMMARY, Trials
from countwise.notes import Note, note_facts
from countwise.reports.data_facts import data_facts, head, title_of
from countwise.reports.model_facts import largest, model_facts
from countwise.reports.sentences import (
    estimate,
    is_by_gains,
    lower_is_better,
    names,
    plain,
    rounded,
    score_words,
)
from countwise.tables.scan import Scan
from countwise.tables.table import Table

#: The confidence of all intervals of a page, which is what scores have by default.
LEVEL = 0.95
#: With more classes the rarest are shown together.
MAX_CLASSES = 30
#: With more entries only the differences from the leader are listed.
MAX_PAIRED = 10
OTHERS = "(other classes)"
#: Scores of the page that stand in a table of their own.
FURTHER = ("auc", "f1", "precision", "recall", "kappa", "mcc")


def ranking_facts(trials: Trials, gain: GainMatrix | None) -> dict[str, Any]:
    """Return the entries in order, with every score, its interval, and both times."""
    usual = SUMMARY if gain is None else (gain.score, *SUMMARY)
    further = [what for what in FURTHER if what != "auc" or trials.has_areas]
    scores = list(dict.fromkeys([trials.ranked_by, *usual, *further]))
    entries = []
    for line in trials.summary():
        name = line["model"]
        entries.append(
            {
                "rank": line["rank"],
                "name": name,
                "model": trials.entries[name].model,
                "rule": line["rule"],
                "baseline": bool(line["baseline"]),
                "yardstick": bool(line["yardstick"]),
                "scores": {
                    what: estimate(
                        trials.score(what, name, gain=gain if is_by_gains(what) else None)
                    )
                    for what in scores
                },
                "fit_seconds": rounded(line["fit_seconds"], 3),
                "predict_seconds": rounded(line["predict_seconds"], 3),
            }
        )
    return {
        "ranked_by": trials.ranked_by,
        "level": LEVEL,
        "unit": "" if gain is None else gain.unit,
        "scores": [
            {
                "score": what,
                "words": score_words(what),
                "meaning": find_score("report", what).meaning,
                "further": what not in (trials.ranked_by, *usual),
            }
            for what in scores
        ],
        "entries": entries,
    }


def difference_facts(trials: Trials) -> list[dict[str, Any]]:
    """Return the pairwise differences in the score that ranks, the better entry first."""
    order = [line["model"] for line in trials.summary()]
    pairs = list(combinations(order, 2))
    if len(order) > MAX_PAIRED:
        pairs = [pair for pair in pairs if pair[0] == order[0]]
    differences = []
    for first, second in pairs:
        gap = trials.difference(first, second, trials.ranked_by)
        apart = bool(gap.low > 0 or gap.high < 0)
        differences.append({"first": first, "second": second, "apart": apart, **estimate(gap)})
    return differences


def recommendation_facts(trials: Trials) -> dict[str, Any] | None:
    """Return the best entry against the same decision for every row, in the score that ranks."""
    entries = [trials.entries[line["model"]] for line in trials.summary()]
    best = entries[0]
    base = next((entry for entry in entries if entry.baseline), None)
    if base is None:
        return None
    gap = trials.improvement(best.name, base.name)
    often = trials.confusion(base.name).counts.sum(axis=0)
    return {
        "name": best.name,
        "model": best.model,
        "baseline": base.name,
        "is_baseline": best.baseline,
        "always": names(base.decisions)[int(np.argmax(often))],
        "score": trials.ranked_by,
        "value": estimate(trials.score(trials.ranked_by, best.name)),
        "of_baseline": estimate(trials.score(trials.ranked_by, base.name)),
        "difference": estimate(gap),
        "level": LEVEL,
        "unit": "" if trials.gain is None else trials.gain.unit,
    }


def confusion_facts(trials: Trials, name: str) -> dict[str, Any]:
    """Return counts and joint probabilities of one entry, and precision and recall by class."""
    confusion = trials.confusion(name)
    counts, joint = confusion.counts, confusion.joint
    most = MAX_CLASSES if len(counts) <= MAX_CLASSES else MAX_CLASSES - 1
    keep = largest(counts.sum(axis=1), most)
    by_class = trials.by_class(name)
    classes, decisions = names(confusion.classes), names(confusion.decisions)
    hidden = len(classes) - len(keep)
    others = [OTHERS] if hidden else []
    return {
        "name": name,
        "classes": [*(classes[at] for at in keep), *others],
        "decisions": [*(decisions[at] for at in keep), *others, *decisions[len(classes) :]],
        "hidden": hidden,
        "counts": plain(_folded(counts, keep)),
        "joint": plain(_folded(joint, keep)),
        "accuracy": rounded(confusion.accuracy),
        "undecided": rounded(confusion.undecided),
        "by_class": [
            {
                "class": classes[at],
                "rows": rounded(by_class[at]["weight"]),
                "precision": _interval(by_class[at]["precision"]),
                "recall": _interval(by_class[at]["recall"]),
            }
            for at in keep
        ],
    }


def _interval(score: dict[str, Any]) -> dict[str, float | None]:
    return {key: rounded(score[key]) for key in ("value", "low", "high")}


def _folded(cells: Any, keep: list[int]) -> Any:
    """Join the classes that are not shown into one row and one column."""
    rest = [at for at in range(len(cells)) if at not in set(keep)]
    if not rest:
        return cells
    rows = np.vstack([cells[keep], cells[rest].sum(axis=0)])
    return np.column_stack([rows[:, keep], rows[:, rest].sum(axis=1), rows[:, len(cells) :]])


def gain_facts(trials: Trials, gain: GainMatrix, best: str) -> dict[str, Any]:
    """Return the gain matrix in numbers and words, the gain by rule, and where it is earned.

    If the matrix holds costs, so do the facts: ``word`` says which.
    """
    confusion = trials.confusion(best)
    values, joint = gain.sign * gain.values + 0.0, confusion.joint
    shared = min(values.shape[1], joint.shape[1])
    contributions = np.zeros(values.shape)
    contributions[:, :shared] = joint[:, :shared] * values[:, :shared]
    small = len(gain.classes) <= MAX_CLASSES
    return {
        "word": gain.word,
        "classes": names(gain.classes),
        "decisions": names(gain.decisions),
        "values": plain(values, 12) if small else [],
        "sentences": gain.sentences() if len(gain.classes) <= 4 else [],
        "notes": list(gain.notes)[:5],
        "best": best,
        "contributions": plain(contributions) if small else [],
        "rules": _rules(trials, gain),
    }


def _rules(trials: Trials, gain: GainMatrix) -> list[dict[str, Any]]:
    """Return the gain by each rule and their difference, for models that decide by both."""
    by_rule: dict[str, dict[str, str]] = {}
    for name, entry in trials.entries.items():
        rule = "gain" if entry.rule == "cost" else entry.rule
        by_rule.setdefault(entry.model, {}).setdefault(rule, name)
    return [
        {
            "model": model,
            "by_gain": estimate(trials.score(gain.score, rules["gain"], gain=gain)),
            "by_argmax": estimate(trials.score(gain.score, rules["argmax"], gain=gain)),
            "difference": estimate(
                trials.difference(rules["gain"], rules["argmax"], gain.score, gain=gain)
            ),
        }
        for model, rules in by_rule.items()
        if {"argmax", "gain"} <= set(rules)
    ]


def curve_facts(curve: Curve) -> dict[str, Any]:
    """Return a learning curve: sizes, and a point with its interval for every entry and size."""
    what = curve.ranked_by
    lines: list[dict[str, Any]] = [
        {"name": name, "points": [estimate(score) for score in curve.score(what, name)]}
        for name in curve.names
    ]
    sign = 1 if lower_is_better(what) else -1
    lines.sort(key=lambda line: sign * (line["points"][-1]["value"] or 0.0))
    return {
        "score": what,
        "words": score_words(what),
        "protocol": curve.protocol,
        "level": LEVEL,
        "sizes": list(curve.sizes),
        "lines": lines,
    }


def protocol_facts(trials: Trials) -> dict[str, Any]:
    """Return the protocol in words, its folds and rows, and the kind of interval."""
    tested = [fold.tested for fold in trials.folds]
    trained = [fold.trained for fold in trials.folds]
    best = trials.score(trials.ranked_by, trials.best)
    return {
        "words": trials.protocol,
        "parts": len(trials.folds),
        "tested": [min(tested), max(tested)],
        "trained": [min(trained), max(trained)],
        "level": LEVEL,
        "interval": best.method,
    }


def comparison_facts(
    table: Table | Scan | None,
    trials: Trials,
    *,
    model: Any = None,
    model_name: str | None = None,
    curve: Curve | None = None,
    gain: Gains | None = None,
    title: str | None = None,
    source: str | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Gather the facts of a comparison: ranking, gain, confusion, model, curve, data, protocol."""
    matrix = trials.gain if gain is None else GainMatrix.of(gain, trials.classes)
    fitted = getattr(getattr(model, "model_", model), "notes_", ())
    notes = [*trials.notes, *(curve.notes if curve is not None else ()), *fitted]
    of_table = set() if table is None else set(table.notes)
    further = [note for note in notes if isinstance(note, Note) and note not in of_table]
    return {
        **head("comparison", title or title_of(table, source), source, table, command),
        "verdict": trials.verdict(),
        "recommendation": recommendation_facts(trials),
        "ranking": ranking_facts(trials, matrix),
        "differences": difference_facts(trials),
        "gain": None if matrix is None else gain_facts(trials, matrix, trials.best),
        "confusion": confusion_facts(trials, trials.best),
        "model": None if model is None else model_facts(model, model_name),
        "curve": None if curve is None else curve_facts(curve),
        "data": None if table is None else data_facts(table, source),
        "protocol": {**protocol_facts(trials), "notes": note_facts(further)},
    }


def experiment_facts(
    experiment: Experiment, title: str | None = None, command: str | None = None
) -> dict[str, Any]:
    """Gather the facts of a comparison on several data sets: the table, wins and mean ranks."""
    ranks = experiment.ranks()
    usual = f"{len(experiment.models)} models on {len(experiment.trials)} data sets"
    return {
        **head("experiment", title or usual, None, None, command),
        "verdict": experiment.verdict(),
        "data": None,
        "experiment": {
            "score": experiment.ranked_by,
            "words": score_words(experiment.ranked_by),
            "baseline": experiment.baseline,
            "models": list(experiment.models),
            "rows": plain(experiment.rows()),
            "wins": {name: list(counts) for name, counts in experiment.wins().items()},
            "ranks": plain(vars(ranks)),
            "failures": dict(experiment.failures),
        },
    }
