"""Leave-one-out for words: what the words of a row add under a model of all other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.smoothing import Smoothing, smoothing_of
from countwise.models.bayes.leave_one_out import take_away
from countwise.models.bayes.score_terms import presence_logs
from countwise.models.bayes.words import (
    LEAST_SHARE,
    Places,
    Vocabulary,
    bernoulli_logs,
    in_enough_rows,
    join,
)

if TYPE_CHECKING:
    from countwise.models.bayes.leave_one_out import LeftOut

#: Figures that are held at a time.
_FIGURES = 1 << 22


@dataclass(frozen=True)
class _Cells:
    """One cell a word of a row: the row, the kept word, its times, and whether it stays known.

    A word that only this row lifted above `min_rows` is unknown to the model of the others.
    """

    row: Places
    word: Places
    times: FloatArray
    stays: NDArray[np.bool_]

    def between(self, first: int, last: int) -> _Cells:
        here = slice(first, last)
        return _Cells(self.row[here], self.word[here], self.times[here], self.stays[here])


class WordsLeftOut:
    """The words of one text column, each row taken out of the counts; figures are classes × rows.

    `model` is a naive Bayes fitted to all rows whose vocabulary is not cut to a number of words.
    """

    def __init__(self, model: Any, left_out: LeftOut, vocabulary: Vocabulary) -> None:
        counts, name = left_out.counts, vocabulary.column
        self.left_out, self.vocabulary = left_out, vocabulary
        self.rule: Smoothing = smoothing_of(model.smoothing)
        self.model, self.name, self.seen = model, name, counts.words[name, 1]
        self.rows, self.times = (
            join(counts, name, vocabulary.sizes, what)[:, vocabulary.places]
            for what in ("rows", "times")
        )
        self.in_rows = self.rows[:-1].sum(axis=0)
        self.rows, self.times = self.rows[left_out.present], self.times[left_out.present]

    def term(self) -> FloatArray:
        """Return what the text of each row adds to the score of each class."""
        table, present = self.left_out.table, self.left_out.present
        scores = np.zeros((len(present), len(table)))
        cells = self._cells()
        add = self._bernoulli if self.model.text == "bernoulli" else self._multinomial
        average = max(1, len(cells.row) // max(len(table), 1))
        step = max(1, _FIGURES // (average * len(present)))
        for start in range(0, len(table), step):
            stop = min(start + step, len(table))
            first, last = np.searchsorted(cells.row, [start, stop])
            scores[:, start:stop] = add(cells.between(first, last), start, stop)
        missing = table.missing(self.name)
        known, absent = self._presence(missing)
        return np.asarray(np.where(missing, absent, scores + known))

    def _cells(self) -> _Cells:
        """Return the kept words of all rows, in the order of the rows."""
        texts = self.left_out.table.texts(self.name)
        rows, words, times = [], [], []
        start = 0
        for size in self.vocabulary.sizes:
            index = texts.texts.index(size)
            counted = self.left_out.counts.words[self.name, size].vocabulary
            starts, at = index.of_rows(np.asarray(texts))
            place = _places(index.vocabulary, counted)[index.words[at]]
            rows.append(np.repeat(np.arange(len(texts)), np.diff(starts)))
            words.append(np.where(place >= 0, place + start, -1))
            times.append(index.times[at].astype(np.float64))
            start += len(counted)
        line = np.full(start + 1, -1, dtype=np.int64)
        line[self.vocabulary.places] = np.arange(len(self.vocabulary.places))
        row, word = np.concatenate(rows), line[np.concatenate(words)]
        kept = np.flatnonzero(word >= 0)
        kept = kept[np.argsort(row[kept], kind="stable")]
        row, word = row[kept], word[kept]
        others = take_away(self.in_rows[word], self.left_out.weight[row])
        stays = in_enough_rows(others, self.model.min_rows)
        return _Cells(row, word, np.concatenate(times)[kept], stays)

    def _multinomial(self, cells: _Cells, start: int, stop: int) -> FloatArray:
        row, number = cells.row - start, stop - start
        taken = self.left_out.weight[cells.row] * cells.times
        truth = self.left_out.truth[start:stop]
        count = self.times[:, cells.word]
        at = (truth[row], np.arange(len(row)))
        before = count.copy()
        count[at] = take_away(count[at], taken)
        total = np.repeat(self.times.sum(axis=1)[:, None], number, axis=1)
        # Of a word that the others do not know, nothing is left in any class.
        gone = np.where(cells.stays, before - count, before)
        for place, line in enumerate(gone):
            total[place] = take_away(total[place], _sum(row, line, number))
        known = len(self.in_rows) - np.bincount(row[~cells.stays], minlength=number)
        share = self.rule.share(count, total[:, row], known[row].astype(np.float64))
        logs = np.log(np.maximum(share, LEAST_SHARE)) * (cells.times * cells.stays)
        return np.stack([_sum(row, line, number) for line in logs])

    def _bernoulli(self, cells: _Cells, start: int, stop: int) -> FloatArray:
        row, number = cells.row - start, stop - start
        weight, truth = self.left_out.weight[start:stop], self.left_out.truth[start:stop]
        texts = self.seen.weight[self.left_out.present][:, None]
        held, lacking = bernoulli_logs(self.rows, texts, self.rule)
        scores = np.repeat(lacking.sum(axis=1)[:, None], number, axis=1)
        # The class of the row has fewer texts, so every word of it changes.
        own_texts = np.repeat(texts, number, axis=1)[truth, np.arange(number)]
        fewer = take_away(own_texts, weight)
        keys = np.stack([truth.astype(np.float64), weight], axis=1)
        _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        lacking_in_class = [
            self._lacking(self.rows[truth[at]], fewer[at]).sum() for at in first.tolist()
        ]
        scores[truth, np.arange(number)] = np.asarray(lacking_in_class)[place.reshape(-1)]
        added = np.where(cells.stays, held[:, cells.word], 0.0) - lacking[:, cells.word]
        at = (truth[row], np.arange(len(row)))
        before = self.rows[truth[row], cells.word]
        left = take_away(before, weight[row])
        both = np.stack([left, fewer[row] - left])[None]
        share = np.log(np.maximum(self.rule.shares(both)[0, 0], LEAST_SHARE))
        added[at] = np.where(cells.stays, share, 0.0) - self._lacking(before, fewer[row])
        scores += np.stack([_sum(row, line, number) for line in added])
        return scores

    def _lacking(self, rows: FloatArray, texts: Any) -> FloatArray:
        """Return the log share of texts without a word that is in so many rows of one class."""
        logs = bernoulli_logs(rows[None], np.asarray(texts), self.rule)[1]
        return np.asarray(logs[0])

    def _presence(self, missing: NDArray[np.bool_]) -> tuple[Any, Any]:
        """Return what having a text, and having none, adds where missing counts as a value."""
        if self.model.when_missing == "omit":
            return 0.0, 0.0
        slots, every = self.left_out.present, self.left_out.every
        seen, blank = (
            np.repeat(figures[slots, None], len(missing), axis=1)
            for figures in (self.seen.weight, self.seen.missing)
        )
        at = (self.left_out.truth, every)
        weight = self.left_out.weight
        seen[at] = take_away(seen[at], np.where(missing, 0.0, weight))
        blank[at] = take_away(blank[at], np.where(missing, weight, 0.0))
        return presence_logs(seen, blank, self.rule)


def _places(words: tuple[str, ...], counted: tuple[str, ...]) -> Places:
    """Return the place of each word among those that were counted; -1 if it was not."""
    place = {word: at for at, word in enumerate(counted)}
    return np.asarray([place.get(word, -1) for word in words], dtype=np.int64)


def _sum(row: Places, amounts: FloatArray, rows: int) -> FloatArray:
    """Return the sum of the amounts of each row."""
    return np.bincount(row, amounts, minlength=rows).astype(np.float64)
