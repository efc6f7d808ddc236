"""Tree: a decision tree that is grown and pruned as in C4.5."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from countwise.models.tree.base import TreeClassifier
from countwise.models.tree.grow import Limits, grow
from countwise.models.tree.prune import Pruning, prune_pessimistic
from countwise.params import fitted, nothing, number, parameter, whole


class Tree(TreeClassifier):
    """Classify by a decision tree that is grown and pruned as in C4.5 (Quinlan 1993, 1996).

    A nominal column makes one branch a level, a number is cut in two at a value of the training
    rows. Of the splits with at least average information gain the one with the largest gain ratio
    is taken. The gain of a threshold pays for its choice among many. A row without a value goes
    down every branch, with the branch's fraction of the rows. Pruning then makes a leaf of each
    subtree that is not expected to make fewer errors than the leaf would.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.tree.tree import Tree
    >>> print(Tree().fit(cw.read("sample:weather-numeric")).rules())
    if outlook = sunny:
      if humidity ≤ 75: yes (2 rows)
      if humidity > 75: no (3 rows)
    if outlook = overcast: yes (4 rows)
    if outlook = rainy:
      if windy = TRUE: no (2 rows)
      if windy = FALSE: yes (3 rows)
    """

    confidence: float | None = parameter(
        number(above=0, at_most=0.5) | nothing(),
        "confidence of pessimistic pruning: the smaller, the more is pruned; None means no pruning",
        default=0.25,
    )
    min_leaf: float = parameter(
        number(at_least=0),
        "at least two branches of a split must have this number (or weight) of rows",
        default=2.0,
    )
    max_depth: int | None = parameter(
        whole(at_least=0) | nothing(),
        "largest number of tests from the root to a leaf",
        default=None,
    )
    pruning_: Pruning | None = fitted("what pruning did, a Pruning; None without")

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the tree, and prune it."""
        table, weight, *_ = self._training(X, y, sample_weight)
        target = self._code_classes(table)
        limits = Limits(
            ratio=True, max_depth=self.max_depth, min_leaf=float(self.min_leaf), as_c45=True
        )
        classes = tuple(self.classes_.tolist())
        self.tree_, self.pruning_ = (
            grow(self._attributes(table), target, classes, weight, limits),
            None,
        )
        if self.confidence is not None:
            self.tree_, self.pruning_ = prune_pessimistic(self.tree_, float(self.confidence))
        self._set_smoothing(table, weight)
        return self

    def _pruning_text(self) -> str:
        pruning = self.pruning_
        if pruning is None or pruning.nodes_after == pruning.nodes_before:
            return ""
        return (
            f"Pruned from {pruning.nodes_before} nodes; {pruning.error_after:.1%} errors are "
            "expected on new rows."
        )
