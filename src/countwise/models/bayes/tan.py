"""Tree-augmented naive Bayes: each attribute may depend on one other; together they form a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts
from countwise.counts.information import (
    conditional_information,
    information_gain,
    shared_information,
)
from countwise.counts.plan import Plan
from countwise.counts.smoothing import Smoothing, a_smoothing
from countwise.discretize.recode import Recode
from countwise.errors import CountsError, ParameterError, did_you_mean, listing
from countwise.models.bayes.counted import JointClassifier
from countwise.models.bayes.families import (
    Family,
    check_families,
    is_learned_once,
    note_learned_once,
    plan_families,
    share_in_rows,
)
from countwise.models.bayes.score_terms import ScoreTerms
from countwise.notes import Note
from countwise.params import derived, fitted, nothing, one_of, parameter, text
from countwise.tables.scan import Scan
from countwise.tables.schema import Schema
from countwise.tables.table import Table


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

    The tree follows from tables of every two columns, and is renewed with them by `partial_fit` and
    `forget`. Where these tables would not fit in memory (more than 2^25 cells), `fit` counts,
    measures and drops them one by one and keeps only those of the tree; later rows then change the
    tables, not the tree, and a note (P04) says so.

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
    #: The families of a tree learned once, parents first; none where the counts give the tree.
    _learned_once: tuple[Family, ...] = fitted()
    _keeps_tree = True

    def _plan(self, schema: Schema) -> Plan:
        return plan_families(self._learned_once) if self._learned_once else super()._plan(schema)

    def _learn_recode(self, table: Table | Scan, weight: FloatArray | None) -> Recode:
        """Learn the tree, too, where not all tables of two columns can be kept."""
        recode = super()._learn_recode(table, weight)
        seen, self._learned_once = recode.apply(table), ()
        if is_learned_once(seen.schema):
            columns = sorted(column.name for column in seen.schema.nominal)
            single = count(seen, Plan(tuple((n,) for n in columns)), sample_weight=weight)
            root = self._root(single, columns)
            edges = spanning_tree(share_in_rows(seen, columns, weight))
            pairs = [(edge.child, edge.parent) for edge in _hang(columns, edges, root)]
            self._learned_once = ((root,), *pairs) if root is not None else ()
        return recode

    def _take_counts(
        self, counts: Counts, schema: Schema, recode: Recode, table: Table | None = None
    ) -> Self:
        self._learned_once = ()
        return super()._take_counts(counts, schema, recode, table)

    def terms(self, counts: Counts) -> ScoreTerms:
        """Learn the tree; return the prior and one table an attribute with its parent."""
        # By name: where weights are equal, the order of columns must not decide.
        columns = sorted(column.name for column in counts.schema.nominal)
        if self._learned_once:
            place = {name: at for at, name in enumerate(columns)}
            (self.root_,), *pairs = self._learned_once
            edges = []
            for pair in pairs:
                # The later by name first, as where all pairs are measured: the same last bit.
                one, two = sorted(pair, reverse=True)
                bits = conditional_information(counts.table(one, two)[:-1, :-1, :-1])
                edges.append((bits, place[two], place[one]))
        else:
            self.root_ = self._root(counts, columns)
            edges = spanning_tree(shared_information(counts, columns))
        self.tree_ = _hang(columns, edges, self.root_)
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

    def _family_notes(self) -> tuple[Note, ...]:
        return (note_learned_once(self.schema_),) if self._learned_once else ()

    def _check_merge(self, other: Self) -> None:
        if other._learned_once != self._learned_once:
            raise CountsError(
                "TAN: models of so many columns merge only if their trees are equal; got different "
                "ones.",
                hint="Fit one model, and add the other rows with partial_fit.",
            )

    def after_load(self) -> None:
        """Make again what is not saved; refuse a tree that is none."""
        check_families("TAN", self._learned_once, 1)
        if any(len(family) != 2 for family in self._learned_once[1:]):
            raise CountsError("TAN: each attribute but the root must depend on one other.")
        super().after_load()

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
            if len(kept) == len(above) - 1:
                break
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
