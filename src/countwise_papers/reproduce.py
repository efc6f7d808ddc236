"""Finished parts are kept by code version and data hash, so that a second run takes seconds."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import countwise
from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError, did_you_mean, listing
from countwise_papers.claims import LEDGER, PAPERS
from countwise_papers.findings import (
    Finding,
    Outcome,
    Part,
    Verdict,
    Work,
    cannot,
    data_hash,
    said,
    tally,
)

_ENVIRONMENT = "COUNTWISE_CACHE"


def folder() -> Path:
    """Return where finished parts are kept: ``COUNTWISE_CACHE``, or the user's cache folder."""
    given = os.environ.get(_ENVIRONMENT)
    if given:
        return Path(given) / "papers"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "countwise" / "papers"


@cache
def code_version() -> str:
    """Return a hash of every source file of countwise: any change makes old results stale."""
    root = Path(str(resources.files("countwise")))
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py*")):
        if path.suffix in (".py", ".pyx", ".pxd"):
            found.update(path.relative_to(root).as_posix().encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def key_of(part: Part, quick: bool) -> dict[str, Any]:
    """Return what a result depends on: code, data, seed, and whether it was a quick run."""
    return {
        "part": part.name,
        "code": code_version(),
        "data": {name: data_hash(name) for name in part.data},
        "seed": part.seed,
        "quick": quick,
    }


def _place(key: dict[str, Any]) -> Path:
    text = json.dumps(key, sort_keys=True)
    return folder() / f"{key['part']}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"


def kept(key: dict[str, Any]) -> tuple[Outcome, float] | None:
    """Return a finished part and its seconds, or None; a file that cannot be read is no result."""
    try:
        plain = json.loads(_place(key).read_text(encoding="utf-8"))
        if plain["key"] != key:
            return None
        return Outcome.from_dict(plain["outcome"]), float(plain["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(key: dict[str, Any], outcome: Outcome, seconds: float) -> None:
    """Keep a finished part; where nothing can be written, the next run does it again."""
    plain = {"key": key, "outcome": outcome.to_dict(), "seconds": seconds}
    place = _place(key)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(place, "reproduce") as draft:
            draft.write_text(json.dumps(plain, allow_nan=False), encoding="utf-8")
    except OSError:
        return


Progress = Callable[[float, float, str], None]


@dataclass(frozen=True)
class Result:
    """One finished part: what it found, in how many seconds, and whether it came from the cache."""

    part: Part
    outcome: Outcome
    seconds: float
    key: dict[str, Any]
    from_cache: bool

    @property
    def missing(self) -> list[str]:
        """The data sets of the part that were out of reach."""
        return [name for name, digest in self.key["data"].items() if digest == "missing"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with all a doubtful reader needs: protocol, seed, data hash, code."""
        return {
            "name": self.part.name,
            "paper": self.part.paper,
            "ledger": list(self.part.ledger),
            "title": self.part.title,
            "protocol": self.part.protocol,
            "seed": self.part.seed,
            "data": self.key["data"],
            "code": {"version": self.key["code"], "home": self.part.home, "text": self.part.code},
            "seconds": self.seconds,
            "from_cache": self.from_cache,
            **self.outcome.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Every verdict of a run; `reproduce` makes one.

    Examples
    --------
    >>> from countwise_papers.reproduce import reproduce
    >>> reproduce(only=["P4.9"], use_cache=False).findings[0].verdict
    'agrees'
    """

    results: tuple[Result, ...]
    quick: bool
    only: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"<Reproduction: {len(self.findings)} figures, {said(self.tally())}>"

    @property
    def findings(self) -> list[Finding]:
        """The findings of all parts, of the ids that were asked for."""
        return [own for result in self.results for own in self._wanted(result)]

    def _wanted(self, result: Result) -> list[Finding]:
        every = result.outcome.findings
        return [own for own in every if self.only is None or own.ledger in self.only]

    def tally(self) -> dict[Verdict, int]:
        """Count the verdicts."""
        return tally(self.findings)

    def describe_left_out(self) -> str:
        """Say which figures lack their data and how to get it; an empty text if none does."""
        missing = sorted({name for result in self.results for name in result.missing})
        if not missing:
            return ""
        affected = [
            own for result in self.results if result.missing for own in self._wanted(result)
        ]
        left_out = Counter(own.ledger for own in affected if own.verdict == "cannot be run")
        counts = ", ".join(f"{number} of {name}" for name, number in left_out.items())
        files = ", ".join(f"{name}.csv" for name in missing)
        ids = ", ".join(dict.fromkeys(own.ledger for own in affected))
        return (
            f"Left out: {counts or 'no single figure'}. Not bundled and out of reach: "
            f"{', '.join(missing)}. The other figures of {ids} come from the remaining sets. "
            f"Set COUNTWISE_DATA to a folder with {files}, and run again."
        )

    def by_id(self) -> dict[str, list[Finding]]:
        """Return the findings of every id that was run, in the ledger's order."""
        found = self.findings
        grouped = {name: [own for own in found if own.ledger == name] for name in LEDGER}
        return {name: own for name, own in grouped.items() if own}

    def to_dict(self) -> dict[str, Any]:
        """Return plain, JSON-able data."""
        return {
            "format": "countwise-reproduction",
            "version": 1,
            "library": {"name": "countwise", "version": countwise.__version__},
            "code": code_version(),
            "quick": self.quick,
            "seconds": sum(own.seconds for own in self.results),
            "verdicts": dict(self.tally()),
            "left_out": self.describe_left_out(),
            "parts": [own.to_dict() for own in self.results],
        }


_MODULES = (
    "p0_probabilistic_voting",
    "p1_four_learners",
    "p2_nonsymbolic_methods",
    "p3_discrete_bayes",
    "p4_applied_learning",
)


def parts() -> tuple[Part, ...]:
    """Return every part of the five papers, in order."""
    found: list[Part] = []
    for name in _MODULES:
        found.extend(import_module(f"countwise_papers.{name}").PARTS)
    return tuple(found)


def reproduce(
    papers: Iterable[str] = ("all",),
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Reproduction:
    """Re-make the figures of five papers and judge each.

    Parameters
    ----------
    papers
        ``p0`` to ``p4``, or ``all``.
    only
        Ids of the ledger (``P1.10``), or names of parts (``p1-table-1``); all parts without it.
    quick
        A smoke run: fewer repeats and rows.
    use_cache
        Take finished parts from an earlier run of the same code on the same data.
    progress
        Called with what is done, what there is in all, and a text.

    Examples
    --------
    >>> from countwise_papers.reproduce import reproduce
    >>> reproduce(["p4"], only=["P4.2", "P4.9"], use_cache=False)
    <Reproduction: 3 figures, 3 agree>
    """
    chosen, ids = _chosen(list(papers), list(only))
    total = sum(part.cost for part in chosen)
    done = 0.0
    results = []
    for part in chosen:
        key = key_of(part, quick)
        found = kept(key) if use_cache else None
        if found is None:
            tell = _teller(progress, done, part, total)
            tell(0.0, "")
            start = time.perf_counter()
            outcome = part.run(Work(quick, part.seed, tell))
            seconds = time.perf_counter() - start
            _complete(part, outcome)
            keep(key, outcome, seconds)
            results.append(Result(part, outcome, seconds, key, False))
        else:
            results.append(Result(part, *found, key, True))
        done += part.cost
    return Reproduction(tuple(results), quick, ids)


def _teller(
    progress: Progress | None, done: float, part: Part, total: float
) -> Callable[[float, str], None]:
    def tell(share: float, text: str) -> None:
        if progress is not None:
            words = f"{part.name}: {text}" if text else part.name
            progress(done + share * part.cost, total, words)

    return tell


def _complete(part: Part, outcome: Outcome) -> None:
    """Let no id of a part go without a verdict."""
    answered = {own.ledger for own in outcome.findings}
    for name in part.ledger:
        if name not in answered:
            why = outcome.remarks[0] if outcome.remarks else "No figure came out of this part."
            outcome.add(cannot(name, LEDGER[name], why))


def _chosen(papers: list[str], only: list[str]) -> tuple[list[Part], frozenset[str] | None]:
    every = parts()
    names = [name.strip().lower() for name in papers] or ["all"]
    for name in names:
        if name != "all" and name not in PAPERS:
            raise ParameterError(
                f"reproduce: there is no paper {name!r}.{did_you_mean(name, PAPERS)} "
                f"The papers are {', '.join(PAPERS)}, or all."
            )
    chosen = [part for part in every if "all" in names or part.paper in names]
    if not only:
        return chosen, None
    by_name = {part.name for part in chosen}
    known = {name.upper(): name for part in chosen for name in part.ledger}
    wanted, ids = set(), set()
    for own in (name.strip() for name in only):
        if own.lower() in by_name:
            wanted.add(own.lower())
        elif own.upper() in known:
            ids.add(known[own.upper()])
        else:
            elsewhere = [p for p in every if own.upper() in p.ledger or own.lower() == p.name]
            if elsewhere:
                raise ParameterError(
                    f"reproduce: {own!r} belongs to {elsewhere[0].paper}, but "
                    f"{', '.join(names)} was asked for. Leave the paper out, or name that one."
                )
            places = [*known.values(), *by_name]
            raise ParameterError(
                f"reproduce: there is no figure {own!r}.{did_you_mean(own.upper(), places)} "
                f"It must be an id such as P1.10, or one of {listing(sorted(by_name), 40)}."
            )
    kept_parts = [p for p in chosen if p.name in wanted or ids & set(p.ledger)]
    shown = ids | {name for part in kept_parts if part.name in wanted for name in part.ledger}
    return kept_parts, frozenset(shown)
