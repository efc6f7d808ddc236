"""Law 11: cross-validation by merging counts equals cross-validation by refitting."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.discretize import rare_levels
from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table, code_type


@st.composite
def tables(draw, numeric=False):
    """Small nominal tables with missing cells, perhaps a numeric column, of 2 or 3 classes."""
    rows = draw(st.integers(6, 24))
    classes = draw(st.integers(2, 3))
    widths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    data, columns = {}, []
    for at, width in enumerate(widths):
        codes = draw(st.lists(st.integers(0, width), min_size=rows, max_size=rows))
        columns.append(Column(f"a{at}", "nominal", tuple(f"v{level}" for level in range(width))))
        data[f"a{at}"] = np.asarray(codes, dtype=code_type(width))
    if numeric:
        values = draw(st.lists(st.integers(-50, 50), min_size=rows, max_size=rows))
        columns.append(Column("x", "numeric"))
        data["x"] = np.asarray(values, dtype=float)
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=rows - 2, max_size=rows - 2))
    columns.append(Column("y", "target", tuple(f"c{code}" for code in range(classes))))
    data["y"] = np.asarray([0, 1, *labels], dtype=code_type(classes))
    return Table(Schema(tuple(columns)), data)


def refit(model, table, fold, weight=None):
    """Return the posteriors of a fold's rows by a model fitted to all other rows."""
    train = np.setdiff1d(np.arange(len(table)), fold.rows)
    given = None if weight is None else weight[train]
    fitted = model.fit(table.take(train), sample_weight=given)
    said = np.zeros((len(fold.rows), len(table.classes)))
    place = [table.classes.index(label) for label in fitted.classes_.tolist()]
    said[:, place] = fitted.predict_proba(table.take(fold.rows))
    return said


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(2, 5), st.integers(0, 3), st.sampled_from([0, 1.0, 0.5]))
def test_nominal_tables_agree_to_the_last_bit(table, folds, seed, smoothing):
    model = cw.NaiveBayes(smoothing=smoothing)
    trials = evaluate(model, table, folds=folds, random_state=seed)
    for fold, predicted in zip(trials.folds, trials.entries["NaiveBayes"].predictions, strict=True):
        again = refit(cw.NaiveBayes(smoothing=smoothing), table, fold)
        assert np.array_equal(predicted.posteriors, again)


JOINT = {
    "TAN": lambda: TAN(),
    "TAN, Laplace": lambda: TAN(1.0),
    "AODE": lambda: AODE(),
    "KDB": lambda: KDB(1, selective=False),
}


@pytest.mark.parametrize("make", list(JOINT.values()), ids=list(JOINT))
@settings(max_examples=20, deadline=None)
@given(tables(), st.integers(2, 5), st.integers(0, 3))
def test_models_of_pairs_agree_to_the_last_bit(make, table, folds, seed):
    trials = evaluate({"one": make()}, table, folds=folds, random_state=seed)
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(make(), table, fold))


@pytest.mark.parametrize("make", list(JOINT.values()), ids=list(JOINT))
@pytest.mark.parametrize("name", ["votes", "weather"])
def test_models_of_pairs_agree_on_real_tables(make, name):
    table = cw.read(f"sample:{name}")
    assert make().counts_needed(table.schema) is not None
    trials = evaluate({"one": make(), "other": cw.NaiveBayes()}, table, folds=5, repeats=2)
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(make(), table, fold))


@pytest.mark.parametrize("make", [*JOINT.values(), lambda: KDB(2)], ids=[*JOINT, "selective KDB"])
def test_cuts_and_families_are_those_of_the_training_rows_alone(make):
    table = cw.read("sample:glass")
    assert make().counts_needed(table.schema) is None
    trials = evaluate({"one": make()}, table, folds=4)
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(make(), table, fold))


def codes_of(trials):
    return {note.code for note in trials.notes}


@settings(max_examples=40, deadline=None)
@given(
    tables(numeric=True),
    st.integers(2, 5),
    st.integers(0, 3),
    st.sampled_from(["width", "frequency", "two-way", "mdl"]),
    st.booleans(),
)
def test_pairs_of_cut_numbers_are_counted_once_and_agree(table, folds, seed, cuts, weighted):
    weight = np.arange(len(table)) % 3 + 1.0 if weighted else None
    models = {"TAN": TAN(cuts=cuts), "AODE": AODE(cuts=cuts, bins=3), "again": AODE(cuts="width")}
    trials = evaluate(models, table, folds=folds, random_state=seed, sample_weight=weight)
    assert "E14" not in codes_of(trials)
    for name, model in models.items():
        for fold, predicted in zip(trials.folds, trials.entries[name].predictions, strict=True):
            assert np.array_equal(predicted.posteriors, refit(model, table, fold, weight))


@pytest.mark.parametrize("name", ["glass", "credit-g"])
@pytest.mark.parametrize("protocol", [{"folds": 5, "repeats": 2}, {"holdout": 0.3, "repeats": 2}])
def test_pairs_of_cut_numbers_agree_on_real_tables(name, protocol):
    table = cw.read(f"sample:{name}")
    trials = evaluate({"one": TAN(cuts="frequency"), "other": AODE()}, table, **protocol)
    note = next(note for note in trials.notes if note.code == "E05")
    assert note.text.startswith("one, other: trained from merged counts")
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(TAN(cuts="frequency"), table, fold))


@pytest.mark.parametrize("make", [TAN, AODE, KDB])
def test_cut_dates_are_counted_once_and_agree(make):
    """Intervals of dates have other names than those of numbers."""
    random = np.random.default_rng(1)
    days = 19_800 + random.integers(0, 8000, 300) / 24
    label = np.where(days + random.normal(0, 60, 300) > 19_960, "late", "early")
    frame = pd.DataFrame({"day": pd.to_datetime(days, unit="D"), "x": days % 7, "y": label})
    table = cw.read(frame, target="y")
    trials = evaluate(make(calibrate=None), table, folds=3)
    for fold, predicted in zip(
        trials.folds, trials.entries[make.__name__].predictions, strict=True
    ):
        assert np.array_equal(predicted.posteriors, refit(make(calibrate=None), table, fold))


def test_rows_that_always_train_or_never_count_for_cut_numbers():
    table = cw.read("sample:iris")
    numbers = np.arange(len(table)) % 4 - 1  # every fourth row always trains
    trials = evaluate({"one": AODE()}, table, folds=numbers)
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(AODE(), table, fold))


def test_where_counting_once_does_not_pay_models_are_refitted_and_a_note_says_so(monkeypatch):
    table = cw.read("sample:iris")
    half = np.where(np.arange(len(table)) % 2, 1.5, 1.0)
    trials = evaluate({"one": TAN()}, table, folds=3, sample_weight=half)
    assert next(n for n in trials.notes if n.code == "E14").text == (
        "one: refitted for every fold, because weights are not whole numbers, so their sums "
        "are not exact."
    )
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(TAN(), table, fold, half))
    monkeypatch.setattr(rare_levels, "MOST_PAIR_CELLS", 1500)
    trials = evaluate({"one": TAN(cuts="frequency")}, table, folds=3)
    assert "too large" in next(n for n in trials.notes if n.code == "E14").text
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(TAN(cuts="frequency"), table, fold))


@pytest.mark.parametrize("make", list(JOINT.values()), ids=list(JOINT))
def test_leave_one_out_of_models_of_pairs(make):
    table = cw.read("sample:contact-lenses")
    said = (
        evaluate({"one": make().set_params(calibrate=None)}, table, leave_one_out=True)
        .entries["one"]
        .predictions[0]
        .posteriors
    )
    for row in range(len(table)):
        fitted = (
            make().set_params(calibrate=None).fit(table.take(np.delete(np.arange(len(table)), row)))
        )
        assert np.allclose(said[row], fitted.predict_proba(table.take([row]))[0], atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(tables(numeric=True), st.sampled_from(["gaussian", "kernel"]))
def test_numbers_agree(table, numeric):
    trials = evaluate(cw.NaiveBayes(numeric=numeric), table, folds=3)
    for fold, predicted in zip(trials.folds, trials.entries["NaiveBayes"].predictions, strict=True):
        again = refit(cw.NaiveBayes(numeric=numeric), table, fold)
        assert np.allclose(predicted.posteriors, again, rtol=1e-6, atol=1e-9)
        if numeric == "gaussian":
            assert np.array_equal(predicted.posteriors, again)


@pytest.mark.parametrize("name", ["votes", "breast-cancer"])
@pytest.mark.parametrize("protocol", [{"folds": 10, "repeats": 2}, {"holdout": 0.3, "repeats": 3}])
def test_real_nominal_tables_agree_to_the_last_bit(name, protocol):
    table = cw.read(f"sample:{name}")
    trials = evaluate(cw.NaiveBayes(), table, **protocol)
    for fold, predicted in zip(trials.folds, trials.entries["NaiveBayes"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(cw.NaiveBayes(), table, fold))


@pytest.mark.parametrize("name", ["credit-g", "glass"])
def test_real_mixed_tables_agree_to_the_last_bit(name):
    table = cw.read(f"sample:{name}")
    model = cw.NaiveBayes(numeric="gaussian")
    trials = evaluate(model, table)
    for fold, predicted in zip(trials.folds, trials.entries["NaiveBayes"].predictions, strict=True):
        again = refit(model, table, fold)
        assert np.array_equal(predicted.posteriors, again)
        assert np.array_equal(predicted.decided, again.argmax(axis=1))


def test_weighted_rows_agree():
    table = cw.read("sample:votes")
    weight = np.random.default_rng(1).integers(0, 4, len(table)).astype(float)
    trials = evaluate(cw.NaiveBayes(), table, folds=5, sample_weight=weight)
    for fold, predicted in zip(trials.folds, trials.entries["NaiveBayes"].predictions, strict=True):
        assert np.array_equal(predicted.posteriors, refit(cw.NaiveBayes(), table, fold, weight))


@settings(max_examples=30, deadline=None)
@given(tables(numeric=True), st.sampled_from(["omit", "value"]), st.sampled_from([0, 1.0]))
def test_leave_one_out_equals_refitting_without_the_row(table, missing, smoothing):
    options = {"when_missing": missing, "smoothing": smoothing, "calibrate": None}
    trials = evaluate(cw.NaiveBayes(**options), table, leave_one_out=True)
    said = trials.entries["NaiveBayes"].predictions[0].posteriors
    for row in range(len(table)):
        fitted = cw.NaiveBayes(**options).fit(table.take(np.delete(np.arange(len(table)), row)))
        again = np.zeros(len(table.classes))
        place = [table.classes.index(label) for label in fitted.classes_.tolist()]
        again[place] = fitted.predict_proba(table.take([row]))[0]
        assert np.allclose(said[row], again, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("votes", {}),
        ("credit-g", {}),
        ("glass", {"numeric": "gaussian", "variance": "population"}),
        ("iris", {"numeric": "kernel"}),
        ("hepatitis", {"when_missing": "value"}),
        ("weather", {"combine": "posteriors"}),
        ("weather", {"smoothing": cw.MEstimate(2)}),
        ("contact-lenses", {"smoothing": 0}),
        ("contact-lenses", {"prior": "uniform"}),
    ],
)
def test_leave_one_out_on_real_tables(name, options):
    options = options | {"calibrate": None}
    table = cw.read(f"sample:{name}")
    trials = evaluate(cw.NaiveBayes(**options), table, leave_one_out=True)
    said = trials.entries["NaiveBayes"].predictions[0].posteriors
    rows = np.random.default_rng(0).permutation(len(table))[:40]
    for row in rows:
        fitted = cw.NaiveBayes(**options).fit(table.take(np.delete(np.arange(len(table)), row)))
        assert np.allclose(said[row], fitted.predict_proba(table.take([row]))[0], atol=1e-9)


LEFT_OUT = {
    "plain": {},
    "gaussian": {"numeric": "gaussian"},
    "weka": {"numeric": "gaussian", "min_deviation": "weka", "when_missing": "value"},
    "exact": {"numeric": "gaussian", "min_deviation": 0},
    "shared": {"numeric": "gaussian", "variance": "shared"},
    "population": {"numeric": "gaussian", "variance": "population", "smoothing": 0},
    "missing": {"when_missing": "value"},
    "missing-unsmoothed": {"when_missing": "value", "smoothing": None},
    "overall": {"smoothing": cw.MEstimate(2, "overall")},
    "by-classes": {"smoothing": cw.Laplace(1, by="classes")},
    "kernel": {"numeric": "kernel", "when_missing": "value"},
    "scott": {"numeric": "kernel", "bandwidth": "scott", "prior": "uniform"},
    "width": {"cuts": "width"},
    "mdl": {"cuts": "mdl", "smoothing": 0},
    "posteriors": {"combine": "posteriors", "numeric": "gaussian", "variance": "shared"},
    "unseen": {"unseen": "smooth"},
    "prior": {"prior": "uniform", "numeric": "gaussian", "variance": "shared"},
}
WEIGHTS = {"one": None, "whole": [1.0, 2.0, 3.0], "real": [0.25, 1.1, 1.7]}


@pytest.mark.parametrize("weights", list(WEIGHTS.values()), ids=list(WEIGHTS))
@pytest.mark.parametrize("options", list(LEFT_OUT.values()), ids=list(LEFT_OUT))
@pytest.mark.parametrize("name", ["iris", "hepatitis", "contact-lenses"])
def test_leave_one_out_equals_refitting_for_every_setting_and_weight(name, options, weights):
    options = options | {"calibrate": None}
    table = cw.read(f"sample:{name}")
    rng = np.random.default_rng(3)
    weight = None if weights is None else rng.choice(weights, len(table))
    trials = evaluate(cw.NaiveBayes(**options), table, leave_one_out=True, sample_weight=weight)
    said = trials.entries["NaiveBayes"].predictions[0].posteriors
    for row in rng.permutation(len(table))[:30]:
        rest = np.delete(np.arange(len(table)), row)
        given = None if weight is None else weight[rest]
        fitted = cw.NaiveBayes(**options).fit(table.take(rest), sample_weight=given)
        assert np.allclose(said[row], fitted.predict_proba(table.take([row]))[0], atol=1e-9)


@pytest.mark.parametrize("name", ["glass", "credit-g"])
def test_the_gap_of_values_is_that_of_the_training_rows_alone(name):
    table = cw.read(f"sample:{name}")
    model = cw.NaiveBayes(numeric="gaussian")
    trials = evaluate({"one": model}, table, folds=4)
    for fold, predicted in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        assert np.allclose(predicted.posteriors, refit(model, table, fold), atol=1e-9)


def test_leave_one_out_of_iris_with_a_shared_variance():
    trials = evaluate(
        cw.NaiveBayes(numeric="gaussian", variance="shared"), "sample:iris", leave_one_out=True
    )
    assert trials.score("accuracy", "NaiveBayes").value == pytest.approx(0.96)
