"""What a re-made figure says: the printed one, ours, and whether they agree."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from countwise.errors import ParameterError, SampleError
from countwise.tables.datasets import find
from countwise.tables.read import read
from countwise.tables.table import Table

Verdict = Literal[
    "agrees",
    "agrees within the interval",
    "differs",
    "printed figure is wrong",
    "cannot be run",
]

#: Every verdict, the best first.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Interval = tuple[float, float]


@dataclass(frozen=True)
class Finding:
    """One figure of a paper beside ours.

    Attributes
    ----------
    ledger
        The requirement it belongs to, such as ``P1.10``.
    what
        What the figure is, in a phrase.
    printed
        The figure as the paper prints it; empty where it prints none.
    ours
        Our figure, with its interval where there is one.
    verdict
        One of `VERDICTS`.
    reason
        By how much and why, or the arithmetic.
    value, low, high
        Our figure and its interval as numbers, where it is one number.
    table, row, column
        Its place in a printed table, for figures that stand in one.
    """

    ledger: str
    what: str
    printed: str
    ours: str
    verdict: Verdict
    reason: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    table: str = ""
    row: str = ""
    column: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a number that is not finite is None."""
        plain = asdict(self)
        for name in ("value", "low", "high"):
            own = plain[name]
            plain[name] = None if own is None or not math.isfinite(own) else float(own)
        return plain


@dataclass(frozen=True)
class Shown:
    """A picture of a study: its title, its SVG, and what to see in it."""

    title: str
    svg: str
    words: str = ""


@dataclass
class Outcome:
    """What one part of a study found: figures, pictures, and remarks in sentences."""

    findings: list[Finding] = field(default_factory=list)
    pictures: list[Shown] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, *found: Finding | Shown | str) -> None:
        """Take in a figure, a picture or a sentence."""
        for own in found:
            if isinstance(own, Finding):
                self.findings.append(own)
            elif isinstance(own, Shown):
                self.pictures.append(own)
            else:
                self.remarks.append(own)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "findings": [own.to_dict() for own in self.findings],
            "pictures": [asdict(own) for own in self.pictures],
            "remarks": list(self.remarks),
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Outcome:
        """Return the outcome that `to_dict` made plain."""
        return cls(
            [Finding(**own) for own in plain["findings"]],
            [Shown(**own) for own in plain["pictures"]],
            [str(own) for own in plain["remarks"]],
        )


def _digits(printed: float, digits: int) -> str:
    return f"{printed:.{digits}f}" if digits < 7 else f"{printed:g}"


def worked(
    ledger: str, what: str, printed: float, ours: float, digits: int, reason: str = "", **place: Any
) -> Finding:
    """Judge a figure worked by hand: it agrees if ours rounds to the printed digits."""
    same = abs(ours - printed) <= 0.5 * 10.0**-digits * (1 + 1e-9)
    gap = "" if same else f"by {abs(ours - printed):.3g}. "
    return Finding(
        ledger,
        what,
        _digits(printed, digits),
        f"{ours:.{min(max(digits + 2, 4), 7)}g}",
        "agrees" if same else "differs",
        (gap + reason).strip(),
        value=float(ours),
        **place,
    )


def measured(
    ledger: str,
    what: str,
    printed: float,
    ours: float,
    interval: Interval,
    digits: int,
    reason: str = "",
    **place: Any,
) -> Finding:
    """Judge a figure that was measured on data: ours with an interval against the printed one.

    The printed figure counts as an interval of half its last digit either way.
    """
    half = 0.5 * 10.0**-digits * (1 + 1e-9)
    low, high = interval
    verdict: Verdict = "differs"
    if abs(ours - printed) <= half:
        verdict = "agrees"
    elif low - half <= printed <= high + half:
        verdict = "agrees within the interval"
    words = reason if verdict == "differs" else ""
    if verdict == "differs":
        near = low if printed < low else high
        ends = "begins" if printed < low else "ends"
        words = f"by {abs(ours - printed):.2g}: the interval {ends} at {near:.{digits}f}. {reason}"
    return Finding(
        ledger,
        what,
        _digits(printed, digits),
        f"{ours:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})",
        verdict,
        words.strip(),
        value=float(ours),
        low=float(low),
        high=float(high),
        **place,
    )


def erratum(
    ledger: str, what: str, printed: str, ours: str, arithmetic: str, **more: Any
) -> Finding:
    """Say that a printed figure is wrong, and why."""
    return Finding(ledger, what, printed, ours, "printed figure is wrong", arithmetic, **more)


def held(
    ledger: str,
    what: str,
    holds: bool,
    ours: str,
    reason: str = "",
    printed: str = "",
    value: float | None = None,
    **place: Any,
) -> Finding:
    """Judge a statement that is no single figure: it holds, or it does not."""
    verdict: Verdict = "agrees" if holds else "differs"
    return Finding(ledger, what, printed, ours, verdict, reason, value=value, **place)


def cannot(ledger: str, what: str, why: str, printed: str = "", **place: Any) -> Finding:
    """Say that a figure cannot be re-made here, and why."""
    return Finding(ledger, what, printed, "", "cannot be run", why, **place)


def tally(findings: Iterable[Finding]) -> dict[Verdict, int]:
    """Count the verdicts, the best first."""
    every = [own.verdict for own in findings]
    unknown = set(every) - set(VERDICTS)
    if unknown:
        raise ParameterError(
            f"papers: a verdict must be one of {', '.join(VERDICTS)}, but {sorted(unknown)} came. "
            "Use the functions of findings."
        )
    return {verdict: every.count(verdict) for verdict in VERDICTS if verdict in every}


def said(counts: dict[Verdict, int] | Sequence[tuple[Verdict, int]]) -> str:
    """Put a tally into words."""
    one = dict(
        zip(
            VERDICTS,
            ("agrees", "within the interval", "differs", "printed wrong", "cannot be run"),
            strict=True,
        )
    )
    many = {"agrees": "agree", "differs": "differ"}
    return ", ".join(
        f"{number} {one[verdict] if number == 1 else many.get(verdict, one[verdict])}"
        for verdict, number in dict(counts).items()
    )


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
