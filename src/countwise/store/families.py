"""Which attributes a model counts together, as a document and back."""

from __future__ import annotations

from typing import Any

from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.tables.schema import Schema


def families_to(model: Any) -> dict[str, Any] | None:
    """Return the families a model chose, each attribute before its parents; None if it has none."""
    families = getattr(model, "families_", None)
    return None if families is None else {"families": [list(family) for family in families]}


def families_from(document: Fields, counted: Schema, k: int) -> list[list[str]]:
    """Read families back: nominal columns, each once, whose parents came before them."""
    before: set[str] = set()
    families = []
    for family in document.items("families"):
        if not isinstance(family, list) or not all(isinstance(name, str) for name in family):
            raise UnsoundError(f"must hold lists of columns under 'families' of {document.where}")
        if not 1 <= len(family) <= k + 1 or len(set(family)) != len(family):
            raise UnsoundError(f"must hold a column and up to {k} others in each family")
        child, *parents = family
        if child not in counted or counted[child].kind != "nominal" or child in before:
            raise UnsoundError(f"has a family of {child[:40]!r}, which is no column of its own")
        if not set(parents) <= before:
            raise UnsoundError(f"lets {child[:40]!r} lean on columns that come after it")
        before.add(child)
        families.append(family)
    return families
