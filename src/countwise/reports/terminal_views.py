"""The views of a model in a terminal: tables and trees of text, cut to a number of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from countwise.reports.figures.decision_tree import children_of
from countwise.reports.sentences import (
    brief,
    counted,
    cut_points_words,
    percent,
    short,
    signed,
    term_name,
)
from countwise.reports.terminal import Screen, grid, sparkline, to_cells, two_sided_bar

Facts = Mapping[str, Any]

#: Characters that a column of one class needs, those of a small curve, and half those of a bar.
_CLASS_WIDTH, _CURVE_WIDTH, _BAR_WIDTH = 12, 32, 12
#: Nearest rows and attributes that a line about a stored row names.
_MAX_NEAR, _MAX_VALUES = 3, 4


def show_view(screen: Screen, view: Facts, most: int) -> None:
    """Print one view: its title, and at most so many lines of each of its lists."""
    screen.say()
    screen.say(view["title"], "bold")
    render = _RENDERERS.get(view["kind"])
    if render is not None:
        render(screen, view, most)
    if view.get("note"):
        screen.say(view["note"], "dim")
    if render is None:
        screen.say("--json prints it.", "dim")


def _more(screen: Screen, rest: int, what: str) -> None:
    """Say how much was left out."""
    if rest > 0:
        screen.say(f"… and {rest:,} more {what}", "dim")


def _outline(parents: Sequence[int]) -> list[tuple[int, str]]:
    """Return the nodes of trees from top to bottom, each with the lines that lead to it."""
    children = children_of(parents)
    waiting = [(node, "", "") for node, above in enumerate(parents) if above < 0][::-1]
    found = []
    while waiting:
        node, lead, below = waiting.pop()
        found.append((node, lead))
        for place, child in enumerate(reversed(children[node])):
            ends = ("└─ ", "   ") if place == 0 else ("├─ ", "│  ")
            waiting.append((child, below + ends[0], below + ends[1]))
    return found


def _decision_tree(screen: Screen, view: Facts, most: int) -> None:
    nodes, classes = view["drawn"], view["classes"]
    few = sum(max(len(name), 5) + 2 for name in classes) < screen.width // 3
    heads = classes if few else ["most frequent class"]
    table = grid("test", "rows", *heads, "entropy", "gain", "ratio", right=range(1, len(heads) + 5))
    table.columns[0].no_wrap = True
    parents = [-1 if node["parent"] is None else node["parent"] for node in nodes]
    lines = _outline(parents)
    for at, lead in lines[: 3 * most]:
        node = nodes[at]
        name = node["name"] if node["leaf"] else f"{node['name']} ?"
        if not node["leaf"] and not node["open"]:
            name = f"… {node['below']:,} more nodes"
        value = f"{node['value']}: " if node["value"] else ""
        total = sum(node["counts"])
        parts = [counted(count) for count in node["counts"]]
        parts = parts if few else [f"{node['label']} {percent(max(node['counts']) / total)}"]
        measures = [node["entropy"], node["gain"], node["gain_ratio"]]
        bits = ["" if measure is None else short(measure) for measure in measures]
        cells = (f"{lead}{value}{name}", counted(total), *parts, *bits)
        table.add_row(*to_cells(*cells))
    screen.show(table)
    _more(screen, view["nodes"] - len(lines[: 3 * most]), "nodes")


def _importances(screen: Screen, view: Facts, most: int) -> None:
    table = grid("column", "importance", right=(1,))
    for column in view["columns"][:most]:
        table.add_row(*to_cells(column["name"], percent(column["share"])))
    screen.show(table)
    _more(screen, len(view["columns"]) - most + view["more_columns"], "columns")


def _say_prior(screen: Screen, view: Facts, most: int) -> None:
    pairs = list(zip(view["classes"], view["prior"], strict=True))
    shown = ", ".join(f"{name} {short(fraction)}" for name, fraction in pairs[:most])
    rest = len(pairs) - most + view["more_classes"]
    screen.say(f"Class prior: {shown}{f' … and {rest} more' if rest > 0 else ''}")


def _probability_tables(screen: Screen, view: Facts, most: int) -> None:
    _say_prior(screen, view, most)
    places = range(min(len(view["classes"]), max((screen.width - 30) // _CLASS_WIDTH, 1)))
    hidden = len(view["classes"]) - len(places) + view["more_classes"]
    for attribute in view["tables"][:most]:
        screen.say()
        name = f"{attribute['name']} ({short(attribute['bits'])} bits)"
        table = grid(name, *(view["classes"][at] for at in places), right=range(1, len(places) + 1))
        for level, text in list(enumerate(attribute["levels"]))[:most]:
            cells = [
                f"{attribute['probabilities'][at][level]:.3f} "
                f"({counted(attribute['counts'][at][level])})"
                for at in places
            ]
            table.add_row(*to_cells(text, *cells))
        screen.show(table)
        _more(screen, len(attribute["levels"]) - most + attribute["more_levels"], "levels")
    screen.say()
    _more(screen, hidden, "classes")
    _more(screen, len(view["tables"]) - most + view["more_tables"], "attributes")
    screen.say("P(value | class), with the number of rows; bits are about the class.", "dim")


def _densities(screen: Screen, view: Facts, most: int) -> None:
    _say_prior(screen, view, most)
    table = grid("attribute", "bits", "class", "mean", "deviation", "density", right=(1, 3, 4))
    for column in view["columns"][:most]:
        top = max(max(density) for density in column["density"]) or 1.0
        step = max(len(column["x"]) // _CURVE_WIDTH, 1)
        for at, name in enumerate(view["classes"]):
            first = (column["name"], short(column["bits"])) if at == 0 else ("", "")
            curve = [value / top for value in column["density"][at][::step]]
            moments = brief(column["mean"][at]), brief(column["deviation"][at])
            table.add_row(*to_cells(*first, name, *moments, sparkline([*curve, 0.0, 1.0])[:-2]))
    screen.show(table)
    _more(screen, len(view["columns"]) - most + view["more_columns"], "attributes")


def _dependency_graph(screen: Screen, view: Facts, most: int) -> None:
    attributes = view["attributes"]
    several = any(len(one["parents"]) > 1 for one in attributes)
    heads = ("attribute", "bits about the class", "bits shared", *(["also on"] if several else []))
    table = grid(*heads, right=(1, 2))
    for column in (table.columns[0], table.columns[-1]):
        column.no_wrap = True
    lines = _outline([one["parents"][0]["at"] if one["parents"] else -1 for one in attributes])
    for at, lead in lines[: 3 * most]:
        one = attributes[at]
        shared = short(one["parents"][0]["bits"]) if one["parents"] else ""
        others = ", ".join(attributes[edge["at"]]["name"] for edge in one["parents"][1:])
        more = [others] if several else []
        table.add_row(*to_cells(f"{lead}{one['name']}", short(one["bits"]), shared, *more))
    screen.show(table)
    _more(screen, len(lines) - 3 * most + view["more_attributes"], "attributes")
    if view["unused"]:
        screen.say(f"{view['unused']} attributes are not used.", "dim")
    screen.say(f"Every attribute also depends on {view['target']}.", "dim")


def _cell_grid(screen: Screen, view: Facts, most: int) -> None:
    within = f" within a budget of {counted(view['budget'])}" if view["budget"] else ""
    screen.say(f"{view['cells']:,} cells{within}, {view['occupied']:,} of them with rows.")
    earned = {"training": view["gain"].get("train"), "validation": view["gain"].get("validation")}
    gains = [f"{short(gain)} in {where}" for where, gain in earned.items() if gain is not None]
    if gains:
        screen.say(f"Expected gain per row: {', '.join(gains)}.")
    table = grid("column", "bits", "levels", "cut points or levels", right=(1, 2))
    for column in view["columns"][:most]:
        if column["numeric"]:
            words = cut_points_words(column["cut_points"], column["width"], column["dates"])
        else:
            rest = column["width"] - most
            words = ", ".join(column["levels"][: min(most, column["width"])])
            words += f" … and {rest} more" if rest > 0 else ""
        table.add_row(*to_cells(column["name"], short(column["bits"]), column["width"], words))
    screen.show(table)
    _more(screen, len(view["columns"]) - most + view["more_columns"], "columns")
    if len(view["steps"]) > 1:
        curve = [step["train"] for step in view["steps"]]
        line = sparkline(curve[:: max(len(curve) // _CURVE_WIDTH, 1)])
        screen.say(f"Gain over the search: {short(curve[0])} {line} {short(curve[-1])}")
    if view["slice"]:
        _slice(screen, view["slice"], most)


def _slice(screen: Screen, cut: Facts, most: int) -> None:
    across, up = cut["across"], cut["up"]
    screen.say()
    screen.say(f"Decisions by {up['name']} (lines) and {across['name']} (columns)")
    places = range(min(across["width"], max((screen.width - 24) // _CLASS_WIDTH, 1)))
    names = across["levels"]
    heads = [names[at] if at < len(names) else str(at + 1) for at in places]
    table = grid("", *heads)
    for line in range(min(up["width"], most)):
        name = up["levels"][line] if line < len(up["levels"]) else str(line + 1)
        chosen = [cut["labels"][int(cut["decisions"][at][line])] for at in places]
        table.add_row(*to_cells(name, *chosen))
    screen.show(table)
    hidden = max(across["width"] - len(places), 0) + max(up["width"] - most, 0)
    _more(screen, hidden, "levels")
    if cut["fixed"]:
        fixed = ", ".join(f"{name} = {level}" for name, level in list(cut["fixed"].items())[:most])
        screen.say(f"At {fixed}.", "dim")


def _coefficients(screen: Screen, view: Facts, most: int) -> None:
    classes = view["classes"][: max((screen.width - 40) // _CLASS_WIDTH, 1)]
    single = len(view["classes"]) == 1
    table = grid("term", *classes, *([""] if single else []), right=range(1, len(classes) + 1))
    largest = max((abs(term["scaled"][0]) for term in view["terms"]), default=0.0)
    table.add_row(*to_cells("(intercept)", *map(brief, view["intercept"][: len(classes)])))
    for term in view["terms"][:most]:
        bar = [two_sided_bar(term["scaled"][0], largest, _BAR_WIDTH)] if single else []
        values = [signed_brief(value) for value in term["values"][: len(classes)]]
        table.add_row(*to_cells(term_name(term), *values, *bar))
    screen.show(table)
    _more(screen, len(view["classes"]) - len(classes), "classes")
    _more(screen, len(view["terms"]) - most + view["more_terms"], "terms")


def signed_brief(figure: float | None) -> str:
    """Return a coefficient with its sign and four significant digits."""
    return f"+{brief(figure)}" if figure is not None and figure > 0 else brief(figure)


def _training_curve(screen: Screen, view: Facts, most: int) -> None:
    epochs = view["epochs"]
    if not epochs:
        return
    thin = epochs[:: max(len(epochs) // _CURVE_WIDTH, 1)]
    table = grid("", "first epoch", "", "last epoch", right=(1, 3))
    for key, name in (("loss", "loss in training"), ("error", "error on rows held out")):
        values = [epoch[key] for epoch in thin]
        if all(value is not None for value in values):
            ends = short(epochs[0][key]), sparkline(values), short(epochs[-1][key])
            table.add_row(*to_cells(name, *ends))
    screen.show(table)
    screen.say(f"The weights are those of epoch {view['best_epoch']}.")


def _neighbor_sample(screen: Screen, view: Facts, most: int) -> None:
    what = "class" if view["classes"] else "value"
    table = grid("row", what, "values", "nearest rows", right=(0,))
    for sample in view["samples"][:most]:
        pairs = list(zip(view["attributes"], sample["values"], strict=True))
        values = ", ".join(f"{name} {value}" for name, value in pairs[:_MAX_VALUES])
        values += f" … and {len(pairs) - _MAX_VALUES} more" if len(pairs) > _MAX_VALUES else ""
        near = "; ".join(
            f"{row['row']} ({row['label']}, {row['distance']:.3g})"
            for row in sample["neighbors"][:_MAX_NEAR]
        )
        table.add_row(*to_cells(sample["row"], sample["label"], values, near))
    screen.show(table)
    screen.say(f"Nearest rows are given with their {what} and their distance.", "dim")


def _member_list(screen: Screen, view: Facts, most: int) -> None:
    if view["errors"]:
        table = grid("estimate of the error", "fraction of the rows", right=(1,))
        for name, error in view["errors"].items():
            table.add_row(*to_cells(name, short(error)))
        screen.show(table)
    if view["members"]:
        table = grid("#", "member", "weight", "error", right=(0, 2, 3))
        for place, member in enumerate(view["members"][:most], 1):
            figures = short(member["weight"]), short(member["error"])
            table.add_row(*to_cells(place, member["name"], *figures))
        screen.show(table)
        _more(screen, len(view["members"]) - most + view["more_members"], "members")
    if view["agreement"]:
        pairs = [
            fraction
            for row, line in enumerate(view["agreement"])
            for column, fraction in enumerate(line)
            if column < row
        ]
        if pairs:
            mean = percent(sum(pairs) / len(pairs))
            screen.say(f"Two members agree on {mean} of the training rows on average.")


def _shapes(screen: Screen, view: Facts, most: int) -> None:
    """Print what the levels of every column add, the strongest columns first."""
    classes = view["classes"][-1:] if len(view["base"]) == 1 else view["classes"]
    for column in view["columns"][:most]:
        screen.say(f"{column['name']}: {percent(column['share'])} of all that is added", "bold")
        table = grid("level", *classes, right=range(1, len(classes) + 1))
        for level, added in list(zip(column["levels"], column["added"], strict=True))[:most]:
            table.add_row(*to_cells(level, *map(signed, added)))
        screen.show(table)
        _more(screen, len(column["levels"]) - most + column["more_levels"], "levels")
    _more(screen, len(view["columns"]) - most + view["more_columns"], "columns")
    if view["unused"]:
        screen.say(f"Columns that add next to nothing: {', '.join(view['unused'][:most])}")


def _pair_shapes(screen: Screen, view: Facts, most: int) -> None:
    """Print the pairs of columns and how much they matter."""
    table = grid("pair", "class", "share of all that is added", right=(2,))
    for pair in view["pairs"][:most]:
        name = f"{pair['first']} × {pair['second']}"
        table.add_row(*to_cells(name, pair["label"], percent(pair["share"])))
    screen.show(table)
    _more(screen, len(view["pairs"]) - most + view["more_pairs"], "pairs")


_RENDERERS: dict[str, Callable[[Screen, Facts, int], None]] = {
    "ProbabilityTables": _probability_tables,
    "Densities": _densities,
    "DependencyGraph": _dependency_graph,
    "DecisionTree": _decision_tree,
    "Importances": _importances,
    "CellGrid": _cell_grid,
    "Coefficients": _coefficients,
    "TrainingCurve": _training_curve,
    "NeighborSample": _neighbor_sample,
    "MemberList": _member_list,
    "Shapes": _shapes,
    "PairShapes": _pair_shapes,
}
