"""The facts of a report: plain, JSON-able, with a version; figures and pages are drawn from them.

Their size depends on how many columns, classes and entries there are to show, never on the rows.
"""

from __future__ import annotations

from typing import Any

import countwise
from countwise.decisions.gain import GainMatrix, Gains
from countwise.evaluation.curves import Curve
from countwise.evaluation.trials import Trials
from countwise.reports.columns import data_facts
from countwise.reports.notes import note_facts
from countwise.reports.standings import (
    confusion_facts,
    curve_facts,
    difference_facts,
    gain_facts,
    protocol_facts,
    ranking_facts,
)
from countwise.reports.why import model_facts
from countwise.tables.notes import Note
from countwise.tables.table import Table

FORMAT = "countwise-facts"
VERSION = 1


def _head(kind: str, title: str, source: str | None) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "library": {"name": "countwise", "version": countwise.__version__},
        "title": title,
        "source": source,
    }


def comparison_facts(
    table: Table,
    trials: Trials,
    *,
    model: Any = None,
    model_name: str | None = None,
    curve: Curve | None = None,
    gain: Gains | None = None,
    title: str | None = None,
    source: str | None = None,
) -> dict[str, Any]:
    """Gather what a comparison found: ranking, gain, confusion, why, data and protocol."""
    matrix = trials.gain if gain is None else GainMatrix.of(gain, trials.classes)
    fitted = getattr(getattr(model, "model_", model), "notes_", ())
    notes = [*trials.notes, *(curve.notes if curve is not None else ()), *fitted]
    own = set(table.notes)
    return {
        **_head("comparison", title or _title(table, source), source),
        "verdict": trials.verdict(),
        "ranking": ranking_facts(trials, matrix),
        "differences": difference_facts(trials),
        "gain": None if matrix is None else gain_facts(trials, matrix, trials.best),
        "confusion": confusion_facts(trials, trials.best),
        "model": None if model is None else model_facts(model, model_name),
        "curve": None if curve is None else curve_facts(curve),
        "data": data_facts(table, source),
        "protocol": protocol_facts(trials)
        | {
            "notes": note_facts(
                note for note in notes if isinstance(note, Note) and note not in own
            )
        },
    }


def inspect_facts(table: Table, source: str | None = None) -> dict[str, Any]:
    """Gather what a table looks like before any model: kinds, levels, missing, what is dropped."""
    return {
        **_head("inspection", _title(table, source), source),
        "data": data_facts(table, source),
    }


def _title(table: Table, source: str | None) -> str:
    target = table.schema.target
    if not source:
        return "A table" if target is None else f"Predicting {target.name}"
    # A path is named by its file; where it lies on a machine is nobody's business.
    name = source.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or source
    return name if target is None else f"{name}: predicting {target.name}"
