"""The few sentences and figures a page opens with, and its sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countwise.reports.wording import counted, percent, score_words, short

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
