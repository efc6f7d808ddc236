"""ID3: a decision tree grown by information gain, its prediction, explanation and rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import METHODS
from countwise.discretize.recode import Recode
from countwise.errors import StoreError, listing
from countwise.models.base import Classifier
from countwise.models.explanation import Explanation
from countwise.models.tree.grow import Limits, grow
from countwise.models.tree.predict import find_ends, posteriors, trace_changes, values_of
from countwise.models.tree.prune import Pruning, hold_out, prune
from countwise.models.tree.splits import Attribute, rank
from countwise.models.tree.tree_structure import Step, TreeStructure, held_text, path_of, rules_of
from countwise.numeric import draw_seed
from countwise.params import (
    boolean,
    fitted,
    fraction,
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

#: How many cells are looked at together: rows times columns.
_CELLS = 1 << 21


def _size(tree: TreeStructure) -> str:
    if len(tree) == 1:
        return "A tree of one leaf, which answers every row alike."
    tests = "one test" if tree.depth == 1 else f"{tree.depth} tests"
    leaves = "one of them a leaf" if tree.leaves == 1 else f"{tree.leaves} of them leaves"
    return f"A tree of {len(tree)} nodes, {leaves}, and at most {tests} a row."


class ID3(Classifier):
    """Classify by a decision tree: at each node the column with the largest information gain.

    The tree of Quinlan (1986), as Smart, Leh and Marsh grow and prune it: a nominal column makes
    one branch a level and is used once on a path, a number is cut in two at the best place of each
    node. A node is a leaf when all its rows are of one class, when no column tells them apart, or
    when no row comes to it: then it answers as the node above. Of equal gains the first column and
    the first cut are taken, so the same rows give the same tree in any order.

    The structure hangs on all rows at once; there is no ``partial_fit``, ``merge`` or ``forget``.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.tree.id3 import ID3
    >>> model = ID3().fit(cw.read("sample:weather"))
    >>> print(model.rules())
    if outlook = sunny:
      if humidity = high: no (3 rows)
      if humidity = normal: yes (2 rows)
    if outlook = overcast: yes (4 rows)
    if outlook = rainy:
      if windy = TRUE: no (2 rows)
      if windy = FALSE: yes (3 rows)
    """

    criterion: str = parameter(
        one_of("gain", "ratio"),
        "how a split is chosen: by information 'gain', or by gain 'ratio', the gain divided by "
        "the entropy of the split, among columns of at least average gain (Quinlan 1993)",
        default="gain",
        kw_only=False,
    )
    numeric: str = parameter(
        one_of("threshold", "cuts", "quantizer"),
        "'threshold' splits a numeric column in two, at a new threshold in every node. 'cuts' "
        "first cuts each column into intervals (see cuts, bins), 'quantizer' cuts all columns "
        "together (see Quantizer); the columns are then treated as nominal",
        default="threshold",
    )
    when_missing: str = parameter(
        one_of("fraction", "majority"),
        "treatment of a row whose value is missing at a node, in training and prediction: "
        "'fraction' sends it down every branch with the branch's fraction of the rows, 'majority' "
        "down the most frequent branch",
        default="fraction",
    )
    smoothing: float | None = parameter(
        number(at_least=0) | nothing(),
        "pseudo-count added to each class in a leaf; 0 gives plain class frequencies",
        default=1.0,
    )
    prune: float = parameter(
        fraction(zero=True),
        "fraction of the rows of each class that is held out for reduced-error pruning; 0 means "
        "no pruning",
        default=0.0,
    )
    cut_ties: bool = parameter(
        boolean(),
        "whether pruning replaces a subtree by a leaf that makes equally many errors (Quinlan "
        "1987); otherwise the leaf must make fewer",
        default=True,
    )
    max_depth: int | None = parameter(
        whole(at_least=0) | nothing(),
        "largest number of tests from the root to a leaf",
        default=None,
    )
    min_leaf: float = parameter(
        number(at_least=0),
        "at least two branches of a split must have this number (or weight) of rows",
        default=0.0,
    )
    min_gain: float | None = parameter(
        number(at_least=0) | nothing(),
        "a split must gain more than this number of bits. None splits as long as rows differ, "
        "even without gain, and can therefore learn an exclusive or",
        default=0.0,
    )
    cuts: str = parameter(
        one_of(*METHODS),
        "how 'numeric=\"cuts\"' chooses intervals: equal 'width', equal 'frequency', 'two-way' "
        "(the single most informative cut) or 'mdl' (Fayyad & Irani 1993)",
        default="width",
    )
    bins: int = parameter(
        whole(at_least=2), "number of intervals for 'width' and 'frequency'", default=10
    )
    unseen: str = parameter(
        one_of("ignore", "error"),
        "treatment of unseen levels: with 'ignore', a row whose level did not reach a node in "
        "training is classified by that node; with 'error', a level that did not occur in "
        "training raises an error",
        default="ignore",
    )
    random_state: Any = parameter(seed(), "random seed of the choice of held-out rows", default=0)
    tree_: TreeStructure = fitted("the tree in flat arrays, a TreeStructure")
    pruning_: Pruning | None = fitted("what pruning did, a Pruning; None without")
    recode_: Recode = fitted("how numeric columns are cut before the tree is grown")

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the tree, and prune it if `prune` says so."""
        table, weight, *_ = self._training(X, y, sample_weight)
        present = np.flatnonzero(count(table, Plan()).weight[:-1])
        self.classes_ = np.asarray([table.classes[place] for place in present])
        place_of = np.zeros(len(table.classes), dtype=np.min_scalar_type(len(present)))
        place_of[present] = np.arange(len(present))
        self._learn(table, place_of[table.target], weight)
        return self

    def _learn(self, table: Table, target: NDArray[Any], weight: FloatArray | None) -> None:
        apart = np.zeros(0, dtype=bool)
        if self.prune > 0:
            if weight is not None and (repeats := whole_repeats(weight)) is not None:
                rows = np.repeat(np.arange(len(table)), repeats)
                table, target, weight = table.take(rows), target[rows], None
            seed = draw_seed(self.random_state)
            apart = hold_out(table, target, len(self.classes_), float(self.prune), seed)
        some = bool(apart.any())
        grown = table.take(~apart) if some else table
        given = weight if weight is None or not some else weight[~apart]
        self.recode_ = self._learn_recode(grown, given)
        self.notes_ = (*self.notes_, *self.recode_.notes)
        tree = grow(
            self._attributes(self._view(grown)),
            target[~apart] if some else target,
            tuple(self.classes_.tolist()),
            given,
            Limits(
                self.criterion == "ratio",
                self._fractions,
                self.max_depth,
                float(self.min_leaf),
                self.min_gain,
            ),
        )
        pruning: Pruning | None = None
        if some:
            values = values_of(tree, self._view(table.take(apart)))
            rest = None if weight is None else weight[apart]
            tree, pruning = prune(tree, values, target[apart], rest, self._fractions, self.cut_ties)
        self.tree_, self.pruning_ = tree, pruning

    def _learn_recode(self, table: Table, weight: FloatArray | None) -> Recode:
        """Learn the intervals of numeric columns."""
        if self.numeric == "threshold":
            return Recode()
        method = "quantizer" if self.numeric == "quantizer" else self.cuts
        return Recode.learn(table, weight, method, self.bins)

    @staticmethod
    def _attributes(table: Table) -> list[Attribute]:
        return [
            Attribute(column.name, table.codes(column.name), column.width, column.levels)
            if column.coded
            else rank(column.name, table.values(column.name))
            for column in table.schema.attributes
        ]

    @property
    def cut_points_(self) -> Mapping[str, FloatArray]:
        """The cut points of numeric columns that were cut before the tree was grown."""
        return self.recode_.cut_points

    @property
    def n_leaves_(self) -> int:
        """The number of leaves."""
        return self.tree_.leaves

    @property
    def depth_(self) -> int:
        """The number of tests on the longest path."""
        return self.tree_.depth

    @property
    def _fractions(self) -> bool:
        return self.when_missing == "fraction"

    def _view(self, table: Table) -> Table:
        return self.recode_.apply(table)

    def _pieces(self, table: Table) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the rows in pieces, as what they hold in the columns of the tree."""
        step = max(1, _CELLS // max(len(self.tree_.columns), 1))
        for start in range(0, len(table), step):
            rows = slice(start, start + step)
            yield rows, values_of(self.tree_, self._view(table.take(rows)))

    def _scores(self, table: Table) -> FloatArray:
        scores = np.empty((len(table), len(self.classes_)))
        for rows, values in self._pieces(table):
            parts = find_ends(self.tree_, values, self._fractions)
            scores[rows] = posteriors(self.tree_, parts, len(values), self._alpha)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(scores, out=scores))

    @property
    def _alpha(self) -> float:
        return float(self.smoothing or 0.0)

    def explain(self, X: Any) -> Explanation:
        """Return what each column changes in the log posterior on the way down; it adds up.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.models.tree.id3 import ID3
        >>> weather = cw.read("sample:weather")
        >>> print(ID3().fit(weather).explain(weather.take([0])).describe())
        no (posterior 0.800) against yes: log-odds +1.386
            -0.511  before any evidence
            +1.099  humidity = high
            +0.799  outlook = sunny
            +0.000  windy = FALSE
        """
        table, tree = self._rows(X), self.tree_
        used = np.unique(tree.feature[tree.split]).tolist()
        base, parts, held = [], [], []
        for _, values in self._pieces(table):
            root, changes = trace_changes(tree, values, self._fractions, self._alpha)
            base.append(root[0])
            parts.append(changes)
            held += [tuple(held_text(tree, at, row[at]) for at in used) for row in values]
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=tuple(tree.columns[place] for place in used),
            values=tuple(held),
            base=base[0],
            parts=np.concatenate(parts),
            joint=self._scores(table),
        )

    def paths(self, X: Any) -> list[list[Step]]:
        """Return the nodes each row passes, with the test that led there and the class weights.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.models.tree.id3 import ID3
        >>> weather = cw.read("sample:weather")
        >>> ID3().fit(weather).paths(weather.take([0]))[0][1]
        Step(node=1, test='outlook = sunny', counts=(3.0, 2.0))
        """
        table = self._rows(X)
        return [path_of(self.tree_, row) for _, values in self._pieces(table) for row in values]

    def rules(self, most: int | None = None) -> str:
        """Write the tree as indented tests, at most so many lines of them."""
        check_is_fitted(self, "tree_")
        return rules_of(self.tree_, most)

    def describe(self) -> str:
        """Return a few sentences about the tree.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.models.tree.id3 import ID3
        >>> print(ID3().fit(cw.read("sample:weather")).describe())
        A tree of 8 nodes, 5 of them leaves, and at most 2 tests a row.
        It asks for 'outlook', 'humidity', 'windy' of 4 columns.
        """
        check_is_fitted(self, "tree_")
        tree, pruning = self.tree_, self.pruning_
        tested = dict.fromkeys(tree.columns[at] for at in tree.feature[tree.split])
        lines = [_size(tree)]
        if tested:
            lines.append(f"It asks for {listing(tested, 8)} of {len(tree.columns)} columns.")
        if pruning is not None:
            lines.append(
                f"Pruned from {pruning.nodes_before} nodes on {pruning.rows} rows held out: error "
                f"{pruning.error_before:.3f} before, {pruning.error_after:.3f} after."
            )
        return "\n".join(lines)

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        tree = self.tree_
        sizes = {"nodes": len(tree), "leaves": tree.leaves, "depth": tree.depth}
        return {**self._class_summary(np.asarray(tree.counts[0], np.float64)), **sizes}

    def after_load(self) -> None:
        """Refuse a tree that asks for columns or levels which the recoded schema does not have."""
        self._check_classes()
        tree, schema = self.tree_, self.recode_.apply_to_schema(self.schema_)
        if tree.classes != tuple(self.classes_.tolist()):
            raise StoreError("Tree: its classes must be those of the model.")
        for name, levels in zip(tree.columns, tree.levels, strict=True):
            column = schema[name]
            known = column.levels if column.coded else None
            if column.kind not in ("nominal", "numeric") or known != levels:
                raise StoreError(f"Tree: its column {name!r} must be as in the schema.")

    def views(self) -> Sequence[View]:
        """Return the decision tree."""
        from countwise.models.tree.views import decision_tree

        check_is_fitted(self, "tree_")
        return (decision_tree(self),)
