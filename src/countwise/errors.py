"""The errors that countwise raises, in one class hierarchy.

::

    CountwiseError
    ├── ParameterError      a parameter of a model, a rule or a function is not what it must be
    │   └── GainError       a gain matrix is incomplete or ambiguous
    ├── TableError          a file, a frame, a column or a row cannot be read as data
    │   └── SchemaError     a table and a schema do not match
    ├── SampleError         a dataset named by the user is unknown or out of reach
    ├── CountsError         counts that cannot be merged, subtracted or used by a model
    └── StoreError          a saved file that cannot be trusted or written

    UnseenLevelWarning      a row holds a level that training never saw
    MissingColumnWarning    rows to predict lack a column that training had
    PrecisionWarning        rounding has made a result inaccurate

A message reads *Who: name must be rule; got value. Hint.* Texts name a parameter in backquotes,
as in "Add 'n/a' to `missing=`": Python prints ``missing=``, the command line prints ``--missing``.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: Spells a parameter for one surface from its name and its value (as code, perhaps empty);
#: None says that the surface has no such option.
Spelling = Callable[[str, str], str | None]

_PARAMETER = re.compile(r"`([A-Za-z_]\w*)=([^`]*)`")
_WHO = re.compile(r"([A-Za-z_][\w.-]*): ")
_MAX_QUOTED = 80


def spell_python(name: str, value: str) -> str:
    """Spell a parameter as Python code."""
    return f"{name}={value}"


class CountwiseError(Exception):
    """The parent of every error raised here on purpose; the command line prints it and exits 2.

    Parameters
    ----------
    message
        *Who: what must hold; what was found.* Without the full stop at the end it gets one.
    hint
        How to correct it: a sentence, or alternatives of which any one helps. Alternatives are
        joined by "or"; a surface leaves out those that name an option it lacks.
    """

    def __init__(self, message: str = "", *, hint: str | Sequence[str] = ()) -> None:
        super().__init__(message)
        who = _WHO.match(message)
        self.who = who[1] if who else ""
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.text(spell_python)

    def text(self, spell: Spelling) -> str:
        """Return the message and the hint with parameters spelled as a surface spells them."""
        message = spell_parameters(self.message, spell)
        hints = (self.hint,) if isinstance(self.hint, str) else self.hint
        possible = [spell_parameters(hint, spell) for hint in hints if _has_options(hint, spell)]
        joined = ", or ".join(possible).strip()
        if not joined:
            return message
        end = "" if message.rstrip().endswith((".", "?", "!")) else "."
        close = "" if joined.endswith((".", "?", "!")) else "."
        return f"{message}{end} {joined[:1].upper()}{joined[1:]}{close}"


def spell_parameters(text: str, spell: Spelling) -> str:
    """Spell the parameters in a text; those a surface lacks are spelled as Python code."""
    return _PARAMETER.sub(lambda found: spell(found[1], found[2]) or f"{found[1]}={found[2]}", text)


def _has_options(text: str, spell: Spelling) -> bool:
    """Return whether a surface has an option for every parameter that a text names."""
    return all(spell(found[1], found[2]) is not None for found in _PARAMETER.finditer(text))


def quote(value: object) -> str:
    """Return a value as a message shows it, cut at about 80 characters."""
    text = repr(value)
    if len(text) <= _MAX_QUOTED:
        return text
    return f"{text[: _MAX_QUOTED - 2]}…{text[0] if isinstance(value, str) else ''}"


class ParameterError(CountwiseError, ValueError):
    """A parameter is not what it must be.

    Parameters
    ----------
    who
        The class, function or command that takes the parameter; or the whole message.
    name, rule, got, hint
        *Who: name must be rule; got value. Hint.*
    """

    def __init__(
        self,
        who: str = "",
        name: str = "",
        rule: str = "",
        got: Any = None,
        hint: str | Sequence[str] = (),
    ) -> None:
        message = f"{who}: {name} must be {rule}; got {quote(got)}." if name else who
        super().__init__(message, hint=hint)
        self.who = who if name else self.who
        self.name, self.rule, self.got = name, rule, got

    def text(self, spell: Spelling) -> str:
        """Return the message; the name of the parameter stands alone, without an equals sign."""
        if not self.name:
            return super().text(spell)
        bare = (spell(self.name, "") or self.name).removesuffix("=")
        return CountwiseError(
            f"{self.who}: {bare} must be {self.rule}; got {quote(self.got)}.", hint=self.hint
        ).text(spell)


class TableError(CountwiseError, ValueError):
    """The data cannot be read as a table of nominal and numeric columns."""


class ChangedSourceError(TableError):
    """Rows outside memory changed, or were removed, while they were scanned."""


class SchemaError(TableError):
    """A table lacks a column of its schema, or holds it as another kind."""


class SampleError(CountwiseError, ValueError):
    """A dataset named by the user is unknown or out of reach."""


class CountsError(CountwiseError, ValueError):
    """Counts that do not belong together, or lack what a model needs."""


class GainError(ParameterError):
    """A gain matrix whose labels or values are incomplete or ambiguous."""


class StoreError(CountwiseError, ValueError):
    """A saved file that is damaged, too new, too large, or cannot be written."""


class UnseenLevelWarning(UserWarning):
    """Rows held levels never seen in training; the message says which and how they were treated."""


class MissingColumnWarning(UserWarning):
    """Rows to predict lack a column of the model, which was taken as missing in every row."""


class PrecisionWarning(UserWarning):
    """Forgetting rows left a value that rounding made inaccurate; the message says where."""


def did_you_mean(word: object, candidates: Iterable[object]) -> str:
    """Return `` Did you mean 'outlook'?`` for a near miss, or an empty string."""
    names = {str(candidate): candidate for candidate in candidates}
    folded = {name.casefold(): name for name in names}
    text = str(word)
    if text.casefold() in folded:
        return f" Did you mean {quote(names[folded[text.casefold()]])}?"
    near = difflib.get_close_matches(text.casefold(), folded, n=1, cutoff=0.6)
    return f" Did you mean {quote(names[folded[near[0]]])}?" if near else ""


def listing(items: Iterable[object], most: int = 5) -> str:
    """Return ``'a', 'b' and 3 more`` for a message that must stay one sentence."""
    return shorten(list(items), most, quote)


def shorten(items: Sequence[object], most: int = 6, write: Callable[[object], str] = str) -> str:
    """Return ``a, b and 3 more``."""
    shown = ", ".join(map(write, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def shown(path: object) -> str:
    """Return a path as a message shows it."""
    try:
        return repr(os.fspath(path))  # type: ignore[call-overload]
    except TypeError:
        return repr(path)
