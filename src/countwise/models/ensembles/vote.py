"""Vote: models of different kinds vote on the class of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.row_hash import content_folds, row_keys
from countwise.decisions.gain_matrix import GAIN_CONSTRAINT, GainMatrix
from countwise.errors import GainError, ParameterError
from countwise.models.base import Classifier
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.bayes.tan import TAN
from countwise.models.ensembles.members import (
    Ensemble,
    a_classifier,
    drop_unseen,
    order_by_content,
    set_seed,
    train_member,
)
from countwise.models.tree.id3 import ID3
from countwise.notes import Note
from countwise.numeric import draw_seed
from countwise.params import Constraint, array, fitted, nothing, one_of, parameter, seed, whole
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.views import View

WAYS = ("majority", "weighted", "mean", "roulette", "gain")
#: Members that agree more often than independent ones by this much get a note.
TOO_ALIKE = 0.05

#: How many training rows are looked at to see how often members agree.
_COMPARED = 20_000


def ensemble_error(members: int, error: float) -> float:
    """Return the error of a majority vote of independent members that each err this often.

    Kuo's slides: Σ C(n, i) εⁱ (1 - ε)ⁿ⁻ⁱ over more than half of n members; half of the ties.

    Examples
    --------
    >>> round(ensemble_error(25, 0.35), 2)
    0.06
    """
    if not whole(at_least=1).admits(members):
        raise ParameterError("ensemble_error", "members", "a whole number of at least 1", members)
    if not 0 <= error <= 1:
        raise ParameterError("ensemble_error", "error", "a fraction between 0 and 1", error)
    # Of an even number of members the first tail leaves ties out, and the second has all of them.
    tails = [bdtrc(half, members, error) for half in (members // 2, (members - 1) // 2)]
    return float(sum(tails) / 2)


def _models() -> Constraint:
    """A list of classifiers, or a mapping from names to them."""
    one = a_classifier()

    def admits(value: Any) -> bool:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | Mapping):
            return False
        every = list(value.values()) if isinstance(value, Mapping) else list(value)
        return bool(every) and all(one.admits(model) for model in every)

    return Constraint("a list of classifiers", admits, bad=([], "all", [3.5]))


class Vote(Ensemble):
    """Let unlike models vote: trained on the same rows, counted by one rule.

    Votes divided by their sum are the posterior, and its argmax is the label. To draw labels from
    it, put `Decide` with a `RouletteWheel` over the vote.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.ensembles.vote import Vote
    >>> weather = cw.read("sample:weather")
    >>> model = Vote({"bayes": cw.NaiveBayes(), "tree": cw.ID3(), "tan": cw.TAN()}, "majority")
    >>> model.fit(weather).votes(weather.take([5]))
    array([[2., 1.]])
    """

    estimators: Any = parameter(
        nothing() | _models(),
        "list of classifiers (countwise's or scikit-learn's), or a mapping from names to "
        "classifiers. None: naive Bayes, TAN and ID3",
        default=None,
        kw_only=False,
    )
    how: str = parameter(
        one_of(*WAYS),
        "'majority': each member has one vote. 'weighted': votes are multiplied by weights. "
        "'mean': the members' posteriors are averaged. 'roulette': each vote is drawn from the "
        "member's posterior, and the same row always gets the same draws. 'gain': each member "
        "votes for the class with the largest expected gain",
        default="mean",
        kw_only=False,
    )
    weights: Any = parameter(
        nothing() | array(),
        "weights of the members in a 'weighted' vote; None takes the log-odds of the accuracy of "
        "each member in five-fold cross-validation on the training rows",
        default=None,
    )
    gain: Any = parameter(
        nothing() | GAIN_CONSTRAINT,
        "gain matrix for a 'gain' vote, in any form that GainMatrix.of reads, such as an array "
        "with true classes in rows and decisions in columns",
        default=None,
    )
    random_state: Any = parameter(seed(), "random seed of roulette votes", default=0)
    members_: dict[str, Classifier] = fitted("the trained models by name")
    weights_: FloatArray = fitted("what the vote of each member weighs")
    agreement_: FloatArray = fitted(
        "the fraction of training rows on which two members agree, members × members"
    )
    _gain: FloatArray | None = fitted()

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train every member on the same rows."""
        table, weight, *_ = self._training(X, y, sample_weight)
        self._take_classes(table)
        self._seed = draw_seed(self.random_state)
        self._gain = self._read_gain() if self.how == "gain" else None
        named = self._name_models()
        self._trained = [
            train_member(set_seed(model, self._seed), table, self.classes_, weight)
            for model in named.values()
        ]
        self.members_ = dict(zip(named, (member.model for member in self._trained), strict=True))
        self.weights_ = self._weigh(list(named.values()), table, weight)
        self._compare_members(table, weight)
        left_out = (n for m in self.members_.values() for n in getattr(m, "notes_", ()))
        self.notes_ += tuple(dict.fromkeys(note for note in left_out if note.code == "W02"))
        return self

    def after_load(self) -> None:
        """Check the loaded parts and make the rest from them."""
        self._adopt(self.members_.values())
        members, classes = len(self._trained), len(self.classes_)
        weights, agreement, gain = self.weights_, self.agreement_, self._gain
        if weights.shape != (members,) or agreement.shape != (members, members):
            raise ParameterError("Vote: there must be a weight for each member.")
        if not np.all((weights >= 0) & (weights < 1e300)) or not weights.sum() > 0:
            raise ParameterError("Vote: weights must be finite, at least 0 and not all 0.")
        if not np.isfinite(agreement).all() or (gain is None) != (self.how != "gain"):
            raise ParameterError("Vote: gains are needed to vote by them, and only then.")
        if gain is not None and (gain.shape != (classes, classes) or not np.isfinite(gain).all()):
            raise ParameterError("Vote: there must be a finite gain for every two classes.")

    def _read_gain(self) -> FloatArray:
        if self.gain is None:
            raise ParameterError(
                "Vote: how='gain' needs a gain matrix; got None.", hint="Give `gain=`"
            )
        matrix = GainMatrix.of(self.gain, self.classes_.tolist())
        if matrix.no_decision is not None:
            raise GainError(
                "Vote: gain must have no decision beside the classes, for which members vote; got "
                f"{matrix.no_decision!r}. Take its column out, or decide over the vote: "
                "Decide(Vote(...), gain)."
            )
        return matrix.values

    def _untrained(self) -> Iterable[Any]:
        return self._name_models().values()

    def _name_models(self) -> dict[str, Any]:
        models = self.estimators
        if models is None:
            models = [NaiveBayes(), TAN(cuts="mdl"), ID3()]
        if isinstance(models, Mapping):
            return {str(name): model for name, model in models.items()}
        named: dict[str, Any] = {}
        for model in models:
            kind = name = type(model).__name__
            number = 2
            while name in named:
                name, number = f"{kind} {number}", number + 1
            named[name] = model
        return named

    def _weigh(self, bases: list[Any], table: Table, weight: FloatArray | None) -> FloatArray:
        """Return the weight of each vote: one, the stated one, or the cross-validated one."""
        if self.weights is None:
            even = self.how != "weighted"
            return np.ones(len(bases)) if even else self._log_odds(bases, table, weight)
        if self.how != "weighted":
            raise ParameterError(
                f"Vote: weights need how='weighted'; got how={self.how!r}.",
                hint=("leave `weights=` out", "set `how='weighted'`"),
            )
        stated = np.asarray(self.weights, dtype=np.float64)
        fits = stated.shape == (len(bases),) and bool(np.isfinite(stated).all())
        if not fits or np.any(stated < 0) or not stated.sum() > 0:
            rule = f"{len(bases)} numbers of at least 0, one a member and not all 0"
            raise ParameterError("Vote", "weights", rule, stated.tolist())
        return stated

    def _log_odds(self, bases: list[Any], table: Table, weight: FloatArray | None) -> FloatArray:
        """Return log-odds of being right on rows of other folds; a row's content is its fold."""
        truth = np.searchsorted(np.unique(table.target), table.target)
        right, total = np.zeros(len(bases)), 0.0
        for part in content_folds(row_keys(table, target=True), weight):
            train, test = table.take(part.rest), drop_unseen(table.take(part.out))
            amount = np.ones(len(part.out)) if part.out_weight is None else part.out_weight
            total += float(amount.sum())
            for place, base in enumerate(bases):
                model = set_seed(base, self._seed)
                member = train_member(model, train, self.classes_, part.rest_weight)
                hits = member.labels(test, len(self.classes_)) == truth[part.out]
                right[place] += amount[hits].sum()
        odds = (right + 1) / (total - right + 1)
        weights = np.maximum(np.log(odds * max(len(self.classes_) - 1, 1)), 0.0)
        return weights if weights.sum() > 0 else np.ones(len(bases))

    def _compare_members(self, table: Table, weight: FloatArray | None) -> None:
        """Measure how often members agree, and note if it is too often."""
        weight = np.ones(len(table)) if weight is None else weight
        truth = np.searchsorted(np.unique(table.target), table.target)
        if len(table) > _COMPARED:
            some = order_by_content(table)[:_COMPARED]
            table, weight, truth = table.take(some), weight[some], truth[some]
        labels = self._labels_by_member(table)
        self.agreement_ = measure_agreement(labels, weight)
        error = ((labels != truth) * weight).sum(axis=1) / weight.sum()
        pairs = np.triu_indices(len(labels), 1)
        if not len(pairs[0]):
            return
        seen = float(self.agreement_[pairs].mean())
        one, two = error[pairs[0]], error[pairs[1]]
        by_chance = (1 - one) * (1 - two) + one * two / max(len(self.classes_) - 1, 1)
        if seen > float(by_chance.mean()) + TOO_ALIKE:
            alike = Note.of("V02", seen=seen, independent=by_chance.mean())
            self.notes_ = (*self.notes_, alike)

    def _labels_by_member(self, table: Table) -> NDArray[np.intp]:
        number = len(self.classes_)
        return np.stack([member.labels(table, number) for member in self._trained])

    @property
    def _vote_weights(self) -> FloatArray:
        return self.weights_

    @property
    def _way(self) -> str:
        return self.how

    def _cast(
        self, posteriors: FloatArray, keys: NDArray[np.uint64] | None, place: int
    ) -> FloatArray:
        earned = posteriors if self._gain is None else posteriors @ self._gain
        return super()._cast(earned, keys, place)

    def agreement(self, X: Any) -> FloatArray:
        """Return the fraction of rows on which two members agree, members × members."""
        table = drop_unseen(self._rows(X))
        return measure_agreement(self._labels_by_member(table), np.ones(len(table)))

    def views(self) -> Sequence[View]:
        """Return the members, their weights and how often two of them agree."""
        from countwise.models.views import Member, MemberList

        check_is_fitted(self, "members_")
        members = zip(self.members_, self.weights_.tolist(), strict=True)
        note = f"{len(self.members_)} models vote ({self.how})."
        return (MemberList(note, tuple(Member(*line) for line in members), self.agreement_),)


def measure_agreement(labels: NDArray[np.intp], weight: FloatArray) -> FloatArray:
    """Return the fraction of rows on which two members agree, from members × rows of labels."""
    fractions = np.ones((len(labels), len(labels)))
    for one in range(len(labels)):
        for two in range(one):
            agreed = float(((labels[one] == labels[two]) * weight).sum() / weight.sum())
            fractions[one, two] = fractions[two, one] = agreed
    return fractions
