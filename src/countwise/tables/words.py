"""Free text as words: the texts of a column are split once, and rows refer to them by code.

A word is a run of letters, marks, digits and underscores in any script, with the apostrophes inside
it; case does not count. Arrow splits the texts; everything else looks at the distinct words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.parallel import blocks

#: What stands between words. An apostrophe stays here and goes from the ends of a word later.
_BETWEEN = r"[^\p{L}\p{M}\p{N}_'’]+"
#: Texts that Arrow splits at a time, which bounds the memory.
_BLOCK = 1 << 16
#: Texts that are looked at to tell what a column holds.
_SAMPLED = 1000
#: Characters of a text that a line shows.
_SHOWN = 40

Starts = NDArray[np.int64]
Places = NDArray[np.int32]


def split_words(text: str) -> list[str]:
    """Return the words of one text in order, as the words of a column of texts are found.

    Examples
    --------
    >>> split_words("Don't panic: it's 'Égalité', 42!")
    ["don't", 'panic', "it's", 'égalité', '42']
    """
    vocabulary, _, places = _split((text,))
    return [vocabulary[place] for place in places.tolist()]


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Which words each text holds, and how many times, in the order of their first place.

    The words of text ``i`` are ``words[starts[i]:starts[i + 1]]``, places in the sorted
    `vocabulary`.
    """

    vocabulary: tuple[str, ...]
    starts: Starts
    words: Places
    times: Places

    def of_rows(self, codes: ArrayLike) -> tuple[Starts, NDArray[np.int64]]:
        """Return where the words of rows with these texts lie: starts a row, and positions."""
        codes = np.asarray(codes)
        # Code -1, a missing text, takes the last entry.
        first, length = self.starts[codes], np.append(np.diff(self.starts), 0)[codes]
        starts = _starts(length)
        step = np.repeat(first - starts[:-1], length)
        return starts, step + np.arange(starts[-1])


class Texts:
    """The distinct texts of a column, split into words when they are first counted."""

    __slots__ = ("_in_order", "_indexes", "_lock", "texts")

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)
        self._in_order: tuple[tuple[str, ...], Starts, Places] | None = None
        self._indexes: dict[int, WordIndex] = {}
        self._lock = Lock()

    def index(self, size: int = 1) -> WordIndex:
        """Return the index of single words, or of pairs of words in a row."""
        with self._lock:
            if self._in_order is None:
                self._in_order = _split(self.texts)
            if size not in self._indexes:
                self._indexes[size] = (_index if size == 1 else _pairs)(*self._in_order)
            return self._indexes[size]


def _pairs(vocabulary: tuple[str, ...], starts: Starts, places: Places) -> WordIndex:
    """Return the index of two words in a row within a text."""
    number = np.diff(starts)
    text = np.repeat(np.arange(len(number)), number)
    first = np.flatnonzero(text[:-1] == text[1:])
    width = np.int64(max(len(vocabulary), 1))
    keys = places[first] * width + places[first + 1]
    distinct, place = np.unique(keys, return_inverse=True)
    names = [
        f"{vocabulary[one]} {vocabulary[two]}"
        for one, two in zip((distinct // width).tolist(), (distinct % width).tolist(), strict=True)
    ]
    # Pairs in the order of their first words are nearly, but not quite, in the order of texts.
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int32)
    rank[order] = np.arange(len(names))
    starts = _starts(np.bincount(text[first], minlength=len(number)))
    return _index(tuple(names[at] for at in order), starts, rank[place.reshape(-1)])


def _starts(lengths: NDArray[Any]) -> Starts:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _index(vocabulary: tuple[str, ...], starts: Starts, places: Places) -> WordIndex:
    """Count equal words of a text together."""
    text = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = text * np.int64(max(len(vocabulary), 1)) + places
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    # The order within a text is that of the text, so that sums do not depend on other texts.
    order = np.argsort(first, kind="stable")
    first = first[order]
    length = np.bincount(text[first], minlength=len(starts) - 1)
    return WordIndex(
        vocabulary,
        _starts(length),
        places[first],
        times[order].astype(np.int32),
    )


def _split(texts: Sequence[str]) -> tuple[tuple[str, ...], Starts, Places]:
    """Return the sorted vocabulary, where the words of each text begin, and the words' places."""
    if not len(texts):
        return (), np.zeros(1, np.int64), np.empty(0, np.int32)
    import pyarrow as pa
    import pyarrow.compute as pc

    known: dict[str, int] = {}
    found, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for block in blocks(len(texts), _BLOCK):
        part = texts[block]
        try:
            array = pa.array(part, pa.large_string())
        except UnicodeEncodeError:  # half of a surrogate pair is no character
            array = pa.array([t.encode("utf-8", "replace").decode() for t in part])
        pieces = pc.split_pattern_regex(array, _BETWEEN)
        encoded = pc.dictionary_encode(pieces.flatten())
        words = [_plain(word) for word in encoded.dictionary.to_pylist()]
        lookup = [known.setdefault(word, len(known)) if word else -1 for word in words]
        places = np.asarray(lookup, np.int32)[encoded.indices.to_numpy()]
        number = pc.list_value_length(pieces).to_numpy(zero_copy_only=False)
        text = np.repeat(np.arange(len(part)), number)
        keep = places >= 0
        found.append(places[keep])
        lengths.append(np.bincount(text[keep], minlength=len(part)))
    vocabulary = tuple(sorted(known))
    rank = np.empty(len(vocabulary) + 1, np.int32)
    rank[[known[word] for word in vocabulary]] = np.arange(len(vocabulary))
    starts = _starts(np.concatenate(lengths))
    return vocabulary, starts, rank[np.concatenate(found)]


def _plain(word: str) -> str:
    """Return a word as it is counted: composed, in lower case, without quotes at its ends."""
    if not word.isascii():
        word = unicodedata.normalize("NFC", word).replace("’", "'")
    return word.lower().strip("'")


class TextCodes(np.ndarray[Any, np.dtype[np.int32]]):
    """The texts of rows as codes into the distinct `texts`; -1 is a missing text."""

    texts: Texts

    def __array_finalize__(self, source: Any) -> None:
        if source is not None:
            self.texts = getattr(source, "texts", NO_TEXTS)

    def __getitem__(self, index: Any) -> Any:
        """Return the codes of some rows, which know the texts, or one code."""
        return super().__getitem__(index)

    def decode(self) -> NDArray[np.object_]:
        """Return the texts of the rows as they were written, None where missing."""
        every = np.empty(len(self.texts.texts) + 1, dtype=object)
        every[:-1] = self.texts.texts
        return np.asarray(every[np.asarray(self)])

    def shorten(self, row: int) -> str:
        """Return the beginning of one text in quotes, or nothing if it is missing."""
        code = int(self[row])
        text = " ".join(self.texts.texts[code].split()) if code >= 0 else ""
        return "" if code < 0 else f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}…'"

    def __reduce__(self) -> tuple[Any, ...]:
        return text_codes, (np.asarray(self), self.texts.texts)


def text_codes(codes: ArrayLike, texts: Sequence[str] | Texts) -> TextCodes:
    """Return codes that know their texts; the texts are split into words."""
    array = np.array(codes, dtype=np.int32).view(TextCodes)
    array.texts = texts if isinstance(texts, Texts) else Texts(texts)
    return array


#: The texts of a column without any.
NO_TEXTS = Texts(())


def join_cells(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the cells of several blocks of rows one after the other; texts are put together."""
    if not all(isinstance(part, TextCodes) for part in parts):
        return np.concatenate(parts)
    place: dict[str, int] = {}
    codes = [np.empty(0, np.int32)]
    for part in parts:
        assert isinstance(part, TextCodes)
        used, at = np.unique(np.asarray(part), return_inverse=True)
        every = (*part.texts.texts, None)
        texts = [every[code] for code in used.tolist()]
        new = [-1 if text is None else place.setdefault(text, len(place)) for text in texts]
        codes.append(np.asarray(new, np.int32)[at.reshape(-1)])
    return text_codes(np.concatenate(codes), tuple(place))


def count_words(texts: Sequence[Any]) -> float:
    """Return how many words the first texts hold on average; those without a letter do not count.

    Examples
    --------
    >>> count_words(["to be or not", "12 Main Street"])
    3.0
    """
    sample = texts[:_SAMPLED]
    words = sum(any(map(str.isalpha, word)) for text in sample for word in str(text).split())
    return words / max(len(sample), 1)
