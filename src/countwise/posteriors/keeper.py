"""What models that keep rows share: the rows, their weights, the space, and how they come back."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.counts.embedding import Space
from countwise.posteriors.nearest import Kept
from countwise.posteriors.neighborhood import Neighborhood, neighborhood
from countwise.tables.table import Table

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]


class Keeper:
    """A model whose memory is rows: ``rows_`` in ``space_``, and what else each of them brings.

    A model fills in `_settle`, which makes it ready to be asked.
    """

    space_: Space
    rows_: Table
    sample_weight_: Doubles | None
    target_: Doubles | None
    relevance_: Doubles | None
    places_: Rows | None
    _kept: Kept

    @property
    def n_rows_(self) -> int:
        """How many rows are kept."""
        return len(self.rows_)

    def keep(
        self,
        table: Table,
        weight: Doubles | None,
        space: Space,
        relevance: Doubles | None = None,
        target: Doubles | None = None,
        places: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Become the model of these rows in this space.

        Parameters
        ----------
        table
            The rows; every one of them weighs something.
        weight
            One weight a row, or None.
        space
            Where they are compared.
        relevance
            What the attributes were found to be worth, if that was learned.
        target
            The numbers to predict, for regressors.
        places
            Where the rows stood among those that came, from 0; None where none was left out.
        """
        self.rows_, self.sample_weight_, self.space_ = table, weight, space
        self.relevance_, self.target_ = relevance, target
        self.places_ = None if places is None else places.astype(np.int64)
        self._settle()
        return self

    def _settle(self) -> None:
        """Make the rows ready to be searched."""
        raise NotImplementedError

    def neighborhood(self, rows: Table, k: int) -> Neighborhood:
        """Find the k nearest kept rows of each query, by the numbers they came with."""
        return neighborhood(self._kept, rows, k, self.places_, self.target_)

    def extras(self) -> dict[str, Any]:
        """What else must be known of a saved model, as plain data."""
        return {} if self.places_ is None else {"places": self.places_.tolist()}

    def restore_extras(self, extras: dict[str, Any]) -> None:
        """Take back what `extras` gave."""
        if "places" in extras:
            self.places_ = self._places(extras["places"])

    def _places(self, given: Any) -> Rows:
        """The numbers of the kept rows as a file holds them; not one a row is no sound file."""
        places = np.asarray(given, dtype=np.int64)
        if places.shape != (self.n_rows_,):
            raise ValueError(f"{self.n_rows_} rows, but numbers of {places.size}")
        return places
