import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.int32]

def grow(
    codes: Bytes,
    target: NDArray[np.uint32],
    times: NDArray[np.uint32],
    nominal: Bytes,
    classes: int,
    max_features: int,
    min_leaf: float,
    max_depth: int,
    seed: int,
) -> tuple[Numbers, Numbers, Numbers, Bytes, Doubles, Doubles, Bytes]: ...
def shrink(
    start: NDArray[np.int64], left: Numbers, counts: Doubles, smoothing: float, shares: Doubles
) -> None: ...
def add_shares(
    rows: NDArray[np.int64], leaves: NDArray[np.int64], shares: Doubles, votes: Doubles
) -> None: ...

class Walk:
    def __init__(
        self,
        start: NDArray[np.int64],
        feature: Numbers,
        cut: Numbers,
        left: Numbers,
        missing_left: Bytes,
        masks: Bytes,
        nominal: Bytes,
        shares: Doubles,
    ) -> None: ...
    def add_votes(self, codes: Bytes, first: int, last: int, votes: Doubles) -> None: ...
    def find_leaves(
        self, codes: Bytes, rows: NDArray[np.int64], tree: int, leaves: NDArray[np.int64]
    ) -> None: ...
    def add_changes(self, codes: Bytes, changes: Doubles) -> None: ...
