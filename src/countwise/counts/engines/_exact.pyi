import numpy as np
from numpy.typing import NDArray

from countwise.counts.engines._kernels import Axes

Doubles = NDArray[np.float64]
MOST_ROWS: int

def exact_sums(
    values: Doubles,
    target: Axes,
    weights: Doubles | None,
    start: int,
    stop: int,
    weight: Doubles,
    missing: Doubles,
) -> tuple[int, NDArray[np.uint32]]: ...
