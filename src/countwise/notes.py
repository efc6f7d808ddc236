"""Notes: what was dropped, assumed or found odd in data and results, each with a code to look up.

`NOTES` is the one table of codes; the reference prints it. ``Note.of(code, column, …)`` fills a
code's text. Texts and explanations name parameters in backquotes, as messages of errors do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from countwise.errors import Spelling, spell_parameters, spell_python

#: ``info`` is for the record, ``caution`` may change how a result is read, ``warning`` should be
#: looked at before the result is used.
Severity = Literal["info", "caution", "warning"]


@dataclass(frozen=True)
class NoteKind:
    """One line of the table of notes."""

    title: str
    severity: Severity
    text: str
    explanation: str


@dataclass(frozen=True)
class Note:
    """A note about the data or a result: a code to look up, the column it concerns, a sentence.

    Examples
    --------
    >>> Note.of("T02", "sky")
    Note(code='T02', column='sky', text="Column 'sky' has one value in every row.")
    """

    code: str
    column: str | None
    text: str

    @classmethod
    def of(cls, code: str, column: str | None = None, **values: Any) -> Note:
        """Return a note whose text is that of its code, filled with the column and the values."""
        return cls(code, column, NOTES[code].text.format(column=column, **values))

    def spelled(self, spell: Spelling) -> str:
        """Return the text with parameters spelled as a surface spells them."""
        return spell_parameters(self.text, spell)

    def to_dict(self) -> dict[str, str | None]:
        """Return the note as plain data."""
        return {"code": self.code, "column": self.column, "text": str(self)}

    def __str__(self) -> str:
        return self.spelled(spell_python)


#: Every code that can be attached to a table, a model, an evaluation or a curve.
NOTES: dict[str, NoteKind] = {
    "T01": NoteKind(
        "Identifier left out",
        "info",
        "Column {column!r} looks like an identifier ({why}) and is left out; keep it with "
        "`nominal=` or `numeric=`.",
        "The column identifies rows instead of describing them, so a model could only memorize it. "
        "Declare it with `nominal=` or `numeric=` if it is an attribute after all.",
    ),
    "T02": NoteKind(
        "Constant column",
        "info",
        "Column {column!r} has one value in every row.",
        "A column with a single value cannot separate classes. It does no harm.",
    ),
    "T03": NoteKind(
        "Rows without a class",
        "caution",
        "{dropped} of {rows} rows have no class in {column!r} and were dropped.",
        "Rows whose class is missing can neither train nor test a model. If missing is a class of "
        "its own, give it a name in the file.",
    ),
    "T04": NoteKind(
        "Rows dropped for a missing value",
        "caution",
        "{dropped} rows miss a value in {column!r} and were dropped, as requested.",
        "The column was read with `when_missing='drop'`. With `when_missing='omit'` the rows stay "
        "and only the missing cell is left out of the counts.",
    ),
    "T05": NoteKind(
        "Large integers rounded",
        "caution",
        "Column {column!r} holds {value}, which is beyond 2^53 and was rounded to the nearest "
        "double.",
        "Whole numbers beyond 2^53 do not fit a double. If they are codes, declare the column "
        "nominal; then they are kept exactly.",
    ),
    "T06": NoteKind(
        "Dates converted to days",
        "info",
        "Column {column!r} holds dates; they became days since 1970-01-01.",
        "Dates are read as days since 1970-01-01, so that later is larger. A season or a weekday "
        "must be a column of its own.",
    ),
    "T07": NoteKind(
        "Very many levels",
        "caution",
        "Column {column!r} has {levels} levels; most of them can say little about the class.",
        "With so many levels each has few rows, and its probabilities are mostly smoothing. Group "
        "the levels, or leave the column out.",
    ),
    "T08": NoteKind(
        "Column missing throughout",
        "caution",
        "Column {column!r} is missing in every row.",
        "No row has a value in this column. Check whether too many values are read as missing.",
    ),
    "T09": NoteKind(
        "Two numbers that may be codes",
        "caution",
        "Column {column!r} holds only the numbers {low:g} and {high:g}; if they are codes, declare "
        "it with `nominal=[{column!r}]`.",
        "A numeric column with two values is modeled by a normal distribution per class. If the "
        "numbers stand for names, declare the column with `nominal=`.",
    ),
    "T10": NoteKind(
        "Columns not in the schema",
        "info",
        "Columns {names} are not in the schema and were ignored.",
        "The file has columns that the schema does not name.",
    ),
    "T12": NoteKind(
        "Only one class",
        "warning",
        "Every row is of class {label!r}: there is nothing to learn.",
        "Every row is of the same class. Check which column is the target.",
    ),
    "T13": NoteKind(
        "A quantity as target",
        "warning",
        "Column {column!r} has {classes} classes in {rows} rows; it looks like a quantity to "
        "predict rather than a class.",
        "The target has about as many classes as rows, as a price or a measurement has. Cut it "
        "into a few classes, or predict it by regression.",
    ),
    "F01": NoteKind(
        "Separator assumed",
        "info",
        "Separator {separator!r}{decimal} assumed.",
        "The file does not use the separator that its name suggests; the one that gives a regular "
        "table was taken. Pass `separator=` if it is another.",
    ),
    "F02": NoteKind(
        "Encoding assumed",
        "caution",
        "The file is not UTF-8, so {encoding} was assumed.",
        "The bytes are not UTF-8 and were read as Latin-1 or Windows-1252. Check the accents.",
    ),
    "F03": NoteKind(
        "Column without a name",
        "info",
        "Column {number} has no name in the header and is called {column!r}.",
        "The header leaves a column unnamed; it is named by its position.",
    ),
    "F04": NoteKind(
        "No separator found",
        "caution",
        "No separator was found, so the file was read as one column.",
        "The whole line was taken as one column. Pass `separator=` if cells are separated by "
        "another character.",
    ),
    "N01": NoteKind(
        "Singular covariance",
        "caution",
        "The covariance of the numeric columns is singular, because some are (nearly) sums of "
        "others; it was shrunk by {shrinkage:.0%} towards its diagonal.",
        "The Mahalanobis distance divides by the covariance, which is impossible when one numeric "
        "column follows from others. Drop such columns if the distances matter.",
    ),
    "N02": NoteKind(
        "Attribute weights from some of the rows",
        "info",
        "Attribute weights were learned from the neighbors of {used} evenly spaced rows of {rows}.",
        "Finding the nearest hits and misses of every row takes time that grows with the square of "
        "their number; this many rows determine the weights as well.",
    ),
    "N03": NoteKind(
        "Equal rows of different classes",
        "caution",
        "{rows} training rows equal rows of another class in all that is compared, or miss so much "
        "that such a row is as near to them as they are; no nearest row gets them right.",
        "Rows that agree in every compared column but not in their class limit the accuracy of any "
        "rule about these columns.",
    ),
    "N04": NoteKind(
        "Unused parameter p",
        "info",
        "p = {p:g} does nothing with the {metric} metric, which has a fixed exponent; only "
        "minkowski and vdm take one.",
        "Only minkowski and vdm have an exponent to choose; every other metric is defined by one.",
    ),
    "N05": NoteKind(
        "More neighbors than rows",
        "info",
        "n_neighbors = {n_neighbors} is more than the number of training rows, {rows:g}: all of "
        "them vote.",
        "Every training row is a neighbor of every row; with equal votes the answer is the class "
        "frequencies. Choose a smaller `n_neighbors=`.",
    ),
    "A01": NoteKind(
        "Penalties and pairs chosen on a sample",
        "info",
        "Bins, penalties and pairs were chosen on {sample} of {rows} rows, drawn from each class "
        "in its share; the tables were fitted to all rows.",
        "Validation on this many rows decides as well as on all of them. The last fit reads every "
        "row.",
    ),
    "P01": NoteKind(
        "Rare levels merged",
        "caution",
        "Column {column!r}: only its {levels} most frequent levels are kept apart{why}; the others "
        "are one level.",
        "Tables over several columns grow with the product of their levels, so only the most "
        "frequent levels are kept. Group the levels before, if the rare ones matter.",
    ),
    "P02": NoteKind(
        "Parents passed over",
        "caution",
        "Column {column!r} does not depend on {others}, because the table of them all would not "
        "fit in memory.",
        "A column depends on fewer or weaker others than requested. Group levels, or choose fewer "
        "bins or a smaller k.",
    ),
    "P03": NoteKind(
        "Coarser cuts",
        "caution",
        "Column {column!r}: cut into fewer intervals{why}.",
        "Tables over several columns grow with the product of their intervals. Choose fewer bins "
        "to decide which intervals these are.",
    ),
    "P10": NoteKind(
        "Column beyond the cell budget left out",
        "caution",
        "Column {column!r} is left out: the budget allows two levels only to columns that tell "
        "more about the class than its {bits:.3g} bits.",
        "The cells of all columns would have exceeded the budget, so the columns that tell least "
        "about the class were left out. Raise `budget=` if memory allows it.",
    ),
    "P11": NoteKind(
        "Boundaries from some of the rows",
        "info",
        "The boundaries were found on {rows:,} rows drawn from all of them; the cells are counted "
        "on all rows.",
        "So many cells, or such an objective, cannot be searched on all rows at once. The "
        "boundaries come from a sample; the counts are those of all rows.",
    ),
    "P12": NoteKind(
        "Search ended early",
        "caution",
        "The search for boundaries was ended {why}; the best boundaries so far are used.",
        "The search was stopped by its time limit or by an interrupt before it converged. More "
        "time may give better boundaries.",
    ),
    "V01": NoteKind(
        "No rule better than chance",
        "warning",
        "No rule was better than chance; the answer is the class frequencies of all rows.",
        "Boosting adds rules that are right more often than not, and on these rows no single "
        "column gives one. Choose a base that uses several columns, such as a tree.",
    ),
    "V02": NoteKind(
        "Members too alike",
        "caution",
        "Members agree on {seen:.0%} of the rows, where independent ones of their accuracy would "
        "on {independent:.0%}: the vote errs more often than ensemble_error says.",
        "A vote corrects errors that members make independently. These make many of theirs "
        "together, so the vote is hardly better than one of them. Choose unlike models.",
    ),
    "E01": NoteKind(
        "Class rarer than the folds",
        "caution",
        "Fewer rows than folds: class {classes}. Some folds lack such a class, and a class of one "
        "row is never in training when it is tested.",
        "Some folds have no row of the class, and its scores rest on few rows. Use fewer folds, or "
        "repeats.",
    ),
    "E02": NoteKind(
        "Rows without a known class left out",
        "caution",
        "{left_out} of {rows} rows have no known class and were left out.",
        "Rows whose class is missing or unknown cannot be scored.",
    ),
    "E03": NoteKind(
        "A rule that draws",
        "info",
        "{names}: the rule draws its decisions; its scores are exact expectations (for accuracy "
        "the mean of W_i[y_i]), with nothing drawn.",
        "Scores of a rule that draws its decisions are exact expectations over the draws, so they "
        "carry no noise from drawing.",
    ),
    "E04": NoteKind(
        "No posteriors",
        "info",
        "{names}: gives labels but no posteriors, so log loss and Brier score are not defined.",
        "The classifier answers with labels only. Scores of probabilities are not defined, and "
        "deciding by gain treats every label as certain.",
    ),
    "E05": NoteKind(
        "Counted once",
        "info",
        "{names}: trained from merged counts of one pass over the rows; fitting seconds hold a "
        "share of that pass.",
        "Models that learn from counts were trained by merging the counts of folds, which gives "
        "the posteriors of refitting in a fraction of the time.",
    ),
    "E06": NoteKind(
        "Posteriors in single precision",
        "info",
        "More than {limit} posteriors a model: they are kept in single precision; decisions were "
        "made in double precision.",
        "To save memory posteriors are kept with about seven digits; decisions were made before "
        "rounding.",
    ),
    "E07": NoteKind(
        "Columns were encoded",
        "info",
        "{names}: nominal columns were encoded as one column a level and missing numbers as the "
        "median with a marker, learned from the training rows.",
        "Classifiers that take numbers only got one column a level and medians for missing "
        "numbers, learned from the training rows of each fold.",
    ),
    "E08": NoteKind(
        "Weights not used in training",
        "caution",
        "{names}: cannot be given weights and learned from unweighted rows; scores are weighted.",
        "The classifier takes no weights. It learned from unweighted rows and was scored with "
        "weights.",
    ),
    "E09": NoteKind(
        "One test set",
        "caution",
        "One test set: intervals show how its rows vary, not how another training set would change "
        "the model.",
        "Intervals leave out that other training rows would have given another model. Use folds or "
        "repeats for that.",
    ),
    "E10": NoteKind(
        "How the gain matrix was read",
        "caution",
        "{sentence}",
        "Rows are true classes, columns decisions. A decision that can never be the best is worth "
        "a second look at the matrix.",
    ),
    "E11": NoteKind(
        "Some of the test rows",
        "info",
        "{tested} rows were tested in a repeat, at random, of the {held_out} held out; raise "
        "`test_rows=` for narrower intervals.",
        "To save time not every held-out row was tested at every size.",
    ),
    "E12": NoteKind(
        "Fewer sizes than requested",
        "info",
        "{sizes} sizes, not {points}: {rows} training rows allow no more.",
        "There are too few training rows for so many different sizes.",
    ),
    "E13": NoteKind(
        "One repeat",
        "caution",
        "One repeat: intervals are those of the tested rows alone.",
        "The curve rests on one split of the rows. Set `repeats=` to see how much it varies.",
    ),
    "E14": NoteKind(
        "Refitted for every fold",
        "info",
        "{names}: refitted for every fold, because {why}.",
        "Models that cut numbers are counted once on the cut points of all folds together, as long "
        "as those tables fit in memory and their sums are exact. The posteriors are the same.",
    ),
    "E15": NoteKind(
        "Out of time",
        "caution",
        "{names}: left out for lack of time.",
        "Models that would not have finished within the time allowed were left out whole. Allow "
        "more time, or name fewer models.",
    ),
    "B01": NoteKind(
        "Few rows a cell",
        "caution",
        "{rows:g} rows in {cells} cells of {classes} classes: a plug-in estimate is too low where "
        "cells hold few rows.",
        "A plug-in estimate takes the frequencies in each cell for the truth, which is too "
        "optimistic where cells hold few rows.",
    ),
    "B02": NoteKind(
        "Few rows for a neighbor bound",
        "caution",
        "The bound holds in the limit of many rows; {rows} rows in {columns} columns leave "
        "neighbors far apart, and the estimates may be well above the Bayes error.",
        "The bound of Cover and Hart holds in the limit of many rows; with few rows in many "
        "columns the nearest row is far away.",
    ),
    "B03": NoteKind(
        "Neighbors of some rows",
        "info",
        "Neighbors of {used} of {rows} rows were examined.",
        "To save time, the neighbors of a sample of the rows were examined.",
    ),
}

_UNKNOWN = NoteKind("Note", "info", "", "")
_ORDER: dict[Severity, int] = {"warning": 0, "caution": 1, "info": 2}


def kind_of(code: str) -> NoteKind:
    """Return what a code stands for; a code of a later version is a plain note."""
    return NOTES.get(code, _UNKNOWN)


def note_facts(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Return notes as plain data with what they mean, each once, the most serious first."""
    kinds = {note: kind_of(note.code) for note in notes}
    ordered = sorted(kinds, key=lambda note: (_ORDER[kinds[note].severity], note.code))
    return [
        {
            **note.to_dict(),
            "title": kinds[note].title,
            "severity": kinds[note].severity,
            "explanation": spell_parameters(kinds[note].explanation, spell_python),
        }
        for note in ordered
    ]
