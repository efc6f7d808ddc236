"""What a fitted decision tree asks, as plain data: its picture, its rules, a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise.models.tree.id3 import TreeClassifier
from countwise.reports.figures.decision_tree import tree_facts
from countwise.reports.rounding import figures, names
from countwise.reports.shares import MOST_CLASSES

#: How many lines of rules, and how long a line.
MOST_RULES = 60
LONGEST_RULE = 300


def decision_facts(model: TreeClassifier, most: int = 40) -> dict[str, Any]:
    """Return the tree of a fitted `ID3`: what a picture shows, and its rules, so many lines each.

    Of more classes than a page can tell apart the rarest are one.
    """
    shown = tree_facts(model, most=most)
    lines = model.rules(MOST_RULES).splitlines()
    every = max(len(model.tree_) - 1, 1)
    kept = lines[:MOST_RULES]
    return {
        **shown,
        **_classes(names(model.classes_.tolist()), shown["drawn"]),
        "words": " ".join(model.describe().splitlines()),
        "rules": [own if len(own) <= LONGEST_RULE else own[:LONGEST_RULE] + "…" for own in kept],
        "more_rules": every - len(kept),
    }


def _classes(classes: Sequence[str], drawn: Sequence[dict[str, Any]]) -> dict[str, Any]:
    counts = np.asarray([own["counts"] for own in drawn], dtype=np.float64)
    if len(classes) > MOST_CLASSES:
        order = np.argsort(-counts[0], kind="stable")
        keep, rest = sorted(order[: MOST_CLASSES - 1].tolist()), order[MOST_CLASSES - 1 :]
        classes = [*(classes[at] for at in keep), f"{len(rest)} other classes"]
        counts = np.column_stack([counts[:, keep], counts[:, rest].sum(axis=1)])
    told = [own | {"counts": figures(line)} for own, line in zip(drawn, counts, strict=True)]
    return {"classes": list(classes), "drawn": told}
