"""Members of an ensemble: how they are trained, how they vote, and how votes are summed.

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
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys, uniforms
from countwise.errors import CountwiseError, ParameterError
from countwise.models.base import Classifier
from countwise.models.bayes.counted import CountedModel
from countwise.models.choose_smoothing import SmoothedClassifier
from countwise.models.linear.encoder import Features
from countwise.parallel import blocks
from countwise.params import Constraint, derived, fitted
from countwise.tables.schema import level_key
from countwise.tables.table import Table

#: What a member may do with its posterior.
CASTS = ("majority", "mean", "roulette")
#: The imagined rows or votes of members before their number is chosen for all of them.
USUAL_SMOOTHING = 1.0
#: How many rows are classified together, and how many cells their features may have.
CHUNK = 1 << 16
_CELLS = 1 << 23


def cast_votes(
    posteriors: FloatArray, how: str, keys: NDArray[np.uint64] | None, seed: int, member: int
) -> FloatArray:
    """Return one member's vote for each row, rows × classes, each row summing to one."""
    if how == "mean":
        return posteriors
    if how == "roulette":
        assert keys is not None  # rows have keys wherever votes are drawn
        return draw_votes(posteriors, uniforms(keys, seed, member))
    return vote_for_largest(posteriors)


def vote_for_largest(scores: FloatArray, slack: float = 0.0) -> FloatArray:
    """Return one for the first largest of each row, zero for the others.

    Scores that differ by no more than `slack` are taken as equal.
    """
    near = scores >= scores.max(axis=1, keepdims=True) - slack
    return _vote_for(near.argmax(axis=1), scores.shape[1])


def draw_votes(posteriors: FloatArray, ball: FloatArray) -> FloatArray:
    """Return one for the class on whose part of the wheel the ball of each row falls."""
    wheel = np.cumsum(posteriors, axis=1)
    place = (wheel <= (ball * wheel[:, -1])[:, None]).sum(axis=1)
    return _vote_for(np.minimum(place, posteriors.shape[1] - 1), posteriors.shape[1])


def _vote_for(place: NDArray[np.intp], classes: int) -> FloatArray:
    votes = np.zeros((len(place), classes))
    votes[np.arange(len(place)), place] = 1.0
    return votes


def a_classifier() -> Constraint:
    """A classifier, ours or any that keeps to scikit-learn's rules."""

    def admits(value: Any) -> bool:
        able = hasattr(value, "fit") and hasattr(value, "predict")
        return not isinstance(value, type) and able and bool(is_classifier(value))

    return Constraint("a classifier such as NaiveBayes()", admits, bad=("naive-bayes", 7.5))


@dataclass(frozen=True, eq=False)
class Member:
    """A trained model and its input: the table, or a matrix of its features.

    `place` says which column of the ensemble's posteriors each class of the model is.
    """

    model: Any
    place: NDArray[np.intp]
    features: Features | None = None

    def posteriors(self, table: Table, classes: int, matrix: Any = None) -> FloatArray:
        """Return the posterior of each of the ensemble's classes, rows × classes.

        `matrix` holds the features of the rows where they are already known.
        """
        rows: Any = table
        if self.features is not None:
            rows = self.features.matrix(table) if matrix is None else matrix
        if not hasattr(self.model, "predict_proba"):
            labels = np.searchsorted(self.model.classes_, self.model.predict(rows))
            return _vote_for(self.place[labels], classes)
        shares = np.zeros((len(table), classes))
        shares[:, self.place] = self.model.predict_proba(rows)
        return shares

    def labels(self, table: Table, classes: int, matrix: Any = None) -> NDArray[np.intp]:
        """Return the place of each row's most probable class."""
        return np.asarray(self.posteriors(table, classes, matrix).argmax(axis=1))


class Ensemble(Classifier):
    """A classifier that sums the votes of its members; one that is fitted trains them."""

    _seed: int = fitted()
    _trained: list[Member] = derived()

    @property
    def _vote_weights(self) -> FloatArray:
        """What the vote of each member weighs."""
        return np.ones(len(self._trained))

    @property
    def _way(self) -> str:
        """How members vote, a word of `cast_votes`."""
        return "majority"

    @property
    def uses_text(self) -> bool:
        """Whether some member counts the words of text columns."""
        return any(getattr(model, "uses_text", False) for model in self._untrained())

    def _untrained(self) -> Iterable[Any]:
        """Return the models that members are copies of."""
        return (getattr(self, "estimator", None),)

    def _cast(
        self, posteriors: FloatArray, keys: NDArray[np.uint64] | None, place: int
    ) -> FloatArray:
        return cast_votes(posteriors, self._way, keys, self._seed, place)

    def _votes_in_turn(self, part: Table) -> Iterator[FloatArray]:
        """Yield the vote of each member for some rows, rows × classes."""
        keys = row_keys(part) if self._way == "roulette" else None
        features, matrix = None, None
        for place, member in enumerate(self._trained):
            if member.features is not features:
                features = member.features
                matrix = None if features is None else features.matrix(part)
            posteriors = member.posteriors(part, len(self.classes_), matrix)
            yield self._cast(posteriors, keys, place)

    def _each_vote(self, table: Table) -> Iterator[tuple[slice, int, FloatArray]]:
        """Yield the votes of each member for each chunk of rows."""
        table = drop_unseen(table)
        for chunk in chunks(len(table), (member.features for member in self._trained)):
            for place, votes in enumerate(self._votes_in_turn(table.take(chunk))):
                yield chunk, place, votes

    def _votes(self, table: Table) -> FloatArray:
        votes, weights = np.zeros((len(table), len(self.classes_))), self._vote_weights
        for rows, place, cast in self._each_vote(table):
            votes[rows] += weights[place] * cast
        return votes

    def _scores(self, table: Table) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._votes(table) / self._vote_weights.sum()))

    def votes(self, X: Any) -> FloatArray:
        """Return the votes for each class, rows × classes; they sum to the members' weights.

        Examples
        --------
        >>> import countwise as cw
        >>> weather = cw.read("sample:weather")
        >>> model = cw.Bagging(n_estimators=8, vote="majority").fit(weather)
        >>> model.votes(weather.take([0, 2])).sum(axis=1)
        array([8., 8.])
        """
        check_is_fitted(self, "members_")
        return self._votes(self._rows(X))

    def member_votes(self, X: Any) -> FloatArray:
        """Return the vote of each member, before weights: rows × members × classes."""
        check_is_fitted(self, "members_")
        table = self._rows(X)
        every = np.zeros((len(table), len(self._vote_weights), len(self.classes_)))
        for rows, place, cast in self._each_vote(table):
            every[rows, place] = cast
        return every

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` shows of a saved model."""
        return {"classes": self.classes_.tolist(), "members": len(self._vote_weights)}

    def _is_text(self, name: str) -> bool:
        # Members that count no words do without the text columns of the ensemble.
        return self.schema_[name].kind == "text"

    def _adopt(self, models: Iterable[Classifier]) -> None:
        """Take over the loaded models as members; refuse those of other rows."""
        self._check_classes()
        names = [column.name for column in self.schema_.attributes]
        self._trained = []
        for model in models:
            used = [column.name for column in model.schema_.attributes]
            if used != [name for name in names if name in used or not self._is_text(name)]:
                raise ParameterError(
                    "Ensemble: every member must read the columns of the ensemble."
                )
            try:
                self._trained.append(Member(model, find_places(model.classes_, self.classes_)))
            except KeyError:
                raise ParameterError(
                    "Ensemble: every member must have classes of the ensemble."
                ) from None
        if not 0 <= self._seed < 2**31:
            raise ParameterError("Ensemble: the seed must be a whole number of at least 0.")


def chooses_smoothing(base: Any) -> bool:
    """Return whether a model's number of imagined rows or votes is to be chosen."""
    return isinstance(base, SmoothedClassifier) and base.get_params()["smoothing"] == "auto"


def uncalibrated(base: Any) -> Any:
    """Return a model that chooses no temperature and no smoothing: in a vote they are needless."""
    if isinstance(base, CountedModel):
        return clone(base).set_params(calibrate=None)
    return clone(base).set_params(smoothing=USUAL_SMOOTHING) if chooses_smoothing(base) else base


def train_member(
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
    library's classifier gets the features of the rows (`matrix`, where they are known), each
    repeated, or their weights.
    """
    model = clone(base)
    if isinstance(base, Classifier):
        stated = weight if times is None else times.astype(np.float64)
        if stated is not None and (stated == 0).any():
            some = np.flatnonzero(stated > 0)
            table, stated = table.take(some), stated[some]
        if stated is not None and not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(
                "Ensemble: a member must learn from weighted rows; got a "
                f"{type(model).__name__}, which takes no weights.",
                hint=("take another model", "give no weights"),
            )
        model.fit(table, **({} if stated is None else {"sample_weight": stated}))
        return Member(model, find_places(model.classes_, classes))
    features = Features.learn(table, weight) if features is None else features
    rows = encode(model, features, table) if matrix is None else matrix
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
    except Exception as error:
        raise ParameterError(
            f"{type(base).__name__}: it could not be trained on {len(labels)} rows: {error}",
            hint=("change its parameters", "take another model"),
        ) from error
    return Member(model, find_places(model.classes_, classes), features)


def encode(model: Any, features: Features, table: Table) -> Any:
    """Return the features of rows, by their filled cells where that pays and the model takes it."""
    sparse = features.sparse_pays and get_tags(model).input_tags.sparse
    return features.matrix(table, sparse)


def chunks(rows: int, features: Iterable[Features | None]) -> list[slice]:
    """Return blocks of so many rows that their features stay within bounds."""
    widest = max((len(found.names) for found in features if found is not None), default=0)
    return blocks(rows, max(1, min(CHUNK, _CELLS // max(widest, 1))))


def find_places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label among the classes."""
    place = {level_key(label): at for at, label in enumerate(classes.tolist())}
    return np.asarray([place[level_key(label)] for label in labels.tolist()], dtype=np.intp)


def order_by_content(table: Table) -> NDArray[np.intp]:
    """Return an order of rows that follows what is in them, not where they stand."""
    return np.argsort(row_keys(table, target=True), kind="stable")


def drop_unseen(table: Table) -> Table:
    """Return the table without its record of unseen levels, of which one warning is enough."""
    if not table.unseen:
        return table
    data = {name: table.raw_array(name) for name in table.names}
    return Table(table.schema, data, table.notes, None, len(table))


def set_seed(base: Any, seed: int) -> Any:
    """Return a copy of a model with the seed in every ``random_state`` it has."""
    model = clone(base)
    names = [
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    return model.set_params(**dict.fromkeys(names, seed)) if names else model
