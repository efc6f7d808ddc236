"""Reading a JSON document that may hold anything: what must be a text is one, or is refused."""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

from countwise.store.flaws import UnsoundError

#: How many values a document may hold; each costs far more memory than its text.
MOST_VALUES = 4_000_000
#: How many digits a whole number may have: as a double it is still finite.
MOST_DIGITS = 100

T = TypeVar("T")


def parse(data: bytes, name: str) -> Any:
    """Read JSON strictly: no NaN, no endless numbers, no name twice, no depth without end."""
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise UnsoundError(f"holds more than {MOST_VALUES} values in {name!r}")
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_int=_whole,
            parse_float=_real,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise UnsoundError(f"holds JSON nested without end in {name!r}") from None
    except ValueError as why:
        raise UnsoundError(f"holds no proper JSON in {name!r} ({str(why)[:100]})") from None


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return made


class Fields:
    """A JSON object whose values are fetched by name and type."""

    def __init__(self, plain: Any, where: str) -> None:
        if not isinstance(plain, dict):
            raise UnsoundError(f"must hold an object in {where}, but {_brief(plain)} is there")
        self.plain: dict[str, Any] = plain
        self.where = where

    def __contains__(self, name: object) -> bool:
        return self.plain.get(name) is not None if isinstance(name, str) else False

    def any(self, name: str) -> Any:
        """Return whatever stands under the name; it must be there."""
        if name not in self.plain:
            raise UnsoundError(f"must hold {name!r} in {self.where}, but it does not")
        return self.plain[name]

    def text(self, name: str) -> str:
        """Return a text."""
        return self._typed(name, str, "a text")

    def flag(self, name: str) -> bool:
        """Return true or false."""
        return self._typed(name, bool, "true or false")

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        return self._typed(name, list, "a list")

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        items = self.items(name)
        if not all(isinstance(item, str) for item in items):
            raise self._wrong(name, "a list of texts", items)
        return items

    def whole(self, name: str, low: int = 0, high: int = 2**62) -> int:
        """Return a whole number between two bounds."""
        value = self.any(name)
        if type(value) is not int or not low <= value <= high:
            raise self._wrong(name, f"a whole number between {low} and {high}", value)
        return value

    def inner(self, name: str) -> Fields:
        """Return an object within."""
        return Fields(self.any(name), f"{name!r} of {self.where}")

    def objects(self, name: str) -> list[Fields]:
        """Return a list of objects."""
        where = f"{name!r} of {self.where}"
        return [Fields(item, where) for item in self.items(name)]

    def _typed(self, name: str, kind: type[T], words: str) -> T:
        value = self.any(name)
        if type(value) is not kind:
            raise self._wrong(name, words, value)
        return value

    def _wrong(self, name: str, words: str, value: Any) -> UnsoundError:
        return UnsoundError(
            f"must hold {words} under {name!r} of {self.where}, but {_brief(value)} is there"
        )


def _brief(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
