"""The models that enter an evaluation: their names, their rules, and the majority to be beaten."""

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
from countwise.models.base import Classifier
from countwise.models.bayes.joint import JointClassifier
from countwise.tables.schema import Schema

#: The name of the baseline: the class shares of the training rows, whatever the row.
MAJORITY = "majority"


class Majority:
    """Stands for the baseline that always answers with the class shares of its training rows."""

    def __repr__(self) -> str:
        return "Majority()"


@dataclass(frozen=True)
class Learner:
    """A model to be trained; several entrants may decide on what it says."""

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
        return (
            isinstance(self.model, JointClassifier)
            and self.schema is not None
            and bool(self.schema.numeric)
            and self.model.cuts_suffice
        )

    @property
    def ours(self) -> bool:
        """Whether it takes tables as they are."""
        return isinstance(self.model, Classifier)

    @property
    def baseline(self) -> bool:
        """Whether it is the majority."""
        return isinstance(self.model, Majority)


@dataclass(frozen=True)
class Candidate:
    """A model under a rule: a line of the ranking. Without a rule it decides as it likes."""

    name: str
    learner: str
    model: Any
    rule: Rule | None = None
    prior: Prior | None = None
    baseline: bool = False

    @property
    def words(self) -> str:
        """The rule in a word."""
        if self.rule is None or isinstance(self.rule, Argmax):
            return "argmax"
        if isinstance(self.rule, RouletteWheel):
            return "roulette"
        return "gain" if isinstance(self.rule, ExpectedGain) else type(self.rule).__name__


def entrants_of(who: str, models: Any, gain: GainMatrix | None) -> list[Candidate]:
    """Name the models, look into `Decide`, add the majority and, with a gain, deciding by it."""
    named = _named(who, models)
    entrants = _share([_entrant(name, model) for name, model in named.items()])
    if MAJORITY not in named:
        entrants.append(Candidate(MAJORITY, MAJORITY, Majority(), baseline=True))
    if gain is None:
        return entrants
    by_gain = ExpectedGain(gain)
    every: list[Candidate] = []
    for entrant in entrants:
        every.append(entrant)
        posteriors = entrant.baseline or hasattr(entrant.model, "predict_proba")
        if entrant.words == "argmax" and posteriors:
            every.append(replace(entrant, name=f"{entrant.name} by gain", rule=by_gain))
    return every


def learners_of(entrants: Sequence[Candidate], schema: Schema | None = None) -> list[Learner]:
    """The models to train: each once, however many entrants decide on its posteriors."""
    found: dict[str, Learner] = {}
    for entrant in entrants:
        found.setdefault(entrant.learner, Learner(entrant.learner, entrant.model, schema))
    return list(found.values())


def _share(entrants: list[Candidate]) -> list[Candidate]:
    """Let entrants over the very same estimator share what it says."""
    first: dict[int, str] = {}
    return [
        replace(entrant, learner=first.setdefault(id(entrant.model), entrant.learner))
        for entrant in entrants
    ]


def _entrant(name: str, model: Any) -> Candidate:
    if not isinstance(model, Decide):
        return Candidate(name, name, model)
    rule = rule_of(model.rule)
    return Candidate(name, name, model.model, rule, model.prior)


def _named(who: str, models: Any) -> dict[str, Any]:
    if isinstance(models, Mapping):
        named = dict(models)
        for name in named:
            if not isinstance(name, str):
                raise ParameterError(f"{who}: models must be named by texts, but {name!r} came.")
    else:
        several = list(models) if isinstance(models, list | tuple) else [models]
        named = {}
        for model in several:
            base, name, number = _own_name(model), _own_name(model), 2
            while name in named:
                name, number = f"{base} {number}", number + 1
            named[name] = model
    if not named:
        raise ParameterError(f"{who}: there must be at least one model, but none came. Give some.")
    for name, model in named.items():
        _refuse(who, name, model)
    return named


def _own_name(model: Any) -> str:
    if isinstance(model, Decide):
        return f"{_own_name(model.model)} by {_entrant('', model).words}"
    return type(model).__name__


def _refuse(who: str, name: str, model: Any) -> None:
    if isinstance(model, type):
        raise ParameterError(
            f"{who}: models must be estimators, but {name!r} is the class {model.__name__}. "
            f"Write {model.__name__}()."
        )
    if not hasattr(model, "fit") or not (hasattr(model, "predict") and is_classifier(model)):
        raise ParameterError(
            f"{who}: models must be classifiers with fit and predict, but {name!r} is {model!r}. "
            "Give one of ours, or one that keeps to scikit-learn's rules."
        )
    if isinstance(model, Decide):
        _refuse(who, name, model.model)
        if not hasattr(model.model, "predict_proba"):
            raise ParameterError(
                f"{who}: Decide needs posteriors, but {model.model!r} of {name!r} has no "
                "predict_proba. Choose another model, or wrap it in CalibratedClassifierCV."
            )
