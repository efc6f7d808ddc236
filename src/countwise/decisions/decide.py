"""Combine a decision rule with any classifier, ours or another library's.

Models decide by argmax; every other rule is this wrapper around them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.decisions.class_prior import (
    Prior,
    class_shares,
    corrected,
    ratio_of,
    refuse_product_of_posteriors,
    training_shares,
)
from countwise.decisions.confusion import Confusion
from countwise.decisions.expected_gain import expected_accuracy, expected_gain, promised_gain
from countwise.decisions.gain_matrix import Gains
from countwise.decisions.rules import WORDS, Argmax, ExpectedGain, RouletteWheel, Rule, rule_of
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.tables.estimator import answers_frames
from countwise.tables.labels import Labels
from countwise.tables.weights import weights_or_ones

Reals: TypeAlias = NDArray[np.float64]


def _gives_posteriors(decide: Decide) -> bool:
    return hasattr(getattr(decide, "model_", decide.model), "predict_proba")


class Decide(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Let a classifier decide by another rule: by gain, by the wheel, under another prior.

    Parameters
    ----------
    model
        A classifier with ``predict_proba``: one of ours or any that keeps to scikit-learn's rules.
        `fit` fits a copy of it. Its probabilities are used as it gives them: of our models by
        default smoothed or calibrated.
    rule
        What makes decisions of posteriors: ``'argmax'`` (the same as `Argmax`), ``'roulette'``,
        a rule such as ``RouletteWheel(random_state=0)``, or a gain matrix in any form
        `GainMatrix.of` reads, to earn the most by (`ExpectedGain`).
    prior
        Class shares where the model is put to use, if they differ from those it was trained on:
        ``'uniform'``, a mapping from class to share, or shares in class order. Each posterior is
        multiplied by prior / training share and divided by the sum. The training shares are the
        prior the model says it used or, if it does not say, the weighted shares of `y`.

    Attributes
    ----------
    model_
        The fitted model.
    classes_
        The classes, in the order of the columns of `predict_proba`.
    rule_
        The rule, its gain matrix in the order of the classes.
    decisions_
        What `predict` may answer: the classes, then the decision not to decide if there is one.
    notes_
        Sentences worth showing: how a bare array of gains was read, what the prior did.
    n_features_in_
        The model's, where it has it.
    feature_names_in_
        The model's, where it has it.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from countwise.decisions.decide import Decide
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["bad", "bad", "good", "good"]
    >>> gains = {"bad": {"bad": 1, "good": -5}, "good": {"bad": -1, "good": 1}}
    >>> Decide(GaussianNB(), rule=gains).fit(X, y).predict([[0.5], [1.6], [2.5]])
    array(['bad', 'bad', 'good'], dtype='<U4')
    """

    FITTED: ClassVar[tuple[str, ...]] = ("model_", "rule_", "correction_", "notes_")

    model_: Any
    rule_: Argmax | RouletteWheel | ExpectedGain
    correction_: FloatArray | None
    notes_: list[str]

    def __init__(
        self, model: Any, rule: Rule | Gains = "argmax", prior: Prior | None = None
    ) -> None:
        self.model = model
        self.rule = rule
        self.prior = prior

    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Fit a copy of the model, to which all arguments go, and make the rule ready."""
        rule_of(self.rule)
        _check_model(self.model, self.prior)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.model_ = clone(self.model).fit(X, y, **weight, **fit_params)
        shares = None if self.prior is None else _labels(X, y)[0]
        return self._ready(shares, sample_weight)

    @classmethod
    def over(
        cls,
        model: Any,
        rule: Rule | Gains = "argmax",
        prior: Prior | None = None,
        training_prior: Prior | None = None,
    ) -> Decide:
        """Put a rule over a model that is fitted already, such as a saved one; nothing is refitted.

        Parameters
        ----------
        model
            A fitted classifier with ``predict_proba``; it is used itself, not copied.
        rule
            As in `Decide`.
        prior
            As in `Decide`.
        training_prior
            The class shares the model was trained on, needed with `prior` where the model does
            not tell them (as ``class_prior_``, ``priors_`` or ``class_log_prior_``).

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> saved = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> Decide.over(saved, prior={0: 0.9, 1: 0.1}).predict([[1.6]])
        array([0])
        """
        decide = cls(model, rule, prior)
        _check_model(model, prior)
        decide.model_ = model
        return decide._ready(None, None, training_prior)

    def _ready(self, labels: Any, sample_weight: Any, training_prior: Prior | None = None) -> Self:
        """Learn classes, decisions and the prior's correction from the fitted model."""
        self._take_classes(rule_of(self.rule))
        self.notes_ = list(self.rule_.notes)
        self.correction_ = None
        prior = class_shares(self.prior, self.classes_, "Decide")
        if prior is not None:
            training = class_shares(training_prior, self.classes_, "Decide")
            if training is None:
                training = training_shares(self.model_, self.classes_, labels, sample_weight)
            self.correction_, note = ratio_of(prior, training, self.classes_)
            self.notes_.append(note)
        return self

    def _take_classes(self, rule: Rule) -> None:
        """Know the classes of the fitted model, and make the rule ready for them."""
        classes = getattr(self.model_, "classes_", None)
        if classes is None or isinstance(classes, list):
            found = "no classes_" if classes is None else f"{len(classes)} targets"
            raise ParameterError(
                "Decide: the model must be fitted on one column of classes; got "
                f"{type(self.model_).__name__} with {found}. Fit it first, with one target."
            )
        self.classes_ = np.asarray(classes)
        self.rule_ = rule.bind(self.classes_)  # type: ignore[assignment]
        self.decisions_ = self.rule_.decisions(self.classes_)

    def check_parameters(self) -> None:
        """Refuse a rule from a file that is none: a text there is a word, never a path to read."""
        if not ((isinstance(self.rule, str) and self.rule in WORDS) or isinstance(self.rule, Rule)):
            raise ParameterError("Decide", "rule", "a decision rule", self.rule)

    def parameters_to_save(self) -> dict[str, Any]:
        """Return the parameters as a file holds them: gains as they were read at `fit`."""
        named = isinstance(self.rule, str) and self.rule in WORDS
        learned = vars(self)  # nothing, if it is a parameter of another model
        return {
            "model": None if self.model is learned.get("model_", self) else self.model,
            "rule": self.rule
            if named or isinstance(self.rule, Rule)
            else learned.get("rule_", self.rule),
            "prior": self.prior,
        }

    def after_load(self) -> None:
        """Learn again from the fitted model all but the correction, and refuse another."""
        if self.model is None:
            self.model = self.model_
        correction, notes = self.correction_, self.notes_
        _check_model(self.model_)
        self._take_classes(self.rule_)
        self.correction_, self.notes_ = correction, notes
        prior = class_shares(self.prior, self.classes_, "Decide")
        if (prior is None) != (correction is None):
            raise ParameterError("Decide: a prior must come with a correction, and only then.")
        if correction is not None and not (
            correction.shape == self.classes_.shape
            and np.all((correction >= 0) & np.isfinite(correction))
            and correction.sum() > 0
        ):
            raise ParameterError("Decide: the correction must be a factor of at least 0 a class.")

    @available_if(_gives_posteriors)  # type: ignore[untyped-decorator]
    @answers_frames
    def predict_proba(self, X: Any) -> Reals:
        """Return the model's posteriors, corrected for the prior if one was given."""
        check_is_fitted(self, "model_")
        posteriors = np.asarray(self.model_.predict_proba(X))
        if self.correction_ is None:
            return posteriors
        return corrected(posteriors, self.correction_)

    def shares(self, X: Any) -> Reals:
        """Return the rule's shares of decisions for each row, exact, nothing drawn."""
        check_is_fitted(self, "model_")
        return self.rule_.shares(self.predict_proba(X))

    @answers_frames
    def predict(self, X: Any) -> Labels:
        """Return one decision per row, out of `decisions_`."""
        check_is_fitted(self, "model_")
        chosen: Labels = self.decisions_[self.rule_.choose(self.predict_proba(X))]
        return chosen

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of `predict`; an undecided row is not right."""
        true = _truth(X, y)
        check_is_fitted(self, "model_")
        if len(self.decisions_) == len(self.classes_):
            return float(super().score(X, true, sample_weight))
        # scikit-learn's accuracy would refuse labels of two types, such as 0, 1 and 'ask'
        decided, true = self.predict(X), np.asarray(true).ravel()
        check_consistent_length(decided, true)
        weight = weights_or_ones(sample_weight, len(true), "Decide")
        return float(np.average(decided == true, weights=weight))

    def expected_accuracy(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy the rule has on average over its draws: the mean of f_i[y_i]."""
        posteriors = self.predict_proba(X)
        return expected_accuracy(self.rule_, posteriors, _truth(X, y), self.classes_, sample_weight)

    def expected_gain(
        self,
        X: Any,
        y: Any = None,
        gain: Gains | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return what the rule earns per row on average (eq. 7), by its own matrix or another."""
        posteriors = self.predict_proba(X)
        return expected_gain(
            self.rule_, posteriors, _truth(X, y), gain, self.classes_, sample_weight
        )

    def promised_gain(
        self, X: Any, gain: Gains | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return what the rule would earn per row if the posteriors were true (eq. 2)."""
        posteriors = self.predict_proba(X)
        return promised_gain(self.rule_, posteriors, gain, self.classes_, sample_weight)

    def confusion(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        prior: Prior | None = None,
    ) -> Confusion:
        """Return the joint probabilities of true class and decision (eq. 6), nothing drawn."""
        return Confusion.of(
            _truth(X, y), self.shares(X), self.classes_, sample_weight, prior, self.decisions_
        )

    @property
    def n_features_in_(self) -> int:
        """The number of columns the model was fitted on."""
        return int(self._of_model("n_features_in_"))

    @property
    def feature_names_in_(self) -> Labels:
        """The names of the columns the model was fitted on."""
        names: Labels = self._of_model("feature_names_in_")
        return names

    def _of_model(self, name: str) -> Any:
        if "model_" not in vars(self):
            raise AttributeError(f"Decide has no {name} before fit.")
        return getattr(self.model_, name)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of the rule as ``rule__name``."""
        params: dict[str, Any] = super().get_params(deep)
        rule: Any = self.rule
        if deep and isinstance(rule, Rule):
            for name in getattr(rule, "__dataclass_fields__", ()):
                params[f"rule__{name}"] = getattr(rule, name)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``rule__name`` gives a copy of the rule with that one changed."""
        within = {key: params.pop(key) for key in list(params) if key.startswith("rule__")}
        super().set_params(**params)
        for key, value in within.items():
            name = key.removeprefix("rule__")
            if key not in self.get_params():
                raise ParameterError(
                    f"Decide: rule__name must name a parameter of the rule, which is "
                    f"{self.rule!r}; got {name!r}.",
                    hint=("set `rule=` to another rule", "one of its parameters"),
                )
            rule: Any = self.rule
            self.rule = dataclasses.replace(rule, **{name: value})
        return self

    def __sklearn_tags__(self) -> Tags:
        """Take over what the model says about its input."""
        tags = super().__sklearn_tags__()
        if hasattr(self.model, "__sklearn_tags__"):
            inner = get_tags(self.model)
            tags.input_tags = inner.input_tags
            if inner.classifier_tags is not None:
                tags.classifier_tags = inner.classifier_tags
        return tags


def _check_model(model: Any, prior: Prior | None = None) -> None:
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"Decide: the model must have predict_proba; got {type(model).__name__}.",
            hint=("choose one that gives posteriors", "wrap it in CalibratedClassifierCV"),
        )
    if prior is not None and not (isinstance(prior, str) and prior == "empirical"):
        refuse_product_of_posteriors(model)


def _labels(X: Any, y: Any) -> tuple[Any, list[str]]:
    """Return the true labels (a `y` that names no column as it is) and the names in `X`."""
    if y is None and getattr(X, "labelled", False):
        return X.labels, []
    if not isinstance(y, str):
        return y, []
    if getattr(X, "labelled", False) and hasattr(X, "target_column"):
        target = X.target_column.name
        return (X.labels if y == target else y), [target]
    if isinstance(X, Mapping):
        return X.get(y, y), [str(name) for name in X]
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return y, []
    return (frame.get_column(y).to_numpy() if y in frame.columns else y), list(frame.columns)


def _truth(X: Any, y: Any) -> Any:
    labels, names = _labels(X, y)
    if isinstance(labels, str):
        columns = f"the columns are {listing(names)}" if names else "X has no named columns"
        raise ParameterError(
            f"Decide: y must be labels or the name of a column that holds them; got {y!r}, and "
            f"{columns}.",
            hint=did_you_mean(y, names).strip() or "Give the labels",
        )
    if labels is None:
        raise ParameterError(
            "Decide: decisions are judged by the true labels; got none.",
            hint=("give y", "a table with a class column"),
        )
    return labels
