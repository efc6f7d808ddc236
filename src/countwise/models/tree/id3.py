"""ID3: a decision tree grown by information gain and pruned on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import BINS_HELP, MAX_BINS, METHODS
from countwise.discretize.recode import Recode
from countwise.errors import TableError
from countwise.models.base import check_scan, leave_out_text
from countwise.models.tree.base import TreeClassifier
from countwise.models.tree.grow import Limits, grow
from countwise.models.tree.predict import values_of
from countwise.models.tree.prune import Pruning, hold_out, prune
from countwise.notes import Note
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
from countwise.tables.scan import SOME_ROWS, Scan
from countwise.tables.schema import Schema
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats


class ID3(TreeClassifier):
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

    takes_scans = True
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
    bins: int = parameter(whole(at_least=2, at_most=MAX_BINS), BINS_HELP, default=10)
    random_state: Any = parameter(seed(), "random seed of the choice of held-out rows", default=0)
    pruning_: Pruning | None = fitted("what pruning did, a Pruning; None without")
    recode_: Recode = fitted("how numeric columns are cut before the tree is grown")

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the tree, and prune it if `prune` says so."""
        if isinstance(X, Scan):
            return self._fit_scan(X, y, sample_weight)
        table, weight, *_ = self._training(X, y, sample_weight)
        self._learn(table, self._code_classes(table), weight)
        self._set_smoothing(table, weight)
        return self

    def _fit_scan(self, scan: Scan, y: Any, sample_weight: Any) -> Self:
        """Grow the tree on rows outside memory, with one scan for each level."""
        from countwise.models.tree.grow_scan import ScanGrowth

        self.check_parameters()
        check_scan(self, scan, y, sample_weight)
        if self.prune > 0:
            raise TableError(
                "ID3: pruning holds out rows in memory; got a Scan and prune > 0.",
                hint=f"Fit it with prune=0 and a max_depth, or pass {SOME_ROWS}",
            )
        self._expect_rows(scan)
        weight = count(scan, lambda schema: Plan.each(schema.without_text(), "grid")).weight
        rows = leave_out_text(self, scan)
        self.schema_ = rows.schema
        present = np.flatnonzero(weight[:-1])
        self.classes_ = np.asarray([rows.classes[place] for place in present])
        self.recode_ = self._learn_recode(rows, None)
        growth = ScanGrowth(
            self._view(rows), weight[present], self.classes_.tolist(), self._limits()
        )
        self.tree_, self.pruning_ = growth.grow(), None
        self._set_smoothing_of_scan(rows)
        coarse = tuple(Note.of("S05", name) for name in sorted(growth.coarse))
        self.notes_ = (*rows.notes, *self.recode_.notes, *coarse)
        return self

    def _limits(self) -> Limits:
        return Limits(
            self.criterion == "ratio",
            self._fractions,
            self.max_depth,
            float(self.min_leaf),
            self.min_gain,
        )

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
            self._limits(),
        )
        pruning: Pruning | None = None
        if some:
            values = values_of(tree, self._view(table.take(apart)))
            rest = None if weight is None else weight[apart]
            tree, pruning = prune(tree, values, target[apart], rest, self._fractions, self.cut_ties)
        self.tree_, self.pruning_ = tree, pruning

    def _learn_recode(self, table: Table | Scan, weight: FloatArray | None) -> Recode:
        """Learn the intervals of numeric columns."""
        if self.numeric == "threshold":
            return Recode()
        method = "quantizer" if self.numeric == "quantizer" else self.cuts
        return Recode.learn(table, weight, method, self.bins)

    @property
    def cut_points_(self) -> Mapping[str, FloatArray]:
        """The cut points of numeric columns that were cut before the tree was grown."""
        return self.recode_.cut_points

    @property
    def _fractions(self) -> bool:
        return self.when_missing == "fraction"

    @overload
    def _view(self, table: Table) -> Table: ...
    @overload
    def _view(self, table: Scan) -> Scan: ...
    def _view(self, table: Table | Scan) -> Table | Scan:
        return self.recode_.apply(table)

    def _view_schema(self) -> Schema:
        return self.recode_.apply_to_schema(self.schema_)

    def _pruning_text(self) -> str:
        pruning = self.pruning_
        if pruning is None:
            return ""
        return (
            f"Pruned from {pruning.nodes_before} nodes on {pruning.rows} rows held out: error "
            f"{pruning.error_before:.3f} before, {pruning.error_after:.3f} after."
        )
