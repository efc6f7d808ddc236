"""The way back from a zip that nobody vouches for: names, sizes and sums first, content after.

Nothing is unpacked before the manifest has announced it, no array is given room before its shape
is the one the schema asks for, and no more is read than was announced.
"""

from __future__ import annotations

import hashlib
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from numpy.typing import NDArray

from countwise.store.fields import Fields, parse
from countwise.store.flaws import UnsoundError
from countwise.store.npy import Kind, read_array, size_of
from countwise.store.packing import FORMAT, MANIFEST, VERSION, library_version

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
