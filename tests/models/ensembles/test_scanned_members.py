"""Bagging of rows outside memory: members are fits to weights that follow from where rows are."""

import threading
from math import exp, factorial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import countwise as cw
from countwise.counts.resampling import draws_by_hash
from countwise.errors import TableError
from countwise.numeric import draw_seed
from countwise.tables.scan_sample import hash_rows
from countwise.testing.laws import uncalibrated


def scan(credit_folder, **options):
    options = {"drop": ["customer"]} | options
    return cw.scan(f"{credit_folder}/*.parquet", target="class", **options)


def times_of(rows, member, seed=0, mean=1.0):
    """How often a member draws each row: the distribution function, inverted once more."""
    rows.make_certain()
    hashes = np.concatenate(
        [
            hash_rows(block, f"{seed} member {member}")
            for piece in rows.pieces()
            for block in rows.blocks(piece)
        ]
    )
    below = np.cumsum([exp(-mean) * mean**k / factorial(k) for k in range(25)])
    return np.searchsorted(below, hashes / 2.0**64, side="right")


MODELS = {
    "gaussian": cw.NaiveBayes(numeric="gaussian"),
    "cuts": cw.NaiveBayes(),
    "kernel": cw.NaiveBayes(numeric="kernel"),
    "tan": cw.TAN(),
    "aode": cw.AODE(),
    "kdb": cw.KDB(selective=True),
}


def weigh(credit_frame, credit_folder, weight):
    """Scan the rows, and give them as a table and the weight of each row."""
    rows = scan(credit_folder, weight=weight)
    table = cw.read(credit_frame, target="class", drop=["customer"])
    if weight is None:
        return rows, table, np.ones(len(table))
    return rows, without(table, [weight]), table.values(weight)


def without(table, names):
    return table.select([c.name for c in table.schema.attributes if c.name not in names])


@pytest.mark.parametrize("weight", [None, "existing_credits"])
@pytest.mark.parametrize("name", MODELS)
def test_counts_of_members_are_those_of_the_weights(credit_frame, credit_folder, name, weight):
    rows, table, weights = weigh(credit_frame, credit_folder, weight)
    model = cw.Bagging(MODELS[name], n_estimators=4, random_state=7).fit(rows)
    for place, member in enumerate(model.members_):
        times = times_of(rows, place, model._seed) * weights
        some = np.flatnonzero(times)
        alone = uncalibrated(MODELS[name]).fit(
            table.take(some), sample_weight=times[some].astype(float)
        )
        assert member.counts_ == alone.counts_
        np.testing.assert_allclose(
            member.predict_proba(table), alone.predict_proba(table), rtol=1e-12
        )


@pytest.mark.parametrize("weight", [None, "existing_credits"])
def test_trees_are_those_of_the_weights(credit_frame, credit_folder, weight):
    _, table, weights = weigh(credit_frame, credit_folder, weight)
    numeric = [column.name for column in table.schema.numeric]
    rows = scan(credit_folder, drop=[*numeric, "customer"], weight=weight)
    model = cw.Bagging(cw.ID3(max_depth=3), n_estimators=3).fit(rows)
    table = without(table, numeric)
    for place, member in enumerate(model.members_):
        times = times_of(rows, place, model._seed) * weights
        alone = cw.ID3(max_depth=3, smoothing=1).fit(table, sample_weight=times)
        np.testing.assert_allclose(member.predict_proba(table), alone.predict_proba(table))


@pytest.mark.parametrize("weight", [None, "existing_credits"])
def test_out_of_bag_is_a_recount(credit_frame, credit_folder, weight):
    rows, table, weights = weigh(credit_frame, credit_folder, weight)
    model = cw.Bagging(cw.TAN(), n_estimators=6, oob_score=True).fit(rows)
    times = np.stack([times_of(rows, place, model._seed) for place in range(6)], axis=1)
    truth = table.target
    each = np.stack([member.predict_proba(table) for member in model.members_], axis=1)
    left = times == 0
    votes = np.where(left[..., None], each, 0.0).sum(axis=1)
    some = left.any(axis=1)
    wrong = np.where(left, each.argmax(axis=2) != truth[:, None], 0.0).sum(axis=1)
    found = model.out_of_bag_
    total, covered = weights.sum(), weights[some].sum()
    assert found.coverage == covered / total
    assert found.error == weights[some] @ (votes.argmax(axis=1)[some] != truth[some]) / covered
    single = weights[some] @ (wrong[some] / left.sum(axis=1)[some]) / covered
    assert found.single_error == pytest.approx(single)
    whole = cw.TAN().fit(table, sample_weight=weights).predict_proba(table).argmax(axis=1)
    assert found.apparent_error == weights @ (whole != truth) / total
    assert model.votes_.shape == (0, 2)
    assert found.apparent_error <= found.error_632 <= found.single_error


def test_rows_without_weight_are_neither_learned_nor_tested(tmp_path):
    """A class that has no other rows is none; a fraction is a weight as any other."""
    lines = [f"{'ab'[i % 2]},{'pqpz'[i % 4]},{0 if i % 4 == 3 else 0.5 + i % 3}" for i in range(80)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y,w", *lines]))
    rows = cw.scan(tmp_path / "rows.csv", target="y", weight="w")
    model = cw.Bagging(cw.NaiveBayes(), n_estimators=3, oob_score=True).fit(rows)
    assert model.classes_.tolist() == ["p", "q"]
    assert model.out_of_bag_.apparent_error == 0
    weights = np.array([float(line.rsplit(",", 1)[1]) for line in lines])
    times = [times_of(rows, place, model._seed) for place in range(3)]
    for member, drawn in zip(model.members_, times, strict=True):
        assert member.counts_.weight.sum() == pytest.approx(drawn @ weights, rel=1e-12)
    some = np.min(times, axis=0) == 0
    assert model.out_of_bag_.coverage == pytest.approx(weights[some].sum() / weights.sum())
    assert "S07" in {note.code for note in model.notes_}


def test_one_scan_serves_all_members_that_need_no_cuts(credit_folder, monkeypatch):
    rows = scan(credit_folder)
    reads = []
    inner = rows.source.blocks
    monkeypatch.setattr(rows.source, "blocks", lambda *given: reads.append(1) or inner(*given))
    model = cw.NaiveBayes(numeric="gaussian")
    cw.Bagging(model, n_estimators=20).fit(rows)
    assert len(reads) == 3  # one for each file
    reads.clear()
    plain = cw.NaiveBayes(numeric="gaussian", calibrate=None)
    cw.Bagging(plain, n_estimators=20, oob_score=True).fit(rows)
    assert len(reads) == 6  # one scan more tests members out of bag


def test_blocks_and_order_of_pieces_do_not_matter(credit_folder):
    paths = sorted(credit_folder.glob("*.parquet"), reverse=True)
    one = cw.Bagging(cw.AODE(), n_estimators=3).fit(
        cw.scan(paths, target="class", drop=["customer"], memory="1MB")
    )
    two = cw.Bagging(cw.AODE(), n_estimators=3).fit(scan(credit_folder))
    for left, right in zip(one.members_, two.members_, strict=True):
        assert left.counts_ == right.counts_


def test_weights_are_poisson():
    hashes = np.random.default_rng(0).integers(0, 2**64, 200_000, dtype=np.uint64)
    for mean in (1.0, 0.4):
        draws = draws_by_hash(hashes, mean)
        shares = np.bincount(draws, minlength=5)[:5] / len(draws)
        known = [exp(-mean) * mean**k / factorial(k) for k in range(5)]
        np.testing.assert_allclose(shares, known, atol=0.005)
    assert draws_by_hash(np.array([0, 2**64 - 1], dtype=np.uint64), 1.0).tolist()[0] == 0
    assert draws_by_hash(np.array([2**64 - 1], dtype=np.uint64), 1.0)[0] < 30
    once = draws_by_hash(hashes, 0.4, replace=False)
    assert set(once.tolist()) == {0, 1}
    assert once.mean() == pytest.approx(0.4, abs=0.005)
    assert draws_by_hash(hashes, 1.0, replace=False).all()


def test_the_model_says_so_and_can_be_kept(credit_folder, tmp_path):
    rows = scan(credit_folder)
    model = cw.Bagging(cw.NaiveBayes(), n_estimators=3, fraction=0.5).fit(rows)
    [note] = [note for note in model.notes_ if note.code == "S12"]
    assert "Poisson" in str(note)
    assert "mean 0.5" in str(note)
    once = cw.Bagging(cw.NaiveBayes(), n_estimators=1, replace=False).fit(rows)
    assert once.members_[0].counts_ == cw.NaiveBayes().fit(rows).counts_
    assert "at most once, with probability 1;" in str(once.notes_[-1])
    cw.save(model, tmp_path / "bagging.cw")
    table = rows.sample(50)
    again = cw.load(tmp_path / "bagging.cw")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_bagging_is_compared_with_other_models(credit_frame, credit_folder):
    """The members of a fold draw from its training rows, each row as often as ever."""
    rows = scan(credit_folder)
    models = {"bag": cw.Bagging(cw.TAN(), n_estimators=3), "tan": cw.TAN()}
    trials = cw.evaluate(models, rows, folds=3)
    assert trials.names == ("bag", "tan", "majority")
    table = cw.read(credit_frame, target="class", drop=["customer"])
    folds = np.concatenate(
        [hash_rows(b, 0) % np.uint64(3) for p in rows.pieces() for b in rows.blocks(p)]
    )
    right, seed = 0, draw_seed(0)
    for fold in range(3):
        train, test = folds != fold, np.flatnonzero(folds == fold)
        votes = np.zeros((len(test), 2))
        for place in range(3):
            times = times_of(rows, place, seed)
            some = np.flatnonzero(train & (times > 0))
            weight = times[some].astype(float)
            member = uncalibrated(cw.TAN()).fit(table.take(some), sample_weight=weight)
            votes += member.predict_proba(table.take(test))
        right += int(np.sum(votes.argmax(axis=1) == table.target[test]))
    assert np.trace(trials.confusion("bag").counts) == right


def test_what_a_scan_cannot_do_is_refused(credit_folder):
    before = threading.active_count()
    with pytest.raises(TableError, match="LogisticRegression: it learns from rows in memory"):
        cw.Bagging(LogisticRegression()).fit(scan(credit_folder))
    with pytest.raises(TableError, match="Logistic: it learns from rows in memory"):
        cw.Bagging(cw.Logistic()).fit(scan(credit_folder))
    with pytest.raises(TableError, match="brings its classes and weights along"):
        cw.Bagging(cw.TAN()).fit(scan(credit_folder), sample_weight=np.ones(600))
    with pytest.raises(TableError, match="prune"):
        cw.Bagging(cw.ID3(prune=0.2), n_estimators=3).fit(scan(credit_folder))
    with pytest.raises(TableError, match="AdaBoost"):
        cw.AdaBoost().fit(scan(credit_folder))
    assert threading.active_count() == before
    assert not cw.Bagging(cw.Logistic()).takes_scans
    assert cw.Bagging(cw.TAN()).takes_scans


def test_too_few_rows_for_a_member(tmp_path):
    (tmp_path / "tiny.csv").write_text("x,y\na,no\nb,yes\n")
    rows = cw.scan(tmp_path / "tiny.csv", target="y")
    with pytest.raises(TableError, match="every member must draw a row"):
        cw.Bagging(cw.NaiveBayes(), n_estimators=50).fit(rows)
