"""Answers of a model for the rows of a PySpark DataFrame: a frame with further columns."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from countwise.errors import MissingColumnWarning, ParameterError, TableError, listing

#: Rows that are answered together.
_ROWS = 1 << 16
#: A list of columns, each with its value and a number of this name.
_OF_COLUMNS = " of columns"
#: What `explain` tells of a row.
_EXPLAINED = {
    "class": "string",
    "against": "string",
    "prior_log_odds": "double",
    "log_odds": "double",
    "parts": f"log_odds{_OF_COLUMNS}",
}
#: The same of a model that predicts a number.
_EXPLAINED_NUMBER = {"prediction": "double", "mean": "double", "parts": f"change{_OF_COLUMNS}"}


def to_spark(given: Any) -> Any:
    """Return a PySpark DataFrame, of Spark itself or of Spark Connect; None for anything else."""
    if type(given).__module__.startswith("narwhals") and hasattr(given, "to_native"):
        given = given.to_native()
    kind = type(given)
    is_frame = any(parent.__name__ == "DataFrame" for parent in kind.__mro__)
    return given if is_frame and kind.__module__.startswith("pyspark.sql") else None


def answer_rows(
    method: Callable[..., Any], model: Any, X: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Answer a PySpark DataFrame by a frame, and other rows by the method itself."""
    frame = to_spark(X)
    if frame is None:
        return method(model, X, *args, **options)
    return _ANSWERS[method.__name__](model, frame)


def _predict(model: Any, frame: Any) -> Any:
    name = "prediction"
    labels: Sequence[Any] = (0.5,)
    if hasattr(model, "rule_"):
        name, labels = "decision", model.decisions_.tolist()
        if hasattr(model.rule_, "random_state"):
            raise ParameterError(
                "predict: a rule that draws needs rows in a fixed order; those of a PySpark "
                "DataFrame have none.",
                hint="Draw from predict_proba(frame)",
            )
    elif hasattr(model, "classes_"):
        name, labels = "class", model.classes_.tolist()
    kind = _kind_of(labels)

    def work(rows: Any) -> dict[str, Any]:
        found = model.predict(rows).tolist()
        return {name: [str(label) for label in found] if kind == "string" else found}

    return _add_columns(frame, model, {name: kind}, work)


def _predict_proba(model: Any, frame: Any) -> Any:
    names = [f"p_{label}" for label in model.classes_.tolist()]

    def work(rows: Any) -> dict[str, Any]:
        return dict(zip(names, model.predict_proba(rows).T, strict=True))

    return _add_columns(frame, model, dict.fromkeys(names, "double"), work)


def _explain(model: Any, frame: Any) -> Any:
    kinds = _EXPLAINED if hasattr(model, "classes_") else _EXPLAINED_NUMBER

    def work(rows: Any) -> dict[str, Any]:
        found = model.explain(rows)
        facts = [found.to_dict(row) for row in range(len(found))]
        return {
            name: [str(fact[name]) if kind == "string" else fact[name] for fact in facts]
            for name, kind in kinds.items()
        }

    return _add_columns(frame, model, kinds, work)


_ANSWERS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": _predict,
    "predict_proba": _predict_proba,
    "explain": _explain,
}


def _kind_of(labels: Sequence[Any]) -> str:
    """Return the type that Spark has for labels; those of several types become texts."""
    kinds = {type(label) for label in labels}
    return {bool: "boolean", int: "bigint", float: "double"}.get(
        kinds.pop() if len(kinds) == 1 else str, "string"
    )


def _add_columns(
    frame: Any, model: Any, kinds: dict[str, str], work: Callable[[Any], dict[str, Any]]
) -> Any:
    """Return the frame with further columns, computed by the workers of Spark."""
    from pyspark.sql.types import StructField, StructType

    from countwise.tables.sources.spark import quote_column, spark_sentence

    inner = model
    while hasattr(inner, "model_"):
        inner = inner.model_
    who = type(inner).__name__
    if not hasattr(inner, "schema_"):
        raise TableError(f"{who}: only a fitted model answers the rows of a frame. Call fit first.")
    needed = [column.name for column in inner.schema_.attributes if not column.part_of]
    used = [name for name in needed if name in frame.columns]
    if not used:
        raise TableError(
            f"{who}: the frame must have columns of the model, such as {listing(needed, 3)}; it "
            f"has {listing(frame.columns, 3)}."
        )
    if len(used) < len(needed):
        lacking = listing([name for name in needed if name not in used])
        warnings.warn(
            f"{who}: the rows lack columns, which were taken as missing: {lacking}.",
            MissingColumnWarning,
            stacklevel=4,
        )
    kept = [name for name in frame.columns if name not in kinds]
    with spark_sentence("a PySpark DataFrame"):
        fields = [field for field in frame.schema.fields if field.name in kept]
        more = [StructField(name, _parse(kind)) for name, kind in kinds.items()]
        read = frame.select(*map(quote_column, dict.fromkeys([*kept, *used])))
        return read.mapInArrow(
            partial(_answer_rows, kept, used, work), StructType([*fields, *more])
        )


def _parse(kind: str) -> Any:
    """Return a type of Spark by its name."""
    from pyspark.sql import types

    if kind.endswith(_OF_COLUMNS):
        part = types.StructType()
        for name in ("attribute", "value"):
            part = part.add(name, types.StringType())
        return types.ArrayType(part.add(kind.removesuffix(_OF_COLUMNS), types.DoubleType()))
    return {
        "boolean": types.BooleanType(),
        "bigint": types.LongType(),
        "double": types.DoubleType(),
        "string": types.StringType(),
    }[kind]


def _answer_rows(
    kept: list[str],
    used: list[str],
    work: Callable[[Any], dict[str, Any]],
    batches: Iterator[Any],
) -> Iterator[Any]:
    """Add the answers to the rows of a partition, on a worker."""
    import pyarrow as pa

    from countwise.tables.sources.spark import gather

    os.environ.setdefault("COUNTWISE_THREADS", "1")
    for rows in gather(batches, _ROWS):
        with warnings.catch_warnings():
            # Unseen levels and lacking columns of each block would fill the logs of Spark.
            warnings.simplefilter("ignore")
            found = work(rows.select(used))
        answered = rows.select(kept)
        for name, column in found.items():
            answered = answered.append_column(name, pa.array(column))
        yield from answered.combine_chunks().to_batches()
