"""Save and load models, and describe a model file without loading it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from countwise.counts.counts import Counts
from countwise.errors import CountwiseError, ParameterError, StoreError, listing, shown
from countwise.store.archive import MAX_BYTES, Archive, Parts, pack
from countwise.store.codec import (
    AGAIN,
    UPGRADE,
    UnsoundError,
    decode,
    encode,
    is_fitted,
    is_model,
    model_class,
    model_names,
)
from countwise.store.pipelines import StoredPipeline, from_stored, model_of, to_stored
from countwise.tables.schema import Schema

Pathlike = str | os.PathLike[str]

#: What a file may hold beside the models.
OTHERS = ("Decide", "Pipeline", "Counts", "Schema", "GainMatrix")


def save(model: Any, path: Pathlike, *, notes: Any = None) -> None:
    """Save a model so that it predicts the same elsewhere and later, to the last bit.

    The file is a zip of readable JSON and npy arrays: the counts, the schema with its levels, the
    parameters, the notes about the data. It is written whole or not at all: a crash at any moment
    leaves the old file or the new one. Parameters are saved as they stand; one that was changed
    after `fit` counts from loading on.

    Parameters
    ----------
    model
        A fitted model (`NaiveBayes`, `TAN`, `ID3`, ...), a fitted `Decide` over one, or `Counts`, a
        `Schema` or a `GainMatrix`; or a scikit-learn `Pipeline` that ends in one of our models,
        behind `Cuts`, `Quantizer`, or scalers, imputers, PCA and NumPy functions of scikit-learn.
    path
        Where; the usual suffix is ``.cw``. The directory must exist, a file there is replaced.
    notes
        Remarks of your own to keep in the file: a text, or numbers, texts, lists and mappings.
        `describe` shows them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> model = cw.NaiveBayes().fit(weather)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "weather.cw", notes="first try")
    ...     again = load(Path(folder) / "weather.cw")
    >>> bool((again.predict_proba(weather) == model.predict_proba(weather)).all())
    True
    """
    # Who only loads need not wait for it.
    from countwise.atomic_write import atomic_write

    parts = _parts(model, notes)
    with atomic_write(path) as temporary:
        pack(temporary, parts)
        # What could not be loaded must not take the place of what can.
        with _refusals("save", path), temporary.open("rb") as file:
            Archive(file, max_bytes=2**62)


def load(path: Pathlike, *, max_bytes: int = MAX_BYTES) -> Any:
    """Load what `save` wrote; nothing in the file is executed, whoever wrote it.

    Everything is checked before it is used: names, sizes and checksums of the members, types in the
    documents, shapes of the arrays against the schema, the counts themselves. A counted
    model is then learned again from its counts.

    Parameters
    ----------
    path
        A file written by `save`.
    max_bytes
        How much the file may unpack to. Loading needs a small multiple of that in memory.

    Raises
    ------
    StoreError
        The file is missing, no model, damaged, too large, or from a newer countwise; the message
        says which in a sentence.

    Examples
    --------
    >>> load("no such model.cw")
    Traceback (most recent call last):
        ...
    countwise.errors.StoreError: load: there is no file 'no such model.cw'. Check the path.
    """
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
        raise ParameterError("load", "max_bytes", "a whole number of at least 1", max_bytes)
    with _open("load", path, max_bytes) as archive, np.errstate(all="ignore"):
        value = decode(_type_in(archive), archive.document("model.json"), archive)
        archive.document("notes.json")
        archive.check_all_read()
        return from_stored(value) if isinstance(value, StoredPipeline) else value


def describe(path: Pathlike) -> dict[str, Any]:
    """Look into a saved file without loading it: what it holds, from which data, made by whom."""
    with _open("describe", path, 2**62) as archive:
        manifest = archive.manifest
        seen: dict[str, Any] = {
            "kind": manifest.kind,
            "created": manifest.created,
            "library_version": manifest.library_version,
            "format_version": manifest.format_version,
            "bytes": archive.size,
            "unpacked_bytes": archive.unpacked,
            "members": len(archive),
            "summary": manifest.summary,
        }
        model = archive.document("model.json")
        if manifest.kind == "Decide" and isinstance(model, dict):
            seen["decide"] = model.get("parameters")
            fitted = model.get("fitted")
            model = fitted.get("model_") if isinstance(fitted, dict) else None
        if isinstance(model, dict) and "parameters" in model:
            seen |= {"parameters": model["parameters"], "fitted": model.get("fitted")}
        else:
            seen["value"] = model
        return {**seen, "notes": archive.document("notes.json")}


def _parts(value: Any, notes: Any) -> Parts:
    """Return what a value consists of, or refuse to save it."""
    name = type(value).__name__
    kept, _ = encode({"saved_with": notes}, dict[str, Any])
    if _is_pipeline(value):
        plain, arrays = encode(to_stored(value))
        summary = {"steps": [type(step).__name__ for _, step in value.steps]}
        summary |= _summary(model_of(value))
        return Parts(name, {"model.json": plain, "notes.json": kept}, arrays, summary)
    if type(value) is not _other_class(name) and not (is_model(value) and is_fitted(value)):
        raise _refusal(value)
    if name == "Decide":
        if not is_fitted(value):
            raise _refusal(value)
        if not (is_model(value.model_) and is_fitted(value.model_)):
            raise _refusal(value)
    plain, arrays = encode(value)
    return Parts(name, {"model.json": plain, "notes.json": kept}, arrays, _summary(value))


def _other_class(name: str) -> Any:
    """Import the class of a value that is not a model."""
    if name == "GainMatrix":
        from countwise.decisions.gain_matrix import GainMatrix

        return GainMatrix
    if name == "Decide":
        return model_class(name)
    return {"Counts": Counts, "Schema": Schema, "Pipeline": StoredPipeline}.get(name)


def _is_pipeline(value: Any) -> bool:
    """Return whether a value is scikit-learn's pipeline, without importing it."""
    kind = type(value)
    return kind.__name__ == "Pipeline" and kind.__module__ == "sklearn.pipeline"


def _type_in(archive: Archive) -> Any:
    """Return the class of what a file holds; only these are ever imported for a file."""
    kind = archive.manifest.kind
    if kind in OTHERS:
        return _other_class(kind)
    if kind in model_names():
        return model_class(kind)
    raise UnsoundError(
        f"holds a {kind[:40]!r}, which this countwise does not know; it knows "
        f"{listing((*model_names(), *OTHERS), 20)}",
        UPGRADE,
    )


def _summary(value: Any) -> dict[str, Any]:
    """Return what `describe` tells first, for people."""
    if isinstance(value, Counts):
        return {**_count_summary(value), **_column_summary(value.schema)}
    if isinstance(value, Schema):
        return _column_summary(value)
    if hasattr(value, "model_"):
        return {"over": type(value.model_).__name__, **_summary(value.model_)}
    if hasattr(value, "schema_"):
        return {**_plain(value.file_summary()), **_column_summary(value.schema_)}
    return _plain({"classes": list(value.classes), "says": value.sentences()})


def _plain(summary: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = encode(summary, Any)[0]
    return plain


def _count_summary(counts: Counts) -> dict[str, Any]:
    weights, total = counts.weight[:-1], counts.total
    return _plain(
        {
            "rows": counts.rows,
            "weight": total,
            "classes": list(counts.classes),
            "class_shares": (weights / (total or 1.0)).tolist(),
        }
    )


def _column_summary(schema: Schema) -> dict[str, Any]:
    target = schema.target
    return {
        "target": None if target is None else target.name,
        "nominal": len(schema.nominal),
        "numeric": len(schema.numeric),
        "columns": [column.name for column in schema.attributes],
    }


def _refusal(value: Any) -> StoreError:
    """Say why a value cannot be saved, and what can be done instead."""
    model = getattr(value, "model_", value)
    name = type(model).__name__
    if is_model(model) or type(model) is _other_class("Decide"):
        return StoreError(
            f"save: a model must be fitted to be saved; this {name} is not.", hint="Call fit first."
        )
    got = f"a Decide over a {name}" if model is not value else f"a {name}"
    hint = "Give one of these."
    if hasattr(model, "fit_counts"):
        hint = "Save its counts_, and give them to fit_counts after loading."
    elif hasattr(model, "predict"):
        hint = "For models of other libraries use their own ways, such as skops or joblib."
    elif hasattr(value, "cut_points_"):
        hint = "Its cut_points_ are plain numbers by column: keep them as JSON, or save a model."
    elif hasattr(value, "schema") and hasattr(value, "notes"):
        hint = "Save its schema or its counts; rows belong in a CSV or Parquet file."
    known = listing((*model_names(), *OTHERS), 20)
    return StoreError(f"save: what can be saved are {known}; got {got}.", hint=hint)


@contextmanager
def _open(who: str, path: Pathlike, max_bytes: int) -> Iterator[Archive]:
    """Open a file to be read; whatever is wrong with it is a `StoreError`."""
    with _refusals(who, path):
        try:
            found = os.stat(path)
        except FileNotFoundError:
            raise StoreError(f"{who}: there is no file {shown(path)}. Check the path.") from None
        except (TypeError, ValueError):
            raise UnsoundError("is no path", "Name a file.") from None
        if not stat.S_ISREG(found.st_mode):
            what = "a directory" if stat.S_ISDIR(found.st_mode) else "a device or a pipe"
            raise UnsoundError(f"is {what}, not a file", "Name a file written by save.")
        with open(path, "rb") as file:
            yield Archive(file, max_bytes)


@contextmanager
def _refusals(who: str, path: object) -> Iterator[None]:
    """Turn whatever goes wrong inside into a `StoreError` of one sentence and a cure."""
    try:
        yield
    except UnsoundError as why:
        raise StoreError(f"{who}: {shown(path)} {_one_line(why)}") from why.__cause__
    except (StoreError, MemoryError):
        raise
    except OSError as why:
        reason = why.strerror or str(why)
        raise StoreError(
            f"{who}: {shown(path)} cannot be read ({reason}). Check the path and its permissions."
        ) from why
    except CountwiseError as why:
        raise StoreError(
            f"{who}: {shown(path)} does not hold a usable model ({_one_line(why)})"
        ) from why
    except Exception as why:
        # A file may be wrong in ways nobody thought of; its reader still learns that in one
        # sentence, and the cause stays attached for whoever mends the reader.
        raise StoreError(
            f"{who}: {shown(path)} holds what cannot be rebuilt ({type(why).__name__}: "
            f"{_one_line(why)[:80]}). {AGAIN}"
        ) from why


def _one_line(why: Exception) -> str:
    """Return a message as one line of text that any terminal can print."""
    return " ".join(str(why).encode("utf-8", "backslashreplace").decode().split())
