"""Detect how a delimited file is written: encoding, separator, header, first records."""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from countwise.errors import TableError, listing
from countwise.notes import Note
from countwise.numeric import NUMBER
from countwise.tables.formats.source import (
    ByteFacts,
    Source,
    find_zeros,
    look_through,
    not_text,
    one_byte_encoding,
    refuse_duplicates,
)
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import MISSING_MARKS

_SAMPLE = 1 << 18
_LARGEST_SAMPLE = 1 << 24
_LONGEST_CELL = 1 << 26
_RECORDS = 5_000
#: Separators after which `ByteFacts` looks for zeros.
_USUAL = frozenset(",;\t| ")
_SEPARATORS = (",", ";", "\t", "|")
#: A separator for files of one column: it must not stand in any cell.
_NEVER = "\x1f"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_ENCODINGS = {"latin-1": "Latin-1 (ISO 8859-1)", "cp1252": "Windows-1252"}
#: Excel's own way to name the separator, in a line above the header.
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_COMMENT_LINE = re.compile(r"#[^\n]*\n")
_MOST_TITLES = 20
#: Records of equal width below the titles: fewer may be a table of one column.
_FEWEST_RECORDS = 3
#: The share of records of one width that shows that a separator is the right one.
_NEARLY_ALL = 0.95
_limit = threading.RLock()


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is written, found in its first 256 kB and one scan."""

    encoding: str
    separator: str
    names: tuple[str, ...]
    start: int  # the byte at which the rows begin
    records: list[list[str]]  # the first rows
    scan: ByteFacts
    notes: tuple[Note, ...] = ()
    #: Columns in which a cell begins with a zero and another digit, if kinds are inferred.
    zeros: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _Head:
    """The first lines of a file, split into records; `first` is where the first one stands."""

    content: bytes
    bom: int
    encoding: str
    separator: str
    text: str
    first: tuple[int, int]
    records: list[list[str]]
    whole: bool
    notes: tuple[Note, ...]

    def decode(self, source: Source, encoding: str, options: ReadOptions) -> _Head:
        """Return the same lines in another encoding."""
        text = self.content[self.bom :].decode(encoding)
        _, first, records, notes = _split(source, text, options, self.whole)
        return replace(
            self, encoding=encoding, text=text, first=first, records=records, notes=notes
        )


def sniff(
    source: Source,
    options: ReadOptions,
    look: Callable[[Source, str, int], ByteFacts] = look_through,
) -> Dialect:
    """Find out how a delimited file is written; `look` scans all of it."""
    head = _head(source, options)
    found = look(source, head.encoding, head.bom)
    if not found.utf8:
        # The first bytes were UTF-8 and later ones are not; before them all is ASCII or odd.
        head = head.decode(source, one_byte_encoding(source, head.bom), options)
    records, separator = head.records, head.separator
    names, odd = _names(source, records[0], options.header)
    notes = (
        *_separator_note(source, options, separator),
        *encoding_notes(head.encoding),
        *head.notes,
        *odd,
    )
    rows = head.first[0]
    if options.header:
        records, rows = records[1:], head.first[1]
    start = head.bom + len(head.text[:rows].encode(head.encoding, "surrogatepass"))
    if head.whole and not records:
        raise TableError(
            f"Table: {source.path!r} must hold rows below its header; it ends there.",
            hint="Pass `header=False` if its only line is a row.",
        )
    _refuse_open_quote(source, head.encoding, separator, head.bom, found)
    zeros = frozenset[int]()
    if options.infers and (found.zeros or separator not in _USUAL):
        zeros = find_zeros(source, head.encoding, separator, start, len(names))
    return Dialect(head.encoding, separator, names, start, records, found, notes, zeros)


def header_names(source: Source, options: ReadOptions) -> tuple[str, ...]:
    """Return the names that `sniff` would find, looking no further than it must."""
    head = _head(source, options)
    plain = all(cell.isascii() for cell in head.records[0])
    if not plain and head.encoding == "utf-8" and not look_through(source, "utf-8", head.bom).utf8:
        # Bytes far below the header say how its letters are to be read.
        head = head.decode(source, one_byte_encoding(source, head.bom), options)
    return _names(source, head.records[0], options.header)[0]


def first_rows(source: Source, options: ReadOptions, size: int) -> bytes | None:
    """Return about so many of the first bytes, up to the end of a row; None if there are no more.

    A quote inside a cell, as in ``5" pipe``, belongs to the text, so it is records that tell.
    """
    head = _head(source, options)
    while True:
        content = source.head(size + 1)
        if len(content) <= size:
            return None
        text, encoding = _decode(source, content[head.bom :], head.encoding, head.bom)
        end = text.rfind("\n") + 1 if '"' not in text else _end_of_records(text, head.separator)
        if end > head.first[1]:
            return content[: head.bom + len(text[:end].encode(encoding))]
        size *= 4


def _end_of_records(text: str, separator: str) -> int:
    """Return where the last record begins, which may be cut; 0 if the text cannot be split."""
    lines, begin, end = _Lines(text), 0, 0
    try:
        with _long_cells():
            for _ in csv.reader(lines, delimiter=separator):
                begin, end = end, lines.taken
    except csv.Error:
        return 0
    return begin


def _head(source: Source, options: ReadOptions) -> _Head:
    if options.separator is not None:
        _check_separator(options.separator)
    size = _SAMPLE
    while True:
        content = source.head(size)
        whole = len(content) < size
        bom, encoding = _bom(content)
        if b"\0" in content and not encoding.startswith("utf-16"):
            raise not_text(source, "NUL bytes")
        text, encoding = _decode(source, content[bom:], encoding, bom)
        separator, first, records, notes = _split(source, text, options, whole)
        if whole or len(records) > 1 or size >= _LARGEST_SAMPLE:
            break
        size = min(size * 16, _LARGEST_SAMPLE)
    if not records:
        raise TableError(
            f"Table: {source.path!r} must hold rows; no line of it can be read. Check the file."
        )
    return _Head(content, bom, encoding, separator, text, first, records, whole, notes)


def _split(
    source: Source, text: str, options: ReadOptions, whole: bool
) -> tuple[str, tuple[int, int], list[list[str]], tuple[Note, ...]]:
    """Return separator, place of the first record, records and notes; pass over what is above."""
    start, named, notes = _preface(text, options)
    body = text[start:]
    separator = options.separator or named or _find_separator(source, body, whole)
    (begin, end), records = _records(source, body, separator, whole)
    titles = count_titles(records) if options.header and options.skip_lines is None else 0
    if titles:
        shown = next((cell.strip() for cell in records[0] if cell.strip()), "")
        notes = (*notes, Note.of("F05", lines=titles, text=shown))
    for _ in range(titles):
        start, body = start + end, body[end:]
        (begin, end), records = _records(source, body, separator, whole)
    return separator, (start + begin, start + end), records, notes


def _preface(text: str, options: ReadOptions) -> tuple[int, str | None, tuple[Note, ...]]:
    """Return where the table begins, the separator that Excel's first line names, and notes."""
    start, separator, notes = 0, None, tuple[Note, ...]()
    for _ in range(options.skip_lines or 0):
        start = text.find("\n", start) + 1 or len(text)
    found = _SEPARATOR_LINE.match(text, start)
    if found:
        start, separator = found.end(), found[1]
    while (comment := _COMMENT_LINE.match(text, start)) is not None:
        start, notes = comment.end(), (Note.of("F06"),)
    return start, separator, notes


def count_titles(records: list[list[str]]) -> int:
    """Count the records above the header: they hold one cell, or less than half a row.

    A title is text, and below it stand a header and two rows, each with several cells.
    """
    first = next(iter(records[0]), "") if records else ""
    if not any(map(str.isalpha, first)):
        return 0
    width = Counter(map(len, records)).most_common(1)[0][0]
    held = ([cell.strip() for cell in record if cell.strip()] for record in records)
    titles: list[list[str]] = []
    for header in held:
        if len(header) > 1 and len(records[len(titles)]) == width:
            break
        titles.append(header)
    if not 0 < len(titles) < min(_MOST_TITLES, len(records)):
        return 0
    below = zip(records[len(titles) + 1 :], held, strict=True)
    rows = sum(1 for record, cells in below if len(cells) > 1 and len(record) == width)
    is_header = rows + 1 >= _FEWEST_RECORDS and not any(map(NUMBER.fullmatch, header))
    is_title = all(len(cells) < max(2, width / 2) for cells in titles)
    return len(titles) if is_header and is_title else 0


def _check_separator(separator: str) -> None:
    one = isinstance(separator, str) and len(separator) == 1 and separator.isascii()
    if not one or separator in '"\r\n\0':
        raise TableError(
            f"Table: separator must be one plain character such as ',' or ';'; got {separator!r}. "
            "Leave it out to have it found."
        )


def is_header_only(head: bytes) -> bool:
    """Return whether all the bytes of a delimited file are one line at most."""
    start, encoding = _bom(head)
    return len(head[start:].decode(encoding, "replace").strip().splitlines()) < 2


def _bom(head: bytes) -> tuple[int, str]:
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return len(mark), encoding
    return 0, "utf-8"


def _decode(source: Source, head: bytes, encoding: str, start: int) -> tuple[str, str]:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise not_text(source, f"bytes that are not {encoding} ({error.reason})") from None
        encoding = one_byte_encoding(source, start)
        text = head.decode(encoding)
        if _CONTROL.search(text):
            raise not_text(source, "bytes that are no text") from None
    return text, encoding


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let the csv module read cells of more than 131 072 characters."""
    with _limit:  # the limit is one for the whole process
        before = csv.field_size_limit(_LONGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(before)


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
    """Return where the first record begins and ends in the text, and the first records."""
    lines = _Lines(text)
    before, first, records = 0, (0, 0), list[list[str]]()
    try:
        with _long_cells():
            for record in csv.reader(lines, delimiter=separator):
                # A blank line is no record, unless a row is one cell, which may be blank.
                blank = not "".join(record).strip()
                width = len(records[0]) if records else 2
                if not record or (blank and len(record) == 1 < width):
                    before = lines.taken
                    continue
                first = first if records else (before, lines.taken)
                records.append(record)
                if len(records) > most:
                    return first, records
    except csv.Error as error:
        raise TableError(
            f"Table: the first lines of {source.path!r} cannot be split into cells ({error}). "
            "Look for a quote that is never closed."
        ) from None
    # What a cut sample ends with is not a whole record, unless it is all there is.
    return first, records if whole or len(records) < 2 else records[:-1]


def _find_separator(source: Source, text: str, whole: bool) -> str:
    best, best_score = _NEVER, (False, False, 0.0, 0)
    for candidate in dict.fromkeys((source.usual_separator, *_SEPARATORS)):
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
        if header == 1 and (width == 1 or share <= _NEARLY_ALL):
            continue
        # A first line of another width may be a title, in which any separator may stand.
        score = (share > _NEARLY_ALL, header == width, share, max(header, width))
        if score > best_score:
            best, best_score = candidate, score
    return best


def _separator_note(source: Source, options: ReadOptions, separator: str) -> list[Note]:
    if options.separator is not None or separator == source.usual_separator:
        return []
    if separator == _NEVER:
        return [Note.of("F04")]
    return [Note.of("F01", separator=separator, decimal=" was")]


def encoding_notes(encoding: str) -> list[Note]:
    """Return the note that an encoding was assumed, if it was."""
    if encoding not in _ENCODINGS:
        return []
    return [Note.of("F02", encoding=_ENCODINGS[encoding])]


def _names(source: Source, first: list[str], header: bool) -> tuple[tuple[str, ...], list[Note]]:
    if not header:
        return tuple(f"x{number}" for number in range(1, len(first) + 1)), []
    cells = [cell.strip() for cell in first]
    held = [cell for cell in cells if cell not in MISSING_MARKS]
    if held and all(NUMBER.fullmatch(cell) for cell in held):
        raise TableError(
            f"Table: the first line of {source.path!r} must name the columns; it holds only "
            f"numbers ({listing(held, 3)}).",
            hint="Pass `header=False` if the file has no header.",
        )
    names = tuple(cell or f"column {number}" for number, cell in enumerate(cells, start=1))
    refuse_duplicates(names, source.path, how="Rename one of them in the header.")
    unnamed = [number for number, cell in enumerate(cells, start=1) if not cell]
    return names, [Note.of("F03", f"column {number}", number=number) for number in unnamed]


def _refuse_open_quote(
    source: Source, encoding: str, separator: str, start: int, found: ByteFacts
) -> None:
    """Refuse a quote that is opened and never closed; an even number of quotes needs no look."""
    if found.quotes % 2 == 0:
        return
    end = "\x1e"
    with source.open() as file, _long_cells():
        file.seek(start)
        lines = io.TextIOWrapper(file, encoding=encoding, newline="")
        try:
            last = deque(csv.reader(chain(lines, [end]), delimiter=separator), maxlen=1)[-1]
        except csv.Error:
            last = []
    if last != [end]:
        raise TableError(
            f"Table: every quote in {source.path!r} must be closed; one stays open to the end. "
            "Close it, or double a quote that belongs to the text."
        )
