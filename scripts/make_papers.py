"""Write docs/papers: one page a paper, from the facts of a whole run.

COUNTWISE_DATA=FOLDER python scripts/make_papers.py
"""

import sys
from pathlib import Path

from countwise_papers.pages import write_pages
from countwise_papers.reproduce import reproduce

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "papers"

if __name__ == "__main__":
    found = reproduce()
    if left_out := found.describe_left_out():
        sys.exit(f"make_papers: the pages need every set, so none is written. {left_out}")
    for path in write_pages(found, FOLDER):
        print(path.relative_to(FOLDER.parents[1]))
