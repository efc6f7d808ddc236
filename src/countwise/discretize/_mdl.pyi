"""Types of the compiled search for cuts."""

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

def find_cuts(cells: FloatArray, margin: float) -> list[int]: ...
def find_intervals_without(
    cells: FloatArray,
    points: FloatArray,
    exact: bool,
    cell: NDArray[np.intp],
    label: NDArray[np.intp],
    weight: FloatArray,
    margin: float,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]: ...
