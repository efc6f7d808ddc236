"""AdaBoost: a weighted vote of one-column rules, found from weighted counts, or of other models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.engines import _kernels
from countwise.counts.engines.memory import JOINT_CELLS, joint_groups
from countwise.counts.histogram import Grid
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import cut_points
from countwise.discretize.recode import Recode
from countwise.errors import ParameterError
from countwise.models.base import Classifier
from countwise.models.bayes.score_terms import ScoreTerms, TableTerm
from countwise.models.ensembles import _adaboost
from countwise.models.ensembles.calibrate import (
    POWERS,
    calibrated,
    choose_calibration,
    kept_offset,
)
from countwise.models.ensembles.members import (
    Ensemble,
    Member,
    a_classifier,
    drop_unseen,
    order_by_content,
    set_seed,
    train_member,
    uncalibrated,
    vote_for_largest,
)
from countwise.models.explanation import Explanation
from countwise.models.linear.encoder import Features
from countwise.notes import Note
from countwise.numeric import draw_seed
from countwise.parallel import in_threads
from countwise.params import boolean, derived, fitted, nothing, one_of, parameter, seed, whole
from countwise.tables.labels import value_text
from countwise.tables.schema import Column
from countwise.tables.table import Table, code_type

if TYPE_CHECKING:
    from countwise.models.views import View

#: A number is cut into at most so many intervals, between which a threshold may lie.
MOST_INTERVALS = 254
#: Rows a task reweighs and tallies before tables are merged.
_CHUNK = 1 << 18
#: Errors closer than this are equal: the order in which weights were summed must not decide.
_EQUAL = 1e-10
#: A column is left out of a search only if its error is this much larger than the least.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule of one column: a class (by its place) for each code, missing and unseen included.

    `threshold` is the last code on the left where the column is numeric; else None.
    """

    column: str
    answers: NDArray[np.int32]
    error: float
    threshold: int | None = None

    def check(self) -> None:
        """Refuse answers that are not one a code."""
        if self.answers.ndim != 1 or not len(self.answers):
            raise ValueError("a rule must have an answer for each code")


def fine_cuts(
    table: Table, weight: FloatArray | None, most: int = MOST_INTERVALS
) -> dict[str, FloatArray]:
    """Cut numeric columns between all values, or evenly by weight if there are many."""
    names = tuple(column.name for column in table.schema.numeric)
    if not names:
        return {}
    grids = count(table, Plan(grids=names), sample_weight=weight).grids
    return {name: _cuts(grids[name], most) for name in names}


def _cuts(grid: Grid, most: int) -> FloatArray:
    seen = grid.table[:-1].sum(axis=0) > 0
    points = grid.points[seen]
    if grid.exact and len(points) <= most:
        return np.asarray(points[:-1] + (points[1:] / 2 - points[:-1] / 2))
    return cut_points(grid, "frequency", most)


class WeightedTables:
    """The weights of rows and, from one pass a round, their tables class × column.

    Columns with few levels share a joint table, so that a row costs one sum for several of them.
    Pieces of rows are merged in order: the result does not depend on the number of threads.
    """

    def __init__(self, table: Table, weight: FloatArray) -> None:
        self.table, self.weight = table, weight
        self.columns = [column.name for column in table.schema.attributes]
        self.slots = table.target_column.width + 2
        self.target = _kernels.Axes([table.target], [1])
        widths = [table.schema[name].width + 2 for name in self.columns]
        most = max(4, JOINT_CELLS // self.slots)
        places = joint_groups(widths, most)
        self.groups = [[self.columns[at] for at in group] for group in places]
        self.shapes = [(self.slots, *(widths[at] for at in group)) for group in places]
        self.axes = [self._axes(*both) for both in zip(self.groups, self.shapes, strict=True)]
        self.codes = {name: _kernels.Axes([table.codes(name)], [1]) for name in self.columns}
        self.borders = [(at, min(at + _CHUNK, len(table))) for at in range(0, len(table), _CHUNK)]

    def _axes(self, names: Sequence[str], shape: tuple[int, ...]) -> _kernels.Axes:
        strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        codes = [self.table.target, *(self.table.codes(name) for name in names)]
        return _kernels.Axes(codes, strides)

    def after(
        self, rule: Rule | None, hit: float = 1.0, miss: float = 1.0
    ) -> dict[str, FloatArray]:
        """Reweigh the rows that a rule hits and misses, and return the tables of all columns."""
        codes = self.target if rule is None else self.codes[rule.column]
        answers = None if rule is None else rule.answers

        def piece(border: tuple[int, int]) -> list[FloatArray]:
            tables = [np.zeros(int(np.prod(shape))) for shape in self.shapes]
            _adaboost.reweigh_and_tally(
                codes, self.target, answers, hit, miss, *border, self.weight, self.axes, tables
            )
            return tables

        parts = in_threads(piece, self.borders)
        found: dict[str, FloatArray] = {}
        for place, group in enumerate(self.groups):
            joint = sum(part[place] for part in parts)
            whole = np.asarray(joint).reshape(self.shapes[place])
            for axis, name in enumerate(group):
                others = tuple(1 + other for other in range(len(group)) if other != axis)
                found[name] = whole.sum(axis=others)[:-2]
        return found


def best_rule(tables: dict[str, FloatArray], numeric: Sequence[str]) -> Rule:
    """Return the rule of one column that misses the least weight; of equal ones the first.

    A nominal column answers by the heaviest class of each level; a numeric one by the side of a
    threshold. Missing values have a separate answer, levels of no weight that of all rows.
    """
    total = float(next(iter(tables.values())).sum())
    hopeless = _hopeless(tables, numeric, total)
    best: Rule | None = None
    for name, cells in tables.items():
        if name in hopeless:
            continue
        rule = _threshold(name, cells, total) if name in numeric else _levels(name, cells, total)
        if best is None or rule.error < best.error - _EQUAL:
            best = rule
    assert best is not None  # a table has at least one column
    return best


def _hopeless(
    tables: dict[str, FloatArray], numeric: Sequence[str], total: float
) -> frozenset[str]:
    """Return the numeric columns whose best threshold misses more than that of another.

    All are judged at once, which takes a fraction of the time of one after the other; what rounding
    may do to their errors leaves them in.
    """
    if len(numeric) < 2:
        return frozenset()
    widths = [tables[name].shape[1] - 2 for name in numeric]
    classes = len(tables[numeric[0]])
    known = np.zeros((len(numeric), classes, max(widths)))
    blank = np.empty((len(numeric), classes))
    for at, (name, width) in enumerate(zip(numeric, widths, strict=True)):
        known[at, :, :width] = tables[name][:, :width]
        blank[at] = tables[name][:, width]
    left = np.cumsum(known, axis=2)
    right = left[:, :, -1:] - left
    missed = left.sum(axis=1) - left.max(axis=1) + right.sum(axis=1) - right.max(axis=1)
    errors = missed.min(axis=1) + blank.sum(axis=1) - blank.max(axis=1)
    beyond = errors > errors.min() + _SLACK * total
    return frozenset(name for name, is_beyond in zip(numeric, beyond, strict=True) if is_beyond)


def _heaviest(cells: FloatArray, total: float) -> NDArray[np.int32]:
    """Return the first class of about the largest weight, along the first axis."""
    near = cells >= cells.max(axis=0) - _EQUAL * total
    return np.asarray(near.argmax(axis=0), dtype=np.int32)


def _missed(cells: FloatArray) -> FloatArray:
    """Return the weight of all classes but the heaviest; exactly zero where one class is alone."""
    return np.asarray(np.sort(cells, axis=0)[:-1].sum(axis=0))


def _levels(name: str, cells: FloatArray, total: float) -> Rule:
    answers = _heaviest(cells, total)
    answers[cells.sum(axis=0) <= 0] = _heaviest(cells.sum(axis=1), total)
    return Rule(name, answers, float(_missed(cells).sum()) / total)


def _threshold(name: str, cells: FloatArray, total: float) -> Rule:
    known, blank = cells[:, :-2], cells[:, -2]
    left = np.cumsum(known, axis=1)
    right = np.cumsum(known[:, ::-1], axis=1)[:, ::-1]
    right = np.concatenate([right[:, 1:], np.zeros((len(known), 1))], axis=1)
    missed = _missed(left) + _missed(right)
    at = int((missed <= missed.min() + _EQUAL * total).argmax())
    answers = np.full(cells.shape[1], _heaviest(cells.sum(axis=1), total), dtype=np.int32)
    answers[:-2] = _heaviest(left[:, at], total)
    if right[:, at].sum() > 0:
        answers[at + 1 : -2] = _heaviest(right[:, at], total)
    if blank.sum() > 0:
        answers[-2] = _heaviest(blank, total)
    return Rule(name, answers, float(missed[at] + _missed(blank)) / total, at)


def describe_rule(rule: Rule, table: Table, points: Mapping[str, FloatArray], most: int = 3) -> str:
    """Return a rule in words: the answer for each level, or on both sides of a threshold."""
    column = table.schema[rule.column]
    labels = [table.classes[place] for place in rule.answers.tolist()]
    if rule.threshold is not None:
        cuts = points[rule.column]
        if rule.threshold >= len(cuts):
            return f"{rule.column}: always {labels[0]}"
        cut = cuts[rule.threshold]
        edge = value_text(float(cut), column.dates, 4)
        return f"{rule.column} ≤ {edge}: {labels[0]}; else: {labels[rule.threshold + 1]}"
    levels: dict[Any, list[str]] = {}
    for level, label in zip(column.levels, labels, strict=False):
        levels.setdefault(label, []).append(str(level))
    parts = []
    for label, names in levels.items():
        more = f" or {len(names) - most} more" if len(names) > most else ""
        parts.append(f"{' or '.join(names[:most])}{more}: {label}")
    return f"{rule.column} = " + "; ".join(parts)


#: Rounds that are told after training.
_DESCRIBED = 3
#: How often in a row weights may be set back before rounds by resampling end.
_MOST_RESETS = 10
#: Reweighing makes the classes exactly as heavy as each other: rounding must not break such ties.
_EQUAL_ROUNDS = 1e-9


@dataclass(frozen=True)
class Round:
    """One round: its weighted error ε, the weight α of its vote, and its rule in words.

    Examples
    --------
    >>> Round(0.25, 0.549, "windy", "windy = TRUE: no; windy = FALSE: yes").alpha
    0.549
    """

    epsilon: float
    alpha: float
    column: str | None
    words: str

    def check(self) -> None:
        """Refuse errors and weights that no round has."""
        if not 0 <= self.epsilon < 1 or not 0 <= self.alpha < 1e6:
            raise ValueError("a round must have an error below 1 and a finite weight")


class AdaBoost(Ensemble):
    """Boost weak rules: each round weighs up the rows that the round before got wrong.

    Freund and Schapire (1997), as in Kuo's slides: a rule of weighted error ε votes with
    α = ½ ln((1 - ε)/ε), rows it misses are multiplied by exp(α), others by exp(-α), and weights sum
    to one. For K classes ln(K - 1)/2 is added to α, so that any rule better than chance counts
    (SAMME, Zhu et al. 2009). The posterior is that of additive logistic regression, the votes
    doubled and exponentiated (Friedman, Hastie & Tibshirani 2000); its argmax is the weighted
    majority. Boosting separates its training rows far too surely, so the votes are first divided by
    a temperature, and the class shares may count beside them; both are chosen on rows that were
    held out. They change no decision.

    The usual base is a rule of one column, found from weighted counts of all columns in one pass a
    round. Such a model is a table of votes for each column, which predicts by looking up and
    explains itself in log-odds that add up.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.ensembles.adaboost import AdaBoost
    >>> model = AdaBoost(n_estimators=20).fit(cw.read("sample:iris"))
    >>> print(model.rounds_[0].words)
    petal_length ≤ 2.45: Iris-setosa; else: Iris-versicolor
    >>> round(model.rounds_[0].epsilon, 3), round(model.rounds_[0].alpha, 3)
    (0.333, 0.693)
    """

    estimator: Any = parameter(
        nothing() | a_classifier(),
        "model to boost; None means decision stumps, rules on a single column",
        default=None,
        kw_only=False,
    )
    n_estimators: int = parameter(
        whole(at_least=1),
        "largest number of rounds. Boosting ends early if a rule makes no error (it then decides "
        "alone) or is no better than chance (it is discarded)",
        default=100,
    )
    method: str = parameter(
        one_of("weights", "resampling"),
        "'weights' trains on weighted rows, 'resampling' on rows drawn in proportion to their "
        "weights. In 'resampling' a rule that is no better than chance is discarded, and the "
        "weights are reset",
        default="weights",
    )
    calibrate: str | None = parameter(
        one_of("auto") | nothing(),
        "'auto' divides the votes by a temperature, and multiplies the posteriors by a power of "
        "the class shares as far as that changes no decision: those with the least log loss in "
        "five-fold cross-validation on the training rows (beyond 50,000 rows a fifth is held out "
        "once). None leaves the votes as they are",
        default="auto",
    )
    keep_weights: bool = parameter(
        boolean(),
        "whether to keep the weights of the rows before each round in 'weights_' (rounds × rows)",
        default=False,
    )
    random_state: Any = parameter(seed(), "random seed of resampling", default=0)
    rounds_: tuple[Round, ...] = fitted("a Round for each round: ε, α and the rule in words")
    recode_: Recode = fitted(
        "the possible thresholds of each numeric column, between at most 254 intervals of equal "
        "weight"
    )
    members_: list[Classifier] = fitted("the trained models; none where rules are boosted")
    weights_: FloatArray = fitted(
        "with 'keep_weights=True' the weights before each round, rounds × rows; else empty"
    )
    rules_: tuple[Rule, ...] = fitted("the rule of each round; none where models are boosted")
    temperature_: float = fitted("what the votes are divided by; 1 without calibration")
    share_power_: float = fitted(
        "the power with which the class shares count beside the votes; 0 without calibration"
    )
    _fractions: FloatArray = fitted()
    _sum: ScoreTerms = derived()

    @property
    def epsilons_(self) -> FloatArray:
        """The errors of all rounds."""
        return np.asarray([step.epsilon for step in self.rounds_])

    @property
    def alphas_(self) -> FloatArray:
        """The vote weights of all rounds."""
        return np.asarray([step.alpha for step in self.rounds_])

    _vote_weights = alphas_

    @property
    def cut_points_(self) -> Mapping[str, FloatArray]:
        """By numeric column, the points between which thresholds may lie."""
        return self.recode_.cut_points

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn one rule a round."""
        rows, stated, kept, total = self._training(X, y, sample_weight)
        weight = np.ones(len(rows)) if stated is None else stated
        present = self._take_classes(rows)
        self._fractions = np.bincount(rows.target, weight)[present] / weight.sum()
        order = np.arange(len(rows))
        if self.method == "resampling" or self.estimator is not None:
            # Chance follows what is in a row, not where it stands.
            order = order_by_content(rows)
            rows, weight = rows.take(order), weight[order]
        self._seed = draw_seed(self.random_state)
        history = self._boost(_keep_classes(rows, present), weight)
        self.temperature_, self.share_power_ = 1.0, 0.0
        if self.calibrate is not None and self.rounds_:
            plain = clone(self).set_params(
                calibrate=None, keep_weights=False, random_state=self._seed
            )
            by_content = order_by_content(rows)
            self.temperature_, self.share_power_ = choose_calibration(
                plain,
                rows.take(by_content),
                weight[by_content],
                self.classes_,
                np.log(self._fractions),
            )
        self.weights_ = np.zeros((0, 0))
        if self.keep_weights:
            self.weights_ = np.zeros((len(history), total))
            self.weights_[:, order if kept is None else kept[order]] = np.reshape(
                history, (-1, len(rows))
            )
        if not self.rounds_:
            self.notes_ = (*self.notes_, Note.of("V01"))
        return self

    def _boost(self, table: Table, stated: FloatArray) -> list[FloatArray]:
        """Go through the rounds; return the weights before each, if they are to be kept."""
        weak: Any
        if self.estimator is None:
            weak = _RuleLearner(table, stated, self.method, self._seed)
        else:
            rows = table, stated, self.method, self._seed
            weak = _MemberLearner(self.estimator, self.classes_, *rows)
        rounds: list[Round] = []
        learned: list[Any] = []
        history: list[FloatArray] = []
        hit = miss = 1.0
        resets, chance = 0, 1 - 1 / max(len(self.classes_), 2)
        while len(rounds) < self.n_estimators and table.schema.attributes:
            rule, epsilon = weak.learn(hit, miss)
            if epsilon >= chance - 1e-10:
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
            rounds.append(Round(epsilon, alpha, *weak.describe(rule)))
            learned.append(rule)
            if epsilon == 0:
                # A rule without error needs no others, and leaves nothing to weigh up.
                rounds, learned, history = rounds[-1:], learned[-1:], history[-1:]
                break
            total = (1 - epsilon) + epsilon * math.exp(2 * alpha)
            hit, miss = 1 / total, math.exp(2 * alpha) / total
        self.rounds_ = tuple(rounds)
        self.recode_ = weak.recode
        self.rules_ = tuple(learned) if self.estimator is None else ()
        self._trained = [] if self.estimator is None else learned
        self.members_ = [member.model for member in self._trained]
        self._sum_up()
        return history

    def _scores(self, table: Table) -> FloatArray:
        if not self.rounds_:
            return np.tile(np.log(self._fractions), (len(table), 1))
        return calibrated(self.vote_scores(table), self.temperature_, self._offset)

    @property
    def _offset(self) -> FloatArray:
        """What the class shares add to the scores of all rows, if it changes no decision."""
        return np.asarray(self.share_power_ * np.log(self._fractions))

    def vote_scores(self, table: Table) -> FloatArray:
        """Return the doubled votes for each class, before they are divided by the temperature."""
        if self.estimator is None:
            return self._sum.scores(self.recode_.apply(table))
        return 2 * self._votes(table)

    def _cast(
        self, posteriors: FloatArray, keys: NDArray[np.uint64] | None, place: int
    ) -> FloatArray:
        return vote_for_largest(posteriors, _EQUAL_ROUNDS)

    def _votes_in_turn(self, part: Table) -> Iterator[FloatArray]:
        if self.estimator is not None:
            yield from super()._votes_in_turn(part)
        cut, votes = self.recode_.apply(part), np.eye(len(self.classes_))
        for rule in self.rules_:
            yield votes[rule.answers[cut.codes(rule.column)]]

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the labels after one round, after two, and so on."""
        table = drop_unseen(self._rows(X))
        votes = np.zeros((len(table), len(self.classes_)))
        for alpha, cast in zip(self.alphas_, self._votes_in_turn(table), strict=True):
            votes += alpha * cast
            yield self.classes_[votes.argmax(axis=1)]

    def explain(self, X: Any) -> Explanation:
        """Return what each column adds to the log posterior of each class; the parts sum to it."""
        if self.estimator is not None or not self.rounds_:
            return super().explain(X)
        table = self._rows(X)
        cut = self.recode_.apply(table)
        names = tuple(term.columns[0] for term in self._sum.terms)
        values, parts = cut.cell_texts(names), self._sum.parts(cut) / self.temperature_
        scores = self._sum.scores(cut) / self.temperature_
        if self.share_power_:
            added = kept_offset(scores, self._offset)
            names, scores = (*names, "calibration"), scores + added
            values = tuple((*cells, "class shares") for cells in values)
            parts = np.concatenate([parts, added[:, None]], axis=1)
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=names,
            values=values,
            base=self._sum.base.copy(),
            parts=parts,
            joint=scores,
        )

    def describe(self) -> str:
        """Return the rounds as lines of text: ε, α and the rule."""
        check_is_fitted(self, "rounds_")
        return "\n".join(
            f"{place:3d}  ε {step.epsilon:.4f}  α {step.alpha:.4f}  {step.words}"
            for place, step in enumerate(self.rounds_, 1)
        )

    def describe_training(self) -> list[str]:
        """Return the first rounds in sentences."""
        shown = self.rounds_[:_DESCRIBED]
        more = len(self.rounds_) - len(shown)
        rounds = "one round" if len(self.rounds_) == 1 else f"{len(self.rounds_)} rounds"
        lines = [f"It has {rounds}; ε is the weighted error of a rule, α the weight of its vote."]
        lines += [
            f"{place}. {step.words} (ε {step.epsilon:.4f}, α {step.alpha:.4f})"
            for place, step in enumerate(shown, 1)
        ]
        lines += [f"… and {more} more rounds; countwise show prints them."] if more else []
        return lines if shown else ["No rule was better than chance."]

    def _sum_up(self) -> None:
        """Add the votes of all rules up to one table a column."""
        number = len(self.classes_)
        figures: dict[str, FloatArray] = {}
        for step, rule in zip(self.rounds_, self.rules_, strict=False):
            votes = figures.setdefault(rule.column, np.zeros((len(rule.answers), number)))
            votes[np.arange(len(rule.answers)), rule.answers] += 2 * step.alpha
        terms = [TableTerm((name,), votes) for name, votes in figures.items()]
        self._sum = ScoreTerms(np.zeros(number), terms)

    def after_load(self) -> None:
        """Check the loaded parts and make the rest from them."""
        self._adopt(self.members_)
        number, rules = len(self.classes_), len(self.rounds_) if self.estimator is None else 0
        if (len(self.rules_), len(self._trained)) != (rules, len(self.rounds_) - rules):
            raise ParameterError("AdaBoost: each round must have learned a rule or a member.")
        if not 1e-6 < self.temperature_ < 1e6:
            raise ParameterError("AdaBoost: the temperature must be a positive number.")
        if self.share_power_ not in POWERS:
            raise ParameterError(
                "AdaBoost: the power of the class shares must be one that is tried."
            )
        fractions = self._fractions
        if fractions.shape != (number,) or not np.all((fractions > 0) & (fractions <= 1 + 1e-9)):
            raise ParameterError("AdaBoost: each class must have a positive fraction of the rows.")
        schema = self.recode_.apply_to_schema(self.schema_)
        for rule in self.rules_:
            column, answers = schema[rule.column], rule.answers
            fits = column.kind == "nominal" and len(answers) == column.width + 2
            if not fits or answers.min() < 0 or answers.max() >= number:
                raise ParameterError(f"AdaBoost: a rule must fit its column {rule.column[:40]!r}.")
            if rule.threshold is not None and not 0 <= rule.threshold < len(answers):
                raise ParameterError("AdaBoost: a threshold must be a place in its column.")
        self._sum_up()

    def views(self) -> Sequence[View]:
        """Return the rounds: their rules, errors and weights."""
        from countwise.models.views import Member, MemberList

        check_is_fitted(self, "rounds_")
        power = self.share_power_
        shares = f" after {power:g} × the log class shares are added" if power else ""
        shares += ", as far as that changes no decision" if power else ""
        note = (
            f"{len(self.rounds_)} rounds. Each rule misclassifies a fraction ε of the weighted "
            "rows, and its vote has the weight α. The doubled votes, divided by "
            f"{self.temperature_:.3g}, are the log posterior{shares}."
            if self.rounds_
            else "No rule was better than chance: the answer is the class frequencies of all rows."
        )
        rounds = [Member(step.words, step.alpha, step.epsilon) for step in self.rounds_]
        return (MemberList(note, tuple(rounds)),)


def _alpha(epsilon: float, classes: int, rows: int) -> float:
    """Return the weight of a vote; a rule without error is taken to miss half a row."""
    least = max(epsilon, 0.5 / (rows + 1))
    return 0.5 * (math.log((1 - least) / least) + math.log(max(classes, 2) - 1))


def _keep_classes(table: Table, present: NDArray[Any]) -> Table:
    """Return the table with those classes only that occur in it."""
    target = table.target_column
    if len(present) == target.width:
        return table
    codes = np.searchsorted(present, table.target).astype(code_type(len(present)))
    kept = Column(target.name, "target", tuple(target.levels[at] for at in present.tolist()))
    data = {name: table.raw_array(name) for name in table.names} | {target.name: codes}
    return Table.from_arrays(table.schema.with_columns([kept]), data, table.notes, table.unseen)


class _Learner:
    """Rows with weights that change from round to round, or rows drawn by such weights."""

    def __init__(self, table: Table, stated: FloatArray, method: str, seed: int) -> None:
        self.recode = Recode()
        self.table, self.stated, self.seed = table, stated, seed
        self.resampling = method == "resampling"
        self.weight = stated / stated.sum()
        self.first = self.weight.copy() if self.resampling else self.weight
        # As many rows are drawn as there are, one of whole weight counted so often.
        self.size = len(stated) if np.any(stated % 1) else max(1, round(float(stated.sum())))
        self.stream = np.random.default_rng(seed)
        self.missed: NDArray[np.bool_] | None = None

    def reweigh(self, hit: float, miss: float) -> None:
        """Multiply the weights of rows that the last rule hit, and of those it missed."""
        if self.missed is not None:
            self.weight *= np.where(self.missed, miss, hit)

    def judge(self, answers: NDArray[Any]) -> float:
        """Return the fraction of the weight that these answers miss, and keep the rows."""
        self.missed = np.asarray(answers != self.table.target)
        return float(self.weight[self.missed].sum() / self.weight.sum())

    def draw(self) -> NDArray[np.intp]:
        """Draw rows by their weights; return how often each was drawn."""
        edge = np.cumsum(self.weight)
        place = np.searchsorted(edge, self.stream.random(self.size) * edge[-1], side="right")
        return np.bincount(np.minimum(place, len(edge) - 1), minlength=len(edge))

    def reset(self) -> None:
        """Set the weights back to those of the beginning."""
        self.weight[:] = self.first
        self.missed = None


class _RuleLearner(_Learner):
    """Rules of one column, from weighted counts of all columns in one pass a round."""

    def __init__(self, table: Table, stated: FloatArray, method: str, seed: int) -> None:
        recode = Recode(fine_cuts(table, stated))
        super().__init__(recode.apply(table), stated, method, seed)
        self.recode, self.numeric = recode, tuple(recode.cut_points)
        self.uncut = table
        self.tables = WeightedTables(self.table, self.weight)
        self.last: Rule | None = None

    def learn(self, hit: float, miss: float) -> tuple[Rule, float]:
        """Reweigh the rows by the last rule, and find the next one."""
        if not self.resampling:
            self.last = best_rule(self.tables.after(self.last, hit, miss), self.numeric)
            return self.last, self.last.error
        self.reweigh(hit, miss)
        drawn = WeightedTables(self.table, self.draw().astype(np.float64))
        rule = best_rule(drawn.after(None), self.numeric)
        return rule, self.judge(rule.answers[self.table.codes(rule.column)])

    def describe(self, rule: Rule) -> tuple[str, str]:
        """Return the column of a rule, and the rule in words."""
        return rule.column, describe_rule(rule, self.uncut, self.recode.cut_points)


class _MemberLearner(_Learner):
    """Any other model, trained on weighted rows or on rows drawn by their weights."""

    def __init__(
        self, base: Any, classes: NDArray[Any], table: Table, stated: FloatArray, *options: Any
    ) -> None:
        super().__init__(table, stated, *options)
        ours = isinstance(base, Classifier)
        if not self.resampling and not ours and not has_fit_parameter(base, "sample_weight"):
            raise ParameterError(
                f"AdaBoost: by weights, the base must take sample_weight; got {base!r}.",
                hint=("use `method='resampling'`", "take another base"),
            )
        self.base, self.classes = uncalibrated(base), classes
        self.features = None if ours else Features.learn(table, stated)
        self.matrix = None if self.features is None else self.features.matrix(table)

    def learn(self, hit: float, miss: float) -> tuple[Member, float]:
        """Reweigh the rows by what the last member missed, and train the next one."""
        self.reweigh(hit, miss)
        self.seed += 1
        # Weights sum to the rows again, for models to which their scale means something.
        weight = self.weight * (float(self.stated.sum()) / self.weight.sum())
        member = train_member(
            set_seed(self.base, self.seed),
            self.table,
            self.classes,
            None if self.resampling else weight,
            self.draw() if self.resampling else None,
            self.features,
        )
        posteriors = member.posteriors(self.table, len(self.classes), self.matrix)
        return member, self.judge(vote_for_largest(posteriors, _EQUAL_ROUNDS).argmax(axis=1))

    def describe(self, member: Member) -> tuple[None, str]:
        """Return no column, and the model in words."""
        return None, repr(member.model)
