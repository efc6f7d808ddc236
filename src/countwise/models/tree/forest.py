"""Forest: many trees on bootstrap rows and random columns, grown by a compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.resampling import draws_of
from countwise.counts.row_hash import row_keys
from countwise.errors import TableError
from countwise.models.base import Classifier
from countwise.models.explanation import LEAST_POSTERIOR, Explanation
from countwise.models.tree import _forest
from countwise.models.tree.forest_structure import Bins, Bytes, ForestStructure, join_trees
from countwise.models.tree.tree_structure import LEAF
from countwise.numeric import draw_seed, logs_of
from countwise.parallel import in_chunks, in_threads
from countwise.params import (
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
from countwise.tables.weights import whole_repeats

if TYPE_CHECKING:
    from countwise.models.views import View

#: How many rows a thread sends through the trees at a time.
_ROWS = 1 << 13
#: Numbers of imagined rows that are tried; the first one where there are no rows to try them on.
_SMOOTHING = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: How many rows decide between them; those of smaller classes than these do not.
_JUDGES, _CLASS_ROWS = 5000, 5


class Forest(Classifier):
    """Average many decision trees, each grown on other rows and columns (Breiman 2001).

    Each tree draws rows with replacement, and each of its nodes draws some columns and takes the
    best split on them. Numbers are put into at most 255 bins once, so a split is found by counting.
    A nominal column is split into two sets of levels. Missing is a value: it goes to the side
    where it helps. A leaf answers with its class shares, drawn toward those of the nodes above it,
    as far as suits the rows that a tree did not draw; so no class gets probability 0. The draws
    follow what is in a row, not where it stands, and a row of weight 3 is drawn like three equal
    rows; the number of threads changes nothing.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.tree.forest import Forest
    >>> model = Forest(oob_score=True).fit(cw.read("sample:iris"))
    >>> print(model.describe())
    A forest of 100 trees with 9 leaves each on average.
    Out-of-bag error 4.7%.
    """

    n_estimators: int = parameter(whole(at_least=1), "number of trees", default=100)
    max_features: Any = parameter(
        one_of("sqrt", "log2") | number(above=0, at_most=1) | whole(at_least=1) | nothing(),
        "number of columns that each node draws: 'sqrt' or 'log2' of all, a number, a fraction, or "
        "None for all columns",
        default="sqrt",
    )
    min_samples_leaf: float = parameter(
        number(at_least=0), "smallest number of rows in a leaf", default=1.0
    )
    max_depth: int | None = parameter(
        whole(at_least=0) | nothing(),
        "largest number of tests from the root to a leaf",
        default=None,
    )
    smoothing: Any = parameter(
        one_of("auto") | number(at_least=0),
        "number of imagined rows, with the class shares of the parent node, that are added to "
        "each node; 0 gives plain class frequencies; 'auto' chooses by the log loss of rows that "
        "trees did not draw",
        default="auto",
    )
    oob_score: bool = parameter(
        boolean(),
        "whether to test the trees on the rows they did not draw; the result is 'oob_score_'",
        default=False,
    )
    unseen: str = parameter(
        one_of("ignore", "error"),
        "treatment of unseen levels: 'ignore' treats them as missing, 'error' raises an error",
        default="ignore",
    )
    random_state: Any = parameter(seed(), "random seed of all draws", default=0)
    bins_: Bins = fitted("how columns become codes, a Bins")
    class_count_: FloatArray = fitted("the weight of the training rows of each class")
    trees_: ForestStructure = fitted("the trees in flat arrays, a ForestStructure")
    smoothing_: float = fitted("the number of imagined rows that are added to each node")
    importances_: FloatArray = fitted(
        "by column, its share of the decrease in Gini impurity over all trees"
    )
    oob_score_: float | None = fitted(
        "with 'oob_score=True' the accuracy on rows, by the trees that did not draw them"
    )
    oob_decision_function_: FloatArray | None = fitted(
        "with 'oob_score=True' the posteriors of rows by those trees; NaN where all drew the row"
    )
    _shares: FloatArray = derived()

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Let every tree draw its rows, and grow it."""
        rows, weight, kept, total = self._training(X, y, sample_weight)
        present = self._take_classes(rows)
        # Equal rows stand side by side: position must not matter.
        order = np.argsort(row_keys(rows, target=True), kind="stable")
        rows, weight = rows.take(order), None if weight is None else weight[order]
        target = np.searchsorted(present, rows.target).astype(np.uint32)
        self.class_count_ = np.bincount(target, weight, len(present)).astype(np.float64)
        self.bins_ = Bins.learn(rows, weight)
        codes, start = self.bins_.codes(rows), draw_seed(self.random_state)
        draws = draws_of(len(rows), self.n_estimators, start, weight=weight)

        def grow(place: int) -> tuple[Any, ...]:
            return _forest.grow(
                codes,
                target,
                np.ascontiguousarray(draws.times(place)),
                self._nominal,
                len(present),
                self._features_drawn(codes.shape[1]),
                max(float(self.min_samples_leaf), 1.0),
                -1 if self.max_depth is None else self.max_depth,
                # Far apart, so that no two trees draw the same columns.
                (start << 32) + place,
            )

        self.trees_, gain = join_trees(in_threads(grow, range(self.n_estimators)), self._nominal)
        self.smoothing_ = _SMOOTHING[0] if self.smoothing == "auto" else float(self.smoothing)
        self._prepare()
        if self.smoothing == "auto":
            self._choose_smoothing(codes, target, weight, draws)
        split = self.trees_.feature != LEAF
        gains = np.bincount(self.trees_.feature[split], gain[split], codes.shape[1])
        self.importances_ = gains / (gains.sum() or 1.0)
        self.oob_score_ = self.oob_decision_function_ = None
        if self.oob_score:
            found = self._judge_out_of_bag(codes, target, weight, draws)
            shares = np.full((total, len(present)), np.nan)
            shares[order if kept is None else kept[order]] = found
            self.oob_decision_function_ = shares
        return self

    @property
    def feature_importances_(self) -> FloatArray:
        """The importance of each column, under scikit-learn's name."""
        return self.importances_

    @property
    def _nominal(self) -> Bytes:
        """One for each nominal column, zero for each number."""
        return np.array([c.coded for c in self.schema_.attributes], dtype=np.uint8)

    def _features_drawn(self, columns: int) -> int:
        asked = self.max_features
        if asked is None:
            return columns
        if isinstance(asked, str):
            asked = np.sqrt(columns) if asked == "sqrt" else np.log2(max(columns, 2))
        elif isinstance(asked, float | np.floating):
            asked = asked * columns
        return int(min(max(asked, 1), columns))

    def _prepare(self) -> None:
        """Make the class shares of all nodes."""
        self._shares = self._shares_with(self.smoothing_)

    def _shares_with(self, smoothing: float) -> FloatArray:
        trees = self.trees_
        shares = np.empty(trees.counts.shape)
        _forest.shrink(trees.start, trees.left, trees.counts, smoothing, shares)
        return shares

    @property
    def _base(self) -> FloatArray:
        """The mean class shares at the roots."""
        return np.asarray(self._shares[self.trees_.start[:-1]].mean(axis=0))

    def _walk(self) -> _forest.Walk:
        """Return what walks through the trees; it cannot be kept, as it cannot be pickled."""
        trees = self.trees_
        return _forest.Walk(
            trees.start,
            trees.feature,
            trees.cut,
            trees.left,
            trees.missing_left,
            trees.masks,
            self._nominal,
            self._shares,
        )

    def _choose_smoothing(
        self, codes: Bytes, target: NDArray[np.uint32], weight: FloatArray | None, draws: Any
    ) -> None:
        """Take the number of imagined rows with the least log loss out of bag.

        A row of whole weight is judged as if it were repeated, each copy by the trees that did not
        draw it. Where trees drew all rows, the least number stays.
        """
        places = np.arange(len(target))
        repeats = None if weight is None else whole_repeats(weight)
        if repeats is not None:
            places, weight = np.repeat(places, repeats), None
            draws = draws_of(len(places), self.n_estimators, draw_seed(self.random_state))
        chosen = slice(None, None, -(-len(places) // _JUDGES))
        places = places[chosen]
        y, walk = target[places], self._walk()
        rows, leaves = [], []
        for tree in range(self.n_estimators):
            rows.append(np.flatnonzero(draws.times(tree)[chosen] == 0).astype(np.int64))
            leaves.append(np.empty(len(rows[-1]), np.int64))
            walk.find_leaves(codes, places[rows[-1]], tree, leaves[-1])
        who, where = np.concatenate(rows), np.concatenate(leaves)
        voters = np.bincount(who, minlength=len(y))
        # A tree cannot know a class all of whose rows it did not draw.
        able = (voters > 0) & (self.class_count_[y] >= _CLASS_ROWS)
        judges = able * (1.0 if weight is None else weight[places])
        best = np.inf if judges.any() else -np.inf
        for smoothing in _SMOOTHING:
            shares, votes = self._shares_with(smoothing), np.zeros((len(y), len(self.classes_)))
            _forest.add_shares(who, where, shares, votes)
            right = votes[np.arange(len(y)), y] / np.maximum(voters, 1)
            loss = -float(judges @ np.log(np.maximum(right, LEAST_POSTERIOR)))
            if loss < best:
                best, self.smoothing_, self._shares = loss, smoothing, shares

    def _judge_out_of_bag(
        self, codes: Bytes, target: NDArray[np.uint32], weight: FloatArray | None, draws: Any
    ) -> FloatArray:
        """Let every tree vote on the rows it did not draw; return their mean votes."""
        votes, voters = np.zeros((len(codes), len(self.classes_))), np.zeros(len(codes))
        walk = self._walk()
        for place in range(self.n_estimators):
            left_out = np.flatnonzero(draws.times(place) == 0)
            if not len(left_out):
                continue
            cast = np.zeros((len(left_out), len(self.classes_)))
            walk.add_votes(np.ascontiguousarray(codes[left_out]), place, place + 1, cast)
            votes[left_out] += cast
            voters[left_out] += 1
        some = voters > 0
        right = (votes.argmax(axis=1) == target) & some
        counted = np.ones(len(codes)) if weight is None else weight
        covered = float(counted[some].sum())
        self.oob_score_ = float(counted[right].sum() / covered) if covered else float("nan")
        return np.where(some[:, None], votes / np.maximum(voters, 1)[:, None], np.nan)

    def _posteriors(self, codes: Bytes) -> FloatArray:
        votes = np.zeros((len(codes), len(self.classes_)))
        members, walk = len(self.trees_), self._walk()

        def vote(start: int, stop: int) -> None:
            walk.add_votes(codes[start:stop], 0, members, votes[start:stop])

        in_chunks(len(codes), _ROWS, vote)
        votes /= members
        return votes

    def _scores(self, table: Table) -> FloatArray:
        return logs_of(self._posteriors(self.bins_.codes(table)))

    def path_changes(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean class shares at the roots, and by what each column changes them.

        The changes (rows × columns × classes) are those along the paths of a row, averaged over
        the trees. Shares and changes add up to the posterior.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.models.tree.forest import Forest
        >>> weather = cw.read("sample:weather")
        >>> model = Forest().fit(weather)
        >>> shares, changes = model.path_changes(weather)
        >>> bool(np.allclose(shares + changes.sum(axis=1), model.predict_proba(weather)))
        True
        """
        check_is_fitted(self, "trees_")
        return self._base, self._changes(self.bins_.codes(self._rows(X)))

    def _changes(self, codes: Bytes) -> FloatArray:
        changes, walk = np.zeros((*codes.shape, len(self.classes_))), self._walk()

        def trace(start: int, stop: int) -> None:
            walk.add_changes(codes[start:stop], changes[start:stop])

        in_chunks(len(codes), _ROWS, trace)
        changes /= len(self.trees_)
        return changes

    def explain(self, X: Any) -> Explanation:
        """Return what each column adds to the log posterior on the paths of a row; it adds up.

        A change of probability (see `path_changes`) becomes one of log probability by the
        logarithmic mean of the probabilities at the root and at the end, which keeps the sum.
        """
        table = self._rows(X)
        codes = self.bins_.codes(table)
        reached = self._posteriors(codes)
        before = np.maximum(self._base, LEAST_POSTERIOR)
        after = np.maximum(reached, LEAST_POSTERIOR)
        total = reached - self._base
        near = np.abs(total) < 1e-6 * before
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(near, 1 / np.sqrt(before * after), np.log(after / before) / total)
        names = [column.name for column in table.schema.attributes]
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=tuple(names),
            values=table.cell_texts(names),
            base=np.log(before),
            parts=self._changes(codes) * factor[:, None, :],
            joint=np.log(after),
        )

    def describe(self) -> str:
        """Return a few sentences about the forest."""
        check_is_fitted(self, "trees_")
        trees = self.trees_
        leaves = np.count_nonzero(trees.feature == LEAF) / len(trees)
        lines = [f"A forest of {len(trees)} trees with {leaves:.0f} leaves each on average."]
        if self.oob_score_ is not None:
            lines.append(f"Out-of-bag error {1 - self.oob_score_:.1%}.")
        return "\n".join(lines)

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        trees = self.trees_
        sizes = {"trees": len(trees), "nodes": len(trees.feature)}
        error = {} if self.oob_score_ is None else {"out_of_bag_error": 1 - self.oob_score_}
        return {**self._class_summary(self.class_count_), **sizes, **error}

    def after_load(self) -> None:
        """Refuse trees or bins of other columns, and make the rest from them."""
        self._check_classes()
        self.bins_.check_against(self.schema_)
        self.trees_.check_against(self._nominal, len(self.classes_))
        shares = self.importances_
        if shares.shape != (len(self.schema_.attributes),) or not np.isfinite(shares).all():
            raise TableError("Forest: each column must have an importance.")
        known = _SMOOTHING if self.smoothing == "auto" else (float(self.smoothing),)
        if self.smoothing_ not in known:
            raise TableError("Forest: its smoothing must be the one that its parameter asks for.")
        self._prepare()

    def views(self) -> Sequence[View]:
        """Return the importance of the columns, the out-of-bag error, and a typical tree."""
        from countwise.models.tree.views import forest_views

        check_is_fitted(self, "trees_")
        return forest_views(self)
