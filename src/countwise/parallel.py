"""The engine for rows in memory: compiled folds over chunks of rows, in threads, merged in order.

Tables of single columns are not counted one by one: columns are put together into joint tables of
at most `JOINT_CELLS` cells, so that a row costs one increment for several columns, and the single
tables are sums over the joint one. Chunk borders depend on the number of rows alone, and chunks are
merged in order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar


def threads() -> int:
    """How many threads fold blocks: ``COUNTWISE_THREADS``, or the processors we may use."""
    given = os.environ.get("COUNTWISE_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_chunks(rows: int, step: int, work: Callable[[int, int], None]) -> None:
    """Call `work` with the start and stop of each chunk of rows, in threads if there are many."""
    starts = range(0, rows, step)
    if len(starts) < 2 or threads() == 1:
        for start in starts:
            work(start, min(start + step, rows))
        return
    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(lambda start: work(start, min(start + step, rows)), starts))


Made = TypeVar("Made")


def in_threads(work: Callable[[Any], Made], items: Sequence[Any]) -> list[Made]:
    """Do the same work on several items, on all processors; kernels let go of the lock."""
    hands = min(len(items), os.cpu_count() or 1)
    if hands < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(hands) as pool:
        return list(pool.map(work, items))
