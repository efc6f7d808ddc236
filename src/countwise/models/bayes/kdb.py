"""k-dependence Bayes: each attribute may depend on k others; weak attributes are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts
from countwise.counts.information import (
    conditional_information,
    information_gain,
    shared_information,
)
from countwise.counts.plan import Plan
from countwise.counts.smoothing import Smoothing, a_smoothing
from countwise.discretize import rare_levels
from countwise.discretize.recode import Recode
from countwise.errors import CountsError, listing
from countwise.models.bayes.counted import JointClassifier
from countwise.models.bayes.families import (
    Family,
    check_families,
    is_learned_once,
    note_learned_once,
    share_in_rows,
)
from countwise.models.bayes.score_terms import ScoreTerms
from countwise.notes import Note
from countwise.params import boolean, fitted, one_of, parameter, whole
from countwise.tables.scan import Scan
from countwise.tables.schema import Schema
from countwise.tables.table import Table


class KDB(JointClassifier):
    """Classify by naive Bayes in which each attribute may also depend on up to k stronger ones.

    Attributes are ranked by mutual information with the class; each one depends on the k before it
    with which it shares most, given the class (Sahami 1996), as far as the table of them all fits
    in memory. With `selective` only the best first part of the ranking is kept, judged by
    leave-one-out on the training rows, each row taken out of the counts as it is asked about
    (Martínez, Webb, Chen & Zaidi 2016).

    The ranking, the parents and the selection are learned in `fit` or the first `partial_fit`;
    later rows change the counts alone. Only where k is at most 1 and nothing is selected do the
    parents follow from the counts, and are renewed with them.

    Examples
    --------
    >>> import countwise as cw
    >>> model = cw.KDB(k=1, selective=True).fit(cw.read("sample:votes"))
    >>> model.families_[:2]
    (('physician-fee-freeze',), ('adoption-of-the-budget-resolution', 'physician-fee-freeze'))
    """

    k: int = parameter(
        whole(at_least=0),
        "largest number of other attributes that an attribute may depend on; 0 is naive Bayes",
        default=2,
        kw_only=False,
    )
    selective: bool = parameter(
        boolean(), "whether attributes that do not help are left out", default=True
    )
    smoothing: float | str | Smoothing | None = parameter(
        a_smoothing() | one_of("back-off"),
        "pseudo-count added to every count, the name of a rule, or 'back-off' (see TAN)",
        default="back-off",
    )
    families_: tuple[Family, ...] = fitted(
        "each attribute with those it depends on, the most informative first"
    )
    _passed_over: dict[str, list[str]] = fitted()
    #: Whether the families were learned from rows, because not all pairs can be kept.
    _learned_once: bool = fitted()
    _keeps_tree = True

    @property
    def _renews(self) -> bool:
        """Whether the families follow from the counts it keeps."""
        return self._pairs_suffice and not self._learned_once

    @property
    def _pairs_suffice(self) -> bool:
        """Whether the families follow from tables of two columns, so that they can be renewed."""
        return self.k <= 1 and not self.selective

    @property
    def cuts_suffice(self) -> bool:
        """Whether counts of every two columns are all it needs once numbers are cut."""
        return super().cuts_suffice and self._pairs_suffice

    def counts_needed(self, schema: Schema) -> Plan | None:
        """Count every two attributes by class; None with larger families or a selection."""
        return super().counts_needed(schema) if self._pairs_suffice else None

    def _plan(self, schema: Schema) -> Plan:
        return super()._plan(schema) if self._renews else Plan(self.families_)

    def _learn_recode(self, table: Table | Scan, weight: FloatArray | None) -> Recode:
        """Learn the families, too: both need the rows."""
        recode = super()._learn_recode(table, weight)
        seen = recode.apply(table)
        self._learned_once = is_learned_once(seen.schema)
        if self._renews:
            return recode
        single = Plan(tuple((column.name,) for column in seen.schema.nominal))
        counts = count(seen, single, sample_weight=weight)
        self.families_, self._passed_over = _families(
            counts, self.k, lambda ranked: share_in_rows(seen, ranked, weight)
        )
        if self.selective and self.families_ and counts.total > 0:
            from countwise.models.bayes.leave_one_out import best_prefix

            counts = count(seen, Plan(self.families_), sample_weight=weight)
            kept = best_prefix(seen, counts, self.families_, self._rule(), weight)
            self.families_ = self.families_[:kept]
        return recode

    def _take_counts(
        self, counts: Counts, schema: Schema, recode: Recode, table: Table | None = None
    ) -> Self:
        self._learned_once = False
        return super()._take_counts(counts, schema, recode, table)

    def fit_counts(self, counts: Counts) -> Self:
        """Learn from tables of two columns; larger families and selection need the rows."""
        if not self._pairs_suffice:
            raise CountsError(
                "KDB: families of more than two columns and leaving attributes out need the rows. "
                "Call fit(table), or use k=1 and selective=False on nominal columns."
            )
        return super().fit_counts(counts)

    def terms(self, counts: Counts) -> ScoreTerms:
        """Return the prior and one table a family."""
        if self._renews:
            self.families_, self._passed_over = _families(
                counts, self.k, lambda ranked: shared_information(counts, ranked)
            )
        return self._score_families(counts, self.families_)

    def _family_notes(self) -> tuple[Note, ...]:
        kept = {family[0] for family in self.families_}
        wide = (note_learned_once(self.schema_),) if self._learned_once else ()
        return wide + tuple(
            Note.of("P02", name, others=listing(others, 3))
            for name, others in self._passed_over.items()
            if name in kept
        )

    def _check_merge(self, other: Self) -> None:
        if not (self._renews and other._renews) and other.families_ != self.families_:
            raise CountsError(
                "KDB: only models of the same families merge; got different ones.",
                hint="Fit one model, and add the other rows with partial_fit.",
            )

    def after_load(self) -> None:
        """Make again what is not saved; refuse fields that do not fit each other."""
        check_families("KDB", self.families_, self.k)
        super().after_load()

    def _dependencies(self) -> Mapping[str, Sequence[tuple[str, float]]]:
        def bits(child: str, parent: str) -> float:
            return conditional_information(self.counts_.table(child, parent)[:-1, :-1, :-1])

        return {
            child: [(parent, bits(child, parent)) for parent in parents]
            for child, *parents in self.families_
        }


def _families(
    counts: Counts, k: int, share: Callable[[list[str]], FloatArray]
) -> tuple[tuple[Family, ...], dict[str, list[str]]]:
    """Return each attribute, the most informative first, with the k before it that share most.

    Of equally informative ones the first by name leads, of equal parents the more informative. A
    parent with which the table would not fit in memory is passed over; those are returned too.
    """
    # By name: where figures are equal, the order of columns must not decide.
    names = sorted(column.name for column in counts.schema.nominal)
    gain = {name: round(information_gain(counts.table(name)[:-1, :-1]), 12) for name in names}
    ranked = sorted(names, key=lambda name: -gain[name])
    shared = np.round(share(ranked), 12) if k else np.zeros((0, 0))
    most = rare_levels.MOST_PAIR_CELLS // max(len(names), 1)
    families, passed = [], dict[str, list[str]]()
    for place, name in enumerate(ranked):
        family, cells = [name], counts.table(name).size
        before = np.argsort(-shared[place, :place], kind="stable").tolist() if k else []
        for other in (ranked[at] for at in before):
            if len(family) > k:
                break
            wider = cells * (counts.schema[other].width + 1)
            if wider <= most or len(family) == 1:
                family, cells = [*family, other], wider
            else:
                passed.setdefault(name, []).append(other)
        families.append(tuple(family))
    return tuple(families), passed
