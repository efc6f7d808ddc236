"""Linear models behind our tables: logistic regression, discriminant, perceptron, linear SVM.

Words become one column a level, numbers are scaled, gaps and unseen levels have their place, all
learned from the training rows; see `countwise.posteriors.features`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh
from scipy.optimize import minimize_scalar
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from countwise.decisions.priors import PRIOR_CONSTRAINT, Prior, prior_of
from countwise.errors import ParameterError, listing
from countwise.numeric import log_softmax
from countwise.params import (
    Constraint,
    Parameter,
    boolean,
    instance,
    mapping,
    names,
    nothing,
    number,
    one_of,
    whole,
)
from countwise.posteriors.features import Features
from countwise.posteriors.matrix_classifier import Layer, MatrixClassifier, Rows, two_sided
from countwise.tables.read import read
from countwise.tables.schema import level_text

Doubles = NDArray[np.float64]

NOMINAL = Parameter(one_of("all") | names(), "number columns that are codes")
CLASS_WEIGHT = Parameter(nothing() | one_of("balanced") | mapping(), "how much classes weigh")
SEED = Parameter(
    whole(at_least=0) | nothing() | instance(np.random.RandomState), "seed of the search"
)
_FOLDS = 5
#: Of columns scaled to unit variance.
LEAST_VARIANCE = 1e-9
#: The log of this share is still a number.
LEAST_PRIOR = 1e-300


def share() -> Constraint:
    """A share from 0 to 1."""
    part = number(at_least=0)
    return Constraint(
        "a share from 0 to 1",
        lambda value: part.admits(value) and float(value) <= 1,
        good=(0.0, 1.0),
        bad=(-0.1, 1.5, "half"),
    )


class Logistic(MatrixClassifier):
    """Fit log-odds that are linear in the columns: logistic regression, for any number of classes.

    scikit-learn's multinomial `LogisticRegression` with an L2 penalty, behind our tables.

    Parameters
    ----------
    penalty
        Strength of the L2 penalty on coefficients of scaled columns; 0 is none.
    class_weight
        ``balanced`` lets rare classes weigh as much as frequent ones; a mapping gives a factor for
        each label; None counts rows.
    max_iter
        How many steps the search may take.
    nominal
        Number columns of frames and arrays that are codes.

    Attributes
    ----------
    coefficients_
        What a unit of a column, or a level, adds to the log-odds: (label, column, level, value).

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.posteriors.linear import Logistic
    >>> model = Logistic().fit(cw.read("sample:weather"))
    >>> own = {(c.column, c.level): round(c.value, 2) for c in model.coefficients_}
    >>> own["outlook", "overcast"] > own["outlook", "sunny"]
    True
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "penalty": Parameter(number(at_least=0), "strength of the L2 penalty"),
        "class_weight": CLASS_WEIGHT,
        "max_iter": Parameter(whole(at_least=1), "steps the search may take"),
        "nominal": NOMINAL,
    }

    def __init__(
        self,
        penalty: float = 1.0,
        class_weight: Any = None,
        *,
        max_iter: int = 1000,
        nominal: Any = (),
    ) -> None:
        self.penalty = penalty
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.nominal = nominal

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        model = linear_model.LogisticRegression(
            C=1 / self.penalty if self.penalty else np.inf,
            solver="newton-cg",
            max_iter=self.max_iter,
            tol=1e-6,
        )
        weight = class_weights(self, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows.X, rows.y, sample_weight=weight)
        self.n_iter_ = int(np.max(model.n_iter_))
        return (two_sided(model.coef_, model.intercept_),), 1.0


class LinearDiscriminant(MatrixClassifier):
    """Separate classes by their means and one covariance: Fisher's linear discriminant.

    Bayes' rule for normal classes that share a covariance. From weighted moments in closed form, so
    that a weight is a repeated row, which scikit-learn's does not offer; without weights and
    shrinkage both give the same posteriors.

    Parameters
    ----------
    shrinkage
        Share of the covariance that is replaced by equal variances without correlation: 0 none,
        1 all of it. Some is needed where columns are many or repeat each other.
    prior
        ``empirical`` class shares, ``uniform``, a mapping from class to share, or an array of
        shares in class order.
    nominal
        Number columns of frames and arrays that are codes.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.posteriors.linear import LinearDiscriminant
    >>> round(LinearDiscriminant().fit(cw.read("sample:iris")).score(cw.read("sample:iris")), 2)
    0.98
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "shrinkage": Parameter(share(), "how far the covariance is evened out"),
        "prior": Parameter(PRIOR_CONSTRAINT, "class shares before any evidence"),
        "nominal": NOMINAL,
    }

    def __init__(
        self, shrinkage: float = 0.02, prior: Prior = "empirical", *, nominal: Any = ()
    ) -> None:
        self.shrinkage = shrinkage
        self.prior = prior
        self.nominal = nominal

    @property
    def _sparse(self) -> bool:
        return False

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        number = len(self.classes_)
        total = np.bincount(rows.y, weight, minlength=number).astype(np.float64)
        width = rows.X.shape[1]
        mean, scatter = np.zeros((number, width)), np.zeros((width, width))
        for place in range(number):
            own, given = rows.X[rows.y == place], weight[rows.y == place]
            mean[place] = given @ own / total[place]
            apart = (own - mean[place]) * np.sqrt(given)[:, None]
            scatter += apart.T @ apart
        covariance = scatter / total.sum()
        even = np.trace(covariance) / max(width, 1)
        covariance *= 1 - self.shrinkage
        # Classes without any spread within are apart by far, not without an answer.
        covariance[np.diag_indices(width)] += self.shrinkage * even + LEAST_VARIANCE
        weights = pinvh(covariance) @ mean.T if width else np.zeros((0, number))
        prior = prior_of(self.prior, total, self.classes_, "LinearDiscriminant")
        bias = np.log(np.maximum(prior, LEAST_PRIOR)) - 0.5 * (mean * weights.T).sum(axis=1)
        return (Layer(np.ascontiguousarray(weights), bias),), 1.0


class Perceptron(MatrixClassifier):
    """Learn a separating plane from mistakes: Rosenblatt's perceptron.

    scikit-learn's perceptron (`SGDClassifier` with that loss) behind our tables. It has no
    posteriors: margins on rows of other folds say how steep a sigmoid (for several classes a
    softmax) makes them probable. The plane stays where it is, so that the label is the
    perceptron's own.

    Parameters
    ----------
    epochs
        How often all rows are gone through at most.
    penalty
        Strength of an L2 penalty; 0 is none.
    average
        Take the mean of all planes on the way (Freund & Schapire 1999), which is steadier than the
        last one.
    class_weight
        As in `Logistic`.
    nominal
        Number columns of frames and arrays that are codes.
    random_state
        The order in which rows come.

    Examples
    --------
    Stefanowski's perceptron, Y = I(0.3 X1 + 0.3 X2 + 0.3 X3 - 0.4 > 0), says whether at least two
    of three inputs are 1; so does one that has learned from his eight rows.

    >>> import itertools
    >>> from countwise.posteriors.linear import Perceptron
    >>> rows = list(itertools.product([0, 1], repeat=3))
    >>> given = Perceptron.of({"X1": 0.3, "X2": 0.3, "X3": 0.3}, -0.4, classes=(0, 1))
    >>> inputs = {f"X{at + 1}": [row[at] for row in rows] for at in range(3)}
    >>> given.predict(inputs).tolist()
    [0, 0, 0, 1, 0, 1, 1, 1]
    >>> Perceptron().fit(rows, given.predict(inputs)).predict(rows).tolist()
    [0, 0, 0, 1, 0, 1, 1, 1]
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "epochs": Parameter(whole(at_least=1), "passes over the rows"),
        "penalty": Parameter(number(at_least=0), "strength of an L2 penalty"),
        "average": Parameter(boolean(), "take the mean of all planes on the way"),
        "class_weight": CLASS_WEIGHT,
        "nominal": NOMINAL,
        "random_state": SEED,
    }

    def __init__(
        self,
        epochs: int = 1000,
        penalty: float = 0.0,
        average: bool = True,
        class_weight: Any = None,
        *,
        nominal: Any = (),
        random_state: Any = 0,
    ) -> None:
        self.epochs = epochs
        self.penalty = penalty
        self.average = average
        self.class_weight = class_weight
        self.nominal = nominal
        self.random_state = random_state

    @classmethod
    def of(cls, weights: Mapping[str, float], bias: float, classes: tuple[Any, Any]) -> Self:
        """Make a perceptron of given weights: the second class where Σ w x + bias > 0."""
        model = cls()
        blank = {name: [0.0, 1.0] for name in weights}
        table = read(
            {**blank, "class": list(classes)},
            target="class",
            numeric=list(weights),
            identifiers="keep",
        )
        model.schema_, model.notes_ = table.schema, ()
        model.classes_ = np.asarray(classes)
        model.features_ = Features.plain(table.schema)
        model._seed = 0
        own = np.asarray([weights[name] for name in model.features_.parts], dtype=np.float64)
        model.layers_ = (two_sided(own[None, :], np.asarray([float(bias)])),)
        model.scale_ = 1.0
        return model

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        def plane(part: Rows) -> Layer:
            model = linear_model.SGDClassifier(
                loss="perceptron",
                learning_rate="constant",
                eta0=1.0,
                penalty="l2" if self.penalty else None,
                alpha=float(self.penalty) or 1e-4,
                max_iter=self.epochs,
                tol=1e-4,
                average=bool(self.average),
                random_state=self._seed,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(part.X, part.y, sample_weight=class_weights(self, part))
            self.n_iter_ = int(model.n_iter_)
            return two_sided(model.coef_, model.intercept_)

        return calibrated(plane, rows, len(self.classes_))


class LinearSVM(MatrixClassifier):
    """Separate classes by the plane with the widest margin: a linear support vector machine.

    scikit-learn's `LinearSVC` behind our tables, with posteriors from margins as in `Perceptron`.

    Parameters
    ----------
    penalty
        Strength of the L2 penalty: the larger, the wider the margin and the more rows within it.
    class_weight
        As in `Logistic`.
    nominal
        Number columns of frames and arrays that are codes.
    random_state
        The order in which rows come.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.posteriors.linear import LinearSVM
    >>> LinearSVM().fit(cw.read("sample:weather")).predict(cw.read("sample:weather"))[:2].tolist()
    ['no', 'no']
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "penalty": Parameter(number(above=0), "strength of the L2 penalty"),
        "class_weight": CLASS_WEIGHT,
        "nominal": NOMINAL,
        "random_state": SEED,
    }

    def __init__(
        self,
        penalty: float = 1.0,
        class_weight: Any = None,
        *,
        nominal: Any = (),
        random_state: Any = 0,
    ) -> None:
        self.penalty = penalty
        self.class_weight = class_weight
        self.nominal = nominal
        self.random_state = random_state

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        def plane(part: Rows) -> Layer:
            model = LinearSVC(
                C=1 / self.penalty, dual="auto", max_iter=10_000, random_state=self._seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(part.X, part.y, sample_weight=class_weights(self, part))
            return two_sided(model.coef_, model.intercept_)

        return calibrated(plane, rows, len(self.classes_))


def class_weights(model: Any, rows: Rows) -> Doubles | None:
    """Return the weights of rows times those of their classes; None if all are one."""
    given = model.class_weight
    if given is None:
        return rows.weight
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    number = len(model.classes_)
    if given == "balanced":
        total = np.bincount(rows.y, weight, minlength=number)
        factor = np.divide(total.sum(), number * total, out=np.zeros(number), where=total > 0)
        return np.asarray(weight * factor[rows.y])
    by_text = {level_text(label): value for label, value in given.items()}
    lost = [label for label in model.classes_.tolist() if level_text(label) not in by_text]
    if lost:
        raise ParameterError(
            f"{type(model).__name__}: class_weight must give a factor for every class, but "
            f"{listing(lost)} got none. Add it."
        )
    factor = np.asarray([float(by_text[level_text(label)]) for label in model.classes_.tolist()])
    return np.asarray(weight * factor[rows.y])


def calibrated(
    plane: Callable[[Rows], Layer], rows: Rows, classes: int
) -> tuple[tuple[Layer, ...], float]:
    """Return a plane and how steep its margins become posteriors, learned on other folds' rows.

    One factor for all classes, which changes no label (Platt 2000; Guo et al. 2017). A row's fold
    follows from its content, not from where it stands.
    """
    fold = (rows.keys % np.uint64(_FOLDS)).astype(np.intp)
    margins, truth, weight = [], [], []
    for part in range(_FOLDS):
        out = np.flatnonzero(fold == part)
        rest = np.flatnonzero(fold != part)
        if not len(out) or len(np.unique(rows.y[rest])) < classes:
            continue
        layer = plane(_some(rows, rest))
        margins.append(np.asarray(rows.X[out] @ layer.weights) + layer.bias)
        truth.append(rows.y[out])
        weight.append(np.ones(len(out)) if rows.weight is None else rows.weight[out])
    final = plane(rows)
    if not margins:
        margins = [np.asarray(rows.X @ final.weights) + final.bias]
        truth, weight = [rows.y], [np.ones(len(rows.y)) if rows.weight is None else rows.weight]
    return (final,), steepness(
        np.concatenate(margins), np.concatenate(truth), np.concatenate(weight)
    )


def steepness(margins: Doubles, truth: NDArray[np.intp], weight: Doubles) -> float:
    """Return the factor on margins under which the classes are most probable.

    As Platt does, every class is given one row more than it has, so that rows without a mistake
    still leave a finite factor.
    """
    number = margins.shape[1]
    total = np.bincount(truth, weight, minlength=number)
    wanted = np.full((len(truth), number), 1.0) / (total + number)[truth][:, None]
    wanted[np.arange(len(truth)), truth] = ((total + 1) / (total + number))[truth]
    spread = float(np.abs(margins - margins.mean(axis=1, keepdims=True)).mean())
    unit = 1 / spread if spread > 0 else 1.0

    def loss(log_factor: float) -> float:
        logs = log_softmax(np.exp(log_factor) * unit * margins)
        return float(-(weight[:, None] * wanted * logs).sum())

    found = minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded")
    return float(np.exp(found.x) * unit)


def _some(rows: Rows, index: NDArray[np.intp]) -> Rows:
    weight = None if rows.weight is None else rows.weight[index]
    return Rows(rows.X[index], rows.y[index], weight, rows.keys[index])
