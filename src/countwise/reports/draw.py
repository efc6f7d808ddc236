"""The natural picture of a fitted model, to look at or to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countwise.errors import ParameterError, did_you_mean, listing
from countwise.posteriors.aode import AODE
from countwise.posteriors.id3 import ID3
from countwise.posteriors.kdb import KDB
from countwise.posteriors.naive_bayes import NaiveBayes
from countwise.posteriors.tan import TAN
from countwise.reports.figures.attribute_tree import attribute_tree_figure
from countwise.reports.figures.decision_tree import svg as decision_tree_figure
from countwise.reports.figures.densities import density_panel, density_table
from countwise.reports.figures.legend import legend_figure
from countwise.reports.figures.probabilities import probability_panel, probability_table
from countwise.reports.figures.svg import drawing, label, number
from countwise.reports.picture import Picture
from countwise.reports.questions import decision_facts
from countwise.reports.structure import structure_facts
from countwise.reports.why import model_facts

__all__ = ["draw"]

_SIDES = (" width", " height")

#: How many attributes, or lines of a decision tree, a picture of its own shows.
MOST_NODES = 400
MOST_LINES = 60


def draw(model: Any, what: str | None = None) -> Picture:
    """Draw a fitted model: its probability tables, its attribute tree or its decision tree.

    Parameters
    ----------
    model
        A `NaiveBayes` or `AODE` (tables class × attribute × value), a `TAN` or `KDB` (the tree of
        attributes, with bits), an `ID3` (the decision tree), or a `Decide` over one of them.
    what
        The name of an attribute, to draw its table or its densities alone.

    Returns
    -------
    Picture
        A notebook shows it; ``.save("tree.svg")`` keeps it.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> draw(cw.NaiveBayes().fit(weather)).title
    'NaiveBayes: 4 attributes by class and value'
    >>> draw(cw.NaiveBayes().fit(weather), "windy").title
    'NaiveBayes: windy by class'
    """
    model = getattr(model, "model_", model)
    known = (NaiveBayes, AODE, TAN, KDB, ID3)
    if not isinstance(model, known):
        inner = getattr(model, "model", None)
        if not isinstance(inner, known):
            raise ParameterError(
                "draw: there are pictures of NaiveBayes, AODE, TAN, KDB and ID3, but a "
                f"{type(model).__name__} came. Draw one of them."
            )
        model = inner
    if not hasattr(model, "classes_"):
        raise ParameterError(
            f"draw: the model must be fitted, but this {type(model).__name__} is not. "
            "Call fit first."
        )
    if isinstance(model, ID3):
        return _decision_tree(model, what)
    if what is not None:
        return _one(model, what)
    if isinstance(model, TAN | KDB):
        return _attribute_tree(model)
    return _tables(model)


def _attribute_tree(model: TAN | KDB) -> Picture:
    facts = structure_facts(model, MOST_NODES)
    assert facts is not None  # both kinds have one
    number_of = len(facts["attributes"])
    title = f"{type(model).__name__}: {number_of} attributes and what they lean on"
    return Picture(attribute_tree_figure(facts), title)


def _tables(model: NaiveBayes | AODE) -> Picture:
    facts = model_facts(model)
    assert facts is not None  # both kinds have counts
    parts = []
    if facts["nominal"]:
        parts.append(probability_table(facts))
    if facts["numeric"]:
        parts.append(density_table(facts))
    shown = len(facts["nominal"]) + len(facts["numeric"])
    title = f"{facts['name']}: {shown} attributes by class and value"
    return Picture(_stacked(title, parts, _left_out(facts)), title)


def _left_out(facts: Mapping[str, Any]) -> str:
    more = facts["more_nominal"] + facts["more_numeric"]
    words = [f"{more} more attributes, which tell less"] if more else []
    if facts["more_classes"]:
        words.append(f"{facts['more_classes']} rarer classes")
    return f"… and {' and '.join(words)}" if words else ""


def _one(model: NaiveBayes | AODE | TAN | KDB, what: str) -> Picture:
    facts = model_facts(model, only=what)
    assert facts is not None
    if not facts["nominal"] and not facts["numeric"]:
        names = [column.name for column in model.schema_.attributes]
        if what in names:
            raise ParameterError(
                f"draw: attribute {what!r} has no values that this {type(model).__name__} counts. "
                "Draw another one."
            )
        raise ParameterError(
            f"draw: what must be an attribute, but {what!r} is none.{did_you_mean(what, names)} "
            f"The attributes are {listing(names)}."
        )
    if facts["nominal"]:
        parts = [probability_panel(facts["nominal"][0], facts["classes"])]
    else:
        panel = density_panel(facts["numeric"][0], facts["drawn"])
        parts = [legend_figure(facts["drawn"]), panel]
    title = f"{facts['name']}: {what} by class"
    return Picture(_stacked(title, parts, ""), title)


def _decision_tree(model: ID3, what: str | None) -> Picture:
    if what is not None:
        raise ParameterError(
            f"draw: the picture of an ID3 is its whole tree, but {what!r} was asked for. "
            "Leave what out."
        )
    facts = decision_facts(model, MOST_LINES)
    title = f"{type(model).__name__}: a tree of {facts['nodes']:,} nodes"
    return Picture(decision_tree_figure(facts, title=title), title)


def _stacked(title: str, figures: list[str], words: str) -> str:
    """Put figures below each other in one, with a line of words under them."""
    if len(figures) == 1 and not words:
        return figures[0]
    body, y, width = [], 0.0, 0.0
    for own in figures:
        wide, high = (float(own.split(f'{side}="', 1)[1].split('"', 1)[0]) for side in _SIDES)
        body.append(own.replace("<svg ", f'<svg y="{number(y)}" ', 1))
        y, width = y + high + 20, max(width, wide)
    if words:
        body.append(label(0, y, words, size=12, classes="soft"))
        y += 10
    return drawing(max(width, 340), max(y, 1), title, title, *body)
