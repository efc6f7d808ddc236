"""Evaluate models on rows outside memory: a few scans train all folds, one more scores them.

The fold of a row follows from a hash of where the row is (its file or partition and its number
there) or of its group, never from its content or the order of arrival. No row and no prediction is
kept: scores follow from sums over the rows of each fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.plan import Plan
from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.errors import CountwiseError, ParameterError, listing
from countwise.evaluation.candidates import Candidate, Learner, list_learners, read_candidates
from countwise.evaluation.from_counts import predict_rows
from countwise.evaluation.predictions import (
    Entry,
    HeldOut,
    Output,
    Predictions,
    Tally,
    apply_rule,
)
from countwise.evaluation.scores import FoldResult, add_tallies, check_tallied, tally_rows
from countwise.evaluation.shared_passes import Place, SharedPasses, rows_of_places
from countwise.evaluation.trials import Trials
from countwise.notes import Note
from countwise.progress import Progress, Steps
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import add_by_key, run_pass
from countwise.tables.scan_sample import hash_rows
from countwise.tables.schema import Schema
from countwise.tables.table import Table

#: Models by name and fold; None stands for the baseline.
Fitted = dict[tuple[str, Place], Any]


@dataclass(frozen=True)
class _Run:
    """What is evaluated, and how rows are dealt to folds."""

    scan: Scan
    candidates: Sequence[Candidate]
    learners: Sequence[Learner]
    gain: GainMatrix | None
    folds: int
    repeats: int
    seed: int
    groups: str | None

    @property
    def places(self) -> list[Place]:
        """All folds of all repeats."""
        return [Place(r, f) for r in range(self.repeats) for f in range(self.folds)]

    def fold_of(self, block: Block) -> NDArray[np.intp]:
        """Return the fold of each row of a block, one column a repeat."""
        hashes = [self._hash(block, self.seed + repeat) for repeat in range(self.repeats)]
        return np.stack([(h % np.uint64(self.folds)).astype(np.intp) for h in hashes], axis=1)

    def first_plan(self, schema: Schema) -> Plan:
        """Return what the first scan counts: all that models learn from without cutting numbers."""
        schema, plan = self.see_schema(schema), Plan()
        for learner in self.learners:
            if hasattr(learner.model, "fit_counts"):
                needed = learner.model.counts_needed(schema)
                plan |= Plan.each(schema, numeric="grid") if needed is None else needed
        return plan

    def see_schema(self, schema: Schema) -> Schema:
        """Return the columns that models see: not the one of groups."""
        if self.groups is None:
            return schema
        return Schema(tuple(column for column in schema if column.name != self.groups))

    def see(self, table: Table) -> Table:
        """Return the columns of a block that models see."""
        if self.groups is None:
            return table
        return table.select([c.name for c in table.schema.attributes if c.name != self.groups])

    def training(self, passes: SharedPasses, place: Place) -> Scan:
        """Return the rows that a fold trains on."""
        rows = passes.rows_of(place)
        if self.groups is None:
            return rows
        return rows.map(self.see, self.see_schema(rows.schema))

    def _hash(self, block: Block, seed: int) -> NDArray[np.uint64]:
        if self.groups is None:
            return hash_rows(block, seed)
        return hash_groups(block.table, self.groups, seed)


def hash_groups(table: Table, name: str, seed: int) -> NDArray[np.uint64]:
    """Return a hash of the group of each row and a seed; rows without one are a group."""
    column, cells = table.schema[name], table.raw_array(name)
    texts: Sequence[Any]
    if column.coded:
        texts, places = [*column.levels, None], np.asarray(cells, dtype=np.int64)
    else:
        values, places = np.unique(np.asarray(cells, dtype=np.float64), return_inverse=True)
        texts = values.tolist()
    hashes = [blake2b(f"{seed} {text}".encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)[places.reshape(-1)]


def evaluate_scan(
    models: Any,
    scan: Scan,
    *,
    folds: Any,
    repeats: int,
    random_state: Any,
    groups: Any,
    gain: Gains | None,
    score: str | None,
    progress: Progress | None,
    refused: Mapping[str, bool],
) -> Trials:
    """Compare models on rows outside memory; see `evaluate`."""
    _check(scan, folds, random_state, groups, refused)
    if score is not None:
        check_tallied(score)
    candidates = read_candidates("evaluate", models, None)
    learners = list_learners(candidates)
    run = _Run(scan, candidates, learners, None, int(folds), repeats, int(random_state), groups)
    steps = Steps(progress, 4)
    passes = SharedPasses(scan, run.fold_of, steps.advance)
    passes.count_first(run.first_plan)
    if gain is not None:
        matrix = GainMatrix.of(gain, scan.classes)
        candidates = read_candidates("evaluate", models, matrix)
        run = replace(run, candidates=candidates, gain=matrix)
    weights = passes.weigh(run.places)
    shares = {place: weight / weight.sum() for place, weight in weights.items()}
    fitted, seconds, left_out = _fit_folds(run, passes)
    if left_out:
        candidates = [one for one in candidates if one.learner not in left_out]
        run = replace(run, candidates=candidates)
        if all(one.baseline for one in candidates):
            raise next(iter(left_out.values()))
    tallies = _score_rows(run, fitted, shares)
    steps.advance("scored")
    return _trials(run, tallies, seconds, passes.scans + 1, left_out, score)


def _check(
    scan: Scan, folds: Any, random_state: Any, groups: Any, refused: Mapping[str, bool]
) -> None:
    for name, is_given in refused.items():
        if is_given:
            raise ParameterError(
                f"evaluate: `{name}=` needs rows in memory; got a Scan.",
                hint="Use `folds=`, `repeats=` and `groups=`, or evaluate rows.sample(100_000).",
            )
    whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool)
    if not whole or folds < 2:
        rule = "a whole number of at least 2 where rows are scanned"
        raise ParameterError("evaluate", "folds", rule, folds)
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        rule = "a whole number where rows are scanned"
        raise ParameterError("evaluate", "random_state", rule, random_state)
    if groups is not None and (not isinstance(groups, str) or groups not in scan.first_schema):
        names = listing([column.name for column in scan.first_schema.attributes])
        raise ParameterError(
            "evaluate",
            "groups",
            f"the name of a column that is read, one of {names}",
            groups,
            "If it was left out as an identifier, declare it with `nominal=` when scanning.",
        )


def _fit_folds(
    run: _Run, passes: SharedPasses
) -> tuple[Fitted, dict[Place, float], dict[str, CountwiseError]]:
    """Train every model of every fold; return those that need rows in memory apart."""
    left_out: dict[str, CountwiseError] = {}

    def fit(learner: Learner, place: Place) -> Any:
        if learner.baseline:
            return None
        try:
            return clone(learner.model).fit(run.training(passes, place))
        except CountwiseError as error:
            left_out.setdefault(learner.name, error)
            return None

    started = perf_counter()
    jobs = {
        (learner.name, place): partial(fit, learner, place)
        for learner in run.learners
        for place in run.places
    }
    fitted = passes.fit_all(jobs)
    each = (perf_counter() - started) / max(len(jobs), 1)
    return fitted, dict.fromkeys(run.places, each), left_out


def _score_rows(
    run: _Run, fitted: Fitted, shares: Mapping[Place, FloatArray]
) -> dict[tuple[str, Place], Tally]:
    """Score every row by the models of its folds, in one scan."""
    used = {one.learner for one in run.candidates}

    def fold(block: Block) -> dict[tuple[str, Place], Tally]:
        seen, found = run.see(block.table), {}
        for place, tested in rows_of_places(run.fold_of(block)):
            table = seen.take(tested)
            outputs = {name: _predict(fitted[name, place], table, shares[place]) for name in used}
            for one in run.candidates:
                result = _result(run, one, outputs[one.learner], place, table)
                tally = replace(
                    tally_rows(result), predict_seconds=outputs[one.learner].predict_seconds
                )
                found[one.name, place] = tally
        return found

    total: dict[tuple[str, Place], Tally] = run_pass(run.scan, fold, add_by_key)
    return total


def _predict(model: Any, table: Table, shares: FloatArray) -> Output:
    """Return the posteriors of a model, or the class shares of its training rows for every row."""
    if model is None:
        return Output(np.broadcast_to(shares, (len(table), len(shares))), shares, 0.0, 0.0)
    return predict_rows(model, table, shares, 0.0)


def _result(
    run: _Run, candidate: Candidate, output: Output, place: Place, table: Table
) -> FoldResult:
    classes = tuple(run.scan.classes)
    entry = apply_rule(candidate, [output], classes)
    numbers = np.arange(len(table))
    held_out = HeldOut(place.repeat, place.fold, numbers, table.target, None, 0)
    return FoldResult(classes, entry, held_out, entry.predictions[0], run.gain)


def _trials(
    run: _Run,
    tallies: Mapping[tuple[str, Place], Tally],
    seconds: Mapping[Place, float],
    scans: int,
    left_out: Mapping[str, CountwiseError],
    score: str | None,
) -> Trials:
    entries = {}
    nothing = np.empty(0, dtype=np.uint8)
    classes = tuple(run.scan.classes)
    places = [place for place in run.places if (run.candidates[0].name, place) in tallies]
    for one in run.candidates:
        kept = [replace(tallies[one.name, p], fit_seconds=seconds[p]) for p in places]
        empty = Predictions(np.empty((0, len(classes))), nothing, None, 0.0, 0.0)
        plain = apply_rule(one, [], classes)
        predictions = (empty,) * len(places)
        entries[one.name] = replace(plain, predictions=predictions, tallies=tuple(kept))
    any_entry: Entry = next(iter(entries.values()))
    total = add_tallies([t for p, t in zip(places, any_entry.tallies, strict=True) if not p.repeat])
    folds = [
        HeldOut.of_scan(p.repeat, p.fold, tally.rows, total.rows - tally.rows)
        for p, tally in zip(places, any_entry.tallies, strict=True)
    ]
    words = f"{run.folds}-fold cross-validation"
    words += f", groups of {run.groups} kept together" if run.groups else ""
    words += f", {run.repeats} repeats" if run.repeats > 1 else ""
    notes = [*run.scan.notes, Note.of("S08", scans=scans)]
    notes += [Note.of("S09", names=name, why=str(why)) for name, why in left_out.items()]
    if run.gain is not None:
        notes += [Note.of("E10", sentence=text) for text in run.gain.notes]
    ranked = score or ("accuracy" if run.gain is None else run.gain.score)
    ratio = float(np.mean([fold.tested / max(fold.trained, 1) for fold in folds]))
    return Trials(classes, tuple(folds), entries, words, ratio, tuple(notes), run.gain, ranked)
