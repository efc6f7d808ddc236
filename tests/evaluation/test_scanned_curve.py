"""Learning curves of rows outside memory: every point is that of refits in memory."""

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.scan_folds import Dealing, Place
from countwise.evaluation.scanned import ScanTask
from countwise.tables.scan_sample import hash_rows

GAIN = {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}
POINTS = [0.05, 0.3, 0.8]


def scan(credit_folder, **options):
    return cw.scan(
        f"{credit_folder}/*.parquet", target="class", **({"drop": ["customer"]} | options)
    )


def uniforms(rows, seed):
    """The hash of each row as a number from 0 to 1, worked out once more."""
    rows.make_certain()
    hashes = [hash_rows(block, seed) for piece in rows.pieces() for block in rows.blocks(piece)]
    return (np.concatenate(hashes) >> np.uint64(11)).astype(float) / 2.0**53


def splits(rows, folds, repeats=1, holdout=0.3):
    """Training and test rows of each size, fold and repeat, by the hashes."""
    found = {}
    for repeat in range(repeats):
        drawn = uniforms(rows, repeat)
        if folds is None:
            fold = np.where(drawn < holdout, 0, 1)
        else:
            hashes = [hash_rows(b, repeat) for p in rows.pieces() for b in rows.blocks(p)]
            fold = np.concatenate(hashes) % np.uint64(folds)
        place = uniforms(rows, f"{repeat} slice")
        for at in range(1 if folds is None else folds):
            for size, most in enumerate(POINTS):
                train = np.flatnonzero((fold != at) & (place < most))
                found.setdefault(size, []).append((train, np.flatnonzero(fold == at)))
    return found


def models():
    return {
        "cuts": cw.NaiveBayes(),
        "gaussian": cw.NaiveBayes(numeric="gaussian", calibrate=None),
        "tan": cw.TAN(),
        "kdb": cw.KDB(),
        "tree": cw.ID3(numeric="cuts", max_depth=2),
    }


@pytest.mark.parametrize("protocol", [{"folds": 3}, {"folds": None, "repeats": 2}])
def test_every_point_is_that_of_refits_in_memory(credit_frame, credit_folder, protocol):
    rows = scan(credit_folder)
    curve = cw.learning_curve(models(), rows, points=POINTS, gain=GAIN, **protocol)
    table = cw.read(credit_frame, target="class", drop=["customer"])
    known = splits(rows, **protocol)
    assert len(curve.sizes) == 3
    for size, trials in enumerate(curve.trials):
        memory = cw.evaluate(models(), table, folds=known[size], gain=GAIN)
        trained = [len(train) for train, _ in known[size]]
        assert [fold.trained for fold in trials.folds] == trained
        assert curve.sizes[size] == round(np.mean(trained))
        assert trials.names == memory.names
        for name in trials.names:
            np.testing.assert_array_equal(
                trials.confusion(name).counts, memory.confusion(name).counts
            )
            for what in ("accuracy", "log_loss", "brier", "expected_gain"):
                one, two = trials.score(what, name).values, memory.score(what, name).values
                assert one == pytest.approx(two, rel=1e-12)


def test_weights_train_and_score(credit_folder):
    """The last point of a curve is the cross-validation by the same folds."""
    rows = scan(credit_folder, weight="existing_credits")
    curve = cw.learning_curve(cw.TAN(), rows, points=[0.4, 1.0], folds=3)
    known = cw.evaluate(cw.TAN(), rows, folds=3)
    assert known.confusion("TAN").counts.sum() > len(rows)
    np.testing.assert_array_equal(
        curve.trials[-1].confusion("TAN").counts, known.confusion("TAN").counts
    )
    np.testing.assert_allclose(
        curve.trials[-1].score("log_loss", "TAN").values, known.score("log_loss", "TAN").values
    )


@pytest.mark.parametrize("holdout", [None, 0.3])
def test_training_counts_are_those_of_the_rows(credit_frame, credit_folder, holdout):
    rows = scan(credit_folder)
    dealing = Dealing(0, 1, 2, holdout, tuple(POINTS))
    task = ScanTask.begin("learning_curve", cw.AODE(), rows, dealing, None, None)
    table = cw.read(credit_frame, target="class", drop=["customer"])
    known = splits(rows, None if holdout else 2)
    for size, pairs in known.items():
        for fold, (train, _) in enumerate(pairs):
            counts = task.passes.first[Place(0, fold, size)]
            assert counts == cw.count(table.take(train), counts.plan)


def test_two_scans_whatever_the_number_of_sizes_and_models(credit_folder):
    models = {
        "gaussian": cw.NaiveBayes(numeric="gaussian", calibrate=None),
        "kernel": cw.NaiveBayes(numeric="kernel", calibrate=None),
    }
    curve = cw.learning_curve(models, scan(credit_folder), points=20, folds=4)
    assert any("2 scans" in str(note) for note in curve.notes)
    assert 5 < len(curve.sizes) < 20
    codes = {note.code for note in curve.notes}
    assert {"S08", "S10", "E12"} <= codes
    assert any("not stratified" in str(note) for note in curve.notes)


def test_blocks_and_order_of_pieces_do_not_matter(credit_folder):
    model = cw.NaiveBayes(calibrate=None)
    one = cw.learning_curve(model, scan(credit_folder, memory="1MB"), points=5)
    paths = sorted(credit_folder.glob("*.parquet"), reverse=True)
    rows = cw.scan(paths, target="class", drop=["customer"])
    two = cw.learning_curve(model, rows, points=5)
    assert one.sizes == two.sizes
    for left, right in zip(one.trials, two.trials, strict=True):
        for name in left.names:
            np.testing.assert_array_equal(left.confusion(name).counts, right.confusion(name).counts)


def test_groups_enter_the_curve_as_a_whole(credit_frame, credit_folder):
    rows = scan(credit_folder, drop=[], nominal=["customer"])
    curve = cw.learning_curve(cw.TAN(), rows, points=POINTS, groups="customer")
    assert "groups of customer kept together" in curve.protocol
    dealing = Dealing(0, 1, 2, 0.3, tuple(POINTS), "customer")
    found = []
    for piece in rows.pieces():
        for block in rows.blocks(piece):
            dealt = dealing.deal(block)
            found.append(np.concatenate([dealt.folds, dealt.slices], axis=1))
    places = pd.DataFrame(np.concatenate(found)).groupby(credit_frame["customer"])
    assert places.nunique().max().max() == 1


def test_few_rows_are_tested_if_asked_so(credit_folder):
    curve = cw.learning_curve(cw.NaiveBayes(), scan(credit_folder), points=[0.5, 1.0], test_rows=60)
    [tested] = {fold.tested for trials in curve.trials for fold in trials.folds}
    assert 30 < tested < 100
    assert any(f"{tested} of the 180 held-out rows" in str(note) for note in curve.notes)


def test_progress_moves_on_within_a_scan(credit_folder):
    steps = []
    model = cw.NaiveBayes(numeric="gaussian", calibrate=None)
    cw.learning_curve(
        model,
        scan(credit_folder),
        points=[0.5, 1.0],
        progress=lambda done, total, text: steps.append((done, text)),
    )
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1][0] == 2
    assert any(0 < done < 1 for done, _ in steps)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"points": [20, 100]}, "fractions up to 1 where rows are scanned"),
        ({"points": 1}, "a number of points of at least 2"),
        ({"points": [1e-9, 1.0]}, "a fraction of 1e-09 gave 0 of 600 rows"),
        ({"sample_weight": np.ones(600)}, "`?sample_weight=`? needs rows in memory"),
        ({"target": "class"}, "target"),
        ({"missing": ["x"]}, "missing"),
        ({"folds": 1}, "folds"),
        ({"random_state": None}, "random_state"),
        ({"groups": "nobody"}, "groups"),
    ],
)
def test_what_a_scan_cannot_do_is_refused(credit_folder, options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        cw.learning_curve(cw.NaiveBayes(), scan(credit_folder), **options)


def test_too_few_rows_and_groups_in_memory_are_refused(tmp_path):
    (tmp_path / "tiny.csv").write_text("x,y\n" + "a,no\nb,yes\n" * 4)
    with pytest.raises(ParameterError, match="at least 10 rows"):
        cw.learning_curve(cw.NaiveBayes(), cw.scan(tmp_path / "tiny.csv", target="y"))
    with pytest.raises(ParameterError, match="groups"):
        cw.learning_curve(cw.NaiveBayes(), "sample:iris", groups="species")


def test_a_curve_without_tested_rows_is_refused(tmp_path):
    pd.DataFrame({"x": range(3), "k": list("aab"), "y": list("uvw")}).to_parquet(tmp_path / "few")
    rows = cw.scan(tmp_path / "few", target="y")
    with pytest.raises(ParameterError, match="some rows must be tested; of 3 rows none is"):
        cw.learning_curve(cw.NaiveBayes(), rows, points=[0.5, 1.0], holdout=0.01)
