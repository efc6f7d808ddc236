"""What should be said beside the figures of an evaluation, each remark with a code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from countwise.evaluation.folds import Split
from countwise.evaluation.outcomes import MOST_DOUBLES, Entry
from countwise.tables.notes import Note

if TYPE_CHECKING:
    from countwise.evaluation.task import Task


def remarks(split: Split, entries: Mapping[str, Entry], task: Task) -> Iterator[Note]:
    """Yield the remarks an evaluation calls for."""
    draws = [name for name, entry in entries.items() if entry.draws]
    if draws:
        yield Note(
            "E03",
            None,
            f"{_all(draws)}: the rule draws its decisions; its scores are "
            "exact expectations (for accuracy the mean of W_i[y_i]), with nothing drawn.",
        )
    certain = [name for name, entry in entries.items() if entry.certain]
    if certain:
        yield Note(
            "E04",
            None,
            f"{_all(certain)}: gives labels but no posteriors, so log loss and "
            "Brier score are not defined.",
        )
    once = [own.name for own in task.learners if own.counted or own.name in task.once]
    if once and split.kind != "leave-one-out":
        names = once
        yield Note(
            "E05",
            None,
            f"{_all(names)}: trained from merged counts of one pass over the "
            "rows; fitting seconds hold a share of that pass.",
        )
    for why in dict.fromkeys(task.refits.values()):
        names = [name for name, own in task.refits.items() if own == why]
        yield Note("E14", None, f"{_all(names)}: refitted for every test part, because {why}.")
    big = any(sum(p.posteriors.size for p in e.pieces) > MOST_DOUBLES for e in entries.values())
    if big:
        yield Note(
            "E06",
            None,
            f"More than {MOST_DOUBLES} posteriors a model: they are kept in "
            "single precision; decisions were made in double precision.",
        )
    encoded = [own.name for own in task.others if task.material(own).encoded]
    if encoded:
        yield Note(
            "E07",
            None,
            f"{_all(encoded)}: saw nominal columns as one column a level and "
            "gaps in numbers as the median with a marker, learned from the training rows.",
        )
    unweighted = [
        own.name
        for own in task.others
        if task.weight is not None and task.material(own).weights(own.model, task.weight) is None
    ]
    if unweighted:
        yield Note(
            "E08",
            None,
            f"{_all(unweighted)}: cannot be given weights and learned from "
            "unweighted rows; scores are weighted.",
        )
    if task.left_out:
        yield Note(
            "E15",
            None,
            f"{', '.join(task.left_out)}: would not have finished in time and were left out.",
        )
    if split.tests == 1 or split.kind == "leave-one-out":
        yield Note(
            "E09",
            None,
            "One test part: intervals are those of its rows and leave out that "
            "other training rows would have given another model.",
        )


def _all(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
