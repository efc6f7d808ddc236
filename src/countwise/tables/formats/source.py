"""A file on disk, plain or gzipped, opened as bytes and scanned once."""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, cast

from countwise.errors import TableError, did_you_mean, quote
from countwise.tables.formats import _csv_fast

_CHUNK = 1 << 20
#: Bytes looked through at a time: every step must take the interpreter lock once.
_LARGE = 1 << 24
#: Bytes that are letters and signs in Windows-1252 and control codes in Latin-1.
_WINDOWS = frozenset(range(0x80, 0xA0))
#: Those of them that Windows-1252 does not know either.
_NEITHER = b"\x81\x8d\x8f\x90\x9d"
_ELSEWHERE = bytes(byte for byte in range(256) if byte not in _WINDOWS)


@dataclass(frozen=True)
class Source:
    """One file to read from, found to exist and to hold something."""

    path: str
    gzipped: bool = False

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Source:
        """Return the source at `path`, or raise an error that says why there is none."""
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
        if not isinstance(name, str):
            raise TableError(f"Table: a path must be a string or a Path; got {quote(path)}.")
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
                start = file.read(2)
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
        source = cls(name, start == b"\x1f\x8b")  # the mark of gzip
        if not start or (source.gzipped and not source.head(1)):
            raise TableError(
                f"Table: {name!r} must hold rows; it is empty. Check that it was written."
            )
        return source

    @property
    def usual_separator(self) -> str:
        """The separator that the extension promises, if the file is delimited."""
        tabs = self.path.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
        return "\t" if tabs else ","

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
class Scan:
    """The findings of one look through all bytes: is it UTF-8, how many quotes, any ``0x``."""

    utf8: bool = True
    quotes: int = 0
    hexadecimal: bool = False


def scan(source: Source, encoding: str, start: int) -> Scan:
    """Look through a text file once, refusing NUL and bytes that its encoding does not allow."""
    utf8, quotes, hexadecimal = True, 0, False
    decoder = codecs.getincrementaldecoder(encoding)()
    last = b""
    for raw in source.chunks(start, _CHUNK if source.gzipped else _LARGE):
        chunk = raw
        if encoding != "utf-8":
            try:
                chunk = decoder.decode(raw).encode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                raise not_text(source, f"bytes that are not {encoding} ({error.reason})") from None
        ascii, nul, letter, found = _csv_fast.look(chunk, len(chunk))
        if encoding == "utf-8" and utf8 and (decoder.getstate()[0] or not ascii):
            utf8 = _decodes(decoder, raw)
        if nul:
            raise not_text(source, "NUL bytes")
        quotes += found
        # The gate on one letter makes the search for two almost free.
        if not hexadecimal and letter:
            seam = last + chunk
            hexadecimal = b"0x" in seam or b"0X" in seam
        last = chunk[-1:]
    if utf8 and decoder.getstate()[0]:
        if encoding != "utf-8":
            raise not_text(source, f"half a character of {encoding} at its end")
        utf8 = False
    return Scan(utf8, quotes, hexadecimal)


class LookAhead:
    """A scan of a file that begins at once, while others get ready to read it."""

    def __init__(self, path: str) -> None:
        self._found: Future[Scan] = Future()
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
            self._found.set_result(scan(source, "utf-8", start))
        except Exception as error:
            self._found.set_exception(error)

    def __call__(self, source: Source, encoding: str, start: int) -> Scan:
        """Return the findings once the scan is done; scan again if other arguments are given."""
        if self._key != (source.path, encoding, start):
            return scan(source, encoding, start)
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


def _similar(name: str) -> str:
    folder = Path(name).parent
    try:
        return did_you_mean(Path(name).name, os.listdir(folder))
    except OSError:
        return ""
