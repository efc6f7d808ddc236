"""Trials as people read them: ranked records, a sentence, a text, plain data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from countwise.evaluation.outcomes import Entry
from countwise.evaluation.verdict import sentence, table_of

if TYPE_CHECKING:
    from countwise.evaluation.trials import Trials

#: The scores a summary shows beside the one it ranks by.
SUMMARY = ("accuracy", "balanced_accuracy", "log_loss", "brier")


def summary_of(trials: Trials, level: float) -> list[dict[str, Any]]:
    """Return one flat record an entry, the best first."""
    lines = []
    for name, entry in trials.entries.items():
        line: dict[str, Any] = {"model": name, "rule": entry.rule, "baseline": entry.baseline}
        for what in _scores(trials):
            plain = trials.score(what, name, level=level).to_dict()
            line[what] = plain["value"]
            line[f"{what}_low"], line[f"{what}_high"] = plain["low"], plain["high"]
        line["fit_seconds"] = float(np.mean([piece.fit_seconds for piece in entry.pieces]))
        line["predict_seconds"] = float(np.mean([piece.predict_seconds for piece in entry.pieces]))
        lines.append(line)
    key = trials.ranked_by
    lines.sort(key=lambda line: (-line[key], line["log_loss"] or math.inf, line["baseline"]))
    return [{"rank": place, **line} for place, line in enumerate(lines, 1)]


def verdict_of(trials: Trials, level: float) -> str:
    """Compare the first with the best entry of every other model."""
    ranked = [trials.entries[line["model"]] for line in summary_of(trials, level)]
    leader = ranked[0]
    rivals: dict[str, Entry] = {}
    for entry in ranked:
        if entry.model != leader.model:
            rivals.setdefault(entry.model, entry)
    baseline = next((entry.name for entry in rivals.values() if entry.baseline), None)
    return sentence(
        leader.name,
        [entry.name for entry in rivals.values()],
        leader.name if leader.baseline else baseline,
        lambda other: trials.difference(leader.name, other, trials.ranked_by, level=level),
        trials.ranked_by,
    )


def text_of(trials: Trials, level: float) -> str:
    """Return the ranking, the verdict and the notes as text."""
    key = trials.ranked_by
    shown = [key, f"{key}_low", f"{key}_high", *(what for what in SUMMARY if what != key)]
    columns = ["rank", "model", "rule", *shown, "fit_seconds", "predict_seconds"]
    head = f"{trials.protocol}; {100 * level:g} % intervals"
    table = table_of(summary_of(trials, level), columns)
    return "\n".join([head, table, verdict_of(trials, level), *map(str, trials.notes)])


def plain_of(trials: Trials) -> dict[str, Any]:
    """Return everything but the single rows as plain data."""
    names = trials.names
    return {
        "protocol": trials.protocol,
        "classes": list(trials.classes),
        "gain": None if trials.gain is None else [list(row) for row in trials.gain.rows],
        "parts": [
            {"repeat": p.repeat, "fold": p.fold, "tested": len(p.rows), "trained": p.trained}
            for p in trials.parts
        ],
        "ranked_by": trials.ranked_by,
        "summary": trials.summary(),
        "verdict": trials.verdict(),
        "scores": {
            what: {name: own.to_dict() for name, own in trials.score(what).items()}
            for what in _scores(trials)
        },
        "by_class": {name: trials.by_class(name) for name in names},
        "confusion": {name: trials.confusion(name).to_dict() for name in names},
        "times": {
            name: {kind: list(seconds) for kind, seconds in own.items()}
            for name, own in trials.times.items()
        },
        "notes": [note.to_dict() for note in trials.notes],
    }


def _scores(trials: Trials) -> tuple[str, ...]:
    return SUMMARY if trials.gain is None else ("expected_gain", *SUMMARY)
