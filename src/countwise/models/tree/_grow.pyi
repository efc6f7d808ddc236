from typing import Any

import numpy as np
from numpy.typing import NDArray

def grow(
    codes: list[NDArray[np.uint8]],
    target: NDArray[np.uint8],
    width: NDArray[np.int32],
    classes: int,
    least: float,
    min_leaf: float,
    min_gain: float | None,
    max_depth: int | None,
    tie: float,
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]: ...
