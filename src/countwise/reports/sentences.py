"""Numbers and scores in words, the same in every figure and in every line of a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from countwise.tables.labels import text, value_text

if TYPE_CHECKING:
    from countwise.evaluation.intervals import Estimate
    from countwise.evaluation.scores import Score

#: Cut points, or levels, that one line of a table lists.
MAX_LISTED = 12


def score_words(what: str) -> str:
    """Return the name of a score; one that is not of this library is spelled in words."""
    score = _find_known(what)
    return what.replace("_", " ").capitalize() if score is None else score.words


def score_phrase(what: str) -> str:
    """Return the name of a score as it stands within a sentence."""
    score = _find_known(what)
    return what.replace("_", " ") if score is None else score.phrase


def lower_is_better(what: str) -> bool:
    """Return whether a smaller figure of a score is a better one."""
    score = _find_known(what)
    return score is not None and score.lower_is_better


def is_by_gains(what: str) -> bool:
    """Return whether a score is a gain or a cost, in the unit of the gain matrix."""
    score = _find_known(what)
    return score is not None and score.by_gains


def _find_known(what: str) -> Score | None:
    """Return a score of this library, which a command imports only if it tells of scores."""
    from countwise.evaluation.scores import SCORES, find_score

    return find_score("report", what) if what in SCORES or what.startswith("top_") else None


def short(figure: float | None, digits: int = 3) -> str:
    """Return a number with so many decimals, fewer if it is large; – for none."""
    if figure is None:
        return "–"
    digits = digits if abs(figure) < 10 else max(0, digits - 2) if abs(figure) < 1000 else 0
    written = f"{abs(figure):,.{digits}f}"
    negative = figure < 0 and any(mark in written for mark in "123456789")
    return f"−{written}" if negative else written


def brief(figure: float | None) -> str:
    """Return a value of the data with four significant digits; years have no thousands mark."""
    if figure is None:
        return "–"
    large = 10_000 <= abs(figure) < 1e9
    return (f"{figure:,.0f}" if large else f"{figure:.4g}").replace("-", "−")


def signed(figure: float | None, digits: int = 3) -> str:
    """Return a difference with its sign."""
    written = short(figure, digits)
    return f"+{written}" if figure is not None and figure > 0 else written


#: Scores that are fractions of rows; people read them in percent.
FRACTIONS = ("accuracy", "balanced_accuracy", "recall", "precision")


def score_text(figure: float | None, what: str = "") -> str:
    """Return a score as people read it: a fraction of rows in percent, anything else as it is."""
    if figure is None or what not in FRACTIONS:
        return short(figure)
    return f"{100 * figure:.1f} %"


def interval_words(estimate: Mapping[str, Any], what: str = "") -> str:
    """Return a score with its interval; `what` names the score."""
    value, low, high = (score_text(estimate[key], what) for key in ("value", "low", "high"))
    if estimate["low"] is None or estimate["high"] is None:
        return value
    return f"{value} ({low.removesuffix(' %')} to {high})"


def percent(fraction: float | None) -> str:
    """Return a fraction in percent, with one decimal where it is small."""
    if fraction is None:
        return "–"
    if 0 < fraction < 0.001:
        return "< 0.1 %"
    decimals = 0 if fraction >= 0.0995 or fraction == 0 else 1
    return f"{100 * fraction:.{decimals}f} %"


def cut_points_words(points: Sequence[float], levels: int, dates: bool = False) -> str:
    """Return the first cut points; facts of a column of many `levels` hold only the first."""
    shown = ", ".join(value_text(point, dates, 5) for point in points[:MAX_LISTED])
    more = (len(points) if len(points) != MAX_LISTED else levels - 1) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def seconds(time: float | None) -> str:
    """Return a time in seconds, milliseconds or minutes."""
    if time is None:
        return "–"
    if time >= 100:
        return f"{time / 60:.1f} min"
    if time >= 1:
        return f"{time:.1f} s"
    if time < 1e-5:
        return "< 0.01 ms"
    return f"{1000 * time:.0f} ms" if time >= 0.01 else f"{1000 * time:.2f} ms"


def term_name(term: Mapping[str, Any]) -> str:
    """Return the column of a coefficient, with its level if it has one."""
    return term["column"] if term["level"] is None else f"{term['column']} = {term['level']}"


def join(words: Sequence[str]) -> str:
    """Return words with commas and a last "and"."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def counted(number: float) -> str:
    """Return a count: whole, with thousands separators, or with a decimal if rows have weights."""
    return f"{number:,.0f}" if abs(number - round(number)) < 1e-9 else f"{number:,.1f}"


Facts = Mapping[str, Any]


#: Kinds of columns that models use.
_ATTRIBUTES = ("nominal", "numeric", "text")


def kind_words(kinds: Mapping[str, int], last: str = " and ") -> str:
    """Say how many columns of each kind there are: "3 nominal and 2 numeric"."""
    shown = [kind for kind in _ATTRIBUTES if kinds[kind] or kind != "text"]
    words = [f"{kinds[kind]} {kind}" for kind in shown]
    return f"{', '.join(words[:-1])}{last}{words[-1]}"


def lead_sentence(facts: Facts) -> str:
    """Summarize the table and the comparison in one line."""
    data, words = facts["data"], []
    if facts["kind"] == "experiment":
        protocols = dict.fromkeys(row["protocol"] for row in facts["experiment"]["rows"])
        return f"{facts['experiment']['words']}; {'; '.join(protocols)}."
    if data is not None:
        attributes = sum(data["kinds"][kind] for kind in _ATTRIBUTES)
        words = [_several(data["rows"], "row"), _several(attributes, "attribute")]
        if data["balance"]:
            words.append(_several(len(data["balance"]), "class", "classes"))
    if facts["kind"] != "comparison":
        return f"{', '.join(words)}."
    entries = [entry for entry in facts["ranking"]["entries"] if not entry["baseline"]]
    words.append(_several(len({entry["model"] for entry in entries}), "model"))
    return f"{', '.join(words)}; {facts['protocol']['words']}."


def recommendation(facts: Facts) -> str:
    """Say in one sentence which model to use, and what it changes against deciding nothing."""
    advice = facts["recommendation"]
    if advice is None:
        return str(facts["verdict"])
    always, level = f"calling every case '{advice['always']}'", f"{100 * advice['level']:g} %"
    gap = advice["difference"]
    if advice["is_baseline"] or gap["low"] is None or gap["low"] <= 0:
        return f"No model is shown to do better than {always}: do not use one on these data."
    name = advice["model"]
    if is_by_gains(advice["score"]):
        unit = advice["unit"] and f" {advice['unit']}"
        amount, low, high = (f"{1000 * gap[key]:,.0f}" for key in ("value", "low", "high"))
        losing = advice["score"] == "expected_cost" or advice["of_baseline"]["value"] < 0
        verb = "saves" if losing else "earns"
        more = "" if verb == "saves" else " more"
        return (
            f"Deciding by {name} instead of {always} {verb} about {amount}{unit}{more} per 1,000 "
            f"cases ({level} interval: {low} to {high})."
        )
    value, base = (
        score_text(advice[key]["value"], advice["score"]) for key in ("value", "of_baseline")
    )
    if advice["score"] == "accuracy":
        low, high = (f"{1000 * gap[key]:,.0f}" for key in ("low", "high"))
        return (
            f"Use {name}: it is right in {value} of the cases, {always} in {base} ({level} "
            f"interval of the difference: {low} to {high} more right answers per 1,000 cases)."
        )
    words = score_phrase(advice["score"])
    return f"Use {name}: its {words} is {value}, that of {always} {base}."


def _several(number: float, one: str, many: str | None = None) -> str:
    return f"{counted(number)} {one if number == 1 else many or one + 's'}"


def tiles_of(facts: Facts) -> list[dict[str, str]]:
    """Return the numbers that a reader looks for first."""
    data = facts["data"]
    if facts["kind"] == "comparison":
        return _standing_tiles(facts)
    if facts["kind"] == "experiment":
        means = facts["experiment"]["ranks"]["mean"]
        ranked = sorted((name for name in means if means[name] is not None), key=means.__getitem__)
        return [
            {"name": f"Mean rank {place}", "value": name, "more": short(means[name], 2)}
            for place, name in enumerate(ranked[:4], 1)
        ]
    kinds = {kind: data["kinds"][kind] for kind in _ATTRIBUTES}
    tiles = [
        {"name": "Rows", "value": counted(data["rows"]), "more": ""},
        {
            "name": "Attributes",
            "value": str(sum(kinds.values())),
            "more": kind_words(kinds, ", "),
        },
        {
            "name": "Missing cells",
            "value": percent(data["missing"]["fraction"]),
            "more": f"in {_several(data['missing']['columns'], 'column')}",
        },
    ]
    if data["balance"]:
        most = max(data["balance"], key=lambda line: line["rows"])
        tiles.append(
            {"name": "Largest class", "value": percent(most["fraction"]), "more": most["class"]}
        )
    return tiles


def _standing_tiles(facts: Facts) -> list[dict[str, str]]:
    ranking = facts["ranking"]
    best = ranking["entries"][0]
    ranked = ranking["ranked_by"]
    by = f"by {score_phrase(ranked)}"
    unit = ranking["unit"]
    tiles = [
        {"name": "Best model", "value": best["name"], "more": by},
        _tile(best, ranked, score_words(ranked), unit),
    ]
    if ranked != "accuracy":
        tiles.append(_tile(best, "accuracy", "Accuracy of its decisions"))
    base = next((entry for entry in ranking["entries"] if entry["baseline"]), None)
    if base is not None and base is not best:
        tiles.append(_tile(base, ranked, f"{score_words(ranked)} of {base['name']}", unit))
    if ranked == "accuracy":
        tiles.append(_tile(best, "log_loss", "Log loss"))
    return tiles


def _tile(entry: Facts, what: str, name: str, unit: str = "") -> dict[str, str]:
    score = entry["scores"][what]
    known = score["low"] is not None and score["high"] is not None
    low, high = score_text(score["low"], what), score_text(score["high"], what)
    after = f" {unit}" if unit and is_by_gains(what) else ""
    value = score_text(score["value"], what)
    return {"name": name, "value": f"{value}{after}", "more": f"{low} to {high}" if known else ""}


def data_sentence(data: Facts) -> str:
    """Summarize the columns and the missing cells of a table."""
    kinds, missing = data["kinds"], data["missing"]
    words = f"{_several(data['rows'], 'row')}, {kind_words(kinds)} attributes"
    if data["target"] is not None:
        words += f"; the class is '{data['target']}'"
    if not missing["cells"]:
        return f"{words}. No cell is missing."
    fraction, columns = percent(missing["fraction"]), _several(missing["columns"], "column")
    return f"{words}. {fraction} of the cells are missing, in {columns}."


def measured_sentence(protocol: Facts) -> str:
    """Describe how models were trained and tested."""
    folds = _several(protocol["parts"], "fold")
    words = protocol["words"][:1].upper() + protocol["words"][1:]
    return (
        f"{words}: {folds} of {_range(protocol['tested'])} test rows each, predicted by models "
        f"trained on {_range(protocol['trained'])} other rows."
    )


def _range(ends: list[int]) -> str:
    return counted(ends[0]) if ends[0] == ends[1] else f"{counted(ends[0])} to {counted(ends[1])}"


#: The digits of long arrays, where fewer are enough for a page.
_DIGITS = {"probabilities": 4, "density": 3, "x": 5}


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Return a number with so many significant digits; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.{digits}g}")


def estimate(score: Estimate) -> dict[str, float | None]:
    """Return a score and its interval, without the values of the folds."""
    return {"value": rounded(score.value), "low": rounded(score.low), "high": rounded(score.high)}


def names(labels: Iterable[Any]) -> list[str]:
    """Return labels as texts."""
    return [text(label) for label in labels]


def plain(value: Any, digits: int = 6) -> Any:
    """Return a value of dataclasses, arrays, tuples and mappings as plain data; drop functions."""
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return rounded(value, digits)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), digits)
    if isinstance(value, Mapping):
        return {str(name): plain(part, digits) for name, part in value.items()}
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            name: plain(part, _DIGITS.get(name, digits))
            for name, part in parts.items()
            if not callable(part)
        }
    return [plain(part, digits) for part in value]
