"""AdaBoost: rules learned one after the other, each on what the ones before it got wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from countwise.counts.cuts import cut_table
from countwise.counts.row_keys import row_keys
from countwise.errors import ParameterError
from countwise.params import Parameter, boolean, instance, names, nothing, one_of, whole
from countwise.posteriors.base import Classifier
from countwise.posteriors.casting import whole_votes
from countwise.posteriors.evidence import Explanation
from countwise.posteriors.features import Features
from countwise.posteriors.members import Member, a_classifier, chunks, quiet, seeded, trained
from countwise.posteriors.stumps import Rule, WeightedTables, best_rule, fine_cuts, rule_words
from countwise.posteriors.terms import Sum, TableTerm
from countwise.tables.notes import Note
from countwise.tables.schema import Column
from countwise.tables.table import Table, code_type

Doubles = NDArray[np.float64]

#: How often in a row weights may be set back before rounds by resampling end.
_MOST_RESETS = 10
#: Reweighing makes the classes exactly as heavy as each other: rounding must not break such ties.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Round:
    """One round: its weighted error ε, the weight α of its vote, and what it asks, in words.

    Examples
    --------
    >>> Round(0.25, 0.549, "windy", "windy = TRUE: no; windy = FALSE: yes").alpha
    0.549
    """

    epsilon: float
    alpha: float
    column: str | None
    words: str

    def to_dict(self) -> dict[str, Any]:
        """Return the round as plain data."""
        return {
            "epsilon": self.epsilon,
            "alpha": self.alpha,
            "column": self.column,
            "words": self.words,
        }


class AdaBoost(Classifier):
    """Boost weak rules: each round weighs up the rows that the round before got wrong.

    Freund and Schapire (1997), as Kuo's slides tell it: a rule of weighted error ε votes with
    α = ½ ln((1 - ε)/ε), rows it misses are multiplied by exp(α), others by exp(-α), and weights sum
    to one. For K classes ln(K - 1)/2 is added to α, so that any rule better than chance counts
    (SAMME, Zhu et al. 2009). The posterior is that of additive logistic regression, the votes
    doubled and exponentiated (Friedman, Hastie & Tibshirani 2000); its argmax is the weighted
    majority.

    The usual base is a rule of one column, found from weighted counts of all columns in one pass a
    round. Such a model is a table of votes for each column, which predicts by looking up and
    explains itself in log-odds that add up.

    Parameters
    ----------
    base
        The model to boost; None is the best rule of one column.
    rounds
        How many at most. A rule without error decides alone and ends them; one no better than
        chance ends them and has no vote.
    method
        ``weights`` trains on weighted rows; ``resampling`` on rows drawn by their weights, as the
        slides say: there a rule no better than chance sets the weights back and draws anew.
    keep_weights
        Keep the weights of the rows before each round, ``weights_``: rounds × rows.
    nominal
        Number columns of frames and arrays that are codes.
    random_state
        The seed of resampling.

    Attributes
    ----------
    rounds_
        A `Round` each: ε, α and the rule in words.
    epsilons_, alphas_
        The errors and the vote weights of all rounds.
    cut_points_
        Between which intervals thresholds may lie: at most 254 a column, of equal weight.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.posteriors.boosting import AdaBoost
    >>> model = AdaBoost(rounds=20).fit(cw.read("sample:iris"))
    >>> print(model.rounds_[0].words)
    petal_length ≤ 2.45: Iris-setosa; else: Iris-versicolor
    >>> round(model.rounds_[0].epsilon, 3), round(model.rounds_[0].alpha, 3)
    (0.333, 0.693)
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "base": Parameter(nothing() | a_classifier(), "the model to boost"),
        "rounds": Parameter(whole(at_least=1), "how many rules at most"),
        "method": Parameter(one_of("weights", "resampling"), "how rows are weighed"),
        "keep_weights": Parameter(boolean(), "keep the weights of rows in each round"),
        "nominal": Parameter(one_of("all") | names(), "number columns that are codes"),
        "random_state": Parameter(
            whole(at_least=0) | nothing() | instance(np.random.RandomState), "seed of resampling"
        ),
    }

    rounds_: tuple[Round, ...]
    epsilons_: Doubles
    alphas_: Doubles
    cut_points_: dict[str, Doubles]
    weights_: Doubles

    def __init__(
        self,
        base: Any = None,
        rounds: int = 50,
        method: str = "weights",
        *,
        keep_weights: bool = False,
        nominal: Any = (),
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.rounds = rounds
        self.method = method
        self.keep_weights = keep_weights
        self.nominal = nominal
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn one rule a round."""
        rows, given, kept, total = self._training(X, y, sample_weight)
        weight = np.ones(len(rows)) if given is None else given
        present = self._take_classes(rows)
        self._shares = np.bincount(rows.target, weight)[present] / weight.sum()
        order = np.arange(len(rows))
        if self.method == "resampling" or self.base is not None:
            # Chance follows what is in a row, not where it stands.
            order = np.argsort(row_keys(rows, target=True), kind="stable")
            rows, weight = rows.take(order), weight[order]
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        history = self._boost(_of_classes(rows, present), weight)
        if self.keep_weights:
            self.weights_ = np.zeros((len(history), total))
            self.weights_[:, order if kept is None else kept[order]] = np.reshape(
                history, (-1, len(rows))
            )
        if not self.rounds_:
            text = "No rule was better than chance; the answer is the class shares of all rows."
            self.notes_ = (*self.notes_, Note("V01", None, text))
        return self

    def _boost(self, table: Table, given: Doubles) -> list[Doubles]:
        """Go through the rounds; return the weights before each, if they are to be kept."""
        weak: Any
        if self.base is None:
            weak = _Rules(table, given, self.method, self._seed)
        else:
            weak = _Members(self.base, table, given, self.method, self._seed, self.classes_)
        rounds: list[Round] = []
        learned: list[Any] = []
        history: list[Doubles] = []
        hit = miss = 1.0
        resets = 0
        while len(rounds) < self.rounds and table.schema.attributes:
            rule, epsilon = weak.learn(hit, miss)
            if epsilon >= self._chance - 1e-10:
                if self.method == "weights" or resets == _MOST_RESETS:
                    break
                weak.reset()
                hit = miss = 1.0
                resets += 1
                continue
            resets = 0
            if self.keep_weights:
                history.append(weak.weight / weak.weight.sum())
            alpha = _alpha(epsilon, len(self.classes_), weak.size)
            rounds.append(Round(epsilon, alpha, *weak.words(rule)))
            learned.append(rule)
            if epsilon == 0:
                # A rule without error needs no others, and leaves nothing to weigh up.
                rounds, learned, history = rounds[-1:], learned[-1:], history[-1:]
                break
            total = (1 - epsilon) + epsilon * math.exp(2 * alpha)
            hit, miss = 1 / total, math.exp(2 * alpha) / total
        self.rounds_ = tuple(rounds)
        self.epsilons_ = np.asarray([own.epsilon for own in rounds])
        self.alphas_ = np.asarray([own.alpha for own in rounds])
        self._adopt(learned, weak.cut_points)
        return history

    @property
    def _chance(self) -> float:
        return 1 - 1 / max(len(self.classes_), 2)

    def _scores(self, table: Table) -> Doubles:
        if not self.rounds_:
            return np.tile(np.log(self._shares), (len(table), 1))
        if self.base is None:
            return self._sum.scores(cut_table(table, self.cut_points_))
        scores = np.zeros((len(table), len(self.classes_)))
        for chunk in chunks(len(table), self._trained[0].features):
            for own, vote in self._each_vote(table.take(chunk)):
                scores[chunk] += 2 * own.alpha * vote
        return scores

    def _each_vote(self, table: Table) -> Iterator[tuple[Round, Doubles]]:
        table, number = quiet(table), len(self.classes_)
        if self.base is None:
            cut = cut_table(table, self.cut_points_)
            for own, rule in zip(self.rounds_, self._rules, strict=True):
                yield own, np.eye(number)[rule.said[cut.codes(rule.column)]]
            return
        features = self._trained[0].features
        matrix = None if features is None else features.matrix(table)
        for own, member in zip(self.rounds_, self._trained, strict=True):
            yield own, whole_votes(member.posteriors(table, number, matrix), _EQUAL)

    def votes(self, X: Any) -> Doubles:
        """Return the sum of α for each class, rows × classes: the weighted votes.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.posteriors.boosting import AdaBoost
        >>> weather = cw.read("sample:weather")
        >>> model = AdaBoost(rounds=3).fit(weather)
        >>> bool(np.allclose(model.votes(weather).sum(axis=1), model.alphas_.sum()))
        True
        """
        table = self._rows(X)
        votes = np.zeros((len(table), len(self.classes_)))
        for own, vote in self._each_vote(table):
            votes += own.alpha * vote
        return votes

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the labels after one round, after two, and so on."""
        table = self._rows(X)
        votes = np.zeros((len(table), len(self.classes_)))
        for own, vote in self._each_vote(table):
            votes += own.alpha * vote
            yield self.classes_[votes.argmax(axis=1)]

    def explain(self, X: Any) -> Explanation:
        """Say what each column adds to the log posterior; of rules of one column only."""
        table = self._rows(X)
        if self.base is not None or not self.rounds_:
            raise ParameterError(
                "AdaBoost: only votes of one-column rules can be told apart by column, but this "
                f"model boosts {self.base!r} in {len(self.rounds_)} rounds. Leave base out."
            )
        cut = cut_table(table, self.cut_points_)
        terms = self._sum.terms
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=tuple(term.columns[0] for term in terms),
            values=tuple(
                tuple(_shown(cut, term.columns[0], row) for term in terms)
                for row in range(len(cut))
            ),
            base=self._sum.base.copy(),
            parts=self._sum.parts(cut),
            joint=self._sum.scores(cut),
        )

    def describe(self) -> str:
        """Return the rounds as lines of text: ε, α and the rule."""
        check_is_fitted(self, "rounds_")
        return "\n".join(
            f"{place:3d}  ε {own.epsilon:.4f}  α {own.alpha:.4f}  {own.words}"
            for place, own in enumerate(self.rounds_, 1)
        )

    def _adopt(self, learned: list[Any], cut_points: dict[str, Doubles]) -> None:
        """Keep what was learned: members, or the tables of votes that rules add up to."""
        self.cut_points_ = cut_points
        if self.base is not None:
            self._trained: list[Member] = learned
            self.members_ = [member.model for member in learned]
            return
        self._rules: list[Rule] = learned
        number = len(self.classes_)
        figures: dict[str, Doubles] = {}
        for own, rule in zip(self.rounds_, learned, strict=True):
            votes = figures.setdefault(rule.column, np.zeros((len(rule.said), number)))
            votes[np.arange(len(rule.said)), rule.said] += 2 * own.alpha
        terms = [TableTerm((name,), own) for name, own in figures.items()]
        self._sum = Sum(np.zeros(number), terms)


def _alpha(epsilon: float, classes: int, rows: int) -> float:
    """The weight of a vote; a rule without error is taken to miss half a row more than none."""
    least = max(epsilon, 0.5 / (rows + 1))
    return 0.5 * (math.log((1 - least) / least) + math.log(max(classes, 2) - 1))


def _of_classes(table: Table, present: NDArray[Any]) -> Table:
    """The table with those classes only that it holds."""
    target = table.target_column
    if len(present) == target.width:
        return table
    codes = np.searchsorted(present, table.target).astype(code_type(len(present)))
    kept = Column(target.name, "target", tuple(target.levels[at] for at in present.tolist()))
    data = {name: table.raw_array(name) for name in table.names} | {target.name: codes}
    return Table._made(table.schema.with_columns([kept]), data, table.notes, table.unseen)


class _Rules:
    """Rules of one column, from weighted counts of all columns in one pass a round."""

    def __init__(self, table: Table, given: Doubles, method: str, seed: int) -> None:
        self.cut_points = fine_cuts(table, given)
        self.numeric = tuple(self.cut_points)
        self.table = cut_table(table, self.cut_points)
        self.weight = given / given.sum()
        self.first = self.weight.copy() if method == "resampling" else None
        self.tables = WeightedTables(self.table, self.weight)
        self.size = _size(given)
        self.stream = np.random.default_rng(seed)
        self.last: Rule | None = None

    def learn(self, hit: float, miss: float) -> tuple[Rule, float]:
        """Reweigh the rows by the last rule, and find the next one."""
        if self.first is None:
            self.last = best_rule(self.tables.after(self.last, hit, miss), self.numeric)
            return self.last, self.last.error
        if self.last is not None:
            self.weight *= np.where(self._missed(self.last), miss, hit)
        times = _drawn(self.weight, self.size, self.stream).astype(np.float64)
        self.last = best_rule(WeightedTables(self.table, times).after(None), self.numeric)
        missed = self.weight[self._missed(self.last)].sum()
        return self.last, float(missed / self.weight.sum())

    def _missed(self, rule: Rule) -> NDArray[np.bool_]:
        said = rule.said[self.table.codes(rule.column)]
        return np.asarray(said != self.table.target)

    def reset(self) -> None:
        """Set the weights back to those of the beginning."""
        assert self.first is not None  # only resampling sets back
        self.weight[:] = self.first
        self.last = None

    def words(self, rule: Rule) -> tuple[str, str]:
        """Say which column a rule asks for, and what it answers."""
        return rule.column, rule_words(rule, self.table, self.cut_points)


class _Members:
    """Any other model, trained on weighted rows or on rows drawn by their weights."""

    def __init__(
        self, base: Any, table: Table, given: Doubles, method: str, seed: int, classes: Any
    ) -> None:
        ours = isinstance(base, Classifier)
        if method == "weights" and not ours and not has_fit_parameter(base, "sample_weight"):
            raise ParameterError(
                f"AdaBoost: by weights, the base must take sample_weight, but {base!r} does not. "
                "Use method='resampling', or another base."
            )
        self.base, self.table, self.classes, self.method = base, table, classes, method
        self.cut_points: dict[str, Doubles] = {}
        self.weight = given / given.sum()
        self.first = self.weight.copy()
        self.scale = float(given.sum())
        self.size = _size(given)
        self.features = None if ours else Features.learn(table, given)
        self.matrix = None if self.features is None else self.features.matrix(table)
        self.stream, self.seed = np.random.default_rng(seed), seed
        self.missed: NDArray[np.bool_] | None = None

    def learn(self, hit: float, miss: float) -> tuple[Member, float]:
        """Reweigh the rows by what the last member missed, and train the next one."""
        if self.missed is not None:
            self.weight *= np.where(self.missed, miss, hit)
        self.seed += 1
        by_draws = self.method == "resampling"
        member = trained(
            seeded(self.base, self.seed),
            self.table,
            self.classes,
            # Weights sum to the rows again, for models to which their scale means something.
            None if by_draws else self.weight * (self.scale / self.weight.sum()),
            _drawn(self.weight, self.size, self.stream) if by_draws else None,
            self.features,
        )
        posteriors = member.posteriors(self.table, len(self.classes), self.matrix)
        said = whole_votes(posteriors, _EQUAL).argmax(axis=1)
        self.missed = np.asarray(said != self.table.target)
        return member, float(self.weight[self.missed].sum() / self.weight.sum())

    def reset(self) -> None:
        """Set the weights back to those of the beginning."""
        self.weight[:] = self.first
        self.missed = None

    def words(self, member: Member) -> tuple[None, str]:
        """Name the model."""
        return None, repr(member.model)


def _size(given: Doubles) -> int:
    """How many rows are drawn: as many as there are, a row of whole weight counted so often."""
    return len(given) if np.any(given % 1) else max(1, round(float(given.sum())))


def _drawn(weight: Doubles, size: int, stream: np.random.Generator) -> NDArray[np.intp]:
    """How often each row is drawn, by its weight."""
    edge = np.cumsum(weight)
    place = np.searchsorted(edge, stream.random(size) * edge[-1], side="right")
    return np.bincount(np.minimum(place, len(edge) - 1), minlength=len(edge))


def _shown(table: Table, name: str, row: int) -> str:
    column, code = table.schema[name], int(table.codes(name)[row])
    if code < column.width:
        return str(column.levels[code])
    return "missing" if code == column.width else "never seen"
