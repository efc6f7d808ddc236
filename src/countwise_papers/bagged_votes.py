"""Whether it helps that members of a bagging vote by roulette (P0.8, Liu, Gegov & Cocea 2016).

One bagging a split answers for all ways of voting: its members' posteriors are the same, only the
votes differ. Differences between ways are so paired row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys
from countwise.errors import ParameterError
from countwise.evaluation.folds import generator, split_holdout
from countwise.evaluation.intervals import Estimate, corrected
from countwise.models.ensembles.bagging import Bagging
from countwise.models.ensembles.members import cast
from countwise.tables.read import read
from countwise.tables.table import Table

#: Ways of voting: whole votes, posteriors averaged, drawn votes; and a label drawn from the mean.
WAYS = ("majority", "mean", "roulette", "wheel over mean")


@dataclass(frozen=True)
class BaggedVotes:
    """Accuracies of one bagging under several ways of voting, split by split.

    Attributes
    ----------
    accuracy
        By way, the accuracy on each test part. ``roulette``: each member's vote is drawn from its
        posterior and votes are counted. ``wheel over mean``: the label is drawn from the mean
        posterior; its exact expectation, nothing drawn.
    alone
        The accuracy of a single model of the kind on the same test parts.
    ratio
        Tested rows over training rows, for intervals.
    """

    accuracy: Mapping[str, tuple[float, ...]]
    alone: tuple[float, ...]
    ratio: float

    def estimate(self, way: str, level: float = 0.95) -> Estimate:
        """Return the mean accuracy of a way, with its interval."""
        return corrected(self.accuracy[way], self.ratio, level)

    def difference(self, way: str, against: str, level: float = 0.95) -> Estimate:
        """Return by how much one way is better than another, paired, with its interval."""
        one, two = self.accuracy[way], self.accuracy[against]
        gaps = [a - b for a, b in zip(one, two, strict=True)]
        return corrected(gaps, self.ratio, level)

    def verdict(self, way: str = "roulette", against: str = "majority") -> str:
        """Say whether one way helps: ``better``, ``worse`` or ``no difference``."""
        own = self.difference(way, against)
        return "better" if own.low > 0 else "worse" if own.high < 0 else "no difference"


def bagged_votes(
    data: Any,
    base: Any = None,
    *,
    target: Any = None,
    members: int = 50,
    holdout: float = 0.3,
    repeats: int = 10,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] | None = None,
    **read_options: Any,
) -> BaggedVotes:
    """Let one bagging a split vote in every way, on rows it has not seen."""
    table = data if isinstance(data, Table) else read(data, target=target, **read_options)
    table = table.take(table.target < table.target_column.width)
    if repeats < 2:
        raise ParameterError(
            f"bagged_votes: at least two repeats are needed for an interval, but {repeats} came."
        )
    rng = generator("bagged_votes", random_state)
    split = split_holdout(table, holdout, repeats, True, rng)
    accuracy: dict[str, list[float]] = {way: [] for way in WAYS}
    alone: list[float] = []
    for place, (train, test) in enumerate(split.folds()):
        model = Bagging(base, n_estimators=members, random_state=random_state + place)
        model.fit(table.take(train))
        tested = table.take(test)
        for way, right in _rights(model, tested).items():
            accuracy[way].append(float(right.mean()))
        single = Bagging(base, n_estimators=1, replace=False, random_state=random_state + place)
        alone.append(float(single.fit(table.take(train)).score(tested)))
        if progress is not None:
            progress(place + 1, repeats, f"split {place + 1} of {repeats}")
    ratio = len(test) / max(len(train), 1)
    return BaggedVotes({w: tuple(own) for w, own in accuracy.items()}, tuple(alone), ratio)


def _rights(model: Bagging, tested: Table) -> dict[str, FloatArray]:
    """How right each way is about each row."""
    every = model.member_votes(tested)
    keys = row_keys(tested)
    known = {label: place for place, label in enumerate(model.classes_.tolist())}
    truth = np.asarray([known.get(label, -1) for label in tested.labels.tolist()])
    found: dict[str, FloatArray] = {}
    for way in WAYS[:3]:
        votes = sum(cast(every[:, at], way, keys, model._seed, at) for at in range(every.shape[1]))
        found[way] = (np.asarray(votes).argmax(axis=1) == truth).astype(np.float64)
    mean = every.mean(axis=1)
    own = mean[np.arange(len(truth)), np.maximum(truth, 0)]
    found["wheel over mean"] = np.where(truth >= 0, own, 0.0)
    return found
