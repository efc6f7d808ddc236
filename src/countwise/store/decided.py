"""`Decide` as a document and back: the rule with its gains, and the prior with its correction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.decisions.class_prior import class_shares
from countwise.decisions.decide import Decide
from countwise.decisions.rules import Rule
from countwise.errors import StoreError, listing
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.models import model_to, prototype
from countwise.store.plain import RULES, from_plain, to_plain

#: The rules a `Decide` may be given by a word.
RULE_WORDS = ("argmax", "roulette")


def decide_to(decide: Any) -> dict[str, Any]:
    """Return the rule and the prior of a fitted `Decide` as plain data.

    A rule that was given as a path, a frame or a mapping is saved as it was read at `fit`.
    """
    for rule in (decide.rule, decide.rule_):
        if isinstance(rule, Rule) and type(rule) not in RULES:
            known = listing([kind.__name__ for kind in RULES])
            raise StoreError(
                f"save: the rule must be one of {known} to be saved, but a {type(rule).__name__} "
                "came. Save the model, and put the rule over it after loading with Decide.over."
            )
    by_name = isinstance(decide.rule, str) and decide.rule in RULE_WORDS
    given = decide.rule if by_name or isinstance(decide.rule, Rule) else decide.rule_
    apart = decide.model is not decide.model_
    correction = decide.correction_
    return {
        "rule": to_plain(given, "rule"),
        "rule_in_use": to_plain(decide.rule_, "rule"),
        "prior": to_plain(decide.prior, "prior"),
        "correction": None if correction is None else correction.tolist(),
        "notes": list(decide.notes_),
        "prototype": model_to(decide.model) if apart else None,
    }


def decide_from(document: Fields, model: Any) -> Decide:
    """Put the rule of a document over a fitted model; nothing is refitted."""
    rule = from_plain(document.any("rule"), "the rule")
    in_use = from_plain(document.any("rule_in_use"), "the rule")
    # A text is a rule's name here, never the path of a gain matrix: nothing else may be opened.
    named = not isinstance(rule, str) or rule in RULE_WORDS
    if not named or not isinstance(rule, (*RULES, str)) or not isinstance(in_use, RULES):
        raise UnsoundError("must hold a decision rule, but does not")
    prior = from_plain(document.any("prior"), "the prior")
    decide = Decide.over(model, in_use)
    wanted = class_shares(prior, decide.classes_, "Decide")
    if (wanted is None) != ("correction" not in document):
        raise UnsoundError("must hold a correction with a prior and none without, but does not")
    if wanted is not None:
        decide.correction_ = _correction(document, len(decide.classes_))
    decide.rule, decide.prior = rule, prior
    decide.notes_ = document.texts("notes")
    if "prototype" in document:
        decide.model = prototype(document.inner("prototype"))
    return decide


def _correction(document: Fields, classes: int) -> NDArray[np.float64]:
    numbers = document.items("correction")
    if len(numbers) != classes or any(type(value) is not float for value in numbers):
        raise UnsoundError("must hold one number a class as its correction, but does not")
    factors = np.array(numbers, dtype=np.float64)
    if np.any(factors < 0) or not factors.sum() > 0:
        raise UnsoundError("must hold factors of at least 0 as its correction, but does not")
    return factors
