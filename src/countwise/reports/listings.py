"""What linear models and ensembles have learned, as lines: coefficients, rounds, members."""

from __future__ import annotations

from typing import Any

from countwise.models.ensembles.adaboost import AdaBoost
from countwise.models.ensembles.bagging import Bagging
from countwise.models.ensembles.vote import Vote
from countwise.models.linear.base import MatrixModel
from countwise.models.linear.neural_net import NeuralNet
from countwise.reports.rounding import names

#: How many lines a page shows.
MOST_LINES = 40


def listing_facts(model: Any) -> dict[str, Any] | None:
    """Return words, headers and lines that tell what a model has learned; None of other models."""
    if isinstance(model, AdaBoost):
        return _rounds(model)
    if isinstance(model, Bagging):
        return _bagging(model)
    if isinstance(model, Vote):
        return _vote(model)
    if isinstance(model, MatrixModel):
        return _network(model) if len(model.layers_) > 1 else _coefficients(model)
    return None


def _made(words: str, headers: list[str], lines: list[list[str]]) -> dict[str, Any]:
    return {
        "words": words,
        "headers": headers,
        "lines": lines[:MOST_LINES],
        "more": max(len(lines) - MOST_LINES, 0),
    }


def _coefficients(model: MatrixModel) -> dict[str, Any]:
    """Coefficients by column and level, the weightiest first."""
    labels = names(model.classes_.tolist())
    if len(labels) == 2:
        labels = labels[1:]
    by_place: dict[tuple[str | None, str | None], list[float]] = {}
    for own in model.coefficients_:
        by_place.setdefault((own.column, own.level), []).append(own.value)
    intercept = by_place.pop((None, None))
    widths: dict[tuple[str | None, str | None], float] = {
        (own.column, own.level): float(abs(layer).max())
        for own, layer in zip(model.features_.names, model.layers_[0].weights, strict=True)
    }
    ranked = sorted(by_place, key=lambda place: -widths[place])
    lines = [["(intercept)", "", *(f"{value:.4g}" for value in intercept)]]
    lines += [
        [str(column), level or "", *(f"{value:.4g}" for value in by_place[column, level])]
        for column, level in ranked
    ]
    what = "margin" if model.scale_ != 1.0 else "log-odds"
    words = (
        f"What a level, or a unit of a number, adds to the {what} of a class"
        f"{f' ({labels[0]})' if len(labels) == 1 else ''}; the weightiest first, numbers compared "
        "by their spread."
    )
    return _made(words, ["column", "level", *labels], lines)


def _network(model: MatrixModel) -> dict[str, Any]:
    sizes = [layer.weights.shape[1] for layer in model.layers_[:-1]]
    words = (
        f"A network of {len(model.features_.names)} inputs and {' and '.join(map(str, sizes))} "
        "hidden neurons."
    )
    curve = getattr(model, "curve_", ())
    if isinstance(model, NeuralNet) and curve:
        words += f" The weights are those of epoch {model.best_epoch_} of {len(curve)}."
    step = max(1, len(curve) // MOST_LINES)
    lines = [
        [str(own.number), f"{own.loss:.4f}", "–" if own.error != own.error else f"{own.error:.3f}"]
        for own in curve[::step]
    ]
    return _made(words, ["epoch", "loss", "error on rows held out"], lines)


def _rounds(model: AdaBoost) -> dict[str, Any]:
    words = (
        f"{len(model.rounds_)} rounds: each rule errs on a share ε of the weighted rows and votes "
        "with the weight α."
    )
    lines = [
        [str(place), f"{own.epsilon:.4f}", f"{own.alpha:.4f}", own.words]
        for place, own in enumerate(model.rounds_, 1)
    ]
    return _made(words, ["round", "ε", "α", "rule"], lines)


def _bagging(model: Bagging) -> dict[str, Any]:
    base = type(model.members_[0]).__name__
    words = f"{len(model.members_)} models ({base}), each on its own draw of the rows."
    found = getattr(model, "out_of_bag_", None)
    lines = []
    if found is not None:
        told = {
            "ensemble, out of bag": found.error,
            "one model, leave-one-out bootstrap": found.single_error,
            "one model, .632": found.error_632,
            "one model, .632+": found.error_632_plus,
            "one model, on its own rows": found.apparent_error,
        }
        lines = [[what, f"{error:.2%}"] for what, error in told.items()]
    return _made(words, ["what", "error"], lines)


def _vote(model: Vote) -> dict[str, Any]:
    words = f"{len(model.members_)} models vote ({model.how}); how often two answer alike:"
    labels = list(model.members_)
    lines = [
        [name, f"{weight:.3g}", *(f"{share:.1%}" for share in line)]
        for name, weight, line in zip(labels, model.weights_, model.agreement_, strict=True)
    ]
    return _made(words, ["member", "weight", *labels], lines)
