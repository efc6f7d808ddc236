"""Best of several runs, because the machine does other things too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["best", "row"]


def best(job: Callable[[], Any], runs: int = 5) -> float:
    """Return the seconds of the quickest of several runs."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def row(name: str, ours: float, peer: str, peers: float, target: str) -> dict[str, Any]:
    """One line of the table; the ratio is the peer's time over ours."""
    return {
        "name": name,
        "ours_seconds": ours,
        "peer": peer,
        "peer_seconds": peers,
        "ratio": peers / ours,
        "target": target,
    }
