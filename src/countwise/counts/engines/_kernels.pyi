from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

class Axes:
    def __init__(self, codes: list[NDArray[Any]], strides: Sequence[int]) -> None: ...

def cut(values: Doubles, points: Doubles, codes: NDArray[Any]) -> None: ...
def tally(axes: Axes, start: int, stop: int, table: Doubles) -> None: ...
def tally_weighted(axes: Axes, weight: Doubles, start: int, stop: int, table: Doubles) -> None: ...
def moments(
    values: Doubles,
    target: Axes,
    weights: Doubles | None,
    start: int,
    stop: int,
    weight: Doubles,
    mean: Doubles,
    square: Doubles,
    missing: Doubles,
) -> None: ...
def fine_grid(
    values: Doubles,
    target: Axes,
    weights: Doubles | None,
    start: int,
    stop: int,
    classes: int,
    most: int,
    shift: int,
) -> tuple[int, NDArray[np.int64], Doubles, Doubles]: ...
