"""How much memory counts take, and how much those may take that are held side by side."""

from __future__ import annotations

import math

from countwise.counts.histogram import MOST_CELLS
from countwise.counts.plan import Plan
from countwise.errors import CountsError
from countwise.notes import Note
from countwise.parallel import threads
from countwise.tables.formats.blocks import MOST_THREADS
from countwise.tables.scan import MEMORY, Scan
from countwise.tables.schema import Schema

#: Counts may take so many times the `memory=` of a scan, or of the default if that is more.
_TIMES = 2
#: What a table takes beside its cells.
_TABLE_BYTES = 512


def room_of(scan: Scan) -> int:
    """Return how many bytes counts may take that are held at once; fits side by side share them."""
    if scan.shared is not None:
        return room_of(scan.shared.scan) // int(scan.shared.jobs)
    return _TIMES * max(scan.memory, MEMORY)


def _sharers(scan: Scan) -> int:
    """Return how many fits share the memory of a scan."""
    return 1 if scan.shared is None else int(scan.shared.jobs) * _sharers(scan.shared.scan)


def size_of(plan: Plan, schema: Schema) -> int:
    """Return how many bytes the counts of a plan take at most, but for words."""
    width = {column.name: column.width + 1 for column in schema if column.coded}
    slots = 1 + (0 if schema.target is None else schema.target.width)
    cells = sum(math.prod(width[name] for name in names) for names in plan.tables)
    return 8 * slots * (cells + MOST_CELLS * len(plan.grids)) + _TABLE_BYTES * len(plan.tables)


def copies_in_flight() -> int:
    """Return how many counts exist at once where those of pieces are added up."""
    return 2 * min(threads(), MOST_THREADS) + 2


def no_room(scan: Scan, needed: int, what: str) -> CountsError:
    """Return the refusal of counts that take more than they may."""
    sharers = _sharers(scan)
    shared = f" shared by {sharers} fits" if sharers > 1 else ""
    return CountsError(
        f"scan: counts must fit in {_size(room_of(scan))}, {_TIMES} times `memory=`{shared}; "
        f"{what} would take {_size(needed)}.",
        hint=(
            f"give `memory={_size(needed * sharers // _TIMES + 1)!r}`",
            "fold rare levels with `max_levels=`",
            "take another model, or fewer folds, sizes or members",
        ),
    )


def note_scans(scan: Scan, why: str) -> Note:
    """Return the note that memory was too short for fewer scans."""
    return Note.of("S13", room=_size(room_of(scan)), why=why)


def _size(number: int) -> str:
    return f"{math.ceil(number / (1 << 20))}MB"
