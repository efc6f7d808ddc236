"""Results by set, model and fold: kept in files, so that a run goes on where the last one ended.

A result counts only for the same rows, the same folds, and the same version and settings of the
model. The repository holds results of other libraries in `accuracy-peers.json`: they serve whoever
has not installed these libraries.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.accuracy.contestants import Contestant
from benchmarks.accuracy.measure import SCORES
from countwise.atomic_write import atomic_write

HERE = Path(__file__).resolve().parents[1] / "results"
PEERS = HERE / "accuracy-peers.json"

#: Scores by name, or a reason under `failed`.
Score = dict[str, Any]


@dataclass
class Kept:
    """The scores of one model on one set, by fold, and what they depend on."""

    data: str
    model: str
    key: dict[str, Any]
    folds: dict[int, Score] = field(default_factory=dict)
    when: str = field(default_factory=lambda: date.today().isoformat())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: one list a score, which takes a third of the room."""
        done = {at: one for at, one in sorted(self.folds.items()) if "failed" not in one}
        plain: dict[str, Any] = {"set": self.data, "model": self.model, "key": self.key}
        plain |= {"when": self.when, "folds": list(done)}
        plain |= {name: [one[name] for one in done.values()] for name in SCORES}
        failed = {str(at): one["failed"] for at, one in self.folds.items() if "failed" in one}
        return {**plain, "failed": failed} if failed else plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Kept:
        """Return what `to_dict` wrote."""
        folds: dict[int, Score] = {
            at: {name: plain[name][place] for name in SCORES}
            for place, at in enumerate(plain["folds"])
        }
        folds |= {int(at): {"failed": why} for at, why in plain.get("failed", {}).items()}
        return cls(plain["set"], plain["model"], plain["key"], folds, plain["when"])


def key_of(contestant: Contestant, data_hash: str, n_folds: int, seed: int) -> dict[str, Any]:
    """Return all that a result depends on."""
    return {
        "data": data_hash,
        "folds": n_folds,
        "seed": seed,
        "settings": contestant.settings,
        "versions": contestant.versions(),
    }


def agrees(kept: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Return whether a kept result is the wanted one; any version will do if none is installed."""
    if wanted["versions"] is None:
        return {**kept, "versions": None} == wanted
    return kept == wanted


class Store:
    """The folder of results, and the file of other libraries beside it."""

    def __init__(self, folder: Path = HERE, peers: Path = PEERS) -> None:
        self.folder, self.peers = folder / "accuracy", peers
        self._shipped: dict[tuple[str, str], Kept] = {}
        if peers.is_file():
            listed = json.loads(peers.read_text(encoding="utf-8"))["results"]
            every = [Kept.from_dict(plain) for plain in listed]
            self._shipped = {(one.data, one.model): one for one in every}

    def _path(self, data: str, model: str) -> Path:
        return self.folder / data.replace(":", "-") / f"{model}.json"

    def load(self, data: str, model: str, key: dict[str, Any]) -> Kept:
        """Return the kept results that agree with a key, or an empty record."""
        try:
            plain = json.loads(self._path(data, model).read_text(encoding="utf-8"))
            kept = Kept.from_dict(plain)
        except (OSError, ValueError, KeyError, TypeError):
            kept = None
        if kept is not None and agrees(kept.key, key):
            return kept
        shipped = self._shipped.get((data, model))
        if shipped is not None and agrees(shipped.key, key):
            return shipped
        return Kept(data, model, key)

    def save(self, kept: Kept) -> None:
        """Write the results of a model on a set."""
        path = self._path(kept.data, kept.model)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "accuracy") as draft:
            draft.write_text(json.dumps(kept.to_dict()) + "\n", encoding="utf-8")

    def ship(self, results: list[Kept], facts: dict[str, Any]) -> None:
        """Write results to the file of other libraries, one a line; what it had else stays."""
        self._shipped |= {(kept.data, kept.model): kept for kept in results}
        every = [self._shipped[name].to_dict() for name in sorted(self._shipped)]
        lines = ",\n".join(map(json.dumps, every))
        head = json.dumps(facts, indent=1).removesuffix("\n}")
        with atomic_write(self.peers, "accuracy") as draft:
            draft.write_text(f'{head},\n "results": [\n{lines}\n ]\n}}\n', encoding="utf-8")
