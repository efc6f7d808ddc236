"""The zip file of a saved value: documents and arrays, written whole and checked when read.

What a file announces (members, sizes, checksums, shapes) is checked before memory is taken for it,
and nothing in it is ever evaluated.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import StoreError
from countwise.store.codec import MAX_DIGITS, UnsoundError, decode
from countwise.tables.formats.source import MAX_NESTING, is_too_deep

#: What the manifest of every file says it is.
FORMAT = "countwise"
#: The version of the format that is written and read here.
VERSION = 2
MANIFEST = "manifest.json"
#: How many members a file may have.
MAX_MEMBERS = 10_000
#: How much a file may unpack to unless the caller allows more.
MAX_BYTES = 4 << 30
#: How large a JSON document may be.
MAX_TEXT = 64 << 20
#: How many values a document may hold; each takes far more memory than its text.
MAX_VALUES = 4_000_000
#: How large the zip's own list of members may be.
MAX_DIRECTORY = 4 << 20
#: Deflate packs at most 1032 : 1; what claims more is false.
MAX_RATIO = 1040

#: Half the time of the usual level for files a tenth larger.
_LEVEL = 3
#: From this size on a member gets 64 bits for its size.
_LARGE = 1 << 30
_CHUNK = 1 << 22
_DTYPES = ("<f8", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
_NAME = re.compile(r"[a-z][a-z_]{0,30}\.json|arrays/[A-Za-z0-9_]{1,80}\.npy")
_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = 20
_NOT_OURS = "Name a file written by countwise's save, usually '….cw'."


@dataclass(frozen=True)
class Entry:
    """What the manifest says of a member."""

    bytes: int
    sha256: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None

    def check(self) -> None:
        """Refuse sizes that no member has."""
        if self.bytes < 0 or any(not 0 <= size < 2**62 for size in self.shape or ()):
            raise ValueError("sizes must be at least 0")
        if (self.dtype is None) != (self.shape is None) or self.dtype not in (None, *_DTYPES):
            raise ValueError(f"an array must have a shape and a type out of {_DTYPES}")


@dataclass(frozen=True)
class Manifest:
    """What a file says of itself."""

    format: str
    format_version: int
    kind: str
    library_version: str
    numpy_version: str
    created: str
    summary: dict[str, Any]
    members: dict[str, Entry]


@dataclass(frozen=True)
class Parts:
    """What a saved value consists of: documents by name, arrays by name, a summary for people."""

    kind: str
    documents: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


def library_version() -> str:
    """Return the version of countwise that runs."""
    # Imported by name: an import statement would tie this package to every public name's home.
    return str(import_module("countwise").__version__)


# --- documents -------------------------------------------------------------------------------


def format_json(plain: Any) -> bytes:
    """Write JSON for people: an entry a line, short and plain ones on one line."""
    try:
        return _format(plain, 0, json.JSONEncoder(ensure_ascii=False, allow_nan=False)).encode()
    except UnicodeEncodeError:
        raise StoreError(
            "save: every text must be whole; half a character (a lone surrogate) is among them. "
            "Correct the names, the parameters or the notes."
        ) from None


def _format(plain: Any, indent: int, encoder: json.JSONEncoder) -> str:
    items = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ()
    if not any(isinstance(item, dict | list) for item in items) or _is_short(plain):
        return encoder.encode(plain)
    edge, inner = "\n" + " " * indent, "\n" + " " * (indent + 2)
    lines = [_format(item, indent + 2, encoder) for item in items]
    if isinstance(plain, list):
        return "[" + inner + f",{inner}".join(lines) + edge + "]"
    names = map(encoder.encode, plain)
    entries = (f"{name}: {line}" for name, line in zip(names, lines, strict=True))
    return "{" + inner + f",{inner}".join(entries) + edge + "}"


def _is_short(plain: Any) -> bool:
    """Return whether an object is a few numbers or a reference to an array."""
    return isinstance(plain, dict) and ("numbers" in plain or "array" in plain) and len(plain) < 5


def parse_json(data: bytes, name: str) -> Any:
    """Read JSON strictly: no NaN, no endless numbers, no name twice, no depth without end."""
    if _count_values(data) > MAX_VALUES:
        raise UnsoundError(f"holds more than {MAX_VALUES} values in {name!r}")
    if is_too_deep(data):
        raise UnsoundError(f"holds JSON nested deeper than {MAX_NESTING} levels in {name!r}")
    try:
        plain = json.loads(
            data.decode("utf-8"),
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_refuse_constant,
            object_pairs_hook=_parse_object,
        )
        if _ESCAPE.search(data):  # half a character can be escaped, but not be written
            json.dumps(plain, ensure_ascii=False).encode()
    except ValueError as why:
        raise UnsoundError(f"holds no proper JSON in {name!r} ({str(why)[:80]})") from None
    return plain


def _count_values(data: bytes) -> int:
    return sum(data.count(mark) for mark in (b",", b"[", b"{"))


def _parse_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return plain


# --- arrays ----------------------------------------------------------------------------------


def npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the npy header of an array in C order."""
    out = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue()


def _npy_chunks(array: NDArray[Any]) -> Iterable[Any]:
    yield npy_header(array.dtype.str, array.shape)
    content = array.reshape(-1).view(np.uint8)
    for start in range(0, len(content), _CHUNK):
        yield content[start : start + _CHUNK]


def read_npy(
    read: Callable[[int], bytes], dtype: str, shape: tuple[int, ...], name: str
) -> NDArray[Any]:
    """Read an array of known type and shape; refuse any other before making room for it."""
    header = npy_header(dtype, shape)
    if read(len(header)) != header:
        raise UnsoundError(
            f"must hold {dtype} of shape {shape} in {name!r}, but its header says otherwise"
        )
    array = np.empty(shape, dtype=dtype)
    content = array.reshape(-1).view(np.uint8)
    filled = 0
    while filled < len(content):
        part = read(min(_CHUNK, len(content) - filled))
        if not part:
            raise UnsoundError(f"ends too early in {name!r}")
        content[filled : filled + len(part)] = np.frombuffer(part, dtype=np.uint8)
        filled += len(part)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


# --- writing ---------------------------------------------------------------------------------


def pack(path: Path, parts: Parts) -> None:
    """Write the zip; arrays go from memory to the file without being copied whole."""
    written = {name: [format_json(plain)] for name, plain in parts.documents.items()}
    for name, (data,) in written.items():
        if len(data) > MAX_TEXT or _count_values(data) > MAX_VALUES:
            raise StoreError(
                f"save: a document may hold {MAX_VALUES:,} values and {MAX_TEXT:,} bytes; "
                f"{name!r} holds more. Save a model of fewer columns, levels or members."
            )
    members = {name: _entry(chunks) for name, chunks in written.items()} | {
        name: _entry(_npy_chunks(array)) | {"dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in parts.arrays.items()
    }
    manifest = {
        "format": FORMAT,
        "format_version": VERSION,
        "kind": parts.kind,
        "library_version": library_version(),
        "numpy_version": np.__version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "summary": parts.summary,
        "members": members,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        _add(archive, MANIFEST, [format_json(manifest)])
        for name, chunks in written.items():
            _add(archive, name, chunks)
        for name, array in parts.arrays.items():
            _add(archive, name, _npy_chunks(array), array.nbytes)


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


# --- reading ---------------------------------------------------------------------------------


class Archive:
    """A saved file, opened and checked as far as that is possible without unpacking it."""

    def __init__(self, file: IO[bytes], max_bytes: int = MAX_BYTES) -> None:
        self.size = _check_end(file)
        with _zip_errors("its list of members"):
            self._zip = zipfile.ZipFile(file)
            self._infos = {info.filename: info for info in self._zip.infolist()}
        self._unread = set(self._infos)
        self.manifest = self._read_manifest()
        self._check_members(max_bytes)
        self._check_announced()

    @property
    def unpacked(self) -> int:
        """How many bytes all members have when unpacked."""
        return sum(info.file_size for info in self._infos.values())

    def __contains__(self, name: object) -> bool:
        return name in self.manifest.members

    def __len__(self) -> int:
        return len(self._infos)

    def document(self, name: str) -> Any:
        """Return a JSON document."""
        entry = self._entry(name)
        if entry.bytes > MAX_TEXT:
            raise UnsoundError(f"has a document of impossible size, {name!r}")
        with self._open(name, entry.sha256) as read:
            return parse_json(read(entry.bytes), name)

    def array(self, name: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
        """Return an array, which must have this shape if one is given."""
        entry = self._entry(name)
        if entry.dtype is None or entry.shape is None or shape not in (None, entry.shape):
            raise UnsoundError(
                f"must hold an array of shape {shape} in {name!r}, but its manifest says "
                f"{str(entry.shape)[:60]}"
            )
        header = len(npy_header(entry.dtype, entry.shape))
        if entry.bytes != header + np.dtype(entry.dtype).itemsize * math.prod(entry.shape):
            raise UnsoundError(f"announces a size that does not fit the shape of {name!r}")
        with self._open(name, entry.sha256) as read:
            return read_npy(read, entry.dtype, entry.shape, name)

    def check_all_read(self) -> None:
        """Refuse members that nothing refers to."""
        if self._unread:
            raise UnsoundError(f"holds a member that no model refers to, {min(self._unread)!r}")

    def _entry(self, name: str) -> Entry:
        if name not in self.manifest.members:
            raise UnsoundError(f"must hold {name[:60]!r}, but does not")
        return self.manifest.members[name]

    @contextmanager
    def _open(self, name: str, sha256: str | None) -> Iterator[Callable[[int], bytes]]:
        """Open a member for reading; at the end it must be read up and have the right sum."""
        digest = hashlib.sha256()
        self._unread.discard(name)
        with _zip_errors(repr(name)), self._zip.open(self._infos[name]) as member:

            def read(size: int) -> bytes:
                part = member.read(size)
                digest.update(part)
                return part

            yield read
            if member.read(1):  # at the end zipfile compares its own sum, too
                raise UnsoundError(f"holds more than its manifest says in {name!r}")
        if sha256 is not None and digest.hexdigest() != sha256:
            raise UnsoundError(f"was changed or damaged: {name!r} does not match its checksum")

    def _read_manifest(self) -> Manifest:
        info = self._infos.get(MANIFEST)
        if info is None:
            raise UnsoundError("is a zip file but not a countwise model", _NOT_OURS)
        if info.file_size > MAX_TEXT or not _is_possible(info):
            raise UnsoundError("has a manifest of impossible size")
        with self._open(MANIFEST, None) as read:
            plain = parse_json(read(info.file_size), MANIFEST)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise UnsoundError("is a zip file but not a countwise model", _NOT_OURS)
        _check_version(plain)
        manifest: Manifest = decode(Manifest, plain, {})
        return manifest

    def _check_members(self, max_bytes: int) -> None:
        infos = self._zip.infolist()
        if len(infos) > MAX_MEMBERS:
            raise UnsoundError(f"has {len(infos)} members, more than the {MAX_MEMBERS} allowed")
        if len(self._infos) != len(infos):
            raise UnsoundError("has two members of one name")
        for info in infos:
            _check_member(info)
        if self.unpacked > max_bytes:
            raise UnsoundError(
                f"unpacks to {self.unpacked:,} bytes, more than the {max_bytes:,} allowed",
                "If you trust it, give load a larger max_bytes.",
            )
        end = 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise UnsoundError("has members that lie over each other")
            end = info.header_offset + 30 + len(info.filename) + info.compress_size
        if end > self.size:
            raise UnsoundError("has members that reach beyond its end")

    def _check_announced(self) -> None:
        members = self.manifest.members
        if set(members) | {MANIFEST} != set(self._infos) or MANIFEST in members:
            raise UnsoundError("does not hold the members its manifest lists")
        for name, entry in members.items():
            if entry.bytes != self._infos[name].file_size:
                raise UnsoundError(f"holds {name!r} in another size than its manifest says")


def _check_version(manifest: dict[str, Any]) -> None:
    version = manifest.get("format_version")
    by = str(manifest.get("library_version"))[:20]
    if type(version) is not int or version < 1:
        raise UnsoundError(f"must give a whole number as format_version; got {str(version)[:20]}")
    if version > VERSION:
        raise UnsoundError(
            f"was written by a newer countwise ({by}, format {version}); this is "
            f"{library_version()}, which reads format {VERSION}",
            "Upgrade countwise.",
        )
    if version < VERSION:
        raise UnsoundError(
            f"was written by an older countwise ({by}, format {version}); this is "
            f"{library_version()}, which reads format {VERSION}",
            "Fit and save the model again.",
        )


def _check_member(info: zipfile.ZipInfo) -> None:
    name = info.orig_filename
    if not _NAME.fullmatch(name):
        raise UnsoundError(f"has a member of a name that no model has, {name[:60]!r}")
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
        raise UnsoundError(f"has a member that is a link or a device, {name!r}")
    if info.flag_bits & 0x1:
        raise UnsoundError(f"has a member that is encrypted, {name!r}")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnsoundError(f"has a member packed in a way that is not read here, {name!r}")
    if not _is_possible(info):
        raise UnsoundError(f"has a member of impossible size, {name!r}")


def _is_possible(info: zipfile.ZipInfo) -> bool:
    return info.file_size <= MAX_RATIO * max(info.compress_size, 1)


def _check_end(file: IO[bytes]) -> int:
    """Look at the end of a zip before anything relies on it: it says how much there is to read."""
    size = file.seek(0, 2)
    file.seek(0)
    start = file.read(4)
    tail_size = min(size, _END_64.size + _LOCATOR_64 + _END.size)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    if not start.startswith(b"PK"):
        raise UnsoundError("is not a countwise model" if size else "is empty", _NOT_OURS)
    if len(tail) < _END.size or tail[-_END.size :][:4] != b"PK\x05\x06":
        raise UnsoundError("is cut off or has something behind its end")
    _, _, _, _, members, directory, _, comment = _END.unpack(tail[-_END.size :])
    if comment:
        raise UnsoundError("is cut off or has something behind its end")
    before = tail[: -_END.size]
    if before[-_LOCATOR_64:][:4] == b"PK\x06\x07":
        if len(before) < _END_64.size + _LOCATOR_64 or before[:4] != b"PK\x06\x06":
            raise UnsoundError("has a damaged end")
        fields = _END_64.unpack(before[: _END_64.size])
        members, directory = fields[7], fields[8]
    if members > MAX_MEMBERS or directory > MAX_DIRECTORY:
        raise UnsoundError(f"has more than the {MAX_MEMBERS} members allowed")
    return size


@contextmanager
def _zip_errors(what: str) -> Iterator[None]:
    """Say in words what zipfile and zlib say in exceptions."""
    try:
        yield
    except (UnsoundError, MemoryError):
        raise
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError,
        OverflowError, LookupError,
    ) as why:  # fmt: skip
        raise UnsoundError(f"is damaged in {what} ({str(why)[:80]})") from None
