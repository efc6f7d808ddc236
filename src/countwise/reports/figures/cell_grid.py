"""A grid of colored cells with labels on two sides: confusion, gain, coefficients, accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.palette import SHADES, dark_ink, shade
from countwise.reports.figures.svg import drawing, element, escape, height_of, label, rect, width_of
from countwise.reports.sentences import brief, counted, percent, short, signed, term_name

#: With more columns than these a cell without rows or gain is left to the ground.
DENSE = 12

_SMALLEST = 12.0
#: The width of a cell that its texts need.
_READABLE = 36.0


@dataclass(frozen=True)
class Cell:
    """One cell: its color, its texts, a line each, and words for a pointer that rests on it."""

    color: str
    lines: tuple[str, ...]
    words: str
    short: str = ""  # stands for the texts where they have no room


@dataclass(frozen=True)
class Grid:
    """Cells with the names of their rows and columns, and the room that each of them has.

    `left` and `top` are the corner of the first cell, `step` and `pitch` the width and the height
    of a cell with its gap, `side` and `head` the room for the names of rows and of columns.
    `sizes` are the font sizes of the lines of a cell.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    left: float
    top: float
    step: float
    pitch: float
    size: float
    sizes: tuple[float, ...]
    side: float
    head: float
    upright: bool
    ink: str = "ink"

    @property
    def right(self) -> float:
        """The right edge of the cells."""
        return self.left + self.step * len(self.columns)

    @property
    def bottom(self) -> float:
        """The lower edge of the cells."""
        return self.top + self.pitch * len(self.rows)

    def draw(self, dense: bool = False) -> str:
        """Draw names and cells; if `dense`, empty cells are one rectangle."""
        parts = [self._column_name(at, name) for at, name in enumerate(self.columns)]
        x, room, size = self.left - 6, self.side, self.size
        for at, name in enumerate(self.rows):
            base = self.top + self.pitch * (at + 0.5) + 0.35 * size
            parts.append(label(x, base, name, room=room, size=size, anchor="end"))
        if dense:
            width, height = self.right - self.left, self.bottom - self.top
            parts.append(rect(self.left, self.top, width, height, "zero"))
        # Texts by ink and size, so that these are written once for all of them.
        texts: dict[tuple[str, float], list[str]] = {}
        for at, row in enumerate(self.cells):
            for place, cell in enumerate(row):
                if not (dense and cell.color == "zero"):
                    x, y = self.left + self.step * place, self.top + self.pitch * at
                    parts.append(self._cell(cell, x, y, texts))
        parts += [
            element("g", *group, class_=ink, font_size=font, text_anchor="middle")
            for (ink, font), group in texts.items()
        ]
        return "".join(parts)

    def _column_name(self, at: int, name: str) -> str:
        middle, size = self.left + self.step * (at + 0.5), self.size
        if self.upright:
            x, y, room = middle + 0.35 * size, self.top - 5, self.head - 2
            return label(x, y, name, room=room, size=size, classes=self.ink, upright=True)
        x, y, room = middle, self.top - 6, self.step - 3
        return label(x, y, name, room=room, size=size, classes=self.ink, anchor="middle")

    def _cell(
        self, cell: Cell, x: float, y: float, texts: dict[tuple[str, float], list[str]]
    ) -> str:
        gap = 1.0 if self.step >= 20 else 0.5
        width, height = self.step - gap, self.pitch - gap
        lines = [
            (text, size)
            for text, size in zip(cell.lines, self.sizes, strict=False)
            if width_of(text, size) <= self.step - 3 and height_of(size) <= self.pitch
        ]
        if not lines or lines[0][0] != cell.lines[0]:
            lines = [(cell.short, 11.0)] if cell.short else []
        ink = "low" if dark_ink(cell.color) else "high"
        base = y + (height - sum(height_of(size) for _, size in lines)) / 2
        for text, size in lines:
            if text:
                written = element("text", escape(text), x=x + width / 2, y=base + 0.92 * size)
                texts.setdefault((ink, size), []).append(written)
            base += height_of(size)
        return rect(x, y, width, height, cell.color, cell.words)


def _matrix(
    title: str,
    description: str,
    row_names: Sequence[str],
    column_names: Sequence[str],
    cells: Sequence[Sequence[Cell]],
    width: float,
    sides: tuple[str, str] = ("true class", "decided"),
    below: str = "",
) -> str:
    """Draw a grid no wider than `width`, unless the cells would become too small to see."""
    rows, columns = len(row_names), len(column_names)
    size = 12.0 if columns <= 12 else 10.0 if width >= 480 else 9.0
    largest = 140.0 if columns <= 3 else 96.0
    longest = max(width_of(name, size) for name in row_names)
    # Names may take what cells do not need for their texts.
    side = min(longest + 8, 0.42 * width, max(0.25 * width, width - 24 - _READABLE * columns))
    step = min(largest, max(_SMALLEST, (width - 24 - side) / columns))
    tall = max(_SMALLEST, min(step, 52.0 if rows <= 4 else 44.0 if rows <= 8 else 26.0))
    longest = max(width_of(name, size) for name in column_names)
    upright = longest > step - 4
    head = min(longest + 6, 130.0) if upright else height_of(size) + 4
    left, top = 18 + side, 20 + head
    sizes = (12.0, 10.0) if tall >= 34 else (11.0,)
    grid = Grid(
        row_names,
        column_names,
        cells,
        left,
        top,
        step,
        tall,
        size,
        sizes,
        side - 4,
        head,
        upright,
    )
    bottom = grid.bottom + 6
    whole = max(grid.right, left + width_of(sides[1], 11), left + width_of(below, 11)) + 6
    small: dict[str, Any] = {"size": 11, "classes": "soft"}
    room = tall * rows + head
    return drawing(
        whole,
        bottom + (18 if below else 0),
        title,
        description,
        label(left, 12, sides[1], room=whole - left, **small),
        label(11, top, sides[0], room=room, anchor="end", upright=True, **small),
        grid.draw(dense=columns > DENSE),
        label(left, bottom + 10, below, **small) if below else "",
    )


def confusion_figure(confusion: Mapping[str, Any], width: float = 620) -> str:
    """Draw a confusion matrix with counts and joint probabilities, true classes as rows."""
    classes, decisions = confusion["classes"], confusion["decisions"]
    cells = []
    for true, counts, joint in zip(classes, confusion["counts"], confusion["joint"], strict=True):
        total = sum(counts)
        row = zip(decisions, counts, joint, strict=True)
        cells.append([_confusion_cell(true, *cell, total) for cell in row])
    description = (
        f"True classes ({len(classes)} rows) and decisions ({len(decisions)} columns). Color is "
        "the fraction of the true class decided as each class; numbers are counts and, below, "
        "joint probabilities."
    )
    title = f"Confusion of {confusion['name']}"
    return _matrix(title, description, classes, decisions, cells, width)


def _confusion_cell(true: str, decided: str, number: float, joint: float, total: float) -> Cell:
    recall = number / total if total else 0.0
    words = (
        f"true {true}, decided {decided}: {counted(number)} rows, {percent(recall)} of the class, "
        f"joint probability {joint:.4f}"
    )
    if not number:
        return Cell("zero", ("0", ""), words)
    return Cell(f"q{shade(recall)}", (counted(number), f"{joint:.3f}"), words)


def gain_figure(gain: Mapping[str, Any], part: str = "values", width: float = 420) -> str:
    """Draw a gain matrix, or what each of its cells contributes to the gain per row."""
    table: Sequence[Sequence[float]] = gain[part]
    largest = max((abs(value) for row in table for value in row), default=0.0)
    whole, word = part == "values", gain["word"]
    cells = [
        [
            _gain_cell(true, decided, value, largest, whole, word == "cost")
            for decided, value in zip(gain["decisions"], row, strict=True)
        ]
        for true, row in zip(gain["classes"], table, strict=True)
    ]
    named = word.capitalize()
    title = f"Contributions to the {word}"
    description = f"{named} times joint probability of each cell; the sum is the {word} per row."
    if whole:
        title, verb = f"{named} matrix", "costs" if word == "cost" else "earns"
        description = f"What each decision (columns) {verb} for each true class (rows)."
    return _matrix(title, description, gain["classes"], gain["decisions"], cells, width)


def _gain_cell(
    true: str, decided: str, value: float, largest: float, whole: bool, cost: bool
) -> Cell:
    text = f"{value:+.10g}".replace("-", "−") if whole else signed(value)
    gain = -value if cost else value
    losing, zero = ("costs", "costs nothing") if cost else ("loses", "earns nothing")
    verb = "earns" if gain > 0 else losing if gain < 0 else zero
    amount = "" if value == 0 else f" {abs(value):.10g}" if whole else f" {short(abs(value))}"
    words = f"true {true}, decided {decided}: {verb}{amount}{'' if whole else ' per row'}"
    if cost:
        text = text.removeprefix("+")
    return _signed_cell(gain, largest, text if value else "0", words)


def _signed_cell(value: float, largest: float, text: str, words: str) -> Cell:
    """A cell colored by the sign of its value and its size, compared with the largest."""
    if not value or not largest:
        return Cell("zero", (text,), words)
    step = min(4, 1 + int(4 * abs(value) / largest * 0.999))
    return Cell(f"{'g' if value > 0 else 'n'}{step}", (text,), words)


def coefficient_grid(view: Mapping[str, Any], width: float = 620) -> str:
    """Draw coefficients by term (rows) and class (columns)."""
    terms = view["terms"]
    names = list(map(term_name, terms))
    largest = max((abs(value or 0.0) for term in terms for value in term["scaled"]), default=0.0)
    cells: list[list[Cell]] = []
    for name, term in zip(names, terms, strict=True):
        cells.append([])
        row = zip(view["classes"], term["values"], term["scaled"], strict=True)
        for of_class, coefficient, value in row:
            words = f"{name}, {of_class}: {brief(coefficient)}"
            cells[-1].append(_signed_cell(value or 0.0, largest, signed(value), words))
    description = f"{len(terms)} coefficients of {len(view['classes'])} classes."
    sides = ("term", "class")
    return _matrix("Coefficients", description, names, view["classes"], cells, width, sides)


def pair_figure(pair: Mapping[str, Any], width: float = 620) -> str:
    """Draw what two columns add together, the first down and the second across."""
    largest = max((abs(value) for row in pair["added"] for value in row), default=0.0)
    cells: list[list[Cell]] = []
    for one, row, counts in zip(pair["first_levels"], pair["added"], pair["counts"], strict=True):
        cells.append([])
        for two, value, count in zip(pair["second_levels"], row, counts, strict=True):
            words = (
                f"{pair['first']} {one}, {pair['second']} {two}: {signed(value)}, "
                f"{counted(count)} rows"
            )
            if count:
                cells[-1].append(_signed_cell(value, largest, signed(value), words))
            else:
                cells[-1].append(Cell("zero", ("",), words))
    return _matrix(
        f"{pair['first']} and {pair['second']}",
        f"Log-odds of {pair['label']} that the pair adds; blue is for it, orange against it.",
        pair["first_levels"],
        pair["second_levels"],
        cells,
        width,
        (pair["first"], pair["second"]),
        f"log-odds of {pair['label']}, {percent(pair['share'])} of all terms",
    )


def agreement_figure(view: Mapping[str, Any], width: float = 480) -> str:
    """Draw how often two members of an ensemble give the same answer."""
    names = [member["name"] for member in view["members"]]
    cells = [
        [
            Cell(f"q{shade(value)}", (f"{value:.3f}",), f"{one} and {two}: {percent(value)}")
            for two, value in zip(names, line, strict=True)
        ]
        for one, line in zip(names, view["agreement"], strict=True)
    ]
    description = f"The fraction of training rows on which two of {len(names)} members agree."
    sides = ("member", "agrees with")
    return _matrix("Agreement of the members", description, names, names, cells, width, sides)


def heat_figure(grid: Mapping[str, Any], width: float = 560) -> str:
    """Draw the accuracy of every k (down) and p (across); the darkest is the best."""
    values = [value for row in grid["accuracy"] for value in row]
    low, high = min(values), max(values)
    best_k, best_p = grid["best"]["k"], _power(grid["best"]["p"])
    powers = [_power(p) for p in grid["p"]]
    cells: list[list[Cell]] = []
    for k, row, spreads in zip(grid["k"], grid["accuracy"], grid["spread"], strict=True):
        cells.append([])
        for p, value, spread in zip(powers, row, spreads, strict=True):
            star = "★" if (k, p) == (best_k, best_p) else ""
            text = f"{value:.3f} {star}".rstrip()
            words = f"k = {k}, p = {p}: {value:.4f}, spread {spread:.4f}"
            cells[-1].append(Cell(f"q{_relative_shade(value, low, high)}", (text,), words, star))
    best = f"best: k = {best_k}, p = {best_p}"
    return _matrix(
        f"Accuracy of {grid['data'] or 'neighbors'} by k and p",
        f"From {low:.3f} to {high:.3f}; {best.replace(':', '')}.",
        [str(k) for k in grid["k"]],
        powers,
        cells,
        width,
        ("k, neighbors", "p, exponent of the distance"),
        f"Accuracy from {low:.3f} to {high:.3f}; ★ {best}",
    )


def _power(p: float | str) -> str:
    return "max" if p in ("maximum", float("inf")) else f"{p:g}"


def _relative_shade(value: float, low: float, high: float) -> int:
    """The shade of a value between the extremes, because the reader looks for differences."""
    if high <= low:
        return SHADES // 2
    return min(int((value - low) / (high - low) * SHADES), SHADES - 1)
