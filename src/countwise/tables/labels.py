"""Match class labels between files, frames and models; write labels, numbers and dates.

A label matches a class when the two are equal or, failing that, when they read the same: the
``1`` of a CSV file is text, the class ``1`` a number. Failing that too, they match when both read
as the same number: the ``1.0`` of a file is the class ``1``. ``007`` is a name, no number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise.errors import CountwiseError, GainError, ParameterError
from countwise.numeric import WHOLE, number_text, read_number

Label: TypeAlias = Hashable
Labels: TypeAlias = NDArray[Any]

_LEADING_ZERO = re.compile(r"[+-]?0\d")


def plain(label: Any) -> Label:
    """Turn a NumPy scalar into the Python value it stands for."""
    return label.item() if isinstance(label, np.generic) else label  # type: ignore[no-any-return]


def is_missing(label: Any) -> bool:
    """Return whether a label is no label at all: None, NaN or blank text."""
    if label is None or (isinstance(label, str) and not label.strip()):
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):
        # pandas.NA refuses to be true or false
        return True


def text(label: Label) -> str:
    """Write a label as a file would: whole floats without their point."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()


def value_text(value: float, dates: bool, digits: int = 6) -> str:
    """Write a number of a column, or a threshold between two; of dates as a date."""
    if not dates:
        return number_text(value, digits)
    from countwise.tables.cell_forms import date_text

    # A threshold between two days is noon or midnight; whole days up to it end with its own day.
    return date_text(math.floor(value) if (2 * value).is_integer() else value)


def distinct_texts(values: Sequence[float], dates: bool = False) -> list[str]:
    """Write thresholds of a column with as many digits as tell them apart."""
    texts: list[str] = []
    if dates:
        from countwise.tables.cell_forms import date_text

        for write in (lambda value: value_text(value, True), date_text):
            texts = [write(value) for value in values]
            if len(set(texts)) == len(values):
                return texts
    digits = 4
    while len(set(texts)) < len(values) and digits < 18:
        texts = [number_text(value, digits) for value in values]
        digits += 1
    return texts


def quoted(labels: Iterable[Label]) -> str:
    """Return ``'bad', 'good'`` for a sentence, every label as text."""
    return ", ".join(f"'{label}'" for label in labels)


def find(
    label: Label,
    among: Sequence[Label],
    who: str,
    error: type[CountwiseError] = GainError,
) -> int:
    """Return the position of a label among others, by equality, text, then value; -1 if absent."""
    equal = [at for at, other in enumerate(among) if label == other]
    if equal:
        return equal[0]
    alike = [at for at, other in enumerate(among) if text(label) == text(other)]
    value = None if alike else _value(label)
    if value is not None:
        alike = [at for at, other in enumerate(among) if _value(other) == value]
    if len(alike) > 1:
        several = ", ".join(repr(among[at]) for at in alike)
        raise error(
            f"{who}: a label must name one class; {label!r} reads like each of {several}. "
            "Write labels in the type of the classes."
        )
    return alike[0] if alike else -1


def _value(label: Label) -> int | float | None:
    """Return the number a label reads as, whole ones exactly; None if it is none."""
    written = text(label)
    value = None if _LEADING_ZERO.match(written) else read_number(written)
    if value is None or not math.isfinite(value):
        return None
    return int(written) if WHOLE.fullmatch(written) else value


def label_array(classes: Iterable[Any], extra: Label | None = None) -> Labels:
    """Return labels as an array that keeps the type of each, with one more if it is given."""
    if extra is None and isinstance(classes, np.ndarray):
        return classes
    kept = [plain(label) for label in classes]
    if extra is not None:
        kept.append(extra)
    together = np.empty(len(kept), dtype=object)
    together[:] = kept
    kinds = {type(label) for label in kept}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        was_object = isinstance(classes, np.ndarray) and classes.dtype == object
        return together if was_object else np.array(kept)
    return together


def as_array(y: Any) -> Labels:
    """Return labels as an array; those of a list stay what they are, not turned into text."""
    return np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)


def positions(y: Any, classes: Sequence[Any] | Labels, who: str) -> NDArray[np.intp]:
    """Return where each label of `y` stands among the classes; -1 for a label that is no class."""
    column = as_array(y)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ParameterError(
            f"{who}: y must be one column of labels; got an array of shape {column.shape}. "
            "Give one label a row."
        )
    known = [plain(label) for label in classes]
    _refuse_missing(column, who)
    if column.dtype == object:
        place = {label: find(label, known, who, ParameterError) for label in set(column.tolist())}
        return np.array([place[label] for label in column.tolist()], dtype=np.intp)
    levels, inverse = np.unique(column, return_inverse=True)
    at = np.array([find(plain(level), known, who, ParameterError) for level in levels], np.intp)
    return at[inverse.ravel()] if len(at) else np.zeros(0, dtype=np.intp)


def _refuse_missing(column: Labels, who: str) -> None:
    if column.dtype.kind not in "fO":
        return
    missing = (
        np.isnan(column)
        if column.dtype.kind == "f"
        else np.array([is_missing(label) for label in column.tolist()], dtype=bool)
    )
    if missing.any():
        raise ParameterError(
            f"{who}: every row must have its true label; row {int(np.argmax(missing))} of y has "
            "none. Leave such rows out."
        )
