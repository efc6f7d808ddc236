import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

class Layout:
    columns: int
    pairs: int
    cells: int
    def __init__(
        self,
        offset: NDArray[np.int64],
        groups: NDArray[np.uint16],
        group_start: NDArray[np.int64],
        pair: NDArray[np.int32],
        cells: int,
    ) -> None: ...

class Basis:
    parameters: int
    cells: int
    def __init__(
        self, shapes: NDArray[np.int64], matrices: FloatArray, parameters: int, cells: int
    ) -> None: ...
    def tables_of(self, u: FloatArray) -> FloatArray: ...

class Solver:
    layout: Layout
    basis: Basis
    steps: int
    slots: int
    value: float
    slope: float
    slope_limit: float
    first_slope: float
    def __init__(
        self,
        layout: Layout,
        basis: Basis,
        scores: int,
        slots: int,
        scale: FloatArray,
        penalty: FloatArray,
        bounded: NDArray[np.uint8],
        start: FloatArray,
        loss_limit: float,
        slope_limit: float,
        max_steps: int,
        memory: int = 10,
        centered: NDArray[np.int64] | None = None,
    ) -> None: ...
    def add_rows(
        self,
        slot: int,
        codes: NDArray[np.uint16],
        y: NDArray[np.int32],
        weight: FloatArray,
        start: int,
        stop: int,
    ) -> None: ...
    def sum_rows(
        self, codes: NDArray[np.uint16], y: NDArray[np.int32], weight: FloatArray
    ) -> FloatArray: ...
    def put_sums(self, sums: FloatArray) -> None: ...
    def step(self) -> bool: ...
    def solve(
        self,
        codes: NDArray[np.uint16],
        y: NDArray[np.int32],
        weight: FloatArray,
        ranges: NDArray[np.int64],
    ) -> None: ...
    def gradient(self) -> FloatArray: ...
    def solution(self) -> FloatArray: ...

def add_up(
    layout: Layout,
    codes: NDArray[np.uint16],
    start: int,
    stop: int,
    tables: FloatArray,
    bias: FloatArray,
    scores: FloatArray,
) -> None: ...
def count_cells(
    layout: Layout,
    codes: NDArray[np.uint16],
    weight: FloatArray,
    start: int,
    stop: int,
    counts: FloatArray,
) -> None: ...
def screen(
    groups: NDArray[np.uint16],
    widths: NDArray[np.int64],
    parts: NDArray[np.int32],
    n_parts: int,
    residual: FloatArray,
    curvature: FloatArray,
    candidates: NDArray[np.int64],
    ridge: float,
    gains: FloatArray,
) -> None: ...
