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
    "AODE": "countwise.posteriors.aode",
    "AdaBoost": "countwise.posteriors.boosting",
    "Argmax": "countwise.decisions.rules",
    "Bagging": "countwise.posteriors.bagging",
    "BayesError": "countwise.posteriors.bayes_error",
    "Column": "countwise.tables.schema",
    "CondensedNeighbors": "countwise.posteriors.condensed",
    "Confusion": "countwise.decisions.confusion",
    "Counts": "countwise.counts.counts",
    "Curve": "countwise.evaluation.curves",
    "CountwiseError": "countwise.errors",
    "Cuts": "countwise.posteriors.cut_transformer",
    "Decide": "countwise.decisions.decide",
    "DiscreteBayes": "countwise.posteriors.discrete_bayes",
    "ExpectedGain": "countwise.decisions.rules",
    "Explanation": "countwise.posteriors.evidence",
    "GainMatrix": "countwise.decisions.gain",
    "ID3": "countwise.posteriors.id3",
    "KDB": "countwise.posteriors.kdb",
    "Laplace": "countwise.counts.smoothing",
    "LinearDiscriminant": "countwise.posteriors.linear",
    "LinearSVM": "countwise.posteriors.linear",
    "LocalRegression": "countwise.posteriors.local_regression",
    "Logistic": "countwise.posteriors.linear",
    "MEstimate": "countwise.counts.smoothing",
    "NaiveBayes": "countwise.posteriors.naive_bayes",
    "NeighborGrid": "countwise.evaluation.neighbor_grid",
    "Neighborhood": "countwise.posteriors.neighborhood",
    "Neighbors": "countwise.posteriors.neighbors",
    "NeighborsRegressor": "countwise.posteriors.neighbors_regressor",
    "NeuralNet": "countwise.posteriors.neural",
    "Note": "countwise.tables.notes",
    "Perceptron": "countwise.posteriors.linear",
    "Picture": "countwise.reports.picture",
    "Plan": "countwise.counts.plan",
    "PrecisionWarning": "countwise.errors",
    "Quantizer": "countwise.posteriors.quantizer",
    "Reproduction": "countwise.papers.run",
    "RouletteWheel": "countwise.decisions.rules",
    "Schema": "countwise.tables.schema",
    "TAN": "countwise.posteriors.tan",
    "Table": "countwise.tables.table",
    "Trials": "countwise.evaluation.trials",
    "UnseenLevelWarning": "countwise.errors",
    "Vote": "countwise.posteriors.voting",
    "bayes_error": "countwise.posteriors.bayes_error",
    "bayes_error_bound": "countwise.posteriors.neighbour_bound",
    "count": "countwise.counts.count",
    "count_groups": "countwise.counts.count",
    "draw": "countwise.reports.draw",
    "ensemble_error": "countwise.posteriors.voting",
    "evaluate": "countwise.evaluation.run",
    "learning_curve": "countwise.evaluation.curves",
    "load": "countwise.store.files",
    "neighbor_grid": "countwise.evaluation.neighbor_grid",
    "read": "countwise.tables.read",
    "reproduce": "countwise.papers.run",
    "regions": "countwise.reports.regions",
    "save": "countwise.store.files",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from countwise.counts.count import count as count
    from countwise.counts.count import count_groups as count_groups
    from countwise.counts.counts import Counts as Counts
    from countwise.counts.plan import Plan as Plan
    from countwise.counts.smoothing import Laplace as Laplace
    from countwise.counts.smoothing import MEstimate as MEstimate
    from countwise.decisions.confusion import Confusion as Confusion
    from countwise.decisions.decide import Decide as Decide
    from countwise.decisions.gain import GainMatrix as GainMatrix
    from countwise.decisions.rules import (
        Argmax as Argmax,
    )
    from countwise.decisions.rules import (
        ExpectedGain as ExpectedGain,
    )
    from countwise.decisions.rules import (
        RouletteWheel as RouletteWheel,
    )
    from countwise.errors import (
        CountwiseError as CountwiseError,
    )
    from countwise.errors import (
        UnseenLevelWarning as UnseenLevelWarning,
    )
    from countwise.posteriors.aode import AODE as AODE
    from countwise.posteriors.bagging import Bagging as Bagging
    from countwise.posteriors.bayes_error import BayesError as BayesError
    from countwise.posteriors.bayes_error import bayes_error as bayes_error
    from countwise.posteriors.boosting import AdaBoost as AdaBoost
    from countwise.posteriors.condensed import CondensedNeighbors as CondensedNeighbors
    from countwise.posteriors.cut_transformer import Cuts as Cuts
    from countwise.posteriors.discrete_bayes import DiscreteBayes as DiscreteBayes
    from countwise.posteriors.evidence import Explanation as Explanation
    from countwise.posteriors.id3 import ID3 as ID3
    from countwise.posteriors.kdb import KDB as KDB
    from countwise.posteriors.linear import LinearDiscriminant as LinearDiscriminant
    from countwise.posteriors.linear import LinearSVM as LinearSVM
    from countwise.posteriors.linear import Logistic as Logistic
    from countwise.posteriors.linear import Perceptron as Perceptron
    from countwise.posteriors.local_regression import LocalRegression as LocalRegression
    from countwise.posteriors.naive_bayes import NaiveBayes as NaiveBayes
    from countwise.posteriors.neighborhood import Neighborhood as Neighborhood
    from countwise.posteriors.neighbors import Neighbors as Neighbors
    from countwise.posteriors.neighbors_regressor import NeighborsRegressor as NeighborsRegressor
    from countwise.posteriors.neighbour_bound import bayes_error_bound as bayes_error_bound
    from countwise.posteriors.neural import NeuralNet as NeuralNet
    from countwise.posteriors.quantizer import Quantizer as Quantizer
    from countwise.posteriors.tan import TAN as TAN
    from countwise.posteriors.voting import Vote as Vote
    from countwise.posteriors.voting import ensemble_error as ensemble_error
    from countwise.tables.notes import Note as Note
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
