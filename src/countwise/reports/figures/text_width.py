"""The width of a text, estimated without a browser, and how to fit a text into its room."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

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
