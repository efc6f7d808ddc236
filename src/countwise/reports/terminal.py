"""Results in a terminal: tables, with bars, intervals and small curves made of characters."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from countwise.reports.sentences import (
    brief,
    counted,
    kind_words,
    percent,
    score_phrase,
    seconds,
    short,
    signed,
)
from countwise.tables.cell_forms import date_text

if TYPE_CHECKING:
    from countwise.evaluation.experiment import Experiment
    from countwise.evaluation.learning_curve import Curve
    from countwise.evaluation.trials import Trials

#: Columns of growing height.
STEPS = "▁▂▃▄▅▆▇█"


def interval_bar(
    low: float, value: float, high: float, least: float, most: float, *, width: int
) -> str:
    """Draw an interval on a scale from `least` to `most`."""
    span = most - least
    if value < least or value > most:
        return "◂".ljust(width) if value < least else "▸".rjust(width)

    def place(figure: float) -> int:
        fraction = (figure - least) / span if span > 0 else 0.5
        return round(min(max(fraction, 0.0), 1.0) * (width - 1))

    cells = [" "] * width
    if low == low and high == high:
        for at in range(place(low), place(high) + 1):
            cells[at] = "─"
        cells[place(low)], cells[place(high)] = "├", "┤"
    if value == value:
        cells[place(value)] = "●"
    return "".join(cells)


def fraction_bar(fraction: float, width: int) -> str:
    """Draw a fraction."""
    return "█" * max(round(fraction * width), 1 if fraction > 0 else 0)


def two_sided_bar(figure: float, most: float, width: int) -> str:
    """Draw a number to the left of the middle if it is negative, to the right if positive."""
    size = round(min(abs(figure) / most, 1.0) * width) if most > 0 else 0
    left = "█" * size if figure < 0 else ""
    right = "█" * size if figure > 0 else ""
    return f"{left:>{width}}│{right:<{width}}"


def sparkline(values: Sequence[float]) -> str:
    """Draw a line of small columns."""
    known = [value for value in values if value == value]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known)
    steps = [(value - low) / span if span > 0 else 0.0 for value in values]
    top = len(STEPS) - 1
    return "".join(" " if step != step else STEPS[int(step * top + 0.5)] for step in steps)


#: Width of text that does not go to a terminal, so that it is the same everywhere.
PLAIN_WIDTH = 100
#: Lines that are shown of a long list.
MAX_LINES = 60

#: ASCII replacements of characters that a terminal without Unicode cannot show, one for one.
_ASCII = str.maketrans("–−…×█─●·├┤│└◂▸∞" + STEPS[:-1], "--~x#-o.|||`<>~" + "_.-=+*%")
_WORDS = ("model", "interval")
#: Log-odds beyond this are infinite.
_ENDLESS = 1e200
#: Attributes that are named in which rows differ.
_MAX_GAPS = 4


class _Ascii:
    """A stream for terminals that show only ASCII."""

    encoding = "utf-8"  # for Rich, which then draws as usual; characters are replaced here

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.translate(_ASCII))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def grid(*columns: str, right: Sequence[int] = (), **settings: Any) -> Grid:
    """Return an empty table in our style; the columns at the positions `right` hold numbers."""
    look = {"pad_edge": False, "show_edge": False, "header_style": "bold", "padding": (0, 1, 0, 0)}
    table = Grid(box=box.SIMPLE_HEAD, **{**look, **settings})
    for at, name in enumerate(columns):
        if at in right:
            table.add_column(Text(name), justify="right", no_wrap=True, overflow="fold")
        else:
            table.add_column(Text(name), justify="left", overflow="ellipsis")
    return table


def to_cells(*cells: object) -> list[Text]:
    """Return texts as they stand, so that none is read as markup."""
    return [cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells]


class Screen:
    """A place to print results: as wide as the terminal, in color only if it shows colors."""

    def __init__(self, stream: IO[str]) -> None:
        encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
        terminal = bool(getattr(stream, "isatty", lambda: False)())
        columns = os.environ.get("COLUMNS", "")
        width = None if terminal or columns.isdigit() else PLAIN_WIDTH
        target: Any = stream if encoding.startswith("utf") else _Ascii(stream)
        self.console = Console(
            file=target,
            width=width,
            highlight=False,
            markup=False,
            emoji=False,
            force_terminal=None if terminal else False,
        )

    @property
    def width(self) -> int:
        """The number of characters that fit on a line."""
        return self.console.width

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a paragraph."""
        self.console.print(Text(text, style=style or ""))

    def show(self, table: Grid) -> None:
        """Print a table; outside a terminal without spaces at the ends of lines."""
        if self.console.is_terminal:
            self.console.print(table)
            return
        with self.console.capture() as capture:
            self.console.print(table)
        lines = [line.rstrip() for line in capture.get().splitlines()]
        self.console.file.write("\n".join(lines) + "\n")

    def ranking(self, trials: Trials, title: str, keep: str | None = None) -> None:
        """Print the ranking with its intervals, the verdict, and the command to `keep` the best."""
        lines, key = trials.summary(), trials.ranked_by
        self.say(title, "bold")
        self.say(f"{trials.protocol}; 95 % intervals", "dim")
        self.say()
        columns: dict[str, list[str]] = {
            "#": [str(line["rank"] or "") for line in lines],
            "model": [line["model"] for line in lines],
            f"{score_phrase(key)} ({trials.unit})".removesuffix(" ()"): [
                short(line[key]) for line in lines
            ],
            "interval": [_interval(line[f"{key}_low"], line[f"{key}_high"]) for line in lines],
            "accuracy": [short(line["accuracy"]) for line in lines],
            "log loss": [short(line["log_loss"]) for line in lines],
            "fit": [seconds(line["fit_seconds"]) for line in lines],
            "predict": [seconds(line["predict_seconds"]) for line in lines],
        }
        for spare in ("log loss", "accuracy"):
            if _width(columns) > self.width and spare != score_phrase(key):
                columns.pop(spare)
        bar = min(self.width - _width(columns) - 2, 36)
        table = grid(*columns, right=[at for at, name in enumerate(columns) if name not in _WORDS])
        bars = _interval_bars(lines, key, bar) if bar >= 8 else []
        if bars:
            table.add_column("", no_wrap=True)
        for place, cells in enumerate(zip(*columns.values(), strict=True)):
            style = "dim" if lines[place]["baseline"] else None
            if place and lines[place]["yardstick"] and not lines[place - 1]["yardstick"]:
                table.add_row("", Text("yardsticks", "dim italic"))
            table.add_row(*to_cells(*cells, *bars[place : place + 1]), style=style)
        self.show(table)
        self.say()
        if lines[-1]["yardstick"]:
            text = "Yardsticks are models of other libraries; they cannot be saved or explained."
            self.say(text, "dim")
        self.say(trials.verdict())
        if keep is not None:
            self.say()
            self.say("To train the best model on all rows and save it:")
            self.console.print(Text(f"  {keep}"), soft_wrap=True)

    def experiment(self, experiment: Experiment, title: str) -> None:
        """Print a table of data sets and models with marks, wins and mean ranks."""
        models, lines, wins = experiment.models, experiment.rows(), experiment.wins()
        self.say(title, "bold")
        protocols = dict.fromkeys(line["protocol"] for line in lines)
        self.say(f"{score_phrase(experiment.ranked_by)}; {'; '.join(protocols)}", "dim")
        self.say()
        table = grid("data set", *models, right=range(1, len(models) + 1))
        for line in lines:
            scores = [line["scores"][name] for name in models]
            figures = [f"{short(s['value'])} {s['mark'] or ' '}" if s else "–  " for s in scores]
            table.add_row(*to_cells(line["data"], *figures))
        won = ["/".join(map(str, wins[name])) for name in models[1:]]
        means = [f"{short(rank, 2)}  " for rank in experiment.ranks().mean.values()]
        table.add_row(
            *to_cells("win/tie/loss", "", *(f"{counts}  " for counts in won)), style="dim"
        )
        table.add_row(*to_cells("mean rank", *means), style="dim")
        self.show(table)
        self.say(
            f"v significantly better than {experiment.baseline}, * significantly worse (corrected "
            "t-test, 95 %)",
            "dim",
        )
        self.say()
        self.say(experiment.verdict())

    def curve(self, curve: Curve, title: str) -> None:
        """Print scores by the number of training rows."""
        what = curve.ranked_by
        self.say(title, "bold")
        self.say(f"{score_phrase(what)} by training rows; {curve.protocol}", "dim")
        self.say()
        scores = {name: curve.score(what, name) for name in curve.names}
        first, last = counted(curve.sizes[0]), counted(curve.sizes[-1])
        table = grid("model", f"{first} rows", "", f"{last} rows", "95 % interval", right=(1, 3))
        for name, points in scores.items():
            line, end = sparkline([point.value for point in points]), points[-1]
            interval = _interval(end.low, end.high)
            table.add_row(*to_cells(name, short(points[0].value), line, short(end.value), interval))
        self.show(table)
        self.say()
        table = grid("rows", *curve.names, right=range(len(curve.names) + 1))
        for at, size in enumerate(curve.sizes):
            values = [short(points[at].value) for points in scores.values()]
            table.add_row(*to_cells(counted(size), *values))
        self.show(table)

    def inspection(self, data: Mapping[str, Any], title: str) -> None:
        """Print the columns of a table, its classes, and what a model does not get."""
        kinds, missing = data["kinds"], data["missing"]
        self.say(title, "bold")
        blank = f", {percent(missing['fraction'])} of the cells missing" if missing["cells"] else ""
        self.say(f"{counted(data['rows'])} rows; {kind_words(kinds)} columns{blank}")
        self._balance(data)
        self.say()
        table = grid("column", "kind", "what it holds", "missing", right=(3,))
        for column in data["columns"][:MAX_LINES]:
            blank = counted(column["missing"]) if column.get("missing") else ""
            left_out = column["kind"] in ("id", "drop")
            table.add_row(
                *to_cells(column["name"], _kind(column), _holds(column), blank),
                style="dim" if left_out else None,
            )
        self.show(table)
        rest = len(data["columns"]) - MAX_LINES + data["more_columns"]
        if rest > 0:
            self.say(f"and {rest} more columns; --json lists them")
        reasons = [item["why"] for item in data["dropped"]]
        self._list("Left out", [f"{item['column']}: {item['why']}" for item in data["dropped"]])
        notes = [note["text"] for note in data["notes"]]
        self._list("Notes", [note for note in notes if note not in reasons])

    def _balance(self, data: Mapping[str, Any]) -> None:
        if not data["balance"]:
            return
        self.say()
        table = grid(f"class: {data['target']}", "rows", "fraction", "", right=(1, 2))
        ranked = sorted(data["balance"], key=lambda line: -line["fraction"])
        for line in ranked[:20]:
            fraction, rows = line["fraction"], counted(line["rows"])
            bar = fraction_bar(fraction, 30)
            table.add_row(*to_cells(line["class"], rows, percent(fraction), bar))
        self.show(table)
        if len(ranked) > 20:
            self.say(f"and {len(ranked) - 20} more classes")

    def _list(self, head: str, lines: Sequence[str]) -> None:
        if not lines:
            return
        self.say()
        self.say(head, "bold")
        table = Grid.grid(padding=(0, 1))
        for line in lines[:MAX_LINES]:
            table.add_row(*to_cells("-", line))
        self.show(table)

    def explanation(self, why: Mapping[str, Any], row: int, most: int) -> None:
        """Print what each attribute adds to the log-odds of one row."""
        label, against = str(why["class"]), str(why["against"])
        posterior = why["posterior"][label]
        self.say(f"row {row}: {label} {percent(posterior)} against {against}", "bold")
        lines = [(str(why["base"]), "", why["prior_log_odds"])]
        lines += [(p["attribute"], p["value"], p["log_odds"]) for p in why["parts"][:most]]
        largest = max((abs(odds) for _, _, odds in lines if abs(odds) < _ENDLESS), default=0.0)
        if rest := why["parts"][most:]:
            lines.append((f"{len(rest)} further attributes", "", sum(p["log_odds"] for p in rest)))
        names = max(len(name) for name, _, _ in lines)
        values = min(max(len(value) for _, value, _ in lines), 24)
        half = min(max((self.width - names - values - 18) // 2, 4), 20)
        head = f"{against[:half]:>{half}}│{label[:half]:<{half}}"
        table = grid("attribute", "value", "log-odds", head, right=(2,))
        for at, width in ((1, values), (3, 2 * half + 1)):
            table.columns[at].no_wrap = True
            table.columns[at].width = max(width, 5)
        for name, value, odds in lines:
            bar = two_sided_bar(odds, largest, half)
            table.add_row(*to_cells(name, value, _odds(odds), bar))
        table.add_row(*to_cells("sum", "", _odds(why["log_odds"]), ""), style="bold")
        self.show(table)
        if decision := why.get("decision"):
            self.say(decision["sentence"])
        if near := why.get("neighbors"):
            self._neighbors(near, most)

    def number(self, why: Mapping[str, Any], row: int, most: int) -> None:
        """Print what each attribute changes in a predicted number."""
        self.say(f"row {row}: {brief(why['prediction'])}", "bold")
        lines = [("mean of the training rows", "", why["mean"], "")]
        largest = max((abs(part["change"]) for part in why["parts"]), default=0.0)
        for part in why["parts"][:most]:
            bar = two_sided_bar(part["change"], largest, 16)
            lines.append((part["attribute"], part["value"], part["change"], bar))
        if rest := why["parts"][most:]:
            total = sum(part["change"] for part in rest)
            lines.append((f"{len(rest)} further attributes", "", total, ""))
        table = grid("attribute", "value", "change", "", right=(2,))
        for at, (name, value, change, bar) in enumerate(lines):
            sign = "+" if at and change > 0 else ""
            table.add_row(*to_cells(name, value, f"{sign}{brief(change)}", bar))
        table.add_row(*to_cells("sum", "", brief(why["prediction"]), ""), style="bold")
        self.show(table)
        self._neighbors(why["neighbors"], most)

    def _neighbors(self, near: Sequence[Mapping[str, Any]], most: int) -> None:
        """Print the nearest training rows, and the attributes in which they differ most."""
        what = "value" if near and isinstance(near[0]["label"], float) else "class"
        table = grid("training row", what, "distance", "differs most in", right=(0, 2))
        for row in near[:most]:
            far = sorted(row["parts"].items(), key=lambda item: -item[1])[:_MAX_GAPS]
            differs = ", ".join(name for name, part in far if part > 0)
            label = brief(row["label"]) if what == "value" else row["label"]
            table.add_row(*to_cells(row["row"], label, f"{row['distance']:.3g}", differs))
        self.say()
        self.show(table)
        if len(near) > most:
            self.say(f"and {len(near) - most} further rows")


def _odds(figure: float) -> str:
    if abs(figure) < _ENDLESS:
        return signed(figure)
    return "+∞" if figure > 0 else "−∞"


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None or low != low:
        return "–"
    return f"{short(low)} to {short(high)}"


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    """The width of a table of these columns, with two spaces between them."""
    widths = [max(map(len, [name, *cells])) for name, cells in columns.items()]
    return sum(widths) + 2 * (len(widths) - 1)


def _interval_bars(lines: Sequence[Mapping[str, Any]], key: str, width: int) -> list[str]:
    """Draw the intervals on the scale of the models; a baseline may lie beyond it."""
    models = [line for line in lines if not line["baseline"]] or list(lines)
    ends = [line[f"{key}{end}"] for line in models for end in ("_low", "_high", "")]
    known = [end for end in ends if end is not None]

    def draw(line: Mapping[str, Any]) -> str:
        low, value, high = (
            float("nan") if line[f"{key}{end}"] is None else float(line[f"{key}{end}"])
            for end in ("_low", "", "_high")
        )
        return interval_bar(low, value, high, min(known), max(known), width=width)

    return [draw(line) for line in lines]


def _kind(column: Mapping[str, Any]) -> str:
    words = {"target": "class", "id": "identifier", "drop": "left out"}
    return "dates" if column.get("dates") else words.get(column["kind"], column["kind"])


def _holds(column: Mapping[str, Any]) -> str:
    if "distinct" in column:
        shown = ", ".join(str(level["level"]) for level in column["levels"][:6])
        more = ", …" if column["distinct"] > 6 else ""
        return f"{counted(column['distinct'])} levels: {shown}{more}"
    if "texts" in column:
        words = f"{column['words']:.0f} words on average"
        return f"{counted(column['texts'])} different texts, {words}"
    if "quartiles" in column:
        write = date_text if column.get("dates") else brief
        low, middle, high = column["least"], column["quartiles"][1], column["most"]
        return f"{write(low)} to {write(high)}, median {write(middle)}"
    return "nothing" if column["kind"] == "numeric" else ""
