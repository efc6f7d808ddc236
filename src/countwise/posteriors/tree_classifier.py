"""What classifiers that answer by a tree share: prediction, explanation, rules and plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from countwise.counts.cuts import cut_table
from countwise.errors import CountwiseError, StoreError, listing
from countwise.posteriors.base import Classifier
from countwise.posteriors.descent import ends, posteriors, told, values_of
from countwise.posteriors.evidence import Explanation
from countwise.posteriors.pruning import Pruning
from countwise.posteriors.rules import Step, held_text, path_of, rules_of
from countwise.posteriors.tree import Tree
from countwise.tables.notes import Note
from countwise.tables.schema import Schema
from countwise.tables.table import Table

Doubles = NDArray[np.float64]

#: How many cells are looked at together: rows times columns.
_CELLS = 1 << 21


class TreeClassifier(Classifier):
    """A classifier whose answer is a leaf of ``tree_``; a model fills in `fit`."""

    missing: str
    smoothing: float | None

    tree_: Tree
    n_leaves_: int
    depth_: int
    pruning_: Pruning | None
    cut_points_: dict[str, Doubles]

    def _keep(self, tree: Tree, pruning: Pruning | None) -> None:
        self.tree_, self.pruning_ = tree, pruning
        self.n_leaves_, self.depth_ = tree.leaves, tree.depth

    @property
    def _fractions(self) -> bool:
        return self.missing == "fraction"

    def _view(self, table: Table) -> Table:
        return cut_table(table, self.cut_points_) if self.cut_points_ else table

    def _pieces(self, table: Table) -> Iterator[tuple[slice, Doubles]]:
        """The rows in pieces, as what they hold in the columns of the tree."""
        step = max(1, _CELLS // max(len(self.tree_.columns), 1))
        for start in range(0, len(table), step):
            rows = slice(start, start + step)
            yield rows, values_of(self.tree_, self._view(table.take(rows)))

    def _scores(self, table: Table) -> Doubles:
        scores = np.empty((len(table), len(self.classes_)))
        for rows, values in self._pieces(table):
            parts = ends(self.tree_, values, self._fractions)
            scores[rows] = posteriors(self.tree_, parts, len(values), self._alpha)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(scores, out=scores))

    @property
    def _alpha(self) -> float:
        return float(self.smoothing or 0.0)

    def explain(self, X: Any) -> Explanation:
        """Say what each column changes in the log posterior on the way down; it adds up.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.posteriors.id3 import ID3
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
            root, changes = told(tree, values, self._fractions, self._alpha)
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
        >>> from countwise.posteriors.id3 import ID3
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
        >>> from countwise.posteriors.id3 import ID3
        >>> print(ID3().fit(cw.read("sample:weather")).describe())
        A tree of 8 nodes, 5 of them leaves, and at most 2 tests a row.
        It asks for 'outlook', 'humidity', 'windy' of 4 columns.
        """
        check_is_fitted(self, "tree_")
        tree, told_of = self.tree_, self.pruning_
        asked = dict.fromkeys(tree.columns[at] for at in tree.feature[tree.split])
        lines = [_size(tree)]
        if asked:
            lines.append(f"It asks for {listing(asked, 8)} of {len(tree.columns)} columns.")
        if told_of is not None:
            lines.append(
                f"Pruned from {told_of.nodes_before} nodes on {told_of.rows} rows held out: error "
                f"{told_of.error_before:.3f} before, {told_of.error_after:.3f} after."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned as plain, flat data: parameters, schema, cuts and the tree.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.posteriors.id3 import ID3
        >>> weather = cw.read("sample:weather")
        >>> model = ID3().fit(weather)
        >>> again = ID3.from_dict(model.to_dict())
        >>> bool((again.predict_proba(weather) == model.predict_proba(weather)).all())
        True
        """
        check_is_fitted(self, "tree_")
        parameters = self.get_params(deep=False)
        for name, value in parameters.items():
            if isinstance(value, np.random.RandomState):
                parameters[name] = None
            elif not isinstance(value, str | bool | int | float | None):
                parameters[name] = np.asarray(value).tolist() if np.ndim(value) else value.item()
        came = getattr(self, "feature_names_in_", None)
        return {
            "parameters": parameters,
            "schema": self.schema_.to_dict(),
            "classes": self.classes_.tolist(),
            "cut_points": {name: own.tolist() for name, own in self.cut_points_.items()},
            "tree": self.tree_.to_dict(),
            "pruning": None if self.pruning_ is None else self.pruning_.to_dict(),
            "notes": [note.to_dict() for note in self.notes_],
            "features_in": getattr(self, "n_features_in_", None),
            "feature_names_in": None if came is None else list(came),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read a model back from plain data; its posteriors are the same to the last bit."""
        try:
            model = cls(**plain["parameters"])
            model._check_parameters()
            model.schema_ = Schema.from_dict(plain["schema"])
            model.classes_ = np.asarray(plain["classes"])
            model.notes_ = tuple(
                Note(own["code"], own["column"], own["text"]) for own in plain["notes"]
            )
            model.cut_points_ = {
                name: np.asarray(own, dtype=np.float64) for name, own in plain["cut_points"].items()
            }
            given = plain["pruning"]
            pruning = None if given is None else Pruning(**given)
            tree = Tree.from_dict(plain["tree"])
            _fitting(tree, model)
            if plain["features_in"] is not None:
                model.n_features_in_ = int(plain["features_in"])
            if plain["feature_names_in"] is not None:
                model.feature_names_in_ = np.asarray(plain["feature_names_in"], dtype=object)
        except CountwiseError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as why:
            raise StoreError(
                f"{cls.__name__}: plain data must be as to_dict writes them, but {why} does not "
                "fit. Write them again."
            ) from None
        model._keep(tree, pruning)
        return model


def _size(tree: Tree) -> str:
    if len(tree) == 1:
        return "A tree of one leaf, which answers every row alike."
    tests = "one test" if tree.depth == 1 else f"{tree.depth} tests"
    leaves = "one of them a leaf" if tree.leaves == 1 else f"{tree.leaves} of them leaves"
    return f"A tree of {len(tree)} nodes, {leaves}, and at most {tests} a row."


def _fitting(tree: Tree, model: TreeClassifier) -> None:
    """Refuse a tree that asks for columns or levels which the schema does not have."""
    schema = model.schema_
    if tree.classes != tuple(model.classes_.tolist()):
        raise ValueError("the classes of the tree")
    for name, points in model.cut_points_.items():
        if schema[name].kind != "numeric" or np.any(np.diff(points) <= 0):
            raise ValueError(f"the cuts of {name!r}")
    for name, levels in zip(tree.columns, tree.levels, strict=True):
        column = schema[name]
        cut = model.cut_points_.get(name)
        number = None if not column.coded and cut is None else column.width
        if cut is not None:
            number = len(cut) + 1
        if column.kind not in ("nominal", "numeric") or number != (
            None if levels is None else len(levels)
        ):
            raise ValueError(f"column {name!r}")
