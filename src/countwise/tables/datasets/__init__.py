"""Small, well-known data sets, found by name.

``find`` knows every set of ``index.json``, by its name or an alias; ``Sample.locate`` returns a
CSV file: the bundled one, else one in the folder ``COUNTWISE_DATA``, else one fetched from OpenML.
Origin and license of each set are fields of the sample and stand in ``README.md``.
"""

from __future__ import annotations

import csv
import json
import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.errors import SampleError, did_you_mean

_ENVIRONMENT = "COUNTWISE_DATA"


@dataclass(frozen=True)
class Sample:
    """One data set: its columns, its origin and, by ``locate``, its file."""

    name: str
    #: One line that says what a row is and what is predicted.
    title: str
    rows: int
    target: str
    #: A name, a kind (nominal, numeric, text or id) and perhaps the declared values of each column.
    columns: list[dict[str, Any]] = field(hash=False)
    origin: str
    license: str
    #: Registry package and version the file was made from; None if it is not bundled.
    package: str | None
    openml: int | None
    gain: dict[str, Any] | None = field(hash=False)
    bundled: bool
    aliases: tuple[str, ...] = ()
    #: The number of empty cells.
    missing: int = 0
    #: Results of the papers that use the set.
    ledger: tuple[str, ...] = ()
    #: The differences between the package's file and this one.
    changes: str = ""

    @property
    def file(self) -> str:
        """Return the file name, in this package or in the folder ``COUNTWISE_DATA``."""
        return f"{self.name}.csv"

    def locate(self) -> Path:
        """Return a CSV file of the set: bundled, else in ``COUNTWISE_DATA``, else from OpenML."""
        if self.bundled:
            return Path(str(resources.files(__name__).joinpath(self.file)))
        folder = os.environ.get(_ENVIRONMENT)
        if folder and (given := Path(folder) / self.file).is_file():
            return given
        if self.openml is None:
            raise SampleError(_out_of_reach(self, folder, "no OpenML number is known for it"))
        try:
            return _from_openml(self, self.openml)
        except (OSError, ValueError, ImportError) as error:
            cause = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
            reason = f"OpenML (set {self.openml}) could not be reached ({cause})"
            raise SampleError(_out_of_reach(self, folder, reason)) from error


def _out_of_reach(sample: Sample, folder: str | None, reason: str) -> str:
    looked = f"is {folder!r}, where there is no {sample.file!r}" if folder else "is not set"
    again = "" if sample.openml is None else ", or try again with a network connection"
    return (
        f"samples: {sample.name!r} is not bundled with countwise, {_ENVIRONMENT} {looked}, and "
        f"{reason}. Set {_ENVIRONMENT} to a folder that holds {sample.file}{again}."
    )


def _from_openml(sample: Sample, number: int) -> Path:
    """Fetch a set once; the CSV is kept beside scikit-learn's copy."""
    from sklearn.datasets import get_data_home  # heavy, and seldom needed

    folder = Path(get_data_home()) / "countwise"
    kept = folder / f"{sample.name}-openml-{number}.csv"
    if kept.is_file():
        return kept
    header, rows = _fetch(number)
    if len(header) == len(sample.columns):
        # The same columns in the same order under OpenML's names: use ours.
        header = [str(column["name"]) for column in sample.columns]
    else:
        header[-1] = sample.target
    if len(rows) != sample.rows:
        raise ValueError(f"it holds {len(rows)} rows instead of {sample.rows}")
    folder.mkdir(parents=True, exist_ok=True)
    with (
        atomic_write(kept, "samples") as draft,
        draft.open("w", encoding="utf-8", newline="") as stream,
    ):
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return kept


def _fetch(number: int) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of an OpenML set as text, the target last."""
    from sklearn.datasets import fetch_openml  # heavy, and seldom needed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a retry that fails too is reported by the error
        bunch = fetch_openml(data_id=number, as_frame=False, parser="liac-arff", n_retries=1)
    # Arrays need no pandas; in them a nominal cell is a position in its categories.
    names = [str(name) for name in bunch.feature_names]
    words = [bunch.categories.get(name) for name in names]
    rows = []
    for cells, label in zip(bunch.data, bunch.target, strict=True):
        row = [_spell(cell, levels) for cell, levels in zip(cells, words, strict=True)]
        rows.append([*row, "" if label is None else _unquote(str(label))])
    return [*names, *(str(name) for name in bunch.target_names)], rows


def _spell(cell: object, levels: Sequence[object] | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return _unquote(cell)
    number = float(cell)  # type: ignore[arg-type]
    if math.isnan(number):
        return ""
    return format(number, ".15g") if levels is None else _unquote(str(levels[int(number)]))


def _unquote(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] == "'" else word


@cache
def _index() -> dict[str, Sample]:
    text = resources.files(__name__).joinpath("index.json").read_text(encoding="utf-8")
    samples = {}
    for entry in json.loads(text)["samples"]:
        plain = {name: entry[name] for name in Sample.__dataclass_fields__ if name in entry}
        tuples = {name: tuple(entry[name]) for name in ("aliases", "ledger")}
        bundled = entry["file"] is not None
        samples[entry["name"]] = Sample(**{**plain, **tuples, "bundled": bundled})
    return samples


def _fold(name: str) -> str:
    return name.strip().casefold().replace("_", "-").replace(" ", "-")


@cache
def _spellings() -> dict[str, str]:
    return {
        _fold(word): sample.name
        for sample in _index().values()
        for word in (sample.name, *sample.aliases)
    }


def all_samples() -> list[Sample]:
    """Return every set, bundled or not, in the order of the index."""
    return list(_index().values())


def names() -> list[str]:
    """Return the names of all sets, for a list or a completion."""
    return list(_index())


def find(name: str) -> Sample:
    """Return the set of this name or alias; capitals, blanks and underscores do not matter."""
    spellings = _spellings()
    key = _fold(name)
    if key in spellings:
        return _index()[spellings[key]]
    near = did_you_mean(key, names()) or did_you_mean(key, spellings)
    raise SampleError(
        f"samples: there is no data set {name!r}.{near} Known are {', '.join(names())}."
    )
