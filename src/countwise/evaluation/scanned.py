"""Evaluate models on rows outside memory: a few scans train all folds, one more scores them.

No row and no prediction is kept: scores follow from sums over the rows of each fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines.pushdown import group_rows
from countwise.counts.plan import Plan
from countwise.counts.room import note_scans
from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.decisions.rules import Argmax, ExpectedGain
from countwise.errors import CountwiseError, ParameterError, listing
from countwise.evaluation.auc import PosteriorBins, bin_edges
from countwise.evaluation.candidates import Candidate, Learner, list_learners, read_candidates
from countwise.evaluation.folds import describe_holdout, refuse_one_class
from countwise.evaluation.from_counts import predict_rows
from countwise.evaluation.predictions import HeldOut, Output, Predictions, Tally, apply_rule
from countwise.evaluation.scan_folds import Dealing, Place
from countwise.evaluation.scores import (
    MIN_POSTERIOR,
    MOST_CELLS,
    FoldResult,
    bound_areas,
    check_tallied,
    tally_rows,
)
from countwise.evaluation.shared_passes import SharedPasses
from countwise.evaluation.trials import Trials
from countwise.models.base import refuse_scan
from countwise.models.bayes.query_writer import QueryWriter
from countwise.notes import Note
from countwise.progress import Progress
from countwise.tables.labels import plain
from countwise.tables.scan import SOME_ROWS, Block, Scan
from countwise.tables.scan_pass import add_by_key
from countwise.tables.schema import Schema
from countwise.tables.sources.query_source import QuerySource
from countwise.tables.sources.score_statement import TOTALS, ScoreQuery
from countwise.tables.table import Table

#: The cells of all histograms of posteriors together.
_ALL_CELLS = 1 << 24


@dataclass
class ScanTask:
    """What is evaluated on rows outside memory, how rows are dealt, and what was found."""

    who: str
    scan: Scan
    dealing: Dealing
    gain: GainMatrix | None
    passes: SharedPasses
    candidates: Sequence[Candidate]
    learners: Sequence[Learner]
    #: The classes that each place trains on.
    training: Mapping[Place, Counts] = field(default_factory=dict)
    fit_seconds: float = 0.0
    #: Models that need rows in memory, and what they say.
    left_out: dict[str, CountwiseError] = field(default_factory=dict)
    tallies: Mapping[tuple[str, Place], Tally] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to where rows are scored: the models, not what they learned from."""
        gone: dict[str, Any] = {"passes": None, "training": {}, "left_out": {}, "tallies": {}}
        return {**self.__dict__, **gone}

    @classmethod
    def begin(
        cls,
        who: str,
        models: Any,
        scan: Scan,
        dealing: Dealing,
        gain: Gains | None,
        progress: Progress | None,
    ) -> ScanTask:
        """Count every fold and slice in a first scan, which finds out what the columns are."""
        candidates = read_candidates(who, models, None)
        passes = SharedPasses(scan, dealing, progress)
        task = cls(who, scan, dealing, None, passes, candidates, list_learners(candidates))
        counted = passes.count_training(task.first_plan)
        refuse_one_class(who, scan.target_column.name, scan.classes)
        task.training = {place: counts.restricted(Plan()) for place, counts in counted.items()}
        if gain is not None:
            task.gain = GainMatrix.of(gain, scan.classes)
            task.candidates = read_candidates(who, models, task.gain)
        return task

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
        if self.dealing.groups is None:
            return schema
        return Schema(tuple(column for column in schema if column.name != self.dealing.groups))

    def see(self, table: Table) -> Table:
        """Return the columns of a block that models see."""
        groups = self.dealing.groups
        if groups is None:
            return table
        return table.select([c.name for c in table.schema.attributes if c.name != groups])

    def training_rows(self, place: Place) -> Scan:
        """Return the rows that the models of a place are trained on."""
        rows = self.passes.rows_of(place)
        if self.dealing.groups is None:
            return rows
        return rows.map(self.see, self.see_schema(rows.schema))

    def judge(self, places: Sequence[Place]) -> None:
        """Train and score every model of these places; leave out those that need rows in memory.

        A model and its counts go once it is scored.
        """
        for place in places:
            if place not in self.training or not self.training[place].rows:
                groups = self.dealing.groups
                few = f"{len(self.scan)} rows are too few"
                if groups is not None:
                    few = f"one fold has all groups of {groups!r}"
                raise ParameterError(
                    f"{self.who}: every training set must have rows; {few}.",
                    hint=("choose another `random_state=`", "read the rows with `read`"),
                )
        started, last = perf_counter(), [0.0]
        writer = QueryWriter(self.scan) if self.passes.selects else None

        def fit_and_score(learner: Learner, place: Place) -> dict[str, Tally]:
            model = None
            if not learner.baseline:
                if learner.name in self.left_out:
                    return {}
                try:
                    rows = self.training_rows(place)
                    if not hasattr(learner.model, "counts_needed"):  # a foreign classifier
                        refuse_scan(type(learner.model).__name__, rows)
                    model = clone(learner.model).fit(rows)
                except CountwiseError as error:
                    self.left_out.setdefault(learner.name, error)
                    return {}
            last[0] = perf_counter()
            shares = self._class_shares(place)
            if writer is not None:
                with self.passes.turn:
                    selected = self._score_selected(learner.name, place, model, writer)
                if selected is not None:
                    return selected
            found: dict[str, Tally] = self.passes.score(
                place, partial(self._score, learner.name, model, shares)
            )
            return found or {}

        jobs = {
            (learner.name, place): partial(fit_and_score, learner, place)
            for place in places
            for learner in self.learners
        }
        judged = self.passes.fit_all(jobs)
        self.fit_seconds = (last[0] - started) / len(jobs)
        self.candidates = [one for one in self.candidates if one.learner not in self.left_out]
        if self.left_out and all(one.baseline for one in self.candidates):
            raise next(iter(self.left_out.values()))
        self.tallies = {
            (name, place): tally
            for (learner, place), tallies in judged.items()
            if learner not in self.left_out
            for name, tally in tallies.items()
        }
        if not self.tallies:
            raise ParameterError(
                f"{self.who}: some rows must be tested; of {len(self.scan)} rows none is.",
                hint="Read the rows with `read`",
            )

    def _score(
        self, learner: str, model: Any, shares: FloatArray, block: Block
    ) -> dict[str, Tally]:
        """Score a block of tested rows by a model, under every name it is compared by."""
        table = self.see(block.table)
        return self._tally_rules(learner, _predict(model, table, shares), table, block.weight)

    def _tally_rules(
        self, learner: str, output: Output, table: Table, weight: FloatArray | None
    ) -> dict[str, Tally]:
        """Return the tally of what a model answers, under every name it is compared by."""
        return {
            one.name: self._tally(one, output, table, weight)
            for one in self.candidates
            if one.learner == learner
        }

    def _score_selected(
        self, learner: str, place: Place, model: Any, writer: QueryWriter
    ) -> dict[str, Tally] | None:
        """Score the rows of a fold where they are; None if that cannot be done."""
        source, classes = self.passes.select(place), self.scan.classes
        tested = self.scan.only(source)
        cuts = getattr(model, "cut_points_", {}) if hasattr(model, "fit_counts") else {}
        groups = group_rows(tested if model is not None else tested.part(()), cuts)
        if groups is not None:
            return self._tally_groups(learner, place, model, groups)
        asked = {}
        for one in self.candidates:
            if one.learner == learner:
                gains, bins = _gains_of(one, classes), bin_edges(len(classes), self._room())
                query = None if gains is None else writer.write(model, gains, MIN_POSTERIOR, bins)
                if query is None:
                    return None
                asked[one.name] = query
        return {name: _tally_scored(source, query) for name, query in asked.items()}

    def _tally_groups(
        self,
        learner: str,
        place: Place,
        model: Any,
        groups: Iterable[tuple[Table, NDArray[np.int64]]],
    ) -> dict[str, Tally]:
        """Score the different rows of a fold, each once for all rules."""
        tallies: dict[str, Tally] = {}
        for table, rows in groups:
            output = _predict(model, table, self._class_shares(place))
            found = self._tally_rules(learner, output, table, rows.astype(np.float64))
            # A group of rows is no row with a large weight.
            total = int(rows.sum())
            found = {
                name: replace(tally, rows=total, squares=float(total))
                for name, tally in found.items()
            }
            tallies = add_by_key(tallies, found)
        return tallies

    def _room(self) -> int:
        # The histograms of all models and folds together have bounded room.
        return min(MOST_CELLS, _ALL_CELLS // (len(self.candidates) * len(self.dealing.places)))

    def _class_shares(self, place: Place) -> FloatArray:
        weight = self.training[place].weight[:-1]
        return np.asarray(weight / weight.sum())

    def _tally(
        self, candidate: Candidate, output: Output, table: Table, weight: FloatArray | None
    ) -> Tally:
        classes = tuple(self.scan.classes)
        entry = apply_rule(candidate, [output], classes)
        held_out = HeldOut(0, 0, np.arange(len(table)), table.target, weight, 0)
        result = FoldResult(classes, entry, held_out, entry.predictions[0], self.gain)
        tally = tally_rows(result, self._room())
        return replace(tally, predict_seconds=output.predict_seconds)

    def trials(
        self, size: int, words: str, score: str | None = None, ratio: float | None = None
    ) -> Trials:
        """Return the trials of one size, the number of a slice."""
        entries = {}
        nothing = np.empty(0, dtype=np.uint8)
        classes = tuple(self.scan.classes)
        any_name = self.candidates[0].name
        places = sorted(p for name, p in self.tallies if name == any_name and p.slice == size)
        for one in self.candidates:
            tallies = [
                replace(self.tallies[one.name, place], fit_seconds=self.fit_seconds)
                for place in places
            ]
            empty = Predictions(np.empty((0, len(classes))), nothing, None, 0.0, 0.0)
            plain = apply_rule(one, [], classes)
            predictions = (empty,) * len(places)
            entries[one.name] = replace(plain, predictions=predictions, tallies=tuple(tallies))
        folds = [
            HeldOut.of_scan(
                place.repeat,
                place.fold,
                self.tallies[any_name, place].rows,
                self.training[place].rows,
            )
            for place in places
        ]
        if ratio is None:
            ratio = float(np.mean([fold.tested / max(fold.trained, 1) for fold in folds]))
        ranked = score or ("accuracy" if self.gain is None else self.gain.score)
        notes = self.notes()
        return Trials(classes, tuple(folds), entries, words, ratio, notes, self.gain, ranked)

    def notes(self) -> tuple[Note, ...]:
        """Return notes on the rows and on how they were scanned."""
        code = "S15" if self.passes.selects else "S08"
        notes = [*self.scan.notes, Note.of(code, scans=self.passes.scans)]
        if self.passes.took_turns:
            notes.append(note_scans(self.scan, "models were trained and scored in turns"))
        notes += [Note.of("S09", names=name, why=str(why)) for name, why in self.left_out.items()]
        models = {one.name for one in self.candidates if not one.baseline}
        kept = [tally for (name, _), tally in self.tallies.items() if name in models]
        if kept and kept[0].posteriors is not None:
            error = max(map(bound_areas, kept))
            notes += [Note.of("S11", bins=kept[0].posteriors.n_bins, error=error)]
        if self.gain is not None:
            notes += [Note.of("E10", sentence=text) for text in self.gain.notes]
        return tuple(notes)


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
    refuse_on_scan("evaluate", refused, "Use `folds=`, `repeats=` and `groups=`")
    check_dealing("evaluate", scan, folds, random_state, groups)
    if score is not None:
        check_tallied(score)
    dealing = Dealing(int(random_state), repeats, int(folds), groups=groups)
    task = ScanTask.begin("evaluate", models, scan, dealing, gain, progress)
    task.judge(dealing.places)
    return task.trials(0, describe_folds(dealing), score)


def describe_folds(dealing: Dealing) -> str:
    """Return how rows are tested, in words."""
    words = f"{dealing.folds}-fold cross-validation"
    if dealing.holdout is not None:
        words = describe_holdout(dealing.holdout, False, 1)
    words += f", groups of {dealing.groups} kept together" if dealing.groups else ""
    return words + (f", {dealing.repeats} repeats" if dealing.repeats > 1 else "")


def refuse_on_scan(who: str, refused: Mapping[str, bool], instead: str) -> None:
    """Refuse parameters that need rows in memory."""
    for name, is_given in refused.items():
        if is_given:
            raise ParameterError(
                f"{who}: `{name}=` needs rows in memory; got rows outside memory (a Scan).",
                hint=f"{instead}, or pass {SOME_ROWS}",
            )


def check_dealing(who: str, scan: Scan, folds: Any, random_state: Any, groups: Any) -> None:
    """Refuse folds, seeds and groups that do not tell where a row outside memory goes."""
    whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool)
    if folds is not None and (not whole or folds < 2):
        rule = "a whole number of at least 2 where rows are scanned"
        raise ParameterError(who, "folds", rule, folds)
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        rule = "a whole number where rows are scanned"
        raise ParameterError(who, "random_state", rule, random_state)
    if groups is not None and (not isinstance(groups, str) or groups not in scan.first_schema):
        names = listing([column.name for column in scan.first_schema.attributes])
        raise ParameterError(
            who,
            "groups",
            f"the name of a column that is read, one of {names}",
            groups,
            "If it was left out as an identifier, declare it with `nominal=` when scanning.",
        )


def _predict(model: Any, table: Table, shares: FloatArray) -> Output:
    """Return the posteriors of a model, or the class shares of its training rows for every row."""
    if model is None:
        return Output(np.broadcast_to(shares, (len(table), len(shares))), shares, 0.0, 0.0)
    return predict_rows(model, table, shares, 0.0)


def _gains_of(candidate: Candidate, classes: Sequence[Any]) -> FloatArray | None:
    """Return the gains by which a candidate decides; None if it decides otherwise."""
    names = [plain(label) for label in classes]
    rule = None if candidate.rule is None else candidate.rule.bind(names)
    if candidate.prior is not None:
        return None
    if rule is None or isinstance(rule, Argmax):
        return np.eye(len(names))
    if isinstance(rule, ExpectedGain):
        gain = rule.gain
        return gain.values if isinstance(gain, GainMatrix) else np.array(gain)
    return None


def _tally_scored(source: QuerySource, asked: ScoreQuery) -> Tally:
    """Return the tally of rows that their source scores."""
    found = source.score(asked)
    classes, decisions = asked.gains.shape
    columns = {name: np.asarray(found.column(name)) for name in (*TOTALS, "label", "which")}
    label, which = columns["label"].astype(np.intp), columns["which"]
    keys = ["decided", *(f"h{at}" for at in asked.binned)]
    every = (1 << len(keys)) - 1

    def of_set(place: int) -> tuple[Any, Any]:
        # A bit is cleared for the column that was grouped by, the first one highest.
        rows = which == every - (1 << (len(keys) - 1 - place))
        return rows, found.column(keys[place]).filter(rows).to_numpy().astype(np.intp)

    rows, decided = of_set(0)
    cells = np.zeros((classes, decisions))
    np.add.at(cells, (label[rows], decided), columns["rows"][rows])
    sums = {
        name: (float(columns[one][rows].sum()), float(columns[two][rows].sum()))
        for name, one, two in (("log_loss", "loss", "loss2"), ("brier", "brier", "brier2"))
    }
    total = int(cells.sum())
    bins = None
    if asked.binned:
        shape = (len(asked.binned), classes, len(asked.edges) + 1)
        counted = np.zeros(shape)
        least, most = np.full(shape[::2], np.inf), np.full(shape[::2], -np.inf)
        for place, at in enumerate(asked.binned):
            rows, key = of_set(place + 1)
            np.add.at(counted[place], (label[rows], key), columns["rows"][rows])
            low, high = (np.asarray(found.column(f"{end}{at}"))[rows] for end in ("low", "high"))
            np.minimum.at(least[place], key, low)
            np.maximum.at(most[place], key, high)
        bins = PosteriorBins(counted, least, most)
    return Tally(cells, sums, total, float(total), bins)
