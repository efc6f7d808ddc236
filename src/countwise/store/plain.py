"""Parameters as plain JSON with their types kept, and back: only what is listed here exists.

Texts, numbers, true, false, null, lists and objects stand for themselves. Anything else is an
object that says what it is: ``{"is": "Laplace", "alpha": 1.0, "by": "values"}``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.smoothing import Laplace, MEstimate
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, ExpectedGain, RouletteWheel
from countwise.errors import StoreError
from countwise.store.fields import MOST_DIGITS, Fields
from countwise.store.flaws import UnsoundError

#: How deep values may lie within each other.
MOST_DEPTH = 12
#: The rules that can be saved.
RULES = (Argmax, RouletteWheel, ExpectedGain)

_ARRAYS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float16", "float32", "float64", "str", "object")  # fmt: skip
_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_plain(value: Any, where: str, depth: int = 0) -> Any:
    """Return a value as plain JSON from which `from_plain` makes an equal one."""
    if depth > MOST_DEPTH:
        raise StoreError(
            f"save: {where} must not be nested deeper than {MOST_DEPTH} levels, but it is. "
            "Give a flatter one."
        )

    def inside(items: Any) -> list[Any]:
        return [to_plain(item, where, depth + 1) for item in items]

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, int):
        return _whole(int(value), where)
    if isinstance(value, float):
        real = float(value)
        return real if math.isfinite(real) else {"is": "float", "value": str(real)}
    if isinstance(value, Mapping):
        return _mapping(value, inside)
    if isinstance(value, tuple | set | frozenset):
        word = next(k.__name__ for k in (tuple, set, frozenset) if isinstance(value, k))
        return {"is": word, "items": inside(value)}
    if isinstance(value, (Laplace, MEstimate, GainMatrix, *RULES)):
        return _object(value, where, depth)
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        return _array(np.asarray(value), where, depth)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return inside(value)
    raise _cannot(value, where)


def _whole(value: int, where: str) -> int:
    if abs(value) >= 10 ** (MOST_DIGITS - 1):
        raise StoreError(
            f"save: {where} must have fewer than {MOST_DIGITS} digits, but {len(str(value))} came. "
            "Give a smaller number."
        )
    return value


def _mapping(value: Mapping[Any, Any], inside: Callable[[Any], list[Any]]) -> dict[str, Any]:
    if all(type(key) is str for key in value) and "is" not in value:
        return dict(zip(value, inside(value.values()), strict=True))
    pairs = zip(inside(value), inside(value.values()), strict=True)
    return {"is": "mapping", "pairs": [list(pair) for pair in pairs]}


def _object(value: Any, where: str, depth: int) -> dict[str, Any]:
    plain: dict[str, Any] = {"is": type(value).__name__}
    for field in dataclasses.fields(value):
        own = getattr(value, field.name)
        # Rows of numbers read better as lists than as tuples that say so.
        own = _lists(own) if isinstance(own, tuple) else own
        plain[field.name] = to_plain(own, f"{where}: {field.name}", depth + 1)
    return plain


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _array(value: NDArray[Any], where: str, depth: int) -> dict[str, Any]:
    word = "str" if value.dtype.kind == "U" else value.dtype.name
    if word not in _ARRAYS or value.ndim not in (1, 2) or (word == "object" and value.ndim == 2):
        raise _cannot(value, where)
    return {"is": "array", "type": word, "items": to_plain(value.tolist(), where, depth + 1)}


def _cannot(value: Any, where: str) -> StoreError:
    if isinstance(value, np.random.Generator | np.random.RandomState):
        cure = "Give the seed as a whole number."
    else:
        cure = "Give it as numbers, texts, lists or mappings of these."
    return StoreError(
        f"save: {where} must be plain data to be saved, but a {type(value).__name__} came. {cure}"
    )


def from_plain(plain: Any, where: str, depth: int = 0) -> Any:
    """Return the value that `to_plain` made plain; anything not listed here is refused."""
    if depth > 3 * MOST_DEPTH:
        raise UnsoundError(f"nests values too deep in {where}")
    if isinstance(plain, list):
        return [from_plain(item, where, depth + 1) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "is" not in plain:
        return {key: from_plain(item, where, depth + 1) for key, item in plain.items()}
    word = plain["is"]
    reader = _READERS.get(word) if isinstance(word, str) else None
    if reader is None:
        raise UnsoundError(f"holds something unknown, {str(word)[:40]!r}, in {where}")
    fields = {key: item for key, item in plain.items() if key != "is"}
    return reader({k: from_plain(item, where, depth + 1) for k, item in fields.items()}, where)


def label_from(plain: Any, where: str) -> str | int | float | bool:
    """Return a level or a class label: a text, a number, true or false."""
    label = from_plain(plain, where) if isinstance(plain, dict) else plain
    if not isinstance(label, str | int | float | bool):
        raise UnsoundError(f"must hold texts, numbers, true or false as {where}, but does not")
    return label


def _float(plain: dict[str, Any], where: str) -> float:
    word = Fields(plain, where).text("value")
    if word not in _WORDS:
        raise UnsoundError(f"holds no number, {word[:40]!r}, in {where}")
    return _WORDS[word]


def _read_mapping(plain: dict[str, Any], where: str) -> dict[Any, Any]:
    pairs = Fields(plain, where).items("pairs")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise UnsoundError(f"must hold pairs in {where}, but does not")
    return {key: value for key, value in pairs}  # noqa: C416  (dict() would admit longer pairs)


def _collection(kind: type) -> Callable[[dict[str, Any], str], Any]:
    return lambda plain, where: kind(Fields(plain, where).items("items"))


def _read_array(plain: dict[str, Any], where: str) -> NDArray[Any]:
    fields = Fields(plain, where)
    word, items = fields.text("type"), fields.items("items")
    if word not in _ARRAYS:
        raise UnsoundError(f"holds an array of unknown type {word[:40]!r} in {where}")
    if word == "object":
        made = np.empty(len(items), dtype=object)
        made[:] = items
        return made
    return np.array(items, dtype=word)


def _dataclass(kind: Any) -> Callable[[dict[str, Any], str], Any]:
    names = {field.name for field in dataclasses.fields(kind)}

    def read(plain: dict[str, Any], where: str) -> Any:
        if set(plain) != names:
            raise UnsoundError(f"must hold {sorted(names)} for a {kind.__name__} in {where}")
        return kind(**plain)

    return read


def _gain_matrix(plain: dict[str, Any], where: str) -> GainMatrix:
    fields = Fields(plain, where)
    extra = plain.get("no_decision")
    return GainMatrix(
        classes=tuple(label_from(label, "classes of gains") for label in fields.items("classes")),
        rows=_rows(fields.items("rows"), where),
        no_decision=None if extra is None else label_from(extra, "no_decision"),
        readings=tuple(fields.texts("readings")),
        positional=fields.flag("positional"),
    )


def _expected_gain(plain: dict[str, Any], where: str) -> ExpectedGain:
    gain = Fields(plain, where).any("gain")
    # A text would be taken as the path of a file to read: nothing but a matrix may come here.
    return ExpectedGain(gain if isinstance(gain, GainMatrix) else _rows(gain, where))


def _rows(rows: Any, where: str) -> tuple[tuple[float, ...], ...]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise UnsoundError(f"must hold rows of gains in {where}, but does not")
    if any(type(cell) not in (int, float) for row in rows for cell in row):
        raise UnsoundError(f"must hold numbers as gains in {where}, but does not")
    return tuple(tuple(map(float, row)) for row in rows)


_READERS: dict[str, Callable[[dict[str, Any], str], Any]] = {
    "float": _float,
    "mapping": _read_mapping,
    "tuple": _collection(tuple),
    "set": _collection(set),
    "frozenset": _collection(frozenset),
    "array": _read_array,
    "Laplace": _dataclass(Laplace),
    "MEstimate": _dataclass(MEstimate),
    "GainMatrix": _gain_matrix,
    "Argmax": _dataclass(Argmax),
    "RouletteWheel": _dataclass(RouletteWheel),
    "ExpectedGain": _expected_gain,
}
