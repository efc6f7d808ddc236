"""Linear models and networks as arrays and back: their layers, and how rows become features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.models.linear.base import Layer
from countwise.models.linear.encoder import Features
from countwise.store.archive import Archive, Parts, Within
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.models import columns_from, columns_to, model_to, notes_from
from countwise.store.plain import to_plain
from countwise.store.schemas import schema_from, schema_to
from countwise.store.trees import classes_from
from countwise.tables.schema import Schema, labels_array

_MOST_LAYERS = 50


def matrix_to(model: Any, remarks: dict[str, Any]) -> Parts:
    """Return what a fitted linear model or network consists of."""
    remarks["model"] = [note.to_dict() for note in model.notes_]
    classes = to_plain(model.classes_.tolist(), "the classes")
    document = {
        "classes": classes,
        "features": [[name, own] for name, own in model.features_.state().items()],
        "sizes": [list(layer.weights.shape) for layer in model.layers_],
        "scale": model.scale_,
    }
    documents = {
        "schema.json": schema_to(model.schema_),
        "parameters.json": model_to(model),
        "notes.json": remarks,
        "training.json": columns_to(model),
        "layers.json": document,
    }
    arrays: dict[str, NDArray[Any]] = {}
    for place, layer in enumerate(model.layers_):
        arrays[f"layers/weights_{place}.npy"] = np.ascontiguousarray(layer.weights, dtype="<f8")
        arrays[f"layers/bias_{place}.npy"] = np.ascontiguousarray(layer.bias, dtype="<f8")
    target = model.schema_.target
    summary = {
        "classes": classes,
        "target": None if target is None else target.name,
        "columns": list(model.features_.parts),
        "features": len(model.features_.names),
    }
    return Parts(type(model).__name__, documents, arrays, summary)


def matrix_from(archive: Archive | Within, model: Any) -> Any:
    """Return the fitted model that a file holds; `model` has its parameters."""
    schema = schema_from(archive.fields("schema.json"))
    document = archive.fields("layers.json")
    model.schema_ = schema
    model.classes_ = labels_array(classes_from(document, schema))
    model.features_ = _features(document, schema)
    model.notes_ = notes_from(archive.fields("notes.json"))
    model.layers_ = _layers(archive, document)
    wanted = (len(model.features_.names), len(model.classes_))
    sizes = [layer.weights.shape for layer in model.layers_]
    if (sizes[0][0], sizes[-1][1]) != wanted:
        raise UnsoundError("has layers that do not fit its features and classes")
    scale = document.any("scale")
    if type(scale) is not float or not 0 < scale < 1e300:
        raise UnsoundError("must hold a positive number as 'scale', but does not")
    model.scale_ = scale
    columns_from(model, archive.fields("training.json"))
    return model


def _features(document: Fields, schema: Schema) -> Features:
    state: dict[str, Any] = {}
    for pair in document.items("features"):
        if not isinstance(pair, list) or list(map(type, pair)) != [str, dict]:
            raise UnsoundError("must hold a column and how it is read under 'features'")
        state[pair[0]] = pair[1]
    if sorted(state) != sorted(column.name for column in schema.attributes):
        raise UnsoundError("tells how to read other columns than its schema has")
    try:
        return Features.restored(schema, state)
    except (KeyError, TypeError, ValueError, OverflowError) as why:
        raise UnsoundError(f"does not tell how columns are read ({str(why)[:80]})") from None


def _layers(archive: Archive | Within, document: Fields) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    sizes = document.items("sizes")
    if not 1 <= len(sizes) <= _MOST_LAYERS:
        raise UnsoundError(f"must hold 1 to {_MOST_LAYERS} layers, but does not")
    for place, size in enumerate(sizes):
        if not isinstance(size, list) or [type(own) for own in size] != [int, int]:
            raise UnsoundError("must hold two whole numbers as the size of each layer")
        rows, columns = size
        if layers and layers[-1].weights.shape[1] != rows:
            raise UnsoundError("has layers that do not fit each other")
        weights = archive.array(f"layers/weights_{place}.npy", "<f8", (rows, columns))
        bias = archive.array(f"layers/bias_{place}.npy", "<f8", (columns,))
        if not np.isfinite(weights).all() or not np.isfinite(bias).all():
            raise UnsoundError("must hold finite numbers in its layers, but does not")
        layers.append(Layer(weights, bias))
    return tuple(layers)
