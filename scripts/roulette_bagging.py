"""Write the table of P0.8: whether roulette voting helps bagging on the 15 data sets of P0.

python scripts/roulette_bagging.py FOLDER [--quick]

FOLDER holds the data sets as CSV, the class last. The table is Markdown, on stdout.
"""

from __future__ import annotations

import sys
from pathlib import Path

import countwise as cw
from countwise_papers.bagged_votes import WAYS, bagged_votes

SETS = tuple(
    "anneal audiology autos breast-cancer breast-w colic credit-a credit-g ecoli glass heart-c "  # noqa: SIM905
    "heart-h heart-statlog hepatitis ionosphere".split()
)
BASES = {
    "naive Bayes, numbers cut by MDL": cw.NaiveBayes(numeric="cuts", cuts="mdl"),
    "ID3": cw.ID3(smoothing="laplace"),
}


def main() -> None:
    """Measure and print."""
    folder, quick = Path(sys.argv[1]), "--quick" in sys.argv
    for base, model in BASES.items():
        print(f"\n### 50 × {base}\n")
        print("| data set | one model | " + " | ".join(WAYS) + " | roulette − majority | |")
        print("|---|---" + "|---" * (len(WAYS) + 2) + "|")
        tally = {"better": 0, "worse": 0, "no difference": 0}
        for name in SETS:
            found = bagged_votes(
                folder / f"{name}.csv",
                model,
                target="class",
                members=10 if quick else 50,
                repeats=3 if quick else 10,
            )
            gap = found.difference("roulette", "majority")
            tally[found.verdict()] += 1
            cells = [f"{found.estimate(way).value:.3f}" for way in WAYS]
            alone = sum(found.alone) / len(found.alone)
            print(
                f"| {name} | {alone:.3f} | {' | '.join(cells)} | {gap.value:+.3f} "
                f"({gap.low:+.3f} to {gap.high:+.3f}) | {found.verdict()} |",
                flush=True,
            )
        print(f"\n{tally}")


if __name__ == "__main__":
    main()
