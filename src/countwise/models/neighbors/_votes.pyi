import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

class Poll:
    queries: int
    width: int
    def __init__(
        self,
        who: Rows,
        far: Doubles,
        edge: Doubles,
        ballots: Doubles,
        places: Doubles,
        ks: Doubles,
        scheme: int,
        same: float,
        label: Rows | None = None,
        classes: int = 1,
        own: Doubles | None = None,
        at_reach: Doubles | None = None,
    ) -> None: ...
    def sums(self, start: int, stop: int, votes: Doubles) -> None: ...
    def verdicts(
        self,
        start: int,
        stop: int,
        truth: Rows,
        weight: Doubles,
        total: Doubles,
        without: Doubles,
        imagined: float,
        right: Doubles,
        hoped: Doubles,
        lost: Doubles,
    ) -> None: ...

def shares(votes: Doubles) -> None: ...
def smooth_all(fractions: Doubles, prior: Doubles, k: float, imagined: float) -> None: ...
def reaches(who: Rows, far: Doubles, places: Doubles, k: float, reach: Doubles) -> None: ...
