"""Decide what columns are: first by the head of a source, then by a survey of all rows.

The decisions are those that `read` makes on the same rows, by the same functions. Where the survey
overturns what the head suggested, the rows are scanned again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countwise.errors import listing
from countwise.notes import Note
from countwise.tables import code_levels, infer_schema
from countwise.tables.code_levels import in_order, row_notes
from countwise.tables.date_parts import part_levels
from countwise.tables.raw_columns import Numbers, Raw, Words, from_objects, missing_numbers
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import MISSING_VALUE, OTHER, Column, Kind, Level, Schema
from countwise.tables.sources.row_source import RowSource
from countwise.tables.survey import ColumnSurvey, Survey
from countwise.tables.table import Table
from countwise.tables.text_values import settle, settle_typed

#: Cells by which the texts of a column are judged once more; amounts are scaled down to them.
_MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class Decision:
    """What is known of the columns so far.

    Attributes
    ----------
    schema
        The columns as they are seen from outside.
    given
        The levels that were known before any row was read.
    growing
        Columns that may still get levels.
    inferred
        Columns whose kind is left to the data.
    read_as
        By column that looks like an identifier, the kind as which it is surveyed.
    static
        By column, what the head knows and the survey does not count.
    with_parts
        Columns of dates from which parts may be made.
    usual_marks
        By numeric column, the missing marks known beforehand; others are found among its cells.
    folded
        Columns of which only the most frequent levels are told apart.
    suggested
        By column that is numeric because the first rows of a text file are, whether these hold
        whole numbers only; what later rows hold must not be written in another way.
    sketched
        Columns of whole numbers whose different values are counted, because some are so large that
        they may identify rows.
    scan_again, why_again
        Whether all rows must be scanned once more, and why.
    """

    schema: Schema
    given: Schema
    growing: frozenset[str]
    inferred: frozenset[str]
    read_as: Mapping[str, Kind]
    static: Mapping[str, ColumnSurvey]
    with_parts: frozenset[str]
    usual_marks: Mapping[str, tuple[str, ...]]
    file_notes: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    folded: frozenset[str] = frozenset()
    column_notes: Mapping[str, tuple[Note, ...]] = field(default_factory=dict)
    suggested: Mapping[str, bool] = field(default_factory=dict)
    sketched: frozenset[str] = frozenset()
    scan_again: bool = False
    why_again: str = ""

    @property
    def reading_schema(self) -> Schema:
        """The schema by which blocks are coded: identifiers are surveyed, case is not folded."""
        return Schema(tuple(self._as_read(column) for column in self.schema))

    def _as_read(self, column: Column) -> Column:
        if column.name in self.read_as:
            return replace(column, kind=self.read_as[column.name], when_missing="omit")
        if column.name in self.usual_marks:
            return replace(column, missing=self.usual_marks[column.name])
        if column.name in self.growing and column.fold_case:
            return replace(column, fold_case=False)
        return column

    def restricted(self, names: Collection[str]) -> Decision:
        """Return what is known of the class and some columns, with the dates they are parts of."""
        kept = {*names, *(c.part_of[1] for c in self.schema if c.part_of and c.name in names)}

        def has(column: Column) -> bool:
            return column.kind == "target" or column.name in kept

        return replace(
            self,
            schema=Schema(tuple(column for column in self.schema if has(column))),
            given=Schema(tuple(column for column in self.given if has(column))),
            read_as={name: kind for name, kind in self.read_as.items() if name in kept},
            folded=self.folded & kept,
        )

    def reading(self, options: ReadOptions, open_ended: bool) -> ReadOptions:
        """Return the options by which a source reads blocks."""
        every = self.reading_schema
        columns: dict[str | int, Column] = {
            column.name: column
            for column in every
            if not column.part_of and (open_ended or not column.left_out)
        }
        if options.weight is not None:
            usual = options.default.missing
            columns[options.weight] = Column(options.weight, "numeric", missing=usual)
        default = replace(options.default, kind="infer" if open_ended else "drop")
        return replace(
            options, columns=columns, default=default, target=None, inferred=self.suggested
        )

    def outside(self, table: Table, schema: Schema) -> Table:
        """Return a coded block without what is only surveyed; `schema` has the levels so far."""
        if not self.read_as:
            return table
        seen = schema.with_columns(
            replace(schema[name], kind=self.schema[name].kind) for name in self.read_as
        )
        data = {name: table.raw_array(name) for name in table.names if name not in self.read_as}
        return Table(seen, data, (), table.unseen, len(table))

    def fold_rest(self, table: Table) -> Table:
        """Return a block in which all but the most frequent levels of some columns are one."""
        if not self.folded:
            return table
        data = {name: table.raw_array(name) for name in table.names}
        for name in self.folded:
            width, codes = table.schema[name].width, data[name]
            rest = table.schema[name].levels.index(OTHER)
            data[name] = np.where(codes > width, rest, codes).astype(codes.dtype)
        return Table.from_arrays(table.schema, data, table.notes, {}, len(table))


def first_schema(
    columns: Mapping[str, Raw],
    decided: Schema,
    options: ReadOptions,
    notes: Sequence[Note],
    head_notes: Sequence[Note],
    source: RowSource,
) -> Decision:
    """Return what the head of a source suggests."""
    inferred, read_as, static = set[str](), dict[str, Kind](), dict[str, ColumnSurvey]()
    given, schema = list[Column](), list[Column]()
    growing, with_parts, suggested = set[str](), set[str](), dict[str, bool]()
    for column in decided:
        name, raw = column.name, columns.get(column.name)
        asked = options.column(name).kind if name in columns else column.kind
        if raw is not None:
            static[name] = _static(raw)
        if asked == "infer":
            inferred.add(name)
            is_whole = isinstance(raw, Numbers) and raw.whole
            is_open = source.open_ended or not source.typed
            has_codes = is_whole and name in source.coded
            if isinstance(raw, Numbers) and not has_codes and not source.typed:
                suggested[name] = raw.whole
            if raw is not None and is_open and (has_codes or _is_empty(raw)):
                # All texts of such a column are looked at before it is decided.
                column = replace(options.settle(name, "nominal"), part_of=column.part_of)
            if column.kind == "id":
                read_as[name] = "numeric" if isinstance(raw, Numbers) else "text"
            if isinstance(raw, Numbers) and raw.dates:
                with_parts.add(name)
        if column.coded:
            if isinstance(raw, Words) and raw.declared and not column.levels:
                column = column.with_levels(raw.distinct)
            if not (options.is_schema and decided[name].levels):
                growing.add(name)
        given.append(column)
        schema.append(column)
    kept = [*head_notes, *(note for note in notes if note.code == "T10")]
    return Decision(
        Schema(tuple(schema)),
        Schema(tuple(given)),
        frozenset(growing),
        frozenset(inferred),
        read_as,
        static,
        frozenset(with_parts),
        _usual_marks(schema, inferred, options),
        tuple(kept),
        tuple(notes),
        suggested=suggested,
    )


def _usual_marks(
    columns: Iterable[Column], inferred: Collection[str], options: ReadOptions
) -> dict[str, tuple[str, ...]]:
    return {
        column.name: options.column(column.name).missing
        for column in columns
        if column.kind == "numeric" and column.name in inferred and not column.part_of
    }


def _static(raw: Raw) -> ColumnSurvey:
    """Return what the head knows of a column and a survey does not count."""
    facts = infer_schema.RawFacts(raw)
    texts = facts.texts[:1000] if not facts.is_number else ()
    return ColumnSurvey(
        facts.is_number,
        texts=texts,
        declared=facts.declared,
        dates=facts.dates,
        date_order=facts.date_order,
        marks=facts.marks,
        notes=facts.notes,
    )


def _is_empty(raw: Raw) -> bool:
    cells = np.isnan(raw.values) if isinstance(raw, Numbers) else raw.codes < 0
    return bool(np.all(cells))


def decide(
    now: Decision, survey: Survey, options: ReadOptions, source: RowSource, limit: int
) -> Decision:
    """Return what the survey of all rows says of the columns."""
    judge = _Judge(now, survey, options, source, limit)
    columns, notes = list[Column](), dict[str, tuple[Note, ...]]()
    for column in now.schema:
        column, found = judge.column(column)
        columns.append(column)
        notes[column.name] = tuple(found)
    columns, part_notes = judge.with_parts(columns)
    schema = Schema(tuple(columns))
    rows = row_notes(schema, schema.target, survey.rows, survey.dropped)
    of_columns = [note for column in columns for note in notes.get(column.name, ())]
    inferred = now.inferred | {column.name for column in columns if column.part_of}
    return replace(
        now,
        schema=schema,
        given=judge.given(schema),
        growing=frozenset(judge.growing),
        inferred=inferred,
        read_as={
            name: kind
            for name, kind in now.read_as.items()
            if judge.again and name not in judge.renewed
        },
        static={**now.static, **judge.static},
        with_parts=now.with_parts | judge.dates,
        usual_marks=_usual_marks(columns, inferred, options) if judge.again else {},
        folded=now.folded | judge.folded,
        sketched=now.sketched | judge.sketched,
        column_notes=notes,
        notes=(*now.file_notes, *part_notes, *of_columns, *rows),
        scan_again=bool(judge.again),
        why_again=listing(judge.again),
    )


class _Judge:
    """Decides column by column; `again` says why the rows must be scanned once more."""

    def __init__(
        self,
        now: Decision,
        survey: Survey,
        options: ReadOptions,
        source: RowSource,
        limit: int,
    ) -> None:
        self.now, self.survey, self.options = now, survey, options
        self.source, self.limit = source, limit
        self.again: list[str] = []
        self.growing: set[str] = set()
        self.folded: set[str] = set()
        self.sketched: set[str] = set()
        self.renewed: dict[str, Column] = {}
        self.static: dict[str, ColumnSurvey] = {}
        self.dates: set[str] = set()

    def column(self, column: Column) -> tuple[Column, list[Note]]:
        """Return a column as it is decided, and notes."""
        name = column.name
        is_folded = column.coded and column.fold_case and name not in self.now.growing
        if name not in self.survey.columns or (is_folded and name in self.now.column_notes):
            return column, list(self.now.column_notes.get(name, ()))
        facts = self._facts(name)
        notes: list[Note] = []
        if name in self.now.inferred:
            settled = self._settle_texts(column, facts)
            if isinstance(settled, Numbers):
                self.static[name] = _static(settled)
                self.dates |= {name} if settled.dates else set()
                return self._renew(self.options.settle(name, "numeric", settled), "numbers"), []
            if settled is not None:
                facts = replace(facts, notes=settled.notes)
            if self._may_identify(name, facts):
                self.again.append(f"column {name!r} may identify rows")
                self.sketched.add(name)
            kind, notes = infer_schema.decide_kind(name, facts, "infer", self.options.identifiers)
            if kind != column.kind:
                settled_column = replace(self.options.settle(name, kind), part_of=column.part_of)
                if kind == "id":
                    return settled_column, notes
                return self._renew(settled_column, f"{kind}, not {column.kind}"), notes
        elif column.kind != "target" and not self.options.is_schema:
            _, notes = infer_schema.decide_kind(name, facts, column.kind, self.options.identifiers)
        if column.coded:
            column, found = self._with_levels(column, facts)
            notes += found
        elif facts.marks and column.kind == "numeric" and name in self.now.inferred:
            known = self.options.column(name).missing
            column = replace(column, missing=tuple(dict.fromkeys((*known, *sorted(facts.marks)))))
        return column, notes

    def _may_identify(self, name: str, facts: ColumnSurvey) -> bool:
        """Return whether different numbers must be counted, which was not done so far."""
        is_large = facts.rounded is not None and facts.is_whole and not facts.dates
        is_known = facts.sketch is not None or name in self.now.sketched
        is_asked = self.options.identifiers != "keep" and not self.source.once
        return is_large and is_asked and not is_known

    def _facts(self, name: str) -> ColumnSurvey:
        found, known = self.survey.columns[name], self.now.static.get(name)
        if known is None:
            return found
        return replace(
            found,
            declared=known.declared,
            dates=found.dates or known.dates,
            date_order=known.date_order,
            notes=known.notes,
            texts=found.texts or found.levels[:1000] or known.texts,
        )

    def _settle_texts(self, column: Column, facts: ColumnSurvey) -> Raw | None:
        """Look at all texts of a nominal column as `read` would; None where that cannot change.

        Of too many texts those that are known are looked at. JSON may hold any values.
        """
        name = column.name
        if column.kind != "nominal" or column.part_of or facts.declared:
            return None
        levels = facts.levels
        words = _cells(levels, facts.amounts)
        if facts.is_capped:
            if name in self.source.coded:
                return None
            head = self.now.static[name].texts if name in self.now.static else ()
            levels = tuple(dict.fromkeys([*head, *facts.texts]))
            words = Words(np.arange(len(levels)), levels)
        if self.source.open_ended and not facts.marked and not any(map(_is_no_number, levels)):
            return from_objects(name, list(levels)) if levels else missing_numbers(facts.missing)
        if not self.source.open_ended and any(not isinstance(level, str) for level in levels):
            return None
        if self.source.typed and not levels:
            return None
        if facts.marked:
            # A typed column of numbers in texts is one of numbers if some texts mean missing.
            words = Words(np.append(words.codes, len(words.distinct)), (*words.distinct, ""))
        if not self.source.typed:
            return settle(name, words, self.options)
        return settle_typed(name, words, self.options)

    def _renew(self, column: Column, what: str) -> Column:
        """Return a column that must be scanned again, because it is something else."""
        self.again.append(f"column {column.name!r} turned out to be {what}")
        self.renewed[column.name] = column
        if column.coded:
            self.growing.add(column.name)
        return column

    def _with_levels(self, column: Column, facts: ColumnSurvey) -> tuple[Column, list[Note]]:
        name, notes = column.name, list[Note]()
        if name in self.now.folded:
            at = facts.levels.index(OTHER)
            rest = int(facts.amounts[at])
            share = rest / max(facts.rows, 1)
            return column, [
                Note.of("S02", name, kept=len(facts.levels) - 1, rows=rest, share=share)
            ]
        first = self.now.given[name].levels
        is_target = column.kind == "target"
        is_free = not (self.options.is_schema and first)
        if is_free and not column.fold_case:
            used = [lv for lv, n in zip(facts.levels, facts.amounts, strict=True) if n]
            notes += code_levels.note_spellings(name, Words(np.arange(len(used)), tuple(used)))
        if name not in self.now.growing:
            return column, notes
        if len(facts.levels) > self.limit or facts.is_capped:
            return self._capped(column, facts), notes
        levels = facts.ordered_levels(first, is_target)
        if column.fold_case:
            words = _cells(facts.levels, facts.amounts)
            folded = code_levels.fold_case(words, self.now.given[name])
            levels = (*first, *in_order([lv for lv in folded.distinct if lv not in first]))
            if len(levels) < len(facts.levels):
                self.again.append(f"the levels of column {name!r} are folded")
        if column.when_missing == "value" and MISSING_VALUE not in levels:
            levels = (*levels, MISSING_VALUE)
        return column.with_levels(levels), notes

    def _capped(self, column: Column, facts: ColumnSurvey) -> Column:
        """Return a column with its most frequent levels and one for all others."""
        facts = facts.pruned_to(self.limit)
        kept = [level for level in facts.levels if level != OTHER]
        self.folded.add(column.name)
        self.again.append(f"column {column.name!r} has more than {self.limit} levels")
        return column.with_levels((*in_order(kept), OTHER))

    def with_parts(self, columns: list[Column]) -> tuple[list[Column], list[Note]]:
        """Return the columns with the parts of dates that all rows give, and notes on them."""
        notes, result = list[Note](), list[Column]()
        present = {column.part_of: column for column in columns if column.part_of}
        names = {column.name for column in columns if not column.part_of}
        for column in columns:
            if column.part_of and column.part_of[1] in self.now.with_parts:
                continue
            result.append(column)
            name = column.name
            if name not in self.now.with_parts or name not in self.survey.columns:
                continue
            telling = [
                part for part in self._facts(name).telling() if f"{name} {part}" not in names
            ]
            for part in telling:
                known = present.get((part, name))
                if known is None:
                    levels = part_levels(part)
                    kind: Kind = "nominal" if levels else "numeric"
                    known = self.options.settle(f"{name} {part}", kind)
                    known = replace(known, levels=levels, part_of=(part, name))
                    self.static[known.name] = ColumnSurvey(not levels, declared=bool(levels))
                    self._renew(known, "worth adding")
                result.append(known)
            if telling:
                listed = listing([f"{name} {part}" for part in telling])
                notes.append(Note.of("T28", name, names=listed))
        return result, notes

    def given(self, schema: Schema) -> Schema:
        """Return the levels known beforehand, for the columns of the new schema."""
        old = self.now.given
        return Schema(
            tuple(
                old[column.name]
                if column.name in old and column.name not in self.renewed
                else column.with_levels(())
                if column.coded and not column.part_of
                else column
                for column in schema
            )
        )


def _is_no_number(level: Level) -> bool:
    return isinstance(level, str | bool)


def _cells(levels: Sequence[Level], amounts: Any) -> Words:
    """Return a column of cells with these levels, as often as they occur or in proportion."""
    total = int(amounts.sum())
    if total > _MOST_CELLS:
        amounts = np.maximum(amounts * (_MOST_CELLS / total), 1).astype(np.int64)
    codes = np.repeat(np.arange(len(levels)), amounts)
    return Words(codes, tuple(levels))
