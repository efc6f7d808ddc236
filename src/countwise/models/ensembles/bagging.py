"""What members say about rows they did not draw, and the errors that are estimated from it.

The out-of-bag error is the ensemble's (Breiman 1996). The leave-one-out bootstrap, .632 and .632+
are estimates for a single model of the kind (Efron & Tibshirani 1997).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.engines.resampled import fold_resampled, in_one_pass
from countwise.counts.resampling import Draws, Proportional, draws_of
from countwise.counts.row_hash import row_keys
from countwise.errors import ParameterError
from countwise.models.base import Classifier
from countwise.models.bayes.counted import CountedModel
from countwise.models.ensembles.members import (
    CASTS,
    Member,
    a_classifier,
    adopt_members,
    cast,
    chunks,
    encoded,
    places_of,
    quiet,
    seeded,
    trained,
)
from countwise.models.linear.encoder import Features
from countwise.models.tree.id3 import ID3
from countwise.numeric import draw_seed
from countwise.params import (
    Constraint,
    boolean,
    derived,
    fitted,
    nothing,
    number,
    one_of,
    parameter,
    seed,
    whole,
)
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.views import View


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """What members said about rows they did not draw, and the errors estimated from it.

    Attributes
    ----------
    votes
        Rows × classes; a row that every member drew has none.
    error
        Share of rows whose class does not win their out-of-bag votes: the ensemble's error.
    asked
        Share of rows that some member did not draw.
    single_error
        The mean error of single members on rows they did not draw: the leave-one-out bootstrap.
    apparent_error
        The error of one model, trained on all rows, on these very rows.
    no_information
        The error that such a model would have if columns and classes were unrelated.

    Examples
    --------
    >>> import countwise as cw
    >>> model = cw.Bagging(cw.NaiveBayes(), n_estimators=20, oob_score=True)
    >>> model = model.fit(cw.read("sample:iris"))
    >>> found = model.out_of_bag_
    >>> found.apparent_error <= found.error_632 <= found.single_error
    True
    """

    votes: FloatArray
    error: float
    asked: float
    single_error: float
    apparent_error: float
    no_information: float

    def check(self) -> None:
        """Refuse votes that are none."""
        if self.votes.ndim != 2 or not np.all((self.votes >= 0) & np.isfinite(self.votes)):
            raise ValueError("out-of-bag votes must be numbers of at least 0")

    @property
    def error_632(self) -> float:
        """The .632 estimate: 0.368 apparent error + 0.632 leave-one-out bootstrap."""
        return 0.368 * self.apparent_error + 0.632 * self.single_error

    @property
    def overfitting(self) -> float:
        """The relative overfitting rate: 0 none, 1 as much as if nothing could be learned."""
        worst = min(self.single_error, self.no_information)
        room = self.no_information - self.apparent_error
        if worst <= self.apparent_error or room <= 0:
            return 0.0
        return float((worst - self.apparent_error) / room)

    @property
    def error_632_plus(self) -> float:
        """The .632+ estimate, which leans on the bootstrap where a model overfits."""
        weight = 0.632 / (1 - 0.368 * self.overfitting)
        worst = min(self.single_error, self.no_information)
        return float((1 - weight) * self.apparent_error + weight * worst)

    def placed(self, rows: NDArray[np.intp], number: int) -> OutOfBag:
        """Return the votes in the places of the rows in the table they came from."""
        votes = np.zeros((number, self.votes.shape[1]))
        votes[rows] = self.votes
        return replace(self, votes=votes)

    def to_dict(self) -> dict[str, float]:
        """Return the figures as plain data."""
        return {
            "error": self.error,
            "asked": self.asked,
            "single_error": self.single_error,
            "apparent_error": self.apparent_error,
            "no_information": self.no_information,
            "error_632": self.error_632,
            "error_632_plus": self.error_632_plus,
        }

    def describe(self) -> str:
        """Return the figures in a few sentences."""
        return (
            f"Out of bag the ensemble errs on {self.error:.1%} of the rows ({self.asked:.1%} of "
            f"all were asked about).\nA single model: {self.apparent_error:.1%} on its own rows, "
            f"{self.single_error:.1%} on others; .632 says {self.error_632:.1%}, .632+ "
            f"{self.error_632_plus:.1%}."
        )


def asked_out_of_bag(
    table: Table,
    members: Sequence[Member],
    alone: Member,
    draws: Draws | Proportional,
    classes: NDArray[Any],
    vote: str,
    seed: int,
    weight: FloatArray | None,
) -> OutOfBag:
    """Ask every member about the rows it did not draw; rows go by in chunks."""
    own = np.ones(len(table)) if weight is None else weight
    present = np.unique(table.target)
    truth = np.searchsorted(present, table.target)
    number = len(classes)
    votes = np.zeros((len(table), number))
    missed, asked = np.zeros(len(table)), np.zeros(len(table))
    apparent = np.zeros(number)
    wrong = 0.0
    features = alone.features
    whole = [slice(0, len(table))]
    for chunk in chunks(len(table), features) if isinstance(draws, Draws) else whole:
        part, real = table.take(chunk), truth[chunk]
        keys = row_keys(part) if vote == "roulette" else None
        times = draws.between(0, len(members), chunk.start, chunk.stop)
        matrix = None if features is None else features.matrix(part)
        said = alone.posteriors(part, number, matrix).argmax(axis=1)
        apparent += np.bincount(said, own[chunk], minlength=number)
        wrong += float(own[chunk][said != real].sum())
        for place, member in enumerate(members):
            left = np.flatnonzero(times[:, place] == 0)
            if not len(left):
                continue
            given = None if matrix is None else matrix[left]
            shares = member.posteriors(part.take(left), number, given)
            at = chunk.start + left
            votes[at] += cast(shares, vote, None if keys is None else keys[left], seed, place)
            missed[at] += shares.argmax(axis=1) != real[left]
            asked[at] += 1
    some = asked > 0
    total, answered = own.sum(), own[some].sum()
    failed = own[some & (votes.argmax(axis=1) != truth)].sum()
    single = (own[some] * missed[some] / asked[some]).sum()
    shares_of = np.bincount(truth, own, minlength=number) / total
    nan = float("nan")
    return OutOfBag(
        votes,
        float(failed / answered) if answered else nan,
        float(answered / total),
        float(single / answered) if answered else nan,
        wrong / float(total),
        float((shares_of * (1 - apparent / total)).sum()),
    )


def share_of_rows() -> Constraint:
    """A share of the rows to draw."""
    part = number(above=0)
    return Constraint(
        "a share above 0 and at most 1",
        lambda value: part.admits(value) and float(value) <= 1,
        good=(0.5, 1.0),
        bad=(0.0, 1.5, "half"),
    )


class Bagging(Classifier):
    """Let many models vote, each trained on its own bootstrap of the rows (Breiman 1996).

    Of models that learn from counts (`NaiveBayes`, and `TAN`, `AODE` on nominal columns) all
    members are counted in one pass over the rows, each row with a block of weights, one a member;
    no row is copied, and which rows a member drew is a seed. Other models, also other libraries',
    are refitted. Draws follow what is in a row, not where it stands: shuffled rows give the same
    members, and a row of weight 3 is drawn like three equal rows.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.ensembles.bagging import Bagging
    >>> votes = cw.read("sample:votes")
    >>> model = Bagging(cw.NaiveBayes(), n_estimators=10, vote="majority", oob_score=True)
    >>> model = model.fit(votes)
    >>> model.votes(votes.take([0]))
    array([[ 0., 10.]])
    >>> round(model.out_of_bag_.error, 2)
    0.1
    """

    estimator: Any = parameter(
        nothing() | a_classifier(),
        "the model to repeat; None is an unpruned ID3",
        default=None,
        kw_only=False,
    )
    n_estimators: int = parameter(whole(at_least=1), "how many", default=50)
    fraction: float = parameter(
        share_of_rows(), "how many rows a member draws, as a share of all", default=1.0
    )
    replace: bool = parameter(
        boolean(), "draw with replacement (the bootstrap), or each row at most once", default=True
    )
    vote: str = parameter(
        one_of(*CASTS),
        "'mean' of the members' posteriors, 'majority' of their labels (each member one vote), "
        "or 'roulette': each member's vote is drawn from its posterior, as Liu, Gegov and Cocea "
        "(2016) propose for further work; the same row always gets the same draws",
        default="mean",
    )
    oob_score: bool = parameter(
        boolean(),
        "ask every member about the rows it did not draw; see 'out_of_bag_'",
        default=False,
    )
    random_state: Any = parameter(seed(), "the seed of all draws", default=0)
    members_: list[Classifier] = fitted("the trained models")
    out_of_bag_: OutOfBag | None = fitted(
        "with 'oob_score=True' an OutOfBag: votes, error, .632 and .632+"
    )
    _seed: int = fitted()
    _trained: list[Member] = derived()

    @property
    def votes_(self) -> FloatArray | None:
        """With ``oob_score=True`` the out-of-bag votes, rows × classes."""
        return None if self.out_of_bag_ is None else self.out_of_bag_.votes

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Let every member draw its rows, and train it on them."""
        rows, weight, kept, total = self._training(X, y, sample_weight)
        self._seed = draw_seed(self.random_state)
        self._take_classes(rows)
        # In the order of what is in them, equal rows side by side: position must not matter.
        order = np.argsort(row_keys(rows, target=True), kind="stable")
        rows = rows.take(order)
        weight = None if weight is None else weight[order]
        draws = draws_of(
            len(rows),
            self.n_estimators,
            self._seed,
            float(self.fraction),
            bool(self.replace),
            weight,
        )
        self._trained = self._members(rows, draws, weight)
        self.members_ = [member.model for member in self._trained]
        self.out_of_bag_ = None
        if self.oob_score:
            places = order if kept is None else kept[order]
            self._ask_out_of_bag(rows, weight, draws, places, total)
        return self

    def _after_load(self) -> None:
        self._check_classes()
        self._trained = adopt_members(self, self.members_)
        if not self._trained or not 0 <= self._seed < 2**31:
            raise ParameterError("Bagging: there must be a member and a seed.")

    def _summary(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist(), "members": len(self.members_)}

    def _base(self) -> Any:
        return ID3() if self.estimator is None else self.estimator

    def _members(
        self, table: Table, draws: Draws | Proportional, weight: FloatArray | None
    ) -> list[Member]:
        base = self._base()
        if isinstance(base, CountedModel) and isinstance(draws, Draws):
            clone(base)._learn_recode(table, None)
            plan = base.counts_needed(table.schema)
            if plan is not None and in_one_pass(table, plan):
                counts = fold_resampled(table, plan, draws)
                return [self._member(clone(base).fit_counts(own)) for own in counts]
        features = None if isinstance(base, Classifier) else Features.learn(table, weight)
        matrix = None if features is None else encoded(base, features, table)
        return [
            trained(
                seeded(base, self._seed + member),
                table,
                self.classes_,
                times=draws.times(member),
                features=features,
                matrix=matrix,
            )
            for member in range(self.n_estimators)
        ]

    def _member(self, model: Any) -> Member:
        return Member(model, places_of(model.classes_, self.classes_))

    def _scores(self, table: Table) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._votes(table) / len(self._trained)))

    def _votes(self, table: Table) -> FloatArray:
        votes = np.zeros((len(table), len(self.classes_)))
        for rows, _, cast_votes in self._each_vote(table):
            votes[rows] += cast_votes
        return votes

    def _each_vote(self, table: Table) -> Iterator[tuple[slice, int, FloatArray]]:
        """What each member says about each chunk of rows."""
        table = quiet(table)
        features = self._trained[0].features
        for chunk in chunks(len(table), features):
            part = table.take(chunk)
            keys = row_keys(part) if self.vote == "roulette" else None
            matrix = None if features is None else features.matrix(part)
            for place, member in enumerate(self._trained):
                said = member.posteriors(part, len(self.classes_), matrix)
                yield chunk, place, cast(said, self.vote, keys, self._seed, place)

    def votes(self, X: Any) -> FloatArray:
        """Return the votes for each class, rows × classes; they sum to the number of members.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.models.ensembles.bagging import Bagging
        >>> weather = cw.read("sample:weather")
        >>> model = Bagging(n_estimators=8, vote="majority").fit(weather)
        >>> model.votes(weather.take([0, 2])).sum(axis=1)
        array([8., 8.])
        """
        return self._votes(self._rows(X))

    def member_votes(self, X: Any) -> FloatArray:
        """Return what each member says: rows × members × classes."""
        table = self._rows(X)
        every = np.zeros((len(table), len(self._trained), len(self.classes_)))
        for rows, place, cast_votes in self._each_vote(table):
            every[rows, place] = cast_votes
        return every

    def _ask_out_of_bag(
        self,
        rows: Table,
        weight: FloatArray | None,
        draws: Draws | Proportional,
        places: NDArray[np.intp],
        total: int,
    ) -> None:
        alone = trained(seeded(self._base(), self._seed), rows, self.classes_, weight)
        found = asked_out_of_bag(
            rows, self._trained, alone, draws, self.classes_, self.vote, self._seed, weight
        )
        self.out_of_bag_ = found.placed(places, total)

    def views(self) -> Sequence[View]:
        """Return the estimates of the error, if there are any, and the views of the first member.

        A member of another library has none.
        """
        from countwise.models.views import MemberList

        check_is_fitted(self, "members_")
        first, errors = self.members_[0], {}
        member_views = first.views() if isinstance(first, Classifier) else ()
        if (found := self.out_of_bag_) is not None:
            errors = {
                "ensemble, out of bag": found.error,
                "one model, leave-one-out bootstrap": found.single_error,
                "one model, .632": found.error_632,
                "one model, .632+": found.error_632_plus,
                "one model, on its training rows": found.apparent_error,
            }
        note = (
            f"{len(self.members_)} models ({type(first).__name__}), each trained on a random "
            f"sample of the rows.{' Below is the first of them.' if member_views else ''}"
        )
        return (MemberList(note, errors=errors), *member_views)
