"""Checkpoints: what a scan has counted so far, and of which pieces, in one file.

The file is written whole or not at all after each piece, so that a process that is killed leaves
what it had reached. Counting that goes on from it gives the same bits as counting in one go.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import blake2b
from time import monotonic
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.counts.counts import Counts
from countwise.counts.counts_file import read_counts, to_bytes
from countwise.counts.plan import Plan
from countwise.errors import CountsError, shown
from countwise.tables.scan import Scan
from countwise.tables.scan_pass import State
from countwise.tables.schema import Schema
from countwise.tables.survey import survey_from_dict, survey_to_dict

#: Writing takes at most about one part in so many of the time.
_PAUSE = 20


class Checkpoint:
    """The files to which a scan writes what it has reached, and from which it goes on.

    There is one for each pass over the rows: the path itself, then the path with a number.
    """

    def __init__(
        self,
        path: str,
        scan: Scan,
        plan_of: Callable[[Schema], Plan],
        passes: list[int] | None = None,
    ) -> None:
        self._base, self.scan, self.plan_of = path, scan, plan_of
        #: The passes begun so far; all counting that shares a checkpoint shares it.
        self._passes = [0] if passes is None else passes
        self._next = 0.0

    @property
    def path(self) -> str:
        """The file of this pass."""
        number = self._passes[0]
        return self._base if number == 1 else f"{self._base}.{number}"

    def _task(self) -> str:
        """Return a hash of what is counted: the columns as they are known, the plan, the limits."""
        scan = self.scan
        decision = scan.decision
        schema = decision.schema if scan.is_certain else decision.reading_schema
        plan = self.plan_of(scan.first_schema)
        task = [schema.to_dict(), scan.first_schema.to_dict(), repr(plan), scan.max_levels]
        text = json.dumps([*task, scan.is_certain, scan.weight], ensure_ascii=False)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def begin(self) -> State | None:
        """Return what was reached before; refuse a file of other rows or of another plan."""
        self._passes[0] += 1
        self._next = 0.0
        if not os.path.exists(self.path):
            return None
        counts, more = read_counts(self.path)
        who = f"count: checkpoint {shown(self.path)}"
        if more.get("task") != self._task():
            raise CountsError(
                f"{who} must be of the same columns, options and plan; it is of others.",
                hint="Name another `checkpoint=`, or remove that file",
            )
        done = tuple(tuple(identity) for identity in more["done"])
        present = {piece.identity for piece in self.scan.pieces()}
        changed = [identity[0] for identity in done if identity not in present]
        if changed:
            raise CountsError(
                f"{who} must be of the same rows; {changed[0]!r} has changed since it was counted.",
                hint="Remove that file to count all rows again",
            )
        self.scan.skipped.update(more["skipped"])
        self.scan.fractions[0] |= more["fractions"]
        folded = counts if more["has_counts"] else None
        schema = Schema.from_dict(more["schema"])
        return State(survey_from_dict(more["survey"]), folded, schema, done)

    def keep(self, state: State) -> None:
        """Write what is reached, unless the last time was too short ago for what it took."""
        started = monotonic()
        if started < self._next:
            return
        self.end(state)
        self._next = monotonic() + _PAUSE * (monotonic() - started)

    def end(self, state: State) -> None:
        """Write what is reached."""
        more: dict[str, Any] = {
            "task": self._task(),
            "done": state.done,
            "survey": survey_to_dict(state.survey),
            "schema": state.schema.to_dict(),
            "skipped": self.scan.skipped,
            "fractions": self.scan.fractions[0],
            "has_counts": state.folded is not None,
        }
        counts = state.folded
        if counts is None:
            counts = Counts.zero(self.scan.first_schema, Plan())
        with atomic_write(self.path, "checkpoint") as temporary:
            temporary.write_bytes(to_bytes(counts, more))
