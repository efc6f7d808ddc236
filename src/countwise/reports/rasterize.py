"""PNG and PDF files of figures, by the optional package CairoSVG."""

from __future__ import annotations

from typing import Any

from countwise.errors import ParameterError
from countwise.reports.figures.palette import DARK, LIGHT

#: Pixels of a PNG for each unit of the figure, and the most that a side may have.
_SCALE, _MAX_PIXELS = 2.0, 32_000


def rasterize(svg: str, extension: str, longest: float, dark: bool) -> bytes:
    """Return a figure, which has its colors and is so many units long, as PNG or PDF."""
    cairo = _load()
    paper = (DARK if dark else LIGHT)["paper"]
    settings: dict[str, Any] = {"bytestring": svg.encode("utf-8"), "background_color": paper}
    if extension == ".pdf":
        return bytes(cairo.svg2pdf(**settings))
    scale = min(_SCALE, _MAX_PIXELS / max(longest, 1.0))
    return bytes(cairo.svg2png(scale=scale, **settings))


def check_can_rasterize() -> None:
    """Refuse before any work is done if the optional package is missing."""
    _load()


def _load() -> Any:
    try:
        import cairosvg
    except ImportError:
        raise ParameterError(
            "Picture: PNG and PDF files need the package CairoSVG, which is not installed.",
            hint="Run pip install 'countwise[pictures]', or choose .svg or .html.",
        ) from None
    except OSError:
        raise ParameterError(
            "Picture: PNG and PDF files need the system library cairo, which is not installed.",
            hint="Install it (Debian: libcairo2, macOS: brew install cairo), or choose .svg.",
        ) from None
    return cairosvg
