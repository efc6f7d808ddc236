"""Figures and scores in words, the same in every figure and on every line of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What the scores are called, and in a phrase what they say.
SCORES: dict[str, tuple[str, str]] = {
    "expected_gain": ("Gain a row", "what one decision earns on average, by the gain matrix"),
    "accuracy": ("Accuracy", "share of rows whose decision is the true class"),
    "balanced_accuracy": ("Balanced accuracy", "mean over the classes of the share found"),
    "log_loss": ("Log loss", "surprise at the true class; less is better"),
    "brier": ("Brier score", "squared distance of posterior and truth; less is better"),
}


def score_words(what: str) -> str:
    """Return the name of a score."""
    return SCORES[what][0] if what in SCORES else what.replace("_", " ").capitalize()


def short(figure: float | None, digits: int = 3) -> str:
    """Return a figure with so many digits after the point, fewer for large ones; – for none."""
    if figure is None:
        return "–"
    digits = digits if abs(figure) < 10 else max(0, digits - 2) if abs(figure) < 1000 else 0
    written = f"{abs(figure):,.{digits}f}"
    negative = figure < 0 and any(mark in written for mark in "123456789")
    return f"−{written}" if negative else written


def brief(figure: float | None) -> str:
    """Return a value of the data with four digits."""
    if figure is None:
        return "–"
    large = 1000 <= abs(figure) < 1e9
    return (f"{figure:,.0f}" if large else f"{figure:.4g}").replace("-", "−")


def signed(figure: float | None, digits: int = 3) -> str:
    """Return a difference with its sign."""
    written = short(figure, digits)
    return f"+{written}" if figure is not None and figure > 0 else written


def interval_words(estimate: Mapping[str, Any], brief: bool = False) -> str:
    """Return a figure with its interval."""
    value = short(estimate["value"])
    if estimate["low"] is None or estimate["high"] is None:
        return value
    between = " – " if brief else " to "
    return f"{value} ({short(estimate['low'])}{between}{short(estimate['high'])})"


def percent(share: float | None) -> str:
    """Return a share in percent, with a digit after the point where it is small."""
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def seconds(time: float | None) -> str:
    """Return a time in the unit that suits it."""
    if time is None:
        return "–"
    if time >= 100:
        return f"{time / 60:.1f} min"
    if time >= 1:
        return f"{time:.1f} s"
    if time < 1e-5:
        return "< 0.01 ms"
    return f"{1000 * time:.0f} ms" if time >= 0.01 else f"{1000 * time:.2f} ms"


def counted(number: float) -> str:
    """Return a count: whole with thousands apart, or a fraction if weights made it one."""
    return f"{number:,.0f}" if abs(number - round(number)) < 1e-9 else f"{number:,.1f}"


Facts = Mapping[str, Any]


def lead_sentence(facts: Facts) -> str:
    """Say in one line what the page is about."""
    data = facts["data"]
    attributes = data["kinds"]["nominal"] + data["kinds"]["numeric"]
    words = [_several(data["rows"], "row"), _several(attributes, "attribute")]
    if data["balance"]:
        words.append(_several(len(data["balance"]), "class", "classes"))
    if facts["kind"] != "comparison":
        return f"{', '.join(words)}."
    models = sum(1 for own in facts["ranking"]["entries"] if not own["baseline"])
    words.append(_several(models, "entry", "entries"))
    return f"{', '.join(words)}; {facts['protocol']['words']}."


def _several(number: float, one: str, many: str | None = None) -> str:
    return f"{counted(number)} {one if number == 1 else many or one + 's'}"


def tiles_of(facts: Facts) -> list[dict[str, str]]:
    """Return the figures a reader looks for first."""
    data = facts["data"]
    if facts["kind"] == "comparison":
        return _standing_tiles(facts)
    tiles = [
        {"name": "Rows", "value": counted(data["rows"]), "more": ""},
        {
            "name": "Attributes",
            "value": str(data["kinds"]["nominal"] + data["kinds"]["numeric"]),
            "more": f"{data['kinds']['nominal']} nominal, {data['kinds']['numeric']} numeric",
        },
        {
            "name": "Missing cells",
            "value": percent(data["missing"]["share"]),
            "more": f"in {_several(data['missing']['columns'], 'column')}",
        },
    ]
    if data["balance"]:
        most = max(data["balance"], key=lambda own: own["rows"])
        tiles.append(
            {"name": "Largest class", "value": percent(most["share"]), "more": most["class"]}
        )
    return tiles


def _standing_tiles(facts: Facts) -> list[dict[str, str]]:
    ranking = facts["ranking"]
    best = ranking["entries"][0]
    ranked = ranking["ranked_by"]
    tiles = [
        {
            "name": "First in the ranking",
            "value": best["name"],
            "more": f"by {score_words(ranked).lower()}",
        },
        _tile(best, ranked, score_words(ranked)),
    ]
    if ranked != "accuracy":
        tiles.append(_tile(best, "accuracy", "Accuracy"))
    base = next((own for own in ranking["entries"] if own["baseline"]), None)
    if base is not None and base is not best:
        tiles.append(_tile(base, ranked, f"{score_words(ranked)} of {base['name']}"))
    if ranked == "accuracy":
        tiles.append(_tile(best, "log_loss", "Log loss"))
    return tiles


def _tile(entry: Facts, what: str, name: str) -> dict[str, str]:
    own = entry["scores"][what]
    known = own["low"] is not None and own["high"] is not None
    more = f"{short(own['low'])} to {short(own['high'])}" if known else ""
    return {"name": name, "value": short(own["value"]), "more": more}


def data_sentence(data: Facts) -> str:
    """Say what the table holds."""
    kinds, missing = data["kinds"], data["missing"]
    words = f"{_several(data['rows'], 'row')}, {kinds['nominal']} nominal and "
    words += f"{kinds['numeric']} numeric attributes"
    if data["target"] is not None:
        words += f"; the class is '{data['target']}'"
    gaps = (
        f" {percent(missing['share'])} of the cells are missing, in "
        f"{_several(missing['columns'], 'column')}."
        if missing["cells"]
        else " No cell is missing."
    )
    return f"{words}.{gaps}"


def measured_sentence(protocol: Facts) -> str:
    """Say how rows were set aside."""
    parts = _several(protocol["parts"], "test part")
    words = protocol["words"][:1].upper() + protocol["words"][1:]
    return (
        f"{words}: {parts} of {_range(protocol['tested'])} rows, each judged by models of "
        f"{_range(protocol['trained'])} other rows."
    )


def _range(ends: list[int]) -> str:
    return counted(ends[0]) if ends[0] == ends[1] else f"{counted(ends[0])} to {counted(ends[1])}"


def _why_title(facts: Facts) -> str:
    model = facts.get("model") or {}
    if model.get("tree"):
        return "Why: the decision tree"
    if model.get("cells"):
        return "Why: where columns are cut, and what the cells decide"
    if model.get("structure"):
        return "Why: what leans on what, and the probability tables"
    return "Why: the probability tables"


def sections_of(facts: Facts) -> list[dict[str, str]]:
    """Return the sections the facts can fill: what to call them, and their template."""
    comparison = facts["kind"] == "comparison"
    every = [
        (comparison, "ranking", "Ranking", "Ranking", "ranking.html"),
        (comparison and facts["gain"], "gain", "Gain", "What the decision earns", "gain.html"),
        (comparison, "confusion", "Confusion", "What is taken for what", "confusion.html"),
        (comparison and facts["model"], "why", "Why", _why_title(facts), "why.html"),
        (
            comparison and facts["curve"],
            "curve",
            "Learning curve",
            "Would more rows help?",
            "curve.html",
        ),
        (True, "data", "Data", "The data", "data.html"),
        (comparison, "measured", "Method", "How it was measured", "measured.html"),
    ]
    return [
        {"id": own, "name": name, "title": title, "template": template}
        for there, own, name, title, template in every
        if there
    ]
