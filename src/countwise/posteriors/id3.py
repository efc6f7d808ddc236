"""ID3: a decision tree that splits on the column which tells most about the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from countwise.counts.count import count
from countwise.counts.cuts import METHODS, cut_points
from countwise.counts.plan import Plan
from countwise.params import Constraint, Parameter, instance, names, nothing, number, one_of, whole
from countwise.posteriors.descent import values_of
from countwise.posteriors.growing import Limits, grow
from countwise.posteriors.pruning import Pruning, held_out, prune
from countwise.posteriors.searched_cuts import searched_cuts
from countwise.posteriors.splits import Attribute, ranked
from countwise.posteriors.tree_classifier import TreeClassifier
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


def _share() -> Constraint:
    """A share of the rows that leaves some."""
    part = number(at_least=0)
    return Constraint(
        "a share of at least 0 and below 1",
        lambda value: part.admits(value) and float(value) < 1,
        good=(0.0, 0.25),
        bad=(-0.1, 1.0, "half"),
    )


class ID3(TreeClassifier):
    """Classify by a decision tree: at each node the column with the largest information gain.

    The tree of Quinlan (1986), as Smart, Leh and Marsh grow and prune it: a nominal column makes
    one branch a level and is used once on a path, a number is cut in two at the best place of each
    node. A node is a leaf when all its rows are of one class, when no column tells them apart, or
    when no row comes to it: then it answers as the node above. Of equal gains the first column and
    the first cut are taken, so the same rows give the same tree in any order.

    The structure hangs on all rows at once; there is no ``partial_fit``, ``merge`` or ``forget``.

    Parameters
    ----------
    criterion
        Information ``gain``, or gain ``ratio``: gain divided by the entropy of the split, among
        the columns of at least average gain (Quinlan 1993).
    numeric
        ``threshold`` cuts a number in two at every node anew; ``cuts`` cuts it once into intervals
        (see `cuts`, `bins`) and takes it as nominal; ``quantizer`` cuts all together by the search
        of `Quantizer`.
    missing
        A row without the value asked for goes down every branch by its share (``fraction``), or
        down the most frequent one (``majority``); in training and in prediction.
    smoothing
        Pseudo-count added to each class in a leaf; 0 gives plain shares.
    prune
        Share of the rows held out, class by class, for reduced-error pruning; 0 keeps the tree as
        it was grown.
    max_depth
        How many tests a path may have.
    min_leaf
        The weight that at least two branches of a split must have.
    min_gain
        Bits a split must exceed. None splits even without gain, as long as rows differ: the
        textbook's rule, which can learn an exclusive or.
    cuts, bins
        How ``numeric="cuts"`` finds its intervals.
    unseen
        A level that training never saw in a node is answered by that node (``ignore``), or one
        never seen at all is refused (``error``).
    nominal
        Number columns of frames and arrays that are codes.
    random_state
        Which rows are held out.

    Attributes
    ----------
    tree_
        The tree in flat arrays, a `Tree`.
    n_leaves_, depth_
        Its size.
    pruning_
        What pruning did, a `Pruning`; None without.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.posteriors.id3 import ID3
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

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "criterion": Parameter(one_of("gain", "ratio"), "how columns are compared"),
        "numeric": Parameter(one_of("threshold", "cuts", "quantizer"), "how numbers are split"),
        "missing": Parameter(one_of("fraction", "majority"), "where a missing cell leads"),
        "smoothing": Parameter(number(at_least=0) | nothing(), "what is added to every count"),
        "prune": Parameter(_share(), "share of the rows held out for pruning"),
        "max_depth": Parameter(whole(at_least=0) | nothing(), "how many tests a path may have"),
        "min_leaf": Parameter(number(at_least=0), "weight of at least two branches"),
        "min_gain": Parameter(number(at_least=0) | nothing(), "bits a split must exceed"),
        "cuts": Parameter(one_of(*METHODS), "how numbers are cut into intervals"),
        "bins": Parameter(whole(at_least=2), "how many intervals"),
        "unseen": Parameter(one_of("ignore", "error"), "what a new level does"),
        "nominal": Parameter(one_of("all") | names(), "number columns that are codes"),
        "random_state": Parameter(
            whole(at_least=0) | nothing() | instance(np.random.RandomState),
            "which rows are held out",
        ),
    }

    def __init__(
        self,
        criterion: str = "gain",
        numeric: str = "threshold",
        missing: str = "fraction",
        smoothing: float | None = 1.0,
        prune: float = 0.0,
        *,
        max_depth: int | None = None,
        min_leaf: float = 0.0,
        min_gain: float | None = 0.0,
        cuts: str = "width",
        bins: int = 10,
        unseen: str = "ignore",
        nominal: Any = (),
        random_state: Any = 0,
    ) -> None:
        self.criterion = criterion
        self.numeric = numeric
        self.missing = missing
        self.smoothing = smoothing
        self.prune = prune
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.min_gain = min_gain
        self.cuts = cuts
        self.bins = bins
        self.unseen = unseen
        self.nominal = nominal
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the tree, and prune it if asked."""
        table, weight, *_ = self._training(X, y, sample_weight)
        present = np.flatnonzero(count(table, Plan()).weight[:-1])
        self.classes_ = np.asarray([table.classes[place] for place in present])
        place_of = np.zeros(len(table.classes), dtype=np.min_scalar_type(len(present)))
        place_of[present] = np.arange(len(present))
        self._learn(table, place_of[table.target], weight)
        return self

    def _learn(self, table: Table, target: NDArray[Any], weight: Doubles | None) -> None:
        apart = np.zeros(len(table), dtype=bool)
        if self.prune > 0:
            rng = check_random_state(self.random_state)
            apart = held_out(target, len(self.classes_), float(self.prune), rng)
        some = bool(apart.any())
        own = table.take(~apart) if some else table
        given = weight if weight is None or not some else weight[~apart]
        self.cut_points_ = self._cut(own, given)
        tree = grow(
            self._attributes(self._view(own)),
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
            tree, pruning = prune(tree, values, target[apart], rest, self._fractions)
        self._keep(tree, pruning)

    def _cut(self, table: Table, weight: Doubles | None) -> dict[str, Doubles]:
        """The intervals of numeric columns, learned from fine counts."""
        numbers = tuple(column.name for column in table.schema.numeric)
        if self.numeric == "threshold" or not numbers:
            return {}
        if self.numeric == "quantizer":
            points, told = searched_cuts(table, numbers, weight)
            self.notes_ = (*self.notes_, *told)
            return points
        fine = count(table, Plan(grids=numbers), weight=weight)
        return {name: cut_points(fine.grids[name], self.cuts, self.bins) for name in numbers}

    @staticmethod
    def _attributes(table: Table) -> list[Attribute]:
        return [
            Attribute(column.name, table.codes(column.name), column.width, column.levels)
            if column.coded
            else ranked(column.name, table.values(column.name))
            for column in table.schema.attributes
        ]
