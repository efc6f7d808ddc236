"""A part of a study: the ids it answers for, its protocol in words, its data, and its code."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from countwise.errors import SampleError
from countwise.papers.findings import Outcome
from countwise.tables.read import read
from countwise.tables.samples import find
from countwise.tables.table import Table

Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class Part:
    """One table, figure or worked example of a paper, and the function that re-makes it.

    Attributes
    ----------
    name
        How it is asked for, such as ``p1-table-1``.
    ledger
        The ids it answers for.
    title
        What it is, in a phrase.
    protocol
        How it is measured, in sentences.
    run
        Takes a `Work`, returns an `Outcome`.
    data
        The samples it reads.
    seed
        The seed of all that is drawn.
    cost
        Roughly how many seconds it takes, for the progress bar.
    """

    name: str
    ledger: tuple[str, ...]
    title: str
    protocol: str
    run: Callable[[Work], Outcome]
    data: tuple[str, ...] = ()
    seed: int = 0
    cost: float = 1.0

    @property
    def paper(self) -> str:
        """The short name of its paper."""
        return self.ledger[0].split(".")[0].lower()

    @property
    def code(self) -> str:
        """The source of the function."""
        return inspect.getsource(self.run)

    @property
    def home(self) -> str:
        """Where the function stands: a module and a name."""
        return f"{self.run.__module__}.{self.run.__qualname__}"


@dataclass
class Work:
    """What a part is run with: its data, its seed, whether to be quick, and whom to tell."""

    quick: bool = False
    seed: int = 0
    tell: Tell = lambda share, text: None
    missing: dict[str, str] = field(default_factory=dict)

    def table(self, name: str, **options: Any) -> Table:
        """Return a sample as a table; one that is out of reach raises `SampleError`."""
        return read(f"sample:{name}", **options)

    def tables(
        self, names: Sequence[str], options: Callable[[str], dict[str, Any]] | None = None
    ) -> Iterator[tuple[str, Table]]:
        """Go through samples and tell how far; those out of reach are kept in `missing`."""
        for at, name in enumerate(names):
            self.tell(at / len(names), name)
            try:
                table = self.table(name, **(options(name) if options else {}))
            except SampleError as why:
                self.missing[name] = str(why)
                continue
            yield name, table


def data_hash(name: str) -> str:
    """Return the first letters of the SHA-256 of a sample's file, or say that it is missing."""
    try:
        content = find(name).locate().read_bytes()
    except SampleError:
        return "missing"
    return hashlib.sha256(content).hexdigest()[:16]
