"""Options that several commands share, and the tables, models and gains they name."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from countwise.errors import GainError, ParameterError, TableError, did_you_mean, listing

if TYPE_CHECKING:
    from countwise._typing import FloatArray
    from countwise.decisions.gain_matrix import GainMatrix
    from countwise.evaluation.trials import Trials
    from countwise.notes import Note
    from countwise.tables.formats.source import Source
    from countwise.tables.read_options import ReadOptions
    from countwise.tables.scan import Scan
    from countwise.tables.table import Table


#: What a class column is usually called, the likeliest first.
USUAL_TARGETS = ("class", "target", "label", "y")
#: What a column is called that is often a class, too: beside one of them nothing is guessed.
OTHER_TARGETS = (
    "outcome", "result", "response", "survived", "diagnosis", "species", "churn", "default",
)  # fmt: skip
#: A column of more values than this, in the head of a file, is no class beside another.
_MOST_CLASSES = 20
_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}


@dataclass(frozen=True)
class Read:
    """A table, or rows outside memory, and remarks on how the command read it."""

    table: Any
    remarks: tuple[str, ...] = ()
    #: The weights of the rows of a table; a scan has its own.
    weight: FloatArray | None = None


def read_source(reading: ReadOptions, source: str, who: str, need_target: bool = True) -> Read:
    """Read a file or a sample; if no class is named, look for a column with a usual name."""
    from countwise.tables.formats.source import STDIN, Source

    remarks: tuple[str, ...] = ()
    known = any(column.kind == "target" for column in reading.columns.values())
    rows = Source.at(source) if source == STDIN else source
    if reading.target is None and not known and not source.startswith("sample:"):
        found = _find_usual_targets(reading, rows)
        target, remarks = guess_target(who, found, need_target)
        if target is not None:
            reading = replace(reading, target=target)
        elif len(found) > 1:
            several = listing(found, 9)
            remarks = (f"No class is assumed: {several} could be it. To choose one, use --target.",)
    table, weight = _read_weighted(rows, reading, who)
    if need_target:
        check_trainable(who, table)
    return Read(table, remarks, weight)


def guess_target(
    who: str, found: list[str], need_target: bool
) -> tuple[str | None, tuple[str, ...]]:
    """Return the class among columns with names that suggest one, if it is plain, and a remark."""
    if len(found) > 1 and need_target:
        raise TableError(
            f"{who}: the class column must be named; {listing(found, 9)} could be it.",
            hint=f"Add `target={found[0]!r}`, or another of them",
        )
    if len(found) != 1 or found[0].lower() not in USUAL_TARGETS:
        return None, ()
    return found[0], (
        f"Column {found[0]!r} is taken as the class. To choose another, use --target.",
    )


def _read_weighted(
    rows: str | Source, reading: ReadOptions, who: str
) -> tuple[Table, FloatArray | None]:
    """Read a table and take out its column of weights, if one is named."""
    from countwise.tables.formats import detect
    from countwise.tables.read import read_with
    from countwise.tables.read_options import resolve
    from countwise.tables.schema import Column
    from countwise.tables.weights import bad_weight, is_weight, of_weights

    name = reading.weight
    if name is None:
        return read_with(rows, reading), None
    if not (isinstance(rows, str) and rows.startswith("sample:")):
        resolve(name, detect.names(rows, reading), "weight")
    columns = {**reading.columns, name: Column(name, "numeric")}
    try:
        table = read_with(rows, replace(reading, columns=columns, weight=None))
    except TableError as error:
        raise of_weights(error, name) from None
    weight = table.values(name)
    wrong = ~is_weight(weight)
    if wrong.any():
        at = int(wrong.argmax())
        which = "row" if all(note.code != "T03" for note in table.notes) else "labelled row"
        path = rows if isinstance(rows, str) else rows.path
        raise bad_weight(who, name, weight[at], f"{which} {at + 1} of {path!r}")
    notes = [note for note in table.notes if note.column != name]
    return table.leave_out({name}).with_notes(notes), weight


def read_numbers(reading: ReadOptions, source: str, who: str) -> tuple[Read, str]:
    """Read a file or a sample for a model of numbers; return also the column to predict."""
    import numpy as np

    from countwise.tables.formats import detect
    from countwise.tables.formats.source import STDIN, Source
    from countwise.tables.read import read_with
    from countwise.tables.read_options import resolve
    from countwise.tables.schema import Column

    remarks: list[str] = []
    name, sample = reading.target, source.startswith("sample:")
    place = Source.at(source) if source == STDIN else source
    if name is None and not sample:
        found = _find_usual_targets(reading, place)
        name = found[0] if found and found[0].lower() in USUAL_TARGETS else None
        remarks += [f"Column {name!r} is predicted; --target names another."] if name else []
    if name is None:
        raise TableError(
            f"{who}: a numeric column to predict is needed; none is named.",
            hint="Name it with `target=`.",
        )
    if sample:
        table = read_with(source, reading)
        return Read(table, tuple(remarks)), table.target_column.name
    name = resolve(name, detect.names(place, reading), "target")
    columns = {**reading.columns, name: Column(name, "numeric")}
    table = read_with(place, replace(reading, target=None, columns=columns))
    known = ~np.isnan(table.values(name))
    if not known.all():
        left_out = int((~known).sum())
        rows = "1 row has" if left_out == 1 else f"{left_out:,} rows have"
        remarks.append(
            f"{rows} no value of {name!r} and {'is' if left_out == 1 else 'are'} left out."
        )
        table = table.take(known)
    return Read(table, tuple(remarks)), name


def _find_usual_targets(reading: ReadOptions, source: str | Source) -> list[str]:
    """Look into the head of the file for columns that are called like a class."""
    from countwise.tables.formats import detect
    from countwise.tables.raw_columns import Raw, Words
    from countwise.tables.schema import Column

    if isinstance(source, str) and source.lower().removesuffix(".gz").endswith(".arff"):
        return []  # an ARFF file declares which one is the class
    words = (*USUAL_TARGETS, *OTHER_TARGETS)
    usual = {name: word for word in words for name in (word, word.title(), word.upper())}
    columns: dict[str | int, Column] = {name: Column(name, "nominal") for name in usual}
    alone = replace(reading, columns=columns, default=Column("", "drop"))
    block = next(iter(detect.blocks(source, alone, rows=1000)), None)
    if block is None:
        return []
    dropped = {name for name, column in reading.columns.items() if column.left_out}
    found = [name for name in block.columns if name in usual and name not in dropped]
    found.sort(key=lambda name: words.index(usual[name]))

    def has_few(raw: Raw) -> bool:
        values = raw.distinct if isinstance(raw, Words) else set(raw.values.tolist())
        return len(values) <= _MOST_CLASSES

    return found[:1] + [name for name in found[1:] if has_few(block.columns[name])]


def read_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return keyword arguments of `read` from the texts of the command line."""
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name == "nominal" and value == "all":
            arguments[name] = value
        elif name in ("nominal", "numeric", "text", "drop", "missing", "missing_only"):
            arguments[name] = split_names(value)
        elif name == "when_missing":
            arguments[name] = _read_when_missing(value)
        elif name == "separator":
            arguments[name] = _SEPARATORS.get(value, value)
        elif name == "day_first":
            arguments[name] = value or None
        elif name == "no_header":
            arguments["header"] = not value
        elif name == "keep_identifiers":
            arguments["identifiers"] = "keep" if value else "drop"
        else:
            arguments[name] = value
    return arguments


def _read_when_missing(given: tuple[str, ...]) -> Any:
    words = ("omit", "value", "drop")
    general, single = "omit", dict[str, str]()
    for text in given:
        column, between, word = text.rpartition("=")
        if word not in words:
            raise ParameterError(
                "--when-missing must be omit, value or drop, or COLUMN=one of them; got "
                f"{text!r}.{did_you_mean(word, words)}"
            )
        if between:
            single[column] = word
        else:
            general = word
    if not single or general == "omit":
        return single or general
    raise ParameterError(
        "--when-missing must be one word for all columns, or COLUMN=WORD for some; got both."
    )


def split_names(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Split ``a,b`` into names; blanks around them do not count."""
    if given is None:
        return ()
    words = given.split(",") if isinstance(given, str) else list(given)
    return tuple(word.strip() for word in words)


def check_trainable(who: str, table: Table | Scan) -> None:
    """Refuse a table from which nothing can be learned."""
    names = [column.name for column in table.schema]
    if not table.labelled:
        near = next((hint for word in USUAL_TARGETS if (hint := did_you_mean(word, names))), "")
        raise TableError(
            f"{who}: a class column is needed; none is named, and none is called class, target, "
            f"label or y.{near}",
            hint=f"Name it with `target=`; the columns are {listing(names, 12)}.",
        )
    target = table.target_column
    if "T12" in {note.code for note in table.notes}:
        raise TableError(
            f"{who}: column {target.name!r} must have at least two classes; it has only "
            f"{target.levels[0]!r}.",
            hint=("name another `target=`", "add rows"),
        )
    missing = {note.column for note in table.notes if note.code == "T08"}
    attributes = [column.name for column in table.schema.attributes]
    if missing.issuperset(attributes):
        raise TableError(
            f"{who}: at least one column besides the class must hold values; got only missing "
            f"cells in {listing(attributes)}.",
            hint="Check `missing=`.",
        )


#: Notes that are for the record: they stand in the JSON and on the page.
FOR_THE_RECORD = ("E05", "E06", "E07", "E12", "E14")


def notable(notes: Iterable[Note]) -> list[Note]:
    """Return the notes that are worth a line on the screen."""
    return [note for note in notes if note.code not in FOR_THE_RECORD]


def chosen_names(models: str | None) -> list[str] | None:
    """Return the names of the chosen models, checked before anything is read."""
    from countwise.models.registry import select

    names = None if models is None else list(split_names(models))
    select(names)
    return names


def build_models(
    read: Read,
    names: list[str] | None,
    usual: tuple[str, ...],
    seed: int,
    parameters: dict[str, Any] | None = None,
) -> Any:
    """Build the models to compare, with `parameters` if it is one; the majority is always one.

    Of the `usual` ones only those made from counts are taken for rows outside memory.
    """
    from countwise.models.registry import select
    from countwise.tables.scan import Scan

    schema = read.table.schema
    only_text = all(column.kind == "text" for column in schema.attributes)
    chosen = select(names, usual, bool(schema.numeric), only_text)
    compared = [model for model in chosen if model.entry.kind != "baseline"] or chosen
    models = {model.name: model.build(seed, parameters) for model in compared}
    if names is None and isinstance(read.table, Scan):
        # Others that take a scan are fitted to each fold by itself, which takes far longer.
        return {name: model for name, model in models.items() if hasattr(model, "fit_counts")}
    return models


def add_rule(models: dict[str, Any], rule: Any) -> dict[str, Any]:
    """Return the models, and each of them once more if there is a rule that draws decisions."""
    if rule is None:
        return models
    from countwise.decisions.decide import Decide

    # Over the very same models: they are trained once.
    drawn = {f"{name} by roulette": Decide(model, rule) for name, model in models.items()}
    return models | drawn


def best_model(trials: Trials) -> str | None:
    """Return the best model of a ranking that can be saved, by its name; None if there is none."""
    from countwise.models.registry import COMMANDS

    names = (trials.entries[line["model"]].model for line in trials.summary())
    return next((name for name in names if name in COMMANDS and COMMANDS[name].can_be_saved), None)


#: Sentences about a gain matrix that are printed; the rest of a large matrix is counted.
_MAX_SENTENCES = 9


def read_gains(
    source: str, gain: str | None, cost: str | None, unit: str | None, as_written: bool
) -> GainMatrix | None:
    """Read the matrix of ``--gain`` or ``--cost``; ``sample`` takes the one of ``sample:name``."""
    path = gain if cost is None else cost
    if path is None:
        return None
    if gain is not None and cost is not None:
        raise click.UsageError("--gain and --cost exclude each other; choose one")
    from countwise.decisions.gain_matrix import GainMatrix

    if path != "sample":
        matrix = GainMatrix.of(GainMatrix.read(path, costs=cost is not None), unit=unit or "")
    elif cost is not None:
        raise GainError(
            "--cost sample does not exist; samples come with gains.", hint="--gain sample."
        )
    else:
        matrix = GainMatrix.of(_gains_of_sample(source), unit=unit or "")
    if matrix.doubt and not as_written:
        kind, other = ("costs", "--gain") if cost is not None else ("gains", "--cost")
        raise GainError(
            f"The matrix {path!r}, read as {kind}, pays least for right decisions.",
            hint=f"Give the file with {other}, or add --as-written if it is meant so.",
        )
    return matrix


def _gains_of_sample(source: str) -> dict[str, dict[str, float]]:
    if not source.startswith("sample:"):
        raise GainError(
            f"--gain sample needs a sample; {source!r} is a file.", hint="Name a CSV file of gains."
        )
    from countwise.tables import datasets

    sample = datasets.find(source.removeprefix("sample:"))
    if sample.gain is None:
        names = [other.name for other in datasets.all_samples() if other.gain is not None]
        raise GainError(
            f"--gain sample needs a sample with a gain matrix; {sample.name!r} has none.",
            hint=f"Samples with one: {', '.join(names)}.",
        )
    labels, rows = sample.gain["labels"], sample.gain["values"]
    return {
        true: dict(zip(labels, row, strict=True)) for true, row in zip(labels, rows, strict=True)
    }


def take_gains(gain: GainMatrix | None, table: Table, quiet: bool) -> GainMatrix | None:
    """Return the gains in the order of the classes of a table, once they are said in words."""
    if gain is None:
        return None
    from countwise.decisions.gain_matrix import GainMatrix

    matrix = GainMatrix.of(gain, table.classes)
    say_gains(matrix, quiet)
    return matrix


def say_gains(gain: GainMatrix | None, quiet: bool) -> None:
    """Print on stderr what each decision earns, so that nobody takes costs for gains."""
    if gain is None:
        return
    from countwise.cli.output import remark

    lines = gain.sentences()
    more = [f"… and {len(lines) - _MAX_SENTENCES} more {gain.word}s."]
    remark(lines[:_MAX_SENTENCES] + (more if len(lines) > _MAX_SENTENCES else []), quiet)


def gain_options(function: Any) -> Any:
    """Add ``--gain``, ``--cost`` and ``--unit``, as ``gain``: a `GainMatrix` or None."""

    @functools.wraps(function)
    def gathered(*args: Any, **options: Any) -> Any:
        given = [options.pop(name) for name in ("gain", "cost", "unit", "as_written")]
        files = options["files"] if "files" in options else (options["file"],)
        if "sample" in given[:2] and len(files) > 1:
            raise click.UsageError("--gain sample is for one FILE; for several name a CSV file")
        gain = read_gains(files[0], *given)
        return function(*args, gain=gain, **options)

    return add_options(
        click.option(
            "--gain",
            metavar="CSV",
            help="Gain matrix to decide by: true classes in rows, decisions in columns; or "
            "'sample' for the matrix that comes with a sample.",
        ),
        click.option("--cost", metavar="CSV", help="Like --gain, with costs instead of gains."),
        click.option("--unit", metavar="TEXT", help="Unit of the gains or costs, such as €."),
        click.option(
            "--as-written",
            is_flag=True,
            help="Accept a matrix even if its gains look like costs, or its costs like gains.",
        ),
    )(gathered)


class NumberList(click.ParamType):  # type: ignore[type-arg]
    """Numbers as ``1-20`` or ``1,3,5``; with `decimals` also ``1.5`` and ``maximum``."""

    name = "numbers"

    def __init__(self, highest: int = 10_000, most: int = 10_000, decimals: bool = False) -> None:
        self.highest, self.most, self.decimals = highest, most, decimals

    def convert(self, value: Any, param: Any, ctx: Any) -> list[float]:
        """Read the numbers, each once, in the order given."""
        if isinstance(value, list):
            return value
        numbers: list[float] = []
        first: float
        last: float
        for part in split_names(value):
            whole = re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", part)
            if whole:
                first, last = int(whole[1]), int(whole[2] or whole[1])
            elif self.decimals and re.fullmatch(r"\d+\.\d+", part):
                first = last = float(part)
            elif self.decimals and part.lower() in ("maximum", "max", "inf", "infinity"):
                numbers.append(math.inf)
                continue
            else:
                first, last = 1, 0
            if first > last:
                also = ", 1.5 or maximum" if self.decimals else ""
                self._refuse(f"as 1-20 or 1,3,5{also}", value, param, ctx)
            if first < 1 or last > self.highest:
                self._refuse(f"from 1 to {self.highest:,}", value, param, ctx)
            if last - first >= self.most:
                self._refuse(f"(up to {self.most:,})", value, param, ctx)
            numbers += range(int(first), int(last) + 1) if whole else [first]
        kind = float if self.decimals else int
        return list(dict.fromkeys(map(kind, numbers)))

    @staticmethod
    def _refuse(rule: str, value: str, param: Any, ctx: Any) -> NoReturn:
        option = min(param.opts, key=len)
        raise click.UsageError(f"{option} must be numbers {rule}; got {value!r}", ctx)


Decorated = TypeVar("Decorated", bound=Callable[..., Any])

#: The options about reading, by the names of the parameters they set.
_READING: dict[str, dict[str, Any]] = {
    "target": {
        "metavar": "COLUMN",
        "help": "Class column. Default: the column named class, target, label or y. Needed if "
        "several columns have names that suggest a class.",
    },
    "nominal": {"metavar": "A,B", "help": "Columns to read as nominal, or 'all'."},
    "numeric": {"metavar": "A,B", "help": "Columns to read as numeric."},
    "text": {"metavar": "A,B", "help": "Columns of free text, whose words are counted."},
    "drop": {"metavar": "A,B", "help": "Columns to leave out."},
    "missing": {
        "metavar": "'x,-9'",
        "help": "Values to treat as missing, in addition to the usual ones ('?', NA and others).",
    },
    "missing_only": {
        "metavar": "'?,NA'",
        "help": "Values to treat as missing, instead of the usual ones.",
    },
    "when_missing": {
        "metavar": "WORD",
        "multiple": True,
        "help": "Treatment of missing cells: omit (leave the cell out; the default), value (treat "
        "missing as a level) or drop (drop the row). COLUMN=WORD applies to one column.",
    },
    "schema": {"metavar": "JSON", "help": "Schema file, as written by inspect --write-schema."},
    "fold_case": {
        "is_flag": True,
        "help": "Merge levels that differ only in case or blanks.",
    },
    "day_first": {
        "is_flag": True,
        "help": "Read 01/02/2021 as February 1 if the dates of the column fit both orders.",
    },
    "skip_lines": {
        "type": click.IntRange(min=0),
        "metavar": "N",
        "help": "Number of lines above the header. Default: detected.",
    },
    "sheet": {
        "metavar": "NAME|NUMBER",
        "help": "Sheet of a workbook. Default: the first that holds a table.",
    },
    "separator": {"metavar": "CHAR", "help": "Field separator (use 'tab' for a tab)."},
    "no_header": {
        "is_flag": True,
        "help": "Read the first line as a row and name the columns x1, x2, …",
    },
    "keep_identifiers": {"is_flag": True, "help": "Keep columns that look like identifiers."},
}


def weight_option(function: Decorated) -> Decorated:
    """Add ``--weight``, which becomes a part of ``reading``."""

    def gather(function: Any) -> Any:
        @functools.wraps(function)
        def gathered(*args: Any, weight: str | None, reading: ReadOptions, **options: Any) -> Any:
            return function(*args, reading=replace(reading, weight=weight), **options)

        return gathered

    help_text = "Column of weights: numbers from 0, one a row. It is not used as an attribute."
    return add_options(click.option("--weight", metavar="COLUMN", help=help_text), gather)(function)


def add_options(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Add several options, in the order in which ``--help`` lists them."""
    return lambda function: functools.reduce(lambda f, add: add(f), reversed(options), function)


def reading_options(*names: str) -> Callable[[Decorated], Decorated]:
    """Add all or some options about reading, as ``reading``: `ReadOptions` or keyword arguments."""

    def gather(function: Any) -> Any:
        @functools.wraps(function)
        def gathered(*args: Any, **options: Any) -> Any:
            from countwise.tables.read_options import ReadOptions

            given = read_arguments({name: options.pop(name) for name in names or _READING})
            reading = given if names else ReadOptions.of(**given)
            return function(*args, reading=reading, **options)

        return gathered

    short = {"target": ("-t",)}
    options = (
        click.option(f"--{name.replace('_', '-')}", *short.get(name, ()), **_READING[name])
        for name in names or _READING
    )
    return add_options(*options, gather)


#: Extensions of files that hold a picture.
PICTURES = (".svg", ".html", ".png", ".pdf")


def check_picture(path: str | None) -> None:
    """Refuse a picture that cannot be written for want of a package, before any work is done."""
    if path is not None and path.lower().endswith((".png", ".pdf")):
        from countwise.reports.rasterize import check_can_rasterize

        check_can_rasterize()


#: Extensions of files that options other than ``-o`` name.
_EXTENSIONS = {
    "report": (".html", ".htm"),
    "picture": PICTURES,
    "write_schema": (".json",),
}


def output_options(
    what: str,
    *extensions: str,
    json: str = "Print JSON to stdout and nothing else.",
    quiet: str = "Print no notes and no progress.",
) -> Callable[[Decorated], Decorated]:
    """Add ``-o``, ``--json`` and ``--quiet``, as ``out``; every path is checked at the start."""

    def gather(function: Any) -> Any:
        @functools.wraps(function)
        def gathered(*args: Any, **options: Any) -> Any:
            from countwise.atomic_write import check_writable
            from countwise.cli.output import Output

            given = [options.pop(name) for name in ("output", "as_json", "quiet")]
            sources = [options[name] for name in ("file",) if name in options]
            sources += options.get("files", ())
            outputs = {"-o": (given[0], extensions)} | {
                f"--{name.replace('_', '-')}": (options.get(name), allowed)
                for name, allowed in _EXTENSIONS.items()
            }
            if any(path is not None and os.path.exists(path) for path, _ in outputs.values()):
                from countwise.tables.sources.files import files_of

                sources = [path for source in sources for path in files_of(source)]
            for option, (path, allowed) in outputs.items():
                check_writable(path, option, allowed, *sources)
            return function(*args, out=Output(*given), **options)

        return gathered

    return add_options(
        click.option("--output", "-o", metavar="PATH", help=what),
        click.option("--json", "as_json", is_flag=True, help=json),
        click.option("--quiet", "-q", is_flag=True, help=quiet),
        gather,
    )


rule_option = click.option(
    "--rule",
    type=click.Choice(["argmax", "roulette"]),
    help="How to decide: argmax (the default) takes the most probable class, roulette draws a "
    "class according to its probability (see --seed).",
)


def read_rule(rule: str | None, gain: GainMatrix | None, seed: int) -> Any:
    """Return the rule of ``--rule``, or None for argmax; a gain matrix is a rule of its own."""
    if rule is None or rule == "argmax":
        return None
    if gain is not None:
        raise click.UsageError("--rule and --gain both say how to decide; choose one")
    from countwise.decisions.rules import RouletteWheel

    return RouletteWheel(seed)


seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Random seed.",
)
models_option = click.option(
    "--models",
    "-m",
    metavar="A,B",
    help="Models to compare (see countwise models), or 'all'. Default: a selection.",
)
params_option = click.option(
    "--param",
    "pairs",
    metavar="NAME=VALUE",
    multiple=True,
    help="Parameter of the model, such as pairs=0 of additive; may be repeated.",
)


#: Larger files are read piece by piece: megabytes by extension, and of all others.
_LARGE = {".parquet": 64, ".pq": 64, ".gz": 64}
_LARGE_TEXT = 256

#: What to read from a database.
TABLE_OPTIONS = (
    click.option(
        "--table",
        metavar="NAME",
        help="Table of a database to read, such as sales or archive.sales.",
    ),
    click.option(
        "--query",
        metavar="SQL",
        help="SELECT statement to read from a database, instead of --table.",
    ),
)


@dataclass(frozen=True)
class Scanning:
    """The options about rows outside memory."""

    engine: str | None = None
    memory: str | None = None
    checkpoint: str | None = None
    max_levels: int | None = None
    on_bad: str | None = None
    table: str | None = None
    query: str | None = None
    key: str | None = None
    sample: int | None = None

    @property
    def is_asked(self) -> bool:
        """Whether some option says that the rows shall be scanned."""
        return any(value is not None for value in vars(self).values())


def scan_options(*hidden: str) -> Callable[[Decorated], Decorated]:
    """Add the options about rows outside memory, as ``scanning``.

    Those that a command refuses with a reason are `hidden` from its help.
    """

    def gather(function: Any) -> Any:
        @functools.wraps(function)
        def gathered(*args: Any, **options: Any) -> Any:
            given = {field.name: options.pop(field.name) for field in fields(Scanning)}
            return function(*args, scanning=Scanning(**given), **options)

        return gathered

    return add_options(
        click.option(
            "--engine",
            metavar="NAME",
            help="Engine that counts rows outside memory: stream (here), pushdown (a database "
            "groups them) or spark. Default: the one that suits the source.",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            help="Memory for rows outside memory, such as 512MB (the default).",
        ),
        click.option(
            "--checkpoint",
            metavar="PATH",
            hidden="checkpoint" in hidden,
            help="File for counts on the way; a command that was killed goes on from it.",
        ),
        click.option(
            "--max-levels",
            metavar="N",
            type=int,
            help="Levels of a column to tell apart in rows outside memory. Default: 100000.",
        ),
        click.option(
            "--on-bad",
            type=click.Choice(["refuse", "skip"]),
            help="What to do with a damaged piece of a source. Default: refuse.",
        ),
        *TABLE_OPTIONS,
        click.option(
            "--key",
            metavar="COLUMN",
            help="Column that identifies the rows of a database, which folds and samples need.",
        ),
        click.option(
            "--sample",
            type=click.IntRange(min=1),
            metavar="N",
            hidden="sample" in hidden,
            help="Read N rows drawn at random into memory, for models that need rows there.",
        ),
        gather,
    )


def read_or_scan(
    reading: ReadOptions,
    source: str,
    who: str,
    scanning: Scanning,
    *,
    can_scan: bool = True,
    need_target: bool = True,
) -> Read:
    """Read a file, or scan what is larger than memory, a folder or a pattern."""
    must = stays_outside(source, scanning)
    if not must and not (can_scan and _is_large(source)):
        return read_source(reading, source, who, need_target)
    from countwise.cli.scans import open_scan

    rows, remarks = open_scan(reading, source, who, scanning, need_target)
    if scanning.sample is not None:
        table, weight = rows.sample_with_weights(scanning.sample)
        return Read(table, remarks, weight)
    if not must:
        size = os.path.getsize(source) >> 20
        remarks += (f"The file has {size} MB, so it is read piece by piece.",)
    return Read(rows, remarks)


def check_checkpoint(scanning: Scanning, output: str | None) -> None:
    """Refuse a checkpoint that cannot be written, or that is the file of the result."""
    if scanning.checkpoint is None:
        return
    from countwise.atomic_write import check_writable

    check_writable(scanning.checkpoint, "--checkpoint")
    # It is removed when the result is written.
    if output is not None and os.path.realpath(output) == os.path.realpath(scanning.checkpoint):
        raise click.UsageError(f"--checkpoint and -o must be different files; both are {output!r}")


def remove_checkpoints(scanning: Scanning) -> None:
    """Remove the files of a checkpoint once the work is done."""
    if scanning.checkpoint is None:
        return
    from countwise.atomic_write import remove_drafts

    number, path = 1, scanning.checkpoint
    while os.path.exists(path):
        os.remove(path)
        remove_drafts(path)
        number += 1
        path = f"{scanning.checkpoint}.{number}"


def refuse_checkpoint(scanning: Scanning, who: str) -> None:
    """Refuse a checkpoint where models are judged."""
    if scanning.checkpoint is not None:
        raise click.UsageError(f"--checkpoint is for fit and count; {who} begins anew")


def stays_outside(source: str, scanning: Scanning) -> bool:
    """Return whether rows are scanned whatever their size: a folder, a pattern, or as asked."""
    from countwise.tables.formats.source import is_outside

    return is_outside(source) or scanning.is_asked


def _is_large(source: str) -> bool:
    if not os.path.isfile(source):
        return False
    most = _LARGE.get(os.path.splitext(source)[1].lower(), _LARGE_TEXT)
    return os.path.getsize(source) > most << 20


def repeats_option(default: str) -> Callable[[Decorated], Decorated]:
    """Add ``--repeats``; `default` says what is taken without it."""
    return click.option(
        "--repeats",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Number of repetitions with a new random split. Default: {default}.",
    )


def comparison_options(report: str) -> Callable[[Decorated], Decorated]:
    """Add the options of commands that compare models; `report` says what ``--report`` writes."""
    return add_options(
        gain_options,
        reading_options(),
        seed_option,
        click.option(
            "--jobs",
            type=int,
            metavar="N",
            default=1,
            show_default=True,
            help="Number of processes that refit scikit-learn models.",
        ),
        click.option("--report", metavar="HTML", help=report),
    )
