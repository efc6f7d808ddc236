import numpy as np
from numpy.typing import NDArray

from countwise.counts.engines._kernels import Axes

Doubles = NDArray[np.float64]

def reweigh(
    asked: Axes,
    target: Axes,
    said: NDArray[np.int32],
    hit: float,
    miss: float,
    start: int,
    stop: int,
    weight: Doubles,
) -> None: ...
def reweigh_and_tally(
    asked: Axes,
    target: Axes,
    said: NDArray[np.int32] | None,
    hit: float,
    miss: float,
    start: int,
    stop: int,
    weight: Doubles,
    axes: list[Axes],
    tables: list[Doubles],
) -> None: ...
