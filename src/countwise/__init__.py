"""countwise: classify tables by counting.

Rows become counts, counts become posteriors, posteriors become decisions, decisions become
evidence. The public names below are resolved on first touch, so that ``import countwise`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AODE": "countwise.models.bayes.aode",
    "AdaBoost": "countwise.models.ensembles.adaboost",
    "Argmax": "countwise.decisions.rules",
    "Bagging": "countwise.models.ensembles.bagging",
    "BayesError": "countwise.evaluation.bayes_error",
    "Column": "countwise.tables.schema",
    "CondensedNeighbors": "countwise.models.neighbors.condensed",
    "Confusion": "countwise.decisions.confusion",
    "Counts": "countwise.counts.counts",
    "Curve": "countwise.evaluation.learning_curve",
    "CountwiseError": "countwise.errors",
    "Cuts": "countwise.discretize.cuts",
    "Decide": "countwise.decisions.decide",
    "DiscreteBayes": "countwise.models.discrete_bayes.discrete_bayes",
    "ExpectedGain": "countwise.decisions.rules",
    "Explanation": "countwise.models.explanation",
    "GainMatrix": "countwise.decisions.gain_matrix",
    "ID3": "countwise.models.tree.id3",
    "KDB": "countwise.models.bayes.kdb",
    "Laplace": "countwise.counts.smoothing",
    "LinearDiscriminant": "countwise.models.linear.discriminant",
    "LinearSVM": "countwise.models.linear.svm",
    "LocalRegression": "countwise.models.neighbors.local_regression",
    "Logistic": "countwise.models.linear.logistic",
    "MEstimate": "countwise.counts.smoothing",
    "NaiveBayes": "countwise.models.bayes.naive_bayes",
    "NeighborGrid": "countwise.evaluation.neighbor_grid",
    "Neighborhood": "countwise.models.neighbors.explanation",
    "Neighbors": "countwise.models.neighbors.classifier",
    "NeighborsRegressor": "countwise.models.neighbors.regressor",
    "NeuralNet": "countwise.models.linear.neural_net",
    "Note": "countwise.notes",
    "Perceptron": "countwise.models.linear.perceptron",
    "Picture": "countwise.reports.draw",
    "Plan": "countwise.counts.plan",
    "PrecisionWarning": "countwise.errors",
    "Quantizer": "countwise.discretize.quantizer",
    "Reproduction": "countwise_papers.reproduce",
    "RouletteWheel": "countwise.decisions.rules",
    "Schema": "countwise.tables.schema",
    "TAN": "countwise.models.bayes.tan",
    "Table": "countwise.tables.table",
    "Trials": "countwise.evaluation.trials",
    "UnseenLevelWarning": "countwise.errors",
    "Vote": "countwise.models.ensembles.vote",
    "bayes_error": "countwise.evaluation.bayes_error",
    "bayes_error_bound": "countwise.evaluation.bayes_error",
    "count": "countwise.counts.count_rows",
    "count_groups": "countwise.counts.count_rows",
    "draw": "countwise.reports.draw",
    "ensemble_error": "countwise.models.ensembles.vote",
    "evaluate": "countwise.evaluation.evaluate",
    "learning_curve": "countwise.evaluation.learning_curve",
    "load": "countwise.store.files",
    "neighbor_grid": "countwise.evaluation.neighbor_grid",
    "read": "countwise.tables.read",
    "reproduce": "countwise_papers.reproduce",
    "regions": "countwise.reports.regions",
    "save": "countwise.store.files",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from countwise.counts.count_rows import count as count
    from countwise.counts.count_rows import count_groups as count_groups
    from countwise.counts.counts import Counts as Counts
    from countwise.counts.plan import Plan as Plan
    from countwise.counts.smoothing import Laplace as Laplace
    from countwise.counts.smoothing import MEstimate as MEstimate
    from countwise.decisions.confusion import Confusion as Confusion
    from countwise.decisions.decide import Decide as Decide
    from countwise.decisions.gain_matrix import GainMatrix as GainMatrix
    from countwise.decisions.rules import (
        Argmax as Argmax,
    )
    from countwise.decisions.rules import (
        ExpectedGain as ExpectedGain,
    )
    from countwise.decisions.rules import (
        RouletteWheel as RouletteWheel,
    )
    from countwise.discretize.cuts import Cuts as Cuts
    from countwise.discretize.quantizer import Quantizer as Quantizer
    from countwise.errors import (
        CountwiseError as CountwiseError,
    )
    from countwise.errors import (
        UnseenLevelWarning as UnseenLevelWarning,
    )
    from countwise.evaluation.bayes_error import BayesError as BayesError
    from countwise.evaluation.bayes_error import bayes_error as bayes_error
    from countwise.evaluation.bayes_error import bayes_error_bound as bayes_error_bound
    from countwise.models.bayes.aode import AODE as AODE
    from countwise.models.bayes.kdb import KDB as KDB
    from countwise.models.bayes.naive_bayes import NaiveBayes as NaiveBayes
    from countwise.models.bayes.tan import TAN as TAN
    from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes as DiscreteBayes
    from countwise.models.ensembles.adaboost import AdaBoost as AdaBoost
    from countwise.models.ensembles.bagging import Bagging as Bagging
    from countwise.models.ensembles.vote import Vote as Vote
    from countwise.models.ensembles.vote import ensemble_error as ensemble_error
    from countwise.models.explanation import Explanation as Explanation
    from countwise.models.linear.discriminant import LinearDiscriminant as LinearDiscriminant
    from countwise.models.linear.logistic import Logistic as Logistic
    from countwise.models.linear.neural_net import NeuralNet as NeuralNet
    from countwise.models.linear.perceptron import Perceptron as Perceptron
    from countwise.models.linear.svm import LinearSVM as LinearSVM
    from countwise.models.neighbors.classifier import Neighbors as Neighbors
    from countwise.models.neighbors.condensed import CondensedNeighbors as CondensedNeighbors
    from countwise.models.neighbors.explanation import Neighborhood as Neighborhood
    from countwise.models.neighbors.local_regression import LocalRegression as LocalRegression
    from countwise.models.neighbors.regressor import NeighborsRegressor as NeighborsRegressor
    from countwise.models.tree.id3 import ID3 as ID3
    from countwise.notes import Note as Note
    from countwise.tables.read import read as read
    from countwise.tables.schema import Column as Column
    from countwise.tables.schema import Schema as Schema
    from countwise.tables.table import Table as Table


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'countwise' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
