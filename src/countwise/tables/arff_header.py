"""The declarations at the head of an ARFF file: what each attribute is and which levels it has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from countwise.errors import TableError, did_you_mean

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


def attribute(rest: str, path: str, line: int) -> Attribute:
    """Read what follows ``@attribute`` on a line."""
    found = _NAME.match(rest)
    if not found or not found[4]:
        raise _bad(path, line, f"@attribute must give a name and a type, but '{rest.strip()}' came")
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
        raise _bad(
            path, line, f"the levels of {name!r} must differ, but {twin!r} stands there twice"
        )
    return tuple(levels)


def _strptime(java: str, name: str, path: str, line: int) -> str:
    """Turn a date format of Java's SimpleDateFormat into one of Python's strptime."""
    made = []
    for found in _JAVA.finditer(java):
        if found[2]:
            if found[0] not in _PYTHON:
                raise _bad(
                    path, line, f"the date format of {name!r} uses {found[0]!r}, which is not known"
                )
            made.append(_PYTHON[found[0]])
        else:
            literal = found[1].replace("''", "'") if found[1] is not None else found[3]
            made.append((literal or "'").replace("%", "%%"))
    return "".join(made)


def _bad(path: str, line: int, what: str) -> TableError:
    return TableError(f"Table: line {line} of {path!r}: {what}. Correct the declaration.")
