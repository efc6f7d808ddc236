"""Remarks a table keeps about itself: what was dropped, assumed or found odd, each with a code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """One remark about the data: a code to look up, the column it concerns, a sentence.

    Examples
    --------
    >>> Note("T01", "Id", "Column 'Id' numbers the rows and is left out.")
    Note(code='T01', column='Id', text="Column 'Id' numbers the rows and is left out.")
    """

    code: str
    column: str | None
    text: str

    def to_dict(self) -> dict[str, str | None]:
        """Return the remark as plain data."""
        return {"code": self.code, "column": self.column, "text": self.text}

    def __str__(self) -> str:
        return self.text
