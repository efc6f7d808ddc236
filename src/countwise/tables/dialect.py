"""How a delimited file is written: its encoding, its separator, its header, its first records."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from countwise.errors import TableError, listing
from countwise.tables.cells import NUMBER
from countwise.tables.notes import Note
from countwise.tables.reading import Reading
from countwise.tables.schema import MISSING_MARKS
from countwise.tables.source import Scan, Source, not_text, scan

__all__ = ["Dialect", "sniff"]

_SAMPLE = 1 << 18
_LONGEST = 1 << 26
_RECORDS = 5_000
_SEPARATORS = (",", ";", "\t", "|")
#: A separator for files of one column: it must not stand in any cell.
_NEVER = "\x1f"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True)
class Dialect:
    """What must be known to read a delimited file, found in its first 256 kB and one scan.

    ``start`` is the byte at which the rows begin, ``records`` are the first rows.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    start: int
    records: list[list[str]]
    scan: Scan
    notes: tuple[Note, ...] = ()


def sniff(source: Source, reading: Reading, usual: str = ",") -> Dialect:
    """Find out how a delimited file is written; `usual` is the separator its extension promises."""
    if reading.separator is not None:
        _check_separator(reading.separator)
    size = _SAMPLE
    while True:
        head = source.head(size)
        whole = len(head) < size
        bom, encoding = _bom(head)
        if b"\0" in head and not encoding.startswith("utf-16"):
            raise not_text(source, "NUL bytes")
        text, encoding = _decode(source, head[bom:], encoding)
        separator = reading.separator or _separator(source, text, whole, usual)
        first, records = _records(source, text, separator, whole)
        if whole or len(records) > 1 or size >= _LONGEST:
            break
        size *= 16
    if not records:
        raise TableError(
            f"Table: {source.path!r} must hold rows, but no line of it can be read. Check the file."
        )
    found = scan(source, encoding, bom)
    if not found.utf8:
        # The first bytes were UTF-8 and later ones are not; before them all is ASCII or odd.
        text, encoding = head[bom:].decode("latin-1"), "latin-1"
        first, records = _records(source, text, separator, whole)
    notes = [
        *_separator_note(reading, separator, usual, len(records[0])),
        *_encoding_note(encoding),
    ]
    names, odd = _names(source, records[0], reading.header)
    if reading.header:
        records = records[1:]
    rows = first[1] if reading.header else first[0]
    start = bom + len(text[:rows].encode(encoding, "surrogatepass"))
    if whole and not records:
        raise TableError(
            f"Table: {source.path!r} must hold rows below its header, but it ends there. "
            "Pass header=False if its only line is a row."
        )
    notes.extend(odd)
    _refuse_open_quote(source, encoding, separator, bom, found)
    return Dialect(encoding, separator, names, start, records, found, tuple(notes))


def _check_separator(separator: str) -> None:
    one = isinstance(separator, str) and len(separator) == 1 and separator.isascii()
    if not one or separator in '"\r\n\0':
        raise TableError(
            f"Table: separator must be one plain character such as ',' or ';', but {separator!r} "
            "came. Pass one, or leave it out to have it found."
        )


def _bom(head: bytes) -> tuple[int, str]:
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return len(mark), encoding
    return 0, "utf-8"


def _decode(source: Source, head: bytes, encoding: str) -> tuple[str, str]:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError as why:
        if encoding != "utf-8":
            raise not_text(source, f"bytes that are not {encoding} ({why.reason})") from None
        text, encoding = head.decode("latin-1"), "latin-1"
        if _CONTROL.search(text):
            raise not_text(source, "bytes that are no text") from None
    return text, encoding


class _Lines:
    """Hand lines to the csv module and know how much of the text it has taken."""

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text, newline="")
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.taken += len(line)
            yield line


def _records(
    source: Source, text: str, separator: str, whole: bool, most: int = _RECORDS
) -> tuple[tuple[int, int], list[list[str]]]:
    """Return where the first record begins and ends in the text, and the first records.

    Blank lines come to nothing, except where a row is one cell, which may be blank.
    """
    lines = _Lines(text)
    before, first, records = 0, (0, 0), list[list[str]]()
    try:
        for record in csv.reader(lines, delimiter=separator):
            blank = not "".join(record).strip()
            if not record or (blank and len(record) == 1 < len(records[0] if records else "ab")):
                before = lines.taken
                continue
            first = first if records else (before, lines.taken)
            records.append(record)
            if len(records) > most:
                return first, records
    except csv.Error as why:
        raise TableError(
            f"Table: the first lines of {source.path!r} cannot be split into cells ({why}). "
            "Look for a quote that is never closed."
        ) from None
    # What a cut sample ends with is not a whole record, unless it is all there is.
    return first, records if whole or len(records) < 2 else records[:-1]


def _separator(source: Source, text: str, whole: bool, usual: str) -> str:
    best, best_score = _NEVER, (0.0, 0.0, 0)
    for candidate in dict.fromkeys((usual, *_SEPARATORS)):
        try:
            _, records = _records(source, text, candidate, whole, 1_000)
        except TableError:
            continue
        if not records:
            continue
        widths = Counter(len(record) for record in records[1:] or records)
        width, times = widths.most_common(1)[0]
        share = times / max(1, len(records[1:] or records))
        header = len(records[0])
        if header > 1:
            score = (1.0 if header == width else 0.5, share, header)
        elif width > 1 and share > 0.95:
            score = (0.25, share, width)
        else:
            continue
        if score > best_score:
            best, best_score = candidate, score
    return best


def _separator_note(reading: Reading, separator: str, usual: str, width: int) -> list[Note]:
    if reading.separator is not None or separator == usual:
        return []
    if separator == _NEVER:
        text = "No separator was found, so the file was read as one column."
        return [Note("F04", None, text)]
    return [Note("F01", None, f"Separator {separator!r} was assumed.")]


def _encoding_note(encoding: str) -> list[Note]:
    if encoding != "latin-1":
        return []
    return [Note("F02", None, "The file is not UTF-8, so Latin-1 (ISO 8859-1) was assumed.")]


def _names(source: Source, first: list[str], header: bool) -> tuple[tuple[str, ...], list[Note]]:
    if not header:
        return tuple(f"x{number}" for number in range(1, len(first) + 1)), []
    cells = [cell.strip() for cell in first]
    held = [cell for cell in cells if cell not in MISSING_MARKS]
    if held and all(NUMBER.fullmatch(cell) for cell in held):
        raise TableError(
            f"Table: the first line of {source.path!r} must name the columns, but it holds only "
            f"numbers ({listing(held, 3)}). Pass header=False if the file has no header."
        )
    names, notes, place = list[str](), list[Note](), dict[str, int]()
    for number, cell in enumerate(cells, start=1):
        name = cell or f"column {number}"
        if not cell:
            text = f"Column {number} has no name in the header and is called {name!r}."
            notes.append(Note("F03", name, text))
        if name in place:
            raise TableError(
                f"Table: column names must differ, but {name!r} names columns {place[name]} and "
                f"{number} of {source.path!r}. Rename one of them in the header."
            )
        place[name] = number
        names.append(name)
    return tuple(names), notes


def _refuse_open_quote(
    source: Source, encoding: str, separator: str, start: int, found: Scan
) -> None:
    """Refuse a quote that is opened and never closed; an even number of quotes needs no look."""
    if found.quotes % 2 == 0:
        return
    end = "\x1e"
    with source.open() as file:
        file.seek(start)
        lines = io.TextIOWrapper(file, encoding=encoding, newline="")
        last: list[str] = []
        try:
            last = deque(csv.reader(chain(lines, [end]), delimiter=separator), maxlen=1)[-1]
        except csv.Error:
            last = []
    if last != [end]:
        raise TableError(
            f"Table: every quote in {source.path!r} must be closed, but one stays open to the end. "
            "Close it, or double a quote that belongs to the text."
        )
