"""SVG as text: elements, escaping, and whole figures with title and description."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from countwise.reports.figures.palette import standalone_css

# XML cannot hold these characters, not even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_OPENING = re.compile(r"<svg[^>]*>")

Value = str | float | int | None


def escape(text: object) -> str:
    """Return a text that is inert in XML and in HTML."""
    return _FORBIDDEN.sub("\ufffd", str(text)).translate(_ESCAPES)


def number(value: float) -> str:
    """Return a coordinate with at most two digits after the point."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def element(name: str, *children: str, **attributes: Value) -> str:
    """Return one element; ``class_`` is written ``class``, and None leaves an attribute out."""
    texts, body = "", "".join(children)
    for key, value in attributes.items():
        if value is not None:
            written = escape(value) if isinstance(value, str) else number(float(value))
            texts += f' {key.rstrip("_").replace("_", "-")}="{written}"'
    return f"<{name}{texts}>{body}</{name}>" if body else f"<{name}{texts}/>"


def tip(words: str) -> str:
    """Return the title of an element, which is shown when a pointer rests on it."""
    return element("title", escape(words)) if words else ""


def rect(x: float, y: float, width: float, height: float, classes: str, words: str = "") -> str:
    """Return a rectangle, with words as its title."""
    return element("rect", tip(words), x=x, y=y, width=width, height=height, class_=classes)


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=classes)


def circle(x: float, y: float, radius: float, classes: str, words: str = "") -> str:
    """Return a circle, with words as its title."""
    return element("circle", tip(words), cx=x, cy=y, r=radius, class_=classes)


def path(points: Iterable[tuple[float, float]], classes: str, closed: bool = False) -> str:
    """Return a line through points, or the area it encloses."""
    steps = " ".join(f"{number(x)} {number(y)}" for x, y in points)
    return element("path", d=f"M{steps}{'Z' if closed else ''}", class_=classes)


def group(*children: str, x: float = 0.0, y: float = 0.0) -> str:
    """Return elements moved together."""
    moved = f"translate({number(x)} {number(y)})" if x or y else None
    return element("g", *children, transform=moved)


def label(
    x: float,
    y: float,
    words: str,
    *,
    room: float | None = None,
    size: float = 12,
    anchor: str = "start",
    classes: str = "ink",
    upright: bool = False,
    bold: bool = False,
    tip_words: str = "",
) -> str:
    """Return a text; if it is too long for its room, it is shortened and its title is the whole."""
    flat = " ".join(words.split())
    fitted = flat if room is None else shortened(flat, room, size, bold)
    return element(
        "text",
        tip(tip_words or (flat if fitted != flat else "")),
        escape(fitted),
        x=x,
        y=y,
        class_=f"{classes} bold" if bold else classes,
        font_size=size,
        text_anchor=None if anchor == "start" else anchor,
        transform=f"rotate(-90 {number(x)} {number(y)})" if upright else None,
    )


def drawing(width: float, height: float, title: str, description: str, *children: str) -> str:
    """Return a whole figure: an ``svg`` element with title, description and a view box."""
    # Whole sides: the last line of pixels of a PNG would be half transparent otherwise.
    width, height = math.ceil(width), math.ceil(height)
    return element(
        "svg",
        element("title", escape(title)),
        element("desc", escape(description)),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        class_="cw",
        role="img",
        aria_label=title,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
    )


def standalone(svg: str, dark: bool | None = None) -> str:
    """Return a figure with the style sheet it needs as a file by itself, light, dark or both."""
    opening = _OPENING.match(svg)
    if opening is None:
        return svg
    return (
        svg[: opening.end()] + element("style", standalone_css(dark)) + svg[opening.end() :] + "\n"
    )


# Ems of DejaVu Sans, the widest of the usual sans-serif faces, so that no other overflows.
_GROUPS = (
    (0.32, "ijlI|'J"),
    (0.42, ' .,:;!-/\\()[]frt`"'),
    (0.60, "acesvxyzkTFLYPE?_*$–"),
    (0.64, "bdghnopqu0123456789"),
    (0.80, "ABCDGHKNOQRSUVXZ&"),
    (0.86, "+<>=~^#×÷±≤≥"),
    (1.00, "mwMW@%…—"),
)
_EMS = {letter: ems for ems, letters in _GROUPS for letter in letters}
_BOLD = 1.12
_OTHER = 0.80


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text at a font size; the estimate is rather too wide."""
    ems = sum(_EMS.get(letter) or _other_ems(letter) for letter in text)
    return ems * size * (_BOLD if bold else 1.0)


def _other_ems(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    plain = unicodedata.normalize("NFD", letter)[0]
    if plain in _EMS:
        return _EMS[plain]
    return 1.1 if unicodedata.east_asian_width(letter) in "WF" else _OTHER


def height_of(size: float) -> float:
    """Return the height of a line of text, its ascent and descent together."""
    return 1.2 * size


def shortened(text: str, room: float, size: float, bold: bool = False) -> str:
    """Cut a text in the middle so that it fits its room: names often differ at their ends."""
    room += 0.01  # A room is often a sum of the very widths, with a rounding error.
    if width_of(text, size, bold) <= room:
        return text
    room -= width_of("…", size, bold)
    head, tail = 0, len(text)
    # Letters are kept in turn from both ends, two at the start for one at the end.
    while head < tail:
        behind = head > 2 * (len(text) - tail) + 2
        letter = text[tail - 1] if behind else text[head]
        room -= width_of(letter, size, bold)
        if room < 0:
            break
        head, tail = (head, tail - 1) if behind else (head + 1, tail)
    return text[:head].rstrip() + "…" + text[tail:].lstrip()


def wrapped(text: str, room: float, size: float) -> list[str]:
    """Break a text into lines that fit their room, between words."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def two_lines(text: str, size: float, bold: bool = False) -> list[str]:
    """Break a name in two at a blank, ``-``, ``_`` or the like, as evenly as possible."""
    places = [match.end() for match in re.finditer(r"[\s_./:;,-]+", text)]
    pairs = [[text[:at].rstrip(), text[at:]] for at in places if at < len(text)]
    return min(
        pairs, key=lambda pair: max(width_of(part, size, bold) for part in pair), default=[text]
    )
