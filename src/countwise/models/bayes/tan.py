"""Tree-augmented naive Bayes: each attribute may depend on one other; together they form a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.information import information_gain, shared_information
from countwise.counts.smoothing import Smoothing, a_smoothing
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.models.bayes.counted import JointClassifier
from countwise.models.bayes.score_terms import ScoreTerms
from countwise.params import derived, nothing, one_of, parameter, text


class Edge(NamedTuple):
    """An arc of the tree: the parent, the child and the bits they share given the class."""

    parent: str
    child: str
    weight: float


class TAN(JointClassifier):
    """Classify by naive Bayes in which each attribute may also depend on one other attribute.

    The tree is the maximum spanning tree under conditional mutual information given the class
    (Friedman, Geiger & Goldszmidt 1997), found by Kruskal's algorithm; of equal edges the one whose
    columns come first by name is taken, so that the order of columns changes nothing. Prediction is
    one table look-up an attribute. A missing parent leaves the child with its share in the class
    alone, a missing child says nothing.

    Examples
    --------
    >>> import countwise as cw
    >>> model = cw.TAN().fit(cw.read("sample:weather"))
    >>> for edge in model.tree_:
    ...     print(f"{edge.parent} -> {edge.child} {edge.weight:.3f}")
    outlook -> temperature 0.420
    outlook -> windy 0.312
    temperature -> humidity 0.420
    """

    smoothing: float | str | Smoothing | None = parameter(
        a_smoothing() | one_of("back-off"),
        "pseudo-count added to every count, the name of a rule, or 'back-off': where few rows of "
        "the class have the parent's value, the estimate moves towards the attribute's "
        "probability in the class, and that one towards its probability in all rows",
        default="back-off",
        kw_only=False,
    )
    root: str | None = parameter(
        nothing() | text("a column name"),
        "attribute at the root of the tree; None takes the most informative one",
        default=None,
    )
    tree_: tuple[Edge, ...] = derived()
    root_: str | None = derived()

    def terms(self, counts: Counts) -> ScoreTerms:
        """Learn the tree; return the prior and one table an attribute with its parent."""
        # By name: where weights are equal, the order of columns must not decide.
        columns = sorted(column.name for column in counts.schema.nominal)
        self.root_ = self._root(counts, columns)
        shared = shared_information(counts, columns)
        self.tree_ = _hang(columns, spanning_tree(shared), self.root_)
        parent = {edge.child: edge.parent for edge in self.tree_}
        families = [(name, parent[name]) if name in parent else (name,) for name in columns]
        return self._score_families(counts, families)

    def _root(self, counts: Counts, columns: list[str]) -> str | None:
        if self.root is None:
            gains = {n: round(information_gain(counts.table(n)[:-1, :-1]), 12) for n in columns}
            return max(columns, key=lambda name: gains[name], default=None)
        if self.root not in columns:
            raise ParameterError(
                f"TAN: root must be an attribute; got {self.root!r}."
                f"{did_you_mean(self.root, columns)} The attributes are {listing(columns)}."
            )
        return self.root

    def _dependencies(self) -> Mapping[str, Sequence[tuple[str, float]]]:
        roots: dict[str, list[tuple[str, float]]] = {} if self.root_ is None else {self.root_: []}
        return roots | {edge.child: [(edge.parent, edge.weight)] for edge in self.tree_}


def spanning_tree(weights: FloatArray) -> list[tuple[float, int, int]]:
    """Return the edges of the maximum spanning tree, by Kruskal's algorithm with a disjoint set.

    `weights` is symmetric; of equal edges the first is taken.
    """
    left, right = np.triu_indices(len(weights), k=1)
    # Neither must rounding decide between edges that are equal on paper.
    order = np.argsort(-np.round(weights[left, right], 12), kind="stable")
    above = list(range(len(weights)))

    def top(place: int) -> int:
        while above[place] != place:
            above[place] = above[above[place]]
            place = above[place]
        return place

    kept = []
    for i, j in zip(left[order].tolist(), right[order].tolist(), strict=True):
        one, two = top(i), top(j)
        if one != two:
            above[one] = two
            kept.append((float(weights[i, j]), i, j))
    return kept


def _hang(
    columns: list[str], edges: list[tuple[float, int, int]], root: str | None
) -> tuple[Edge, ...]:
    """Direct the tree away from its root, parents before children."""
    beside: dict[int, list[tuple[int, float]]] = {place: [] for place in range(len(columns))}
    for weight, i, j in edges:
        beside[i].append((j, weight))
        beside[j].append((i, weight))
    if root is None:
        return ()
    waiting, seen, hung = [columns.index(root)], {columns.index(root)}, []
    while waiting:
        parent = waiting.pop(0)
        for child, weight in sorted(beside[parent]):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
                hung.append(Edge(columns[parent], columns[child], weight))
    return tuple(hung)
