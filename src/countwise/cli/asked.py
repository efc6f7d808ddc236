"""What the options say about reading, and the table that comes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from countwise.errors import ParameterError, TableError, did_you_mean, listing

if TYPE_CHECKING:
    from countwise.tables.schema import Schema, WhenMissing
    from countwise.tables.table import Table

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
        from countwise.tables.files import parse_blocks
        from countwise.tables.reading import Reading

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
