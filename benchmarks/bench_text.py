"""Naive Bayes on short texts against scikit-learn's CountVectorizer and its naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

import countwise as cw
from benchmarks.timing import best, row


def texts(rows: int) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Texts of 5 to 20 words whose frequencies follow Zipf's law, and two classes."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(50_000)])
    y = rng.integers(0, 2, rows)
    lengths = rng.integers(5, 21, rows)
    places = np.minimum(rng.zipf(1.3, lengths.sum()), len(words)) - 1
    # The words of the second class begin elsewhere, so that there is something to learn.
    shifted = (places + np.repeat(y, lengths) * 7) % len(words)
    pieces = np.split(words[shifted], np.cumsum(lengths)[:-1])
    return [" ".join(piece) for piece in pieces], np.array(["ham", "spam"])[y]


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure."""
    rows = 10_000 if quick else 100_000
    said, y = texts(rows)
    lines = []
    for name, peer in (("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)):

        def ours(name: str = name) -> Any:
            table = cw.read({"said": said}, target=y, text=["said"])
            return cw.NaiveBayes(text=name).fit(table).predict_proba(table)

        def theirs(peer: Any = peer) -> Any:
            counted = CountVectorizer().fit_transform(said)
            return peer().fit(counted, y).predict_proba(counted)

        lines.append(
            row(
                f"read, fit and predict {rows:,} short texts, {name}",
                best(ours, 3),
                f"CountVectorizer + {peer.__name__}",
                best(theirs, 3),
                ">= 1x",
            )
        )
    return lines
