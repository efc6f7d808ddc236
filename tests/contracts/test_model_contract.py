"""Every registry entry keeps the model contract, for each of its examples."""

import pytest

from countwise.models import registry
from countwise.testing import check_model, model_checks

EXAMPLES = [
    pytest.param(entry, settings, id=f"{entry.name}-{place}")
    for entry in registry.models()
    for place, settings in enumerate(entry.examples)
]


@pytest.mark.filterwarnings("ignore::countwise.errors.UnseenLevelWarning")
@pytest.mark.parametrize(("entry", "settings"), EXAMPLES)
def test_an_entry_keeps_the_contract(entry, settings):
    check_model(entry.build(settings), scikit_learn=False)


def test_the_checks_are_named_and_cover_the_abilities():
    entry = registry.ENTRIES["NaiveBayes"]
    names = [name for name, _ in model_checks(entry.build())]
    assert names == [
        "parameters",
        "probabilities",
        "row order",
        "weights",
        "leave-one-out",
        "explanation",
        "counts",
        "save and load",
        "views",
        "scikit-learn",
    ]
