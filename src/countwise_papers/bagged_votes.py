"""Compare ways to vote in bagging (P0.8, Liu, Gegov & Cocea 2016).

One bagging a split serves all ways of voting: the members are the same, only their votes differ, so
that differences between ways are paired row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.errors import ParameterError
from countwise.evaluation.folds import generator, split_holdout
from countwise.evaluation.intervals import Estimate, corrected
from countwise.models.ensembles.bagging import Bagging
from countwise.tables.read import read
from countwise.tables.table import Table

#: Ways of voting: whole votes, posteriors averaged, votes drawn from each member's posterior; and
#: the exact expectation of a label drawn from the mean posterior.
WAYS = ("majority", "mean", "roulette", "wheel over mean")


@dataclass(frozen=True)
class BaggedVotes:
    """Accuracies of one bagging under several ways of voting, split by split."""

    accuracy: Mapping[str, tuple[float, ...]]  # by way, on each test part
    alone: tuple[float, ...]  # of a single model of the kind on the same test parts
    ratio: float  # tested rows over training rows, for intervals

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
        gap = self.difference(way, against)
        return "better" if gap.low > 0 else "worse" if gap.high < 0 else "no difference"


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
        raise ParameterError("bagged_votes", "repeats", "at least 2, for an interval", repeats)
    rng = generator("bagged_votes", random_state)
    split = split_holdout(table, holdout, repeats, True, rng)
    accuracy: dict[str, list[float]] = {way: [] for way in WAYS}
    alone: list[float] = []
    for place, rows in enumerate(split.folds()):
        train, test = table.take(rows.train), table.take(rows.test)
        model = Bagging(base, n_estimators=members, random_state=random_state + place).fit(train)
        for way, score in _score_ways(model, test).items():
            accuracy[way].append(score)
        single = Bagging(
            base, n_estimators=1, replace=False, random_state=random_state + place
        ).fit(train)
        alone.append(float(single.score(test)))
        if progress is not None:
            progress(place + 1, repeats, f"split {place + 1} of {repeats}")
    ratio = len(test) / max(len(train), 1)
    scores = {way: tuple(values) for way, values in accuracy.items()}
    return BaggedVotes(scores, tuple(alone), ratio)


def _score_ways(model: Bagging, test: Table) -> dict[str, float]:
    """Return the accuracy of one bagging on test rows under each way of voting."""
    places = {label: place for place, label in enumerate(model.classes_.tolist())}
    truth = np.asarray([places.get(label, -1) for label in test.labels.tolist()])
    votes = {way: model.set_params(vote=way).votes(test) for way in WAYS[:3]}
    scores = {way: float((table.argmax(axis=1) == truth).mean()) for way, table in votes.items()}
    mean = votes["mean"] / votes["mean"].sum(axis=1, keepdims=True)
    drawn = mean[np.arange(len(truth)), np.maximum(truth, 0)]
    return {**scores, "wheel over mean": float(np.where(truth >= 0, drawn, 0.0).mean())}
