"""ARFF files: declared attributes, then rows, dense or sparse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

import numpy as np

from countwise.errors import TableError, did_you_mean, listing
from countwise.notes import Note
from countwise.tables.cell_forms import days_since_epoch
from countwise.tables.formats.csv_dialect import encoding_notes
from countwise.tables.formats.source import Source, not_text, one_byte_encoding, refuse_duplicates
from countwise.tables.raw_columns import Numbers, Raw, RawTable, Words, missing_numbers
from countwise.tables.read_options import ReadOptions
from countwise.tables.text_values import drop_marks, drop_unused, settle

QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_NAME = re.compile(rf"\s*(?:{QUOTED}|([^\s{{}}'\"%][^\s{{}}]*))\s*(.*)$", re.DOTALL)
_LEVEL = re.compile(rf"\s*(?:{QUOTED}|([^,{{}}'\"][^,{{}}]*?)?)\s*([,}}])", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}
_DATE = "yyyy-MM-dd'T'HH:mm:ss"
_JAVA = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_PYTHON = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "M": "%m",
    "dd": "%d",
    "d": "%d",
    "HH": "%H",
    "H": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%f",
}
_KINDS = {"numeric": "numeric", "real": "numeric", "integer": "numeric", "string": "string"}


@dataclass(frozen=True)
class Attribute:
    """One declared attribute: nominal with its levels, numeric, string, or date with its format."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    format: str = ""


def parse_attribute(rest: str, path: str, line: int) -> Attribute:
    """Read what follows ``@attribute`` on a line."""
    found = _NAME.match(rest)
    if not found or not found[4]:
        raise _bad(path, line, f"@attribute must give a name and a type; got '{rest.strip()}'")
    name = _one(found[1], found[2], found[3])
    given = found[4].strip()
    if given.startswith("{"):
        return Attribute(name, "nominal", _levels(name, given[1:], path, line))
    word, _, more = re.split(r"\s+%", given, maxsplit=1)[0].partition(" ")
    word = word.rstrip(",").lower()
    if word in _KINDS:
        return Attribute(name, _KINDS[word])
    if word.split("\t")[0] == "date":
        java = more.strip()
        quoted = re.fullmatch(QUOTED, java)
        java = _one(quoted[1], quoted[2], None) if quoted else java or _DATE
        return Attribute(name, "date", format=_strptime(java, name, path, line))
    if word == "relational":
        raise _bad(path, line, f"attribute {name!r} is relational, which no table can hold")
    near = did_you_mean(word, [*_KINDS, "date"])
    raise _bad(path, line, f"attribute {name!r} has the unknown type {word!r}.{near}".rstrip("?."))


def unquote(text: str) -> str:
    """Resolve the backslash escapes of a quoted ARFF text."""
    if "\\" not in text:
        return text

    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _CONTROL.get(code, code)

    return _ESCAPE.sub(plain, text)


def _one(single: str | None, double: str | None, bare: str | None) -> str:
    if single is not None:
        return unquote(single)
    return unquote(double) if double is not None else (bare or "").strip()


def _levels(name: str, body: str, path: str, line: int) -> tuple[str, ...]:
    if "," not in body and not re.search(r"['\"]", body):
        # Weka also takes blanks between levels.
        body = ",".join(body.partition("}")[0].split()) + "}"
    levels, at = list[str](), 0
    while True:
        found = _LEVEL.match(body, at)
        if not found:
            raise _bad(
                path, line, f"the levels of {name!r} cannot be read from '{{{body[at : at + 40]}'"
            )
        bare = found[1] is None and found[2] is None
        level = _one(found[1], found[2], found[3])
        if level or not bare:
            levels.append(level)
        at = found.end()
        if found[4] == "}":
            break
    if len(set(levels)) < len(levels):
        twin = next(level for level in levels if levels.count(level) > 1)
        raise _bad(path, line, f"the levels of {name!r} must differ; got {twin!r} twice")
    return tuple(levels)


def _strptime(java: str, name: str, path: str, line: int) -> str:
    """Turn a date format of Java's SimpleDateFormat into one of Python's strptime."""
    parts = []
    for found in _JAVA.finditer(java):
        if found[2]:
            if found[0] not in _PYTHON:
                raise _bad(
                    path, line, f"the date format of {name!r} uses {found[0]!r}, which is not known"
                )
            parts.append(_PYTHON[found[0]])
        else:
            literal = found[1].replace("''", "'") if found[1] is not None else found[3]
            parts.append((literal or "'").replace("%", "%%"))
    return "".join(parts)


def _bad(path: str, line: int, what: str) -> TableError:
    return TableError(f"Table: line {line} of {path!r}: {what}. Correct the declaration.")


_KEYWORD = re.compile(r"\s*@(\w+)(?:\s+|$)(.*)$", re.DOTALL)
_SPECIAL = re.compile(r"['\"{}%]")
_CELL = re.compile(rf"[ \t]*(?:{QUOTED}|([^,%'\"{{}}][^,%{{}}]*)?)[ \t]*(,|%.*$|$)", re.DOTALL)
_TOKEN = re.compile(rf"[\s,]*(?:{QUOTED}|([^\s,%'\"{{}}][^\s,%]*)|(%.*)?$)", re.DOTALL)
_ENTRY = re.compile(rf"\s*(\d+)\s+(?:{QUOTED}|([^,%'\"{{}}\s][^,%{{}}]*))\s*(?:,|$)", re.DOTALL)
_SPARSE = re.compile(r"\s*\{(.*)\}\s*(%.*)?$", re.DOTALL)
_WEIGHT = re.compile(r".*[,\s]\{\s*[-+.\deE]+\s*\}\s*(%.*)?$", re.DOTALL)
_DATA = re.compile(rb"(?:\A|[\r\n])\s*@data(?=\s)", re.IGNORECASE)
_ROWS = 10_000
_HELD = "\0"


def read(source: Source, options: ReadOptions) -> RawTable:
    """Read a whole ARFF file."""
    text, notes = _text(source)
    lines = _lines(text)
    attributes = _header(source, lines)
    rows = _rows(source, attributes, (line for _, line in lines))
    wanted = [
        at for at, attribute in enumerate(attributes) if not options.column(attribute.name).left_out
    ]
    places = {at: _seed(attributes[at]) for at in wanted}
    codes: dict[int, list[int]] = {at: [] for at in wanted}
    count = 0
    while chunk := list(islice(rows, _ROWS)):
        count += len(chunk)
        cells = list(zip(*chunk, strict=True))
        for at, place in places.items():
            codes[at].extend([place.setdefault(cell, len(place) - 2) for cell in cells[at]])
    if not count:
        raise TableError(f"Table: {source.path!r} must hold rows below @data; there are none.")
    columns = {
        attribute.name: _column(attribute, places[at], codes[at], options)
        if at in places
        else missing_numbers(count)
        for at, attribute in enumerate(attributes)
    }
    return RawTable(columns, notes, {attribute.name: attribute.kind for attribute in attributes})


def blocks(source: Source, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    """Read an ARFF file as one block."""
    yield read(source, options)


def names(source: Source, options: ReadOptions) -> list[str]:
    """Return the names of the attributes, reading no further than ``@data`` if that suffices."""
    content = b""
    for chunk in source.chunks():
        content += chunk
        found = _DATA.search(content)
        if found:
            content = content[: found.end()]
            break
    # Only the whole file shows how letters beyond ASCII are encoded.
    text = content.decode() if content.isascii() else _text(source)[0]
    return [attribute.name for attribute in _header(source, _lines(text))]


def first_lines(source: Source, size: int) -> bytes | None:
    """Return about so many of the first bytes, up to the end of a row; None if there are no more.

    None, too, if they hold no row.
    """
    content = source.head(size + 1)
    end = content.rfind(b"\n") + 1
    found = None if len(content) <= size else _DATA.search(content)
    is_cut = found is not None and not _is_blank(content[found.end() : end])
    return content[:end] if is_cut else None


def has_no_row(content: bytes) -> bool:
    """Return whether nothing but comments stands below ``@data``."""
    found = _DATA.search(content)
    return found is not None and _is_blank(content[found.end() :])


def _is_blank(content: bytes) -> bool:
    return all(not line.strip() or line.lstrip().startswith(b"%") for line in content.splitlines())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1)


def _text(source: Source) -> tuple[str, tuple[Note, ...]]:
    content = b"".join(source.chunks())
    if b"\0" in content:
        raise not_text(source, "NUL bytes")
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        encoding = one_byte_encoding(source)
        return content.decode(encoding), tuple(encoding_notes(encoding))


def _header(source: Source, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    attributes: list[Attribute] = []
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        found = _KEYWORD.match(line)
        word = found[1].lower() if found else ""
        if word == "data" and attributes:
            names = [attribute.name for attribute in attributes]
            refuse_duplicates(names, source.path, "attributes", "Rename one.")
            return attributes
        if found and word == "attribute":
            attributes.append(parse_attribute(found[2], source.path, number))
        elif word != "relation":
            if word == "data":
                raise TableError(
                    f"Table: {source.path!r} must declare its attributes; @data stands before any "
                    "@attribute. Add them."
                )
            raise TableError(
                f"Table: {source.path!r} must declare @relation, @attribute and @data; line "
                f"{number} is {line.strip()[:60]!r}. Correct that line."
            )
    raise TableError(
        f"Table: {source.path!r} must hold its rows below a line @data; there is no such line. "
        "Add it."
    )


def _seed(attribute: Attribute) -> dict[str, int]:
    """Return the codes known beforehand: two ways to be missing, then the declared levels."""
    levels = {_hold(level): code for code, level in enumerate(attribute.levels)}
    return {"?": -1, "": -1, **levels}


def _hold(text: str) -> str:
    # A quoted '?' or '' is a text, not a missing cell, and must not look like one.
    return _HELD + text if text in ("", "?") else text


def _rows(
    source: Source, attributes: Sequence[Attribute], lines: Iterator[str]
) -> Iterator[Sequence[str]]:
    width, row = len(attributes), 0
    base = [_absent(attribute) for attribute in attributes]
    for line in lines:
        if _SPECIAL.search(line) is None:
            cells = line.split(",")
            if len(cells) == width and (width > 1 or line.strip()):
                row += 1
                yield [cell.strip() for cell in cells]
                continue
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        row += 1
        if line.lstrip().startswith("{"):
            yield _sparse(source, base, line, row)
            continue
        cells = _cells(line, _CELL)
        if len(cells) != width:
            tokens = _cells(line, _TOKEN)
            cells = tokens if len(tokens) == width else cells
        if len(cells) != width:
            raise _ragged(source, line, row, width, len(cells))
        yield cells


def _cells(line: str, pattern: re.Pattern[str]) -> list[str]:
    """Split a row with quotes or comments; an empty list if it cannot be split."""
    cells, at = list[str](), 0
    while True:
        found = pattern.match(line, at)
        if not found:
            return []
        single, double, bare, end = found.groups()
        if pattern is _TOKEN and single is double is bare is None:
            return cells
        cells.append(_value(single, double, bare))
        at = found.end()
        if pattern is _CELL and end != ",":
            return cells


def _value(single: str | None, double: str | None, bare: str | None) -> str:
    text = _one(single, double, bare)
    return text if single is double is None else _hold(text)


def _absent(attribute: Attribute) -> str:
    if attribute.kind == "numeric":
        return "0"
    return _hold(attribute.levels[0]) if attribute.levels else ""


def _sparse(source: Source, base: Sequence[str], line: str, row: int) -> list[str]:
    found = _SPARSE.match(line)
    cells, body, at, last = list(base), found[1] if found else "", 0, -1
    while found and body[at:].strip():
        entry = _ENTRY.match(body, at)
        if not entry or not last < int(entry[1]) < len(base):
            found = None
            break
        last, at = int(entry[1]), entry.end()
        cells[last] = _value(entry[2], entry[3], entry[4])
    if not found:
        raise TableError(
            f"Table: a sparse row of {source.path!r} must read {{0 value, 3 value}} with rising "
            f"numbers below {len(base)}; row {row} is {line.strip()[:60]!r}. Correct that row."
        )
    return cells


def _ragged(source: Source, line: str, row: int, width: int, found: int) -> TableError:
    shown = line.strip()[:60]
    if _WEIGHT.match(line):
        return TableError(
            f"Table: row {row} of {source.path!r} carries the weight of an instance ({shown!r}), "
            "which is not read. Write the weights as an attribute, and pass it as sample_weight."
        )
    what = f"holds {found}" if found else "cannot be split"
    return TableError(
        f"Table: every row of {source.path!r} must hold {width} cells; row {row} {what} "
        f"({shown!r}). Correct that row, and quote texts that hold a comma."
    )


def _column(
    attribute: Attribute, place: dict[str, int], codes: list[int], options: ReadOptions
) -> Raw:
    name = attribute.name
    texts = tuple(text.removeprefix(_HELD) for text, code in place.items() if code >= 0)
    words = Words(np.asarray(codes, np.int32), texts)
    column = options.column(name)
    if attribute.kind == "date":
        if not column.coded:
            return _dates(attribute, drop_unused(words), options.marks(name))
    elif column.kind == "numeric" or (
        attribute.kind == "numeric" and not (column.coded or column.kind == "text")
    ):
        declared = {**options.columns, name: options.settle(name, "numeric")}
        return settle(name, words, replace(options, columns=declared))
    if attribute.kind == "nominal":
        words = _check_levels(attribute, words)
    if not options.has_own_marks(name):
        return words
    return drop_marks(drop_unused(words), options.marks(name))


def _check_levels(attribute: Attribute, words: Words) -> Words:
    unknown = words.codes >= len(attribute.levels)
    if unknown.any():
        at = int(np.argmax(unknown))
        text = words.distinct[int(words.codes[at])]
        raise TableError(
            f"Table: column {attribute.name!r} declares {listing(attribute.levels)} but row "
            f"{at + 1} holds {text!r}.{did_you_mean(text, attribute.levels)} Add it to the "
            "@attribute line, or correct the row."
        )
    return Words(words.codes, words.distinct, declared=True)


def _dates(attribute: Attribute, texts: Words, marks: frozenset[str]) -> Numbers:
    words, found = drop_marks(texts, marks), []
    assert isinstance(words, Words)
    for code, text in enumerate(words.distinct):
        try:
            moment = datetime.strptime(str(text), attribute.format)
        except ValueError:
            row = int(np.argmax(words.codes == code)) + 1
            raise TableError(
                f"Table: column {attribute.name!r} holds dates but row {row} holds {text!r}, which "
                "is not of the declared format. Correct the row or the @attribute line."
            ) from None
        found.append(days_since_epoch(moment))
    days = np.append(np.asarray(found, dtype=np.float64), np.nan)
    return Numbers(days[words.codes], dates=True)
