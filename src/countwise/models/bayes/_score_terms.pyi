from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.engines._kernels import Axes

Doubles = NDArray[np.float64]

def add_tables(axes: Axes, start: int, stop: int, table: Doubles, scores: Doubles) -> None: ...
def add_gaussians(
    values: Doubles,
    start: int,
    stop: int,
    mean: Doubles,
    precision: Doubles,
    constant: Doubles,
    missing: Doubles,
    normalise: bool,
    lowest: float,
    scores: Doubles,
) -> None: ...
def add_kernels(
    values: Doubles,
    start: int,
    stop: int,
    densities: list[tuple[Any, ...]],
    constant: Doubles,
    missing: Doubles,
    normalise: bool,
    lowest: float,
    scores: Doubles,
) -> None: ...
def add_up(scores: Doubles, allowed: NDArray[np.uint8], top: Doubles, total: Doubles) -> None: ...
def best_class(scores: Doubles, rows: int, best: NDArray[np.int64], top: Doubles) -> None: ...
