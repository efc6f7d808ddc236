"""Any source (a file, a sample, a frame, an array, records) as raw columns, by what is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.tables import files, samples
from countwise.tables.frames import array_columns, frame_columns, record_columns
from countwise.tables.reading import Parsed, Reading
from countwise.tables.schema import MISSING_MARKS, Schema
from countwise.tables.wishes import Wishes, resolved


def brought(
    source: Any,
    target: Any,
    wishes: Wishes,
    known: Schema | None,
    header: bool,
    separator: str | None,
) -> tuple[Parsed, Any, Wishes]:
    """Bring any source to raw columns; a sample brings its own target and levels along."""
    if isinstance(source, str) and source.startswith("sample:"):
        source, target, wishes = _sample(source, target, wishes, known)
    if isinstance(source, str | os.PathLike):
        return _file(source, target, wishes, known, header, separator)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        return Parsed(record_columns(source)), target, wishes
    if isinstance(source, np.ndarray | list | tuple):
        return Parsed(array_columns(source, known)), target, wishes
    only = None
    if known is not None:
        only = frozenset(c.name for c in known if c.kind not in ("id", "drop")) | {str(target)}
    skip = frozenset(str(item) for item in wishes.drop)
    return Parsed(frame_columns(source, skip, only)), target, wishes


def _sample(
    source: str, target: Any, wishes: Wishes, known: Schema | None
) -> tuple[Any, Any, Wishes]:
    sample = samples.find(source.removeprefix("sample:"))
    if target is None and known is None:
        target = sample.target
    levels = {c["name"]: tuple(c["values"]) for c in sample.columns if c.get("values")}
    declared = frozenset(c["name"] for c in sample.columns if c["kind"] == "nominal")
    declared -= wishes.numeric | wishes.drop | {sample.target}
    return (
        sample.locate(),
        target,
        replace(wishes, nominal=wishes.nominal | declared, levels=levels),
    )


def _file(
    source: str | os.PathLike[str],
    target: Any,
    wishes: Wishes,
    known: Schema | None,
    header: bool,
    separator: str | None,
) -> tuple[Parsed, Any, Wishes]:
    by_place = isinstance(target, int | np.integer) or any(
        not isinstance(item, str) for item in wishes.nominal | wishes.numeric | wishes.drop
    )
    if known is None and (by_place or wishes.every_nominal):
        # Whether '007' is a text must be known before it is read, so positions become names first.
        names = files.column_names(source, Reading(header=header, separator=separator))
        if isinstance(target, int | np.integer):
            target = resolved(target, names, "target")
        if wishes.every_nominal:
            every = frozenset(names) - wishes.numeric - wishes.drop - {target}
            wishes = replace(wishes, nominal=wishes.nominal | every)
        wishes = wishes.by_name(names)
    parsed = files.parse(source, _reading(target, wishes, known, header, separator))
    is_arff = str(source).lower().removesuffix(".gz").endswith(".arff")
    if target is None and known is None and is_arff:
        target = _arff_target(parsed)
    return parsed, target, wishes


def _arff_target(parsed: Parsed) -> str | None:
    last = next(reversed(parsed.columns), None)
    named = next((n for n in parsed.columns if n.casefold() == "class"), last)
    return named if named is not None and parsed.kinds.get(named) == "nominal" else None


def _reading(
    target: Any, wishes: Wishes, known: Schema | None, header: bool, separator: str | None
) -> Reading:
    if known is not None:
        return Reading(
            marks={c.name: c.missing for c in known if c.missing != MISSING_MARKS},
            text=frozenset(c.name for c in known if c.coded),
            only=frozenset(c.name for c in known if c.kind not in ("id", "drop")),
            number=frozenset(c.name for c in known if c.kind == "numeric" and not c.dates),
            dates=frozenset(c.name for c in known if c.dates),
            decimal={c.name: c.decimal for c in known if c.decimal != "."},
            header=header,
            separator=separator,
        )
    text = {item for item in wishes.nominal if isinstance(item, str)}
    if isinstance(target, str):
        text.add(target)
    return Reading(
        marks=wishes.marks,
        all_marks=wishes.all_marks,
        text=frozenset(text),
        skip=frozenset(item for item in wishes.drop if isinstance(item, str)),
        number=frozenset(item for item in wishes.numeric if isinstance(item, str)),
        header=header,
        separator=separator,
    )
