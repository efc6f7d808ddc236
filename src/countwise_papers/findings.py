"""Findings: a printed figure, our figure and the verdict; and the parts that compute them."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, SupportsFloat, get_args

import numpy as np
from numpy.typing import ArrayLike

from countwise.errors import SampleError
from countwise.evaluation.intervals import Estimate
from countwise.tables.datasets import find
from countwise.tables.read import read
from countwise.tables.table import Table

Verdict = Literal[
    "agrees",
    "agrees within the interval",
    "differs",
    "printed figure is wrong",
    "other data",
    "cannot be run",
]

#: Every verdict, the best first.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: What is compared. ``figure``: a number, which agrees if ours rounds to the printed digits, or
#: within the interval of ours. ``arithmetic``: a number that the paper works out from given ones,
#: with the interval of the right result. ``claim``: a statement, which holds if ours lies in the
#: interval. ``word``: a text to be equaled. ``other data``: a number that belongs to other rows.
Kind = Literal["figure", "arithmetic", "claim", "word", "other data", "not run"]

#: Lowest and highest value, both included; None is an open end.
Interval = tuple[float | None, float | None]


def at_most(value: float) -> Interval:
    """Return the interval of all numbers up to a value."""
    return None, value


def at_least(value: float) -> Interval:
    """Return the interval of all numbers from a value on."""
    return value, None


def above(value: float) -> Interval:
    """Return the interval of all numbers larger than a value."""
    return math.nextafter(value, math.inf), None


def exactly(value: float) -> Interval:
    """Return the interval that holds one value."""
    return value, value


TRUE = exactly(1)


def is_within(value: float | None, interval: Interval) -> bool:
    """Return whether a number lies in an interval; NaN and None do not."""
    low, high = interval
    return (
        value is not None
        and not math.isnan(value)
        and (low is None or value >= low)
        and (high is None or value <= high)
    )


def read_printed(printed: str) -> tuple[float, float]:
    """Return a printed number and half a unit of its last digit; 0 and 1 are meant exactly."""
    number = Decimal(printed)
    half = 0.5 * 10.0 ** int(number.as_tuple().exponent) * (1 + 1e-9)
    return float(number), 1e-12 if printed in ("0", "1") else half


def judge(
    printed: str,
    ours: float | str | None,
    interval: Interval | None = None,
    kind: Kind = "figure",
) -> Verdict | None:
    """Return the verdict on a printed figure, or None for an addition: nothing is printed."""
    if kind == "not run":
        return "cannot be run"
    if not printed:
        return None
    if kind == "other data":
        return "other data"
    if kind == "word":
        return "agrees" if ours == printed else "differs"
    value = None if ours is None else float(ours)
    if kind == "claim":
        return "agrees" if is_within(value, interval or TRUE) else "differs"
    number, half = read_printed(printed)
    if is_within(value, (number - half, number + half)):
        return "agrees"
    if kind == "arithmetic":
        right = interval is not None and is_within(value, interval)
        return "printed figure is wrong" if right else "differs"
    low, high = interval or (value, value)
    if low is not None and high is not None and low - half <= number <= high + half:
        return "agrees within the interval"
    return "differs"


@dataclass(frozen=True)
class Finding:
    """One figure of a paper beside ours; the verdict follows from its fields by `judge`."""

    ledger: str  # the requirement it belongs to, such as P1.10
    what: str  # the figure in a phrase
    printed: str  # as the paper prints it; empty for our additions
    ours: str  # our figure as text, with its interval where it has one
    value: float | None = None  # our figure as a number
    low: float | None = None  # with `high` the interval that `judge` takes for its kind
    high: float | None = None
    kind: Kind = "figure"
    reason: str = ""  # by how much and why, or the arithmetic
    table: str = ""  # with `row` and `column` its place in a printed table
    row: str = ""
    column: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """One of `VERDICTS`; None for our additions."""
        ours = self.ours if self.kind == "word" else self.value
        interval = None if self.low is self.high is None else (self.low, self.high)
        return judge(self.printed, ours, interval, self.kind)

    @property
    def holds(self) -> bool | None:
        """Whether a claim holds, also one of our own; None for other kinds."""
        return is_within(self.value, (self.low, self.high)) if self.kind == "claim" else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a number that is not finite is None."""
        plain = asdict(self)
        for name in ("value", "low", "high"):
            number = plain[name]
            finite = number is not None and math.isfinite(number)
            plain[name] = float(number) if finite else None
        return {**plain, "verdict": self.verdict}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Finding:
        """Return the finding from plain data; the verdict is computed again."""
        return cls(**{name: value for name, value in plain.items() if name != "verdict"})


def figure(
    ledger: str,
    what: str,
    printed: str,
    ours: SupportsFloat | Estimate,
    interval: Interval | None = None,
    reason: str = "",
    *,
    kind: Kind = "figure",
    text: str = "",
    digits: int | None = None,
    **place: Any,
) -> Finding:
    """Return the finding on a printed number, or on a number of ours, formatted by `text`.

    Without a text `digits` decimals are shown, as many as printed by default. The reason of a
    figure with an interval is kept only if the verdict is *differs*.
    """
    if isinstance(ours, Estimate):
        interval, ours = (ours.low, ours.high), ours.value
    value = float(ours)
    low, high = interval or (None, None)
    if digits is None:
        exponent = 0 if kind == "other data" else Decimal(printed or "0.000").as_tuple().exponent
        digits = max(0, -int(exponent))
    ends = "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"
    measured = kind == "figure" and ends != ""
    shown = text.format(value) or (
        f"{value:.{digits}f} ({ends})" if measured else f"{value:.{min(max(digits + 2, 4), 7)}g}"
    )
    found = Finding(ledger, what, printed, shown, value, low, high, kind, reason, **place)
    if found.verdict == "differs":
        gap = f"by {abs(value - float(printed)):.{2 if measured else 3}g}"
        beside = f": the interval is {ends}" if measured else ""
        return replace(found, reason=f"{gap}{beside}. {reason}".strip())
    return replace(found, reason="") if measured and printed else found


def held(
    ledger: str,
    what: str,
    value: SupportsFloat | Estimate,
    holds: Interval = TRUE,
    text: str = "{:.3f}",
    reason: str = "",
    printed: str = "",
    **place: Any,
) -> Finding:
    """Return the finding on a statement, which holds if the value lies in an interval."""
    number = float(value.value if isinstance(value, Estimate) else value)
    return Finding(
        ledger, what, printed, text.format(number), number, *holds, "claim", reason, **place
    )


def same_figures(
    ledger: str,
    what: str,
    ours: ArrayLike,
    right: ArrayLike,
    most: float,
    text: str = "largest gap {:.1g}",
    reason: str = "",
) -> Finding:
    """Return the finding that ours equal the right figures, but for gaps of at most so much."""
    gap = np.abs(np.subtract(ours, right)).max()
    return held(ledger, what, gap, at_most(most), text, reason)


def gain_text(gain: Estimate) -> str:
    """Return a gain, with its sign, and its interval."""
    return f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"


def same_word(
    ledger: str, what: str, printed: str, ours: str, reason: str = "", **place: Any
) -> Finding:
    """Return the finding on a printed word or list, which ours must equal."""
    return Finding(ledger, what, printed, ours, kind="word", reason=reason, **place)


def not_run(ledger: str, what: str, reason: str, printed: str = "", **place: Any) -> Finding:
    """Return the finding on a figure that cannot be re-made here."""
    return Finding(ledger, what, printed, "", kind="not run", reason=reason, **place)


def tally(findings: Iterable[Finding]) -> dict[Verdict, int]:
    """Count the verdicts, the best first; additions have none."""
    every = [finding.verdict for finding in findings]
    return {verdict: every.count(verdict) for verdict in VERDICTS if verdict in every}


#: Verdicts in a summary, where they are said in other words: of one figure, and of several.
_ONE = {
    "agrees within the interval": "within the interval",
    "printed figure is wrong": "printed wrong",
}
_MANY = {**_ONE, "agrees": "agree", "differs": "differ"}


def summarize(findings: Iterable[Finding]) -> str:
    """Return in words how many figures are printed, their verdicts, and how many are additions."""
    every = list(findings)
    counts = tally(every)
    judged = sum(counts.values())
    words = ", ".join(
        f"{number} {(_ONE if number == 1 else _MANY).get(verdict, verdict)}"
        for verdict, number in counts.items()
    )
    added = len(every) - judged
    parts = [f"{judged} printed figure{'s' * (judged != 1)}: {words}"] if judged else []
    parts += [f"{added} addition{'s' * (added != 1)} of ours"] if added else []
    return "; ".join(parts) or "no figures"


@dataclass(frozen=True)
class Drawing:
    """A picture of a study: its title, its SVG, and what it shows."""

    title: str
    svg: str
    words: str = ""


#: What a part yields: figures, pictures, and remarks in sentences.
Found = Iterator[Finding | Drawing | str]


@dataclass
class Outcome:
    """The result of one part of a study: figures, pictures, and remarks in sentences."""

    findings: list[Finding] = field(default_factory=list)
    pictures: list[Drawing] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, item: Finding | Drawing | str) -> None:
        """Add a figure, a picture or a sentence."""
        if isinstance(item, Finding):
            self.findings.append(item)
        elif isinstance(item, Drawing):
            self.pictures.append(item)
        else:
            self.remarks.append(item)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "pictures": [asdict(picture) for picture in self.pictures],
            "remarks": list(self.remarks),
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Outcome:
        """Return the outcome from what `to_dict` returned."""
        return cls(
            [Finding.from_dict(finding) for finding in plain["findings"]],
            [Drawing(**picture) for picture in plain["pictures"]],
            [str(remark) for remark in plain["remarks"]],
        )


@dataclass
class Work:
    """Data, seed, whether to be quick, and progress for one run of a part."""

    quick: bool = False
    seed: int = 0
    report: Callable[[float, str], None] = lambda fraction, text: None
    missing: dict[str, str] = field(default_factory=dict)

    def table(self, name: str, **options: Any) -> Table:
        """Return a sample as a table; one that is out of reach raises `SampleError`."""
        return read(f"sample:{name}", **options)

    def tables(
        self, names: Sequence[str], options: Callable[[str], dict[str, Any]] | None = None
    ) -> Iterator[tuple[str, Table]]:
        """Go through samples and report progress; those out of reach are kept in `missing`."""
        for place, name in enumerate(names):
            self.report(place / len(names), name)
            try:
                table = self.table(name, **(options(name) if options else {}))
            except SampleError as error:
                self.missing[name] = str(error)
                continue
            yield name, table

    def not_run(self, ledger: str, printed: str = "", **place: Any) -> Iterator[Finding]:
        """Yield a finding for every sample that is out of reach."""
        for name, reason in self.missing.items():
            yield not_run(ledger, name, reason, printed, **place)


@dataclass(frozen=True)
class Part:
    """One table, figure or worked example of a paper, and the function that re-makes it."""

    name: str  # on the command line, such as p1-table-1
    ledger: tuple[str, ...]  # the ids it answers for
    title: str
    protocol: str  # how it is measured, in sentences
    make: Callable[[Work], Iterable[Finding | Drawing | str]]
    data: tuple[str, ...] = ()  # the samples it reads
    seed: int = 0
    cost: float = 1.0  # roughly how many seconds it takes, for the progress bar

    def run(self, work: Work) -> Outcome:
        """Run the part and collect what it yields."""
        outcome = Outcome()
        for item in self.make(work):
            outcome.add(item)
        return outcome

    @property
    def paper(self) -> str:
        """The short name of its paper."""
        return self.ledger[0].split(".")[0].lower()

    @property
    def code(self) -> str:
        """The source of the function."""
        return inspect.getsource(self.make)

    @property
    def home(self) -> str:
        """The function's module and name."""
        return f"{self.make.__module__}.{self.make.__qualname__}"


def part(
    *ledger: str, data: Sequence[str] = (), cost: float = 1.0
) -> Callable[[Callable[[Work], Found]], Part]:
    """Turn a function into a part; its docstring is the title and, below, the protocol."""

    def decorate(make: Callable[[Work], Found]) -> Part:
        title, _, protocol = (inspect.getdoc(make) or "").partition("\n\n")
        paper = ledger[0].split(".")[0].lower()
        return Part(
            f"{paper}-{make.__name__.replace('_', '-')}",
            ledger,
            " ".join(title.split()).removesuffix("."),
            " ".join(protocol.split()),
            make,
            data=tuple(data),
            cost=cost,
        )

    return decorate


def data_hash(name: str) -> str:
    """Return the first letters of the SHA-256 of a sample's file, or ``missing``."""
    try:
        content = find(name).locate().read_bytes()
    except SampleError:
        return "missing"
    return hashlib.sha256(content).hexdigest()[:16]
