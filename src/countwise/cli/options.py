"""A saved model for commands that classify: loaded, and refused if it cannot."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from countwise.errors import (
    GainError,
    ParameterError,
    StoreError,
    TableError,
    did_you_mean,
    listing,
)

if TYPE_CHECKING:
    from countwise.tables.schema import Schema, WhenMissing
    from countwise.tables.table import Table


if TYPE_CHECKING:
    from countwise.decisions.gain_matrix import GainMatrix


def load_model(path: str, who: str) -> Any:
    """Load a saved model; a file that holds something else is refused."""
    from countwise.store.files import load

    model = load(path)
    if not hasattr(model, "predict_proba"):
        raise StoreError(
            f"{who}: {path!r} must hold a model, but it holds a {type(model).__name__}. Train one "
            "with countwise fit."
        )
    return model


#: What a class column is usually called, the likeliest first.
USUAL_TARGETS = ("class", "target", "label", "y")
_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}


@dataclass(frozen=True)
class Read:
    """A table, and remarks on how it was read that are not the table's own."""

    table: Table
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """The options about reading, as they were given."""

    target: str | None = None
    nominal: str | None = None
    numeric: str | None = None
    drop: str | None = None
    missing: str | None = None
    when_missing: tuple[str, ...] = ()
    schema: str | None = None
    separator: str | None = None
    no_header: bool = False
    keep_identifiers: bool = False

    def read(self, source: str, who: str, need_target: bool = True) -> Read:
        """Read a file or a sample; where no class is named, find the usual name and say so."""
        from countwise.tables.read import read

        known = self._known()
        target, remarks = self._target(source, known)
        table = read(
            source,
            target=target,
            nominal=self._nominal(),
            numeric=split_names(self.numeric),
            drop=split_names(self.drop),
            missing=None if self.missing is None else split_names(self.missing),
            when_missing=self._when_missing(),
            schema=known,
            identifiers="keep" if self.keep_identifiers else "drop",
            header=not self.no_header,
            separator=self.mark,
        )
        if need_target:
            _teachable(who, table)
        return Read(table, remarks)

    @property
    def mark(self) -> str | None:
        """The separator as a character."""
        return None if self.separator is None else _SEPARATORS.get(self.separator, self.separator)

    def _nominal(self) -> tuple[str, ...] | str:
        return "all" if self.nominal == "all" else split_names(self.nominal)

    def _when_missing(self) -> Any:
        words = ("omit", "value", "drop")
        general, single = "omit", dict[str, str]()
        for given in self.when_missing:
            column, between, word = given.rpartition("=")
            if word not in words:
                raise ParameterError(
                    f"--when-missing must be omit, value or drop, or COLUMN=one of them, but "
                    f"{given!r} came.{did_you_mean(word, words)}"
                )
            if between:
                single[column] = word
            else:
                general = word
        if not single or general == "omit":
            return single or general
        raise ParameterError(
            "--when-missing is one word for all columns, or COLUMN=WORD for some, but both came. "
            "Give one of the two."
        )

    def _known(self) -> Schema | None:
        """The schema of ``--schema``, with the kinds that other options change."""
        if self.schema is None:
            return None
        from countwise.tables.schema import Column, Schema

        schema = Schema.read(self.schema)
        when: dict[str, WhenMissing] = self._single_when()
        changes: dict[str, Any] = dict.fromkeys(split_names(self.numeric), "numeric")
        changes |= dict.fromkeys(split_names(self.drop), "drop")
        chosen = self._nominal()
        numbers = [column.name for column in schema.numeric]
        changes |= dict.fromkeys(numbers if chosen == "all" else chosen, "nominal")
        old = schema.target
        if self.target is not None and self.target in schema:
            if old is not None and old.name != self.target:
                changes[old.name] = "drop"
            changes[self.target] = "target"
        changed = []
        for name, kind in changes.items():
            before = schema[name]
            levels = before.levels if before.coded and kind in ("nominal", "target") else ()
            changed.append(Column(name, kind, levels, before.missing, when.get(name, "omit")))
        return schema.with_columns(changed)

    def _single_when(self) -> dict[str, Any]:
        given = self._when_missing()
        return given if isinstance(given, dict) else {}

    def _target(self, source: str, known: Schema | None) -> tuple[str | None, tuple[str, ...]]:
        if self.target is not None or source.startswith("sample:"):
            return self.target, ()
        if known is not None and known.target is not None:
            return None, ()
        found = self._usual_target(source)
        if found is None:
            return None, ()
        return found, (f"Column {found!r} is taken as the class; --target names another.",)

    def _usual_target(self, source: str) -> str | None:
        """Look into the head of the file for a column that is called like a class."""
        from countwise.tables.formats.detect import parse_blocks
        from countwise.tables.read_options import Reading

        if source.lower().removesuffix(".gz").endswith(".arff"):
            return None  # an ARFF file says itself which one is the class
        spelled = {
            own: word for word in USUAL_TARGETS for own in (word, word.title(), word.upper())
        }
        dropped = set(split_names(self.drop))
        reading = Reading(text=frozenset(spelled), header=not self.no_header, separator=self.mark)
        block = next(iter(parse_blocks(source, reading, rows=1000)), None)
        if block is None:
            return None
        there = [name for name in block.columns if name in spelled and name not in dropped]
        return min(there, key=lambda name: USUAL_TARGETS.index(spelled[name]), default=None)

    def unlabelled(self) -> Asked:
        """Return what is asked about files whose class is known from elsewhere."""
        return replace(self, target=None)


def split_names(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Split ``a,b`` into names; blanks around them do not count."""
    if given is None:
        return ()
    words = given.split(",") if isinstance(given, str) else list(given)
    return tuple(word.strip() for word in words)


def _teachable(who: str, table: Table) -> None:
    """Refuse a table from which nothing can be learned, before anybody tries."""
    if not table.labelled:
        raise _no_target(who, table)
    codes = {note.code for note in table.notes}
    if "T12" in codes:
        column = table.target_column
        raise TableError(
            f"{who}: there must be rows of at least two classes, but column {column.name!r} holds "
            f"only {column.levels[0]!r}. Name another --target, or add rows."
        )
    blank = {note.column for note in table.notes if note.code == "T08"}
    names = [column.name for column in table.schema.attributes]
    if blank.issuperset(names):
        raise TableError(
            f"{who}: at least one column beside the class must hold values, but {listing(names)} "
            "miss all of theirs. Check --missing."
        )


def _no_target(who: str, table: Table) -> TableError:
    names = [column.name for column in table.schema]
    near = next((hint for word in USUAL_TARGETS if (hint := did_you_mean(word, names))), "")
    return TableError(
        f"{who}: a class column is needed, but none was named and none is called class, target, "
        f"label or y.{near} Name it with --target; the columns are {listing(names, 12)}."
    )


#: Remarks that are for the record: they stand in the JSON and on the page.
FOR_THE_RECORD = ("E05", "E06", "E07", "E12", "E14")


def chosen_names(models: str | None) -> list[str] | None:
    """Return the names of the models asked for, checked before anything is read."""
    from countwise.models.registry import select

    names = None if models is None else list(split_names(models))
    select(names)
    return names


def share(holdout: float) -> float:
    """Return a share of rows to set aside, or say what it must be."""
    if not 0 < holdout < 1:
        raise click.UsageError(
            f"--holdout must be a share between 0 and 1, such as 0.3, but {holdout:g} came"
        )
    return holdout


def entrants(found: Read, names: list[str] | None, usual: tuple[str, ...], seed: int) -> Any:
    """Make the models that enter; the majority enters by itself."""
    from countwise.models.registry import select

    chosen = select(names, usual, numeric=bool(found.table.schema.numeric))
    entering = [model for model in chosen if model.entry.kind != "baseline"] or chosen
    return {model.name: model.build(seed) for model in entering}


def closing(
    found: Read, notes: Iterable[Any], written: Iterable[tuple[str, str | None]], quiet: bool
) -> None:
    """Say what is to be remarked on, and which files were written."""
    from countwise.cli.output import remark

    said = [note.text for note in notes if note.code not in FOR_THE_RECORD]
    files = [f"{what} written to {path}." for what, path in written if path]
    remark([*found.remarks, *said, *files], quiet)


def gain_of(given: str | None, source: str) -> GainMatrix | None:
    """Read the matrix of ``--gain``; ``sample`` takes the one of ``sample:name``."""
    if given is None:
        return None
    from countwise.decisions.gain_matrix import GainMatrix

    if given != "sample":
        return GainMatrix.read(given)
    if not source.startswith("sample:"):
        raise GainError(
            f"--gain sample takes the matrix of a sample, but {source!r} is a file. Name the CSV "
            "file of the gains."
        )
    from countwise.tables import datasets

    sample = datasets.find(source.removeprefix("sample:"))
    if sample.gain is None:
        having = [own.name for own in datasets.all_samples() if own.gain is not None]
        raise GainError(
            f"--gain sample needs a sample with a gain matrix, but {sample.name!r} has none. Those "
            f"with one: {', '.join(having)}."
        )
    labels, rows = sample.gain["labels"], sample.gain["values"]
    return GainMatrix.of(
        {true: dict(zip(labels, row, strict=True)) for true, row in zip(labels, rows, strict=True)}
    )


Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_READING: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--target", "-t"), {"metavar": "COLUMN", "help": "The class column."}),
    (("--nominal",), {"metavar": "A,B", "help": "Columns to take as nominal; 'all' for all."}),
    (("--numeric",), {"metavar": "A,B", "help": "Columns to take as numeric."}),
    (("--drop",), {"metavar": "A,B", "help": "Columns to leave out."}),
    (("--missing",), {"metavar": "'?,NA'", "help": "Marks that mean missing."}),
    (
        ("--when-missing",),
        {
            "metavar": "WORD",
            "multiple": True,
            "help": "A missing cell: omit it, a value of its own, or drop the row; or COLUMN=WORD.",
        },
    ),
    (("--schema",), {"metavar": "JSON", "help": "A schema to read by, as inspect writes it."}),
    (("--separator",), {"metavar": "CHAR", "help": "What stands between cells ('tab' for a tab)."}),
    (("--no-header",), {"is_flag": True, "help": "The first line is a row; columns are x1, x2, …"}),
    (("--keep-identifiers",), {"is_flag": True, "help": "Keep columns that identify rows."}),
)


def reading_options(function: Decorated) -> Decorated:
    """Add the options about reading; the command gets them together, as ``asked``."""

    @functools.wraps(function)
    def gathered(*args: Any, **options: Any) -> Any:
        fields = Asked.__dataclass_fields__
        own = {name: options.pop(name) for name in fields if name in options}
        return function(*args, asked=Asked(**own), **options)

    made: Any = gathered
    for names, settings in reversed(_READING):
        made = click.option(*names, **settings)(made)
    result: Decorated = made
    return result


def output_options(what: str) -> Callable[[Decorated], Decorated]:
    """Add ``--json``, ``-o`` and ``--quiet``; `what` says what ``-o`` writes."""

    def add(function: Decorated) -> Decorated:
        made: Any = function
        made = click.option("--quiet", "-q", is_flag=True, help="No remarks, no progress.")(made)
        made = click.option(
            "--json", "as_json", is_flag=True, help="Print JSON to stdout and nothing else."
        )(made)
        made = click.option("--output", "-o", metavar="PATH", help=what)(made)
        result: Decorated = made
        return result

    return add


def gain_option(function: Decorated) -> Decorated:
    """Add ``--gain``."""
    return click.option(
        "--gain",
        metavar="CSV",
        help="Gains to decide by: true classes in rows, decisions in columns; 'sample' for the "
        "matrix a sample brings along.",
    )(function)


def seed_option(function: Decorated) -> Decorated:
    """Add ``--seed``."""
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Where the random numbers start.",
    )(function)


def models_option(function: Decorated) -> Decorated:
    """Add ``--models``."""
    return click.option(
        "--models", "-m", metavar="A,B", help="Which models (see countwise models), or all."
    )(function)


def repeats_option(function: Decorated) -> Decorated:
    """Add ``--repeats``."""
    return click.option(
        "--repeats", type=click.IntRange(min=1), help="How often rows are dealt anew."
    )(function)


def contest_options(page: str) -> Callable[[Decorated], Decorated]:
    """Add what commands share that let models enter; `page` says what ``--report`` writes."""

    def add(function: Decorated) -> Decorated:
        made: Any = click.option("--report", metavar="HTML", help=page)(function)
        made = click.option(
            "--jobs", type=int, default=1, help="Processes that refit scikit-learn's models."
        )(made)
        result: Decorated = gain_option(reading_options(seed_option(made)))
        return result

    return add
