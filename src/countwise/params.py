"""Parameters of models: one line declares the default, the check, the help and the tests.

A model lists its parameters as fields::

    class Neighbors(Model):
        n_neighbors: int = parameter(whole(at_least=1), "how many neighbors vote", default=5)
        rows_: Table = fitted("the training rows")

The constructor, the section *Parameters* of the class docstring, ``countwise models`` and the tests
come from these lines; `check` refuses what a line does not admit. Fitted fields are what `save`
writes; their annotations are the file format.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from countwise.errors import ParameterError, did_you_mean


@dataclass(frozen=True)
class Constraint:
    """What a value must be: words for people, a test for machines, examples for both."""

    words: str
    admits: Callable[[Any], bool]
    good: tuple[Any, ...] = ()
    bad: tuple[Any, ...] = ()
    choices: tuple[str, ...] = ()

    def __or__(self, other: Constraint) -> Constraint:
        """Admit what either side admits."""
        return Constraint(
            words=f"{self.words}, or {other.words}",
            admits=lambda value: self.admits(value) or other.admits(value),
            good=self.good + other.good,
            bad=tuple(value for value in self.bad + other.bad if not _either(self, other, value)),
            choices=self.choices + other.choices,
        )


def _either(left: Constraint, right: Constraint, value: Any) -> bool:
    return left.admits(value) or right.admits(value)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model: its constraint, and what it is for in a phrase."""

    constraint: Constraint
    meaning: str

    @property
    def help(self) -> str:
        """The line ``--help`` and the reference print."""
        return f"{self.meaning} ({self.constraint.words})"


def parameter(constraint: Constraint, meaning: str, *, default: Any, kw_only: bool = True) -> Any:
    """Declare a parameter of a model; with ``kw_only=False`` it may be given by position."""
    metadata = {"parameter": Parameter(constraint, meaning)}
    return dataclasses.field(default=default, kw_only=kw_only, metadata=metadata)


def fitted(meaning: str = "", *, init: Literal[False] = False) -> Any:
    """Declare what a model has after `fit`; it is saved and loaded by its annotation."""
    return dataclasses.field(init=init, repr=False, metadata={"fitted": meaning})


def derived(*, init: Literal[False] = False) -> Any:
    """Declare what a model keeps beside its fitted fields; it is not saved but made again."""
    return dataclasses.field(init=init, repr=False)


def declare_fields(kind: type) -> None:
    """Make the constructor, ``PARAMETERS``, ``FITTED`` and the docstring from the fields."""
    dataclasses.dataclass(repr=False, eq=False)(kind)
    # A class's own fields come before those it inherits.
    inherited = {name for base in kind.__bases__ for name in getattr(base, "FITTED", ())}
    inherited |= {name for base in kind.__bases__ for name in getattr(base, "PARAMETERS", ())}
    fields = sorted(dataclasses.fields(kind), key=lambda field: field.name in inherited)
    found = {f.name: f.metadata["parameter"] for f in fields if "parameter" in f.metadata}
    state = {f.name: f.metadata["fitted"] for f in fields if "fitted" in f.metadata}
    kind.PARAMETERS = found  # type: ignore[attr-defined]
    kind.FITTED = state  # type: ignore[attr-defined]
    text = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    if not found or "Parameters\n----------" in text:
        return
    described = {name: meaning for name, meaning in state.items() if meaning}
    sections = _section("Parameters", {n: _line(p.help) for n, p in found.items()})
    head, marker, rest = text.partition("\nExamples\n--------")
    # Attributes that a class describes itself come first in the one section of them.
    head, _, written = head.partition("\nAttributes\n----------\n")
    attributes = _section("Attributes", {n: _line(meaning) for n, meaning in described.items()})
    if written:
        title, _, entries = (attributes or "Attributes\n----------\n").partition("---\n")
        attributes = f"{title}---\n{written.strip()}\n{entries}".rstrip() + "\n\n"
    sections += attributes
    kind.__doc__ = f"{head.rstrip()}\n\n{sections}{marker}{rest}".rstrip() + "\n"


def _section(title: str, lines: Mapping[str, str]) -> str:
    if not lines:
        return ""
    wrap = partial(textwrap.fill, width=96, initial_indent="    ", subsequent_indent="    ")
    entries = "".join(f"{name}\n{wrap(text)}\n" for name, text in lines.items())
    return f"{title}\n{'-' * len(title)}\n{entries}\n"


def _line(phrase: str) -> str:
    return f"{phrase[:1].upper()}{phrase[1:].rstrip('.')}."


def number(
    at_least: float | None = None, above: float | None = None, at_most: float = math.inf
) -> Constraint:
    """A finite number, perhaps bounded."""
    words = "a number"
    if at_least is not None:
        words += f" of at least {at_least:g}"
    if above is not None:
        words += f" above {above:g}"
    if at_most < math.inf:
        words += f" and at most {at_most:g}"

    def admits(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return False
        try:
            real = float(value)
        except OverflowError:  # a whole number of more than 308 digits
            return False
        if not math.isfinite(real) or real > at_most:
            return False
        return (at_least is None or real >= at_least) and (above is None or real > above)

    low = at_least if at_least is not None else above if above is not None else 0.0
    return Constraint(
        words, admits, good=(min(low + 1.0, at_most),), bad=(float("nan"), [], low - 1.0)
    )


def infinity() -> Constraint:
    """The number beyond all others, where going to the end means something."""
    return Constraint(
        "infinity",
        lambda value: isinstance(value, numbers.Real) and float(value) == math.inf,
        good=(math.inf,),
        bad=(-math.inf,),
    )


def whole(at_least: int, at_most: int | None = None) -> Constraint:
    """A whole number with a lower bound, perhaps with an upper one, too."""

    def admits(value: Any) -> bool:
        return (
            isinstance(value, numbers.Integral)
            and not isinstance(value, bool)
            and int(value) >= at_least
            and (at_most is None or int(value) <= at_most)
        )

    return Constraint(
        f"a whole number of at least {at_least}"
        + ("" if at_most is None else f", at most {at_most}"),
        admits,
        good=(at_least, at_least + 3),
        bad=(at_least - 1, 1.5, [], *(() if at_most is None else (at_most + 1,))),
    )


def one_of(*words: str) -> Constraint:
    """One of a few words."""
    return Constraint(
        ("one of " if len(words) > 1 else "") + ", ".join(repr(word) for word in words),
        lambda value: isinstance(value, str) and value in words,
        good=words,
        bad=("no such word", 3.5),
        choices=words,
    )


def boolean() -> Constraint:
    """True or false."""
    return Constraint(
        "True or False", lambda value: isinstance(value, bool | np.bool_), (True, False), ("yes",)
    )


def nothing() -> Constraint:
    """None, where leaving a thing out means something."""
    return Constraint("None", lambda value: value is None, good=(None,))


def mapping(words: str = "a mapping") -> Constraint:
    """A mapping, for values given by name."""
    return Constraint(words, lambda value: isinstance(value, Mapping), bad=(7.5,))


def array(words: str = "an array of numbers") -> Constraint:
    """An array or a list of numbers."""

    def admits(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | np.ndarray):
            return False
        try:
            return bool(np.asarray(value, dtype=float).ndim >= 1)
        except (TypeError, ValueError):
            return False

    return Constraint(words, admits, bad=("text",))


def names(words: str = "a list of column names", single: bool = True) -> Constraint:
    """A list of column names or positions, or of other words; perhaps a `single` one alone."""

    def admits(value: Any) -> bool:
        if isinstance(value, str):
            return single
        if isinstance(value, bytes | Mapping):
            return False
        if isinstance(value, np.ndarray):
            return value.ndim == 1
        return isinstance(value, Sequence | set | frozenset)

    return Constraint(words, admits, good=(["a"],), bad=(7.5,))


def function() -> Constraint:
    """A function of the user's own."""
    return Constraint("a function", callable, good=(np.ones_like,), bad=(7.5,))


def text(words: str = "a text") -> Constraint:
    """A text, such as the name of a column."""
    return Constraint(words, lambda value: isinstance(value, str), bad=(7.5, []))


def fraction(zero: bool = False) -> Constraint:
    """A fraction of the rows: below 1, and above 0 unless `zero` admits none of them, too."""
    part = number(at_least=0) if zero else number(above=0)
    return Constraint(
        "a fraction of at least 0 and below 1" if zero else "a fraction above 0 and below 1",
        lambda value: part.admits(value) and float(value) < 1,
        good=(0.0, 0.25) if zero else (0.25, 0.5),
        bad=(-0.1 if zero else 0.0, 1.0, "half"),
    )


#: Seeds of NumPy's `RandomState`, which scikit-learn uses, have 32 bits.
LARGEST_SEED = 2**32 - 1


def seed() -> Constraint:
    """What scikit-learn takes as `random_state`: a whole number, a generator, or None."""
    kinds = (np.random.RandomState, np.random.Generator)
    in_range = whole(0, LARGEST_SEED)
    return Constraint(
        f"a whole number from 0 to {LARGEST_SEED}, a random generator, or None",
        lambda value: value is None or isinstance(value, kinds) or in_range.admits(value),
        good=(0, 7, None, np.random.RandomState(0)),
        bad=(-1, 1.5, "seed", LARGEST_SEED + 1),
    )


def check(who: str, parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Refuse the first value its parameter does not admit."""
    for name, parameter in parameters.items():
        value = values[name]
        if parameter.constraint.admits(value):
            continue
        hint = did_you_mean(value, parameter.constraint.choices) if isinstance(value, str) else ""
        raise ParameterError(who, name, parameter.constraint.words, value, hint.strip())
