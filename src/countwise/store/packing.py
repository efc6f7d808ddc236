"""Documents and arrays into one zip, with a manifest that says what each member must be."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.store.npy import Kind, contents, header_of

#: What the manifest of every file says it is.
FORMAT = "countwise"
#: The version of the format written here, and the newest that is read.
VERSION = 1
MANIFEST = "manifest.json"

_CHUNK = 1 << 22
#: Half the time of the usual level for files a tenth larger.
_LEVEL = 3
#: From this size on a member gets 64 bits for its size.
_LARGE = 1 << 30


@dataclass(frozen=True)
class Parts:
    """What a saved thing consists of: documents by name, arrays by name, a summary for people."""

    kind: str
    documents: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


def library_version() -> str:
    """Return the version of countwise that runs."""
    # Imported by name: an import statement would tie this room to every public name's home.
    return str(import_module("countwise").__version__)


def readable(plain: Any, indent: int = 0) -> str:
    """Write JSON for people: an entry a line, lists of plain values on one line."""
    edge, inner = "\n" + " " * indent, "\n" + " " * (indent + 2)
    if isinstance(plain, dict) and plain:
        entries = (f"{_text(str(k))}: {readable(v, indent + 2)}" for k, v in plain.items())
        return "{" + inner + f",{inner}".join(entries) + edge + "}"
    if isinstance(plain, list) and any(isinstance(item, dict | list) for item in plain):
        lines = (readable(item, indent + 2) for item in plain)
        return "[" + inner + f",{inner}".join(lines) + edge + "]"
    return _text(plain)


def _text(plain: Any) -> str:
    written = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    # Half a surrogate pair, as odd file names have them, is text to Python but not to UTF-8.
    return written if _encodable(written) else json.dumps(plain, allow_nan=False)


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def pack(path: Path, parts: Parts) -> None:
    """Write the zip; arrays go from memory to the file without being copied whole."""
    written = {name: [readable(plain).encode("utf-8")] for name, plain in parts.documents.items()}
    kinds = {name: _kind(array) for name, array in parts.arrays.items()}
    manifest = {
        "format": FORMAT,
        "format_version": VERSION,
        "kind": parts.kind,
        "library_version": library_version(),
        "numpy_version": np.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "summary": parts.summary,
        "members": {name: _entry(chunks) for name, chunks in written.items()}
        | {
            name: _entry(_npy(kinds[name], array))
            | {"dtype": kinds[name], "shape": list(array.shape)}
            for name, array in parts.arrays.items()
        },
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        _add(archive, MANIFEST, [readable(manifest).encode("utf-8")])
        for name, chunks in written.items():
            _add(archive, name, chunks)
        for name, array in parts.arrays.items():
            _add(archive, name, _npy(kinds[name], array), array.nbytes)


def _kind(array: NDArray[Any]) -> Kind:
    return "<i8" if array.dtype.kind == "i" else "<f8"


def _npy(kind: Kind, array: NDArray[Any]) -> Iterable[Any]:
    yield header_of(kind, array.shape)
    room = contents(array)
    for place in range(0, len(room), _CHUNK):
        yield room[place : place + _CHUNK]


def _entry(chunks: Iterable[Any]) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
    return {"bytes": size, "sha256": digest.hexdigest()}


def _add(archive: zipfile.ZipFile, name: str, chunks: Iterable[Any], size: int = 0) -> None:
    # Opened by name, a member bears no time: the same model gives the same bytes whenever it is
    # saved, but for the time in the manifest.
    with archive.open(name, "w", force_zip64=size >= _LARGE) as member:
        for chunk in chunks:
            member.write(chunk)
