"""What classifiers that keep rows share: the nearest of them vote, and votes are posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors.base import Classifier
from countwise.posteriors.keeper import Keeper
from countwise.posteriors.nearest import Kept
from countwise.posteriors.neighbor_evidence import NeighborExplanation, explained
from countwise.posteriors.votes import Electorate, shares_of_votes
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


class RowVoter(Keeper, Classifier):
    """A classifier whose kept rows vote; a model fills in `fit` and `votes_by`."""

    @property
    def votes_by(self) -> tuple[int, Any]:
        """How many neighbours vote, and by which weights."""
        raise NotImplementedError

    def _settle(self) -> None:
        table = self.rows_
        self.schema_ = table.schema
        present = self._take_classes(table)
        self._kept = Kept(self.space_, table, voters(table, self.sample_weight_, present))

    def _done_with_unseen(self, policy: str) -> str:
        return "compared as unlike any other"

    def _shares(self, table: Table) -> Doubles:
        """Vote shares; where no vote weighs anything all neighbours have the same say."""
        k, weights = self.votes_by
        votes = self._kept.votes(table, k, weights)
        silent = np.flatnonzero(~(votes.sum(axis=1) > 0))
        if len(silent):
            votes[silent] = self._kept.votes(table.take(silent), k)
        return shares_of_votes(votes)

    def _scores(self, table: Table) -> Doubles:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._shares(table)))

    def predict_proba(self, X: Any) -> Doubles:
        """Return each class' share of the votes (columns, in the order of ``classes_``)."""
        return self._shares(self._rows(X))

    def _best(self, table: Table) -> NDArray[np.int64]:
        return np.asarray(self._shares(table).argmax(axis=1))

    def explain(self, X: Any) -> NeighborExplanation:
        """Say who voted, and how the votes move as the columns are looked at in turn."""
        table = self._rows(X)
        near = self.neighborhood(table, self.votes_by[0])
        return explained(self, table, self._kept, near)


def voters(table: Table, weight: Doubles | None, present: NDArray[np.intp]) -> Electorate:
    """Rows as voters for the classes that are present."""
    place = np.searchsorted(present, table.target).astype(np.int64, copy=False)
    return Electorate.of_classes(place, len(present), weight)
