from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Address = NDArray[np.int64]
Label = NDArray[np.uint16]
Marks = NDArray[np.uint8]

def sweep(
    context: NDArray[np.int32],
    label: Label,
    weight: Doubles,
    ends: Marks,
    start: int,
    stop: int,
    train: Doubles,
    check: Doubles,
    fallback: int,
    kind: int,
    lean: float,
    slack: float,
    room: Doubles,
) -> tuple[float, float, float, float, float, int, int]: ...
def add_levels(
    column: NDArray[Any], edges: Doubles, stride: int, blank: int, address: Address
) -> None: ...
def add_banded(
    column: NDArray[Any],
    edges: Doubles,
    bands: Doubles,
    stride: int,
    blank: int,
    address: Address,
    near: Marks,
) -> None: ...
def count_cells(
    address: Address, label: Label, weight: Doubles, skip: Marks, table: Doubles
) -> None: ...
def column_range(column: NDArray[Any]) -> tuple[float, float, int]: ...
def count_widths(
    column: NDArray[Any], weight: Doubles, low: float, scale: float, counts: Doubles
) -> None: ...
