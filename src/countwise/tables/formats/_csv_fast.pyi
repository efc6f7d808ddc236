from typing import Any

import numpy as np
from numpy.typing import NDArray

SKIPPED: int
NUMBER: int
TEXT: int

def look(content: bytes, size: int) -> tuple[bool, bool, bool, int, bool]: ...
def find_zeros(
    content: bytes, separator: str, state: NDArray[np.int64], found: NDArray[np.uint8]
) -> None: ...
def lines(
    content: bytes, separator: str, kinds: NDArray[np.int8], marks: list[bytes]
) -> list[Any] | int: ...
def nesting(content: bytes) -> int: ...
