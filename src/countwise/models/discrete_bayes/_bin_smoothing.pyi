import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Levels = NDArray[np.int32]
Places = NDArray[np.int64]

def nearest_cells(
    levels: Levels,
    strides: Places,
    sizes: Levels,
    begins: Places,
    orders: Levels,
    distances: Doubles,
    places: Places,
    volumes: Doubles,
    counts: Doubles,
    which: int,
    enough: float,
    most: int,
    sums: Doubles,
    reached: Doubles,
) -> None: ...
def nearest_listed(
    levels: Levels,
    known: Levels,
    counts: Doubles,
    widths: Levels,
    places: Places,
    centers: Doubles,
    enough: float,
    room: Doubles,
    sums: Doubles,
) -> None: ...
