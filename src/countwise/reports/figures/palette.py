"""The colours by name, light and dark, chosen so that the colour-blind can tell them apart.

Hues follow Okabe and Ito (2008); ramps go by lightness alone, so they survive print in grey.
Figures name colours by class: ``q0`` to ``q9`` probability, ``g1`` to ``g4`` gains, ``n1`` to
``n4`` losses, ``c0`` to ``c7`` the classes of the data or the models.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

#: How many different hues there are for classes and models.
HUES = 8
#: Where each shade of a probability begins: finer below, so that attributes of many values show.
STEPS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
#: How many shades a probability has.
SHADES = len(STEPS)

_LIGHT_RAMP = (
    "eef3f8", "dde9f4", "c8dcee", "afcce5", "92b9da",
    "74a4cd", "6196c4", "2f6fab", "1b5594", "0b3a70",
)  # fmt: skip
_DARK_RAMP = (
    "1b232c", "1d2d3b", "20394d", "244761", "295575",
    "306389", "386f97", "6da9d2", "95c3e3", "c3e0f4",
)  # fmt: skip
_LIGHT_HUES = (
    "0072b2", "d55e00", "00845f", "b0558a",
    "9a6b00", "3c8fbf", "6a4c93", "4d4d4d",
)  # fmt: skip
_DARK_HUES = (
    "56b4e9", "ff8a4c", "2fcb9b", "e59ac6",
    "f0b93a", "a5d8f5", "b79be8", "c8c8c8",
)  # fmt: skip


def _colours(
    ramp: Sequence[str], hues: Sequence[str], gains: str, losses: str, rest: dict[str, str]
) -> dict[str, str]:
    named = {f"q{at}": f"#{colour}" for at, colour in enumerate(ramp)}
    named |= {f"c{at}": f"#{colour}" for at, colour in enumerate(hues)}
    named |= {f"g{at}": f"#{colour}" for at, colour in enumerate(gains.split(), 1)}
    named |= {f"n{at}": f"#{colour}" for at, colour in enumerate(losses.split(), 1)}
    return named | {name: f"#{colour}" for name, colour in rest.items()}


#: Every colour of the light scheme by name.
LIGHT = _colours(
    _LIGHT_RAMP,
    _LIGHT_HUES,
    "d3e4f2 a3c6e2 6fa3cf 2a6cab",
    "fbe0cc f5bd93 e8935a b54d00",
    {
        "paper": "ffffff",
        "panel": "f6f8fa",
        "ink": "17202a",
        "soft": "566270",
        "rule": "d5dce3",
        "accent": "0b5c96",
        "low": "17202a",
        "high": "ffffff",
        "nought": "f1f3f5",
    },
)
#: Every colour of the dark scheme by name.
DARK = _colours(
    _DARK_RAMP,
    _DARK_HUES,
    "1f3a52 2a5578 376b92 86bde2",
    "4a2c16 6d3f1b 8f5526 f5ab72",
    {
        "paper": "12161b",
        "panel": "1a2027",
        "ink": "e7ecf1",
        "soft": "a3afbb",
        "rule": "333d47",
        "accent": "7cc0ee",
        "low": "e7ecf1",
        "high": "0d1217",
        "nought": "1c2229",
    },
)


def shade(share: float) -> int:
    """Return the shade of a probability: 0 for next to nothing, 9 for next to one."""
    return max(bisect_right(STEPS, share) - 1, 0)


def dark_ink(name: str) -> bool:
    """Whether the usual ink of the scheme can be read on this colour, or its opposite is needed."""
    return name in ("nought", "paper") or int(name[1:]) < (7 if name[0] == "q" else 4)


def _rules(colour: Callable[[str], str]) -> list[str]:
    """The style sheet of a figure; `colour` writes a colour by its name."""
    rules = [
        "svg.cw{font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif}",
        ".cw .bold{font-weight:600}",
        *(f".cw .{name}{{fill:{colour(name)}}}" for name in ("ink", "soft", "low", "high")),
        f".cw .accent{{fill:{colour('accent')}}}",
        f".cw .nought{{fill:{colour('nought')}}}",
        f".cw .axis{{stroke:{colour('soft')};stroke-width:1}}",
        f".cw .grid{{stroke:{colour('rule')};stroke-width:1}}",
        f".cw .whisker{{stroke:{colour('accent')};stroke-width:2.5;stroke-linecap:round}}",
        f".cw .faint{{stroke:{colour('soft')};stroke-width:2;stroke-linecap:round}}",
        f".cw .hollow{{fill:{colour('paper')};stroke:{colour('soft')};stroke-width:2}}",
        f".cw .edge{{fill:none;stroke:{colour('rule')};stroke-width:1}}",
        f".cw .ground{{fill:{colour('paper')}}}",
        f".cw .node{{fill:{colour('panel')};stroke:{colour('soft')};stroke-width:1}}",
        f".cw .limb{{fill:none;stroke:{colour('accent')};stroke-linejoin:round}}",
        f".cw .dot{{stroke:{colour('paper')};stroke-width:.7;fill-opacity:.85}}",
        f".cw .twig{{fill:none;stroke:{colour('soft')};stroke-width:1;stroke-dasharray:4 3}}",
    ]
    rules += [f".cw .q{at}{{fill:{colour(f'q{at}')}}}" for at in range(SHADES)]
    rules += [
        f".cw .{side}{at}{{fill:{colour(f'{side}{at}')}}}" for side in "gn" for at in (1, 2, 3, 4)
    ]
    dashes = ("none", "7 3", "2 3", "9 3 2 3")
    for at in range(HUES):
        own = colour(f"c{at}")
        rules.append(f".cw .c{at}{{fill:{own}}}.cw .a{at}{{fill:{own};fill-opacity:.14}}")
        rules.append(f".cw .rug.c{at}{{stroke:{own};stroke-width:1;stroke-opacity:.7}}")
        rules.append(
            f".cw .s{at}{{fill:none;stroke:{own};stroke-width:2;stroke-dasharray:{dashes[at % 4]}}}"
        )
    return rules


def page_css() -> str:
    """Return the figures' style sheet for a page that defines the colours as variables."""
    return "\n".join(_rules(lambda name: f"var(--{name})"))


def variables(scheme: dict[str, str]) -> str:
    """Return the colours of a scheme as custom properties."""
    return ";".join(f"--{name}:{colour}" for name, colour in scheme.items())


def standalone_css() -> str:
    """Return the style sheet of a figure saved alone: plain colors, and dark ones on demand."""
    paper = "svg.cw{{background:{}}}"
    light = [*_rules(LIGHT.__getitem__), paper.format(LIGHT["paper"])]
    dark = [*_rules(DARK.__getitem__), paper.format(DARK["paper"])]
    return "\n".join([*light, "@media (prefers-color-scheme:dark){", *dark, "}"])
