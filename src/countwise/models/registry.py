"""The models a user can name, each with sensible settings; nothing is imported before it is made.

Models that learn from counts share one pass over the rows; all of ours can be saved. scikit-learn's
are there to be compared with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from countwise.errors import ParameterError, did_you_mean, listing

Family = Literal["counted", "grown", "kept", "rows", "ensemble", "scikit-learn", "baseline"]


@dataclass(frozen=True)
class Listed:
    """A model of the catalogue: its name, a phrase about it, and how to make it from a seed."""

    name: str
    words: str
    family: Family
    make: Callable[[int], Any]
    numeric_only: bool = False

    @property
    def own(self) -> bool:
        """Whether it is ours: it can be saved, explained and used on files larger than memory."""
        return self.family not in ("scikit-learn", "baseline")

    def to_dict(self) -> dict[str, Any]:
        """Return what a list shows."""
        return {
            "name": self.name,
            "words": self.words,
            "family": self.family,
            "can_be_saved": self.own,
            "compared_by_default": self.name in COMPARED,
        }


def _naive_bayes(seed: int) -> Any:
    from countwise.models.bayes.naive_bayes import NaiveBayes

    return NaiveBayes()


def _naive_bayes_kernel(seed: int) -> Any:
    from countwise.models.bayes.naive_bayes import NaiveBayes

    return NaiveBayes(numeric="kernel")


def _naive_bayes_cuts(seed: int) -> Any:
    from countwise.models.bayes.naive_bayes import NaiveBayes

    return NaiveBayes(numeric="cuts", cuts="mdl")


def _tan(seed: int) -> Any:
    from countwise.models.bayes.tan import TAN

    return TAN(cuts="mdl")


def _aode(seed: int) -> Any:
    from countwise.models.bayes.aode import AODE

    return AODE(cuts="mdl")


def _kdb(seed: int) -> Any:
    from countwise.models.bayes.kdb import KDB

    return KDB(cuts="mdl")


def _id3(seed: int) -> Any:
    from countwise.models.tree.id3 import ID3

    return ID3(prune=0.2, random_state=seed)


def _neighbors(seed: int) -> Any:
    from countwise.models.neighbors.classifier import Neighbors

    return Neighbors()


def _neighbors_vdm(seed: int) -> Any:
    from countwise.models.neighbors.classifier import Neighbors

    return Neighbors(metric="vdm", weights="distance")


def _discrete_bayes(seed: int) -> Any:
    from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes

    return DiscreteBayes(levels="merit", random_state=seed)


def _condensed(seed: int) -> Any:
    from countwise.models.neighbors.condensed import CondensedNeighbors

    return CondensedNeighbors(metric="heom", random_state=seed)


def _logistic(seed: int) -> Any:
    from countwise.models.linear.logistic import Logistic

    return Logistic()


def _discriminant(seed: int) -> Any:
    from countwise.models.linear.discriminant import LinearDiscriminant

    return LinearDiscriminant()


def _perceptron(seed: int) -> Any:
    from countwise.models.linear.perceptron import Perceptron

    return Perceptron(random_state=seed)


def _svm(seed: int) -> Any:
    from countwise.models.linear.svm import LinearSVM

    return LinearSVM(random_state=seed)


def _neural_net(seed: int) -> Any:
    from countwise.models.linear.neural_net import NeuralNet

    return NeuralNet(random_state=seed)


def _bagging(seed: int) -> Any:
    from countwise.models.ensembles.bagging import Bagging

    return Bagging(random_state=seed)


def _adaboost(seed: int) -> Any:
    from countwise.models.ensembles.adaboost import AdaBoost

    return AdaBoost(rounds=100, random_state=seed)


def _vote(seed: int) -> Any:
    from countwise.models.bayes.aode import AODE
    from countwise.models.ensembles.bagging import Bagging
    from countwise.models.ensembles.vote import Vote
    from countwise.models.linear.logistic import Logistic

    return Vote({"aode": AODE(cuts="mdl"), "logistic": Logistic(), "bagging": Bagging(members=25)},
                "mean", random_state=seed)  # fmt: skip


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(min_samples_leaf=5, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, min_samples_leaf=2, random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=100, random_state=seed)


def _majority(seed: int) -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


#: Every model that can be named, by name.
CATALOGUE: Mapping[str, Listed] = {
    own.name: own
    for own in (
        Listed(
            "naive-bayes",
            "naive Bayes, normal densities for numbers",
            "counted",
            _naive_bayes,
        ),
        Listed(
            "naive-bayes-kernel",
            "naive Bayes, kernel densities for numbers",
            "counted",
            _naive_bayes_kernel,
            numeric_only=True,
        ),
        Listed(
            "naive-bayes-cuts",
            "naive Bayes, numbers cut into intervals by MDL",
            "counted",
            _naive_bayes_cuts,
            numeric_only=True,
        ),
        Listed("tan", "naive Bayes along the best tree of attributes", "counted", _tan),
        Listed("aode", "average of models with one parent attribute each", "counted", _aode),
        Listed("kdb", "attributes lean on two stronger ones, weak left out", "counted", _kdb),
        Listed(
            "discrete-bayes",
            "cells within a budget, columns cut together by gain",
            "grown",
            _discrete_bayes,
        ),
        Listed("id3", "decision tree by information gain, pruned", "grown", _id3),
        Listed("neighbors", "five nearest rows, words equal or not", "kept", _neighbors),
        Listed(
            "neighbors-vdm",
            "five nearest rows by 1/d, words by class shares",
            "kept",
            _neighbors_vdm,
        ),
        Listed("condensed", "nearest of the few rows that are enough", "kept", _condensed),
        Listed("logistic", "logistic regression, L2 penalty", "rows", _logistic),
        Listed("discriminant", "linear discriminant, one covariance", "rows", _discriminant),
        Listed("perceptron", "plane learned from mistakes", "rows", _perceptron),
        Listed("svm", "linear support vector machine", "rows", _svm),
        Listed("neural-net", "network of 32 neurons, ended early", "rows", _neural_net),
        Listed(
            "bagging", "50 trees by information gain, each on a bootstrap", "ensemble", _bagging
        ),
        Listed("adaboost", "100 one-column rules, boosted", "ensemble", _adaboost),
        Listed("vote", "mean of AODE, logistic regression and bagged trees", "ensemble", _vote),
        Listed("tree", "decision tree, leaves of five rows", "scikit-learn", _tree),
        Listed("forest", "random forest of 100 trees", "scikit-learn", _forest),
        Listed("boosting", "gradient-boosted trees", "scikit-learn", _boosting),
        Listed(
            "majority",
            "class shares of the training rows",
            "baseline",
            _majority,
        ),
    )
}

#: What ``fit`` trains, ``compare`` compares and ``curve`` draws unless told otherwise.
DEFAULT = "naive-bayes"
COMPARED = ("naive-bayes", "naive-bayes-kernel", "aode", "logistic", "forest")
GROWN = ("naive-bayes", "logistic")


def listed(name: str) -> Listed:
    """Return the model of this name."""
    key = name.strip().casefold().replace("_", "-").replace(" ", "-")
    if key in CATALOGUE:
        return CATALOGUE[key]
    raise ParameterError(
        f"models: there is no model {name!r}.{did_you_mean(key, CATALOGUE)} "
        f"Known are {', '.join(CATALOGUE)}."
    )


def select(
    names: Iterable[str] | None,
    usual: Iterable[str] = COMPARED,
    numeric: bool = True,
) -> list[Listed]:
    """Return the models a user means: by name, ``all``, or the usual ones.

    Where nobody named them, models that differ only on numeric columns stay out of tables that
    have none (``numeric=False``).
    """
    words = None if names is None else [name for name in names if name.strip()]
    if words is not None and not words:
        raise ParameterError(
            f"models: at least one model must be named, but none was. Known are "
            f"{', '.join(CATALOGUE)}."
        )
    if words is not None and [word.casefold() for word in words] != ["all"]:
        return list(dict.fromkeys(listed(name) for name in words))
    chosen = [CATALOGUE[name] for name in (usual if words is None else CATALOGUE)]
    return [own for own in chosen if numeric or not own.numeric_only]


def made(own: Listed, seed: int = 0, parameters: Mapping[str, Any] | None = None) -> Any:
    """Make a model, with some of its parameters changed."""
    model = own.make(seed)
    given = dict(parameters or {})
    known = model.get_params(deep=False)
    for name in given:
        if name not in known:
            raise ParameterError(
                f"{own.name}: there is no parameter {name!r}.{did_you_mean(name, known)} "
                f"It has {listing(sorted(known), 20)}."
            )
    model.set_params(**given)
    rules = getattr(model, "PARAMETERS", None)
    if rules is not None:
        from countwise.params import check

        check(own.name, rules, model.get_params(deep=False))
    return model


def parsed_parameters(pairs: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; a value is a number, inf, a word, true, false, none, or JSON."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, between, text = pair.partition("=")
        if not between or not name.strip() or not text.strip():
            raise ParameterError(
                f"models: a parameter must be given as name=value, but {pair!r} came, such as "
                "smoothing=0.5."
            )
        if name.strip() in found:
            raise ParameterError(f"models: parameter {name.strip()!r} was given twice. Keep one.")
        found[name.strip()] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None}
    words |= {"inf": math.inf, "infinity": math.inf}
    if text.casefold() in words:
        return words[text.casefold()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
