"""Remarks a table keeps about itself: what was dropped, assumed or found odd, each with a code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Note:
    """One remark about the data: a code to look up, the column it concerns, a sentence.

    Examples
    --------
    >>> Note("T01", "Id", "Column 'Id' numbers the rows and is left out.")
    Note(code='T01', column='Id', text="Column 'Id' numbers the rows and is left out.")
    """

    code: str
    column: str | None
    text: str

    def to_dict(self) -> dict[str, str | None]:
        """Return the remark as plain data."""
        return {"code": self.code, "column": self.column, "text": self.text}

    def __str__(self) -> str:
        return self.text


Severity = Literal["info", "caution", "warning"]


@dataclass(frozen=True)
class Meaning:
    """What a code stands for.

    ``info`` is for the record, ``caution`` may change how a result is read, ``warning`` should be
    looked at before the result is used.
    """

    title: str
    severity: Severity
    explanation: str


#: Every code that can be attached to a table, a model, an evaluation or a curve.
NOTES: dict[str, Meaning] = {
    "T01": Meaning(
        "Identifier left out",
        "info",
        "The column tells rows apart instead of describing them, so a model could only learn it by "
        "heart. Declare it with nominal= or numeric= if it is an attribute after all.",
    ),
    "T02": Meaning(
        "Constant column",
        "info",
        "Every row has the same value, so the column cannot tell classes apart. It does no harm.",
    ),
    "T03": Meaning(
        "Rows without a class",
        "caution",
        "Rows whose class is missing can neither train nor test and were dropped. If missing is a "
        "class of its own, give it a name in the file.",
    ),
    "T04": Meaning(
        "Rows dropped for a missing value",
        "caution",
        "The column was read with when_missing='drop'. With 'omit' the rows stay, and only the "
        "missing cell is left out of the counts.",
    ),
    "T05": Meaning(
        "Large integers rounded",
        "caution",
        "Whole numbers beyond 2^53 do not fit a double. If they are codes, declare the column "
        "nominal; then they are kept letter by letter.",
    ),
    "T06": Meaning(
        "Dates became days",
        "info",
        "Dates are taken as days since 1970-01-01, so that later is larger. A season or a weekday "
        "has to be a column of its own to be seen.",
    ),
    "T07": Meaning(
        "Very many levels",
        "caution",
        "With so many levels each has few rows and its shares are mostly smoothing. Group the "
        "levels, or leave the column out.",
    ),
    "T08": Meaning(
        "Column missing throughout",
        "caution",
        "No row has a value here, so the column says nothing. Check whether its missing marks are "
        "too wide.",
    ),
    "T09": Meaning(
        "Two numbers that may be codes",
        "caution",
        "A numeric column with two values is modelled by a bell curve a class. If the numbers "
        "stand for names, declare it with nominal=.",
    ),
    "T10": Meaning(
        "Columns not in the schema",
        "info",
        "The file has columns that the schema does not name; they were ignored.",
    ),
    "T12": Meaning(
        "Only one class",
        "warning",
        "Every row is of the same class, so there is nothing to learn. Check which column is the "
        "target.",
    ),
    "T13": Meaning(
        "A quantity as target",
        "warning",
        "The target has about as many classes as rows, as a price or a measurement does. Cut it "
        "into a few classes, or predict it by regression.",
    ),
    "N01": Meaning(
        "Singular covariance",
        "caution",
        "Mahalanobis' distance divides by the covariance, which cannot be done when one numeric "
        "column follows from others. Drop such columns if the distances matter.",
    ),
    "N02": Meaning(
        "Attribute weights from some of the rows",
        "info",
        "Finding the nearest hits and misses of every row takes time that grows with the square of "
        "their number; so many rows settle the weights as well.",
    ),
    "N03": Meaning(
        "Equal rows of different classes",
        "caution",
        "Rows that agree in every column that is compared but not in their class set a limit to "
        "what any rule about these columns can get right.",
    ),
    "N04": Meaning(
        "An exponent nobody asks for",
        "info",
        "Only minkowski and vdm have an exponent to choose; every other metric is defined by one.",
    ),
    "N05": Meaning(
        "More neighbours than rows",
        "info",
        "Every training row is a neighbour of every row; with equal votes the answer is the class "
        "shares. Choose a smaller k.",
    ),
    "F01": Meaning(
        "Separator assumed",
        "info",
        "The file does not use the separator its name promises; the one that gives a regular table "
        "was taken. Pass separator= if it is another.",
    ),
    "F02": Meaning(
        "Encoding assumed",
        "caution",
        "The bytes are not UTF-8 and were read as Latin-1 or Windows-1252. Check the accents.",
    ),
    "F03": Meaning(
        "Column without a name",
        "info",
        "The header leaves a column unnamed; it was given a name by its place.",
    ),
    "F04": Meaning(
        "No separator found",
        "caution",
        "The whole line was taken as one column. Pass separator= if cells are separated by another "
        "mark.",
    ),
    "P01": Meaning(
        "Rare levels taken together, or coarser cuts",
        "caution",
        "A model of pairs of columns keeps the most frequent levels only and cuts numbers into "
        "fewer intervals, because its tables grow with the product of levels. Group the levels "
        "before, if the rare ones matter, or ask for fewer bins.",
    ),
    "P02": Meaning(
        "Parents passed over",
        "caution",
        "A column leans on fewer or weaker others than asked for, because the table of them all "
        "would not fit in memory. Group levels, or ask for fewer bins or a smaller k.",
    ),
    "P10": Meaning(
        "Budget of cells kept",
        "caution",
        "The cells of all columns would have been more than the budget, so the columns or levels "
        "that tell least about the class were given up. Raise budget= if memory allows it.",
    ),
    "P11": Meaning(
        "Boundaries from some of the rows",
        "info",
        "So many cells, or such an aim, cannot be searched on all rows at once. The boundaries "
        "were found on a sample; the counts behind every answer are of all rows.",
    ),
    "P12": Meaning(
        "Search ended early",
        "caution",
        "The search for boundaries was stopped before it had settled, by its time or by an "
        "interrupt. The best boundaries so far count; more time may earn more.",
    ),
    "V01": Meaning(
        "No rule better than chance",
        "warning",
        "Boosting adds rules that are right more often than not, and on these rows no single "
        "column gives one. Take a base that looks at several columns, such as a tree.",
    ),
    "V02": Meaning(
        "Members too alike",
        "caution",
        "A vote corrects errors that members make independently. These make many of theirs "
        "together, so the vote is hardly better than one of them. Take unlike models.",
    ),
    "E01": Meaning(
        "Class rarer than the test parts",
        "caution",
        "Some test parts have no row of the class, and its scores rest on few rows. Use fewer "
        "folds, or repeats.",
    ),
    "E02": Meaning(
        "Rows without a known class left out",
        "caution",
        "Rows whose class is missing or unknown cannot be judged.",
    ),
    "E03": Meaning(
        "A rule that draws",
        "info",
        "Scores of a rule that draws its decisions are exact expectations over the draws, so they "
        "carry no noise from drawing.",
    ),
    "E04": Meaning(
        "No posteriors",
        "info",
        "The classifier answers with labels only. Scores of probabilities cannot be given, and "
        "deciding by gain sees certainty where there is none.",
    ),
    "E05": Meaning(
        "Counted once",
        "info",
        "Models that learn from counts were trained by merging the counts of test parts, which "
        "gives the posteriors of refitting at a fraction of the time.",
    ),
    "E06": Meaning(
        "Posteriors in single precision",
        "info",
        "To save memory posteriors are kept with about seven digits; decisions were made before "
        "rounding.",
    ),
    "E07": Meaning(
        "Columns were encoded",
        "info",
        "Classifiers that take numbers only got one column a level and medians for missing "
        "numbers, learned from the training rows of each part.",
    ),
    "E08": Meaning(
        "Weights not used in training",
        "caution",
        "The classifier cannot be given weights. It learned from unweighted rows and was scored "
        "with weights.",
    ),
    "E09": Meaning(
        "One test part",
        "caution",
        "Intervals show how much these rows vary, not how much another training set would change "
        "the model. Use folds or repeats for that.",
    ),
    "E10": Meaning(
        "How the gain matrix was read",
        "caution",
        "Rows are true classes, columns decisions. A decision that can never be the best is worth "
        "a second look at the matrix.",
    ),
    "E11": Meaning(
        "Part of the test rows",
        "info",
        "To save time not every row set aside was tested at every size.",
    ),
    "E12": Meaning(
        "Fewer sizes than asked for",
        "info",
        "There are too few training rows for so many different sizes.",
    ),
    "E15": Meaning(
        "Out of time",
        "caution",
        "Models that would not have finished within the time allowed were left out whole. Allow "
        "more time, or name fewer models.",
    ),
    "B01": Meaning(
        "Few rows a cell",
        "caution",
        "A plug-in figure takes the shares in each cell for the truth, which is too hopeful where "
        "cells hold few rows.",
    ),
    "B02": Meaning(
        "Few rows for a neighbour bound",
        "caution",
        "The bound of Cover and Hart holds as rows become ever more; with few rows in many columns "
        "the nearest row is far away.",
    ),
    "B03": Meaning(
        "Neighbours of some rows",
        "info",
        "To save time, neighbours of a sample of the rows were looked at.",
    ),
    "E13": Meaning(
        "One repeat",
        "caution",
        "The curve rests on one deal of the rows. Ask for repeats= to see how much it varies.",
    ),
    "E14": Meaning(
        "Refitted for every part",
        "info",
        "Models that cut numbers are counted once on the cut points of all parts together, as long "
        "as those tables fit in memory and their sums are exact. The posteriors are the same.",
    ),
}

_UNKNOWN = Meaning("Remark", "info", "")


def meaning_of(code: str) -> Meaning:
    """Return what a code stands for; a code of a later version is a plain remark."""
    return NOTES.get(code, _UNKNOWN)


def note_facts(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Return remarks as plain data with their meaning, each once, the most serious first."""
    order = {"warning": 0, "caution": 1, "info": 2}
    plain = []
    for note in dict.fromkeys(notes):
        meaning = meaning_of(note.code)
        plain.append(
            {
                **note.to_dict(),
                "title": meaning.title,
                "severity": meaning.severity,
                "explanation": meaning.explanation,
            }
        )
    return sorted(plain, key=lambda own: (order[own["severity"]], own["code"]))
