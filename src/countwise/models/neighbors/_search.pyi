import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]

class Asked:
    queries: int
    def __init__(
        self,
        columns: list[Doubles | None],
        narrow: Singles,
        codes: NDArray[np.int32],
        error: Doubles,
        plain: NDArray[np.uint8],
        loose: Doubles,
        figures: tuple[Doubles, Doubles, Doubles, Doubles, Doubles] | None = None,
    ) -> None: ...

class Kernel:
    rows: int
    unit: float
    slack: float
    def __init__(
        self,
        power: int,
        p: float,
        ignore: bool,
        total: float,
        kind: NDArray[np.int8],
        far: Singles,
        mass: Singles,
        stretch: Doubles,
        exact_far: Doubles,
        exact_mass: Doubles,
        width: NDArray[np.int32],
        columns: list[Doubles | None],
        tables: list[Doubles | None],
        narrow: list[Singles | None],
        tiles: Singles,
        rows: int,
        unit: float,
        slack: float,
        whole: bool,
    ) -> None: ...
    def nearest(self, asked: Asked, who: Rows, far: Doubles, skip: Rows) -> None: ...
    def tally(
        self,
        asked: Asked,
        low: Doubles,
        high: Doubles,
        label: Rows,
        weight: Doubles,
        skip: Rows,
        sums: Doubles,
    ) -> None: ...
    def approach(self, asked: Asked, members: Members, rows: Rows) -> None: ...
    def settle(self, asked: Asked, members: Members, rows: Rows) -> int: ...
    def welcome(self, members: Members, rows: Rows) -> None: ...
    def pairs(self, asked: Asked, who: Rows, far: Doubles) -> None: ...

class Members:
    near: Doubles
    nearest: Rows
    pure: NDArray[np.uint8]
    def __init__(self, kernel: Kernel, label: Rows, same: float) -> None: ...
    def __len__(self) -> int: ...
    def since(self, known: int) -> Rows: ...
