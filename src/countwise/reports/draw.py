"""A picture to look at in a notebook or to keep in a file: SVG with its own colours, no network."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.neighbor_grid import NeighborGrid
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.bayes.tan import TAN
from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes
from countwise.models.tree.id3 import ID3
from countwise.reports.figures.cell_grid import heat_figure
from countwise.reports.figures.decision_tree import decision_tree_figure
from countwise.reports.figures.dependency_graph import attribute_tree_figure
from countwise.reports.figures.legend import legend_figure
from countwise.reports.figures.line_plot import by_k_figure, search_figure
from countwise.reports.figures.palette import DARK, LIGHT
from countwise.reports.figures.panels import (
    cut_panel,
    cut_table_figure,
    density_panel,
    density_table,
    probability_panel,
    probability_table,
)
from countwise.reports.figures.regions import slice_figure
from countwise.reports.figures.svg import drawing, escape, label, number, standalone
from countwise.reports.grids import cut_facts, drawn_classes, search_facts, slice_facts
from countwise.reports.questions import decision_facts
from countwise.reports.structure import structure_facts
from countwise.reports.why import model_facts

_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+" height="[\d.]+"')
_MARGIN = 12
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
html{{color-scheme:light dark}}
body{{margin:12px;background:{light}}}
svg.cw{{max-width:100%;height:auto}}
@media (prefers-color-scheme:dark){{body{{background:{dark}}}}}
@media (max-width:720px){{body{{margin:0}}}}
</style>
</head>
<body>
{svg}</body>
</html>
"""


@dataclass(frozen=True, repr=False)
class Picture:
    """A figure and its title; a notebook shows it, `save` writes it, `str` is its SVG.

    Attributes
    ----------
    svg
        The figure without colours, as the report uses it.
    title
        What it shows, in a phrase.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.bayes.tan import TAN
    >>> from countwise.reports.draw import draw
    >>> draw(TAN().fit(cw.read("sample:weather")))
    <Picture: TAN: 4 attributes and what they lean on, 340 × 264 pixels>
    """

    svg: str
    title: str

    def __str__(self) -> str:
        return standalone(_SIZE.sub(_framed, self.svg, count=1))

    def __repr__(self) -> str:
        size = _SIZE.search(self.svg)
        shown = f", {size[1]} × {size[2]} pixels" if size else ""
        return f"<Picture: {self.title}{shown}>"

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self}</div>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, whole or not at all.

        Parameters
        ----------
        path
            Ends in ``.svg`` for the figure alone, in ``.html`` for a page with it; both follow the
            reader's choice of light or dark.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from countwise.reports.figures.svg import drawing
        >>> picture = Picture(drawing(10, 5, "Empty", "Nothing is drawn."), "Empty")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     picture.save(Path(folder) / "empty.svg")
        ...     (Path(folder) / "empty.svg").read_text(encoding="utf-8")[:4]
        '<svg'
        >>> picture.save("empty.png")
        Traceback (most recent call last):
            ...
        countwise.errors.ParameterError: Picture: a picture is saved as .svg or .html, but \
'empty.png' came. A browser prints either to other formats.
        """
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        suffix = Path(name).suffix.casefold() if isinstance(name, str) else ""
        if suffix not in (".svg", ".html", ".htm"):
            raise ParameterError(
                f"Picture: a picture is saved as .svg or .html, but {name or path!r} came. "
                "A browser prints either to other formats."
            )
        text = str(self) if suffix == ".svg" else self._page()
        with atomic_write(path, "Picture") as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _page(self) -> str:
        return _PAGE.format(
            title=escape(self.title), light=LIGHT["paper"], dark=DARK["paper"], svg=str(self)
        )


def _framed(size: re.Match[str]) -> str:
    """The size of a figure with a margin around it."""
    wide, high = (number(float(side) + 2 * _MARGIN) for side in size.groups())
    return f'viewBox="-{_MARGIN} -{_MARGIN} {wide} {high}" width="{wide}" height="{high}"'


_SIDES = (" width", " height")

#: How many attributes, or lines of a decision tree, a picture of its own shows.
MOST_NODES = 400
MOST_LINES = 60
#: How many columns of a grid of cells are drawn.
MOST_PANELS = 24


def draw(model: Any, what: str | tuple[str, str] | None = None) -> Picture:
    """Draw a fitted model: its probability tables, its attribute tree or its decision tree.

    Parameters
    ----------
    model
        A `NaiveBayes` or `AODE` (tables class × attribute × value), a `TAN` or `KDB` (the tree of
        attributes, with bits), an `ID3` (the decision tree), a `DiscreteBayes` (where columns are
        cut, and the gain over the search), or a `Decide` over one of them.
        A `NeighborGrid` is drawn as a map of k and p, or with ``what="k"`` as accuracy by k.
    what
        The name of an attribute, to draw its table or its densities alone. Of a `DiscreteBayes`
        also ``search`` for the gain over the search, or two attributes for a slice of decisions.

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
    if isinstance(model, NeighborGrid):
        return _grid(model, what)
    model = getattr(model, "model_", model)
    known = (NaiveBayes, AODE, TAN, KDB, ID3, DiscreteBayes)
    if not isinstance(model, known):
        inner = getattr(model, "model", None)
        if not isinstance(inner, known):
            raise ParameterError(
                "draw: there are pictures of NaiveBayes, AODE, TAN, KDB, ID3, DiscreteBayes, but "
                f"a {type(model).__name__} came. Draw one of them."
            )
        model = inner
    if not hasattr(model, "classes_"):
        raise ParameterError(
            f"draw: the model must be fitted, but this {type(model).__name__} is not. "
            "Call fit first."
        )
    if isinstance(model, DiscreteBayes):
        return _cells(model, what)
    if isinstance(what, tuple):
        raise ParameterError(
            f"draw: what must be one attribute for a {type(model).__name__}, but {what!r} came."
        )
    if isinstance(model, ID3):
        return _decision_tree(model, what)
    if what is not None:
        return _one(model, what)
    if isinstance(model, TAN | KDB):
        return _attribute_tree(model)
    return _tables(model)


def _grid(grid: NeighborGrid, what: Any) -> Picture:
    """The map of k and p, or accuracy by k at the best p."""
    name = grid.data or "neighbours"
    if what is None and len(grid.p) > 1:
        return Picture(heat_figure(grid.to_dict()), f"Accuracy of {name} by k and p")
    if what not in (None, "k"):
        raise ParameterError(
            f"draw: a NeighborGrid is drawn as a map, or by 'k', but {what!r} was asked for."
        )
    by = grid.p.index(grid.best["p"])
    few = len(grid.expected) < 2
    wheel = [0.0] * len(grid.k) if few else grid.expected[:, :, by].std(axis=0, ddof=1).tolist()
    lines = [
        {
            "name": "largest vote",
            "values": grid.accuracy[:, by].tolist(),
            "spread": grid.spread[:, by].tolist(),
        },
        {
            "name": "roulette wheel",
            "values": grid.expected_accuracy[:, by].tolist(),
            "spread": wheel,
        },
    ]
    power = "maximum" if math.isinf(grid.best["p"]) else f"{grid.best['p']:g}"
    title = f"Accuracy of {name} by k, p = {power}"
    return Picture(by_k_figure(grid.k, lines, title, grid.over), title)


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


def _cells(model: DiscreteBayes, what: str | tuple[str, str] | None) -> Picture:
    name, classes = type(model).__name__, drawn_classes(model)
    columns, steps = cut_facts(model), search_facts(model)
    known = [own["name"] for own in columns]
    if what == "search" and "search" not in known:
        if not steps:
            raise ParameterError("draw: this model was not searched for; there are no steps.")
        return Picture(search_figure(steps), f"{name}: expected gain over the search")
    asked = [] if what is None else [what] if isinstance(what, str) else list(what)
    for own in asked:
        if own not in known:
            raise ParameterError(
                f"draw: what must be columns that are cut, but {own!r} is none."
                f"{did_you_mean(own, known)} The columns are {listing(known)}."
            )
    if len(asked) == 2:
        title = f"{name}: decisions over {asked[0]} and {asked[1]}"
        return Picture(slice_figure(slice_facts(model, *asked)), title)
    if len(asked) == 1:
        only = cut_facts(model, asked[0])
        return Picture(cut_panel(only[0], classes), f"{name}: cuts of {asked[0]}")
    title = f"{name}: {len(columns)} columns cut into {model.cells_.grid.cells:,} cells"
    parts = [cut_table_figure(columns[:MOST_PANELS], classes)]
    if len(steps) > 1:
        parts.append(search_figure(steps))
    more = len(columns) - MOST_PANELS
    return Picture(
        _stacked(title, parts, f"… and {more} more columns, which tell less" if more > 0 else ""),
        title,
    )


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
