"""Arrays as npy bytes: a header that any NumPy reads, and a reader that evaluates nothing."""

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
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise.store.fields import Fields, parse
from countwise.store.flaws import UnsoundError

#: The two kinds of numbers there are: counts and sums, and the cells of a grid.
Kind = Literal["<f8", "<i8"]
#: The longest header that is looked at.
MOST_HEADER = 4096

_CHUNK = 1 << 22
_MAGIC = re.compile(rb"\x93NUMPY\x01\x00(..)", re.DOTALL)
_HEADER = re.compile(
    rb"\{'descr': '(<f8|<i8)', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,15}, )*(?:\d{1,15},?)?)\), \} *\n"
)


def axes_of(array: NDArray[Any]) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest, as the array lies in memory.

    A sum over an axis rounds by the order its parts lie in; to get equal bits from a saved table,
    that order must come back too.
    """
    every = range(array.ndim)
    if array.flags.c_contiguous:
        return tuple(every)
    return tuple(sorted(every, key=lambda axis: -abs(array.strides[axis])))


def header_of(kind: Kind, shape: tuple[int, ...]) -> bytes:
    """Return the npy header of an array in C order."""
    out = io.BytesIO()
    plain = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, plain)
    return out.getvalue()


def contents(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array in C order without copying them."""
    return array.reshape(-1).view(np.uint8)


def size_of(kind: Kind, shape: tuple[int, ...]) -> int:
    """Return how many bytes the file of such an array has."""
    return len(header_of(kind, shape)) + 8 * math.prod(shape)


def read_array(
    read: Callable[[int], bytes], kind: Kind, shape: tuple[int, ...], name: str
) -> NDArray[Any]:
    """Read an array of known kind and shape; refuse any other before making room for it."""
    start = _MAGIC.fullmatch(_exactly(read, 10, name))
    length = int.from_bytes(start.group(1), "little") if start else MOST_HEADER + 1
    head = _HEADER.fullmatch(_exactly(read, length, name)) if length <= MOST_HEADER else None
    if head is None:
        raise UnsoundError(f"holds an array {name!r} whose header is not that of a plain npy file")
    found = tuple(int(size) for size in re.findall(rb"\d+", head.group(2)))
    if head.group(1).decode() != kind or found != shape:
        raise UnsoundError(
            f"must hold {kind} of shape {shape} in {name!r}, but {head.group(1).decode()} of shape "
            f"{found} is there"
        )
    array = np.empty(shape, dtype=kind)
    room = contents(array)
    for place in range(0, len(room), _CHUNK):
        part = _exactly(read, min(_CHUNK, len(room) - place), name)
        room[place : place + len(part)] = np.frombuffer(part, dtype=np.uint8)
    if read(1):
        raise UnsoundError(f"holds more than its header says in {name!r}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _exactly(read: Callable[[int], bytes], size: int, name: str) -> bytes:
    parts = []
    while size > 0:
        part = read(size)
        if not part:
            raise UnsoundError(f"ends too early in {name!r}")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


#: What the manifest of every file says it is.
FORMAT = "countwise"
#: The version of the format written here, and the newest that is read.
VERSION = 1
MANIFEST = "manifest.json"
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


#: How many members a file may have.
MOST_MEMBERS = 10_000
#: How much a file may unpack to unless the caller allows more.
MOST_BYTES = 4 << 30
#: How large a JSON document may be.
MOST_TEXT = 64 << 20
#: How large the zip's own list of members may be.
MOST_DIRECTORY = 4 << 20
#: Deflate packs at most 1032 : 1; what claims more is a lie.
MOST_RATIO = 1040

_NAME = re.compile(
    r"(m\d{1,6}/){0,4}"  # members of an ensemble, and theirs
    r"([a-z][a-z_]{0,30}\.json|(counts|tree|rows|cells|layers|rules)/[A-Za-z0-9_]{1,80}\.npy)"
)
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = 20
_NOT_OURS = "Name a file written by countwise's save, usually '….cw'."


class Within:
    """What a file holds of one member of an ensemble."""

    def __init__(self, archive: Archive | Within, prefix: str) -> None:
        self._archive, self._prefix = archive, prefix

    def __contains__(self, name: object) -> bool:
        return f"{self._prefix}{name}" in self._archive

    def fields(self, name: str) -> Fields:
        """Return a JSON document that is an object."""
        return self._archive.fields(self._prefix + name)

    def array(self, name: str, kind: Kind, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return an array, which must be of this kind and shape."""
        return self._archive.array(self._prefix + name, kind, shape)

    def length(self, name: str) -> int:
        """Return how many numbers an array of one axis is said to hold."""
        return self._archive.length(self._prefix + name)


class Archive:
    """A saved file, opened and checked as far as that is possible without unpacking it."""

    def __init__(self, file: IO[bytes], most_bytes: int = MOST_BYTES) -> None:
        self.size = _check_end(file)
        with _zip_trouble("its list of members"):
            self._zip = zipfile.ZipFile(file)
            self._infos = {info.filename: info for info in self._zip.infolist()}
        self._shared: dict[str, NDArray[Any]] = {}
        self.manifest = self._read_manifest()
        self._check_members(most_bytes)
        self._entries = self._check_announced()

    @property
    def kind(self) -> str:
        """What is saved: the name of a class."""
        return self.manifest.text("kind")

    @property
    def unpacked(self) -> int:
        """How many bytes everything has when unpacked."""
        return sum(info.file_size for info in self._infos.values())

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __len__(self) -> int:
        return len(self._infos)

    def document(self, name: str) -> Any:
        """Return a JSON document."""
        entry = self._entry(name)
        size = entry.whole("bytes", high=MOST_TEXT)
        with self._opened(name, entry.text("sha256")) as read:
            return parse(read(size), name)

    def fields(self, name: str) -> Fields:
        """Return a JSON document that is an object."""
        return Fields(self.document(name), name)

    def array(self, name: str, kind: Kind, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return an array, which must be of this kind and shape."""
        if name in self._shared and self._shared[name].shape == shape:
            return self._shared[name]
        entry = self._entry(name)
        if entry.any("dtype") != kind or entry.items("shape") != list(shape):
            raise UnsoundError(
                f"must hold {kind} of shape {shape} in {name!r}, but its manifest says "
                f"{str(entry.any('dtype'))[:9]} of shape {str(entry.items('shape'))[:60]}"
            )
        if entry.whole("bytes") != size_of(kind, shape):
            raise UnsoundError(f"announces a size that does not fit the shape of {name!r}")
        with self._opened(name, entry.text("sha256")) as read:
            found = read_array(read, kind, shape, name)
        if "counts/all_" in name:
            self._shared[name] = found
        return found

    def length(self, name: str) -> int:
        """Return how many numbers an array of one axis is said to hold."""
        shape = self._entry(name).items("shape")
        if len(shape) != 1 or type(shape[0]) is not int or shape[0] < 0:
            raise UnsoundError(f"must hold one row of numbers in {name!r}, but does not")
        return shape[0]

    def _entry(self, name: str) -> Fields:
        if name not in self._entries:
            raise UnsoundError(f"must hold {name[:60]!r}, but does not")
        return self._entries[name]

    @contextmanager
    def _opened(self, name: str, sha256: str | None) -> Iterator[Callable[[int], bytes]]:
        """Open a member for reading; at the end it must be read up and have the right sum."""
        digest = hashlib.sha256()
        with _zip_trouble(repr(name)), self._zip.open(self._infos[name]) as member:

            def read(size: int) -> bytes:
                part = member.read(size)
                digest.update(part)
                return part

            yield read
            if member.read(1):  # at the end zipfile compares its own sum, too
                raise UnsoundError(f"holds more than its manifest says in {name!r}")
        if sha256 is not None and digest.hexdigest() != sha256:
            raise UnsoundError(f"was changed or damaged: {name!r} does not match its checksum")

    def _read_manifest(self) -> Fields:
        info = self._infos.get(MANIFEST)
        if info is None:
            raise UnsoundError("is a zip file but not a countwise model", _NOT_OURS)
        if info.file_size > MOST_TEXT or not _possible(info):
            raise UnsoundError("has a manifest of impossible size")
        with self._opened(MANIFEST, None) as read:
            manifest = Fields(parse(read(info.file_size), MANIFEST), MANIFEST)
        if manifest.plain.get("format") != FORMAT:
            raise UnsoundError("is a zip file but not a countwise model", _NOT_OURS)
        version = manifest.whole("format_version", low=1)
        if version > VERSION:
            by = str(manifest.plain.get("library_version"))[:20]
            raise UnsoundError(
                f"was written by a newer countwise ({by}, format {version}); this is "
                f"{library_version()}, which reads formats up to {VERSION}",
                "Upgrade countwise.",
            )
        return manifest

    def _check_members(self, most_bytes: int) -> None:
        infos = self._zip.infolist()
        if len(infos) > MOST_MEMBERS:
            raise UnsoundError(f"has {len(infos)} members, more than the {MOST_MEMBERS} allowed")
        if len(self._infos) != len(infos):
            raise UnsoundError("has two members of one name")
        for info in infos:
            _check_member(info)
        if self.unpacked > most_bytes:
            raise UnsoundError(
                f"unpacks to {self.unpacked:,} bytes, more than the {most_bytes:,} allowed",
                "If you trust it, give load a larger most_bytes.",
            )
        place = 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            if info.header_offset < place:
                raise UnsoundError("has members that lie over each other")
            place = info.header_offset + 30 + len(info.filename) + info.compress_size
        if place > self.size:
            raise UnsoundError("has members that reach beyond its end")

    def _check_announced(self) -> dict[str, Fields]:
        listed = self.manifest.inner("members")
        if set(listed.plain) | {MANIFEST} != set(self._infos) or MANIFEST in listed.plain:
            raise UnsoundError("does not hold the members its manifest lists")
        entries = {name: listed.inner(name) for name in listed.plain}
        for name, entry in entries.items():
            if entry.whole("bytes") != self._infos[name].file_size:
                raise UnsoundError(f"holds {name!r} in another size than its manifest says")
            entry.text("sha256")
        return entries


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
    if not _possible(info):
        raise UnsoundError(f"has a member of impossible size, {name!r}")


def _possible(info: zipfile.ZipInfo) -> bool:
    return info.file_size <= MOST_RATIO * max(info.compress_size, 1)


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
    if members > MOST_MEMBERS or directory > MOST_DIRECTORY:
        raise UnsoundError(f"has more than the {MOST_MEMBERS} members allowed")
    return size


@contextmanager
def _zip_trouble(what: str) -> Iterator[None]:
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
