"""Words of text columns as terms of naive Bayes: which are kept, what each adds, which mattered.

Multinomial (McCallum & Nigam 1998): a text is a sequence of words, each drawn from the words of its
class, so a word adds log P(word | class) each time it occurs. Bernoulli: a text holds a word or
not, so each word of the vocabulary adds log P(in a text | class) or log P(not in a text | class).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.smoothing import Smoothing
from countwise.numeric import log_softmax
from countwise.tables.table import Table
from countwise.tables.words import WordIndex

if TYPE_CHECKING:
    from countwise.models.explanation import Explanation

#: What a text can be taken as.
TEXT_MODELS = ("multinomial", "bernoulli")
#: With nothing added to the counts, a word that a class never has gets this share.
LEAST_SHARE = 1e-10
#: Words of a row that an explanation names; the others are summed.
_NAMED_WORDS = 8

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Vocabulary:
    """The words (and pairs of words) of one text column that a model keeps.

    `places` are their places in the counted words, first of single words, then of pairs, as if one
    followed the other. `found` counts the words that might have been kept.
    """

    column: str
    sizes: tuple[int, ...]
    places: Places
    found: int

    @classmethod
    def choose(
        cls,
        counts: Counts,
        column: str,
        min_rows: float,
        max_words: int,
        stop_words: Collection[str],
    ) -> Vocabulary:
        """Keep the words in enough rows, at most so many, those that occur most often first."""
        sizes = tuple(size for name, size in counts.words if name == column)
        rows = join(counts, column, sizes, "rows")[:-1].sum(axis=0)
        kept = in_enough_rows(rows, min_rows)
        if stop_words:
            banned = frozenset(word.lower() for word in stop_words)
            words = (word for size in sizes for word in counts.words[column, size].vocabulary)
            kept &= np.asarray([banned.isdisjoint(word.split(" ")) for word in words], dtype=bool)
        places = np.flatnonzero(kept)
        found = len(places)
        if found > max_words:
            times = join(counts, column, sizes, "times")[:-1].sum(axis=0)[places]
            places = np.sort(places[np.argsort(-times, kind="stable")[:max_words]])
        return cls(column, sizes, places, found)

    @property
    def is_cut(self) -> bool:
        """Whether words were left out because there were too many."""
        return self.found > len(self.places)

    def words(self, counts: Counts) -> list[tuple[str, ...]]:
        """Return the words that are kept, by size; each list is sorted."""
        kept, start = [], 0
        for size in self.sizes:
            every = counts.words[self.column, size].vocabulary
            here = self.places[(self.places >= start) & (self.places < start + len(every))] - start
            kept.append(tuple(every[place] for place in here.tolist()))
            start += len(every)
        return kept


def in_enough_rows(rows: FloatArray, min_rows: float) -> NDArray[np.bool_]:
    """Return which words are in enough rows; what rounding takes from fractions does not count."""
    return (rows > 0) & (rows >= min_rows * (1 - 1e-12))


def join(counts: Counts, column: str, sizes: Sequence[int], what: str) -> FloatArray:
    """Return rows or times of all words, then of all pairs: class slots × words."""
    return np.concatenate([counts.words[column, size].table(what) for size in sizes], axis=1)


def multinomial_logs(times: FloatArray, rule: Smoothing) -> FloatArray:
    """Return log P(word | class), classes × words, from how often each word occurs."""
    return np.log(np.maximum(rule.shares(times), LEAST_SHARE))


def bernoulli_logs(
    rows: FloatArray, weight: FloatArray, rule: Smoothing
) -> tuple[FloatArray, FloatArray]:
    """Return the logs of the share of texts with each word, and of those without it."""
    both = np.stack([rows, weight - rows], axis=1)
    logs = np.log(np.maximum(rule.shares(both), LEAST_SHARE))
    return logs[:, 0], logs[:, 1]


@dataclass(frozen=True)
class WordsTerm:
    """What the words of a text add to each class; a missing text adds `missing`.

    `figures` are words × classes, `base` is what every text adds. With `binary` a word counts
    once a text. `prior` is set where terms are posteriors: then the sum is normalized.
    """

    columns: tuple[str, ...]
    words: tuple[tuple[int, tuple[str, ...]], ...]  # by size, 1 for words and 2 for pairs
    figures: FloatArray
    base: FloatArray
    missing: FloatArray
    binary: bool = False
    prior: FloatArray | None = None

    def add(self, table: Table, start: int, stop: int, scores: FloatArray) -> None:
        """Add up the words of each row."""
        texts = table.texts(self.columns[0])[start:stop]
        codes = np.asarray(texts)
        part = np.zeros_like(scores)
        known_words = np.zeros(len(part), dtype=bool)
        for size, _ in self.words:
            index = texts.texts.index(size)
            starts, at = index.of_rows(codes)
            places = self.lookup(size, index)[index.words[at]]
            times = np.ones(len(at)) if self.binary else index.times[at].astype(np.float64)
            cells = csr_array((times, places, starts), shape=(len(codes), len(self.figures) + 1))
            part += cells @ self._lines
            known = np.concatenate([[0], np.cumsum(places < len(self.figures))])
            known_words |= known[starts[1:]] > known[starts[:-1]]
        part += self.base
        if self.prior is not None:
            part = log_softmax(part + self.prior)
            # Where no word is known and absence says nothing, neither does the text.
            part[~(known_words | self.binary)] = 0.0
        part[codes < 0] = self.missing
        scores += part

    @cached_property
    def _lines(self) -> FloatArray:
        """The figures, and a line of zeros for words that are not kept."""
        return np.concatenate([self.figures, np.zeros((1, self.figures.shape[1]))])

    @cached_property
    def _places(self) -> dict[int, dict[str, int]]:
        start, places = 0, dict[int, dict[str, int]]()
        for size, words in self.words:
            places[size] = {word: start + at for at, word in enumerate(words)}
            start += len(words)
        return places

    def lookup(self, size: int, index: WordIndex) -> Places:
        """Return the line of each word of an index; that of zeros for words that are not kept."""
        last = self.__dict__.get("_last", {})
        if last.get(size, (None,))[0] is not index:
            place, none = self._places[size], len(self.figures)
            lines = np.asarray([place.get(word, none) for word in index.vocabulary], dtype=np.int64)
            # Rows come in chunks of one table, whose words are looked up once.
            self.__dict__["_last"] = last = {**last, size: (index, lines)}
        found: Places = last[size][1]
        return found

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All words and pairs, in the order of `figures`."""
        return tuple(word for _, words in self.words for word in words)

    def of_row(self, table: Table, row: int) -> dict[int, float]:
        """Return how many times each kept word is in a row, by its line in `figures`."""
        texts = table.texts(self.columns[0])[row : row + 1]
        found: dict[int, float] = {}
        for size, _ in self.words:
            index = texts.texts.index(size)
            _, at = index.of_rows(np.asarray(texts))
            lines = self.lookup(size, index)[index.words[at]].tolist()
            times = [1] * len(at) if self.binary else index.times[at].tolist()
            found |= {ln: n for ln, n in zip(lines, times, strict=True) if ln < len(self.figures)}
        return found


def name_words(why: Explanation, table: Table, terms: Sequence[object]) -> Explanation:
    """Return an explanation in which the words that mattered most have parts of their own.

    The words differ from row to row, so each text column has a few parts whose values are words;
    its last part sums all others.
    """
    attributes: list[str] = []
    values: list[list[str]] = [[] for _ in range(len(why))]
    parts: list[FloatArray] = []
    for place, term in enumerate(terms):
        if not isinstance(term, WordsTerm):
            attributes.append(why.attributes[place])
            parts.append(why.parts[:, place])
            for row, cells in enumerate(values):
                cells.append(why.values[row][place])
            continue
        every = [_name_words_of(term, table, row) for row in range(len(why))]
        most = max((len(words) for words, _, _ in every), default=0)
        named = np.zeros((len(why), most, len(why.classes)))
        rest = why.parts[:, place].copy()
        for row, (words, figures, others) in enumerate(every):
            named[row, : len(figures)] = figures
            rest[row] -= figures.sum(axis=0)
            values[row] += [*words, *[""] * (most - len(words)), others]
        attributes += [term.columns[0]] * (most + 1)
        parts += [*named.transpose(1, 0, 2), rest]
    return replace(
        why,
        attributes=tuple(attributes),
        values=tuple(map(tuple, values)),
        parts=np.stack(parts, axis=1) if parts else why.parts,
    )


def _name_words_of(term: WordsTerm, table: Table, row: int) -> tuple[list[str], FloatArray, str]:
    """Return the words of a row that matter most, what they add, and what is left of the text."""
    found = term.of_row(table, row)
    lines = np.asarray(list(found), dtype=np.int64)
    added = term.figures[lines] * np.asarray(list(found.values()), dtype=np.float64)[:, None]
    order = np.argsort(-np.ptp(added, axis=1), kind="stable")[:_NAMED_WORDS]
    times = list(found.values())
    words = [
        f"'{term.vocabulary[lines[at]]}'" + (f" × {times[at]}" if times[at] > 1 else "")
        for at in order.tolist()
    ]
    left = len(found) - len(words)
    others = f"{left or 'no'} other word{'' if left == 1 else 's'}"
    if term.binary:
        others += f", {len(term.figures) - len(found)} absent ones"
    if table.missing(term.columns[0])[row]:
        others = "missing"
    return words, added[order], others
