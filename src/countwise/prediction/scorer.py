"""A fitted model, ready for the raw columns of any number of blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.decisions.decide import Decide
from countwise.decisions.expected_gain import earned_by_row
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, RouletteWheel, Rule
from countwise.errors import ParameterError, TableError, did_you_mean
from countwise.prediction.answers import Kept, Numbered, Predictions, output_names, to_kept
from countwise.prediction.summary import Errors, PredictionSummary, Tally
from countwise.tables.formats import detect
from countwise.tables.raw_columns import Numbers, Raw, RawTable, Words
from countwise.tables.read import code_columns, complete
from countwise.tables.read_options import Marks, ReadOptions
from countwise.tables.schema import Column, Schema
from countwise.tables.sources.row_source import RowSource
from countwise.tables.table import Table
from countwise.tables.words import join_cells


def _blocks(place: Any, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    """Yield the rows of a file or of a source of many pieces, in order."""
    if not isinstance(place, RowSource):
        return detect.blocks(place, options, rows)
    return (block for piece in place.pieces() for block in place.blocks(piece, options, rows))


class InfiniteNumberError(TableError):
    """A cell holds an infinite number; `row` counts from the block it was found in."""

    def __init__(self, column: str, row: int, value: float) -> None:
        self.column, self.row, self.value = column, row, value
        super().__init__(
            f"Table: column {column!r} must hold finite numbers; row {row} holds {value}.",
            hint=("remove the row", "mark the cell as missing"),
        )

    def after(self, rows: int) -> InfiniteNumberError:
        """Return the same error with rows counted from the start of the file."""
        return InfiniteNumberError(self.column, self.row + rows, self.value)


def gains_of(model: Any) -> GainMatrix | None:
    """Return the gains that a fitted model, or a rule, decides by; None without any."""
    rule = model if isinstance(model, Rule) else getattr(model, "rule_", None)
    gain = getattr(rule, "gain", None)
    return gain if isinstance(gain, GainMatrix) else None


class Scorer:
    """A fitted model, ready for the raw columns of any number of blocks."""

    #: Whether a column that the rows lack is refused.
    strict = False
    #: Returns the names of all columns of the source, to find a misspelt one.
    source_names: Callable[[], Sequence[str]] | None = None
    #: Columns that are read beside those of the model.
    extra: Sequence[Column] = ()

    def __init__(self, model: Any, rule: Any = None, keep: Sequence[str] = ()) -> None:
        self.decide: Any = model if isinstance(model, Decide) else Decide.over(model)
        if rule is not None:
            self.decide = Decide.over(self.decide, rule)
        self.rule: Any = self.decide.rule_
        self.draws = isinstance(self.rule, RouletteWheel)
        if self.draws:
            # One stream of draws for all blocks: a seed would repeat its draws in each of them.
            seed = self.rule.random_state
            stream = (
                seed if isinstance(seed, np.random.RandomState) else np.random.default_rng(seed)
            )
            self.rule = RouletteWheel(stream)
        inner = self.decide
        while isinstance(inner, Decide):
            inner = inner.model_
        self.model = inner
        self.schema: Schema = inner.schema_
        self.keep = (keep,) if isinstance(keep, str) else tuple(keep)
        self.classes: list[Any] = self.decide.classes_.tolist()
        self.decisions: list[Any] = self.decide.decisions_.tolist()
        self.gain = gains_of(self.rule)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        if self.gain is None:
            return output_names(self.keep, self.classes)
        return output_names(self.keep, self.classes, self.decisions, self.gain.word)

    @property
    def unseen_treatment(self) -> str:
        """What the model does with levels it never saw, in words."""
        if hasattr(self.model, "rows_"):
            return "compared as unlike any other"
        return "smoothed" if getattr(self.model, "unseen", "") == "smooth" else "left out"

    def read_options(
        self,
        header: bool = True,
        separator: str | None = None,
        missing: Marks | None = None,
        missing_only: Marks | None = None,
        skip_lines: int | None = None,
        sheet: str | int | None = None,
    ) -> ReadOptions:
        """Return how to read rows: the columns the model needs, the class, and those to keep."""
        used = [*(column for column in self.schema if not column.left_out), *self.extra]
        names = {column.name for column in used}
        kept = [Column(name, "nominal") for name in self.keep if name not in names]
        schema = Schema((*used, *kept))
        return ReadOptions.of(
            schema=schema,
            missing=missing,
            missing_only=missing_only,
            header=header,
            separator=separator,
            skip_lines=skip_lines,
            sheet=sheet,
        )

    def predict(self, block: RawTable, tally: Tally) -> Predictions | Numbered:
        """Classify a block of rows and count what was met."""
        columns, table = self._code(block, tally)
        posteriors = self.decide.predict_proba(table)
        best = np.argmax(posteriors, axis=1)
        decided = best if isinstance(self.rule, Argmax) else self.rule.choose(posteriors)
        self._count(table, best, decided, tally)
        kept = self._keep(columns)
        found = (kept, self.classes, best, posteriors, self.decisions, decided)
        if self.gain is None:
            return Predictions(*found)
        gains = posteriors @ (self.gain.sign * self.gain.values) + 0.0
        return Predictions(*found, gains, self.gain.word)

    def _keep(self, columns: Mapping[str, Raw]) -> dict[str, Kept]:
        """Return the columns to copy; the schema knows of dates even if a block has none."""
        dates = {column.name for column in self.schema if column.dates}
        return {name: to_kept(columns[name], name in dates) for name in self.keep}

    def read_rows(
        self, place: Any, options: ReadOptions, wanted: Sequence[int]
    ) -> tuple[Table, Tally]:
        """Return some rows of a source, by number from 1, reading no further than needed."""
        parts: dict[int, Table] = {}
        tally, done = Tally(), 0
        what = place.what if isinstance(place, RowSource) else repr(place)
        for block in _blocks(place, options, 10_000):
            columns = self._complete(block, tally)
            _check_finite(columns, self.schema, done)
            found = [row for row in wanted if done < row <= done + len(block)]
            if found:
                places = [row - 1 - done for row in found]
                cells = {name: _take(raw, places) for name, raw in columns.items()}
                table = code_columns(cells, self.schema, len(found))
                parts |= {row: table.take([at]) for at, row in enumerate(found)}
                self._count_unseen(table, tally)
            done += len(block)
            if done >= max(wanted):
                break
        absent = [row for row in wanted if row not in parts]
        if absent:
            raise ParameterError(
                f"explain: row {absent[0]} does not exist; {what} has {done} rows."
            )
        schema = self.schema.without_target()
        data = {
            column.name: join_cells([parts[row].raw_array(column.name) for row in wanted])
            for column in schema.attributes
        }
        return Table(schema, data, rows=len(wanted)), tally

    def summarize(self, tally: Tally, seconds: float) -> PredictionSummary:
        """Return the summary of all rows."""
        known = tally.labelled
        return PredictionSummary(
            rows=tally.rows,
            classes=tuple(self.classes),
            decisions=tuple(self.decisions),
            labelled_rows=known,
            accuracy=tally.right / known if known else None,
            decision_accuracy=tally.decided_right / known if known else None,
            gain_per_row=tally.earned / known if known and self.gain is not None else None,
            unseen={name: dict(levels.most_common(20)) for name, levels in tally.unseen.items()},
            notes=tuple(tally.notes(self.unseen_treatment)),
            seconds=seconds,
            unit="" if self.gain is None else self.gain.unit,
            costs=self.gain is not None and self.gain.costs,
        )

    def _code(self, block: RawTable, tally: Tally) -> tuple[dict[str, Raw], Table]:
        """Return the columns of the next block, also as a coded table."""
        columns = self._complete(block, tally)
        _check_finite(columns, self.schema, tally.rows)
        return columns, code_columns(columns, self.schema, len(block))

    def _complete(self, block: RawTable, tally: Tally) -> dict[str, Raw]:
        """Return the columns of a block with those that it lacks, and count what was met."""
        columns, notes = complete(
            block.columns, self.schema, len(block), self.strict, self.source_names
        )
        tally.remarks.update(dict.fromkeys((*block.notes, *notes)))
        for name, raw in columns.items():
            known = self.schema[name].missing if name in self.schema else ()
            new = {mark: n for mark, n in getattr(raw, "marks", {}).items() if mark not in known}
            if new:
                tally.marks.setdefault(name, Counter()).update(new)
        for name in self.keep:
            if name not in columns:
                raise ParameterError(
                    f"predict: `keep=` names a column {name!r} that the file lacks."
                    f"{did_you_mean(name, columns)}"
                )
        return columns

    def _count_unseen(self, table: Table, tally: Tally) -> None:
        names = {column.name for column in self.schema.attributes}
        for name, levels in table.unseen.items():
            if name in names:
                tally.add_unseen(name, levels)

    def _count(self, table: Table, best: NDArray[Any], decided: NDArray[Any], tally: Tally) -> None:
        tally.rows += len(table)
        target = self.schema.target
        self._count_unseen(table, tally)
        if target is None or not table.labelled:
            return
        place = np.full(target.width + 2, -1)
        for at, label in enumerate(target.levels):
            if label in self.classes:
                place[at] = self.classes.index(label)
        truth = place[table.target]
        known = truth >= 0
        tally.labelled += int(known.sum())
        tally.right += int(np.count_nonzero(best[known] == truth[known]))
        tally.decided_right += int(np.count_nonzero(decided[known] == truth[known]))
        if self.gain is not None:
            earned = earned_by_row(self.gain.values, truth[known], decided[known])
            tally.earned += float(earned.sum())


class NumberScorer(Scorer):
    """A fitted model that predicts a number, ready for the raw columns of any number of blocks."""

    def __init__(self, model: Any, rule: Any = None, keep: Sequence[str] = ()) -> None:
        if rule is not None:
            raise ParameterError(
                f"predict: a {type(model).__name__} predicts a number, so there is no decision for "
                "a gain matrix or a rule.",
                hint="Leave it out.",
            )
        self.model, self.draws, self.gain = model, False, None
        self.schema = model.schema_
        self.keep = (keep,) if isinstance(keep, str) else tuple(keep)
        self.classes = self.decisions = []
        self.target: str | None = model.target_name_
        self.extra = () if self.target is None else (Column(self.target, "numeric"),)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        return [*self.keep, "prediction"]

    def predict(self, block: RawTable, tally: Tally) -> Numbered:
        """Predict the numbers of a block of rows and count what was met."""
        columns, table = self._code(block, tally)
        numbers = self.model.predict(table)
        tally.rows += len(table)
        self._count_unseen(table, tally)
        truth = columns.get(self.target or "")
        if isinstance(truth, Numbers):
            known = np.isfinite(truth.values)
            tally.errors.add(Errors.of(truth.values[known], numbers[known]))
        return Numbered(self._keep(columns), numbers)

    def summarize(self, tally: Tally, seconds: float) -> PredictionSummary:
        """Return the summary of all rows."""
        errors = tally.errors
        return PredictionSummary(
            rows=tally.rows,
            classes=(),
            decisions=(),
            labelled_rows=errors.rows,
            accuracy=None,
            decision_accuracy=None,
            gain_per_row=None,
            unseen={name: dict(levels.most_common(20)) for name, levels in tally.unseen.items()},
            notes=tuple(tally.notes(self.unseen_treatment)),
            seconds=seconds,
            r2=errors.r2,
            mean_absolute_error=errors.absolute / errors.rows if errors.rows else None,
            root_mean_squared_error=(errors.squared / errors.rows) ** 0.5 if errors.rows else None,
        )


def scorer_of(model: Any, rule: Any = None, keep: Sequence[str] = ()) -> Scorer:
    """Return what predicts blocks of rows: for a model of classes, or for one of numbers."""
    kind = Scorer if hasattr(model, "predict_proba") else NumberScorer
    return kind(model, rule, keep)


def _check_finite(columns: Mapping[str, Raw], schema: Schema, before: int) -> None:
    for column in schema.numeric:
        raw = columns.get(column.name)
        if isinstance(raw, Numbers) and np.isinf(raw.values).any():
            at = int(np.argmax(np.isinf(raw.values)))
            raise InfiniteNumberError(column.name, at + 1 + before, float(raw.values[at]))


def _take(raw: Raw, places: Sequence[int]) -> Raw:
    if isinstance(raw, Words):
        return Words(raw.codes[list(places)], raw.distinct, raw.declared)
    return replace(raw, values=raw.values[list(places)])
