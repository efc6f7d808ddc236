"""Pictures of what an evaluation found: a map of neighbors, a learning curve, a comparison."""

from __future__ import annotations

import math
from typing import Any

from countwise.errors import ParameterError
from countwise.evaluation.learning_curve import Curve
from countwise.evaluation.neighbor_grid import NeighborGrid
from countwise.evaluation.roc_curve import roc_curves
from countwise.evaluation.trials import Trials
from countwise.reports.comparison_facts import confusion_facts, curve_facts, ranking_facts
from countwise.reports.draw import Picture
from countwise.reports.figures.cell_grid import confusion_figure, heat_figure
from countwise.reports.figures.line_plot import by_k_figure, curve_figure
from countwise.reports.figures.ranking import ranking_figure
from countwise.reports.figures.roc import roc_figure
from countwise.reports.sentences import plain, score_words


def draw_result(result: Any, what: Any) -> Picture | None:
    """Draw a map of neighbors, a learning curve or a comparison; None for anything else."""
    if isinstance(result, NeighborGrid):
        return _draw_grid(result, what)
    if isinstance(result, Curve):
        return _draw_curve(result, what)
    return _draw_trials(result, what) if isinstance(result, Trials) else None


def _draw_curve(curve: Curve, what: Any) -> Picture:
    if what is not None:
        raise ParameterError("draw", "what", "left out for a learning curve", what)
    facts = curve_facts(curve)
    return Picture(curve_figure(facts), f"{score_words(facts['score'])} by training rows")


def _draw_grid(grid: NeighborGrid, what: Any) -> Picture:
    """The map of k and p, or accuracy by k at the best p."""
    name = grid.data or "neighbors"
    if what is None and len(grid.p) > 1:
        return Picture(heat_figure(grid.to_dict()), f"Accuracy of {name} by k and p")
    if what not in (None, "k"):
        raise ParameterError("draw", "what", "'k' or None for a NeighborGrid", what)
    by = grid.p.index(grid.best["p"])
    few = len(grid.expected) < 2
    wheel = [0.0] * len(grid.k) if few else grid.expected[:, :, by].std(axis=0, ddof=1).tolist()
    vote = {"values": grid.accuracy[:, by].tolist(), "spread": grid.spread[:, by].tolist()}
    chance = {"values": grid.expected_accuracy[:, by].tolist(), "spread": wheel}
    lines = [{"name": "largest vote", **vote}, {"name": "roulette wheel", **chance}]
    power = "maximum" if math.isinf(grid.best["p"]) else f"{grid.best['p']:g}"
    title = f"Accuracy of {name} by k, p = {power}"
    return Picture(by_k_figure(grid.k, lines, title, grid.over), title)


def _draw_trials(trials: Trials, what: Any) -> Picture:
    """The ranking, the ROC curves or the confusion matrix of a comparison."""
    if what == "roc":
        curves, words = roc_curves(trials)
        return Picture(roc_figure([plain(curve) for curve in curves], words), "ROC curves")
    best = next(line for line in trials.summary() if not line["baseline"])["model"]
    if what == "confusion":
        facts = confusion_facts(trials, best)
        return Picture(confusion_figure(facts), f"Confusion matrix of {best}")
    if what is not None:
        rule = "'roc', 'confusion' or None for a comparison"
        raise ParameterError("draw", "what", rule, what)
    facts = ranking_facts(trials, trials.gain)
    words = score_words(facts["ranked_by"]).lower()
    return Picture(ranking_figure(facts), f"Models by {words}")
