"""Threads: the one pool that all packages work in, and the blocks of rows they work on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def threads() -> int:
    """Return how many threads to use: ``COUNTWISE_THREADS``, or the processors we may use."""
    stated = os.environ.get("COUNTWISE_THREADS", "")
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks(rows: int, size: int) -> list[slice]:
    """Return the rows in blocks of one size, the last one perhaps smaller."""
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Do the same work on every item, in threads if there are several; results are in order."""
    workers = min(len(items), threads())
    if workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def in_chunks(rows: int, step: int, work: Callable[[int, int], None]) -> None:
    """Call `work` with the start and stop of each block of rows, in threads if there are many."""
    in_threads(lambda block: work(block.start, block.stop), blocks(rows, step))
