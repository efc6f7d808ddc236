"""Numbers as people write them in text cells, labels and marks."""

from __future__ import annotations

import re

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)
COMMA_NUMBER = re.compile(r"[+-]?(?:\d+,?\d*|,\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def read_number(text: str, decimal: str | None = None) -> float | None:
    """Return the number a text is, written with a decimal point or comma; None if it is none."""
    trimmed = text.strip()
    if decimal == ",":
        trimmed = trimmed.replace(",", ".")
    return float(trimmed) if NUMBER.fullmatch(trimmed) else None
