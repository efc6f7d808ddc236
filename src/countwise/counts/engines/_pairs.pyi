import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Codes = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]

def count_pairs(
    codes: Codes,
    target: NDArray[np.uint32],
    weight: Doubles | None,
    width: NDArray[np.uint32],
    slots: int,
    pairs: NDArray[np.int64],
    offset: NDArray[np.int64],
    out: Doubles,
) -> None: ...
def measure_pairs(
    codes: Codes,
    target: NDArray[np.uint32],
    weight: Doubles | None,
    width: NDArray[np.uint32],
    slots: int,
    pairs: NDArray[np.int64],
    bits: Doubles,
) -> None: ...
def measure_tables(tables: list[Doubles], bits: Doubles) -> None: ...
