"""Import Arrow and scikit-learn without the packages that they import and a command seldom uses.

Nothing is imported before a command needs it. When it needs scikit-learn, modules that
scikit-learn imports for single functions are replaced by stand-ins: a stand-in imports its module
when one of its names is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

#: scikit-learn and SciPy import these for single functions; they are three quarters of its start.
_SELDOM_USED = (
    "asyncio",
    "numpy.f2py",
    "numpy.testing",
    "pandas",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
)


def start_quickly() -> None:
    """Prepare the import of Arrow and scikit-learn in a process that runs one command."""
    sys.meta_path.insert(0, _QuickImport())


class _QuickImport(MetaPathFinder):
    """Find Arrow and scikit-learn, and import each in its quick way."""

    def __init__(self) -> None:
        self._ways = {"pyarrow": _tell_arrow_of_no_pandas, "sklearn": _defer_seldom_used}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where a package is, once; leave other modules to the next finder."""
        way = self._ways.pop(name, None)
        spec = None if way is None else PathFinder.find_spec(name, path, target)
        if way is not None and spec is not None and spec.loader is not None:
            spec.loader = _Guided(spec.loader, way)
        return spec


class _Guided(Loader):
    """Run a package within a context; afterwards its own loader stands for it."""

    def __init__(self, loader: Loader, context: Callable[[], AbstractContextManager[None]]) -> None:
        self._loader, self._context = loader, context

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as its own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the package within the context."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        with self._context():
            self._loader.exec_module(module)


@contextmanager
def _tell_arrow_of_no_pandas() -> Iterator[None]:
    """Let Arrow look for pandas, as it does once, and find none.

    No command hands it a pandas frame. If pandas is what imports Arrow, nothing is saved.
    """
    yield
    if "pandas" in sys.modules:
        return
    refusal = _Refusal("pandas")
    sys.meta_path.insert(0, refusal)
    try:
        import_module("pyarrow.lib").array([])
    finally:
        sys.meta_path.remove(refusal)


class _Refusal(MetaPathFinder):
    """Refuse to import one package."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse the package; leave others to the next finder."""
        if name == self._name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def _defer_seldom_used() -> Iterator[None]:
    """Find stand-ins for modules; who imports these meanwhile keeps the stand-ins.

    Afterwards `sys.modules` holds none of them, for other packages ask it what is imported.
    """
    deferral = _Deferral([name for name in _SELDOM_USED if name not in sys.modules])
    sys.meta_path.insert(0, deferral)
    try:
        yield
    finally:
        sys.meta_path.remove(deferral)
        for module in deferral.stand_ins:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]


class _Deferral(MetaPathFinder, Loader):
    """Find stand-ins for some modules, each once: the second import is the real one."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = set(names)
        self.stand_ins: list[ModuleType] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where a stand-in comes from; leave other modules to the next finder."""
        if name not in self._names:
            return None
        self._names.remove(name)
        return ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> None:
        """Let the import system make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Make the empty module a stand-in."""
        module.__class__ = _Deferred
        self.stand_ins.append(module)


class _Deferred(ModuleType):
    """Stand in for a module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)
