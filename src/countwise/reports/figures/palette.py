"""The colors by name, light and dark, chosen so that the color-blind can tell them apart.

Hues follow Okabe and Ito (2008); ramps go by lightness alone, so they survive print in gray.
Figures name colors by class: ``q0`` to ``q9`` probability, ``g1`` to ``g4`` gains, ``n1`` to
``n4`` losses, ``c0`` to ``c7`` the classes of the data or the models.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

#: How many different hues there are for classes and models.
HUES = 8
#: Where each shade of a probability begins; steps are finer for the small probabilities of
#: attributes with many values.
STEPS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
#: How many shades a probability has.
SHADES = len(STEPS)

_NAMES = [
    *(f"q{at}" for at in range(SHADES)),
    *(f"c{at}" for at in range(HUES)),
    *(f"{side}{at}" for side in "gn" for at in (1, 2, 3, 4)),
    *["paper", "panel", "ink", "soft", "rule", "accent", "low", "high", "zero"],
]
_FILLS = ("ink", "soft", "low", "high", "accent", "zero")


def _scheme(colors: str) -> dict[str, str]:
    return dict(zip(_NAMES, (f"#{color}" for color in colors.split()), strict=True))


#: Every color of the light scheme by name: probabilities, hues, gains, losses, and the rest.
LIGHT = _scheme("""
    eef3f8 dde9f4 c8dcee afcce5 92b9da 74a4cd 6196c4 2f6fab 1b5594 0b3a70
    0072b2 d55e00 00845f b0558a 9a6b00 3c8fbf 6a4c93 4d4d4d
    d3e4f2 a3c6e2 6fa3cf 2a6cab
    fbe0cc f5bd93 e8935a b54d00
    ffffff f6f8fa 17202a 566270 d5dce3 0b5c96 17202a ffffff f1f3f5
""")
#: Every color of the dark scheme by name, in the same order.
DARK = _scheme("""
    1b232c 1d2d3b 20394d 244761 295575 306389 386f97 6da9d2 95c3e3 c3e0f4
    56b4e9 ff8a4c 2fcb9b e59ac6 f0b93a a5d8f5 b79be8 c8c8c8
    1f3a52 2a5578 376b92 86bde2
    4a2c16 6d3f1b 8f5526 f5ab72
    12161b 1a2027 e7ecf1 a3afbb 333d47 7cc0ee e7ecf1 0d1217 1c2229
""")


def shade(probability: float) -> int:
    """Return the shade of a probability, from 0 to 9."""
    return max(bisect_right(STEPS, probability) - 1, 0)


def dark_ink(name: str) -> bool:
    """Return whether the usual ink of the scheme can be read on this color."""
    return name in ("zero", "paper") or int(name[1:]) < (7 if name[0] == "q" else 4)


def _rules(color: Callable[[str], str]) -> list[str]:
    """The style sheet of a figure; `color` writes a color by its name."""
    rules = [
        "svg.cw{font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif}",
        ".cw .bold{font-weight:600}",
        *(f".cw .{name}{{fill:{color(name)}}}" for name in _FILLS),
        f".cw .axis{{stroke:{color('soft')};stroke-width:1}}",
        f".cw .grid{{stroke:{color('rule')};stroke-width:1}}",
        f".cw .whisker{{stroke:{color('accent')};stroke-width:2.5;stroke-linecap:round}}",
        f".cw .faint{{stroke:{color('soft')};stroke-width:2;stroke-linecap:round}}",
        f".cw .hollow{{fill:{color('paper')};stroke:{color('soft')};stroke-width:2}}",
        f".cw .ground{{fill:{color('paper')}}}",
        f".cw .node{{fill:{color('panel')};stroke:{color('soft')};stroke-width:1}}",
        f".cw .limb{{fill:none;stroke:{color('accent')};stroke-linejoin:round}}",
        f".cw .dot{{stroke:{color('paper')};stroke-width:.7;fill-opacity:.85}}",
        f".cw .twig{{fill:none;stroke:{color('soft')};stroke-width:1;stroke-dasharray:4 3}}",
    ]
    rules += [f".cw .{name}{{fill:{color(name)}}}" for name in _NAMES if name[0] in "qgn"]
    dashes = ("none", "7 3", "2 3", "9 3 2 3")
    for at in range(HUES):
        hue, dash = color(f"c{at}"), dashes[at % 4]
        rules.append(f".cw .c{at}{{fill:{hue}}}.cw .a{at}{{fill:{hue};fill-opacity:.14}}")
        rules.append(f".cw .rug.c{at}{{stroke:{hue};stroke-width:1;stroke-opacity:.7}}")
        rules.append(f".cw .s{at}{{fill:none;stroke:{hue};stroke-width:2;stroke-dasharray:{dash}}}")
    return rules


def page_css() -> str:
    """Return the figures' style sheet for a page that defines the colors as variables."""
    return "\n".join(_rules(lambda name: f"var(--{name})"))


def variables(scheme: dict[str, str]) -> str:
    """Return the colors of a scheme as custom properties."""
    return ";".join(f"--{name}:{color}" for name, color in scheme.items())


def standalone_css(dark: bool | None = None) -> str:
    """Return the style sheet of a figure saved alone; None follows the reader's light or dark."""
    schemes = [
        [*_rules(scheme.__getitem__), f"svg.cw{{background:{scheme['paper']}}}"]
        for scheme in (LIGHT, DARK)
    ]
    if dark is not None:
        return "\n".join(schemes[dark])
    return "\n".join([*schemes[0], "@media (prefers-color-scheme:dark){", *schemes[1], "}"])
