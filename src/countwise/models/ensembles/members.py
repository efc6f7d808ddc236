"""How posteriors become votes: whole ones for the largest, the posterior itself, or one drawn.

A vote is a count: votes divided by their sum are a posterior, and its argmax is the majority.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from countwise._typing import FloatArray
from countwise.counts.row_hash import uniforms
from countwise.errors import CountwiseError, ParameterError
from countwise.models.base import Classifier
from countwise.models.linear.encoder import Features
from countwise.params import Constraint
from countwise.tables.schema import level_key
from countwise.tables.table import Table

#: What a member may do with its posterior.
CASTS = ("majority", "mean", "roulette")


def cast(
    posteriors: FloatArray, how: str, keys: NDArray[np.uint64] | None, seed: int, member: int
) -> FloatArray:
    """Return one member's vote for each row, rows × classes, each row summing to one."""
    if how == "mean":
        return posteriors
    if how == "roulette":
        assert keys is not None  # whoever draws has keys
        return drawn(posteriors, uniforms(keys, seed, member))
    return whole_votes(posteriors)


def whole_votes(scores: FloatArray, slack: float = 0.0) -> FloatArray:
    """Return one for the first largest of each row, nought for the others.

    Scores that differ by no more than `slack` are taken as equal.
    """
    votes = np.zeros(scores.shape)
    near = scores >= scores.max(axis=1, keepdims=True) - slack
    votes[np.arange(len(scores)), near.argmax(axis=1)] = 1.0
    return votes


def drawn(posteriors: FloatArray, ball: FloatArray) -> FloatArray:
    """Return one for the class on whose part of the wheel the ball of each row falls."""
    wheel = np.cumsum(posteriors, axis=1)
    place = (wheel <= (ball * wheel[:, -1])[:, None]).sum(axis=1)
    votes = np.zeros(posteriors.shape)
    votes[np.arange(len(votes)), np.minimum(place, posteriors.shape[1] - 1)] = 1.0
    return votes


#: How many rows are asked about together, and how many cells their features may have.
CHUNK = 1 << 16
_CELLS = 1 << 23


def a_classifier() -> Constraint:
    """A classifier, ours or any that keeps to scikit-learn's rules."""
    return Constraint(
        "a classifier such as NaiveBayes()",
        lambda value: not isinstance(value, type) and hasattr(value, "fit") and _decides(value),
        bad=("naive-bayes", 7.5),
    )


def _decides(value: Any) -> bool:
    return hasattr(value, "predict") and bool(is_classifier(value))


@dataclass(frozen=True, eq=False)
class Member:
    """A trained model and how it is asked: by the table, or by a matrix made of it.

    `place` says which column of the ensemble's posteriors each of the model's own classes is.
    """

    model: Any
    place: NDArray[np.intp]
    features: Features | None = None

    def posteriors(self, table: Table, classes: int, matrix: Any = None) -> FloatArray:
        """Return the posterior of each of the ensemble's classes, rows × classes.

        `matrix` holds the features of the rows, where somebody has made them already.
        """
        asked: Any = table
        if self.features is not None:
            asked = self.features.matrix(table) if matrix is None else matrix
        shares = np.zeros((len(table), classes))
        if hasattr(self.model, "predict_proba"):
            shares[:, self.place] = self.model.predict_proba(asked)
            return shares
        said = np.searchsorted(self.model.classes_, self.model.predict(asked))
        shares[np.arange(len(table)), self.place[said]] = 1.0
        return shares


def trained(
    base: Any,
    table: Table,
    classes: NDArray[Any],
    weight: FloatArray | None = None,
    times: NDArray[np.integer[Any]] | None = None,
    features: Features | None = None,
    matrix: Any = None,
) -> Member:
    """Fit a copy of a model to weighted rows, or to rows taken so many times each.

    Ours take the table and whole weights for repeated rows, which is the same (law 3). Another
    library's classifier gets the features of the rows (`matrix`, where they are made already), each
    repeated, or their weights.
    """
    model = clone(base)
    if isinstance(base, Classifier):
        given = weight if times is None else times.astype(np.float64)
        if given is not None and (given == 0).any():
            some = np.flatnonzero(given > 0)
            table, given = table.take(some), given[some]
        if given is None:
            model.fit(table)
        elif has_fit_parameter(model, "sample_weight"):
            model.fit(table, sample_weight=given)
        else:
            raise ParameterError(
                f"{type(model).__name__}: a member of an ensemble must learn from weighted rows, "
                "but this one takes no weights. Take another model, or give no weights."
            )
        return Member(model, places_of(model.classes_, classes))
    features = Features.learn(table, weight) if features is None else features
    rows = encoded(model, features, table) if matrix is None else matrix
    labels = table.labels
    options: dict[str, Any] = {}
    if times is not None:
        index = np.repeat(np.arange(len(table)), times)
        rows, labels = rows[index], labels[index]
    elif weight is not None:
        options["sample_weight"] = weight
    try:
        model.fit(rows, labels, **options)
    except CountwiseError:
        raise
    except Exception as why:
        raise ParameterError(
            f"{type(base).__name__}: it could not be trained on {len(labels)} rows: {why} Mend "
            "its parameters, or take another base."
        ) from why
    return Member(model, places_of(model.classes_, classes), features)


def encoded(model: Any, features: Features, table: Table) -> Any:
    """Return the features of rows, by their filled cells where that pays and the model takes it."""
    sparse = features.sparse_pays and get_tags(model).input_tags.sparse
    return features.matrix(table, sparse)


def chunks(rows: int, features: Features | None) -> Iterator[slice]:
    """Yield pieces of so many rows that their features stay within bounds."""
    step = CHUNK if features is None else max(1, min(CHUNK, _CELLS // max(len(features.names), 1)))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def adopt_members(ensemble: Classifier, models: Iterable[Classifier]) -> list[Member]:
    """Return the loaded models of an ensemble as members; refuse those of other rows."""
    names = [column.name for column in ensemble.schema_.attributes]
    members = []
    for model in models:
        if [column.name for column in model.schema_.attributes] != names:
            raise ParameterError("Ensemble: every member must read the columns of the ensemble.")
        try:
            members.append(Member(model, places_of(model.classes_, ensemble.classes_)))
        except KeyError:
            raise ParameterError(
                "Ensemble: every member must have classes of the ensemble."
            ) from None
    return members


def places_of(own: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Which place among all classes each of a model's own has."""
    place = {level_key(label): at for at, label in enumerate(classes.tolist())}
    return np.asarray([place[level_key(label)] for label in own.tolist()], dtype=np.intp)


def quiet(table: Table) -> Table:
    """Return the table without its record of unseen levels, of which one warning is enough."""
    if not table.unseen:
        return table
    data = {name: table.raw_array(name) for name in table.names}
    return Table(table.schema, data, table.notes, None, len(table))


def seeded(base: Any, seed: int) -> Any:
    """Return a copy of a model with the seed in every ``random_state`` it has."""
    model = clone(base)
    names = [
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    return model.set_params(**dict.fromkeys(names, seed)) if names else model
