"""Describe a data source or a saved model: a mapping of facts that prints as a table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from countwise.errors import ParameterError, StoreError, listing
from countwise.reports.data_facts import data_facts
from countwise.reports.sentences import counted, kind_words, plain
from countwise.show_rows import align, html_table
from countwise.tables.labels import text
from countwise.tables.read import read
from countwise.tables.table import Table

_HEADER = ("column", "kind", "levels or range", "missing", "notes")
_SHOWN_LEVELS = 6


class Description(Mapping[str, Any]):
    """Facts about a data source or a saved model, by name; it prints as a table.

    Those of a data source are ``rows``, ``target``, ``columns`` (name, kind, levels or range,
    missing cells, codes of notes), ``missing``, ``balance``, ``dropped`` and ``notes``; those of a
    model are ``kind``, ``created``, ``summary``, ``schema``, ``parameters`` and more.
    """

    def __init__(self, title: str, facts: Mapping[str, Any]) -> None:
        self.title = title
        self._facts = dict(facts)

    def __getitem__(self, name: str) -> Any:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return dict(self._facts)

    def __repr__(self) -> str:
        if "columns" not in self:
            return "\n".join([self.title, *align(self._model_rows())])
        notes = [f"  {note['code']}  {note['text']}" for note in self["notes"]]
        table = align([_HEADER, *map(_row, self["columns"])], numbers=(3,))
        return "\n".join([self._headline, *table, *(["Notes", *notes] if notes else [])])

    def _repr_html_(self) -> str:
        if "columns" not in self:
            return html_table(("", ""), self._model_rows(), self.title)
        return html_table(_HEADER, list(map(_row, self["columns"])), self._headline)

    @property
    def _headline(self) -> str:
        kinds, target = self["kinds"], self["target"]
        about = "" if target is None else f", target {target!r} with {len(self['balance'])} classes"
        return f"{self.title}: {self['rows']} rows, {kind_words(kinds)} columns{about}"

    def _model_rows(self) -> list[tuple[str, object]]:
        facts = {**self._facts, **self._facts.get("summary", {})}
        plain = {name: value for name, value in facts.items() if not isinstance(value, Mapping)}
        return [
            (name, ", ".join(map(str, value)) if isinstance(value, list) else value)
            for name, value in plain.items()
        ]


def _row(column: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    holds = ""
    if "levels" in column:
        levels = [str(level["level"]) for level in column["levels"]]
        more = len(levels) + column["more_levels"] - _SHOWN_LEVELS
        holds = ", ".join(levels[:_SHOWN_LEVELS]) + (f", … {more} more" if more > 0 else "")
    elif "least" in column:
        holds = f"{column['least']:g} to {column['most']:g}"
    elif "texts" in column:
        holds = f"{column['texts']} different texts"
    missing = str(column["missing"]) if column.get("missing") else ""
    return column["name"], column["kind"], holds, missing, " ".join(column["codes"])


def describe(source: Any, target: Any = None, **read_options: Any) -> Description:
    """Describe what a data source or a saved model holds, before any work is done with it.

    Parameters
    ----------
    source
        What `read` takes: a path, a frame, an array, ``sample:name`` or a `Table`; or the path of
        a saved model.
    target
        The class column, as in `read`.
    read_options
        Further options of `read`.

    Returns
    -------
    Description
        A mapping of facts: kinds, levels or ranges, missing cells and notes of the columns. For a
        model its kind, its parameters, its schema and when it was saved.

    Examples
    --------
    >>> import countwise as cw
    >>> cw.describe("sample:weather")
    sample:weather: 14 rows, 4 nominal and 0 numeric columns, target 'play' with 2 classes
      column       kind     levels or range         missing  notes
      outlook      nominal  sunny, overcast, rainy
      temperature  nominal  hot, mild, cool
      humidity     nominal  high, normal
      windy        nominal  TRUE, FALSE
      play         target   no, yes
    """
    if isinstance(source, str | os.PathLike) and is_model_file(source):
        from countwise.store.files import describe as describe_model

        return Description(os.path.basename(source), describe_model(source))
    is_text = isinstance(source, str | os.PathLike)
    name = os.path.basename(source) if is_text else type(source).__name__
    table = (
        source
        if isinstance(source, Table) and target is None and not read_options
        else read(source, target=target, **read_options)
    )
    return Description(name, data_facts(table, str(source) if is_text else None))


def model_file_facts(path: str, form: str | None = None) -> dict[str, Any]:
    """Return everything about a saved model: its data, rule, parameters and views in full.

    With ``form="logistic"`` its views are the weights of the logistic regression that it is.
    """
    from countwise.models.views import MemberList
    from countwise.store.files import describe as describe_model
    from countwise.store.files import load

    saved = load(path)
    model = getattr(saved, "model_", saved)
    if not hasattr(model, "views"):
        kind = type(model).__name__
        raise StoreError(
            f"show: {path!r} must hold a model; it holds a {kind}.",
            hint="Train a model with countwise fit.",
        )
    kind, views = type(model).__name__, model.views()
    if form == "logistic":
        if not hasattr(model, "to_logistic"):
            raise ParameterError(
                f"show: only naive Bayes can be shown as a logistic regression; got a {kind}."
            )
        views = (model.to_logistic().view(),)
    defaults = type(model)().get_params(deep=False)
    parameters = {
        name: {"value": repr(value), "default": repr(value) == repr(defaults.get(name))}
        for name, value in model.get_params(deep=False).items()
    }
    described = describe_model(path)
    # The list of an ensemble's members tells the same.
    found, members = model.describe_training(), any(isinstance(v, MemberList) for v in views)
    rule = getattr(saved, "rule_", None)
    return {
        "file": path,
        "kind": kind,
        "created": described["created"],
        "about": _about(saved, model, described["notes"], () if members else found),
        "found": found,
        "decides_by": None if rule is None else type(rule).__name__,
        "parameters": parameters,
        "schema": model.schema_.to_dict(),
        "summary": described["summary"],
        "notes": [note.text for note in model.notes_],
        "views": [
            {"kind": type(view).__name__, "title": view.title, **plain(view)} for view in views
        ],
    }


#: Rules in words, by their classes.
_RULES = {
    "Argmax": "the most probable class",
    "RouletteWheel": "drawing a class by its probability",
    "ExpectedGain": "the largest expected gain",
    "ExpectedCost": "the smallest expected cost",
}


def _about(saved: Any, model: Any, notes: Any, found: Sequence[str]) -> list[str]:
    """Return sentences about the data, the decisions and the training of a model."""
    schema = model.schema_
    remarks = notes.get("saved_with") if isinstance(notes, Mapping) else None
    source = remarks.get("source") if isinstance(remarks, Mapping) else None
    summary = model.file_summary()
    rows = summary.get("weight", summary.get("rows"))
    trained_on = [] if rows is None else [f"{counted(rows)} rows"]
    trained_on += [] if source is None else [str(source)]
    target = f"the number {getattr(model, 'target_name_', None) or 'given'!r}"
    if schema.target is not None:
        labels = listing([text(label) for label in model.classes_.tolist()])
        target = f"class {schema.target.name!r} ({labels})"
    used = [f"{column.name} ({column.kind})" for column in schema.attributes]
    lines = [f"Trained on {' of '.join(trained_on) or 'rows'}: {target}."]
    lines += [f"{len(used)} columns: {_cut(used)}."]
    if summary.get("temperature", 1.0) != 1.0:
        lines += [f"Its log scores are divided by the temperature {summary['temperature']:.3g}."]
    rule = getattr(saved, "rule_", None)
    if rule is not None:
        gain: Any = getattr(rule, "gain", None)
        sentences = gain.sentences() if hasattr(gain, "sentences") else ()
        name = "ExpectedCost" if getattr(gain, "costs", False) else type(rule).__name__
        lines += [f"It decides by {_RULES.get(name, name)}.", *sentences]
    return [*lines, *found]


def _cut(words: list[str], most: int = 12) -> str:
    more = f" … and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names a saved model: a zip file, or one called .cw."""
    name = os.fspath(path).lower()
    if name.endswith(".cw"):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PK\x03\x04" and not name.endswith((".xlsx", ".ods"))
    except (OSError, ValueError):
        return False
