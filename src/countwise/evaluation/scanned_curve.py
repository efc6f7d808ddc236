"""Learning curves of rows outside memory: where a row is on the curve follows from where it is.

The first scan counts every fold and every slice of the curve, and running sums of the slices are
the training counts of all sizes. One more scan scores the tested rows by the models of all sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.decisions.gain_matrix import Gains
from countwise.errors import ParameterError
from countwise.evaluation.folds import n_tested
from countwise.evaluation.scan_folds import Dealing
from countwise.evaluation.scanned import ScanTask, check_dealing, describe_folds, refuse_on_scan
from countwise.evaluation.trials import Trials
from countwise.notes import Note
from countwise.params import whole
from countwise.progress import Progress
from countwise.tables.scan import Scan

#: The smallest of a number of sizes, as a fraction of the training rows.
_LEAST_FRACTION = 1e-3


def trace_scan(
    models: Any,
    scan: Scan,
    *,
    points: Any,
    holdout: float,
    folds: Any,
    repeats: int,
    test_rows: int,
    random_state: Any,
    groups: Any,
    gain: Gains | None,
    progress: Progress | None,
    refused: Mapping[str, bool],
) -> tuple[tuple[int, ...], tuple[Trials, ...], str, tuple[Note, ...]]:
    """Return the sizes of a learning curve, the trials of each, the protocol and notes."""
    who = "learning_curve"
    refuse_on_scan(who, refused, "Use `holdout=`, `folds=`, `repeats=` and `groups=`")
    check_dealing(who, scan, folds, random_state, groups)
    dealing = Dealing(
        int(random_state),
        repeats,
        2 if folds is None else int(folds),
        float(holdout) if folds is None else None,
        _read_fractions(who, points),
        groups,
    )
    task = ScanTask.begin(who, models, scan, dealing, gain, progress)
    is_number = np.ndim(points) == 0
    sizes = _count_sizes(task, max(10, 2 * len(scan.classes)) if is_number else None)
    rows = len(scan)
    aside = n_tested(holdout, rows) if folds is None else -(-rows // int(folds))
    task.passes.dealing = replace(dealing, tested=min(1.0, test_rows / aside))
    task.judge([place for place in dealing.places if place.slice in sizes])
    words = describe_folds(dealing)
    any_trials = task.trials(next(iter(sizes)), words)
    tested = float(np.mean([fold.tested for fold in any_trials.folds]))
    ratio = tested / max(rows - tested, 1)
    trials = tuple(task.trials(size, words, ratio=ratio) for size in sizes)
    notes = [*task.notes(), Note.of("S10")]
    if aside > test_rows:
        notes.append(Note.of("E11", tested=round(tested), held_out=aside))
    if is_number and len(sizes) < points:
        notes.append(Note.of("E12", sizes=len(sizes), points=points, rows=max(sizes.values())))
    if len(any_trials.folds) == 1:
        notes.append(Note.of("E13"))
    return tuple(sizes.values()), trials, words, tuple(notes)


def _read_fractions(who: str, points: Any) -> tuple[float, ...]:
    """Return the sizes that a user means, as fractions of the training rows, in ascending order."""
    if whole(at_least=2).admits(points):
        return tuple(np.geomspace(_LEAST_FRACTION, 1.0, int(points)).tolist())
    try:
        given = np.unique(np.asarray(points, dtype=np.float64)) if np.ndim(points) else np.empty(0)
    except (TypeError, ValueError):
        given = np.empty(0)
    if not given.size or not np.all((given > 0) & (given <= 1)):
        rule = "a number of points of at least 2, or fractions up to 1 where rows are scanned"
        raise ParameterError(who, "points", rule, points)
    return tuple(given.tolist())


def _count_sizes(task: ScanTask, least: int | None) -> dict[int, int]:
    """Return the mean number of training rows of each slice; with `least`, of those with enough."""
    sizes: dict[int, int] = {}
    for size, fraction in enumerate(task.dealing.fractions):
        rows = [
            task.training[place].rows if place in task.training else 0
            for place in task.dealing.places
            if place.slice == size
        ]
        if min(rows) < (least or 1):
            if least is None or fraction == 1.0:
                raise ParameterError(
                    f"{task.who}: training sets must have at least {least or 1} rows; a fraction "
                    f"of {fraction:g} gave {min(rows)} of {len(task.scan)} rows.",
                    hint=("give larger `points=`", "read the rows with `read`"),
                )
            continue
        mean = round(float(np.mean(rows)))
        if mean not in sizes.values():
            sizes[size] = mean
    return sizes
