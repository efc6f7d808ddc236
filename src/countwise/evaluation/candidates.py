"""The models to compare: their names, their decision rules, and the majority baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import is_classifier

from countwise.decisions.class_prior import Prior
from countwise.decisions.decide import Decide
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, ExpectedGain, RouletteWheel, Rule, rule_of
from countwise.errors import ParameterError
from countwise.models.registry import can_be_kept
from countwise.tables.schema import Schema

#: The name of the baseline: the class shares of the training rows, whatever the row.
MAJORITY = "majority"


class Majority:
    """Stands for the baseline, which predicts the class shares of its training rows."""

    def __repr__(self) -> str:
        return "Majority()"


@dataclass(frozen=True)
class Learner:
    """A model to be trained; several candidates may decide on its posteriors."""

    name: str
    model: Any
    schema: Schema | None = None

    @property
    def counted(self) -> bool:
        """Whether it learns from counts alone on tables of this schema."""
        ask = getattr(self.model, "counts_needed", None)
        return ask is not None and self.schema is not None and ask(self.schema) is not None

    @property
    def cut(self) -> bool:
        """Whether it learns from counts alone once the numbers of this schema are cut."""
        numeric = self.schema is not None and bool(self.schema.numeric)
        return numeric and bool(getattr(self.model, "cuts_suffice", False))

    @property
    def baseline(self) -> bool:
        """Whether it is the majority."""
        return isinstance(self.model, Majority)


@dataclass(frozen=True)
class Candidate:
    """A model under a rule: a line of the ranking. Without a rule its `predict` decides.

    A yardstick cannot be kept, while other models can: it is shown below the ranking.
    """

    name: str
    learner: str
    model: Any
    rule: Rule | None = None
    prior: Prior | None = None
    baseline: bool = False
    yardstick: bool = False

    @property
    def rule_name(self) -> str:
        """The rule in a word."""
        if self.rule is None or isinstance(self.rule, Argmax):
            return "argmax"
        if isinstance(self.rule, RouletteWheel):
            return "roulette"
        if isinstance(self.rule, ExpectedGain):
            return getattr(self.rule.gain, "word", "gain")
        return type(self.rule).__name__


def read_candidates(who: str, models: Any, gain: GainMatrix | None) -> list[Candidate]:
    """Name the models, unwrap `Decide`, add the majority and, with a gain, deciding by it."""
    named = _name_models(who, models)
    first: dict[int, str] = {}  # candidates over the very same estimator share its posteriors
    candidates = []
    for name, model in named.items():
        candidate = _unwrap(name, model)
        learner = first.setdefault(id(candidate.model), name)
        candidates.append(replace(candidate, learner=learner))
    kept = [can_be_kept(candidate.model) for candidate in candidates]
    if any(kept):
        candidates = [
            replace(candidate, yardstick=not keep)
            for candidate, keep in zip(candidates, kept, strict=True)
        ]
    if MAJORITY not in named:
        candidates.append(Candidate(MAJORITY, MAJORITY, Majority(), baseline=True))
    if gain is None:
        return candidates
    by_gain = ExpectedGain(gain)
    every: list[Candidate] = []
    for candidate in candidates:
        every.append(candidate)
        posteriors = candidate.baseline or hasattr(candidate.model, "predict_proba")
        if candidate.rule_name == "argmax" and posteriors:
            every.append(replace(candidate, name=f"{candidate.name} by {gain.word}", rule=by_gain))
    return every


def list_learners(candidates: Sequence[Candidate], schema: Schema | None = None) -> list[Learner]:
    """Return the models to train: each once, however many candidates decide on its posteriors."""
    models = {candidate.learner: candidate.model for candidate in candidates}
    return [Learner(name, model, schema) for name, model in models.items()]


def _unwrap(name: str, model: Any) -> Candidate:
    if not isinstance(model, Decide):
        return Candidate(name, name, model)
    return Candidate(name, name, model.model, rule_of(model.rule), model.prior)


def _name_models(who: str, models: Any) -> dict[str, Any]:
    if isinstance(models, Mapping):
        named = dict(models)
        for name in named:
            if not isinstance(name, str):
                raise ParameterError(f"{who}: models must be named by texts; got {name!r}.")
    else:
        named = {}
        for model in models if isinstance(models, list | tuple) else [models]:
            base = name = _name_model(model)
            number = 2
            while name in named:
                name, number = f"{base} {number}", number + 1
            named[name] = model
    if not named:
        raise ParameterError(f"{who}: there must be at least one model; got none.")
    for name, model in named.items():
        _check_model(who, name, model)
    return named


def _name_model(model: Any) -> str:
    if isinstance(model, Decide):
        return f"{_name_model(model.model)} by {_unwrap('', model).rule_name}"
    return type(model).__name__


def _check_model(who: str, name: str, model: Any) -> None:
    if isinstance(model, type):
        raise ParameterError(
            f"{who}: models must be estimators; {name!r} is the class {model.__name__}.",
            hint=f"Write {model.__name__}().",
        )
    if not hasattr(model, "fit") or not (hasattr(model, "predict") and is_classifier(model)):
        raise ParameterError(
            f"{who}: models must be classifiers with fit and predict; {name!r} is {model!r}.",
            hint="Give one of ours, or one that keeps to scikit-learn's rules.",
        )
    if isinstance(model, Decide):
        _check_model(who, name, model.model)
        if not hasattr(model.model, "predict_proba"):
            raise ParameterError(
                f"{who}: Decide needs posteriors; {model.model!r} of {name!r} has no "
                "predict_proba.",
                hint="Choose another model, or wrap it in CalibratedClassifierCV.",
            )
