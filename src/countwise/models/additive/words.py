"""Words of text columns as columns of their own: a text holds a word or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.additive.bins import Codes, ColumnBins, sum_weights
from countwise.tables.table import Table

#: A word must be in so many rows; a model keeps so many words, those in the most rows first.
_LEAST_ROWS, _MOST_WORDS = 2, 1000
#: Words × rows that are kept in memory.
_MOST_CODES = 20_000_000
#: Words of a row that an explanation names; the others are summed.
_NAMED_WORDS = 8
_ABSENT, _PRESENT, _MISSING = 0, 1, 2


def learn_words(table: Table, name: str, weight: FloatArray, rows: int) -> list[ColumnBins]:
    """Return the words of a text column that a model of so many rows keeps.

    A word of no row and one of every row say nothing and are left out.
    """
    texts = table.texts(name)
    index = texts.texts.index()
    _, at = index.of_rows(np.asarray(texts))
    found = np.bincount(index.words[at], minlength=len(index.vocabulary))
    most = min(_MOST_WORDS, max(_MOST_CODES // max(rows, 1), 1))
    useful = np.flatnonzero((found >= _LEAST_ROWS) & (found < len(table)))
    kept = np.sort(useful[np.argsort(-found[useful], kind="stable")[:most]])
    words = [index.vocabulary[place] for place in kept.tolist()]
    codes = code_words(table, name, words)
    return [
        ColumnBins(name, False, np.empty(0), sum_weights(line, weight, 4), np.zeros(2), word)
        for word, line in zip(words, codes, strict=True)
    ]


def code_words(table: Table, name: str, words: Sequence[str]) -> Codes:
    """Return for each word and row whether the text holds it, or is missing."""
    texts = table.texts(name)
    index = texts.texts.index()
    places = {word: place for place, word in enumerate(words)}
    line = np.asarray([places.get(word, -1) for word in index.vocabulary], dtype=np.intp)
    starts, at = index.of_rows(np.asarray(texts))
    row = np.repeat(np.arange(len(table)), np.diff(starts))
    found = line[index.words[at]]
    codes = np.full((len(words), len(table)), _ABSENT, np.uint16)
    codes[found[found >= 0], row[found >= 0]] = _PRESENT
    codes[:, np.asarray(texts) < 0] = _MISSING
    return codes


def code_columns(
    bins: Sequence[ColumnBins], table: Table, rows: NDArray[np.intp] | None = None
) -> Codes:
    """Return the bins of rows, a line for each column and word."""
    codes = np.empty((len(bins), len(table) if rows is None else len(rows)), np.uint16)
    words: dict[str, list[int]] = {}
    for place, column in enumerate(bins):
        if column.word is not None:
            words.setdefault(column.name, []).append(place)
            continue
        found = column.code(table)
        codes[place] = found if rows is None else found[rows]
    for name, places in words.items():
        found = code_words(table, name, [bins[place].word or "" for place in places])
        codes[places] = found if rows is None else found[:, rows]
    return codes


def name_words(
    columns: Sequence[tuple[int, ColumnBins]], codes: Codes, parts: FloatArray
) -> Iterable[tuple[FloatArray, list[str]]]:
    """Yield parts of an explanation for the words of one text column, with a value for each row.

    `columns` are the words with their places in `codes` and `parts` (rows × terms × scores). The
    words of a row that matter most have parts of their own; the last part sums all others.
    """
    places = [place for place, _ in columns]
    words = [bins.word for _, bins in columns]
    every, present = parts[:, places], codes[places] == _PRESENT
    rows = len(every)
    named = np.zeros((rows, _NAMED_WORDS, *every.shape[2:]))
    values = [[""] * rows for _ in range(_NAMED_WORDS + 1)]
    for row in range(rows):
        held = np.flatnonzero(present[:, row])
        chosen = held[_order_by_size(every[row, held])][:_NAMED_WORDS]
        named[row, : len(chosen)] = every[row, chosen]
        for at, place in enumerate(chosen.tolist()):
            values[at][row] = f"'{words[place]}'"
        left, absent = len(held) - len(chosen), len(words) - len(held)
        is_missing = bool(codes[places[0], row] == _MISSING)
        others = f"{absent} absent words"
        if left:
            others = f"{left} other word{'' if left == 1 else 's'}, {absent} absent"
        values[-1][row] = "missing" if is_missing else others
    most = min(int(present.sum(axis=0).max(initial=0)), _NAMED_WORDS)
    for at in range(most):
        yield named[:, at], values[at]
    yield every.sum(axis=1) - named.sum(axis=1), values[-1]


def _order_by_size(parts: FloatArray) -> NDArray[np.intp]:
    return np.argsort(-np.abs(parts).max(axis=1, initial=0.0), kind="stable")
