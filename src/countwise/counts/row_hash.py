"""Hash the contents of rows, so that random draws do not depend on row order.

Equal rows have equal keys, whatever their position, the names of columns or the order of levels.
Draws that are keyed by them are the same when rows are shuffled, or drawn for one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.counts.engines import _resampling
from countwise.parallel import blocks
from countwise.tables.schema import Column, level_text
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

Keys = NDArray[np.uint64]

#: So many rows are hashed at a time, so that their numbers take little memory once more.
_BLOCK = 1 << 16


def row_keys(table: Table, target: bool = False, names: Sequence[str] | None = None) -> Keys:
    """Return a 64-bit key a row, of its attributes and, with `target`, its class.

    `names` are the attributes that count, in their order; all if None.
    """
    attributes = table.schema.attributes if names is None else [table.schema[n] for n in names]
    columns = [*attributes, *((table.target_column,) if target else ())]
    salts = {column.name: str(place) for place, column in enumerate(columns)}
    coded = [column for column in columns if column.kind != "numeric"]
    plain = [column.name for column in columns if column.kind == "numeric"]
    codes = [_codes(table, column) for column in coded]
    figures = [_hash_levels(table, column, salts[column.name]) for column in coded]
    numbers = [table.values(name) for name in plain]
    marks = [_hash(salts[name], "number") for name in plain]
    keys = np.zeros(len(table), dtype=np.uint64)
    for part in blocks(len(table), _BLOCK):
        bits = [_bits(values[part]) for values in numbers]
        _resampling.row_keys([code[part] for code in codes], figures, bits, marks, keys[part])
    return keys


def scattered(keys: Keys) -> Keys:
    """Return keys that tell equal rows apart, for rows in the order of their keys."""
    if not len(keys):
        return keys
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    nth = np.arange(len(keys)) - np.repeat(first, np.diff(np.append(first, len(keys))))
    mixed = (keys ^ (nth.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(
        0xD6E8FEB86659FD93
    )
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


class FoldRows(NamedTuple):
    """The rows of all folds but one, and those of that fold, with weights if there are any."""

    rest: NDArray[np.intp]
    rest_weight: NDArray[np.float64] | None
    out: NDArray[np.intp]
    out_weight: NDArray[np.float64] | None


def content_folds(
    keys: Keys,
    weight: NDArray[np.float64] | None = None,
    order: NDArray[np.intp] | None = None,
    number: int = 5,
) -> Iterator[FoldRows]:
    """Yield the parts of each fold; a row's key is its fold, and that of its copies the next ones.

    A row of weight 3 is three copies. So neither the order of rows nor repeating them, instead of
    weighing them, matters, and what is known of a row is known in other folds, as it would be of a
    new row. `order` sorts the rows by their keys; where keys do not tell rows apart, it must. Folds
    that hold no row, or all, are left out.
    """
    order = np.argsort(keys, kind="stable") if order is None else order
    keys = keys[order]
    repeats = None if weight is None else whole_repeats(weight)
    copies = np.ones(len(keys), dtype=np.int64) if repeats is None else repeats[order]
    before = np.cumsum(copies) - copies
    first = np.searchsorted(keys, keys)
    start = (keys % np.uint64(number)).astype(np.int64) + before - before[first]
    for part in range(number):
        held = _below(start + copies, part, number) - _below(start, part, number)
        rest, out = np.flatnonzero(held < copies), np.flatnonzero(held)
        if not len(rest) or not len(out):
            continue
        if repeats is not None:
            left = copies - held
            weights = left[rest].astype(np.float64), held[out].astype(np.float64)
            yield FoldRows(order[rest], weights[0], order[out], weights[1])
        elif weight is not None:
            yield FoldRows(order[rest], weight[order[rest]], order[out], weight[order[out]])
        else:
            yield FoldRows(order[rest], None, order[out], None)


def _below(ends: NDArray[np.int64], part: int, number: int) -> NDArray[np.int64]:
    """Return how many numbers below the ends leave the remainder `part`."""
    return (ends - part + number - 1) // number


def uniforms(keys: Keys, seed: int, member: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each key, the same at every call."""
    drawn = np.empty(len(keys))
    _resampling.uniforms(keys, seed, member, drawn)
    return drawn


def _codes(table: Table, column: Column) -> NDArray[np.unsignedinteger[Any]]:
    """Return the codes of a column; those of texts with the missing one last."""
    if column.coded:
        return table.codes(column.name)
    texts = table.texts(column.name)
    return np.where(texts < 0, len(texts.texts.texts), texts).astype(np.uint32)


def _hash_levels(table: Table, column: Column, salt: str) -> Keys:
    """Return the hash of each code, of the missing and of the unseen one too."""
    levels = column.levels if column.coded else table.texts(column.name).texts.texts
    words = [*map(level_text, levels), "\0missing", "\0unseen"]
    return np.asarray([_hash(salt, word) for word in words], dtype=np.uint64)


def _hash(*words: str) -> int:
    digest = blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def _bits(values: NDArray[np.float64]) -> Keys:
    """Return the bits of numbers; there is one kind of zero and one of missing."""
    whole = values + 0.0
    whole[np.isnan(whole)] = np.nan
    return whole.view(np.uint64)
