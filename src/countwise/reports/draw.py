"""Pictures of fitted models, for a notebook or a file: SVG with its colors, no network."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.models.views import CellGrid, DependencyGraph
from countwise.reports.figures.axes import legend_figure
from countwise.reports.figures.bar_chart import (
    coefficient_figure,
    error_figure,
    importance_figure,
    member_figure,
    word_figure,
)
from countwise.reports.figures.cell_grid import agreement_figure, coefficient_grid, pair_figure
from countwise.reports.figures.decision_tree import decision_tree_figure
from countwise.reports.figures.dependency_graph import dependency_figure
from countwise.reports.figures.line_plot import search_figure, training_figure
from countwise.reports.figures.neighbors import neighbor_figure
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
from countwise.reports.figures.shapes import shape_panel, shape_table
from countwise.reports.figures.svg import drawing, escape, label, number, standalone, wrapped
from countwise.reports.model_facts import has_weights, view_facts, views_of
from countwise.reports.rasterize import rasterize
from countwise.reports.sentences import plain

_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+" height="[\d.]+"')
_MARGIN = 12
#: Extensions of files of pictures, and those that need an optional package.
RASTER = (".png", ".pdf")
EXTENSIONS = (".svg", ".html", ".htm", *RASTER)
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
        The figure without colors, as the report uses it.
    title
        A phrase that says what it shows.

    Examples
    --------
    >>> import countwise as cw
    >>> cw.draw(cw.TAN().fit(cw.read("sample:weather")))
    <Picture: TAN: 4 attributes and what they depend on, 340 × 264 pixels>
    """

    svg: str
    title: str

    def __str__(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        size = _SIZE.search(self.svg)
        shown = f", {size[1]} × {size[2]} pixels" if size else ""
        return f"<Picture: {self.title}{shown}>"

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self}</div>'

    def to_svg(self, dark: bool | None = None) -> str:
        """Return the SVG of a file: dark, light or, with None, as the reader's screen is."""
        return standalone(_SIZE.sub(_framed, self.svg, count=1), dark)

    def save(self, path: str | os.PathLike[str], dark: bool | None = None) -> None:
        """Write the picture to a file, whole or not at all.

        Parameters
        ----------
        path
            Ends in ``.svg`` for the figure alone, in ``.html`` for a page with it, in ``.png`` or
            ``.pdf`` for a slide (these two need ``pip install countwise[pictures]``).
        dark
            Whether the background is dark. By default ``.svg`` and ``.html`` follow the reader's
            choice of light or dark, and ``.png`` and ``.pdf`` are light.

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
        >>> picture.save("empty.gif")
        Traceback (most recent call last):
            ...
        countwise.errors.ParameterError: Picture: path must be a file name that ends in .svg, \
.html, .png or .pdf; got 'empty.gif'.
        """
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        suffix = Path(name).suffix.casefold() if isinstance(name, str) else ""
        if suffix not in EXTENSIONS:
            rule = "a file name that ends in .svg, .html, .png or .pdf"
            raise ParameterError("Picture", "path", rule, name or path)
        if suffix in RASTER:
            sides = _SIZE.search(self.svg)
            longest = max(map(float, sides.groups())) + 2 * _MARGIN if sides else 1.0
            content = rasterize(self.to_svg(bool(dark)), suffix, longest, bool(dark))
        else:
            text = self.to_svg(dark)
            if suffix != ".svg":
                papers = [
                    (DARK if dark else LIGHT)["paper"],
                    (LIGHT if dark is False else DARK)["paper"],
                ]
                text = _PAGE.format(
                    title=escape(self.title), light=papers[0], dark=papers[1], svg=text
                )
            content = text.encode("utf-8")
        with atomic_write(path, "Picture") as temporary:
            temporary.write_bytes(content)


def _framed(size: re.Match[str]) -> str:
    """The size of a figure with a margin around it."""
    wide, high = (number(float(side) + 2 * _MARGIN) for side in size.groups())
    return f'viewBox="-{_MARGIN} -{_MARGIN} {wide} {high}" width="{wide}" height="{high}"'


_SIDES = (" width", " height")

#: The attributes of a graph that a picture shows, and how wide its names may make it.
MAX_NODES = 400
_WIDEST = 1800.0
#: Words below figures have at least this room.
_LEAST_WIDTH = 380.0


def draw(model: Any, what: str | tuple[str, str] | None = None) -> Picture:
    """Draw a fitted model: its probability tables, its tree, its coefficients, whatever it shows.

    Parameters
    ----------
    model
        Any fitted model of countwise, or a `Decide` over one. A `NeighborGrid` is drawn as a map
        of k and p, or with ``what="k"`` as accuracy by k; a `Curve` as a learning curve; the
        `Trials` of a comparison as a ranking, or with ``what="roc"`` as ROC curves and with
        ``what="confusion"`` as the confusion matrix of the best model.
    what
        The name of an attribute, to draw its table, its densities or its top words alone. For a
        `DiscreteBayes` also ``"search"``, the gain over the search, or two attributes, a slice of
        the decisions.

    Returns
    -------
    Picture
        A notebook shows it; ``.save("tree.svg")`` keeps it.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> cw.draw(cw.NaiveBayes().fit(weather)).title
    'NaiveBayes: 4 attributes by class and value'
    >>> cw.draw(cw.NaiveBayes().fit(weather), "windy").title
    'NaiveBayes: windy by class'
    >>> cw.draw(cw.Logistic().fit(weather)).title
    'Logistic: 10 coefficients'
    """
    if not hasattr(_inner(model), "views"):
        from countwise.reports.draw_results import draw_result  # imports all of evaluation

        if (picture := draw_result(model, what)) is not None:
            return picture
    name, views = views_of(_fitted(model))
    if not views:
        raise ParameterError(
            f"draw: a model must have views to be drawn; {name} has none.",
            hint="Return some from its method views().",
        )
    if what is None:
        return _draw_views(name, views)
    cells = next((view for view in views if isinstance(view, CellGrid)), None)
    if cells is not None:
        return _draw_cells(name, cells, what)
    return _draw_attribute(model, name, list(map(view_facts, views)), what)


def _inner(model: Any) -> Any:
    return getattr(model, "model_", getattr(model, "model", model))


def _fitted(model: Any) -> Any:
    """Return the model itself, or the one that a `Decide` holds; refuse what cannot be drawn."""
    model = _inner(model)
    if isinstance(model, type) or not hasattr(model, "views"):
        raise ParameterError(
            "draw", "model", "a fitted model of countwise", model, "Draw a NaiveBayes, for instance"
        )
    if not hasattr(model, "schema_"):
        raise ParameterError("draw", "model", "fitted", model, "Call fit first.")
    return model


Facts = Mapping[str, Any]


def _cell_figures(view: Facts) -> list[str]:
    columns = [column for column in view["columns"] if column["weights"]]
    figures = [cut_table_figure(columns, view["classes"])] if columns else []
    return [*figures, search_figure(view["steps"])] if len(view["steps"]) > 1 else figures


def _member_figures(view: Facts) -> list[str]:
    figures = [error_figure(view["errors"])] if view["errors"] else []
    figures += [member_figure(view["members"])] if has_weights(view) else []
    return [*figures, agreement_figure(view)] if view["agreement"] else figures


def _coefficient_figures(view: Facts) -> list[str]:
    if not view["terms"]:
        return []
    return [coefficient_figure(view) if len(view["classes"]) == 1 else coefficient_grid(view)]


#: By kind of view its figures, and a phrase that says what they show.
_PICTURES: dict[str, tuple[Callable[[Facts], list[str]], Callable[[Facts], str]]] = {
    "ProbabilityTables": (
        lambda view: [probability_table(view)] if view["tables"] else [],
        lambda view: "",
    ),
    "Densities": (lambda view: [density_table(view)], lambda view: ""),
    "TopWords": (
        lambda view: [word_figure(column, view["classes"]) for column in view["columns"]],
        lambda view: (
            "" if len(view["columns"]) > 1 else f"top words of {view['columns'][0]['name']}"
        ),
    ),
    "DependencyGraph": (
        lambda view: [dependency_figure(view, widest=_WIDEST)],
        lambda view: f"{len(view['attributes'])} attributes and what they depend on",
    ),
    "DecisionTree": (
        lambda view: [decision_tree_figure(view)],
        lambda view: f"a tree of {view['nodes']:,} nodes",
    ),
    "CellGrid": (
        _cell_figures,
        lambda view: (
            f"{len(view['columns']) + view['more_columns']} columns cut into "
            f"{view['cells']:,} cells"
        ),
    ),
    "Coefficients": (
        _coefficient_figures,
        lambda view: f"{len(view['terms']) + view['more_terms']} coefficients",
    ),
    "Shapes": (
        lambda view: [shape_table(view)] if view["columns"] else [],
        lambda view: f"shapes of {len(view['columns']) + view['more_columns']} columns",
    ),
    "PairShapes": (
        lambda view: [pair_figure(pair) for pair in view["pairs"]],
        lambda view: f"{len(view['pairs']) + view['more_pairs']} pairs of columns",
    ),
    "TrainingCurve": (
        lambda view: [training_figure(view)] if view["epochs"] else [],
        lambda view: "loss and error by epoch",
    ),
    "NeighborSample": (
        lambda view: [neighbor_figure(view)],
        lambda view: f"nearest rows of {len(view['samples'])} rows",
    ),
    "MemberList": (_member_figures, lambda view: "its members"),
    "Importances": (
        lambda view: [importance_figure(view["columns"])] if view["columns"] else [],
        lambda view: f"importance of {len(view['columns']) + view['more_columns']} columns",
    ),
}


def _draw_views(name: str, views: Sequence[Any]) -> Picture:
    """All views below each other; a graph of dependencies alone."""
    graph = isinstance(views[0], DependencyGraph)
    facts = [view_facts(view, MAX_NODES) for view in (views[:1] if graph else views)]
    facts = [view for view in facts if view["kind"] in _PICTURES]
    figures = [figure for view in facts for figure in _PICTURES[view["kind"]][0](view)]
    attributes = sum(len(view.get("tables", view.get("columns", ()))) for view in facts)
    phrases = [_PICTURES[view["kind"]][1](view) for view in facts]
    title = f"{name}: {phrases[0] or f'{attributes} attributes by class and value'}"
    words = _left_out(facts) if figures else str(facts[0].get("note", ""))
    return Picture(_stacked(title, figures, words), title)


def _left_out(views: Sequence[Facts]) -> str:
    attributes = sum(view.get("more_tables", 0) + view.get("more_columns", 0) for view in views)
    words = [f"{attributes} more attributes, which are less informative"] if attributes else []
    classes = max((view.get("more_classes", 0) for view in views), default=0)
    words += [f"{classes} rarer classes"] if classes else []
    return f"… and {' and '.join(words)}" if words else ""


#: Views that have a panel for each attribute.
_BY_ATTRIBUTE = ("ProbabilityTables", "Densities", "TopWords", "Shapes")


def _draw_attribute(model: Any, name: str, views: Sequence[Facts], what: Any) -> Picture:
    """The probability table, the densities or the shape of one attribute."""
    drawable = [view for view in views if view["kind"] in _BY_ATTRIBUTE]
    if not drawable:
        raise ParameterError(
            f"draw: what must be left out for a {name}, which is drawn as a whole; got {what!r}."
        )
    if isinstance(what, tuple):
        raise ParameterError("draw", "what", f"one attribute for {name}", what)
    title = f"{name}: {what} by class"
    for view in drawable:
        classes, attributes = view["classes"], view.get("tables") or view.get("columns") or ()
        attribute = next((each for each in attributes if each["name"] == what), None)
        if attribute is None:
            continue
        if view["kind"] == "Shapes":
            figures = [shape_panel(attribute, classes)]
            title = f"{name}: shape of {what}"
        elif view["kind"] == "Densities":
            figures = [legend_figure(classes), density_panel(attribute, classes)]
        elif view["kind"] == "TopWords":
            figures = [word_figure(attribute, classes)]
        else:
            figures = [probability_panel(attribute, classes)]
        return Picture(_stacked(title, figures, ""), title)
    names = [column.name for column in getattr(model, "model_", model).schema_.attributes]
    if what in names:
        raise ParameterError(
            f"draw: attribute {what!r} has no values that this {name} counts.",
            hint="Draw another one.",
        )
    hint = f"{did_you_mean(what, names).strip()} The attributes are {listing(names)}."
    raise ParameterError("draw", "what", "an attribute", what, hint.strip())


def _draw_cells(name: str, view: CellGrid, what: Any) -> Picture:
    """The search, the cut points of one column, or the decisions over two."""
    known = {column.name: column for column in view.columns}
    facts = view_facts(view)
    if what == "search" and "search" not in known:
        if not view.steps:
            raise ParameterError("draw: this model was not searched for; there are no steps.")
        return Picture(search_figure(plain(view.steps)), f"{name}: expected gain over the search")
    columns = [what] if isinstance(what, str) else list(what)
    for column in columns:
        if column not in known:
            hint = f"{did_you_mean(column, known).strip()} The columns are {listing(known)}."
            raise ParameterError("draw", "what", "a column that is cut", column, hint.strip())
    if len(columns) == 2:
        title = f"{name}: decisions over {columns[0]} and {columns[1]}"
        return Picture(slice_figure(plain(view.slice_of(*columns))), title)
    figure = cut_panel(plain(known[columns[0]]), facts["classes"])
    return Picture(figure, f"{name}: cut points of {columns[0]}")


def _stacked(title: str, figures: list[str], words: str) -> str:
    """Put figures below each other, with words under them."""
    if len(figures) == 1 and not words:
        return figures[0]
    body, y, width = [], 0.0, 0.0
    for figure in figures:
        wide, high = (float(figure.split(f'{side}="', 1)[1].split('"', 1)[0]) for side in _SIDES)
        body.append(figure.replace("<svg ", f'<svg y="{number(y)}" ', 1))
        y, width = y + high + 20, max(width, wide)
    width = max(width, _LEAST_WIDTH)
    lines = wrapped(words, width, 12)
    for place, line in enumerate(lines):
        body.append(label(0, y + 16 * place, line, size=12, classes="soft"))
    y += 16 * len(lines) - 6 if lines else 0
    return drawing(width, max(y, 1), title, title, *body)
