"""Show rows of cells as aligned lines of text, or as an HTML table in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import zip_longest

#: Rows that a notebook shows of a long table.
MAX_ROWS = 60


def html_table(
    headers: Sequence[object], rows: Sequence[Sequence[object]], caption: str = "", below: str = ""
) -> str:
    """Return a table as HTML, numbers with four digits; texts above and below are optional."""
    sides = ["right" if _is_number(cell) else "left" for cell in (rows[0] if rows else headers)]
    lines = [_line("th", headers, sides), *(_line("td", row, sides) for row in rows[:MAX_ROWS])]
    more = len(rows) - MAX_ROWS
    texts = [f"… and {more:,} more rows"] if more > 0 else []
    end = "".join(f"<p>{escape(text)}</p>" for text in [*texts, below] if text)
    head = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<div><table>{head}{''.join(lines)}</table>{end}</div>"


def _line(tag: str, cells: Sequence[object], sides: Sequence[str]) -> str:
    texts = [
        f'<{tag} style="text-align:{side}">{escape(_text(cell))}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    ]
    return f"<tr>{''.join(texts)}</tr>"


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _text(cell: object) -> str:
    if cell is None or cell != cell:
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if cell.is_integer() else f"{cell:.4g}"
    return str(cell)


#: More lines than these are cut.
MAX_LINES = 20
_WIDEST_CELL = 60


def align(rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> Iterator[str]:
    """Yield the rows as lines with aligned columns; those at the places `numbers` to the right."""
    every = list(rows)
    lines = [[_short(cell) for cell in row] for row in every[:MAX_LINES]]
    widths = [max(map(len, cells)) for cells in zip_longest(*lines, fillvalue="")]
    right = set(numbers)
    for line in lines:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=False))
        ]
        yield f"  {'  '.join(cells)}".rstrip()
    if len(every) > MAX_LINES:
        yield f"  … and {len(every) - MAX_LINES} more"


def _short(cell: object) -> str:
    text = " ".join(str(cell).split())
    return text if len(text) <= _WIDEST_CELL else f"{text[: _WIDEST_CELL - 1]}…"
