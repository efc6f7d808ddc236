"""Tables for the terminal and the pages that quote them, all from the JSON of a run.

python -m benchmarks.accuracy.pages    writes the pages anew from benchmarks/results/accuracy.json
"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.accuracy.picture import draw_ranks
from benchmarks.accuracy.results import HERE
from countwise.atomic_write import atomic_write
from countwise.reports.figures.svg import standalone
from countwise.reports.terminal import grid

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
PICTURE = ROOT / "docs" / "images" / "accuracy-ranks.svg"
MODELS = ROOT / "docs" / "models.md"
README = ROOT / "README.md"
LISTED = ROOT / "src" / "countwise" / "models" / "measured.json"
BEGIN = "<!-- accuracy: written by python -m benchmarks.accuracy.pages -->"
END = "<!-- end of accuracy -->"
#: Ends the line of the README's table that is written anew.
ROW = "<!-- accuracy -->"
#: The models that a table by set shows.
_BY_SET = (
    "additive", "naive-bayes", "aode", "tree", "forest", "sklearn-forest",
    "sklearn-boosting-native", "lightgbm", "khiops", "catboost", "ebm",
)  # fmt: skip

#: Characters in a line of a page.
_WIDTH = 148

Facts = dict[str, Any]
Lines = list[list[str]]


def write_pages(facts: Facts) -> list[Path]:
    """Write the page and its picture, and the figures that other pages quote."""
    texts = page_texts(facts)
    for path, text in texts.items():
        with atomic_write(path, "accuracy") as draft:
            draft.write_text(text, encoding="utf-8")
    return list(texts)


def page_texts(facts: Facts) -> dict[Path, str]:
    """Return all files that are written from the results."""
    return {
        PAGE: accuracy_page(facts),
        PICTURE: standalone(draw_ranks(facts["ranks"]["log_loss"], our_models(facts))),
        MODELS: _between(MODELS.read_text(encoding="utf-8"), models_lines(facts)),
        README: _replace_row(README.read_text(encoding="utf-8"), readme_row(facts)),
        LISTED: json.dumps(listed_figures(facts), indent=1) + "\n",
    }


def describe_folds(facts: Facts) -> str:
    """Say which folds the means are over."""
    numbers = facts["folds"]
    if numbers == [10]:
        return "ten folds"
    if not numbers:
        return "no folds"
    span = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
    return f"the first {span} of ten folds"


def our_models(facts: Facts) -> list[str]:
    """Return the names of our models."""
    return [one["name"] for one in facts["models"] if one["origin"] == "countwise"]


def _between(text: str, lines: str) -> str:
    """Put lines between the two marks of a page."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", "", lines, "", f"{END}{after}"])


def _replace_row(text: str, row: str) -> str:
    return re.sub(rf"^.*{re.escape(ROW)}.*$", lambda _: row, text, flags=re.MULTILINE)


def percent(share: float) -> str:
    """Write a share as a percentage with one digit."""
    return f"{100 * share:.1f} %"


def loss(value: float) -> str:
    """Write a loss with three digits and without the leading zero."""
    return f"{value:.3f}".removeprefix("0")


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _points(gap: float) -> str:
    return f"{100 * gap:+.1f}".replace("-", "−")


def _markdown(head: list[str], lines: Lines) -> str:
    """Return a table, or nothing if it has no lines."""
    if not lines:
        return ""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def mean_lines(facts: Facts) -> tuple[list[str], Lines]:
    """Return the head and the lines of the main table, the least log loss first."""
    ranks, reference = facts["ranks"]["log_loss"]["mean"], facts["reference"]
    head = ["model", "accuracy", "log loss", "Brier", "mean rank", f"w/t/l to {reference}", "p",
            "fit s", "predict s"]  # fmt: skip
    lines = []
    for one in facts["means"]:
        pair = one["against"] and one["against"]["log_loss"]
        wins = "/".join(str(pair[key]) for key in ("wins", "ties", "losses")) if pair else "–"
        lines.append([
            one["model"], percent(one["accuracy"]), loss(one["log_loss"]), loss(one["brier"]),
            f"{ranks[one['model']]:.1f}", wins, _p(pair["p"]) if pair else "–",
            f"{one['fit_seconds']:.3f}", f"{one['predict_seconds']:.3f}",
        ])  # fmt: skip
    return head, lines


def partial_lines(facts: Facts) -> tuple[list[str], Lines]:
    """Return the table of models that were run on a part of the folds or sets."""
    reference = facts["reference"]
    head = ["model", "sets", "folds a set", "accuracy", f"{reference}", "log loss", f"{reference}",
            "w/t/l", "p"]  # fmt: skip
    lines = []
    for one in facts["partial"]:
        if one["against"] is None:
            continue
        right, lost = one["against"]["accuracy"], one["against"]["log_loss"]
        folds = sorted(set(lost["folds"]))
        span = f"{folds[0]}" if len(folds) == 1 else f"{folds[0]} to {folds[-1]}"
        lines.append([
            one["model"], str(len(lost["sets"])), span, percent(right["mean"]),
            percent(right["reference_mean"]), loss(lost["mean"]), loss(lost["reference_mean"]),
            "/".join(str(lost[key]) for key in ("wins", "ties", "losses")), _p(lost["p"]),
        ])  # fmt: skip
    return head, lines


def weka_lines(facts: Facts) -> tuple[list[str], Lines]:
    """Return the comparison with Weka's counterparts."""
    head = ["ours", "Weka's", "ours", "Weka", "difference in points", "more than 5 points behind"]
    lines = []
    for one in facts["weka"]:
        behind = [f"{name} {_points(gap)}" for name, gap in one["far_behind"].items()]
        lines.append([
            one["ours"], one["weka"].removeprefix("weka-"), percent(one["accuracy"]),
            percent(one["weka_accuracy"]), _points(one["difference"]), ", ".join(behind) or "none",
        ])  # fmt: skip
    return head, lines


def _cell(score: Facts | None, folds: int) -> str:
    """Write log loss and accuracy; a star marks a mean over fewer folds than the set has."""
    if score is None:
        return "–"
    star = "*" if score["folds"] < folds else ""
    return f"{loss(score['log_loss'])} ({100 * score['accuracy']:.1f}){star}"


def set_lines(facts: Facts, groups: tuple[str, ...]) -> tuple[list[str], Lines]:
    """Return log loss and accuracy of some models on each set of some groups."""
    known = {name for found in facts["scores"].values() for name in found}
    shown = [name for name in _BY_SET if name in known]
    lines = []
    for one in facts["sets"]:
        if one["group"] in groups:
            found = facts["scores"][one["name"]]
            cells = [_cell(found.get(name), one["folds"]) for name in shown]
            lines.append([one["name"], f"{one['rows']:,}".replace(",", " "), *cells])
    used = [place for place in range(len(shown)) if any(line[place + 2] != "–" for line in lines)]
    head = ["set", "rows", *(shown[place] for place in used)]
    return head, [[*line[:2], *(line[place + 2] for place in used)] for line in lines]


def show_tables(facts: Facts, screen: Console) -> None:
    """Print the tables."""
    sets, reference = sum(one["group"] == "main" for one in facts["sets"]), facts["reference"]
    tables = {
        f"Means over {sets} set{'s' * (sets != 1)}; seconds are processor time a fold": mean_lines(
            facts
        ),
        f"Run on some sets or folds, beside {reference} on the same": partial_lines(facts),
        "Accuracy beside Weka's counterparts": weka_lines(facts),
        "Sets not in the means: log loss (accuracy %), * over fewer folds": set_lines(
            facts, ("small", "larger")
        ),
    }
    for title, (head, lines) in tables.items():
        if lines:
            texts = [at for at, name in enumerate(head) if at == 0 or name.startswith("more than")]
            table = grid(*head, right=[at for at in range(len(head)) if at not in texts])
            table.columns[0].no_wrap, table.columns[0].overflow = True, "fold"
            for line in lines:
                table.add_row(*line)
            screen.print(title, style="bold")
            screen.print(table)
    kept = [one["name"] for one in facts["models"] if not one["installed"]]
    if kept:
        screen.print(f"Not installed; results kept from earlier runs: {', '.join(kept)}")
    for one in facts["failures"]:
        where = f"{one['set']}, fold {one['fold'] + 1}"
        screen.print(f"{one['model']} failed on {where}: {one['why']}", markup=False)


def accuracy_page(facts: Facts) -> str:
    """Return docs/accuracy.md."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    source = FileSystemLoader(Path(__file__).parent)
    # The page is Markdown, and its texts are ours.
    environment = Environment(
        loader=source, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    sets = [one for one in facts["sets"] if one["group"] == "main"]
    rows = [one["rows"] for one in sets]
    versions: dict[str, str] = {}
    for one in facts["models"]:
        versions |= {} if one["origin"] == "countwise" else one["versions"] or {}
    return environment.get_template("accuracy.md.j2").render(
        when=facts["when"][:10],
        sets=sets,
        fewest=min(rows),
        most=max(rows),
        seed=facts["seed"],
        folds=describe_folds(facts),
        reference=facts["reference"],
        means=_markdown(*mean_lines(facts)),
        picture=PICTURE.name,
        critical=f"{facts['ranks']['log_loss']['critical_difference']:.1f}",
        partial=_markdown(*partial_lines(facts)),
        weka=_markdown(*weka_lines(facts)),
        by_set=_markdown(*set_lines(facts, ("main",))),
        apart=_markdown(*set_lines(facts, ("small", "larger"))),
        versions=", ".join(f"{name} {text}" for name, text in sorted(versions.items())),
        machine=facts["machine"],
        failures=facts["failures"],
    )


def models_lines(facts: Facts) -> str:
    """Return what docs/models.md says of accuracy: our models, and the best of the others."""
    ours = our_models(facts)
    means = facts["means"]
    others = [one for one in means if one["model"] not in ours and one["model"] != "majority"]
    shown = [one for one in means if one["model"] in ours or one in others[:3]]
    lines = [
        [
            one["model"],
            percent(one["accuracy"]),
            loss(one["log_loss"]),
            f"{one['fit_seconds']:.2f} s",
        ]
        for one in shown
    ]
    best = next(one for one in means if one["model"] in ours)
    accurate = max((one for one in means if one["model"] in ours), key=lambda one: one["accuracy"])
    text = f"`{best['model']}` has the lowest log loss"
    joint = " and the highest accuracy"
    text += joint if accurate is best else f", and `{accurate['model']}` has{joint[4:]}"
    sets = sum(one["group"] == "main" for one in facts["sets"])
    words = (
        f"Among our models, {text}. The figures are means over {sets} UCI sets in "
        f"{describe_folds(facts)}, with default settings; *fit* is the processor time of one fit. "
        "[Accuracy](accuracy.md) has more figures."
    )
    table = _markdown(["model", "accuracy", "log loss", "fit"], lines)
    return "\n".join([*textwrap.wrap(words, _WIDTH), "", table])


def readme_row(facts: Facts) -> str:
    """Return the line of the README's table."""
    means = {one["model"]: one for one in facts["means"]}
    ours = our_models(facts)
    best = next(one for one in facts["means"] if one["model"] in ours)
    forest = means.get("sklearn-forest") or next(
        one for one in facts["means"] if one["model"] not in ours
    )
    sets = sum(one["group"] == "main" for one in facts["sets"])
    mine, theirs = (
        f"log loss {loss(one['log_loss'])}, accuracy {percent(one['accuracy'])}"
        for one in (best, forest)
    )
    name = "random forest" if forest["model"] == "sklearn-forest" else forest["model"]
    task = f"[accuracy](docs/accuracy.md): mean of {sets} UCI sets, {describe_folds(facts)}"
    return f"| {task} {ROW} | `{best['model']}` {mine} | scikit-learn {name} {theirs} | – |"


def listed_figures(facts: Facts) -> Facts:
    """Return the figures that `countwise models` shows."""
    shared = {*our_models(facts), "sklearn-forest", "majority"}
    sets = sum(one["group"] == "main" for one in facts["sets"])
    figures = {
        one["model"]: {key: round(one[key], 4) for key in ("accuracy", "log_loss")}
        for one in facts["means"]
        if one["model"] in shared
    }
    return {"sets": sets, "models": dict(sorted(figures.items()))}


def main() -> None:
    """Write the pages from the JSON of the last full run."""
    facts = json.loads((HERE / "accuracy.json").read_text(encoding="utf-8"))
    for path in write_pages(facts):
        print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
