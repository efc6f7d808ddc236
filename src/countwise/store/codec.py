"""Turn values into JSON and arrays, and back, by the type annotations of their fields.

A frozen dataclass is written as an object with a name for each field, an array as the name of an
npy member with its shape. The annotations say what is read back, so a file can only build what the
annotations of a registered model name; and a value with a method `check` is asked whether it is
sound, on saving and on loading.

::

    str, int, float, bool, None, Literal      themselves; an infinite float as {"is": "float"}
    NDArray[...]                              {"array": member, "shape": [...]}; a few numbers
                                              as {"numbers": [...], "type": "float64"}
    tuple, list, Mapping                      lists; objects, or lists of pairs
    dataclass, NamedTuple                     an object; fields at their defaults are left out
    a union of several dataclasses            the object with the name of the class under "is"
    a model                                   its name, its parameters and its fitted fields
    Any                                       a value that says what it is, under "is"
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from countwise.errors import CountwiseError, StoreError, listing
from countwise.models.registry import ENTRIES, models
from countwise.tables.code_levels import LARGEST
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table, code_type

#: How many digits a whole number may have: as a double it is still finite.
MAX_DIGITS = 100
#: Whole numbers in parameters are at most this: as a double they are still exact.
MAX_WHOLE = 2**53
#: How deep models may be nested within each other, and other values that say what they are.
MAX_NESTED_MODELS = 4
MAX_DEPTH = 12
#: How many numbers of an array are written into the document.
MAX_INLINE = 16
#: How many arrays get a member each; more are written end to end.
MAX_SINGLE_ARRAYS = 500
#: The classes of objects that a parameter may hold, and where they are.
OPEN_VALUES = {
    "Note": "countwise.notes",
    "Laplace": "countwise.counts.smoothing",
    "MEstimate": "countwise.counts.smoothing",
    "GainMatrix": "countwise.decisions.gain_matrix",
    "Argmax": "countwise.decisions.rules",
    "RouletteWheel": "countwise.decisions.rules",
    "ExpectedGain": "countwise.decisions.rules",
}
#: What to do about a file that is not what it was when it was written.
AGAIN = "Fetch the file again, or save the model again."
UPGRADE = "Upgrade countwise if it was written by a newer one."

_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_INLINE = {"float64": float, "int64": int, "int32": int}
_INLINE_NAMES: dict[Any, str] = {getattr(np, name): name for name in _INLINE}
_ATOMS = (str, int, float, bool, types.NoneType)
_OPEN_ARRAYS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                "float16", "float32", "float64", "str", "object")  # fmt: skip


class UnsoundError(StoreError):
    """What a file does instead of what it must; whoever opened the file adds its name."""

    def __init__(self, what: str, cure: str = AGAIN) -> None:
        super().__init__(f"{what}. {cure}")
        self.what = what


class MisfitError(Exception):
    """What a value must be and is not; the place is added on the way up."""

    def __init__(self, rule: str, cure: str = "") -> None:
        super().__init__(rule)
        self.rule, self.cure = rule, cure
        self.place: list[str] = []

    def at(self, step: str) -> MisfitError:
        """Add a step to the place, seen from the outside."""
        self.place.append(step)
        return self

    def __str__(self) -> str:
        place = "".join(reversed(self.place)).lstrip(".") or "the value"
        return f"{place if len(place) <= 80 else f'{place[:80]}…'} {self.rule}"


class Arrays(Protocol):
    """Where arrays are read from."""

    def array(self, name: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
        """Return the array of this name, which must have this shape if one is given."""


class Codec(NamedTuple):
    """How values of one type are written and read.

    JSON values of the types in `themselves` need no decoding.
    """

    encode: Callable[[Any, Writer], Any]
    decode: Callable[[Any, Reader], Any]
    themselves: frozenset[type] = frozenset()


def encode(value: Any, kind: Any = None) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return a value as plain data, and its arrays by name.

    Parameters
    ----------
    value
        Anything that `kind` describes.
    kind
        Its type, as an annotation would name it; None takes the class of the value.
    """
    writer = Writer()
    try:
        plain = codec_of(type(value) if kind is None else kind).encode(value, writer)
    except MisfitError as why:
        raise StoreError(f"save: {why}.", hint=why.cure) from why.__cause__
    return plain, writer.arrays()


def decode(kind: Any, plain: Any, arrays: Arrays | Mapping[str, NDArray[Any]]) -> Any:
    """Return the value of this type that `encode` made plain; refuse whatever is not one.

    Parameters
    ----------
    kind
        The type, as an annotation would name it.
    plain
        JSON data, perhaps of a file that nobody vouches for.
    arrays
        The arrays by name, or a reader of them.
    """
    source: Any = _Dictionary(arrays) if isinstance(arrays, Mapping) else arrays
    try:
        return codec_of(kind).decode(plain, Reader(source))
    except MisfitError as why:
        raise UnsoundError(f"is not sound: {why}", why.cure or AGAIN) from why.__cause__
    except RecursionError:
        raise UnsoundError("nests values too deep") from None


def _make_codec(kind: Any) -> Codec:
    """Return how values of a type are written and read."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return Codec(_encode_open, _decode_open)
    if kind in _ATOMS:
        return _atom(kind)
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is np.ndarray:
        return _array([_scalar(kind)])
    if origin in (tuple, list):
        return _sequence(origin, arguments if origin is tuple else (arguments[0], ...))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(*arguments)
    if kind is Table:
        return _table()
    if isinstance(kind, type) and issubclass(kind, BaseEstimator):
        return _model(kind)
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return _record(kind)
    return _foreign(kind)


codec_of: Callable[[Any], Codec] = functools.cache(_make_codec)
_hints: Callable[[Any], dict[str, Any]] = functools.cache(get_type_hints)


@functools.cache
def _parameter_names(kind: Any) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


# --- where arrays go ---------------------------------------------------------------------------


class Writer:
    """Collects the arrays of a value while it is encoded."""

    def __init__(self) -> None:
        self.place: list[str] = []
        self.models = 0
        self.parameters_only = False
        self._shared: dict[int, tuple[int, Any]] = {}
        self._arrays: dict[int, tuple[dict[str, Any], str, NDArray[Any], Any]] = {}

    def encode(self, codec: Codec, value: Any, step: str) -> Any:
        """Encode a part of a value, one step further in."""
        self.place.append(step)
        try:
            return codec.encode(value, self)
        except MisfitError as why:
            raise why.at(step) from why.__cause__
        finally:
            self.place.pop()

    def share(self, value: Any, encode: Callable[[], Any]) -> Any:
        """Encode a value once; afterwards only say which one it is."""
        if id(value) in self._shared:
            return {"same": self._shared[id(value)][0]}
        plain = encode()
        self._shared[id(value)] = (len(self._shared), value)
        return plain

    def put(self, array: NDArray[Any]) -> dict[str, Any]:
        """Take an array as it is laid out in memory; return the reference to it."""
        name = _INLINE_NAMES.get(array.dtype.type)
        if name is not None and array.ndim == 1 and len(array) <= MAX_INLINE:
            numbers = array.tolist()
            if all(map(math.isfinite, numbers)):
                return {"numbers": numbers, "type": name}
        if id(array) in self._arrays:
            return self._arrays[id(array)][0]
        axes = memory_order(array)
        flat = np.ascontiguousarray(array.transpose(axes))
        flat = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
        reference: dict[str, Any] = {"array": "", "shape": list(array.shape)}
        if axes != tuple(range(array.ndim)):
            reference["axes"] = list(axes)
        self._arrays[id(array)] = (reference, "".join(self.place), flat, array)
        return reference

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give every array a name and a member; where there are many, end to end in a few."""
        entries = [(reference, place, flat) for reference, place, flat, _ in self._arrays.values()]
        if len(entries) <= MAX_SINGLE_ARRAYS:
            for number, (reference, place, _) in enumerate(entries, 1):
                word = re.sub(r"[^A-Za-z0-9]+", "_", place).strip("_")[-60:]
                reference["array"] = f"arrays/{number:04d}_{word}.npy"
            return {reference["array"]: flat for reference, _, flat in entries}
        parts: dict[str, list[NDArray[Any]]] = {}
        filled: dict[str, int] = {}
        for reference, _, flat in entries:
            name = f"arrays/all_{flat.dtype.name}.npy"
            reference |= {"array": name, "from": filled.get(name, 0)}
            filled[name] = reference["from"] + flat.size
            parts.setdefault(name, []).append(flat.reshape(-1))
        return {name: np.concatenate(some) for name, some in parts.items()}


class Reader:
    """Fetches the arrays of a value while it is decoded."""

    def __init__(self, arrays: Arrays) -> None:
        self.models = 0
        self.parameters_only = False
        self.shared: list[Any] = []
        self._arrays = arrays
        self._whole: dict[str, NDArray[Any]] = {}
        self._known: dict[Any, NDArray[Any]] = {}

    def get(self, plain: Any) -> NDArray[Any]:
        """Return the array that is referred to, or written here."""
        if isinstance(plain, dict) and "numbers" in plain:
            return _decode_numbers(plain)
        reference = _object(plain, {"array", "shape"}, {"from", "axes"})
        name, shape, start = reference["array"], reference["shape"], reference.get("from")
        axes: Any = reference.get("axes", list(range(len(shape))) if _is_whole(shape) else None)
        if type(name) is not str or not (_is_whole(shape) and _is_whole(axes)):
            raise MisfitError("must be an array: a name, a shape, perhaps the order of its axes")
        if sorted(axes) != list(range(len(shape))):
            raise MisfitError("must name each axis once")
        stored = tuple(shape[axis] for axis in axes)
        key = (name, start, *axes, *stored)
        if key not in self._known:
            piece = self._piece(name, start, stored) if start is not None else None
            array = self._arrays.array(name, stored) if piece is None else piece
            self._known[key] = array.transpose(np.argsort(axes)) if "axes" in reference else array
        return self._known[key]

    def _piece(self, name: str, start: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        if name not in self._whole:
            self._whole[name] = self._arrays.array(name, None).reshape(-1)
        whole, size = self._whole[name], math.prod(shape)
        if type(start) is not int or not 0 <= start <= start + size <= len(whole):
            raise MisfitError(f"must lie within {name!r}")
        return whole[start : start + size].reshape(shape).copy()


def _decode_numbers(plain: dict[str, Any]) -> NDArray[Any]:
    fields = _object(plain, {"numbers", "type"})
    numbers, name = fields["numbers"], fields["type"]
    if name not in tuple(_INLINE) or type(numbers) is not list or len(numbers) > MAX_INLINE:
        raise MisfitError(f"must be at most {MAX_INLINE} numbers of a known type")
    if any(type(number) is not _INLINE[name] for number in numbers):
        raise MisfitError(f"must be numbers of type {name}")
    try:
        return np.array(numbers, dtype=name)
    except OverflowError as why:
        raise _objection(why) from why


class _Dictionary:
    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays

    def array(self, name: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
        """Return the array of this name."""
        if name not in self._arrays or shape not in (None, self._arrays[name].shape):
            raise MisfitError(f"must name an array of shape {shape}; got {name!r}")
        return self._arrays[name]


def memory_order(array: NDArray[Any]) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest, as the array is laid out in memory.

    A sum over an axis rounds by the order of its parts in memory; for equal bits from a saved
    table, that order must come back too.
    """
    axes = range(array.ndim)
    if array.flags.c_contiguous:
        return tuple(axes)
    return tuple(sorted(axes, key=lambda axis: -abs(array.strides[axis])))


# --- atoms, arrays, containers -----------------------------------------------------------------


def _atom(kind: type) -> Codec:
    # A whole number is a float, as Python's annotations have it; a bool is no number.
    admitted = frozenset({float, int} if kind is float else {kind})

    def encode(value: Any, writer: Writer) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if type(value) not in admitted:
            raise _misfit(f"must be {_word(kind)}", value)
        if type(value) is int and abs(value) >= 10 ** (MAX_DIGITS - 1):
            raise MisfitError(f"must have fewer than {MAX_DIGITS} digits", "Give a smaller one")
        if type(value) is float and not math.isfinite(value):
            return {"is": "float", "value": str(value)}
        return value

    def decode(plain: Any, reader: Reader) -> Any:
        if kind is float and type(plain) is int and abs(plain) > MAX_WHOLE:
            raise MisfitError(f"must be at most {MAX_WHOLE} if it is whole")
        if type(plain) in admitted:
            return plain
        if kind is float and isinstance(plain, dict) and plain.get("is") == "float":
            return _FLOATS.get(str(plain.get("value")), math.nan)
        raise MisfitError(f"must be {_word(kind)}; got {_brief(plain)}")

    return Codec(encode, decode, admitted)


def _literal(words: tuple[Any, ...]) -> Codec:
    def same(value: Any, _: Any) -> Any:
        if not any(type(value) is type(word) and value == word for word in words):
            raise MisfitError(f"must be one of {listing(words)}; got {_brief(value)}")
        return value

    return Codec(same, same)


def _scalar(kind: Any) -> Any:
    scalar = get_args(get_args(kind)[1])[0]
    return get_origin(scalar) or scalar


def _array(scalars: list[Any]) -> Codec:
    if scalars == [Any]:  # labels: texts, numbers or a mixture of both
        return Codec(_encode_open, _decode_labels)
    words = " or ".join(scalar.__name__ for scalar in scalars)

    def check(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or not issubclass(value.dtype.type, tuple(scalars)):
            raise MisfitError(f"must be an array of {words}; got {_word(type(value))}")
        return value

    return Codec(
        lambda value, writer: writer.put(check(value)),
        lambda plain, reader: check(reader.get(plain)),
    )


def _decode_labels(plain: Any, reader: Reader) -> NDArray[Any]:
    labels = _decode_open(plain, reader)
    if not isinstance(labels, np.ndarray) or labels.ndim != 1:
        raise MisfitError(f"must be an array of labels; got {_brief(plain)}")
    if any(not isinstance(label, str | int | float | bool) for label in labels.tolist()):
        raise MisfitError("must hold texts, numbers, true or false")
    return labels


def _sequence(kind: Any, arguments: tuple[Any, ...]) -> Codec:
    endless = arguments[-1:] == (...,)
    parts = [codec_of(argument) for argument in arguments if argument is not ...]

    def codecs(items: Sequence[Any]) -> Sequence[Codec]:
        if not endless and len(items) != len(parts):
            raise MisfitError(f"must hold {len(parts)} values; got {len(items)}")
        return parts * len(items) if endless else parts

    def encode(value: Any, writer: Writer) -> Any:
        if not isinstance(value, kind):
            raise _misfit(f"must be a {kind.__name__}", value)
        if endless and {type(item) for item in value} <= parts[0].themselves & {str, bool}:
            return list(value)
        pairs = zip(codecs(value), value, strict=True)
        return [writer.encode(codec, v, f"[{at}]") for at, (codec, v) in enumerate(pairs)]

    def decode(plain: Any, reader: Reader) -> Any:
        if type(plain) is not list:
            raise MisfitError(f"must be a list; got {_brief(plain)}")
        if endless and {type(item) for item in plain} <= parts[0].themselves:
            return kind(plain)
        items: list[Any] = []
        try:
            for codec, item in zip(codecs(plain), plain, strict=True):
                items.append(codec.decode(item, reader))
        except MisfitError as why:
            raise why.at(f"[{len(items)}]") from why.__cause__
        return kind(items)

    return Codec(encode, decode)


def _mapping(key_type: Any, value_type: Any) -> Codec:
    keys, values = codec_of(key_type), codec_of(value_type)

    def encode(value: Any, writer: Writer) -> Any:
        if not isinstance(value, Mapping):
            raise _misfit("must be a mapping", value)
        pairs = [
            [keys.encode(key, writer), writer.encode(values, item, f".{key}")]
            for key, item in value.items()
        ]
        return {key: item for key, item in pairs} if key_type is str else pairs  # noqa: C416

    def decode(plain: Any, reader: Reader) -> Any:
        if type(plain) is not dict if key_type is str else not _is_pairs(plain):
            raise MisfitError(f"must be a mapping; got {_brief(plain)}")
        found: dict[Any, Any] = {}
        for key, item in plain.items() if key_type is str else plain:
            try:
                name = keys.decode(key, reader)
                if name in found:
                    raise MisfitError("must be there once")
                found[name] = values.decode(item, reader)
            except MisfitError as why:
                raise why.at(f".{key}") from why.__cause__
        return found

    return Codec(encode, decode)


def _union(kinds: tuple[Any, ...]) -> Codec:
    arrays = [_scalar(kind) for kind in kinds if get_origin(kind) is np.ndarray]
    records: list[Any] = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    tagged = {kind.__name__: kind for kind in records}
    tagged = tagged if len(tagged) > 1 else {}
    others = [k for k in kinds if get_origin(k) is not np.ndarray and k not in tagged.values()]
    choices = [codec_of(kind) for kind in others] + ([_array(arrays)] if arrays else [])
    words = " or ".join(map(_word, kinds))

    def encode(value: Any, writer: Writer) -> Any:
        if type(value) in tagged.values():
            return {"is": type(value).__name__, **codec_of(type(value)).encode(value, writer)}
        for codec in choices:
            try:
                return codec.encode(value, writer)
            except MisfitError as why:
                # A value of the right type that is wrong inside is told so.
                if why.place or why.__cause__ is not None or len(choices) == 1:
                    raise
        raise _misfit(f"must be {words}", value)

    def decode(plain: Any, reader: Reader) -> Any:
        if tagged and isinstance(plain, dict) and plain.get("is") in tuple(tagged):
            return codec_of(tagged[plain["is"]]).decode(_untagged(plain), reader)
        last = None
        for codec in choices:
            try:
                return codec.decode(plain, reader)
            except MisfitError as why:
                if why.place or why.__cause__ is not None:
                    raise
                last = why
        if last is not None and sum(not codec.themselves for codec in choices) == 1:
            raise last
        raise MisfitError(f"must be {words}; got {_brief(plain)}")

    choices.sort(key=lambda codec: not codec.themselves)
    return Codec(encode, decode, frozenset().union(*(codec.themselves for codec in choices)))


def _foreign(kind: Any) -> Codec:
    """Types that a program may hold but no file can."""

    def encode(value: Any, writer: Writer) -> Any:
        raise _misfit("must be plain data", value)

    def decode(plain: Any, reader: Reader) -> Any:
        raise MisfitError(f"must not be {_word(kind)}; got {_brief(plain)}")

    return Codec(encode, decode, frozenset({kind}) if isinstance(kind, type) else frozenset())


# --- records -----------------------------------------------------------------------------------


def _default(field: dataclasses.Field[Any]) -> Any:
    factory = field.default_factory
    return field.default if factory is dataclasses.MISSING else factory()


def _record(kind: Any) -> Codec:
    shared = kind in (Schema, Column)

    @functools.cache
    def fields() -> dict[str, tuple[Codec, Any]]:
        hints = get_type_hints(kind)
        if not dataclasses.is_dataclass(kind):
            defaults = kind._field_defaults
            return {n: (codec_of(hints[n]), defaults.get(n, dataclasses.MISSING)) for n in hints}
        return {
            field.name: (codec_of(field.metadata.get("saved", hints[field.name])), _default(field))
            for field in dataclasses.fields(kind)
            if field.init
        }

    def write(value: Any, writer: Writer) -> dict[str, Any]:
        plain = {}
        for name, (codec, default) in fields().items():
            part = getattr(value, name)
            if not _is_default(part, default):
                plain[name] = writer.encode(codec, part, f".{name}")
        return plain

    def encode(value: Any, writer: Writer) -> Any:
        if type(value) is not kind:
            raise _misfit(f"must be a {kind.__name__}", value)
        _check(value)
        return writer.share(value, lambda: write(value, writer)) if shared else write(value, writer)

    def decode(plain: Any, reader: Reader) -> Any:
        if shared and isinstance(plain, dict) and "same" in plain:
            at = plain["same"]
            known = reader.shared[at] if type(at) is int and 0 <= at < len(reader.shared) else None
            if type(known) is not kind:
                raise MisfitError(f"must be the number of a {kind.__name__} before it")
            return known
        required = [n for n, (_, default) in fields().items() if default is dataclasses.MISSING]
        found = _object(plain, required, fields(), kind.__name__)
        values = {
            name: _decode_part(codec, name, found[name], reader)
            for name, (codec, _) in fields().items()
            if name in found
        }
        with _sound():
            value = kind(**values)
        _check(value)
        if shared:
            reader.shared.append(value)
        return value

    return Codec(encode, decode)


def _is_default(value: Any, default: Any) -> bool:
    if default is dataclasses.MISSING or type(value) is not type(default):
        return False
    # 1 equals True and 1.0, which are other levels.
    return isinstance(value, (*_ATOMS, tuple)) and value == default and repr(value) == repr(default)


_OBJECTIONS = (CountwiseError, ValueError, TypeError, LookupError, OverflowError)


def _check(value: Any) -> None:
    if hasattr(value, "check"):
        with _sound():
            value.check()


@contextmanager
def _sound() -> Iterator[None]:
    """Turn what a value says against itself into a misfit."""
    try:
        yield
    except _OBJECTIONS as why:
        raise _objection(why) from why


def _objection(why: Exception) -> MisfitError:
    words = " ".join(str(why).split())[:250].rstrip(".")
    return MisfitError(f"is not sound ({words})")


@dataclasses.dataclass(frozen=True, eq=False)
class StoredTable:
    """A table as fields: its schema, the codes and the numbers of its columns."""

    schema: Schema
    rows: int
    codes: Mapping[str, NDArray[np.unsignedinteger[Any]]]
    numbers: Mapping[str, NDArray[np.float64]]

    def check(self) -> None:
        """Refuse columns that the schema does not describe."""
        names = [column.name for column in self.schema if column.coded]
        numeric = [column.name for column in self.schema.numeric]
        if (names, numeric) != (list(self.codes), list(self.numbers)) or self.rows < 0:
            raise ValueError("there must be a column for each of the schema's")
        for name, codes in self.codes.items():
            column = self.schema[name]
            # A class is always known; a cell may be missing.
            most = column.width - (1 if column.kind == "target" else 0)
            if codes.dtype != code_type(column.width) or codes.max(initial=0) > max(most, 0):
                raise ValueError(f"the codes of {name[:40]!r} must be those of its levels")
        for name, numbers in self.numbers.items():
            if np.any(np.abs(numbers) > LARGEST):
                raise ValueError(f"the numbers of {name[:40]!r} must be at most {LARGEST:g}")
        for array in (*self.codes.values(), *self.numbers.values()):
            if array.shape != (self.rows,):
                raise ValueError("every column must have a cell for each row")


def _table() -> Codec:
    codec = codec_of(StoredTable)

    def encode(table: Any, writer: Writer) -> Any:
        if type(table) is not Table:
            raise _misfit("must be a Table", table)
        coded = [column.name for column in table.schema if column.coded]
        stored = StoredTable(
            table.schema,
            len(table),
            {name: table.codes(name) for name in coded},
            {column.name: table.values(column.name) for column in table.schema.numeric},
        )
        return codec.encode(stored, writer)

    def decode(plain: Any, reader: Reader) -> Any:
        stored = codec.decode(plain, reader)
        columns = {**stored.codes, **stored.numbers}
        return Table.from_arrays(stored.schema, columns, (), None, stored.rows)

    return Codec(encode, decode)


# --- models ------------------------------------------------------------------------------------


class _Columns(NamedTuple):
    """The columns a model was fitted to, as scikit-learn remembers them."""

    n_features_in_: int | None = None
    feature_names_in_: tuple[str, ...] | None = None

    def check(self) -> None:
        """Refuse more or fewer names than columns."""
        number, names = self
        if not 0 <= (number or 0) < 2**31 or (names is not None and len(names) != number):
            raise ValueError("there must be one name for each of the columns")


def model_names() -> list[str]:
    """Return the models a file may hold; nothing else is ever imported for a file."""
    return [entry.name for entry in models()]


def model_class(name: str) -> Any:
    """Import the class of a registered model, or `Decide`."""
    if name == "Decide":
        return import_module("countwise.decisions.decide").Decide
    return ENTRIES[name].load()


def is_model(value: Any) -> bool:
    """Return whether a value is a registered model, and not of a subclass that may hold more."""
    name = type(value).__name__
    return name in model_names() and type(value) is model_class(name)


def is_fitted(model: Any) -> bool:
    """Return whether a model has all that `fit` leaves behind."""
    return all(name in vars(model) for name in type(model).FITTED)


def _model(base: type) -> Codec:
    def decode(plain: Any, reader: Reader) -> Any:
        model = _decode_model(plain, reader)
        if not isinstance(model, base) or not is_fitted(model):
            raise MisfitError(f"must be a fitted {base.__name__}; got a {type(model).__name__}")
        return model

    return Codec(_encode_model, decode)


def _fitted_codecs(kind: Any) -> dict[str, Codec]:
    hints = _hints(kind)
    return {name: codec_of(hints[name]) for name in kind.FITTED}


def _encode_model(model: Any, writer: Writer) -> dict[str, Any]:
    name = type(model).__name__
    if not is_model(model) and type(model) is not model_class("Decide"):
        known = listing(model_names(), 20)
        raise MisfitError(f"must be one of {known}; got a {name}", "Fit again with one of these")
    if writer.models > MAX_NESTED_MODELS:
        raise MisfitError(f"must not nest models deeper than {MAX_NESTED_MODELS}")
    writer.models += 1
    outer, writer.parameters_only = writer.parameters_only, True
    given = model.parameters_to_save()
    _check_sizes(given)
    parameters = {
        parameter: writer.encode(codec_of(Any), value, f".{parameter}")
        for parameter, value in given.items()
    }
    writer.parameters_only = outer
    plain: dict[str, Any] = {"model": name, "parameters": parameters}
    if not outer:
        if not is_fitted(model):
            raise MisfitError(f"must be a fitted {name}", "Call fit first.")
        names, number = vars(model).get("feature_names_in_"), vars(model).get("n_features_in_")
        columns = _Columns(number, None if names is None else tuple(map(str, names)))
        plain["columns"] = codec_of(_Columns).encode(columns, writer)
        plain["fitted"] = {
            field: writer.encode(codec, getattr(model, field), f".{field}")
            for field, codec in _fitted_codecs(type(model)).items()
        }
    writer.models -= 1
    return plain


def _decode_model(plain: Any, reader: Reader) -> Any:
    found = _object(plain, {"model", "parameters"}, {"columns", "fitted"}, "model")
    name = found["model"]
    if name not in [*model_names(), "Decide"]:
        raise MisfitError(f"must be a model this countwise knows; got {_brief(name)}", UPGRADE)
    if reader.models > MAX_NESTED_MODELS:
        raise MisfitError(f"must not nest models deeper than {MAX_NESTED_MODELS}")
    reader.models += 1
    kind = model_class(name)
    given = _object(
        found["parameters"], (), _parameter_names(kind), f"parameter of {name}", UPGRADE
    )
    outer, reader.parameters_only = reader.parameters_only, True
    parameters = {
        parameter: _decode_part(codec_of(Any), parameter, item, reader)
        for parameter, item in given.items()
    }
    reader.parameters_only = outer
    _check_sizes(parameters)
    with _sound():
        model = kind(**parameters)
    if not outer:
        if "fitted" not in found:
            raise MisfitError(f"must be a fitted {name}")
        _decode_fitted(model, found, reader)
    reader.models -= 1
    return model


def _check_sizes(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that would take more room or time than any model does."""
    for name, value in parameters.items():
        if isinstance(value, int | np.integer) and abs(int(value)) > MAX_WHOLE:
            raise MisfitError(f"must be at most {MAX_WHOLE}", "Give a smaller one.").at(f".{name}")


def _decode_fitted(model: Any, found: Mapping[str, Any], reader: Reader) -> None:
    with _sound():
        model.check_parameters()
    codecs = _fitted_codecs(type(model))
    fields = _object(found["fitted"], codecs, (), type(model).__name__)
    for name, codec in codecs.items():
        setattr(model, name, _decode_part(codec, name, fields[name], reader))
    number, names = _decode_part(codec_of(_Columns), "columns", found.get("columns", {}), reader)
    # A part of a date is a column of the schema, but none of the frame that the model learned from.
    known = [
        column.name
        for column in vars(model).get("schema_", ())
        if column.kind != "target" and not column.part_of
    ]
    if number not in (None, len(known)) or names not in (None, tuple(known)):
        raise MisfitError("must be the columns of the schema").at(".columns")
    if number is not None:
        model.n_features_in_ = number
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    with _sound():
        model.after_load()


def _decode_part(codec: Codec, name: str, plain: Any, reader: Reader) -> Any:
    try:
        return codec.decode(plain, reader)
    except MisfitError as why:
        raise why.at(f".{name}") from why.__cause__


# --- values that say what they are -------------------------------------------------------------


def _encode_open(value: Any, writer: Writer, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise MisfitError(f"must not be nested deeper than {MAX_DEPTH}", "Give a flatter one")

    def inside(items: Any) -> list[Any]:
        return [_encode_open(item, writer, depth + 1) for item in items]

    name = type(value).__name__
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return None
    for atom in (bool, str, int, float):
        if isinstance(value, atom):
            return codec_of(atom).encode(atom(value), writer)
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value) and "is" not in value:
            return dict(zip(value, inside(value.values()), strict=True))
        pairs = zip(inside(value), inside(value.values()), strict=True)
        return {"is": "mapping", "pairs": [list(pair) for pair in pairs]}
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            return {"is": kind.__name__, "items": inside(value)}
    if name in OPEN_VALUES and type(value) is _open_class(name):
        return {"is": name, **codec_of(type(value)).encode(value, writer)}
    if isinstance(value, BaseEstimator):
        return {"is": "model", **_encode_model(value, writer)}
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        word = "str" if array.dtype.kind == "U" else array.dtype.name
        if word in _OPEN_ARRAYS and 1 <= array.ndim <= (1 if word == "object" else 2):
            return {"is": "array", "type": word, "items": inside(array.tolist())}
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return inside(value)
    raise _misfit("must be plain data", value)


def _decode_open(plain: Any, reader: Reader, depth: int = 0) -> Any:
    if depth > 3 * MAX_DEPTH:
        raise MisfitError(f"must not be nested deeper than {3 * MAX_DEPTH}")

    def inside(items: Any) -> list[Any]:
        return [_decode_open(item, reader, depth + 1) for item in items]

    if isinstance(plain, list):
        return inside(plain)
    if not isinstance(plain, dict):
        return plain
    if "is" not in plain:
        return dict(zip(plain, inside(plain.values()), strict=True))
    word, fields = plain["is"], _untagged(plain)
    if word == "float":
        return codec_of(float).decode(plain, reader)
    if word == "model":
        return _decode_model(fields, reader)
    if word in tuple(OPEN_VALUES):
        return codec_of(_open_class(word)).decode(fields, reader)
    if word == "mapping" and _is_pairs(fields.get("pairs")):
        keys, values = ([pair[at] for pair in fields["pairs"]] for at in (0, 1))
        with _sound():
            return dict(zip(inside(keys), inside(values), strict=True))
    kinds: dict[Any, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset}
    items = fields.get("items")
    if type(items) is list and word in tuple(kinds):
        with _sound():
            return kinds[word](inside(items))
    if type(items) is list and word == "array" and fields.get("type") in _OPEN_ARRAYS:
        with _sound():
            if fields["type"] != "object":
                return np.array(inside(items), dtype=fields["type"])
            mixed = np.empty(len(items), dtype=object)
            mixed[:] = inside(items)
            return mixed
    raise MisfitError(f"must be a value this countwise knows; got {_brief(word)}")


def _open_class(name: str) -> Any:
    return getattr(import_module(OPEN_VALUES[name]), name)


# --- shapes of JSON, and words about it --------------------------------------------------------


def _object(
    plain: Any,
    required: Collection[str],
    optional: Collection[str] = (),
    what: str = "object",
    cure: str = "",
) -> dict[str, Any]:
    """Return an object that holds all that is required and nothing unknown."""
    if type(plain) is not dict:
        raise MisfitError(f"must be an object; got {_brief(plain)}")
    lacking = [name for name in required if name not in plain]
    if lacking:
        raise MisfitError(f"must hold {listing(lacking)}")
    unknown = [name[:40] for name in plain if name not in required and name not in optional]
    if unknown:
        raise MisfitError(f"must not hold {listing(unknown)}, which no {what} has", cure)
    return plain


def _untagged(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in plain.items() if name != "is"}


def _is_whole(items: Any) -> bool:
    if type(items) is not list or len(items) > 32:
        return False
    return all(type(item) is int and 0 <= item < 2**62 for item in items)


def _is_pairs(items: Any) -> bool:
    return type(items) is list and all(type(item) is list and len(item) == 2 for item in items)


def _word(kind: Any) -> str:
    return "null" if kind is types.NoneType else getattr(kind, "__name__", str(kind))


def _brief(plain: Any) -> str:
    if isinstance(plain, dict | list):
        return "an object" if isinstance(plain, dict) else "a list"
    text = repr(plain)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _misfit(rule: str, value: Any) -> MisfitError:
    cure = "Give it as numbers, texts, lists or mappings of these"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        cure = "Give the seed as a whole number"
    return MisfitError(f"{rule} to be saved; got a {type(value).__name__}", cure)
