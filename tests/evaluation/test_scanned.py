"""Evaluation of rows outside memory: every figure is that of rows in memory with the same folds."""

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import countwise as cw
from countwise.errors import CountwiseError, ParameterError
from countwise.evaluation.scan_folds import hash_groups
from countwise.tables.scan_sample import hash_rows

GAIN = {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}


def models():
    return {
        "cuts": cw.NaiveBayes(numeric="cuts"),
        "gaussian": cw.NaiveBayes(numeric="gaussian"),
        "kernel": cw.NaiveBayes(numeric="kernel"),
        "tan": cw.TAN(),
        "aode": cw.AODE(),
        "kdb": cw.KDB(),
        "tan by gain": cw.Decide(cw.TAN(), GAIN),
    }


def scan(credit_folder, **options):
    return cw.scan(f"{credit_folder}/*.parquet", target="class", **options)


def folds_of(rows, number, seed=0, groups=None):
    rows.make_certain()
    found = []
    for piece in rows.pieces():
        for block in rows.blocks(piece):
            hashes = (
                hash_rows(block, seed) if groups is None else hash_groups(block.table, groups, seed)
            )
            found.append(hashes % np.uint64(number))
    return np.concatenate(found).astype(int)


def assert_same(one, two):
    assert one.names == two.names
    for name in one.names:
        np.testing.assert_array_equal(one.confusion(name).counts, two.confusion(name).counts)
        for what in ("accuracy", "log_loss", "brier", "kappa", "balanced_accuracy"):
            first, second = one.score(what, name), two.score(what, name)
            assert first.values == pytest.approx(second.values, rel=1e-13)
            ends = (first.low, first.high), (second.low, second.high)
            np.testing.assert_allclose(*ends, rtol=1e-11)


def test_scores_are_those_of_rows_in_memory(credit_frame, credit_folder):
    rows = scan(credit_folder, drop=["customer"])
    found = cw.evaluate(models(), rows, folds=4, gain=GAIN)
    table = cw.read(credit_frame, target="class", drop=["customer"])
    known = cw.evaluate(models(), table, folds=folds_of(rows, 4), gain=GAIN)
    assert_same(found, known)
    assert found.verdict() == known.verdict()
    assert [fold.tested for fold in found.folds] == [fold.tested for fold in known.folds]


def test_scores_on_dates_are_those_of_rows_in_memory(credit_frame, tmp_path):
    days = 19_800 + np.arange(600) * 13 % 311 / 24
    frame = credit_frame.drop(columns="customer").assign(day=pd.to_datetime(days, unit="D"))
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    rows, table = cw.scan(path, target="class"), cw.read(path, target="class")
    some = {"tan": cw.TAN(), "aode": cw.AODE()}
    found = cw.evaluate(some, rows, folds=3)
    assert_same(found, cw.evaluate(some, table, folds=folds_of(rows, 3)))


def test_weights_train_and_score_as_in_memory(credit_frame, tmp_path):
    weight = (np.arange(600) * 7 % 5).astype(float)
    frame = credit_frame.drop(columns="customer")
    frame.assign(weight=weight).to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    rows = scan(tmp_path, weight="weight")
    some = {name: model for name, model in models().items() if name != "kernel"}
    found = cw.evaluate(some, rows, folds=4, gain=GAIN)
    table = cw.read(frame, target="class")
    known = cw.evaluate(some, table, folds=folds_of(rows, 4), gain=GAIN, sample_weight=weight)
    assert_same(found, known)
    with pytest.raises(ParameterError, match="sample_weight"):
        cw.evaluate(cw.TAN(), rows, sample_weight=weight)


def test_groups_stay_together(credit_frame, credit_folder):
    rows = scan(credit_folder, nominal=["customer"])
    found = cw.evaluate(cw.TAN(), rows, folds=3, groups="customer")
    folds = folds_of(rows, 3, groups="customer")
    assert pd.Series(folds).groupby(credit_frame["customer"]).nunique().max() == 1
    table = cw.read(credit_frame, target="class", drop=["customer"])
    assert_same(found, cw.evaluate(cw.TAN(), table, folds=folds))


def test_two_scans_are_enough_without_cuts(credit_folder):
    model = cw.NaiveBayes(numeric="gaussian", calibrate=None)
    trials = cw.evaluate(model, scan(credit_folder, drop=["customer"]))
    assert any("2 scans" in str(note) for note in trials.notes)


def test_repeats_deal_rows_anew(credit_folder):
    rows = scan(credit_folder, drop=["customer"])
    trials = cw.evaluate(cw.NaiveBayes(numeric="gaussian"), rows, folds=2, repeats=3)
    values = trials.score("accuracy", "NaiveBayes").values
    assert len(values) == 6
    assert len(set(values)) > 3
    other = cw.evaluate(cw.NaiveBayes(numeric="gaussian"), rows, folds=2, random_state=1)
    assert other.score("accuracy", "NaiveBayes").values == values[2:4]


def test_blocks_and_order_of_pieces_do_not_matter(credit_folder):
    small = cw.evaluate(cw.TAN(), scan(credit_folder, drop=["customer"], memory="1MB"), folds=3)
    paths = sorted(credit_folder.glob("*.parquet"), reverse=True)
    rows = cw.scan(paths, target="class", drop=["customer"])
    other = cw.evaluate(cw.TAN(), rows, folds=3)
    for name in small.names:
        np.testing.assert_array_equal(small.confusion(name).counts, other.confusion(name).counts)


def test_an_interval_holds_its_area_where_all_folds_have_the_same(credit_folder):
    rows = scan(credit_folder, drop=["customer"])
    area = cw.evaluate(cw.NaiveBayes(), rows, folds=5, random_state=1).score("auc", "majority")
    assert area.values == (0.5,) * 5
    assert area.low <= area.value <= area.high


def test_models_that_need_rows_are_left_out_by_name(credit_folder):
    before = threading.active_count()
    rows = scan(credit_folder, drop=["customer"])
    trials = cw.evaluate({"nn": cw.Neighbors(), "tan": cw.TAN()}, rows, folds=2)
    assert trials.names == ("tan", "majority")
    assert any("nn was left out" in str(note) for note in trials.notes)
    with pytest.raises(CountwiseError, match="Neighbors"):
        cw.evaluate(cw.Neighbors(), rows, folds=2)
    trials = cw.evaluate({"lr": LogisticRegression(), "tan": cw.TAN()}, rows, folds=2)
    assert trials.names == ("tan", "majority")
    assert any("LogisticRegression: it learns from rows" in str(note) for note in trials.notes)
    with pytest.raises(CountwiseError, match="LogisticRegression: it learns from rows"):
        cw.evaluate(LogisticRegression(), rows, folds=2)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"holdout": 0.3}, "holdout"),
        ({"leave_one_out": True}, "leave_one_out"),
        ({"time": "age"}, "time"),
        ({"folds": 1}, "folds"),
        ({"folds": [0, 1]}, "folds"),
        ({"random_state": None}, "random_state"),
        ({"groups": "nobody"}, "groups"),
        ({"missing": ["x"]}, "missing"),
        ({"score": "top_2"}, "top_2 needs the predictions of single rows"),
    ],
)
def test_what_needs_rows_in_memory_is_refused(credit_folder, options, name):
    with pytest.raises(ParameterError, match=name):
        cw.evaluate(cw.TAN(), scan(credit_folder, drop=["customer"]), **options)


def test_a_fold_without_rows(tmp_path):
    (tmp_path / "tiny.csv").write_text("x,y\n" + "a,no\nb,yes\n" * 4)
    rows = cw.scan(tmp_path / "tiny.csv", target="y")
    trials = cw.evaluate(cw.NaiveBayes(), rows, folds=20)
    assert sum(fold.tested for fold in trials.folds) == 8


def test_another_prior_over_any_model(credit_frame, credit_folder):
    """Where a model has no prior of its own, that of its training rows is exchanged."""
    rows = scan(credit_folder, drop=["customer"], numeric=[])
    models = {
        "tree": cw.Decide(cw.ID3(numeric="cuts"), "argmax", prior={"good": 0.5, "bad": 0.5}),
        "bayes": cw.Decide(cw.NaiveBayes(), "argmax", prior={"good": 0.5, "bad": 0.5}),
    }
    found = cw.evaluate(models, rows, folds=3)
    table = cw.read(credit_frame, target="class", drop=["customer"])
    assert_same(found, cw.evaluate(models, table, folds=folds_of(rows, 3)))


def test_a_score_that_needs_rows_is_refused_before_any_scan(credit_folder):
    rows = scan(credit_folder, drop=["customer"])
    with pytest.raises(ParameterError, match="top_2"):
        cw.evaluate(cw.TAN(), rows, score="top_2")
    assert not rows.is_certain
    assert cw.evaluate(cw.TAN(), rows, folds=2, score="f1").ranked_by == "f1"


def test_areas_of_a_scan_come_with_their_bound(credit_frame, credit_folder):
    rows = scan(credit_folder, drop=["customer"])
    found = cw.evaluate([cw.TAN(), cw.NaiveBayes()], rows, folds=3, score="auc")
    [note] = [note for note in found.notes if note.code == "S11"]
    bound = float(str(note).split()[-1].rstrip("."))
    table = cw.read(credit_frame, target="class", drop=["customer"])
    known = cw.evaluate([cw.TAN(), cw.NaiveBayes()], table, folds=folds_of(rows, 3))
    assert found.ranked_by == "auc"
    assert 0 < bound < 2e-3
    for name in found.names:
        one, two = found.score("auc", name).values, known.score("auc", name).values
        assert np.max(np.abs(np.subtract(one, two))) <= bound


def test_ctrl_c_leaves_no_thread(credit_folder):
    before = threading.active_count()

    def stop(done, total, text):
        if text == "scan 2":
            raise KeyboardInterrupt

    rows = scan(credit_folder, drop=["customer"])
    with pytest.raises(KeyboardInterrupt):
        cw.evaluate([cw.TAN(), cw.Bagging(cw.AODE(), n_estimators=3)], rows, progress=stop)
    assert threading.active_count() == before


def test_one_fold_that_has_all_groups_is_named(tmp_path):
    pd.DataFrame({"shop": ["only"] * 9, "y": list("abc") * 3}).to_csv(
        tmp_path / "r.csv", index=False
    )
    rows = cw.scan(tmp_path / "r.csv", target="y")
    with pytest.raises(ParameterError, match="one fold has all groups of 'shop'"):
        cw.evaluate(cw.NaiveBayes(), rows, folds=2, groups="shop")
