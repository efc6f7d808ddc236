"""Vote: unlike models answer the same rows, and their votes are counted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys
from countwise.decisions.gain_matrix import GAIN_CONSTRAINT, GainMatrix
from countwise.errors import GainError, ParameterError
from countwise.models.base import Classifier
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.bayes.tan import TAN
from countwise.models.ensembles.members import (
    Member,
    a_classifier,
    adopt_members,
    cast,
    chunks,
    quiet,
    seeded,
    trained,
    whole_votes,
)
from countwise.models.tree.id3 import ID3
from countwise.notes import Note
from countwise.numeric import draw_seed
from countwise.params import (
    Constraint,
    array,
    derived,
    fitted,
    nothing,
    one_of,
    parameter,
    seed,
)
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.views import View

WAYS = ("majority", "weighted", "mean", "roulette", "gain")
#: Members that answer alike more often than independent ones by this much are remarked on.
TOO_ALIKE = 0.05

_FOLDS = 5
#: How many training rows are looked at to see how alike members are.
_LOOKED_AT = 20_000


def ensemble_error(members: int, error: float) -> float:
    """Return the error of a majority of independent members that each err with this probability.

    Kuo's slides: Σ C(n, i) εⁱ (1 - ε)ⁿ⁻ⁱ over more than half of n members; half of the ties.

    Examples
    --------
    >>> round(ensemble_error(25, 0.35), 2)
    0.06
    """
    if isinstance(members, bool) or not isinstance(members, int) or members < 1:
        raise ParameterError(
            f"ensemble_error: members must be a whole number of at least 1, but {members!r} came."
        )
    if not 0 <= error <= 1:
        raise ParameterError(
            f"ensemble_error: error must be a share between 0 and 1, but {error!r} came."
        )
    total = 0.0
    for wrong in range(math.ceil(members / 2), members + 1):
        if error in (0, 1):
            share = float(wrong == members * error)
        else:
            share = math.exp(
                math.lgamma(members + 1)
                - math.lgamma(wrong + 1)
                - math.lgamma(members - wrong + 1)
                + wrong * math.log(error)
                + (members - wrong) * math.log1p(-error)
            )
        total += share / 2 if 2 * wrong == members else share
    return min(total, 1.0)


def _models() -> Constraint:
    """A list of classifiers, or a mapping from names to them."""
    one = a_classifier()

    def admits(value: Any) -> bool:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | Mapping):
            return False
        every = list(value.values()) if isinstance(value, Mapping) else list(value)
        return bool(every) and all(one.admits(own) for own in every)

    return Constraint("a list of classifiers", admits, bad=([], "all", [3.5]))


class Vote(Classifier):
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
        "a list of classifiers, ours or scikit-learn's, or a mapping from names to them. None "
        "is naive Bayes, TAN and ID3",
        default=None,
        kw_only=False,
    )
    how: str = parameter(
        one_of(*WAYS),
        "'majority': each member one vote for its label. 'weighted': the same, times weights. "
        "'mean': the members' posteriors are averaged. 'roulette': each member's vote is drawn "
        "from its posterior, the same row always with the same draws. 'gain': each member votes "
        "for the class that earns it most under gain",
        default="mean",
        kw_only=False,
    )
    weights: Any = parameter(
        nothing() | array(),
        "one for each member, for 'weighted'; None takes the log-odds of being right in a five- "
        "fold cross-validation of the training rows",
        default=None,
    )
    gain: Any = parameter(
        nothing() | GAIN_CONSTRAINT,
        "what each assigned class earns for each true one, for 'gain': anything GainMatrix.of "
        "reads, such as a mapping of mappings or an array in the order of the classes, rows "
        "true",
        default=None,
    )
    random_state: Any = parameter(seed(), "the seed of roulette", default=0)
    members_: dict[str, Classifier] = fitted("the trained models by name")
    weights_: FloatArray = fitted("what the vote of each member weighs")
    agreement_: FloatArray = fitted(
        "the share of training rows on which two members answer alike, members × members"
    )
    _seed: int = fitted()
    _gain: FloatArray | None = fitted()
    _trained: list[Member] = derived()

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train every member on the same rows."""
        table, weight, *_ = self._training(X, y, sample_weight)
        self._take_classes(table)
        self._seed = draw_seed(self.random_state)
        self._gain = None
        if self.how == "gain":
            self._gain = self._gains()
        named = self._named()
        self._trained = [
            trained(seeded(own, self._seed), table, self.classes_, weight) for own in named.values()
        ]
        self.members_ = dict(zip(named, (own.model for own in self._trained), strict=True))
        self.weights_ = self._weighed(list(named.values()), table, weight)
        self._look_at(table, weight)
        return self

    def _after_load(self) -> None:
        self._check_classes()
        self._trained = adopt_members(self, self.members_.values())
        members, classes = len(self._trained), len(self.classes_)
        weights, agreement, gain = self.weights_, self.agreement_, self._gain
        if weights.shape != (members,) or agreement.shape != (members, members):
            raise ParameterError("Vote: there must be a weight for each member.")
        if not np.all((weights >= 0) & (weights < 1e300)) or not weights.sum() > 0:
            raise ParameterError("Vote: weights must be finite, at least 0 and not all 0.")
        if not 0 <= self._seed < 2**31:
            raise ParameterError("Vote: the seed must be a whole number of at least 0.")
        if not np.isfinite(agreement).all() or (gain is None) != (self.how != "gain"):
            raise ParameterError("Vote: gains are needed to vote by them, and only then.")
        if gain is not None and (gain.shape != (classes, classes) or not np.isfinite(gain).all()):
            raise ParameterError("Vote: there must be a finite gain for every two classes.")

    def _summary(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist(), "members": len(self.members_)}

    def _gains(self) -> FloatArray:
        if self.gain is None:
            raise ParameterError("Vote: how='gain' needs a gain matrix; got None. Give gain=.")
        matrix = GainMatrix.of(self.gain, self.classes_.tolist())
        if matrix.no_decision is not None:
            raise GainError(
                "Vote: gain must have no decision beside the classes, for which members vote; got "
                f"{matrix.no_decision!r}. Take its column out, or decide over the vote: "
                "Decide(Vote(...), gain)."
            )
        return matrix.values

    def _named(self) -> dict[str, Any]:
        if self.estimators is None:
            every: Any = [NaiveBayes(), TAN(cuts="mdl"), ID3()]
        else:
            every = self.estimators
        if isinstance(every, Mapping):
            return {str(name): own for name, own in every.items()}
        named: dict[str, Any] = {}
        for own in every:
            word = name = type(own).__name__
            number = 2
            while name in named:
                name, number = f"{word} {number}", number + 1
            named[name] = own
        return named

    def _weighed(self, bases: list[Any], table: Table, weight: FloatArray | None) -> FloatArray:
        """What each vote weighs: one, what was given, or what cross-validation says."""
        if self.weights is None:
            even = self.how != "weighted"
            return np.ones(len(bases)) if even else self._log_odds(bases, table, weight)
        if self.how != "weighted":
            raise ParameterError(
                f"Vote: weights belong to how='weighted', but how={self.how!r} came. Leave them "
                "out, or ask for a weighted vote."
            )
        given = np.asarray(self.weights, dtype=np.float64)
        fits = given.shape == (len(bases),) and bool(np.isfinite(given).all())
        if not fits or np.any(given < 0) or not given.sum() > 0:
            raise ParameterError(
                f"Vote: weights must be {len(bases)} numbers of at least 0, one a member and not "
                f"all 0, but {given.tolist()} came."
            )
        return given

    def _log_odds(self, bases: list[Any], table: Table, weight: FloatArray | None) -> FloatArray:
        """Log-odds of being right on rows of other folds; a row's fold is in its content."""
        fold = row_keys(table, target=True) % np.uint64(_FOLDS)
        own = np.ones(len(table)) if weight is None else weight
        truth = np.searchsorted(np.unique(table.target), table.target)
        right, asked = np.zeros(len(bases)), 0.0
        for part in range(_FOLDS):
            out = fold == part
            if not out.any() or out.all():
                continue
            rest, given = table.take(~out), None if weight is None else weight[~out]
            tested = quiet(table.take(out))
            asked += float(own[out].sum())
            for place, base in enumerate(bases):
                member = trained(seeded(base, self._seed), rest, self.classes_, given)
                said = member.posteriors(tested, len(self.classes_)).argmax(axis=1)
                right[place] += own[out][said == truth[out]].sum()
        odds = (right + 1) / (asked - right + 1)
        chance = 1 / max(len(self.classes_) - 1, 1)
        made = np.maximum(np.log(odds / chance), 0.0)
        return made if made.sum() > 0 else np.ones(len(bases))

    def _look_at(self, table: Table, weight: FloatArray | None) -> None:
        """See how alike members are, and remark if too much so."""
        own = np.ones(len(table)) if weight is None else weight
        some = np.arange(len(table))
        if len(some) > _LOOKED_AT:
            some = np.argsort(row_keys(table, target=True), kind="stable")[:_LOOKED_AT]
        rows, own = table.take(some), own[some]
        truth = np.searchsorted(np.unique(table.target), rows.target)
        said = np.stack(
            [member.posteriors(rows, len(self.classes_)).argmax(axis=1) for member in self._trained]
        )
        self.agreement_ = agreement_of(said, own)
        error = ((said != truth) * own).sum(axis=1) / own.sum()
        pairs = np.triu_indices(len(said), 1)
        if not len(pairs[0]):
            return
        seen = float(self.agreement_[pairs].mean())
        one, two = error[pairs[0]], error[pairs[1]]
        by_chance = (1 - one) * (1 - two) + one * two / max(len(self.classes_) - 1, 1)
        if seen > float(by_chance.mean()) + TOO_ALIKE:
            alike = Note.of("V02", seen=seen, independent=by_chance.mean())
            self.notes_ = (*self.notes_, alike)

    def _scores(self, table: Table) -> FloatArray:
        votes = self._votes(table)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(votes / self.weights_.sum()))

    def _votes(self, table: Table) -> FloatArray:
        votes = np.zeros((len(table), len(self.classes_)))
        for rows, place, cast_votes in self._each_vote(table):
            votes[rows] += self.weights_[place] * cast_votes
        return votes

    def _each_vote(self, table: Table) -> Iterator[tuple[slice, int, FloatArray]]:
        table = quiet(table)
        widest = max(
            (own.features for own in self._trained if own.features is not None),
            key=lambda own: len(own.names),
            default=None,
        )
        for chunk in chunks(len(table), widest):
            part = table.take(chunk)
            keys = row_keys(part) if self.how == "roulette" else None
            for place, member in enumerate(self._trained):
                said = member.posteriors(part, len(self.classes_))
                if self._gain is not None:
                    yield chunk, place, whole_votes(said @ self._gain)
                else:
                    yield chunk, place, cast(said, self.how, keys, self._seed, place)

    def votes(self, X: Any) -> FloatArray:
        """Return the votes for each class, rows × classes; they sum to the members' weights."""
        check_is_fitted(self, "members_")
        return self._votes(self._rows(X))

    def member_votes(self, X: Any) -> FloatArray:
        """Return what each member says: rows × members × classes, before weights."""
        table = self._rows(X)
        every = np.zeros((len(table), len(self._trained), len(self.classes_)))
        for rows, place, cast_votes in self._each_vote(table):
            every[rows, place] = cast_votes
        return every

    def agreement(self, X: Any) -> FloatArray:
        """Return the share of rows on which two members answer alike, members × members."""
        table = quiet(self._rows(X))
        number = len(self.classes_)
        said = [member.posteriors(table, number).argmax(axis=1) for member in self._trained]
        return agreement_of(np.stack(said), np.ones(len(table)))

    def views(self) -> Sequence[View]:
        """Return the members, their weights and how often two of them agree."""
        from countwise.models.views import Member, MemberList

        check_is_fitted(self, "members_")
        members = zip(self.members_, self.weights_.tolist(), strict=True)
        note = f"{len(self.members_)} models vote ({self.how})."
        return (MemberList(note, tuple(Member(*own) for own in members), self.agreement_),)


def agreement_of(said: NDArray[np.intp], weight: FloatArray) -> FloatArray:
    """Return the share of rows on which two members answer alike, from members × rows of labels."""
    alike = np.ones((len(said), len(said)))
    for one in range(len(said)):
        for two in range(one):
            share = float(((said[one] == said[two]) * weight).sum() / weight.sum())
            alike[one, two] = alike[two, one] = share
    return alike
