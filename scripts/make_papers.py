"""Write docs/papers: one page a paper, from the facts of a whole run.

COUNTWISE_DATA=FOLDER python scripts/make_papers.py
"""

from pathlib import Path

from countwise.papers.markdown import write_pages
from countwise.papers.run import reproduce

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "papers"

if __name__ == "__main__":
    for path in write_pages(reproduce(), FOLDER):
        print(path.relative_to(FOLDER.parents[1]))
