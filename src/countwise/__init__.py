"""countwise: classify tables by counting.

Rows become counts, counts become models, models give probabilities, probabilities become
decisions, decisions are evaluated. A public name is imported when it is first used, so that
``import countwise`` costs next to nothing. ``__init__.pyi`` tells type checkers the same names; it
is written by ``scripts/write_public_names.py``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

#: The functions and values by their modules; the models are those of the registry.
_NAMES = {
    "countwise.counts.count_rows": ("count", "count_groups"),
    "countwise.counts.counts": ("Counts",),
    "countwise.counts.counts_file": ("load_counts", "save_counts"),
    "countwise.counts.plan": ("Plan",),
    "countwise.counts.smoothing": ("Laplace", "MEstimate"),
    "countwise.decisions.confusion": ("Confusion",),
    "countwise.decisions.decide": ("Decide",),
    "countwise.decisions.gain_matrix": ("GainMatrix",),
    "countwise.decisions.rules": ("Argmax", "ExpectedGain", "RouletteWheel"),
    "countwise.discretize.cuts": ("Cuts",),
    "countwise.discretize.quantizer": ("Quantizer",),
    "countwise.errors": (
        "CountwiseError",
        "MissingColumnWarning",
        "PrecisionWarning",
        "UnseenLevelWarning",
    ),
    "countwise.evaluation.bayes_error": ("BayesError", "bayes_error", "bayes_error_bound"),
    "countwise.evaluation.evaluate": ("evaluate",),
    "countwise.evaluation.experiment": ("Experiment",),
    "countwise.evaluation.learning_curve": ("Curve", "learning_curve"),
    "countwise.evaluation.neighbor_grid": ("NeighborGrid", "neighbor_grid"),
    "countwise.evaluation.trials": ("Trials",),
    "countwise.models.ensembles.vote": ("ensemble_error",),
    "countwise.models.explanation": ("Explanation",),
    "countwise.models.neighbors.explanation": ("Neighborhood", "NumberExplanation"),
    "countwise.notes": ("Note",),
    "countwise.prediction.predict_file": ("predict_file",),
    "countwise.prediction.summary": ("PredictionSummary",),
    "countwise.reports.describe": ("Description", "describe"),
    "countwise.reports.draw": ("Picture", "draw"),
    "countwise.reports.regions": ("regions",),
    "countwise.reports.report": ("report",),
    "countwise.store.files": ("load", "save"),
    "countwise.tables.read": ("read",),
    "countwise.tables.scan": ("Scan", "scan"),
    "countwise.tables.schema": ("Column", "Schema"),
    "countwise.tables.table": ("Table",),
    "countwise_papers.reproduce": ("Reproduction", "reproduce"),
}


def _homes() -> dict[str, str]:
    """Return the module of every public name."""
    from countwise.models.registry import models

    homes = {name: module for module, names in _NAMES.items() for name in names}
    ours = [entry for entry in models() if entry.module.startswith("countwise.")]
    return homes | {entry.name: entry.module for entry in ours}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return ["__version__", *sorted(_homes())]
    home = None if name.startswith("_") else _homes().get(name)
    if home is None:
        raise AttributeError(f"module 'countwise' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __getattr__("__all__")
