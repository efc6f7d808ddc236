"""Finished parts are kept by code version and data hash, so that a second run takes seconds."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from countwise.papers.findings import Outcome
from countwise.papers.parts import Part, data_hash
from countwise.store.atomic import atomic_write

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
