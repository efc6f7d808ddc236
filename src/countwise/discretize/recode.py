"""Cuts of numbers found by the joint search of `Quantizer`, for models that count intervals.

The search needs the rows, not their counts. So the cuts are found once, in `fit` or the first
`partial_fit`, and later rows are counted in the same intervals; cross-validation refits each part.
"""

from __future__ import annotations

from collections.abc import Sequence

from countwise._typing import FloatArray
from countwise.discretize.quantizer import Quantizer
from countwise.notes import Note
from countwise.tables.table import Table

#: Codes of what the search has to say about columns and rows.
CUT_NOTES = ("P10", "P11")


def searched_cuts(
    table: Table, names: Sequence[str], weight: FloatArray | None
) -> tuple[dict[str, FloatArray], tuple[Note, ...]]:
    """Cut these numeric columns together, where it tells most about the class, and say remarks.

    The rows held out to judge by are drawn by a fixed seed, so that equal rows give equal cuts.
    """
    if not names:
        return {}, ()
    quantizer = Quantizer(random_state=0).fit(table.select(list(names)), sample_weight=weight)
    return dict(quantizer.cut_points_), tuple(quantizer.notes_)
