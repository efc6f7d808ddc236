"""Counts as compact bytes: to travel between machines, to wait in a file, to go on from later."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.atomic_write import atomic_write
from countwise.counts.counts import Counts
from countwise.counts.histogram import Grid
from countwise.counts.moments import ExactSums, Moments
from countwise.counts.plan import Plan
from countwise.counts.word_counts import WordCounts
from countwise.errors import CountsError, CountwiseError, shown
from countwise.tables.schema import Schema

_VERSION = 1
_PLAIN = "counts.json"


def to_bytes(counts: Counts, more: Mapping[str, Any] | None = None) -> bytes:
    """Return counts as bytes; `more` is plain data that goes along."""
    arrays: dict[str, NDArray[Any]] = {"weight": _small(counts.weight)}
    for place, table in enumerate(counts.tables.values()):
        arrays[f"t{place}"] = _small(table)
    for place, moments in enumerate(counts.moments.values()):
        for name in ("weight", "mean", "square", "missing"):
            arrays[f"m{place}.{name}"] = getattr(moments, name)
        if moments.exact is not None:
            arrays[f"m{place}.words"] = moments.exact.words
    for place, grid in enumerate(counts.grids.values()):
        arrays[f"g{place}.keys"] = grid.keys
        arrays[f"g{place}.table"] = _small(grid.table)
        arrays[f"g{place}.missing"] = grid.missing
    for place, words in enumerate(counts.words.values()):
        for name in ("keys", "rows", "times", "weight", "missing"):
            arrays[f"w{place}.{name}"] = getattr(words, name)
    plain = {
        "version": _VERSION,
        "schema": counts.schema.to_dict(),
        "plan": asdict(counts.plan),
        "rows": counts.rows,
        "tables": list(counts.tables),
        "low": [m.exact.low if m.exact is not None else None for m in counts.moments.values()],
        "grids": [(grid.shift, grid.most) for grid in counts.grids.values()],
        "vocabularies": [words.vocabulary for words in counts.words.values()],
        "more": more or {},
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        _put(archive, _PLAIN, json.dumps(plain, ensure_ascii=False).encode())
        for name, array in arrays.items():
            packed = io.BytesIO()
            np.save(packed, np.ascontiguousarray(array), allow_pickle=False)
            _put(archive, f"{name}.npy", packed.getvalue())
    return file.getvalue()


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # Without the time of day, equal counts are equal bytes.
    entry = zipfile.ZipInfo(name)
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=1)


def from_bytes(content: bytes, what: str = "the bytes") -> tuple[Counts, dict[str, Any]]:
    """Return counts from bytes, and the plain data that went along; refuse what is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            plain = json.loads(archive.read(_PLAIN))
            arrays = {
                name.removesuffix(".npy"): np.load(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name != _PLAIN
            }
        if plain["version"] != _VERSION:
            raise CountsError(f"counts: {what} must be of version {_VERSION}; it is of another.")
        counts = _counts(plain, arrays)
        counts.check()
        more: dict[str, Any] = plain["more"]
    except CountwiseError as error:
        raise CountsError(f"counts: {what} must hold sound counts ({error}).") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        EOFError,
    ) as why:
        raise CountsError(
            f"counts: {what} must hold counts; it is damaged or something else ({why}).",
            hint="Count the rows again",
        ) from None
    return counts, more


def _counts(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Counts:
    given = plain["plan"]
    plan = Plan(
        tuple(tuple(names) for names in given["tables"]),
        tuple(given["moments"]),
        tuple(given["grids"]),
        tuple((name, size) for name, size in given["words"]),
    )
    moments, lows = {}, plain["low"]
    for place, name in enumerate(plan.moments):
        parts = [arrays[f"m{place}.{part}"] for part in ("weight", "mean", "square", "missing")]
        moments[name] = Moments(*parts)
        if lows[place] is not None:
            exact = ExactSums(int(lows[place]), arrays[f"m{place}.words"])
            moments[name] = replace(moments[name], exact=exact)
    grids = {}
    for place, name in enumerate(plan.grids):
        shift, most = plain["grids"][place]
        table = arrays[f"g{place}.table"].astype(np.float64)
        keys, missing = arrays[f"g{place}.keys"], arrays[f"g{place}.missing"]
        grids[name] = Grid(int(shift), keys, table, missing, int(most))
    words = {}
    for place, key in enumerate(plan.words):
        parts = [arrays[f"w{place}.{n}"] for n in ("keys", "rows", "times", "weight", "missing")]
        words[key] = WordCounts(tuple(plain["vocabularies"][place]), *parts)
    return Counts(
        Schema.from_dict(plain["schema"]),
        plan,
        int(plain["rows"]),
        arrays["weight"].astype(np.float64),
        {
            tuple(names): arrays[f"t{place}"].astype(np.float64)
            for place, names in enumerate(plain["tables"])
        },
        moments,
        grids,
        words,
    )


def _small(table: NDArray[np.float64]) -> NDArray[Any]:
    """Return a table as whole numbers of four bytes, if it holds such."""
    if table.size and (table.min() < 0 or table.max() >= 2**32 or np.any(table != np.floor(table))):
        return table
    return table.astype(np.uint32)


def save_counts(counts: Counts, path: str | os.PathLike[str]) -> None:
    """Write counts to a file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import countwise as cw
    >>> counts = cw.count("sample:weather")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cw.save_counts(counts, folder + "/weather.counts")
    ...     cw.load_counts(folder + "/weather.counts") == counts
    True
    """
    with atomic_write(path, "save_counts") as temporary:
        temporary.write_bytes(to_bytes(counts))


def load_counts(path: str | os.PathLike[str]) -> Counts:
    """Read counts from a file that `save_counts` or a checkpoint has left."""
    return read_counts(path)[0]


def read_counts(path: str | os.PathLike[str]) -> tuple[Counts, dict[str, Any]]:
    """Read counts, and the plain data that went along."""
    try:
        content = Path(path).read_bytes()
    except OSError as why:
        reason = why.strerror or str(why)
        raise CountsError(f"counts: {shown(path)} cannot be read ({reason}).") from None
    return from_bytes(content, shown(path))
