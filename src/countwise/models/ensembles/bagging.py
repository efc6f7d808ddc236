"""Bagging: models trained on bootstrap samples vote; the rows not drawn estimate the error.

The out-of-bag error is the ensemble's (Breiman 1996). The leave-one-out bootstrap, .632 and .632+
are estimates for a single model of the kind (Efron & Tibshirani 1997).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
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
from countwise.models.base import Classifier, check_scan, leave_out_text, refuse_scan
from countwise.models.bayes.counted import CountedModel
from countwise.models.choose_smoothing import AMOUNTS, FEWEST_ROWS, least_loss, loss_of
from countwise.models.ensembles.members import (
    CASTS,
    Ensemble,
    Member,
    a_classifier,
    chooses_smoothing,
    chunks,
    encode,
    find_places,
    order_by_content,
    set_seed,
    train_member,
    uncalibrated,
)
from countwise.models.ensembles.scanned_members import MemberPasses
from countwise.models.linear.encoder import Features
from countwise.models.tree.id3 import ID3
from countwise.notes import Note
from countwise.numeric import draw_seed
from countwise.params import boolean, fitted, nothing, number, one_of, parameter, seed, whole
from countwise.tables.scan import Block, Scan
from countwise.tables.schema import labels_array
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

if TYPE_CHECKING:
    from countwise.models.views import View


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """The votes of members on rows they did not draw, and the errors estimated from them.

    Attributes
    ----------
    votes
        Rows × classes; a row that every member drew has none. Those of a scan are not kept.
    error
        Fraction of rows whose class does not win their out-of-bag votes: the ensemble's error.
    coverage
        Fraction of rows that some member did not draw.
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
    coverage: float
    single_error: float
    apparent_error: float
    no_information: float

    def check(self) -> None:
        """Refuse votes that are no counts."""
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
        """The .632+ estimate, which relies on the bootstrap where a model overfits."""
        weight = 0.632 / (1 - 0.368 * self.overfitting)
        worst = min(self.single_error, self.no_information)
        return float((1 - weight) * self.apparent_error + weight * worst)

    def to_dict(self) -> dict[str, float]:
        """Return the figures as plain data."""
        names = [name for name in vars(self) if name != "votes"]
        return {name: getattr(self, name) for name in (*names, "error_632", "error_632_plus")}

    def describe(self) -> str:
        """Return the figures in a few sentences."""
        return (
            f"Out of bag the ensemble errs on {self.error:.1%} of the rows; {self.coverage:.1%} of "
            f"all have votes.\nA single model: {self.apparent_error:.1%} on its training rows, "
            f"{self.single_error:.1%} on others; .632 says {self.error_632:.1%}, .632+ "
            f"{self.error_632_plus:.1%}."
        )


@dataclass(frozen=True, eq=False)
class _OutOfBagSums:
    """Sums over rows that were tested out of bag: weights of rows, unless said otherwise."""

    truth: FloatArray  # by class
    apparent: FloatArray  # by the class that the model of all rows decides for
    wrong: float  # of this model
    covered: float  # with a vote
    failed: float  # whose class does not win
    missed: float  # times the fraction of single members that err

    def __add__(self, other: _OutOfBagSums) -> _OutOfBagSums:
        mine, others = vars(self), vars(other)
        return _OutOfBagSums(**{name: mine[name] + others[name] for name in mine})

    def estimate(self, votes: FloatArray) -> OutOfBag:
        """Return the errors estimated from these sums."""
        total, covered = float(self.truth.sum()), self.covered
        return OutOfBag(
            votes,
            self.failed / covered if covered else float("nan"),
            covered / total,
            self.missed / covered if covered else float("nan"),
            self.wrong / total,
            float((self.truth / total * (1 - self.apparent / total)).sum()),
        )


#: So many rows at most are judged to choose it.
_JUDGES = 5000


class Bagging(Ensemble):
    """Let many models vote, each trained on a bootstrap sample of the rows (Breiman 1996).

    Of models that learn from counts (`NaiveBayes`, and `TAN`, `AODE` on nominal columns) all
    members are counted in one pass over the rows, each row with a block of weights, one a member;
    no row is copied, and which rows a member drew is a seed. Other models, also other libraries',
    are refitted. Draws follow what is in a row, not where it stands: shuffled rows give the same
    members, and a row of weight 3 is drawn like three equal rows.

    Rows outside memory (`Scan`) are bagged if the model learns from them. How often a member draws
    a row is then a Poisson number with the mean `fraction` (without `replace` one draw with that
    probability), from a hash of where the row is, times the weight of the row, if there are
    weights. One scan serves all members.

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
        "model to train on each sample; None: an unpruned ID3. With smoothing='auto' (as None has) "
        "and vote='mean', all members get the number of imagined rows or votes with which the rows "
        "that members did not draw have the least log loss; otherwise, with fewer than 50 rows, "
        "without such rows and in a scan, 1",
        default=None,
        kw_only=False,
    )
    n_estimators: int = parameter(whole(at_least=1), "number of members", default=50)
    fraction: float = parameter(
        number(above=0, at_most=1),
        "number of rows that each member draws, as a fraction of all rows",
        default=1.0,
    )
    replace: bool = parameter(
        boolean(),
        "whether rows are drawn with replacement (the bootstrap) or each at most once",
        default=True,
    )
    vote: str = parameter(
        one_of(*CASTS),
        "'mean': the members' posteriors are averaged. 'majority': each member has one vote. "
        "'roulette': each vote is drawn from the member's posterior, as Liu, Gegov and Cocea "
        "(2016) propose for further work; the same row always gets the same draws",
        default="mean",
    )
    oob_score: bool = parameter(
        boolean(),
        "whether to test every member on the rows it did not draw; the result is 'out_of_bag_'",
        default=False,
    )
    random_state: Any = parameter(seed(), "random seed of all draws", default=0)
    members_: list[Classifier] = fitted("the trained models")
    out_of_bag_: OutOfBag | None = fitted(
        "with 'oob_score=True' an OutOfBag: votes, error, .632 and .632+"
    )

    @property
    def _way(self) -> str:
        return self.vote

    @property
    def votes_(self) -> FloatArray | None:
        """With ``oob_score=True`` the out-of-bag votes, rows × classes."""
        return None if self.out_of_bag_ is None else self.out_of_bag_.votes

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Let every member draw its rows, and train it on them."""
        if isinstance(X, Scan):
            return self._fit_scan(X, y, sample_weight)
        rows, weight, kept, total = self._training(X, y, sample_weight)
        self._seed = draw_seed(self.random_state)
        self._take_classes(rows)
        # Equal rows stand side by side: position must not matter.
        order = order_by_content(rows)
        rows, weight = rows.take(order), None if weight is None else weight[order]
        members, fraction = self.n_estimators, float(self.fraction)
        draws = draws_of(len(rows), members, self._seed, fraction, bool(self.replace), weight)
        self._trained = self._train(rows, draws, weight)
        self.members_ = [member.model for member in self._trained]
        self._choose_smoothing(rows, weight)
        self.out_of_bag_ = None
        if self.oob_score:
            found = self._judge_out_of_bag(rows, weight, draws)
            votes = np.zeros((total, len(self.classes_)))
            votes[order if kept is None else kept[order]] = found.votes
            self.out_of_bag_ = replace(found, votes=votes)
        return self

    @property
    def takes_scans(self) -> bool:  # type: ignore[override]
        """Whether it learns from rows outside memory, as the model that it trains does."""
        return bool(getattr(self._base(), "takes_scans", False))

    def _fit_scan(self, scan: Scan, y: Any, sample_weight: ArrayLike | None) -> Self:
        """Train all members side by side on rows outside memory."""
        self.check_parameters()
        base = uncalibrated(self._base())
        if not self.takes_scans:
            refuse_scan(type(base).__name__, scan)
        check_scan(self, scan, y, sample_weight)
        self._seed = draw_seed(self.random_state)
        members, fraction, again = self.n_estimators, float(self.fraction), bool(self.replace)
        passes = MemberPasses(scan, self._seed, members, fraction, again)
        weights = passes.begin(base)
        rows = leave_out_text(self, scan)
        self.schema_ = rows.schema
        present = np.flatnonzero(weights > 0)
        self.classes_ = labels_array([rows.classes[place] for place in present.tolist()])
        whole = set_seed(self._base(), self._seed) if self.oob_score else None
        self.members_, alone = passes.fit(base, whole)
        self._trained = [self._member(model) for model in self.members_]
        how = "a Poisson number of times, with mean" if again else "at most once, with probability"
        self.notes_ = (*rows.notes, Note.of("S12", members=members, how=how, fraction=fraction))
        self.out_of_bag_ = None
        if alone is not None:
            sums = self._judge_scan(passes, self._member(alone), present)
            self.out_of_bag_ = sums.estimate(np.zeros((0, len(present))))
        return self

    def _judge_scan(
        self, passes: MemberPasses, alone: Member, present: NDArray[np.intp]
    ) -> _OutOfBagSums:
        """Test every member on the rows it did not draw, in one scan."""
        place = np.zeros(present.max() + 1, dtype=np.intp)
        place[present] = np.arange(len(present))

        def fold(block: Block) -> _OutOfBagSums:
            weight = np.ones(len(block.numbers)) if block.weight is None else block.weight
            some = np.flatnonzero(weight)  # a class may have no other rows than those without
            block = block.take(some)
            table = leave_out_text(self, block.table)
            times = np.stack([passes.draw(block, at) for at in range(self.n_estimators)], axis=1)
            return self._test_rows(table, place[table.target], weight[some], times, alone)[1]

        sums: _OutOfBagSums = passes.run_scan(fold, operator.add)
        return sums

    def _member(self, model: Classifier) -> Member:
        return Member(model, find_places(model.classes_, self.classes_))

    def after_load(self) -> None:
        """Check the loaded parts and make the rest from them."""
        self._adopt(self.members_)
        if not self._trained:
            raise ParameterError("Bagging: there must be a member.")

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        found = self.out_of_bag_
        errors = {} if found is None else {"out_of_bag": found.to_dict()}
        return {**super().file_summary(), **errors}

    def describe_training(self) -> list[str]:
        """Return the estimates of the error, if there are any, in sentences."""
        return [] if self.out_of_bag_ is None else self.out_of_bag_.describe().splitlines()

    def _base(self) -> Any:
        return ID3() if self.estimator is None else self.estimator

    def _choose_smoothing(self, table: Table, weight: FloatArray | None) -> None:
        """Take the smoothing of all members with the least log loss of the vote, out of bag.

        A row of whole weight is judged as if it were repeated, each copy by the members that did
        not draw it.
        """
        if self.vote != "mean" or not chooses_smoothing(self._base()):
            return
        if weight is not None and (repeats := whole_repeats(weight)) is not None:
            table, weight = table.take(np.repeat(np.arange(len(table)), repeats)), None
        if len(table) < FEWEST_ROWS:
            return
        fraction, again = float(self.fraction), bool(self.replace)
        draws = draws_of(len(table), len(self._trained), self._seed, fraction, again, weight)
        judges = np.arange(0, len(table), -(-len(table) // _JUDGES))
        votes = np.zeros((len(AMOUNTS), len(judges), len(self.classes_)))
        voters = np.zeros(len(judges))
        for place, member in enumerate(self._trained):
            left = np.flatnonzero(draws.times(place)[judges] == 0)
            if not len(left):
                continue
            found = member.model.posteriors_by_smoothing(table.take(judges[left]), AMOUNTS)
            for into, posteriors in zip(votes, found, strict=True):
                into[np.ix_(left, member.place)] += posteriors
            voters[left] += 1
        some = np.flatnonzero(voters)
        if not len(some):
            return
        counted = np.ones(len(some)) if weight is None else weight[judges[some]]
        truth = np.searchsorted(np.unique(table.target), table.target)[judges[some]]
        share = votes[:, some] / voters[some, None]
        losses = np.array([loss_of(found, truth, counted) for found in share])
        chosen = least_loss(losses / counted.sum())
        for model in self.members_:
            model.set_params(smoothing=chosen).smoothing_ = chosen

    def _train(
        self, table: Table, draws: Draws | Proportional, weight: FloatArray | None
    ) -> list[Member]:
        base = uncalibrated(self._base())
        if isinstance(base, CountedModel) and isinstance(draws, Draws):
            clone(base)._learn_recode(table, None)
            plan = base.counts_needed(table.schema)
            if plan is not None and in_one_pass(table, plan):
                folded = fold_resampled(table, plan, draws)
                models = [clone(base).fit_counts(counts) for counts in folded]
                return [self._member(model) for model in models]
        features = None if isinstance(base, Classifier) else Features.learn(table, weight)
        matrix = None if features is None else encode(base, features, table)
        return [
            train_member(
                set_seed(base, self._seed + place),
                table,
                self.classes_,
                times=draws.times(place),
                features=features,
                matrix=matrix,
            )
            for place in range(self.n_estimators)
        ]

    def _judge_out_of_bag(
        self, table: Table, weight: FloatArray | None, draws: Draws | Proportional
    ) -> OutOfBag:
        """Test every member on the rows it did not draw; rows go by in chunks."""
        alone = train_member(set_seed(self._base(), self._seed), table, self.classes_, weight)
        weight = np.ones(len(table)) if weight is None else weight
        truth = np.searchsorted(np.unique(table.target), table.target)
        votes, sums = [], []
        all_rows = [slice(0, len(table))]
        some = chunks(len(table), [alone.features]) if isinstance(draws, Draws) else all_rows
        for chunk in some:
            times = draws.between(0, len(self._trained), chunk.start, chunk.stop)
            part = table.take(chunk)
            found = self._test_rows(part, truth[chunk], weight[chunk], times, alone)
            votes.append(found[0])
            sums.append(found[1])
        return reduce(operator.add, sums).estimate(np.concatenate(votes))

    def _test_rows(
        self,
        part: Table,
        truth: NDArray[np.intp],
        weight: FloatArray,
        times: NDArray[np.integer[Any]],
        alone: Member,
    ) -> tuple[FloatArray, _OutOfBagSums]:
        """Let members vote on the rows they did not draw; return the votes, and sums over rows."""
        classes, features = len(self.classes_), alone.features
        votes = np.zeros((len(part), classes))
        missed, tested = np.zeros(len(part)), np.zeros(len(part))
        keys = row_keys(part) if self.vote == "roulette" else None
        matrix = None if features is None else features.matrix(part)
        labels = alone.labels(part, classes, matrix)
        for place, member in enumerate(self._trained):
            left = np.flatnonzero(times[:, place] == 0)
            if not len(left):
                continue
            some = None if matrix is None else matrix[left]
            shares = member.posteriors(part.take(left), classes, some)
            votes[left] += self._cast(shares, None if keys is None else keys[left], place)
            missed[left] += shares.argmax(axis=1) != truth[left]
            tested[left] += 1
        has_votes = tested > 0
        sums = _OutOfBagSums(
            np.bincount(truth, weight, minlength=classes).astype(np.float64),
            np.bincount(labels, weight, minlength=classes).astype(np.float64),
            float(weight[labels != truth].sum()),
            float(weight[has_votes].sum()),
            float(weight[has_votes & (votes.argmax(axis=1) != truth)].sum()),
            float((weight[has_votes] * missed[has_votes] / tested[has_votes]).sum()),
        )
        return votes, sums

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
