"""A picture to look at in a notebook or to keep in a file: SVG with its own colours, no network."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from countwise.errors import ParameterError
from countwise.reports.figures.palette import DARK, LIGHT
from countwise.reports.figures.svg import escape, number, standalone
from countwise.store.atomic import atomic_write

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
    >>> from countwise.posteriors.tan import TAN
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
