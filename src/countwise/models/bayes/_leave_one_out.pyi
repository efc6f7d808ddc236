import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

def multiply_shares(
    tables: list[FloatArray],
    parents: list[NDArray[np.intp]],
    slots: NDArray[np.intp],
    child: NDArray[np.intp],
    imagined: FloatArray,
    whole: float,
    even: float,
    as_class: bool,
    truth: NDArray[np.intp],
    weight: FloatArray,
    product: FloatArray,
) -> None: ...
