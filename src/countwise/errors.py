"""Every error a user of countwise can meet, in one family.

::

    CountwiseError
    ├── ParameterError      a parameter of a model, a rule or a function is not what it must be
    ├── TableError          the data themselves: a file, a frame, a column, a row
    │   └── SchemaError     a table and a schema do not fit each other
    ├── SampleError         a data set asked for by name cannot be had
    ├── CountsError         counts that cannot be merged, subtracted or used by a model
    ├── GainError           a gain matrix that does not say what it must
    └── StoreError          a saved file that cannot be trusted or written

    UnseenLevelWarning      a row holds a level that training never saw
    PrecisionWarning        a figure is left that rounding has eaten into

A message reads *who: what must hold, what came instead. How to mend it.* It is one sentence or
two, never a traceback to interpret.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable


class CountwiseError(Exception):
    """The parent of every error raised here on purpose; the command line prints it and exits 2."""

    #: The options of the command that met it, on the command line.
    options: frozenset[str] | None = None


class ParameterError(CountwiseError, ValueError):
    """A parameter is not what it must be."""


class TableError(CountwiseError, ValueError):
    """The data cannot be read as a table of nominal and numeric columns."""


class SchemaError(TableError):
    """A table lacks a column its schema asks for, or holds it as another kind."""


class SampleError(CountwiseError, ValueError):
    """A data set asked for by name is unknown or out of reach."""


class CountsError(CountwiseError, ValueError):
    """Counts that do not belong together, or lack what a model needs."""


class GainError(ParameterError):
    """A gain matrix whose labels or values leave its meaning open."""


class StoreError(CountwiseError, ValueError):
    """A saved file that is damaged, too new, too large, or cannot be written."""


class UnseenLevelWarning(UserWarning):
    """Rows held levels never seen in training; the message says which and what was done."""


class PrecisionWarning(UserWarning):
    """What is left after taking rows away may be lost in rounding; the message says where."""


def did_you_mean(word: object, candidates: Iterable[object]) -> str:
    """Return `` Did you mean 'outlook'?`` for a near miss, or an empty string."""
    names = {str(candidate): candidate for candidate in candidates}
    folded = {name.casefold(): name for name in names}
    text = str(word)
    if text.casefold() in folded:
        return f" Did you mean {names[folded[text.casefold()]]!r}?"
    near = difflib.get_close_matches(text.casefold(), folded, n=1, cutoff=0.6)
    return f" Did you mean {names[folded[near[0]]]!r}?" if near else ""


def listing(items: Iterable[object], most: int = 5) -> str:
    """Return ``'a', 'b' and 3 more`` for a message that must stay one sentence."""
    every = list(items)
    shown = ", ".join(repr(item) for item in every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"


def shown(path: object) -> str:
    """Return a path as a message shows it."""
    try:
        return repr(os.fspath(path))  # type: ignore[call-overload]
    except TypeError:
        return repr(path)
