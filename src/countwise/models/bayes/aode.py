"""Averaged one-dependence estimators: every attribute in turn is the parent of all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.smoothing import Smoothing, a_smoothing
from countwise.models.bayes import _score_terms
from countwise.models.bayes.counted import JointClassifier
from countwise.models.bayes.score_terms import (
    ZERO,
    ScoreTerms,
    TableTerm,
    child_figures,
    sum_out_missing,
)
from countwise.models.explanation import Explanation
from countwise.numeric import logs_of
from countwise.parallel import in_chunks
from countwise.params import number, one_of, parameter
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.bayes.leave_one_out import LeftOut

_CHUNK = 1 << 14
#: Where the terms of a parent are computed for each chunk, a chunk is longer.
_LONG_CHUNK = 1 << 18
#: Rows that are scored without themselves at a time: so many, or as many as have so many figures.
_FEW_ROWS, _FIGURES = 1 << 8, 1 << 20
#: Figures of all parents together that are kept after learning. Joined for speed they take a few
#: times this; more of them are computed from the counts whenever rows are scored.
MOST_FIGURES = 1 << 23


class AODE(JointClassifier):
    """Classify by the average of all models in which one attribute is the parent of the others.

    Σ_i P(c, x_i) Π_j P(x_j | c, x_i), over the attributes i whose value was seen at least
    `frequency_limit` times (Webb, Boughton & Wang 2005); if there is none, naive Bayes answers. A
    missing or unseen attribute is neither parent nor child.

    Examples
    --------
    >>> import countwise as cw
    >>> votes = cw.read("sample:votes")
    >>> model = cw.AODE().fit(votes)
    >>> bool(model.score(votes.take(slice(0, 200)), votes.labels[:200]) > 0.92)
    True
    """

    smoothing: float | str | Smoothing | None = parameter(
        a_smoothing() | one_of("back-off"),
        "pseudo-count added to every count, the name of a rule, or 'back-off' (see TAN)",
        default="back-off",
        kw_only=False,
    )
    frequency_limit: float = parameter(
        number(at_least=0),
        "an attribute is used as a parent only if its value occurred at least this often in "
        "training",
        default=1,
    )

    def terms(self, counts: Counts) -> ScoreTerms:
        """Return the naive Bayes fallback; keep the terms of each parent beside it."""
        names = [column.name for column in counts.schema.nominal]
        self._often = {name: _often(self.by_class(counts.table(name))) for name in names}
        alone = self._score_families(counts, [(name,) for name in names])
        self._parents = ParentTerms(counts, names, alone.base, self._present, self._rule())
        return alone

    def _allowed(self, table: Table) -> NDArray[np.bool_]:
        """Return which attributes (lines) may be the parent of which rows."""
        allowed = np.empty((len(self._often), len(table)), dtype=bool)
        for place, (name, often) in enumerate(self._often.items()):
            seen = often >= max(self.frequency_limit, 1e-300)
            allowed[place] = seen[table.codes(name)]
        return allowed

    @property
    def sum_of_terms(self) -> None:
        """The score is a mean over models, no sum of terms."""
        return None

    def _raw_scores(self, table: Table) -> FloatArray:
        table = self._view(table)
        scores = np.empty((len(table), len(self.classes_)))
        step = _CHUNK if self._parents.kept else _LONG_CHUNK
        in_chunks(len(table), step, lambda start, stop: self._average(table, start, stop, scores))
        return scores

    def _average(self, table: Table, start: int, stop: int, out: FloatArray) -> None:
        """Write the log of the parents' average, for some of the rows."""
        part = table.take(slice(start, stop))
        allowed = self._allowed(part)
        top, total = out[start:stop], np.zeros((stop - start, len(self.classes_)))
        top[:] = -np.inf
        scores = np.empty_like(total)
        for parent, may_lead in zip(self._parents, allowed, strict=True):
            if may_lead.any():
                parent.fill(table, start, stop, scores)
                _score_terms.add_up(scores, may_lead.view(np.uint8), top, total)
        number = allowed.sum(axis=0)
        top += logs_of(total)
        top -= np.log(np.maximum(number, 1))[:, None]
        self._mend(part, number == 0, top)

    def _mend(self, table: Table, alone: NDArray[np.bool_], total: FloatArray) -> None:
        """Let naive Bayes answer where no attribute may be the parent or no class is possible."""
        unanswered = np.flatnonzero(alone | (total.max(axis=1) <= ZERO / 2))
        if len(unanswered):
            part = table.take(unanswered)
            plain = self._model.scores(part)
            beyond = np.flatnonzero(plain.max(axis=1) <= ZERO / 2)
            if len(beyond):
                plain[beyond] = self._rescue(part.take(beyond))
            total[unanswered] = plain
        total[total <= ZERO / 2] = -np.inf

    def _best(self, table: Table) -> NDArray[np.int64]:
        return np.asarray(self._raw_scores(table).argmax(axis=1))

    def _scores_without(self, left_out: LeftOut) -> FloatArray | None:
        names, rows, counts = list(self._often), len(left_out.table), left_out.counts
        families = []
        for child in names:
            single = counts.table(child)[:, :-1, None]
            pairs = [counts.table(child, name)[:, :-1] for name in names if name != child]
            if not isinstance(self._rule(), str):
                pairs = [sum_out_missing(table, 1, 1) for table in pairs]
            place = names.index(child)
            families.append([*pairs[:place], single, *pairs[place:]])
        scores = np.empty((len(self.classes_), rows))

        def fill(start: int, stop: int) -> None:
            part = left_out.part(start, stop)
            scores[:, start:stop] = self._average_without(part, families)

        in_chunks(rows, max(_FEW_ROWS, _FIGURES // (len(names) * len(scores) or 1)), fill)
        return scores

    def _average_without(
        self, left_out: LeftOut, families: Sequence[list[FloatArray]]
    ) -> FloatArray:
        """Return the scores of rows (classes × rows) by the tables of each child with all parents.

        The table of the child alone stands where it would be its own parent.
        """
        from countwise.models.bayes.leave_one_out import LogProducts

        rule, names = self._rule(), list(self._often)
        prior = logs_of(left_out.class_weights())
        codes = [left_out.codes(name) for name in names]
        shape = (len(left_out.table), len(prior))
        alone, led = LogProducts((1, *shape)), LogProducts((len(names), *shape))
        for place, (child, tables) in enumerate(zip(names, families, strict=True)):
            left_out.multiply_shares(child, tables[place : place + 1], codes[:1], rule, alone)
            left_out.multiply_shares(child, tables, codes, rule, led)
        top, total = np.full(shape, -np.inf), np.zeros(shape)
        least = max(self.frequency_limit, 1e-9)
        scores = np.maximum(led.sums(), ZERO)
        for score, often, code in zip(scores, self._often.values(), codes, strict=True):
            may_lead = often[code] - left_out.weight >= least
            _score_terms.add_up(score, may_lead.view(np.uint8), top, total)
        joined = prior + (top + logs_of(total)).T
        joined[joined <= ZERO / 2] = -np.inf
        found = np.isfinite(joined).any(axis=0)
        return np.asarray(np.where(found, joined, prior + alone.sums()[0].T))

    def explain(self, X: Any) -> Explanation:
        """Return what each attribute adds; the parents' average enters by how much each one weighs.

        With weights r_i of the parents, log Σ exp(s_i) = Σ r_i s_i - Σ r_i log r_i: the first sum
        is split by attribute, the second is the part called *spread over parents*.
        """
        rows = self._rows(X)
        table = self._view(rows)
        names = list(self._often)
        allowed = self._allowed(table).T
        scores = np.stack([parent.scores(table) for parent in self._parents], axis=1)
        scores = np.where(allowed[:, :, None], scores, -np.inf)
        top = scores.max(axis=1, keepdims=True)
        safe = np.where(np.isfinite(top), top, 0.0)
        share = np.exp(scores - safe)
        whole = share.sum(axis=1, keepdims=True)
        share = np.divide(share, whole, out=np.zeros_like(share), where=whole > 0)
        parts = np.zeros((len(table), len(names) + 1, len(self.classes_)))
        for place, parent in enumerate(self._parents):
            order = [names[place], *(n for n in names if n != names[place])]
            added = parent.parts(table)
            for at, name in enumerate(order):
                parts[:, names.index(name)] += share[:, place] * added[:, at]
        logs = np.log(share, out=np.zeros_like(share), where=share > 0)
        spread = -(share * logs).sum(axis=1)
        spread -= np.log(np.maximum(allowed.sum(axis=1, keepdims=True), 1))
        parts[:, -1] = spread
        fallback = np.flatnonzero(~allowed.any(axis=1))
        if len(fallback):
            parts[fallback] = 0.0
            parts[fallback, :-1] = self._model.parts(table.take(fallback))
        plain = self._build_explanation(table, parts[:, :-1], self._raw_scores(rows))
        return self._temper(
            replace(
                plain,
                attributes=(*plain.attributes, "spread over parents"),
                values=tuple((*line, "") for line in plain.values),
                parts=parts,
            )
        )


def _often(table: FloatArray) -> FloatArray:
    """Return how often each level occurs; missing and unseen never count."""
    return np.concatenate([table[:, :-1].sum(axis=0), [0.0, 0.0]])


class ParentTerms:
    """The terms of every parent in turn: kept where they are few, else computed as they are asked.

    The figures of all parents hold each pair of attributes twice, with a line for every class. For
    279 columns of five levels and 13 classes they and their joined tables would take 2 GB, where
    the counts take 0.15; computed one parent at a time, they take 2 MB.
    """

    def __init__(
        self,
        counts: Counts,
        names: Sequence[str],
        base: FloatArray,
        present: NDArray[np.intp],
        rule: Smoothing | str,
    ) -> None:
        self._counts, self._names, self._base = counts, list(names), base
        self._present, self._rule = present, rule
        widths = np.array([counts.schema[name].width + 2.0 for name in names])
        figures = len(base) * (widths.sum() ** 2 - (widths**2).sum())
        self.kept = bool(figures <= MOST_FIGURES)
        self._all = [self._terms(parent) for parent in names] if self.kept else []

    def __iter__(self) -> Iterator[ScoreTerms]:
        """Give the terms of each parent, in the order of the attributes."""
        return iter(self._all) if self.kept else map(self._terms, self._names)

    def _terms(self, parent: str) -> ScoreTerms:
        """Return the terms of one parent: its table, then that of each child."""
        by_width: dict[int, list[str]] = {}
        for child in self._names:
            if child != parent:
                by_width.setdefault(self._counts.schema[child].width, []).append(child)
        figures: dict[str, FloatArray] = {}
        for children in by_width.values():
            figures.update(zip(children, self._figures(parent, children), strict=True))
        alone = child_figures(self._counts.table(parent)[self._present], self._rule)
        tables = [
            TableTerm((child, parent), figures[child]) for child in self._names if child != parent
        ]
        return ScoreTerms(self._base, [TableTerm((parent,), alone), *tables], join=self.kept)

    def _figures(self, parent: str, children: Sequence[str]) -> FloatArray:
        """Return the figures of children of one width, computed together: children first."""
        tables = np.stack([self._counts.table(child, parent) for child in children], axis=-1)
        figures = child_figures(tables[self._present], self._rule, parents=1)
        return np.ascontiguousarray(np.moveaxis(figures, 2, 0))
