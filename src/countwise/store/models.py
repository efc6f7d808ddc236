"""Models as documents and back: the parameters, and what training left behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from countwise.counts.counts import Counts
from countwise.errors import StoreError, listing
from countwise.models.registry import ENTRIES, models
from countwise.notes import Note
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.plain import from_plain, label_from, to_plain
from countwise.tables.schema import Level, Schema

#: How deep models may lie within each other.
_MOST_NESTED = 4
UPGRADE = "Upgrade countwise if it was written by a newer one."


def model_names() -> list[str]:
    """Return the models a file may hold. Nothing else is ever imported for a file."""
    return [entry.name for entry in models()]


def is_model(thing: Any) -> bool:
    """Whether a thing is a model of ours, and no subclass that may hold more than counts."""
    name = type(thing).__name__
    return name in model_names() and type(thing) is ENTRIES[name].load()


def model_to(model: Any) -> dict[str, Any]:
    """Return the name and the parameters of a model as plain data."""
    if not is_model(model):
        raise StoreError(
            f"save: the model must be one of {listing(model_names(), 20)}, but a "
            f"{type(model).__name__} came. Fit again with one of these."
        )
    parameters = model.get_params(deep=False)
    return {
        "model": type(model).__name__,
        "parameters": {name: _parameter_to(value, name) for name, value in parameters.items()},
    }


def _parameter_to(value: Any, name: str) -> Any:
    """A parameter as plain data; models among them by name and parameters."""
    if is_model(value):
        return {"is": "model", **model_to(value)}
    if isinstance(value, list | tuple) and any(map(is_model, value)):
        return {"is": "models", "items": [_parameter_to(own, name) for own in value]}
    if isinstance(value, Mapping) and any(map(is_model, value.values())):
        pairs = [[str(key), _parameter_to(own, name)] for key, own in value.items()]
        return {"is": "named models", "pairs": pairs}
    return to_plain(value, name)


def _parameter_from(plain: Any, name: str, depth: int = 0) -> Any:
    word = plain.get("is") if isinstance(plain, dict) else None
    if word not in ("model", "models", "named models"):
        return from_plain(plain, name)
    if depth > _MOST_NESTED:
        raise UnsoundError(f"nests models deeper than {_MOST_NESTED} in {name}")
    fields = Fields({key: own for key, own in plain.items() if key != "is"}, name)
    if word == "model":
        return prototype(fields, depth + 1)
    if word == "models":
        return [_parameter_from(own, name, depth + 1) for own in fields.items("items")]
    pairs = fields.items("pairs")
    if any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
        raise UnsoundError(f"must hold pairs in {name}, but does not")
    return {str(key): _parameter_from(own, name, depth + 1) for key, own in pairs}


def classes_in(counts: Counts) -> dict[str, Any]:
    """Return the weight of all rows, the classes and their shares, for people."""
    total = counts.total
    return {
        "weight": total,
        "classes": to_plain(list(counts.classes), "the classes"),
        "class_shares": [float(own) / total if total > 0 else 0.0 for own in counts.weight[:-1]],
    }


def training_to(model: Any) -> dict[str, Any]:
    """Return what training left beside the counts: named classes, the columns that came."""
    named = getattr(model, "_named", None)
    given = getattr(model, "_given", None)
    return {
        "rows": model.counts_.rows,
        **classes_in(model.counts_),
        "classes_named": None if named is None else to_plain(list(named), "classes"),
        "levels_given": None if given is None else _given_to(given, model.counts_.schema),
        **columns_to(model),
    }


def columns_to(model: Any) -> dict[str, Any]:
    """Return which columns a model was trained on, as scikit-learn remembers them."""
    names = getattr(model, "feature_names_in_", None)
    features = getattr(model, "n_features_in_", None)
    return {
        "features_in": None if features is None else int(features),
        "feature_names_in": None if names is None else to_plain(list(names), "feature names"),
    }


def _given_to(given: Mapping[str, tuple[Level, ...]], schema: Schema) -> list[list[Any]]:
    """Levels that stay even if their last row is forgotten; null stands for all there are."""
    return [
        [name, None if own == schema[name].levels else to_plain(list(own), "levels")]
        for name, own in given.items()
        if name in schema
    ]


def prototype(given: Fields, depth: int = 0) -> Any:
    """Make the model that is named, if it is on the list, with parameters it knows."""
    name = given.text("model")
    if name not in model_names():
        raise UnsoundError(f"holds a model this countwise does not know, {name[:40]!r}", UPGRADE)
    kind = ENTRIES[name].load()
    known = kind().get_params(deep=False)
    parameters = given.inner("parameters").plain
    strange = [key[:40] for key in parameters if key not in known]
    if strange:
        raise UnsoundError(
            f"holds parameters of {name} that this countwise does not know, {listing(strange)}",
            UPGRADE,
        )
    return kind(**{k: _parameter_from(own, k, depth) for k, own in parameters.items()})


def learned(
    model: Any, counts: Counts, learnt: Mapping[str, Any], training: Fields, notes: Fields
) -> Any:
    """Let a model learn from its counts again, by the arithmetic it learned by at first.

    `learnt` is what beside the counts makes the model: how it cuts, which families it counts.
    """
    if "classes_named" in training:
        named = tuple(label_from(own, "classes") for own in training.items("classes_named"))
        if any(label not in counts.classes for label in named):
            raise UnsoundError("names classes that its schema does not have")
        model._named = named
    model.notes_ = notes_from(notes)
    model.restore(counts, learnt)
    if "levels_given" in training:
        model._given = _given_from(training, counts.schema)
    columns_from(model, training)
    return model


def _given_from(training: Fields, schema: Schema) -> dict[str, tuple[Level, ...]]:
    given: dict[str, tuple[Level, ...]] = {}
    for pair in training.items("levels_given"):
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise UnsoundError("must hold columns with their levels under 'levels_given'")
        name, own = pair
        if name not in schema or not schema[name].coded or name in given:
            raise UnsoundError(f"gives levels of {name[:40]!r} twice, or though it has none")
        if own is not None and not isinstance(own, list):
            raise UnsoundError(f"must hold a list of levels of {name[:40]!r}, but does not")
        given[name] = (
            schema[name].levels
            if own is None
            else tuple(label_from(level, "levels") for level in own)
        )
    return given


def columns_from(model: Any, training: Fields) -> None:
    """Let a model remember which columns it was trained on."""
    if "features_in" in training:
        model.n_features_in_ = training.whole("features_in", high=2**31)
    if "feature_names_in" in training:
        names = training.texts("feature_names_in")
        if len(names) != getattr(model, "n_features_in_", None):
            raise UnsoundError("names more or fewer columns than the model was trained on")
        model.feature_names_in_ = np.array(names, dtype=object)


def notes_from(notes: Fields) -> tuple[Note, ...]:
    """Read a model's remarks about its data back."""
    return tuple(map(_note, notes.objects("model")))


def _note(entry: Fields) -> Note:
    column = entry.text("column") if "column" in entry else None
    return Note(entry.text("code"), column, entry.text("text"))
