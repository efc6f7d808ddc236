"""Run the parts of the five papers; keep finished parts by code version and data hash."""

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
    data_hash,
    not_run,
    summarize,
    tally,
)

_ENVIRONMENT = "COUNTWISE_CACHE"


def cache_folder() -> Path:
    """Return the folder of finished parts: ``COUNTWISE_CACHE``, or the user's cache folder."""
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
    """Return a hash of every source file of both packages: any change makes old results stale."""
    found = hashlib.sha256()
    for package in ("countwise", "countwise_papers"):
        root = Path(str(resources.files(package)))
        for path in sorted(root.rglob("*.py*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                found.update(f"{package}/{path.relative_to(root).as_posix()}".encode())
                found.update(path.read_bytes())
    return found.hexdigest()[:16]


def key_of(part: Part, quick: bool) -> dict[str, Any]:
    """Return all that a result depends on: code, data, seed, and whether it was a quick run."""
    return {
        "part": part.name,
        "code": code_version(),
        "data": {name: data_hash(name) for name in part.data},
        "seed": part.seed,
        "quick": quick,
    }


def _path_of(key: dict[str, Any]) -> Path:
    text = json.dumps(key, sort_keys=True)
    return cache_folder() / f"{key['part']}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"


def load_outcome(key: dict[str, Any]) -> tuple[Outcome, float] | None:
    """Return a finished part and its seconds, or None; a file that cannot be read is no result."""
    try:
        plain = json.loads(_path_of(key).read_text(encoding="utf-8"))
        if plain["key"] != key:
            return None
        return Outcome.from_dict(plain["outcome"]), float(plain["seconds"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def save_outcome(key: dict[str, Any], outcome: Outcome, seconds: float) -> None:
    """Keep a finished part; where nothing can be written, the next run does it again."""
    plain = {"key": key, "outcome": outcome.to_dict(), "seconds": seconds}
    path = _path_of(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "reproduce") as draft:
            draft.write_text(json.dumps(plain, allow_nan=False), encoding="utf-8")
    except OSError:
        return


Progress = Callable[[float, float, str], None]


@dataclass(frozen=True)
class Result:
    """One finished part: its outcome, its seconds, and whether it is from the cache."""

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
        """Return plain data, with protocol, seed, data hash and code."""
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
        return f"<Reproduction: {summarize(self.findings)}>"

    @property
    def findings(self) -> list[Finding]:
        """The findings of all parts, for the chosen ids."""
        return [finding for result in self.results for finding in self.findings_of(result)]

    def findings_of(self, result: Result) -> list[Finding]:
        """Return the findings of one part, for the chosen ids."""
        every = result.outcome.findings
        return [f for f in every if self.only is None or f.ledger in self.only]

    def tally(self) -> dict[Verdict, int]:
        """Count the verdicts; our additions have none."""
        return tally(self.findings)

    def describe_left_out(self) -> str:
        """Say which figures lack their data and how to get it; an empty text if none does."""
        missing = sorted({name for result in self.results for name in result.missing})
        if not missing:
            return ""
        affected = [f for r in self.results if r.missing for f in self.findings_of(r)]
        left_out = Counter(f.ledger for f in affected if f.verdict == "cannot be run")
        counts = ", ".join(f"{number} of {name}" for name, number in left_out.items())
        files = ", ".join(f"{name}.csv" for name in missing)
        ids = ", ".join(dict.fromkeys(f.ledger for f in affected))
        return (
            f"Left out: {counts or 'no single figure'}. Not bundled and out of reach: "
            f"{', '.join(missing)}. The other figures of {ids} come from the remaining sets. "
            f"Set COUNTWISE_DATA to a folder with {files}, and run again."
        )

    def by_id(self) -> dict[str, list[Finding]]:
        """Return the findings of every id that was run, in the ledger's order."""
        found = self.findings
        grouped = {name: [f for f in found if f.ledger == name] for name in LEDGER}
        return {name: findings for name, findings in grouped.items() if findings}

    def to_dict(self) -> dict[str, Any]:
        """Return plain, JSON-able data."""
        return {
            "format": "countwise-reproduction",
            "version": 1,
            "library": {"name": "countwise", "version": countwise.__version__},
            "code": code_version(),
            "quick": self.quick,
            "seconds": sum(result.seconds for result in self.results),
            "summary": summarize(self.findings),
            "verdicts": dict(self.tally()),
            "additions": sum(finding.verdict is None for finding in self.findings),
            "left_out": self.describe_left_out(),
            "parts": [result.to_dict() for result in self.results],
        }


_MODULES = (
    "p0_probabilistic_voting",
    "p1_four_learners",
    "p2_nonsymbolic_methods",
    "p3_discrete_bayes",
    "p4_applied_learning",
    "word_claims",
    "best_bins",
)


def parts() -> tuple[Part, ...]:
    """Return every part of the five papers, in order."""
    modules = [import_module(f"countwise_papers.{name}") for name in _MODULES]
    return tuple(
        value for module in modules for value in vars(module).values() if isinstance(value, Part)
    )


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
        Called with the cost done, the cost in all, and a text.

    Examples
    --------
    >>> from countwise_papers.reproduce import reproduce
    >>> reproduce(["p4"], only=["P4.2", "P4.9"], use_cache=False)
    <Reproduction: 2 printed figures: 2 agree; 1 addition of ours>
    """
    chosen, ids = _chosen(list(papers), list(only))
    total = sum(part.cost for part in chosen)
    done = 0.0
    results = []
    for part in chosen:
        key = key_of(part, quick)
        found = load_outcome(key) if use_cache else None
        if found is None:
            report = _reporter(progress, done, part, total)
            report(0.0, "")
            start = time.perf_counter()
            outcome = part.run(Work(quick, part.seed, report))
            seconds = time.perf_counter() - start
            _complete(part, outcome)
            save_outcome(key, outcome, seconds)
            results.append(Result(part, outcome, seconds, key, False))
        else:
            results.append(Result(part, *found, key, True))
        done += part.cost
    return Reproduction(tuple(results), quick, ids)


def _reporter(
    progress: Progress | None, done: float, part: Part, total: float
) -> Callable[[float, str], None]:
    def report(fraction: float, text: str) -> None:
        if progress is not None:
            words = f"{part.name}: {text}" if text else part.name
            progress(done + fraction * part.cost, total, words)

    return report


def _complete(part: Part, outcome: Outcome) -> None:
    """Let no id of a part go without a verdict."""
    answered = {finding.ledger for finding in outcome.findings}
    for name in part.ledger:
        if name not in answered:
            reason = outcome.remarks[0] if outcome.remarks else "This part yields no figure."
            outcome.add(not_run(name, LEDGER[name], reason))


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
    by_name = {part.name: part for part in chosen}
    known = {name.upper(): name for part in chosen for name in part.ledger}
    by_part, ids = set(), set()
    for name in (text.strip() for text in only):
        if name.lower() in by_name:
            by_part.add(name.lower())
        elif name.upper() in known:
            ids.add(known[name.upper()])
        else:
            raise _unknown_figure(name, names, by_name, known)
    kept_parts = [part for part in chosen if part.name in by_part or ids & set(part.ledger)]
    return kept_parts, frozenset(ids.union(*(by_name[name].ledger for name in by_part)))


def _unknown_figure(
    name: str, papers: list[str], by_name: Iterable[str], known: dict[str, str]
) -> ParameterError:
    elsewhere = [p for p in parts() if name.upper() in p.ledger or name.lower() == p.name]
    if elsewhere:
        return ParameterError(
            f"reproduce: {name!r} belongs to {elsewhere[0].paper}; got {', '.join(papers)}.",
            hint="Leave the paper out, or name that one.",
        )
    places = [*known.values(), *by_name]
    return ParameterError(
        f"reproduce: there is no figure {name!r}.{did_you_mean(name.upper(), places)} "
        f"It must be an id such as P1.10, or one of {listing(sorted(by_name), 40)}."
    )
