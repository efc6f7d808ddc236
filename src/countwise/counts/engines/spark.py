"""The engine for Spark: the workers count the rows they have, and only counts travel.

Each worker folds its partitions by the engine for rows in memory, and the workers merge partial
counts in a tree. A task that Spark repeats, after a fault or because it
is slow, is taken once, so nothing is lost and nothing counted twice.
"""

from __future__ import annotations

import os

from countwise.counts.counts import Counts
from countwise.counts.engines import stream
from countwise.counts.engines.stream import PlanOf
from countwise.errors import ParameterError
from countwise.progress import Progress
from countwise.tables.scan import Scan


def fold_scan(
    scan: Scan,
    plan_of: PlanOf,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Count the rows of a scan where they are, as the plan for its schema says."""
    if not scan.source.is_remote:
        raise ParameterError(
            "count: the engine 'spark' counts rows of a PySpark DataFrame; got "
            f"{scan.source.what}.",
            hint="Leave `engine=` out",
        )
    if checkpoint is not None or scan.checkpoint is not None:
        raise ParameterError(
            "count: `checkpoint=` is for rows that are counted here; Spark repeats what fails.",
            hint=("leave it out", "count here with `engine='stream'`"),
        )
    return stream.fold_scan(scan, plan_of, progress=progress, engine="spark")
