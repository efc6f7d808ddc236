"""A small HTML table, escaped, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

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
