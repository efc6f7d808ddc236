"""The base of classifiers that read rows as a matrix: features, layers, posteriors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.row_hash import content_folds, row_keys, scattered
from countwise.errors import ParameterError, listing
from countwise.models.base import Classifier
from countwise.models.explanation import Coefficient, Explanation
from countwise.models.linear.encoder import FARTHEST, Features
from countwise.models.views import Coefficients, Term
from countwise.numeric import FARTHEST_BEHIND, draw_seed, limit_behind, log_softmax
from countwise.params import derived, fitted, mapping, nothing, one_of, parameter
from countwise.tables.labels import text
from countwise.tables.schema import level_text
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

if TYPE_CHECKING:
    from countwise.models.views import View


#: Scores of models in files are smaller: differences of them are still numbers.
_LARGEST_SCORE = 1e150
#: Cells of the matrix that are held at a time.
_CELLS = 1 << 22


class Layer(NamedTuple):
    """Weights (inputs × outputs), and the bias of each output."""

    weights: FloatArray
    bias: FloatArray

    def check(self) -> None:
        """Refuse weights that are not finite, or a bias for other outputs."""
        if self.weights.ndim != 2 or self.bias.shape != self.weights.shape[1:]:
            raise ValueError("a layer must have a bias for each of its outputs")
        if not (np.isfinite(self.weights).all() and np.isfinite(self.bias).all()):
            raise ValueError("the weights of a layer must be finite")


class Rows(NamedTuple):
    """Training rows as a matrix, ordered by their content, with classes numbered from 0."""

    X: Any
    y: NDArray[np.intp]
    weight: FloatArray | None
    keys: NDArray[np.uint64]

    @property
    def weights(self) -> FloatArray:
        """The weights of the rows; ones where none were given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def take(self, index: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.X[index], self.y[index], weight, self.keys[index])


class MatrixModel(Classifier):
    """A classifier of rows as points; a model fills in `_solve`, which returns its layers."""

    features_: Features = fitted("how rows become numbers")
    layers_: tuple[Layer, ...] = fitted("weights and biases, from the columns to the classes")
    scale_: float = fitted("the slope that turns scores into probabilities")
    _seed: int = derived()

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from rows and their classes."""
        rows = self._prepare(X, y, sample_weight)
        if len(self.classes_) == 1:
            self.layers_ = (Layer(np.zeros((len(self.features_.names), 1)), np.zeros(1)),)
            self.scale_ = 1.0
            if "n_iter_" in self.FITTED:
                self.n_iter_ = 0
            return self
        layers, scale = self._solve(rows)
        if not all(np.isfinite(part).all() for layer in layers for part in layer):
            raise ParameterError(
                f"{type(self).__name__}: the coefficients must be finite; the fit diverged",
                hint="take a penalty nearer to 1, and weights that are neither huge nor tiny",
            )
        self.layers_, self.scale_ = layers, scale
        return self

    def after_load(self) -> None:
        """Make again what is not saved; refuse fields that do not fit each other."""
        self._check_classes()
        sizes = [layer.weights.shape for layer in self.layers_]
        expected = [len(self.features_.names), *(outputs for _, outputs in sizes)]
        if not sizes or [inputs for inputs, _ in sizes] != expected[:-1]:
            raise ParameterError(f"{type(self).__name__}: its layers must fit each other.")
        if expected[-1] != len(self.classes_) or self.features_.schema != self.schema_:
            raise ParameterError(f"{type(self).__name__}: its layers must fit its classes.")
        if not 0 < self.scale_ < 1e300:
            raise ParameterError(f"{type(self).__name__}: its scale must be a positive number.")
        if not self.scale_ * self._farthest_score() < _LARGEST_SCORE:
            raise ParameterError(f"{type(self).__name__}: its scores must be finite for all rows.")

    def _farthest_score(self) -> float:
        """Return a number that no score of any row exceeds, in either direction."""
        reach = FARTHEST
        for layer in self.layers_:
            reach = float((np.abs(layer.weights).sum(axis=0) * reach + np.abs(layer.bias)).max())
        return reach

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        return {"classes": self.classes_.tolist(), "features": len(self.features_.names)}

    def _solve(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        """Return the layers from features to one score a class, and the slope of the scores."""
        raise NotImplementedError

    def _prepare(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Rows:
        """Read the rows, learn their features, and put them in the order of their content."""
        table, weight, *_ = self._training(X, y, sample_weight)
        codes = np.searchsorted(self._take_classes(table), table.target)
        keys = row_keys(table, target=True)
        order = np.argsort(keys, kind="stable")
        if weight is not None and (repeats := whole_repeats(weight)) is not None:
            # Some of these models go through the rows one by one.
            order, weight = np.repeat(order, repeats[order]), None
        rows = table.take(order)
        weight = None if weight is None else weight[order]
        self.features_ = Features.learn(rows, weight)
        self.notes_ = (*self.notes_, *self.features_.notes)
        self._seed = draw_seed(self.get_params(deep=False).get("random_state", 0))
        return Rows(self._matrix(rows), codes[order], weight, scattered(keys[order]))

    def _matrix(self, table: Table) -> Any:
        return self.features_.matrix(table, self._sparse and self.features_.sparse_pays)

    @property
    def _sparse(self) -> bool:
        """Whether the model takes sparse matrices."""
        return True

    def _scores(self, table: Table) -> FloatArray:
        scores = np.empty((len(table), len(self.classes_)))
        step = max(1, _CELLS // max(len(self.features_.names), 1))
        for start in range(0, len(table), step):
            part = slice(start, start + step)
            scores[part] = self.scale_ * self._outputs(self._matrix(table.take(part)))
        return self._limit(scores)

    def _limit(self, scores: FloatArray) -> FloatArray:
        """Return scores of which none is farther behind than calibration takes one to be."""
        if self.scale_ == 1.0:
            return scores
        return np.asarray(np.maximum(scores, scores.max(axis=1, keepdims=True) - FARTHEST_BEHIND))

    def _outputs(self, X: Any) -> FloatArray:
        """Return one score a class, from the last layer."""
        held = X
        for place, layer in enumerate(self.layers_):
            held = np.asarray(held @ layer.weights) + layer.bias
            if place < len(self.layers_) - 1:
                held = activate(held, self.activation)
        return np.asarray(held)

    @property
    def coefficients_(self) -> tuple[Coefficient, ...]:
        """Every coefficient by class, column and level; of two classes those of the second."""
        check_is_fitted(self, "layers_")
        return tuple(self._coefficients())

    def _coefficients(self) -> Iterator[Coefficient]:
        if len(self.layers_) != 1:
            raise ParameterError(
                f"{type(self).__name__}: only a model of one layer has coefficients; got "
                f"{len(self.layers_)} layers",
                hint="use `hidden_layer_sizes=()`",
            )
        weights, bias = self.layers_[0]
        labels = self.classes_.tolist()
        if len(labels) == 2:
            weights, bias = weights[:, 1:] - weights[:, :1], bias[1:] - bias[:1]
            labels = labels[1:]
        pairs = [self.features_.unscale(place, line) for place, line in enumerate(weights)]
        base = bias + sum((added for _, added in pairs), np.zeros_like(bias))
        for place, label in enumerate(labels):
            yield Coefficient(label, None, None, float(base[place]))
            for (slope, _), feature in zip(pairs, self.features_.names, strict=True):
                yield Coefficient(label, feature.column, feature.level, float(slope[place]))

    def explain(self, X: Any) -> Explanation:
        """Return what each column adds to the log posterior of each class; the parts sum to it."""
        if len(self.layers_) != 1:
            return super().explain(X)
        table, layer = self._rows(X), self.layers_[0]
        X = self.features_.matrix(table)
        columns = list(self.features_.parts)
        parts = np.zeros((len(table), len(columns), len(self.classes_)))
        for at, feature in enumerate(self.features_.names):
            parts[:, columns.index(feature.column)] += X[:, at : at + 1] * layer.weights[at]
        parts *= self.scale_
        base = self.scale_ * layer.bias
        joint, values = base + parts.sum(axis=1), table.cell_texts(columns)
        lifted = self._limit(joint) - joint
        if lifted.any():
            columns, joint = [*columns, "calibration"], joint + lifted
            parts = np.concatenate([parts, lifted[:, None]], axis=1)
            values = tuple((*cells, "farthest classes") for cells in values)
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=tuple(columns),
            values=values,
            base=base,
            parts=parts,
            joint=joint,
        )

    def views(self) -> Sequence[View]:
        """Return the coefficients of a model of one layer."""
        check_is_fitted(self, "layers_")
        return (coefficients(self),) if len(self.layers_) == 1 else ()


def activate(held: FloatArray, how: str) -> FloatArray:
    """Return the outputs of neurons for the sums they hold."""
    if how == "tanh":
        return np.tanh(held)
    if how == "logistic":
        return 1 / (1 + np.exp(-np.clip(held, -700, 700)))
    return np.maximum(held, 0.0)


def to_layer(coefficients: FloatArray, intercept: FloatArray) -> Layer:
    """Return scikit-learn's coefficients (classes × features) as a layer with a column a class."""
    weights, bias = np.asarray(coefficients).T, np.asarray(intercept)
    if weights.shape[1] == 1:
        weights = np.concatenate([np.zeros_like(weights), weights], axis=1)
        bias = np.concatenate([[0.0], bias])
    return Layer(np.ascontiguousarray(weights, dtype=np.float64), bias.astype(np.float64))


def fit_plane(model: Any, rows: Rows, weight: FloatArray | None) -> Layer:
    """Fit a linear model of scikit-learn; one that needs more steps is taken as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows.X, rows.y, sample_weight=weight)
    return to_layer(model.coef_, model.intercept_)


def class_weight_parameter() -> Any:
    """Declare the parameter `class_weight`."""
    return parameter(
        nothing() | one_of("balanced") | mapping(),
        "weights of the classes: 'balanced' gives all classes the same total weight, a mapping "
        "gives a factor for each class, None leaves the rows as they are",
        default=None,
    )


def class_weights(model: Any, rows: Rows) -> FloatArray | None:
    """Return the weights of rows times those of their classes; None if all are one."""
    given = model.class_weight
    if given is None:
        return rows.weight
    weight, number = rows.weights, len(model.classes_)
    if given == "balanced":
        total = np.bincount(rows.y, weight, minlength=number)
        factor = np.divide(total.sum(), number * total, out=np.zeros(number), where=total > 0)
        return np.asarray(weight * factor[rows.y])
    by_text = {level_text(label): value for label, value in given.items()}
    without = [label for label in model.classes_.tolist() if level_text(label) not in by_text]
    if without:
        raise ParameterError(
            f"{type(model).__name__}: class_weight must give a factor for every class; got none "
            f"for {listing(without)}",
            hint="add it to the mapping",
        )
    factor = np.asarray([float(by_text[level_text(label)]) for label in model.classes_.tolist()])
    return np.asarray(weight * factor[rows.y])


def calibrate(
    plane: Callable[[Rows], Layer], rows: Rows, classes: int
) -> tuple[tuple[Layer, ...], float]:
    """Return a plane, and the slope that turns its cross-validated margins into posteriors.

    `plane` returns a layer with a margin for each class that its rows have.
    """
    # One slope for all classes changes no label (Platt 2000; Guo et al. 2017). The fold of a row
    # follows from its content, not its place.
    margins, tested, weights = [], [], []
    for part in content_folds(rows.keys, rows.weight):
        present = np.unique(rows.y[part.rest])
        # Rows of a class that is held out alone judge nothing; to all others it is the last one.
        some = np.isin(rows.y[part.out], present)
        if not some.any() or len(present) < 2:
            continue
        out = part.out[some]
        layer = plane(rows.take(part.rest)._replace(weight=part.rest_weight))
        known = np.asarray(rows.X[out] @ layer.weights) + layer.bias
        found = np.repeat(known.min(axis=1, keepdims=True), classes, axis=1)
        found[:, present] = known
        margins.append(found)
        tested.append(rows.y[out])
        weights.append(np.ones(len(out)) if part.out_weight is None else part.out_weight[some])
    final = plane(rows)
    if not margins:
        margins, tested = [np.asarray(rows.X @ final.weights) + final.bias], [rows.y]
        weights = [rows.weights]
    judged = map(np.concatenate, (margins, tested, weights))
    return (final,), fit_slope(*judged)


def fit_slope(margins: FloatArray, truth: NDArray[np.intp], weight: FloatArray) -> float:
    """Return the factor on margins under which the classes are most probable."""
    # As in Platt, a class counts one row more than it has, which falls to the rival that is nearest
    # by its margin: the factor stays finite.
    rows = np.arange(len(truth))
    rivals = margins.copy()
    rivals[rows, truth] = -np.inf
    rival = rivals.argmax(axis=1)
    missed = 1.0 / (np.bincount(truth, weight) + 2)[truth]
    spread = float(np.abs(margins - margins.mean(axis=1, keepdims=True)).mean())
    unit = 1 / spread if spread > 0 else 1.0

    def loss(log_factor: float) -> float:
        logs = log_softmax(limit_behind(np.exp(log_factor) * unit * margins))
        return -float(weight @ ((1 - missed) * logs[rows, truth] + missed * logs[rows, rival]))

    from scipy.optimize import minimize_scalar  # slow to import, and only training needs it

    found = minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded")
    return float(np.exp(found.x) * unit)


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
