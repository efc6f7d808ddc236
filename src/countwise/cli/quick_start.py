"""Import Arrow and scikit-learn without the packages that they import and a command seldom uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

#: scikit-learn imports these for single functions; they take more than half of its start.
_SELDOM_USED = ("pandas", "scipy.stats")


def start_quickly() -> None:
    """Import Arrow and scikit-learn in a process that runs one command."""
    import pyarrow as pa

    with _without("pandas"):
        pa.array([])  # Arrow looks for pandas once; no command hands it a pandas frame
    with _deferred(*_SELDOM_USED):
        import_module("sklearn.base")


class _Refusal(MetaPathFinder):
    """Refuse to import one package."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse the package; leave others to the next finder."""
        if name == self._name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def _without(name: str) -> Iterator[None]:
    refusal = _Refusal(name)
    sys.meta_path.insert(0, refusal)
    try:
        yield
    finally:
        sys.meta_path.remove(refusal)


class _Deferred(ModuleType):
    """Stand in for a module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def _deferred(*names: str) -> Iterator[None]:
    """Put stand-ins in the place of modules; who imports them meanwhile keeps the stand-ins."""
    stand_ins = [_Deferred(name) for name in names if name not in sys.modules]
    sys.modules.update({module.__name__: module for module in stand_ins})
    try:
        yield
    finally:
        for module in stand_ins:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
