"""Views of linear models and networks: coefficients, and the training curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from countwise.models.views import Coefficients, Epoch, Term, TrainingCurve
from countwise.tables.labels import text

if TYPE_CHECKING:
    from countwise.models.linear.base import MatrixModel
    from countwise.models.linear.neural_net import NeuralNet


def coefficients(model: MatrixModel) -> Coefficients:
    """Return the coefficients by column and level, the largest first, numbers by their spread."""
    labels = [text(label) for label in model.classes_.tolist()]
    if len(labels) == 2:
        labels = labels[1:]
    by_term: dict[tuple[str | None, str | None], list[float]] = {}
    for coefficient in model.coefficients_:
        by_term.setdefault((coefficient.column, coefficient.level), []).append(coefficient.value)
    intercept = by_term.pop((None, None))
    # The layer's weights are those of columns divided by their standard deviation.
    weights = model.layers_[0].weights
    scaled = weights[:, 1:] - weights[:, :1] if weights.shape[1] == 2 else weights
    terms = [
        Term(
            feature.column,
            feature.level,
            tuple(by_term[feature.column, feature.level]),
            tuple(line.tolist()),
        )
        for feature, line in zip(model.features_.names, scaled, strict=True)
    ]
    terms.sort(key=lambda term: -max(map(abs, term.scaled)))
    unit = "margin" if model.scale_ != 1.0 else "log-odds"
    of_class = f"class {labels[0]!r}" if len(labels) == 1 else "each class"
    note = (
        f"A level, or one unit of a number, adds its coefficient to the {unit} of {of_class}. In "
        "the figure a number changes by one standard deviation, so that terms can be compared."
    )
    return Coefficients(tuple(labels), tuple(intercept), tuple(terms), note)


def training_curve(model: NeuralNet) -> TrainingCurve:
    """Return the loss and the error of a network by epoch."""
    sizes = [layer.weights.shape[1] for layer in model.layers_[:-1]]
    # A model from a file has the weights alone.
    epochs = tuple(
        Epoch(epoch.number, epoch.loss, None if epoch.error != epoch.error else epoch.error)
        for epoch in getattr(model, "curve_", ())
    )
    best_epoch = getattr(model, "best_epoch_", 0)
    hidden = f"{' and '.join(map(str, sizes))} hidden neurons" if sizes else "no hidden layer"
    note = f"A network of {len(model.features_.names)} inputs and {hidden}."
    if epochs:
        note += f" The weights are those of epoch {best_epoch} of {len(epochs)}."
    return TrainingCurve(epochs, best_epoch, note)
