from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.engines._kernels import Axes

Doubles = NDArray[np.float64]
Edges = NDArray[np.int64] | None

LANES: int
SLOTS: int

def multiplicities(
    edges: Edges,
    begin: int,
    end: int,
    total: int,
    seed: int,
    member: int,
    times: NDArray[np.int32],
    replace: bool,
    low: int,
    high: int,
    out: NDArray[np.uint32],
) -> None: ...
def tally_resampled(
    axes: list[Axes],
    edges: Edges,
    begin: int,
    end: int,
    total: int,
    seed: int,
    member: int,
    times: NDArray[np.int32],
    replace: bool,
    tables: list[NDArray[np.uint32]],
    values: list[Doubles],
    target: Axes,
    moments: list[Doubles],
) -> None: ...
def row_keys(
    codes: list[NDArray[Any]],
    figures: list[NDArray[np.uint64]],
    numbers: list[NDArray[np.uint64]],
    salts: list[int],
    keys: NDArray[np.uint64],
) -> None: ...
def uniforms(keys: NDArray[np.uint64], seed: int, member: int, out: Doubles) -> None: ...
