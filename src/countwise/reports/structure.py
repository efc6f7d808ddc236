"""Which attribute leans on which in a fitted model, as plain data.

The figures are those the model was built by: bits that two attributes share given the class, and
bits that one tells about the class, from the rows that hold the values.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from countwise.counts.information import conditional_information, information_gain
from countwise.models.bayes.joint import JointClassifier
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.reports.rounding import rounded

#: How many attributes a tree shows on a page.
MOST_NODES = 100
Arcs = dict[str, list[tuple[str, float]]]


def structure_facts(model: JointClassifier, most: int = MOST_NODES) -> dict[str, Any] | None:
    """Return the attributes of a fitted `TAN` or `KDB` with their parents, parents first.

    At most so many are kept: from the root on, always the heaviest edge next.
    """
    arcs = _arcs(model)
    if arcs is None:
        return None
    order = _heaviest(arcs, most)
    place = {name: at for at, name in enumerate(order)}
    hidden = _hidden(arcs, place)
    return {
        "class": class_name(model),
        "attributes": [
            {
                "name": name,
                "bits": rounded(_gain(model, name)),
                "parents": [
                    {"at": place[parent], "bits": rounded(bits)}
                    for parent, bits in arcs[name]
                    if parent in place
                ],
                "hidden": hidden[name],
            }
            for name in order
        ],
        "more": len(arcs) - len(order),
    }


def telling(model: JointClassifier, most: int = MOST_NODES) -> list[dict[str, Any]]:
    """Return the attributes by how much each alone tells about the class, in bits."""
    columns = [column.name for column in model.counts_.schema.nominal]
    found = [(_gain(model, name), name) for name in columns]
    found.sort(key=lambda own: -round(own[0], 12))
    return [{"name": name, "bits": rounded(bits)} for bits, name in found[:most]]


def class_name(model: Any) -> str:
    """Return what the class is called."""
    target = model.schema_.target
    return "class" if target is None else str(target.name)


def _gain(model: JointClassifier, name: str) -> float:
    return information_gain(model.counts_.table(name)[:-1, :-1])


def _arcs(model: JointClassifier) -> Arcs | None:
    """Each attribute with its parents and their bits; an attribute never comes before a parent."""
    if isinstance(model, TAN):
        found: Arcs = {} if model.root_ is None else {model.root_: []}
        for edge in model.tree_:
            found[edge.child] = [(edge.parent, edge.weight)]
        return found
    if isinstance(model, KDB):
        return {
            child: [
                (parent, conditional_information(model.counts_.table(child, parent)[:-1, :-1, :-1]))
                for parent in parents
            ]
            for child, *parents in model.families_
        }
    return None


def _heaviest(arcs: Arcs, most: int) -> list[str]:
    """At most so many attributes, each after its first parent."""
    if len(arcs) <= most:
        return list(arcs)
    below: dict[str, list[tuple[float, int, str]]] = {name: [] for name in arcs}
    waiting: list[tuple[float, int, str]] = []
    for at, (name, parents) in enumerate(arcs.items()):
        if parents:
            below[parents[0][0]].append((-parents[0][1], at, name))
        else:
            waiting.append((-np.inf, at, name))
    heapq.heapify(waiting)
    kept: list[str] = []
    while waiting and len(kept) < most:
        *_, name = heapq.heappop(waiting)
        kept.append(name)
        for own in below[name]:
            heapq.heappush(waiting, own)
    # In the model's own order, in which parents come first too.
    chosen = set(kept)
    return [name for name in arcs if name in chosen]


def _hidden(arcs: Arcs, place: dict[str, int]) -> dict[str, int]:
    """How many attributes below each one are left out."""
    number = dict.fromkeys(arcs, 0)
    for name in reversed(list(arcs)):
        if arcs[name]:
            number[arcs[name][0][0]] += number[name] + (name not in place)
    return number
