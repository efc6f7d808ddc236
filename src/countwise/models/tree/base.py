"""What decision trees share: prediction, explanation, paths, rules as text and views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.plan import Plan
from countwise.errors import StoreError, listing
from countwise.models.choose_smoothing import SmoothedClassifier, an_amount
from countwise.models.explanation import Explanation
from countwise.models.tree.predict import find_ends, posteriors, trace_changes, values_of
from countwise.models.tree.splits import Attribute, rank
from countwise.models.tree.tree_structure import Step, TreeStructure, held_text, path_of, rules_of
from countwise.numeric import logs_of
from countwise.params import fitted, one_of, parameter
from countwise.tables.schema import Schema
from countwise.tables.table import Table

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


class TreeClassifier(SmoothedClassifier):
    """A classifier that is one decision tree; a model fills in `fit`."""

    unseen: str = parameter(
        one_of("ignore", "error"),
        "treatment of unseen levels: with 'ignore', a row whose level did not reach a node in "
        "training is classified by that node; with 'error', a level that did not occur in "
        "training raises an error",
        default="ignore",
    )
    smoothing: float | str = parameter(
        an_amount() | one_of("laplace"),
        "number of imagined rows, with the class shares of all rows, that are added to each leaf, "
        "so that no class gets probability 0; they never change the decision of a leaf; 0 gives "
        "plain class frequencies, 'laplace' adds one row of each class. 'auto' takes the number, "
        "up to 50, with the least log loss in five-fold cross-validation on the training rows (of "
        "more than 20,000 rows about so many count), or 5 for fewer than 50 rows",
        default="auto",
    )
    usual_smoothing = 5.0
    tree_: TreeStructure = fitted("the tree in flat arrays, a TreeStructure")

    def _code_classes(self, table: Table) -> NDArray[Any]:
        """Know the classes that occur in these rows; return the place of each row's class."""
        present = np.flatnonzero(count(table, Plan()).weight[:-1])
        self.classes_ = np.asarray([table.classes[place] for place in present])
        place_of = np.zeros(len(table.classes), dtype=np.min_scalar_type(len(present)))
        place_of[present] = np.arange(len(present))
        return np.asarray(place_of[table.target])

    @staticmethod
    def _attributes(table: Table) -> list[Attribute]:
        return [
            Attribute(column.name, table.codes(column.name), column.width, column.levels)
            if column.coded
            else rank(column.name, table.values(column.name), column.dates)
            for column in table.schema.attributes
        ]

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
        """Whether a row without a value goes down every branch."""
        return True

    def _view(self, table: Table) -> Table:
        """Return rows as the tree sees them."""
        return table

    def _view_schema(self) -> Schema:
        """Return the columns as the tree sees them."""
        return self.schema_

    def _pruning_text(self) -> str:
        """Return a sentence about pruning; none if there was none."""
        return ""

    def _pieces(self, table: Table) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the rows in pieces, as what they hold in the columns of the tree."""
        step = max(1, _CELLS // max(len(self.tree_.columns), 1))
        for start in range(0, len(table), step):
            rows = slice(start, start + step)
            yield rows, values_of(self.tree_, self._view(table.take(rows)))

    def posteriors_by_smoothing(self, table: Table, amounts: Sequence[float]) -> list[FloatArray]:
        """Return the posteriors of rows with each of these numbers of imagined rows."""
        found = [np.empty((len(table), len(self.classes_))) for _ in amounts]
        for rows, values in self._pieces(table):
            parts = find_ends(self.tree_, values, self._fractions)
            for into, amount in zip(found, amounts, strict=True):
                into[rows] = posteriors(self.tree_, parts, len(values), self._pseudo(amount))
        return found

    def _scores(self, table: Table) -> FloatArray:
        return logs_of(self.posteriors_by_smoothing(table, [self.amount])[0])

    def _pseudo(self, amount: float) -> FloatArray:
        """Return what is added to the weight of each class in a leaf."""
        counts = np.asarray(self.tree_.counts[0], dtype=np.float64)
        if self.smoothing == "laplace":
            return np.ones(len(counts))
        return np.asarray(amount * (counts / counts.sum()))

    def _smoothing_text(self) -> str:
        """Return a sentence about what is added to the counts of a leaf."""
        if self.smoothing == "laplace":
            return "1 is added to every class count of a leaf (Laplace)."
        if not self.amount:
            return "Nothing is added to the counts."
        rows = "1 row" if self.amount == 1 else f"{self.amount:g} rows"
        return f"To each leaf, {rows} with the class shares of all rows are added."

    def explain(self, X: Any) -> Explanation:
        """Return what each column changes in the log posterior on the way down; it adds up.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.models.tree.id3 import ID3
        >>> weather = cw.read("sample:weather")
        >>> print(ID3().fit(weather).explain(weather.take([0])).describe())
        no (posterior 0.598) against yes: log-odds +0.398
            -0.588  before any evidence
            +0.588  outlook = sunny
            +0.398  humidity = high
            +0.000  windy = FALSE
        """
        table, tree = self._rows(X), self.tree_
        used = np.unique(tree.feature[tree.split]).tolist()
        base, parts, held = [], [], []
        for _, values in self._pieces(table):
            pseudo = self._pseudo(self.amount)
            root, changes = trace_changes(tree, values, self._fractions, pseudo)
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
        tree = self.tree_
        tested = dict.fromkeys(tree.columns[at] for at in tree.feature[tree.split])
        lines = [_size(tree)]
        if tested:
            lines.append(f"It asks for {listing(tested, 8)} of {len(tree.columns)} columns.")
        if pruned := self._pruning_text():
            lines.append(pruned)
        return "\n".join(lines)

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        tree = self.tree_
        sizes = {"nodes": len(tree), "leaves": tree.leaves, "depth": tree.depth}
        return {**self._class_summary(np.asarray(tree.counts[0], np.float64)), **sizes}

    def after_load(self) -> None:
        """Refuse a tree that asks for columns or levels which the recoded schema does not have."""
        self._check_classes()
        self._check_smoothing()
        tree, schema = self.tree_, self._view_schema()
        if tree.classes != tuple(self.classes_.tolist()):
            raise StoreError("Tree: its classes must be those of the model.")
        for name, levels in zip(tree.columns, tree.levels, strict=True):
            column = schema[name]
            known = column.levels if column.coded else None
            if column.kind not in ("nominal", "numeric") or known != levels:
                raise StoreError(f"Tree: its column {name!r} must be as in the schema.")

    def views(self) -> Sequence[View]:
        """Return the decision tree."""
        from countwise.models.tree.views import tree_view

        check_is_fitted(self, "tree_")
        words = " ".join(self.describe().splitlines())
        return (tree_view(self.tree_, note=f"{words} {self._smoothing_text()}"),)
