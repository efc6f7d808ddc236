"""Law 11 for every model: leave-one-out through `evaluate` equals refitting row by row."""

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

import countwise as cw
from countwise.models import registry
from countwise.testing.laws import uncalibrated


def mixed():
    """Return 20 rows of three nominal and two numeric columns, some cells missing."""
    table = cw.read("sample:credit-a").select(["A1", "A2", "A3", "A4", "A5"])
    return table.take(np.sort(np.random.default_rng(0).permutation(len(table))[:20]))


def check_leave_one_out(entry, settings, table, weight=None):
    models = {"one": uncalibrated(entry.build(settings))}
    trials = cw.evaluate(models, table, leave_one_out=True, sample_weight=weight)
    posteriors = trials.posteriors("one")
    decided = trials.entries["one"].predictions[0].decided
    for row in range(len(table)):
        others = np.delete(np.arange(len(table)), row)
        model = uncalibrated(entry.build(settings))
        weighted = weight is not None and has_fit_parameter(model, "sample_weight")
        model.fit(table.take(others), **({"sample_weight": weight[others]} if weighted else {}))
        refitted = np.zeros(len(table.classes))
        known = [table.classes.index(label) for label in model.classes_.tolist()]
        refitted[known] = model.predict_proba(table.take([row]))[0]
        np.testing.assert_allclose(posteriors[row], refitted, rtol=1e-7, atol=1e-9)
        if np.ptp(np.sort(refitted)[-2:]) > 1e-9:  # of equal ones rounding decides
            assert table.classes[decided[row]] == model.predict(table.take([row]))[0]


CASES = [
    pytest.param(entry, settings, id=f"{entry.name}-{place}")
    for entry in registry.models()
    for place, settings in enumerate(entry.examples)
    if hasattr(entry.load(), "predict_proba")
]
# The search of the paper takes ten seconds a fit where there are numbers.
QUICK = [case for case in CASES if case.values[1].get("search") != "paper"]


@pytest.mark.parametrize(("entry", "settings"), CASES)
def test_leave_one_out_equals_refitting_on_nominal_columns(entry, settings):
    check_leave_one_out(entry, settings, cw.read("sample:weather"))


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "settings"), QUICK)
def test_leave_one_out_equals_refitting_on_weighted_mixed_columns(entry, settings):
    check_leave_one_out(entry, settings, mixed(), np.arange(20) % 3 + 1.0)


@pytest.mark.parametrize("model", [cw.NaiveBayes(), cw.TAN(), cw.AODE()])
def test_a_row_without_any_value_keeps_the_prior_at_every_temperature(model):
    votes = cw.read("sample:votes").take(slice(0, 200))
    target = votes.target_column.name
    cells = {name: [votes.cell_text(name, row) for row in range(200)] for name in votes.names}
    for name in set(cells) - {target}:
        cells[name][0] = ""
    table = cw.read(cells, target=target, missing=[""])
    others = type(model)().fit(table.take(slice(1, None)))
    assert others.temperature_ > 2
    np.testing.assert_allclose(
        model.leave_one_out(table)[0], others.predict_proba(table.take([0]))[0], rtol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_what_rounding_leaves_of_a_lone_row_is_no_spread(weighted):
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(3, 1, 10)
        weight = rng.random(10) + 0.1 if weighted else None
        table = cw.read({"x": x, "class": [*"aaaaaaaabb"]}, target="class")
        model = cw.NaiveBayes(numeric="gaussian", min_deviation=0, calibrate=None)
        left_out = model.leave_one_out(table, weight)
        for row in range(10):
            others = np.delete(np.arange(10), row)
            model.fit(table.take(others), sample_weight=None if weight is None else weight[others])
            np.testing.assert_allclose(
                left_out[row], model.predict_proba(table.take([row]))[0], rtol=1e-7
            )
