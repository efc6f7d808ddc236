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
        "`nominal=`, `numeric=` or `text=`.",
        "The column identifies rows instead of describing them, so a model could only memorize it. "
        "Declare it with `nominal=` or `numeric=` if it is an attribute after all, or with `text=` "
        "if its words should be counted.",
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
        "Rows whose class is missing can neither train nor test a model. If a missing class means "
        "something, write it as a class name in the file.",
    ),
    "T04": NoteKind(
        "Rows dropped for a missing value",
        "caution",
        "{dropped} rows have no value in {column!r} and were dropped, as requested.",
        "The column was read with `when_missing='drop'`. With `when_missing='omit'` the rows stay "
        "and only the missing cell is left out of the counts.",
    ),
    "T05": NoteKind(
        "Large integers rounded",
        "caution",
        "Column {column!r} holds {value}, which is beyond 2^53 and was rounded to the nearest "
        "double.",
        "Whole numbers beyond 2^53 cannot all be stored exactly as doubles. If they are codes, "
        "declare the column nominal; then they are kept exactly.",
    ),
    "T06": NoteKind(
        "Dates converted to days",
        "info",
        "Column {column!r} holds dates{order}; they became days since 1970-01-01.",
        "Dates are read as days since 1970-01-01, so a later date is a larger number.",
    ),
    "T07": NoteKind(
        "Very many levels",
        "caution",
        "Column {column!r} has {levels} levels; most of them can say little about the class.",
        "With so many levels each has few rows, and its probabilities are determined mostly by "
        "smoothing. Group the levels, or leave the column out.",
    ),
    "T08": NoteKind(
        "Column without values",
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
        "Column {column!r} has {classes} classes in {rows} rows; this looks like a quantity, not a "
        "class.",
        "The target takes very many values, as a price or a measurement does. Cut it "
        "into a few classes, or predict it by regression.",
    ),
    "T20": NoteKind(
        "Numbers with marks",
        "info",
        "Column {column!r} holds numbers written like {example!r} ({form}).",
        "Currency signs and thousands marks were left out, a decimal comma became a point and a "
        "percentage a fraction. Declare the column with `nominal=` if its cells are names.",
    ),
    "T21": NoteKind(
        "Marks taken as missing",
        "info",
        "Column {column!r}: {marks} was taken as missing (cells: {cells}).",
        "Among numbers and dates, marks such as - or None stand for a missing value. Name the "
        "marks yourself with `missing_only=` if one of them is a value.",
    ),
    "T22": NoteKind(
        "Numbers or dates among other texts",
        "caution",
        "Column {column!r} looks like {what} ({fraction:.0%} of its cells), but row {row} holds "
        "{text!r}; it is taken as nominal.",
        "Too many cells are neither numbers nor dates. Name texts that mean missing with "
        "`missing=`, or declare the column with `numeric=` or `nominal=`.",
    ),
    "T23": NoteKind(
        "Numbers stored as texts",
        "caution",
        "Column {column!r} looks like {what} ({example!r}) but is stored as text; declare it with "
        "`numeric=[{column!r}]` if it is not a code.",
        "The source stores these numbers as texts, as is usual for codes. Each number is a level "
        "of its own unless the column is declared numeric.",
    ),
    "T24": NoteKind(
        "Labels that differ only in case or blanks",
        "caution",
        "Column {column!r}: {pairs} differ only in case or blanks; `fold_case=True` makes them "
        "one.",
        "Labels that differ only in upper and lower case, or in blanks, are usually one label "
        "typed in two ways. They are separate levels unless `fold_case=True`.",
    ),
    "T25": NoteKind(
        "Codes with leading zeros",
        "info",
        "Column {column!r} holds codes with leading zeros ({example!r}), which are kept as names.",
        "A zip code or an account number is not a quantity. If these codes are quantities, declare "
        "the column with `numeric=`.",
    ),
    "T26": NoteKind(
        "Order of day and month assumed",
        "warning",
        "Column {column!r}: no date says whether {example!r} begins with the day or the month; the "
        "{word} was taken. Set `day_first=` to choose the order.",
        "Every date of the column is valid in both orders. Dates with periods begin with the day, "
        "dates with slashes with the month, unless `day_first=` says otherwise.",
    ),
    "T27": NoteKind(
        "Column missing in rows to predict",
        "warning",
        "The rows have no column {column!r}; the model took it as missing in every row.",
        "The model was trained with a column that the rows lack. It treats the column as missing "
        "in every row. With `strict=True` such rows are refused.",
    ),
    "T28": NoteKind(
        "Parts of dates added",
        "info",
        "The dates of column {column!r} also give {names}; leave them out with `drop=`.",
        "The month, weekday and hour of the dates become columns of their own if there are at "
        "least 30 dates and these parts repeat.",
    ),
    "W01": NoteKind(
        "Free text found",
        "info",
        "Column {column!r} holds free text ({texts} different texts); its words will be counted. "
        "Leave it out with `drop=`.",
        "Most rows have different texts of several words. Models that read text count its words; "
        "the others leave the column out.",
    ),
    "W02": NoteKind(
        "Text left out",
        "caution",
        "Column {column!r} holds free text and was left out by {who}; its words are used "
        "by {models}.",
        "The model was trained on the other columns alone.",
    ),
    "W03": NoteKind(
        "Rare words left out",
        "caution",
        "Column {column!r} has {words} words; the {kept} most frequent ones were kept "
        "(`max_words=`).",
        "The model keeps the words that occur most often. Raise `max_words` to keep more of them.",
    ),
    "F01": NoteKind(
        "Separator assumed",
        "info",
        "Separator {separator!r}{decimal} assumed.",
        "The file does not use the separator that its name suggests, so the one that gives a "
        "regular table was used. If that is wrong, pass `separator=`.",
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
        "Each line was read as a single cell. If cells are separated by an unusual character, "
        "pass it as `separator=`.",
    ),
    "F05": NoteKind(
        "Title lines skipped",
        "caution",
        "Lines above the header were skipped ({lines}): {text!r}. Set `skip_lines=` to say how "
        "many there are.",
        "The file begins with lines that have fewer cells than the table, as titles do. With "
        "`skip_lines=0` the first line is the header.",
    ),
    "F06": NoteKind(
        "Comment lines skipped",
        "info",
        "Lines that begin with # were skipped as comments.",
        "Above the header, every line that begins with # is a comment. Below it, such a line is a "
        "comment if it does not have as many cells as a row.",
    ),
    "F07": NoteKind(
        "One sheet of several",
        "caution",
        "Sheet {sheet!r} was read; the workbook also has {others}. Set `sheet=` to read another.",
        "The first sheet that holds a table is read, unless `sheet=` names one.",
    ),
    "S01": NoteKind(
        "Counted piece by piece",
        "info",
        "{rows:,} rows of {what} were counted by the engine {engine} ({why}).",
        "The rows stayed where they are; only their counts were kept. The result is the same as "
        "that of rows in memory.",
    ),
    "S02": NoteKind(
        "Levels counted together",
        "caution",
        "Column {column!r} has very many levels: {kept} of the most frequent are told apart, and "
        "the {rows:,} rows of all others ({share:.1%}) are counted as one level (`max_levels=`).",
        "Every level that occurs often enough is among those told apart, and all counts are exact. "
        "Raise `max_levels=` if memory allows it, or group the levels yourself.",
    ),
    "S03": NoteKind(
        "Rows that could not be read",
        "warning",
        "The rows of {piece} were skipped, because they could not be read: {reason}",
        "A damaged piece of the source was left out as requested by `on_bad='skip'`. Nothing is "
        "counted of its rows.",
    ),
    "S08": NoteKind(
        "Evaluated without keeping rows",
        "info",
        "{scans} scans trained and scored all models. Which rows are tested follows from where the "
        "rows are, so the folds are not stratified.",
        "Rows and their predictions are not kept, so the list of rows and top-k accuracy need rows "
        "in memory.",
    ),
    "S09": NoteKind(
        "A model that cannot be evaluated on a scan",
        "caution",
        "{names} was left out: {why}",
        "It needs rows in memory. Evaluate a sample: cw.evaluate(models, rows.sample(100_000)).",
    ),
    "S10": NoteKind(
        "Sizes of a curve as counted",
        "info",
        "Where a row is on the curve follows from where it is in its file, so the sizes are the "
        "numbers of rows that were counted (means over folds and repeats).",
        "The number of rows is not known before the first scan, so the training sets are fractions "
        "of the rows.",
    ),
    "S11": NoteKind(
        "AUC from a histogram",
        "info",
        "AUC and ROC curves come from histograms of the posteriors with {bins:,} bins; every AUC "
        "is exact to within {error:.2g}.",
        "Posteriors are not kept. Rows in different bins are compared exactly; rows in one bin "
        "count one half, as equal ones do. So an AUC is wrong by at most half the pairs of rows "
        "that share a bin without being equal.",
    ),
    "S13": NoteKind(
        "More scans because of memory",
        "info",
        "More scans were taken than with more memory, because counts may take {room} (twice "
        "`memory=`): {why}.",
        "What is counted for all models, folds and sizes may take twice the `memory=` of the scan, "
        "and at least 1 GB. Where that is too little, columns are surveyed before they are "
        "counted, or the first models are trained and scored before the next ones begin. The "
        "results are the same.",
    ),
    "S14": NoteKind(
        "A column in files and in the names of folders",
        "caution",
        "Column {column!r} is in the files and in the names of their folders; the names of the "
        "folders count.",
        "Folders named `key=value` give a column. The files below them hold a column of the same "
        "name, which is not read, as in other tools. Rename one of them if they differ.",
    ),
    "S12": NoteKind(
        "Bagging by Poisson weights",
        "info",
        "Each of the {members} members draws every row {how} {fraction:g}; how often follows from "
        "where the row is.",
        "In memory each member draws a fixed number of rows. Outside memory that number is not "
        "known in advance; Poisson weights give nearly the same samples, and do not depend on the "
        "order in which rows arrive.",
    ),
    "S15": NoteKind(
        "Evaluated in the database",
        "info",
        "The database selected the rows of each fold and grouped them; {scans} scans read rows. "
        "Which rows are tested follows from their key, so the folds are not stratified.",
        "Groups of equal rows are counted and scored once. Rows are read where a model needs them, "
        "or where they form too many groups.",
    ),
    "S04": NoteKind(
        "A sample of the rows",
        "caution",
        "{sample:,} of {rows:,} rows, drawn at random, were used to {purpose}.",
        "The rows do not fit in memory, and this step needs rows instead of counts. Everything "
        "else was learned from all rows.",
    ),
    "S05": NoteKind(
        "Thresholds on the borders of a fine histogram",
        "info",
        "Column {column!r} has more than 4096 different values in some nodes; there its thresholds "
        "lie on the borders of a fine histogram.",
        "Rows outside memory are not sorted by value. A fine histogram holds up to 4096 values "
        "exactly, and about as many equally fine cells beyond that.",
    ),
    "S06": NoteKind(
        "A sample instead of all rows",
        "caution",
        "{sample:,} of {rows:,} rows, drawn at random, stand for all of them, as requested.",
        "The rows were drawn by a hash of where they are, so the same ones are drawn every time. "
        "Figures are those of the sample.",
    ),
    "S07": NoteKind(
        "Weights that are fractions",
        "info",
        "Some weights in column {column!r} are fractions, so sums are rounded and may differ in "
        "their last digits from one order of rows to another.",
        "Whole weights are added to the last bit. Multiply the weights until all are whole if the "
        "last digit matters.",
    ),
    "N01": NoteKind(
        "Singular covariance",
        "caution",
        "The covariance matrix of the numeric columns is singular, because some columns are "
        "(nearly) linear combinations of others; it was shrunk by {shrinkage:.0%} towards its "
        "diagonal.",
        "The Mahalanobis distance inverts the covariance matrix, which is impossible if a numeric "
        "column is a linear combination of others. Drop such columns if the distances matter.",
    ),
    "N02": NoteKind(
        "Attribute weights from a sample of the rows",
        "info",
        "Attribute weights were learned from the neighbors of {used} evenly spaced rows of {rows}.",
        "ReliefF looks for the neighbors of each row, so its time grows with the square of the "
        "number of rows. This many rows are enough to determine the weights.",
    ),
    "N03": NoteKind(
        "Equal rows of different classes",
        "caution",
        "{rows} training rows cannot be classified correctly by their nearest row: they equal "
        "rows of another class in every compared column, or such a row is just as near because "
        "cells are missing.",
        "Rows that agree in every compared column but not in their class limit the accuracy of "
        "any rule that uses only these columns.",
    ),
    "N04": NoteKind(
        "Unused parameter p",
        "info",
        "p = {p:g} does nothing with the {metric} metric, which has a fixed exponent; only "
        "minkowski and vdm use p.",
        "Only minkowski and vdm have an exponent that can be chosen.",
    ),
    "N05": NoteKind(
        "More neighbors than rows",
        "info",
        "n_neighbors = {n_neighbors} is more than the number of training rows, {rows:g}: all of "
        "them vote.",
        "Every training row votes on every prediction. If all votes have equal weight, the "
        "posteriors are always the class frequencies. Choose a smaller `n_neighbors=`.",
    ),
    "A01": NoteKind(
        "Penalties and pairs chosen on a sample",
        "info",
        "Bins, penalties and pairs were chosen on {sample} of {rows} rows, drawn from each class "
        "in proportion to its size; the tables were fitted to all rows.",
        "A sample of this size is enough to choose penalties and pairs. The final fit uses all "
        "rows.",
    ),
    "A02": NoteKind(
        "How rows outside memory were fitted",
        "info",
        "The last fit took {passes} passes over {rows:,} rows, {road}.",
        "Each step of the fit needs a pass over all rows. They are coded once, to about a byte a "
        "cell, and kept in memory or in a temporary file, which is removed in any case.",
    ),
    "A03": NoteKind(
        "The last fit was stopped",
        "caution",
        "The last fit was stopped {why} after {steps} steps; its gradient is {gradient:.1g} of "
        "that of empty tables, and a fit that ends by itself reaches 1e-07.",
        "The tables are those of the best step so far. With a gradient below about 1e-3 of that of "
        "empty tables, further steps change probabilities very little.",
    ),
    "A04": NoteKind(
        "A sample of rows without a fixed order",
        "caution",
        "The rows have no fixed order, so another fit may choose penalties and pairs on other "
        "rows.",
        "A database may return rows in any order. Name the column that identifies them with "
        "`key=`, and the same rows are drawn every time.",
    ),
    "P01": NoteKind(
        "Rare levels merged",
        "caution",
        "Column {column!r}: all levels but the {levels} most frequent are merged into one{why}.",
        "The size of a table over several columns is the product of their numbers of levels, so "
        "only the most frequent levels are kept. If rare levels matter, group the levels yourself.",
    ),
    "P02": NoteKind(
        "Parents left out",
        "caution",
        "Column {column!r} does not depend on {others}, because their joint table would not fit "
        "in memory.",
        "The column depends on fewer columns than requested, or on less informative ones. Group "
        "levels, or choose fewer bins or a smaller k.",
    ),
    "P03": NoteKind(
        "Coarser cuts",
        "caution",
        "Column {column!r} was cut into fewer intervals{why}.",
        "The size of a table over several columns is the product of their numbers of intervals. "
        "Choose fewer bins to control how the column is cut.",
    ),
    "P04": NoteKind(
        "Dependencies learned once",
        "info",
        "Tables of every two of {columns:,} columns would not fit in memory: they were counted, "
        "measured and dropped one by one, and only those of the dependencies found are kept.",
        "Rows that are added or forgotten later change the tables, not the dependencies. Fit the "
        "model again to renew them.",
    ),
    "P05": NoteKind(
        "Not calibrated",
        "info",
        "The model is made from counts alone, so its probabilities are not calibrated.",
        "The temperature of `calibrate='auto'` is learned from rows that are scored without "
        "themselves. After `fit_counts`, `partial_fit`, `forget` and merging there are no such "
        "rows: the temperature is 1. Decisions are the same. Call `fit` with all rows to "
        "calibrate.",
    ),
    "P06": NoteKind(
        "Temperature from a sample of the rows",
        "info",
        "The temperature of the probabilities was learned from {rows:,} of {total:,} rows.",
        "One number is learned from these rows. The counts are those of all rows.",
    ),
    "P10": NoteKind(
        "Column beyond the cell budget left out",
        "caution",
        "Column {column!r} is left out: it gives only {bits:.3g} bits about the class, and the "
        "budget has room only for more informative columns.",
        "The cells of all columns would have exceeded the budget, so the least informative "
        "columns were left out. Raise `budget=` if memory allows it.",
    ),
    "P11": NoteKind(
        "Boundaries from a sample of the rows",
        "info",
        "The boundaries were found on a sample of {rows:,} rows; the cells are counted on all "
        "rows.",
        "The search cannot use all rows if there are too many cells, or if it maximizes "
        "information instead of gain. The boundaries come from a sample; the counts are those of "
        "all rows.",
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
        "Boosting combines rules that are better than chance. On these rows no single column "
        "gives such a rule. Choose an estimator that uses several columns, such as a tree.",
    ),
    "V02": NoteKind(
        "Members too alike",
        "caution",
        "Members agree on {seen:.0%} of the rows; independent members with the same accuracy "
        "would agree on {independent:.0%}. So the vote errs more often than ensemble_error says.",
        "A vote corrects errors that members make independently. These members often make the "
        "same errors, so the vote is hardly better than one of them. Combine models of different "
        "kinds.",
    ),
    "E01": NoteKind(
        "Class with fewer rows than folds",
        "caution",
        "Classes with fewer rows than folds: {classes}. Some folds have no row of such a class, "
        "and a class with a single row is never in training when it is tested.",
        "Some folds have no row of the class, and its scores rest on few rows. Use fewer folds, or "
        "repeat the cross-validation.",
    ),
    "E02": NoteKind(
        "Rows without a known class left out",
        "caution",
        "{left_out} of {rows} rows have no known class and were left out.",
        "Rows whose class is missing or unknown cannot be scored.",
    ),
    "E03": NoteKind(
        "Decisions drawn at random",
        "info",
        "{names}: the rule draws its decisions at random; scores are exact expectations over the "
        "draws (accuracy is the mean probability of drawing the true class).",
        "The scores of a rule that draws its decisions are exact expectations over the draws, so "
        "they contain no random noise.",
    ),
    "E04": NoteKind(
        "No posteriors",
        "info",
        "{names}: only labels, no posteriors, so log loss, Brier score, AUC and top-k accuracy are "
        "not defined.",
        "The classifier returns only labels. Scores of probabilities are not defined, and a "
        "decision by gain treats every label as certain.",
    ),
    "E05": NoteKind(
        "Counted once",
        "info",
        "{names}: trained from merged counts of one pass over the rows; the fitting time includes "
        "a part of that pass.",
        "Models that learn from counts were trained by merging the counts of folds. This gives "
        "the same posteriors as refitting, in a fraction of the time.",
    ),
    "E06": NoteKind(
        "Posteriors in single precision",
        "info",
        "There are more than {limit} posteriors per model, so they are kept in single precision; "
        "decisions were made in double precision.",
        "To save memory, posteriors are kept with about seven digits; decisions were made before "
        "rounding.",
    ),
    "E07": NoteKind(
        "Columns were encoded",
        "info",
        "{names}: nominal columns were one-hot encoded; missing numbers were replaced by the "
        "median of the training rows and marked in an extra column.",
        "Classifiers that take only numbers get one column per level, and the median in place of "
        "missing numbers. Levels and medians are learned from the training rows of each fold.",
    ),
    "E08": NoteKind(
        "Weights not used in training",
        "caution",
        "{names}: cannot be given weights, so training used unweighted rows; scores are weighted.",
        "The classifier takes no weights. It was trained on unweighted rows and scored with "
        "weights.",
    ),
    "E09": NoteKind(
        "One test set",
        "caution",
        "One test set: intervals show how its rows vary, not how another training set would change "
        "the model.",
        "Other training rows would have given another model; the intervals do not include this "
        "variation. Use folds or repeats to include it.",
    ),
    "E10": NoteKind(
        "How the gain matrix was read",
        "caution",
        "{sentence}",
        "Rows are true classes and columns are decisions. If a decision can never be the best, "
        "check the matrix.",
    ),
    "E11": NoteKind(
        "A sample of the test rows",
        "info",
        "In each repeat {tested} of the {held_out} held-out rows were drawn and tested; increase "
        "`test_rows=` for narrower intervals.",
        "To save time, not every held-out row was tested at every size.",
    ),
    "E12": NoteKind(
        "Fewer sizes than requested",
        "info",
        "{sizes} sizes, not {points}: {rows} training rows allow no more.",
        "There are too few training rows for the requested number of sizes.",
    ),
    "E13": NoteKind(
        "One repeat",
        "caution",
        "One repeat: intervals show how the tested rows vary, not how another split would change "
        "the scores.",
        "The curve rests on one split of the rows. Set `repeats=` to see how much it varies.",
    ),
    "E14": NoteKind(
        "Refitted for every fold",
        "info",
        "{names}: refitted for every fold, because {why}.",
        "The rows are normally counted once for all folds; where numeric columns are cut, in "
        "intervals made by the cut points of all folds together. Here these counts would not "
        "fit in memory or could not be added exactly. Refitting gives the same posteriors.",
    ),
    "E15": NoteKind(
        "Out of time",
        "caution",
        "{names}: left out for lack of time.",
        "Models that would not have finished within the time limit were left out. Allow more "
        "time, or name fewer models.",
    ),
    "E16": NoteKind(
        "Dates shuffled",
        "caution",
        "Column {column!r} holds dates, and the rows were tested in random order; "
        "`time={column!r}` trains on earlier rows and tests on later ones.",
        "If a model is to be used on later rows than those it was trained on, random folds are too "
        "optimistic: they also train on rows later than the test rows. Test in order of time with "
        "`time=`.",
    ),
    "E17": NoteKind(
        "Column used for testing",
        "info",
        "Column {column!r} holds the {use}; models do not get it.",
        "The column determines which rows are tested together, so models do not see it. If they "
        "should, pass its values as an array.",
    ),
    "B01": NoteKind(
        "Few rows per cell",
        "caution",
        "{rows:g} rows in {cells} cells of {classes} classes: a plug-in estimate is too low if "
        "cells have few rows.",
        "A plug-in estimate uses the observed frequencies in each cell as if they were the true "
        "probabilities, which is too optimistic if cells have few rows.",
    ),
    "B02": NoteKind(
        "Few rows for a neighbor bound",
        "caution",
        "The bound holds in the limit of many rows. With {rows} rows in {columns} columns, "
        "neighbors are far apart, and the estimates may be well above the Bayes error.",
        "The bound of Cover and Hart holds in the limit of many rows; with few rows in many "
        "columns the nearest row is far away.",
    ),
    "B03": NoteKind(
        "Neighbors of a sample of the rows",
        "info",
        "Neighbors of {used} of {rows} rows were examined.",
        "To save time, only the neighbors of a sample of the rows were examined.",
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
