"""The one list of models: public names, command names, the store and the tests read it.

No model is imported before it is needed. A model of another package joins by `add`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from countwise.errors import ParameterError, did_you_mean, listing

#: What a model, an example or a command is set to, by parameter.
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Later:
    """An object built only when it is needed, such as a model within an ensemble."""

    module: str
    name: str
    settings: Settings = field(default_factory=dict)

    def build(self) -> Any:
        """Import the class and build the object."""
        return getattr(import_module(self.module), self.name)(**_resolve(self.settings))


def _resolve(value: Any) -> Any:
    """Build what was put off, also within mappings."""
    if isinstance(value, Later):
        return value.build()
    if isinstance(value, Mapping):
        return {name: _resolve(part) for name, part in value.items()}
    return value


@dataclass(frozen=True)
class Command:
    """A name of a model on the command line, with the settings it stands for.

    A model with a ``random_state`` gets the random seed of the command as well.
    """

    name: str
    settings: Settings = field(default_factory=dict)
    about: str = ""
    numeric_only: bool = False


@dataclass(frozen=True)
class Entry:
    """One model: its public name and home, what it is, how to name it, and how to test it.

    Parameters
    ----------
    name
        The class, which is also its public name and its name in model files.
    module
        The module that holds the class; imported when the model is first used.
    about
        A phrase that says what the model is.
    commands
        Its names on the command line.
    examples
        Settings for which `countwise.testing.check_model` must hold.
    kind
        "model" can be saved and explained; a "peer" is there to be compared with; the "baseline"
        enters every comparison.
    predicts
        Whether it predicts a class or a number. Comparisons rank models that predict a class.
    counts_words
        Whether the model uses text columns; others leave them out, with a note.
    """

    name: str
    module: str
    about: str
    commands: tuple[Command, ...] = ()
    examples: tuple[Settings, ...] = ({},)
    kind: Literal["model", "peer", "baseline"] = "model"
    predicts: Literal["class", "number"] = "class"
    counts_words: bool = False

    def load(self) -> Any:
        """Import the class."""
        return getattr(import_module(self.module), self.name)

    def build(self, settings: Settings | None = None) -> Any:
        """Build a model with these settings; without any, with the defaults of the class."""
        return self.load()(**_resolve(settings or {}))

    @property
    def origin(self) -> str:
        """The package it comes from, for people; the baseline has none."""
        package = self.module.partition(".")[0]
        if self.kind == "baseline":
            return "baseline"
        return "scikit-learn" if package == "sklearn" else package


@dataclass(frozen=True)
class Named:
    """A model as the command line names it."""

    command: Command
    entry: Entry

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.command.name

    @property
    def about(self) -> str:
        """A phrase about the model with the settings of this name."""
        return self.command.about or self.entry.about

    @property
    def can_be_saved(self) -> bool:
        """Whether it can be saved, explained and used on files larger than memory."""
        return self.entry.kind == "model"

    def to_dict(self) -> dict[str, Any]:
        """Return what a list shows."""
        return {
            "name": self.name,
            "about": self.about,
            "predicts": self.entry.predicts,
            "from": self.entry.origin,
            "can_be_saved": self.can_be_saved,
            "compared_by_default": self.name in COMPARED,
        }

    def build(self, seed: int = 0, parameters: Settings | None = None) -> Any:
        """Build the model from a random seed, with some of its parameters changed."""
        model = self.entry.build(self.command.settings)
        known = model.get_params(deep=False)
        if "random_state" in known and self.entry.kind != "baseline":
            model.set_params(random_state=seed)
        given = dict(parameters or {})
        for name in given:
            if name not in known:
                raise ParameterError(
                    f"{self.name}: there is no parameter {name!r}.{did_you_mean(name, known)} "
                    f"It has {listing(sorted(known), 20)}."
                )
        model.set_params(**given)
        rules = getattr(model, "PARAMETERS", None)
        if rules is not None:
            from countwise.params import check

            check(self.name, rules, model.get_params(deep=False))
        return model


#: Every model, by public name; in the order in which lists show them.
ENTRIES: dict[str, Entry] = {}
#: Every name of the command line.
COMMANDS: dict[str, Named] = {}


def add(entry: Entry) -> Entry:
    """Add a model; its name and its commands must be new.

    Parameters
    ----------
    entry
        What countwise must know to list the model, to save and load it, and to test it.
    """
    if ENTRIES.get(entry.name) == entry:
        return entry
    if entry.name in ENTRIES:
        raise ParameterError(
            f"registry: name must be new; got {entry.name!r}, which "
            f"{ENTRIES[entry.name].module} has. Rename the class."
        )
    for command in entry.commands:
        if command.name in COMMANDS or command.name != _spell(command.name):
            raise ParameterError(
                "registry: the name of a command must be new, in lower case, with hyphens; got "
                f"{command.name!r}."
            )
    ENTRIES[entry.name] = entry
    COMMANDS.update({command.name: Named(command, entry) for command in entry.commands})
    return entry


def remove(name: str) -> None:
    """Take a model off the list again."""
    for command in ENTRIES.pop(name).commands:
        del COMMANDS[command.name]


def can_be_kept(model: Any) -> bool:
    """Return whether a model can be saved and explained: one of ours, or one that was added."""
    entry = ENTRIES.get(type(model).__name__)
    return entry is not None and entry.kind == "model" and type(model).__module__ == entry.module


def models() -> list[Entry]:
    """Return the models that can be saved: ours, and those that were added."""
    return [entry for entry in ENTRIES.values() if entry.kind == "model"]


def counts_words(model: type) -> bool:
    """Return whether a class of models, or one it derives from, uses text columns."""
    entries = (ENTRIES.get(base.__name__) for base in model.__mro__)
    return any(entry.counts_words for entry in entries if entry is not None)


def find(name: str) -> Named:
    """Return the model that the command line calls by this name."""
    key = _spell(name)
    if key in COMMANDS:
        return COMMANDS[key]
    raise ParameterError(
        f"models: there is no model {name!r}.{did_you_mean(key, COMMANDS)} "
        f"Known are {', '.join(COMMANDS)}."
    )


def _spell(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-")


#: What ``fit`` trains, ``compare`` compares and ``curve`` draws unless models are named.
DEFAULT = "additive"
#: What ``curve`` draws as well on rows outside memory: it is made from counts.
SCANNED = "aode"
COMPARED = ("additive", "naive-bayes", "naive-bayes-kernel", "aode", "logistic", "forest")
DRAWN = ("naive-bayes", "logistic")


def select(
    names: Iterable[str] | None,
    usual: Iterable[str] = COMPARED,
    numeric: bool = True,
    only_text: bool = False,
) -> list[Named]:
    """Return the models a user means: by name, ``all``, or the usual ones.

    Where nobody named them, models that differ only on numeric columns stay out of tables that
    have none (``numeric=False``), and models that leave text out stay out of tables that have
    nothing else (``only_text=True``).
    """
    words = None if names is None else [name for name in names if name.strip()]
    if words is not None and not words:
        raise ParameterError(
            f"models: at least one model must be named; got none. Known are {', '.join(COMMANDS)}."
        )
    if words is not None and [word.casefold() for word in words] != ["all"]:
        return list({model.name: model for model in map(_find_classifier, words)}.values())
    chosen = [COMMANDS[name] for name in (usual if words is None else COMMANDS)]
    chosen = [model for model in chosen if model.entry.predicts == "class"]
    if only_text:
        chosen = [one for one in chosen if one.entry.counts_words or one.entry.kind == "baseline"]
    return [model for model in chosen if numeric or not model.command.numeric_only]


def _find_classifier(name: str) -> Named:
    model = find(name)
    if model.entry.predicts == "number":
        raise ParameterError(
            f"models: {model.name!r} predicts a number; only models that predict a class are "
            "compared. Train it with countwise fit."
        )
    return model


def parse_parameters(pairs: Iterable[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; a value is a number, inf, a word, true, false, none, or JSON."""
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name or not text:
            raise ParameterError(
                f"models: a parameter must be given as name=value, such as smoothing=0.5; got "
                f"{pair!r}."
            )
        if name in parameters:
            raise ParameterError(f"models: parameter {name!r} was given twice. Keep one.")
        parameters[name] = _parse_value(text)
    return parameters


def _parse_value(text: str) -> Any:
    from countwise.tables.formats.source import is_too_deep

    words: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None}
    words |= {"inf": math.inf, "infinity": math.inf}
    if text.casefold() in words:
        return words[text.casefold()]
    try:
        return text if is_too_deep(text.encode()) else json.loads(text)
    except ValueError:
        return text


_NAIVE_BAYES = Later("countwise.models.bayes.naive_bayes", "NaiveBayes")
_OVERALL = Later("countwise.counts.smoothing", "MEstimate", {"m": 3, "p": "overall"})
_BY_CLASSES = Later("countwise.counts.smoothing", "Laplace", {"by": "classes"})

for _entry in (
    Entry(
        "NaiveBayes",
        "countwise.models.bayes.naive_bayes",
        "naive Bayes: attributes independent within each class",
        (
            Command("naive-bayes", {}, "naive Bayes, numeric columns cut into intervals"),
            Command(
                "naive-bayes-gaussian",
                {"numeric": "gaussian"},
                "naive Bayes, normal densities for numeric columns",
                numeric_only=True,
            ),
            Command(
                "naive-bayes-kernel",
                {"numeric": "kernel"},
                "naive Bayes, kernel densities for numeric columns",
                numeric_only=True,
            ),
        ),
        (
            {},
            {"smoothing": 0},
            {"numeric": "gaussian"},
            {"smoothing": _OVERALL, "numeric": "gaussian", "variance": "population"},
            {"smoothing": _BY_CLASSES, "numeric": "gaussian", "variance": "shared"},
            {"numeric": "kernel", "bandwidth": "scott", "prior": "uniform"},
            {"cuts": "mdl"},
            {"combine": "posteriors", "when_missing": "value", "unseen": "smooth"},
            {"combine": "posteriors", "numeric": "gaussian", "min_deviation": "weka"},
            {"when_missing": "value", "smoothing": None, "numeric": "kernel"},
            {"text": "bernoulli", "bigrams": True, "min_rows": 2, "stop_words": "english"},
        ),
        counts_words=True,
    ),
    Entry(
        "TAN",
        "countwise.models.bayes.tan",
        "naive Bayes in which each attribute may depend on one other (tree-augmented)",
        (Command("tan"),),
        ({}, {"smoothing": "back-off", "cuts": "mdl"}, {"smoothing": 0, "cuts": "frequency"}),
    ),
    Entry(
        "AODE",
        "countwise.models.bayes.aode",
        "average of models; in each, the attributes depend on the class and on one attribute",
        (Command("aode"),),
        ({}, {"smoothing": 0.5, "frequency_limit": 3, "cuts": "mdl"}),
    ),
    Entry(
        "KDB",
        "countwise.models.bayes.kdb",
        "naive Bayes in which each attribute may depend on up to k others",
        (Command("kdb"),),
        (
            {},
            {"k": 1, "selective": False, "cuts": "frequency", "bins": 5},
            {"smoothing": "back-off", "cuts": "mdl"},
        ),
    ),
    Entry(
        "Additive",
        "countwise.models.additive.additive",
        "sum of look-up tables for columns and pairs of columns, fitted together",
        (Command("additive"),),
        ({}, {"pairs": 0, "max_bins": 8}, {"pairs": 2, "unseen": "ignore", "random_state": 3}),
        counts_words=True,
    ),
    Entry(
        "DiscreteBayes",
        "countwise.models.discrete_bayes.discrete_bayes",
        "joint probability table over jointly discretized columns",
        (Command("discrete-bayes"),),
        (
            {"random_state": 0},
            {"budget": None, "search": None, "random_state": 0},
            {"levels": "merit", "bin_smoothing": 2.0, "random_state": 0},
            {"search": "paper", "bin_smoothing": 2.0, "smooth_by": "class", "random_state": 0},
            {"rounding": "ceil", "smooth_by": "class", "equal_volumes": True, "random_state": 0},
            {"smoothing": 0, "random_state": 0},
        ),
    ),
    Entry(
        "ID3",
        "countwise.models.tree.id3",
        "decision tree grown by information gain",
        (Command("id3"),),
        (
            {},
            {"prune": 0.2, "smoothing": "laplace"},
            {"criterion": "ratio", "when_missing": "majority"},
            {"numeric": "cuts", "cuts": "mdl", "max_depth": 3, "min_leaf": 2},
        ),
    ),
    Entry(
        "Tree",
        "countwise.models.tree.tree",
        "decision tree grown and pruned as in C4.5",
        (Command("tree"),),
        (
            {},
            {"confidence": None, "min_leaf": 1, "smoothing": 0},
            {"confidence": 0.1, "max_depth": 3},
        ),
    ),
    Entry(
        "Forest",
        "countwise.models.tree.forest",
        "random forest: trees on bootstrap rows and random columns",
        (Command("forest", {}, "random forest of 100 trees"),),
        (
            {"n_estimators": 20},
            {"n_estimators": 10, "oob_score": True, "max_features": None, "min_samples_leaf": 2},
            {"n_estimators": 10, "smoothing": 0, "max_features": 0.5, "max_depth": 4},
        ),
    ),
    Entry(
        "Neighbors",
        "countwise.models.neighbors.classifier",
        "k nearest neighbors",
        (
            Command("neighbors", {}, "5 nearest neighbors, Euclidean distance"),
            Command(
                "neighbors-vdm",
                {"metric": "vdm", "weights": "distance"},
                "5 nearest neighbors weighted by 1/distance, value difference metric",
            ),
        ),
        (
            {},
            {"n_neighbors": 3, "metric": "hvdm", "weights": "distance", "when_missing": "ignore"},
            {"n_neighbors": 1, "metric": "mahalanobis", "weights": "kernel"},
            {"metric": "vdm", "weights": "distance"},
            {"n_neighbors": "auto", "smoothing": 0.5},
            {"metric": "gower", "attribute_weights": "information", "drop_least": 1},
        ),
    ),
    Entry(
        "CondensedNeighbors",
        "countwise.models.neighbors.condensed",
        "1-nearest neighbor on a condensed training set",
        (Command("condensed"),),
        ({}, {"method": "fast", "metric": "heom", "smoothing": 0}),
    ),
    Entry(
        "NeighborsRegressor",
        "countwise.models.neighbors.regressor",
        "regression by the mean of the k nearest neighbors",
        (Command("neighbors-regressor"),),
        predicts="number",
        examples=({}, {"n_neighbors": 3, "metric": "gower", "weights": "distance"}),
    ),
    Entry(
        "LocalRegression",
        "countwise.models.neighbors.local_regression",
        "locally weighted linear regression",
        (Command("local-regression"),),
        predicts="number",
        examples=({}, {"n_neighbors": None, "width": 0.5, "kernel": "gaussian"}),
    ),
    Entry(
        "Logistic",
        "countwise.models.linear.logistic",
        "logistic regression with an L2 penalty",
        (Command("logistic"),),
        ({}, {"C": 10.0, "class_weight": "balanced"}),
    ),
    Entry(
        "LinearDiscriminant",
        "countwise.models.linear.discriminant",
        "linear discriminant analysis",
        (Command("discriminant"),),
        ({}, {"shrinkage": 0.5, "prior": "uniform"}),
    ),
    Entry(
        "Perceptron",
        "countwise.models.linear.perceptron",
        "averaged perceptron",
        (Command("perceptron"),),
        ({}, {"average": False, "alpha": 0.001}),
    ),
    Entry(
        "LinearSVM",
        "countwise.models.linear.svm",
        "linear support vector machine",
        (Command("svm"),),
    ),
    Entry(
        "NeuralNet",
        "countwise.models.linear.neural_net",
        "feed-forward neural network with early stopping",
        (Command("neural-net"),),
        ({"hidden_layer_sizes": (8,), "max_iter": 25, "learning_rate_init": 0.03},),
    ),
    Entry(
        "Bagging",
        "countwise.models.ensembles.bagging",
        "bagging: models trained on bootstrap samples vote",
        (Command("bagging", {}, "bagging of 50 decision trees"),),
        (
            {"estimator": _NAIVE_BAYES, "n_estimators": 5},
            {"n_estimators": 3, "vote": "roulette", "oob_score": True},
            {"n_estimators": 3, "vote": "majority", "fraction": 0.7, "replace": False},
        ),
    ),
    Entry(
        "AdaBoost",
        "countwise.models.ensembles.adaboost",
        "AdaBoost: models trained in turn, each with more weight on misclassified rows",
        (Command("adaboost", {}, "AdaBoost of 100 decision stumps"),),
        (
            {"n_estimators": 10},
            {"n_estimators": 10, "method": "resampling", "calibrate": None},
            {"estimator": _NAIVE_BAYES, "n_estimators": 5},
        ),
    ),
    Entry(
        "Vote",
        "countwise.models.ensembles.vote",
        "vote of models of different kinds",
        (
            Command(
                "vote",
                {
                    "estimators": {
                        "aode": Later("countwise.models.bayes.aode", "AODE"),
                        "logistic": Later("countwise.models.linear.logistic", "Logistic"),
                        "bagging": Later(
                            "countwise.models.ensembles.bagging", "Bagging", {"n_estimators": 25}
                        ),
                    },
                    "how": "mean",
                },
                "mean posterior of AODE, logistic regression and bagged trees",
            ),
        ),
        ({}, {"how": "majority"}),
    ),
    Entry(
        "DecisionTreeClassifier",
        "sklearn.tree",
        "decision tree with at least 5 rows per leaf",
        (Command("sklearn-tree", {"min_samples_leaf": 5}),),
        kind="peer",
    ),
    Entry(
        "RandomForestClassifier",
        "sklearn.ensemble",
        "random forest of 100 trees",
        (Command("sklearn-forest"),),
        kind="peer",
    ),
    Entry(
        "HistGradientBoostingClassifier",
        "sklearn.ensemble",
        "gradient-boosted trees",
        (Command("sklearn-boosting", {"max_iter": 100}),),
        kind="peer",
    ),
    Entry(
        "DummyClassifier",
        "sklearn.dummy",
        "class frequencies of the training rows",
        (Command("majority", {"strategy": "prior"}),),
        kind="baseline",
    ),
):
    add(_entry)
