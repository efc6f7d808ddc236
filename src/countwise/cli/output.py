"""Where words go: results to stdout, remarks to stderr, files whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from countwise.cli.failures import worded
from countwise.errors import ParameterError, StoreError


def settle_streams() -> None:
    """Let no character that a terminal cannot show stop a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def plain(value: Any) -> Any:
    """Return what JSON can hold: NumPy scalars as numbers, what is no number as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(own) for own in value]
    if hasattr(value, "tolist") and not isinstance(value, str | bytes):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def as_json(value: Any, ascii_only: bool = False) -> str:
    """Return JSON, indented for people."""
    return json.dumps(plain(value), indent=2, ensure_ascii=ascii_only, allow_nan=False) + "\n"


def print_json(value: Any) -> None:
    """Print JSON to stdout, in characters it can show."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    sys.stdout.write(as_json(value, ascii_only=not encoding.startswith("utf")))
    sys.stdout.flush()


def remark(lines: Iterable[object], quiet: bool) -> None:
    """Say a few sentences on stderr, each once."""
    if quiet:
        return
    for line in dict.fromkeys(worded(str(line)) for line in lines):
        sys.stderr.write(f"note: {line}\n")
    sys.stderr.flush()


def check_writable(
    path: str | None, option: str, extensions: Sequence[str] = (), *sources: str
) -> None:
    """Refuse a path that cannot be written, or is what is read, before any work is done."""
    if path is None:
        return
    if any(_same_file(path, source) for source in sources):
        raise ParameterError(
            f"{option} must be another file than the one that is read, but both are {path!r}. "
            "Name another."
        )
    if extensions and os.path.splitext(path)[1].lower() not in extensions:
        raise ParameterError(
            f"{option} must name a {_either(extensions)} file, but {path!r} came. "
            "Change the extension."
        )
    folder = os.path.dirname(os.path.realpath(path)) or "."
    if os.path.isdir(path):
        raise StoreError(f"{option}: {path!r} must be a file, but it is a directory.")
    if not os.path.isdir(folder):
        raise StoreError(
            f"{option}: {path!r} cannot be written, because there is no directory "
            f"{os.path.dirname(path)!r}. Make it first."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreError(
            f"{option}: {path!r} cannot be written, because its directory may not be changed. "
            "Name another place."
        )


def _same_file(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def write_text(path: str, text: str, who: str) -> None:
    """Write a file whole or not at all."""
    from countwise.store.atomic import atomic_write

    with atomic_write(path, who) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


def write_records(path: str, records: Sequence[Mapping[str, Any]], whole: Any, who: str) -> None:
    """Write records as CSV, or `whole` as JSON, as the extension says."""
    if path.lower().endswith(".json"):
        write_text(path, as_json(whole), who)
        return
    lines = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(record.get(name)) for name in names] for record in records)
    write_text(path, lines.getvalue(), who)


def _cell(value: Any) -> Any:
    value = plain(value)
    return "" if value is None else value
