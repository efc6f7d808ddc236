"""What an evaluation works on: the table, who enters, and whom to tell how far it is."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.decisions.gain import GainMatrix, Gains
from countwise.errors import ParameterError
from countwise.evaluation.encoding import Material, material_of
from countwise.evaluation.entrants import Entrant, Learner, entrants_of, learners_of
from countwise.evaluation.folds import Split, usable
from countwise.evaluation.outcomes import Part, Said, entry_of
from countwise.evaluation.remarks import remarks
from countwise.evaluation.trials import Trials
from countwise.tables.notes import Note
from countwise.tables.read import read
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

Doubles = NDArray[np.float64]
#: Called with steps done, steps in all, and a text.
Progress = Callable[[int, int, str], None]


@dataclass
class Task:
    """What an evaluation works on: the table, who enters, and whom to tell how far it is."""

    table: Table
    entrants: list[Entrant]
    learners: list[Learner]
    gain: GainMatrix | None
    weight: Doubles | None
    n_jobs: int | None
    notes: tuple[Note, ...]
    progress: Progress | None = None
    total: int = 0
    done: int = 0
    deadline: float | None = None
    left_out: list[str] = field(default_factory=list)
    materials: dict[str, Material] = field(default_factory=dict)
    #: Why models that might have been counted once were refitted.
    refits: dict[str, str] = field(default_factory=dict)
    #: Models that cut numbers and were counted once all the same.
    once: tuple[str, ...] = ()

    @property
    def counted(self) -> list[Learner]:
        """Those who learn from counts."""
        return [learner for learner in self.learners if learner.counted]

    @property
    def others(self) -> list[Learner]:
        """Those who are refitted."""
        return [own for own in self.learners if not own.counted and not own.baseline]

    def expect(
        self, progress: Progress | None, split: Split, times: int = 1, cut: bool = False
    ) -> None:
        """Say how many steps there will be; `cut` if models that cut numbers are counted once."""
        self.progress = progress
        tests = split.tests * times
        if split.kind == "leave-one-out":
            self.total = len(self.counted) + len(self.others) * len(self.table)
            return
        self.total = (len(self.counted) + len(self.others)) * tests
        once = bool(self.counted) or (cut and any(learner.cut for learner in self.others))
        self.total += len(split.deals) if once else 0

    def leave_out(self, learner: Learner) -> None:
        """Let a model out that would not finish in time, with all who decide on what it says."""
        self.learners = [own for own in self.learners if own is not learner]
        self.left_out += [own.name for own in self.entrants if own.learner == learner.name]
        self.entrants = [own for own in self.entrants if own.learner != learner.name]

    def tick(self, text: str) -> None:
        """Tell that a step is done."""
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total, text)

    def material(self, learner: Learner) -> Material:
        """The rows as this model takes them, made once."""
        if learner.name not in self.materials:
            self.materials[learner.name] = material_of(learner.model, self.table)
        return self.materials[learner.name]

    def trials(
        self,
        split: Split,
        parts: Sequence[Part],
        said: dict[str, list[Said]],
        ratio: float | None = None,
    ) -> Trials:
        """Let every rule decide, and keep the result."""
        classes = self.table.classes
        entries = {e.name: entry_of(e, said[e.learner], classes) for e in self.entrants}
        shares = [len(part.rows) / max(part.trained, 1) for part in parts]
        notes = (*self.notes, *split.notes, *remarks(split, entries, self))
        return Trials(
            tuple(classes),
            tuple(parts),
            entries,
            split.words,
            float(np.mean(shares)) if ratio is None else ratio,
            notes,
            self.gain,
        )


def task_of(
    who: str,
    models: Any,
    data: Any,
    target: Any,
    gain: Gains | None,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
    read_options: dict[str, Any],
) -> Task:
    """Read the data, check who enters, and refuse what cannot be evaluated."""
    named = entrants_of(who, models, None)
    table = (
        data
        if isinstance(data, Table) and not read_options and target is None
        else read(data, target=target, **_wishes(who, named, data, read_options))
    )
    weight = read_weights(sample_weight, len(table), who)
    rows, notes = usable(who, table)
    if weight is not None and len(rows) != len(table):
        weight = weight[table.target < table.target_column.width]
    matrix = None if gain is None else GainMatrix.of(gain, table.classes)
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ParameterError(
            f"{who}: n_jobs must be a whole number other than 0, or None, but {n_jobs!r} came."
        )
    entrants = named if matrix is None else entrants_of(who, models, matrix)
    said = tuple(Note("E10", None, text) for text in (matrix.notes if matrix else ()))
    return Task(
        rows,
        entrants,
        learners_of(entrants, rows.schema),
        matrix,
        weight,
        n_jobs,
        (*table.notes, *notes, *said),
    )


def _wishes(
    who: str, entrants: Sequence[Entrant], data: Any, read_options: dict[str, Any]
) -> dict[str, Any]:
    """Read as the models ask for, where they agree and the caller did not say."""
    wanted: list[Any] = [getattr(entrant.model, "nominal", None) for entrant in entrants]
    asked = [own if isinstance(own, str) else tuple(own) for own in wanted if _some(own)]
    if not asked or "nominal" in read_options or isinstance(data, Table):
        return read_options
    if any(set(other) != set(asked[0]) for other in asked):
        raise ParameterError(
            f"{who}: models that are compared see the same table, but their nominal= differ. Pass "
            f"nominal= to {who}."
        )
    return {**read_options, "nominal": asked[0]}


def _some(names: Any) -> bool:
    return hasattr(names, "__len__") and len(names) > 0
