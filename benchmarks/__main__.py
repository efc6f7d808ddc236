"""Run every bench_*.py, print one table, write benchmarks/results/latest.json.

python -m benchmarks [--quick] [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Collect and show the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="bench files to run, such as counts or reading")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    chosen = parser.parse_args()
    found = sorted(path.stem for path in HERE.glob("bench_*.py"))
    names = [f"bench_{name}" for name in chosen.names] or found
    rows = []
    print(f"{'what':58} {'ours':>9} {'peer':>9}  {'ratio':>7}  goal")
    for name in names:
        for row in importlib.import_module(f"benchmarks.{name}").run(quick=chosen.quick):
            rows.append({"bench": name.removeprefix("bench_"), **row})
            print(
                f"{row['name']:58} {row['ours_seconds']:8.4f}s {row['peer_seconds']:8.4f}s "
                f"{row['ratio']:7.2f}x  {row['target']}  ({row['peer']})",
                flush=True,
            )
    out = HERE / "results" / "latest.json"
    out.parent.mkdir(exist_ok=True)
    facts = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": chosen.quick,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        # Where a peer is not installed there is no figure, and JSON has no other word for it.
        "rows": [{k: None if v != v else v for k, v in row.items()} for row in rows],
    }
    out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"written to {out.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
