"""What members say about rows they did not draw, and the errors that are estimated from it.

The out-of-bag error is the ensemble's (Breiman 1996). The leave-one-out bootstrap, .632 and .632+
are estimates for a single model of the kind (Efron & Tibshirani 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.draws import Draws, Proportional
from countwise.counts.row_keys import row_keys
from countwise.posteriors.casting import cast
from countwise.posteriors.members import Member, chunks
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """What members said about rows they did not draw, and the errors estimated from it.

    Attributes
    ----------
    votes
        Rows × classes; a row that every member drew has none.
    error
        Share of rows whose class does not win their out-of-bag votes: the ensemble's error.
    asked
        Share of rows that some member did not draw.
    single_error
        The mean error of single members on rows they did not draw: the leave-one-out bootstrap.
    apparent_error
        The error of one model, trained on all rows, on these very rows.
    no_information
        The error that such a model would have if columns and classes were unrelated.

    Examples
    --------
    >>> import countwise as cw
    >>> model = cw.Bagging(cw.NaiveBayes(), members=20, oob=True).fit(cw.read("sample:iris"))
    >>> found = model.out_of_bag_
    >>> found.apparent_error <= found.error_632 <= found.single_error
    True
    """

    votes: Doubles
    error: float
    asked: float
    single_error: float
    apparent_error: float
    no_information: float

    @property
    def error_632(self) -> float:
        """The .632 estimate: 0.368 apparent error + 0.632 leave-one-out bootstrap."""
        return 0.368 * self.apparent_error + 0.632 * self.single_error

    @property
    def overfitting(self) -> float:
        """The relative overfitting rate: 0 none, 1 as much as if nothing could be learned."""
        worst = min(self.single_error, self.no_information)
        room = self.no_information - self.apparent_error
        if worst <= self.apparent_error or room <= 0:
            return 0.0
        return float((worst - self.apparent_error) / room)

    @property
    def error_632_plus(self) -> float:
        """The .632+ estimate, which leans on the bootstrap where a model overfits."""
        weight = 0.632 / (1 - 0.368 * self.overfitting)
        worst = min(self.single_error, self.no_information)
        return float((1 - weight) * self.apparent_error + weight * worst)

    def placed(self, rows: NDArray[np.intp], number: int) -> OutOfBag:
        """Return the votes in the places of the rows in the table they came from."""
        votes = np.zeros((number, self.votes.shape[1]))
        votes[rows] = self.votes
        return replace(self, votes=votes)

    def to_dict(self) -> dict[str, float]:
        """Return the figures as plain data."""
        return {
            "error": self.error,
            "asked": self.asked,
            "single_error": self.single_error,
            "apparent_error": self.apparent_error,
            "no_information": self.no_information,
            "error_632": self.error_632,
            "error_632_plus": self.error_632_plus,
        }

    def describe(self) -> str:
        """Return the figures in a few sentences."""
        return (
            f"Out of bag the ensemble errs on {self.error:.1%} of the rows ({self.asked:.1%} of "
            f"all were asked about).\nA single model: {self.apparent_error:.1%} on its own rows, "
            f"{self.single_error:.1%} on others; .632 says {self.error_632:.1%}, .632+ "
            f"{self.error_632_plus:.1%}."
        )


def asked_out_of_bag(
    table: Table,
    members: Sequence[Member],
    alone: Member,
    draws: Draws | Proportional,
    classes: NDArray[Any],
    vote: str,
    seed: int,
    weight: Doubles | None,
) -> OutOfBag:
    """Ask every member about the rows it did not draw; rows go by in chunks."""
    own = np.ones(len(table)) if weight is None else weight
    present = np.unique(table.target)
    truth = np.searchsorted(present, table.target)
    number = len(classes)
    votes = np.zeros((len(table), number))
    missed, asked = np.zeros(len(table)), np.zeros(len(table))
    apparent = np.zeros(number)
    wrong = 0.0
    features = alone.features
    whole = [slice(0, len(table))]
    for chunk in chunks(len(table), features) if isinstance(draws, Draws) else whole:
        part, real = table.take(chunk), truth[chunk]
        keys = row_keys(part) if vote == "roulette" else None
        times = draws.between(0, len(members), chunk.start, chunk.stop)
        matrix = None if features is None else features.matrix(part)
        said = alone.posteriors(part, number, matrix).argmax(axis=1)
        apparent += np.bincount(said, own[chunk], minlength=number)
        wrong += float(own[chunk][said != real].sum())
        for place, member in enumerate(members):
            left = np.flatnonzero(times[:, place] == 0)
            if not len(left):
                continue
            given = None if matrix is None else matrix[left]
            shares = member.posteriors(part.take(left), number, given)
            at = chunk.start + left
            votes[at] += cast(shares, vote, None if keys is None else keys[left], seed, place)
            missed[at] += shares.argmax(axis=1) != real[left]
            asked[at] += 1
    some = asked > 0
    total, answered = own.sum(), own[some].sum()
    failed = own[some & (votes.argmax(axis=1) != truth)].sum()
    single = (own[some] * missed[some] / asked[some]).sum()
    shares_of = np.bincount(truth, own, minlength=number) / total
    nan = float("nan")
    return OutOfBag(
        votes,
        float(failed / answered) if answered else nan,
        float(answered / total),
        float(single / answered) if answered else nan,
        wrong / float(total),
        float((shares_of * (1 - apparent / total)).sum()),
    )
