"""Models to files and back: `save`, `load`, and `describe` for a look without loading."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError, StoreError, shown
from countwise.store.archive import MOST_BYTES, Archive, pack
from countwise.store.flaws import UnsoundError, refusals
from countwise.store.states import parts_of, rebuilt

Pathlike = str | os.PathLike[str]

_DOCUMENTS = (
    "schema", "cuts", "families", "tree", "cells", "parameters", "decide", "training", "notes",
)  # fmt: skip


def save(model: Any, path: Pathlike, *, notes: Any = None) -> None:
    """Save a model so that it predicts the same elsewhere and later, to the last bit.

    The file is a zip of readable JSON and npy arrays: the counts, the schema with its levels, the
    parameters, the notes about the data. It is written whole or not at all: a crash at any moment
    leaves the old file or the new one. Parameters are saved as they stand; one that was changed
    after `fit` counts from loading on.

    Parameters
    ----------
    model
        A fitted model (`NaiveBayes`, `TAN`, `ID3`, ...), a fitted `Decide` over one, or `Counts`, a
        `Schema` or a `GainMatrix`.
    path
        Where; the usual suffix is ``.cw``. The directory must exist, a file there is replaced.
    notes
        Remarks of your own to keep in the file: a text, or numbers, texts, lists and mappings.
        `describe` shows them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> model = cw.NaiveBayes().fit(weather)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "weather.cw", notes="first try")
    ...     again = load(Path(folder) / "weather.cw")
    >>> bool((again.predict_proba(weather) == model.predict_proba(weather)).all())
    True
    """
    parts = parts_of(model, notes)
    try:
        with atomic_write(path) as temporary:
            pack(temporary, parts)
            # What could not be loaded must not take the place of what can.
            with refusals("save", path), temporary.open("rb") as file:
                Archive(file, most_bytes=2**62)
    except OSError as why:
        reason = why.strerror or str(why)
        raise StoreError(
            f"save: {shown(path)} cannot be written ({reason}). Check the space left there."
        ) from why


def load(path: Pathlike, *, most_bytes: int = MOST_BYTES) -> Any:
    """Load what `save` wrote; nothing in the file is executed, whoever wrote it.

    Everything is checked before it is used: names, sizes and checksums of the members, types in the
    documents, shapes of the arrays against the schema, the counts themselves. A counted
    model is then learned again from its counts.

    Parameters
    ----------
    path
        A file written by `save`.
    most_bytes
        How much the file may unpack to. Loading needs a small multiple of that in memory.

    Raises
    ------
    StoreError
        The file is missing, no model, damaged, too large, or from a newer countwise; the message
        says which in a sentence.

    Examples
    --------
    >>> load("no such model.cw")
    Traceback (most recent call last):
        ...
    countwise.errors.StoreError: load: there is no file 'no such model.cw'. Check the path.
    """
    if isinstance(most_bytes, bool) or not isinstance(most_bytes, int) or most_bytes < 1:
        raise ParameterError(
            f"load: most_bytes must be a whole number of at least 1, but {most_bytes!r} came."
        )
    with _opened("load", path, most_bytes) as archive, np.errstate(all="ignore"):
        return rebuilt(archive)


def describe(path: Pathlike) -> dict[str, Any]:
    """Look into a saved file without loading it: what it holds, from which data, made by whom."""
    with _opened("describe", path, 2**62) as archive:
        manifest = archive.manifest
        seen: dict[str, Any] = {
            "kind": archive.kind,
            "created": manifest.text("created"),
            "library_version": manifest.text("library_version"),
            "format_version": manifest.whole("format_version"),
            "bytes": archive.size,
            "unpacked_bytes": archive.unpacked,
            "members": len(archive),
            "summary": manifest.inner("summary").plain,
        }
        for name in _DOCUMENTS:
            if f"{name}.json" in archive:
                seen[name] = archive.fields(f"{name}.json").plain
        return seen


@contextmanager
def _opened(who: str, path: Pathlike, most_bytes: int) -> Iterator[Archive]:
    """Open a file to be read; whatever is wrong with it is a `StoreError`."""
    with refusals(who, path):
        try:
            there = os.stat(path)
        except FileNotFoundError:
            raise StoreError(f"{who}: there is no file {shown(path)}. Check the path.") from None
        except (TypeError, ValueError):
            raise UnsoundError("is no path", "Name a file.") from None
        if not stat.S_ISREG(there.st_mode):
            what = "a directory" if stat.S_ISDIR(there.st_mode) else "a device or a pipe"
            raise UnsoundError(f"is {what}, not a file", "Name a file written by save.")
        with open(path, "rb") as file:
            yield Archive(file, most_bytes)
