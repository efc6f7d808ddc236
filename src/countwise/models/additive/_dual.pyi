"""Types of the compiled search for coefficients of rows."""

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

def solve(
    gram: FloatArray,
    y: NDArray[np.int32],
    weight: FloatArray,
    start: FloatArray,
    loss_limit: float,
    slope_limit: float,
    max_steps: int,
) -> tuple[FloatArray, int]: ...
