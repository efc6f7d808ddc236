"""A file on disk, plain or gzipped, opened as bytes and scanned once."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, cast

import numpy as np

from countwise.errors import TableError, did_you_mean, listing, quote
from countwise.tables.formats import _csv_fast

#: How deep JSON may be nested: parsers call themselves for each level, and some crash.
MAX_NESTING = 100

#: The name of standard input, as commands spell it.
STDIN = "-"
_URL = re.compile(r"(?:https?|ftps?|s3|gs|abfss?|hdfs)://", re.IGNORECASE)
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_CHUNK = 1 << 20
#: Bytes looked through at a time: every step must take the interpreter lock once.
_LARGE = 1 << 24
#: Bytes that are letters and signs in Windows-1252 and control codes in Latin-1.
_WINDOWS = frozenset(range(0x80, 0xA0))
#: Those of them that Windows-1252 does not know either.
_NEITHER = b"\x81\x8d\x8f\x90\x9d"
_ELSEWHERE = bytes(byte for byte in range(256) if byte not in _WINDOWS)

#: How the addresses of databases begin.
ADDRESSES = ("duckdb:", "spark:", "postgresql://", "postgres://")


def is_outside(given: Any) -> bool:
    """Return whether this is an address, a folder or a pattern, which only `scan` takes."""
    if not isinstance(given, str | os.PathLike):
        return False
    path = os.fspath(given)
    if isinstance(path, str) and path.startswith(ADDRESSES):
        return True
    is_pattern = isinstance(path, str) and not os.path.exists(path) and set(path) & set("*?[")
    return os.path.isdir(path) or bool(is_pattern)


def is_blank(path: str) -> bool:
    """Return whether a file holds no byte, once it is unpacked."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            start = file.read(2)
        if start != _GZIP:
            return not start
        with gzip.open(path) as unpacked:
            return not unpacked.read(1)
    except (OSError, EOFError):
        return False  # who reads it says what is wrong


@dataclass(frozen=True)
class Source:
    """One file to read from, found to exist and to hold something."""

    path: str
    gzipped: bool = False

    @classmethod
    def at(cls, path: str | os.PathLike[str] | Source) -> Source:
        """Return the source at `path`, or raise an error that says why there is none."""
        if isinstance(path, Source):
            return path
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
        if not isinstance(name, str):
            raise TableError(f"Table: a path must be a string or a Path; got {quote(path)}.")
        if _URL.match(name):
            raise TableError(
                f"Table: a path must name a file on this machine; got the URL {name!r}. "
                "Download it first."
            )
        if name == STDIN:
            return Content.of("standard input", sys.stdin.buffer.read())
        try:
            if os.path.isdir(name):
                raise TableError(
                    f"Table: {name!r} must be a file; got a directory. Name one of the files in it."
                )
            if os.path.exists(name) and not os.path.isfile(name):
                raise TableError(
                    f"Table: {name!r} must be a regular file; got a pipe or a device. "
                    "Save the data to a file first."
                )
            with open(name, "rb") as file:
                start = file.read(4)
        except FileNotFoundError:
            raise TableError(
                f"Table: there is no file {name!r}.{_similar(name)} Check the path."
            ) from None
        except (OSError, ValueError) as error:
            if isinstance(error, TableError):
                raise
            reason = getattr(error, "strerror", None) or str(error)
            raise TableError(
                f"Table: {name!r} cannot be opened ({reason}). Check the path and its permissions."
            ) from None
        if start == _ZIP and name.lower().endswith(".zip"):
            return Zipped.of(name)
        source = cls(name, start[:2] == _GZIP)
        if not start or (source.gzipped and not source.head(1)):
            raise TableError(
                f"Table: {name!r} must hold rows; it is empty. Check that it was written."
            )
        return source

    @property
    def extension(self) -> str:
        """The extension of the unpacked file, in small letters."""
        return os.path.splitext(self.path.lower().removesuffix(".gz"))[1]

    @property
    def usual_separator(self) -> str:
        """The separator that the extension promises, if the file is delimited."""
        return "\t" if self.extension in (".tsv", ".tab") else ","

    def open(self) -> BinaryIO:
        """Return the unpacked bytes as a Python file."""
        if self.gzipped:
            return cast(BinaryIO, gzip.open(self.path, "rb"))
        return open(self.path, "rb")

    def arrow(self, start: int = 0) -> Any:
        """Return the unpacked bytes from `start` on as an Arrow file."""
        import pyarrow as pa

        file = pa.OSFile(self.path, "rb")
        if not self.gzipped:
            file.seek(start)
            return file
        stream = pa.CompressedInputStream(file, "gzip")
        while start > 0:
            start -= len(stream.read(min(start, _CHUNK))) or start
        return stream

    def head(self, size: int) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            try:
                return file.read(size)
            except (OSError, EOFError) as error:
                raise self.damaged(error) from None

    def chunks(self, start: int = 0, size: int = _CHUNK) -> Iterator[bytes]:
        """Yield the unpacked bytes from `start` on, a megabyte or `size` bytes at a time."""
        with self.open() as file:
            try:
                file.seek(start)
                while chunk := file.read(size):
                    yield chunk
            except (OSError, EOFError) as error:
                raise self.damaged(error) from None

    def damaged(self, error: object) -> TableError:
        """Return the error that says that the file cannot be read to its end."""
        what = "a sound gzip file" if self.gzipped else "readable"
        return TableError(
            f"Table: {self.path!r} must be {what}; reading it failed ({error}). "
            "Fetch or write it again."
        )


@dataclass(frozen=True)
class Content(Source):
    """Bytes in memory, read like a file: standard input, a file object, lines of a larger file."""

    content: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, name: str, content: bytes) -> Source:
        """Return a source of these bytes, unpacked if they are gzipped."""
        if content.startswith(_GZIP):
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError) as error:
                raise cls(name, True).damaged(error) from None
        if not content:
            raise TableError(f"Table: {name} must hold rows; it is empty.")
        return cls(name, False, content)

    @classmethod
    def of_file(cls, file: Any) -> Source:
        """Return all that a file object holds from where it stands; text is taken as UTF-8."""
        name = getattr(file, "name", None)
        found = file.read()
        content = found.encode("utf-8") if isinstance(found, str) else bytes(found)
        return cls.of(name if isinstance(name, str) else "the file object", content)

    def open(self) -> BinaryIO:
        """Return the bytes as a Python file."""
        return cast(BinaryIO, io.BytesIO(self.content))

    def arrow(self, start: int = 0) -> Any:
        """Return the bytes from `start` on as an Arrow file."""
        import pyarrow as pa

        file = pa.BufferReader(self.content)
        file.seek(start)
        return file


@dataclass(frozen=True)
class Zipped(Source):
    """The only file in a zip archive."""

    member: str = ""

    @classmethod
    def of(cls, path: str) -> Source:
        """Return the file in an archive; several files cannot be told apart."""
        try:
            with zipfile.ZipFile(path) as archive:
                every = [entry for entry in archive.infolist() if not entry.is_dir()]
        except (OSError, zipfile.BadZipFile) as error:
            raise TableError(f"Table: {path!r} must be a sound zip file ({error}).") from None
        files = [entry for entry in every if not entry.filename.startswith("__MACOSX/")]
        if len(files) != 1:
            names = listing([entry.filename for entry in files])
            raise TableError(
                f"Table: a zip file must hold one file; {path!r} holds {len(files)} ({names}). "
                "Unpack it and name one of them."
            )
        if not files[0].file_size:
            raise TableError(f"Table: {path!r} must hold rows; {files[0].filename!r} is empty.")
        return cls(path, False, files[0].filename)

    @property
    def extension(self) -> str:
        """The extension of the file in the archive, in small letters."""
        return os.path.splitext(self.member.lower())[1]

    def open(self) -> BinaryIO:
        """Return the unpacked bytes as a Python file."""
        return cast(BinaryIO, zipfile.ZipFile(self.path).open(self.member))

    def arrow(self, start: int = 0) -> Any:
        """Return the unpacked bytes from `start` on as an Arrow file."""
        import pyarrow as pa

        file = self.open()
        file.seek(start)
        return pa.PythonFile(file, "r")


@dataclass(frozen=True)
class ByteFacts:
    """The findings of one look through all bytes: UTF-8 or not, quotes, any ``0x``, size.

    ``zeros`` says that a cell may begin with a zero and another digit, as codes do.
    """

    utf8: bool = True
    quotes: int = 0
    hexadecimal: bool = False
    size: int = 0
    zeros: bool = False


def look_through(source: Source, encoding: str, start: int) -> ByteFacts:
    """Look through a text file once, refusing NUL and bytes that its encoding does not allow."""
    utf8, quotes, hexadecimal, zeros, size = True, 0, False, False, 0
    decoder = codecs.getincrementaldecoder(encoding)()
    last = b"\n"
    for raw in source.chunks(start, _CHUNK if source.gzipped else _LARGE):
        chunk = raw
        if encoding != "utf-8":
            try:
                chunk = decoder.decode(raw).encode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                raise not_text(source, f"bytes that are not {encoding} ({error.reason})") from None
        ascii, nul, letter, found, zero = _csv_fast.look(chunk, len(chunk))
        if encoding == "utf-8" and utf8 and (decoder.getstate()[0] or not ascii):
            utf8 = _decodes(decoder, raw)
        if nul:
            raise not_text(source, "NUL bytes")
        quotes += found
        size += len(raw)
        # The gate on one letter makes the search for two almost free.
        if not hexadecimal and letter:
            seam = last + chunk
            hexadecimal = b"0x" in seam or b"0X" in seam
        seam = last + chunk[:2]
        zeros = zeros or zero or _csv_fast.look(seam, len(seam))[-1]
        last = (last + chunk)[-2:] if len(chunk) < 2 else chunk[-2:]
    if utf8 and decoder.getstate()[0]:
        if encoding != "utf-8":
            raise not_text(source, f"half a character of {encoding} at its end")
        utf8 = False
    return ByteFacts(utf8, quotes, hexadecimal, size, zeros)


def find_zeros(
    source: Source, encoding: str, separator: str, start: int, columns: int
) -> frozenset[int]:
    """Return the columns of a delimited file in which a cell begins with a zero and a digit."""
    found, state = np.zeros(columns, np.uint8), np.zeros(3, np.int64)
    decoder = codecs.getincrementaldecoder(encoding)()
    for raw in source.chunks(start):
        wide = encoding.startswith("utf-16")
        chunk = decoder.decode(raw).encode("utf-8", "surrogatepass") if wide else raw
        _csv_fast.find_zeros(chunk, separator, state, found)
    return frozenset(np.flatnonzero(found).tolist())


class LookAhead:
    """A scan of a file that begins at once, while others get ready to read it."""

    def __init__(self, path: str) -> None:
        self._found: Future[ByteFacts] = Future()
        self._key: tuple[str, str, int] | None = None
        try:
            source = Source.at(path)
            start = 3 * source.head(3).startswith(codecs.BOM_UTF8)
        except TableError:
            return  # whoever reads the file raises the same error
        if source.gzipped:
            return
        self._key = (source.path, "utf-8", start)
        # As a daemon it does not keep a program alive that has failed for another reason.
        Thread(target=self._look, args=(source, start), daemon=True).start()

    def _look(self, source: Source, start: int) -> None:
        try:
            self._found.set_result(look_through(source, "utf-8", start))
        except Exception as error:
            self._found.set_exception(error)

    def __call__(self, source: Source, encoding: str, start: int) -> ByteFacts:
        """Return the findings once the scan is done; scan again if other arguments are given."""
        if self._key != (source.path, encoding, start):
            return look_through(source, encoding, start)
        return self._found.result()


def one_byte_encoding(source: Source, start: int = 0) -> str:
    """Return the encoding of text that is not UTF-8: ``cp1252`` or ``latin-1``, by its bytes."""
    found = False
    for chunk in source.chunks(start):
        if chunk.isascii():
            continue
        telling = chunk.translate(None, _ELSEWHERE)
        if any(byte in telling for byte in _NEITHER):
            return "latin-1"
        found = found or bool(telling)
    return "cp1252" if found else "latin-1"


def _decodes(decoder: codecs.IncrementalDecoder, raw: bytes) -> bool:
    try:
        decoder.decode(raw)
    except UnicodeDecodeError:
        return False
    return True


def refuse_duplicates(
    names: Iterable[str], path: str, what: str = "columns", how: str = "Rename one of them."
) -> None:
    """Refuse a file in which two columns have one name."""
    place: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in place:
            raise TableError(
                f"Table: column names must differ; {name!r} names {what} {place[name]} and "
                f"{number} of {path!r}. {how}"
            )
        place[name] = number


def not_text(source: Source, what: str) -> TableError:
    """Return the error that says that a file is no text file."""
    return TableError(
        f"Table: {source.path!r} must be a text file; it holds {what}. "
        "Save it as CSV in UTF-8, or give it the extension of what it is."
    )


def is_too_deep(json: bytes) -> bool:
    """Return whether JSON is nested deeper than a parser may be asked to follow."""
    return int(_csv_fast.nesting(json)) > MAX_NESTING


def _similar(name: str) -> str:
    folder = Path(name).parent
    try:
        return did_you_mean(Path(name).name, os.listdir(folder))
    except OSError:
        return ""
