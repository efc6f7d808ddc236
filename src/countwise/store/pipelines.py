"""Pipelines in files: our models behind transformers whose state is plain numbers and arrays.

A file names the class of each step, its parameters and what `fit` left behind. Only the classes of
`TRANSFORMERS` and our models are ever built from a file, so loading one executes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from countwise.errors import StoreError, listing
from countwise.store.codec import UPGRADE, UnsoundError, is_fitted, is_model, model_class

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

#: Transformers that a pipeline may hold before a model of ours, and where they are.
TRANSFORMERS = {
    "Cuts": "countwise.discretize.cuts",
    "Quantizer": "countwise.discretize.quantizer",
    "StandardScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "MaxAbsScaler": "sklearn.preprocessing",
    "RobustScaler": "sklearn.preprocessing",
    "QuantileTransformer": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "Binarizer": "sklearn.preprocessing",
    "FunctionTransformer": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
    "VarianceThreshold": "sklearn.feature_selection",
    "PCA": "sklearn.decomposition",
}
#: More columns than any pipeline of numbers has.
_MAX_COLUMNS = 1_000_000
_ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class StoredStep:
    """A step of a pipeline: a model of ours, or a transformer as plain data."""

    name: str
    kind: str
    #: The model with its state; a transformer has the fields below.
    model: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    #: NumPy types within the state, and NumPy functions within the parameters, by their names.
    types: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredPipeline:
    """The steps of a pipeline as plain data."""

    steps: tuple[StoredStep, ...]


def model_of(pipeline: Any) -> Any:
    """Return the last step of a pipeline."""
    return pipeline.steps[-1][1]


def to_stored(pipeline: Any) -> StoredPipeline:
    """Return a fitted pipeline as plain data, or say which step cannot be saved."""
    name, last = pipeline.steps[-1]
    inner = getattr(last, "model_", last)
    if type(last) is not model_class("Decide") and not is_model(last):
        raise _refusal(name, last, "the last step must be a model of countwise")
    if not is_fitted(last) or not (is_model(inner) and is_fitted(inner)):
        raise StoreError(
            "save: a pipeline must be fitted to be saved; this one is not.", hint="Call fit first."
        )
    before = [_to_step(*step) for step in pipeline.steps[:-1]]
    return StoredPipeline((*before, StoredStep(name, type(last).__name__, last)))


def _to_step(name: str, step: Any) -> StoredStep:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return StoredStep(name, "passthrough")
    kind = type(step).__name__
    if kind not in TRANSFORMERS or type(step) is not _transformer_class(kind):
        known = listing(list(TRANSFORMERS), 20)
        raise _refusal(name, step, f"the steps before the model must be among {known}")
    check_is_fitted(step)
    given = step.get_params(deep=False)
    functions = {key: value.__name__ for key, value in given.items() if _is_numpy(value)}
    others = [key for key, value in given.items() if callable(value) and key not in functions]
    if others:
        raise _refusal(name, step, f"`{others[0]}` must be a function of NumPy such as np.log1p")
    state = {key: value for key, value in vars(step).items() if key not in given}
    types = {key: value.name for key, value in state.items() if isinstance(value, np.dtype)}
    return StoredStep(
        name,
        kind,
        None,
        {key: value for key, value in given.items() if key not in functions},
        {key: value for key, value in state.items() if key not in types},
        types,
        functions,
    )


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value


def _transformer_class(kind: str) -> Any:
    return getattr(import_module(TRANSFORMERS[kind]), kind)


def _refusal(name: str, step: Any, rule: str) -> StoreError:
    return StoreError(
        f"save: of a pipeline {rule}; step {name!r} is a {type(step).__name__}.",
        hint="For other pipelines use skops or joblib.",
    )


def from_stored(stored: StoredPipeline) -> Pipeline:
    """Rebuild a pipeline from plain data that nobody vouches for."""
    from sklearn.pipeline import Pipeline

    steps = [(step.name, _from_step(step)) for step in stored.steps]
    if not steps or stored.steps[-1].model is None:
        raise UnsoundError("must end in a model")
    pipeline = Pipeline(steps)
    try:
        _try_steps([step for _, step in steps if step != "passthrough"])
    except Exception as why:
        raise UnsoundError("holds steps that do not fit each other") from why
    return pipeline


#: Ordinary numbers to try the steps with.
_NUMBERS = (0.5, -2.0, 3.0, 1e6)


def _try_steps(steps: list[Any]) -> None:
    """Send rows of numbers through the steps of a pipeline that takes arrays."""
    first = steps[0]
    for step in steps[:-1]:
        check_is_fitted(step)
        if hasattr(step, "after_load"):
            step.after_load()
    size, names = (getattr(first, f"{what}_in_", None) for what in ("n_features", "feature_names"))
    if len(steps) == 1 and size is None:
        return  # a model of named columns
    if type(size) is not int or not 0 < size < _MAX_COLUMNS:
        raise ValueError("the number of columns must be a whole number")
    if names is not None:
        if not isinstance(names, np.ndarray) or [type(name) for name in names] != [str] * size:
            raise ValueError("every column must have a name")
        return  # columns of a frame may hold anything
    rows: Any = np.tile(np.array(_NUMBERS)[:, None], size)
    for step in steps[:-1]:
        rows = step.transform(rows)
        if type(step).__name__ == "FunctionTransformer":
            rows = np.where(np.isfinite(rows), rows, 0.5)
    steps[-1].predict(rows)


def _from_step(step: StoredStep) -> Any:
    if step.kind == "passthrough":
        return "passthrough"
    if step.model is not None:
        inner = getattr(step.model, "model_", step.model)
        if not is_model(inner) or not is_fitted(step.model) or not is_fitted(inner):
            raise UnsoundError(f"must hold a fitted model in step {step.name[:40]!r}")
        return step.model
    if step.kind not in TRANSFORMERS:
        raise UnsoundError(
            f"holds a {step.kind[:40]!r}, which this countwise does not know", UPGRADE
        )
    kind = _transformer_class(step.kind)
    functions = {key: getattr(np, name, None) for key, name in step.functions.items()}
    if not all(_is_numpy(function) for function in functions.values()):
        raise UnsoundError("must name functions of NumPy only")
    transformer = kind(**step.parameters, **functions)
    types = {key: np.dtype(name) for key, name in step.types.items()}
    _restore(transformer, {**step.state, **types})
    return transformer


def _restore(transformer: Any, state: Mapping[str, Any]) -> None:
    """Set what `fit` left behind; nothing that the class defines can be replaced."""
    for name, value in state.items():
        if not _ATTRIBUTE.fullmatch(name) or hasattr(type(transformer), name):
            raise UnsoundError(f"must not set {name[:40]!r} of a {type(transformer).__name__}")
        setattr(transformer, name, value)
