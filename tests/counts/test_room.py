"""Counts that do not fit in memory together: more scans give the same results, or one sentence."""

import re

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.counts import room, side_by_side
from countwise.counts.count_rows import count
from countwise.counts.engines import memory, stream
from countwise.counts.plan import Plan
from countwise.counts.room import size_of
from countwise.errors import CountwiseError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write rows of which late ones bring levels, in several files."""
    place = tmp_path_factory.mktemp("wide")
    drawn = np.random.default_rng(0)
    for part in range(3):
        data = {f"k{at}": drawn.integers(0, 4 + 3 * part, 300).astype(str) for at in range(8)}
        data |= {f"x{at}": drawn.normal(size=300) + drawn.integers(0, 3, 300) for at in range(2)}
        data["y"] = np.where(data["x0"] + drawn.normal(size=300) > 1, "a", "b")
        data = {name: [f"v{c}" for c in v] if name[0] == "k" else v for name, v in data.items()}
        pd.DataFrame(data).to_parquet(place / f"{part}.parquet", row_group_size=100)
    return place


def scan(folder, **options):
    return cw.scan(folder, target="y", **options)


def give_room(monkeypatch, size):
    for module in (room, stream, side_by_side):
        monkeypatch.setattr(module, "room_of", lambda scan: size)


def found_of(trials):
    return {
        name: (trials.confusion(name).counts.tolist(), trials.score("log_loss", name).values)
        for name in trials.names
    }


def codes(result):
    return {note.code for note in result.notes}


MODELS = {"tan": cw.TAN(), "aode": cw.AODE(), "bayes": cw.NaiveBayes(numeric="gaussian")}


@pytest.mark.parametrize("some", [MODELS, {"tan": cw.TAN(), "kdb": cw.KDB(k=1, selective=False)}])
def test_models_that_take_turns_have_the_same_scores(folder, monkeypatch, some):
    wanted = cw.evaluate(some, scan(folder), folds=4, repeats=2)
    assert "S13" not in codes(wanted)
    give_room(monkeypatch, 1_300_000)
    found = cw.evaluate(some, scan(folder), folds=4, repeats=2)
    assert "S13" in codes(found)
    assert found_of(found) == found_of(wanted)


def test_sizes_of_a_curve_take_turns(folder, monkeypatch):
    points = [0.25, 0.5, 1.0]
    wanted = cw.learning_curve(cw.TAN(), scan(folder), points=points, folds=3, test_rows=150)
    give_room(monkeypatch, 900_000)
    found = cw.learning_curve(cw.TAN(), scan(folder), points=points, folds=3, test_rows=150)
    assert "S13" in codes(found)
    assert "S13" not in codes(wanted)
    for one, two in zip(found.trials, wanted.trials, strict=True):
        assert found_of(one) == found_of(two)


def test_fits_hold_at_most_one_model_more_than_there_is_room_for(folder, monkeypatch):
    give_room(monkeypatch, 1_300_000)
    held = []
    serve = side_by_side.SideBySide.run_scan

    def watch(self, fold, add, engine=None):
        held.append(self._held_by_all + sum(self._held.values()))
        return serve(self, fold, add, engine)

    monkeypatch.setattr(side_by_side.SideBySide, "run_scan", watch)
    cw.evaluate(MODELS, scan(folder), folds=5)
    assert 1_000_000 < max(held) < 2 * 1_300_000


def test_a_model_without_room_is_left_out_by_name(folder, monkeypatch):
    give_room(monkeypatch, 200_000)
    models = {"tan": cw.TAN(cuts="frequency", bins=60), "bayes": cw.NaiveBayes(numeric="gaussian")}
    trials = cw.evaluate(models, scan(folder, drop=["x1"]), folds=2)
    assert trials.names == ("bayes", "majority")
    [note] = [str(note) for note in trials.notes if note.code == "S09"]
    assert "tan was left out: scan: counts must fit in 1MB, 2 times memory=" in note
    with pytest.raises(CountwiseError, match=r"would take \d+MB\. Give memory='\d+MB', or fold"):
        cw.evaluate(models["tan"], scan(folder, drop=["x1"]), folds=2)


def test_members_beside_other_fits_are_told_what_all_of_them_need(folder, monkeypatch):
    monkeypatch.setattr(room, "MEMORY", 1)
    bagged = cw.Bagging(cw.TAN(cuts="frequency", bins=60), n_estimators=12)
    models = {"bag": bagged, "bayes": cw.NaiveBayes(numeric="gaussian")}
    trials = cw.evaluate(models, scan(folder, memory="2MB"), folds=2)
    [note] = [str(note) for note in trials.notes if note.code == "S09"]
    found = re.search(r"shared by 6 fits; .* take (\d+)MB\. Give memory='(\d+)MB'", note)
    assert found, note
    needed, memory = map(int, found.groups())
    assert 3 * (needed - 1) <= memory <= 3 * needed + 1
    trials = cw.evaluate(models, scan(folder, memory="20MB"), folds=2)
    assert "bag" in trials.names


def test_all_members_of_an_ensemble_must_fit(folder, monkeypatch):
    bagging = cw.Bagging(cw.TAN(), n_estimators=12)
    bagging.fit(scan(folder))
    give_room(monkeypatch, 1_300_000)
    with pytest.raises(CountwiseError, match="those of all members would take"):
        bagging.fit(scan(folder))


@pytest.mark.parametrize("checkpoint", [None, "run.counts"])
def test_columns_are_surveyed_before_counts_that_grow_too_large(
    folder, monkeypatch, tmp_path, checkpoint
):
    options = {"drop": ["x0", "x1"]}
    rows = scan(folder, **options)
    wanted = count(rows, Plan.pairs)
    size = size_of(wanted.plan, wanted.schema)
    give_room(monkeypatch, 2 * size)
    if checkpoint is not None:
        options["checkpoint"] = tmp_path / checkpoint
    rows = scan(folder, **options)
    assert count(rows, Plan.pairs) == wanted
    assert "S13" in codes(rows)
    frame = pd.concat(pd.read_parquet(path) for path in sorted(folder.iterdir()))
    assert wanted == count(cw.read(frame, target="y", drop=["x0", "x1"]), Plan.pairs)


def test_counts_of_a_fit_that_do_not_fit_are_refused(folder, monkeypatch):
    give_room(monkeypatch, 20_000)
    rows = scan(folder, drop=["x0", "x1"])
    with pytest.raises(CountwiseError, match="those of 8 columns would take 1MB"):
        count(rows, Plan.pairs)


def test_rows_that_can_be_read_once_are_refused_before_memory_is_short(folder, monkeypatch):
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "0.parquet", columns=["k0", "k1", "k2", "y"])
    give_room(monkeypatch, 10_000)
    with pytest.raises(CountwiseError, match="rows that can be read once would take"):
        count(cw.scan(table.to_reader(), target="y"), Plan.pairs)


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_added_up_by_themselves_equal_joint_tables(folder, weighted):
    table = cw.read(folder / "2.parquet", target="y")
    weight = np.arange(len(table)) % 4.0 if weighted else None
    plan = Plan.pairs(table.schema) | Plan.each(table.schema, "both")
    for most in (0, memory.MOST_JOINT_CELLS):
        running = memory.RunningCounts(plan, most)
        for start in range(0, len(table), 70):
            part = slice(start, start + 70)
            running.add(table.take(part), None if weight is None else weight[part])
        assert running.counts() == memory.fold(table, plan, weight)


def test_a_refusal_counts_what_the_first_scan_left(folder, monkeypatch):
    rows = scan(folder, drop=["x0", "x1"])
    plan = Plan.pairs(rows.schema)
    size = size_of(plan, rows.schema)
    monkeypatch.setattr(room, "_size", str)
    for spare in (-1, 0):
        give_room(monkeypatch, size + 1000 + spare)
        passes = side_by_side.SideBySide(rows, None, 1)
        passes._held_by_all = 1000
        request = side_by_side.Request(rows, None, plan)
        passes._waiting, passes._held = [request], {request.fit: 0}
        assert passes._admit() == [request]
        assert (request.refusal is None) == (spare == 0)
        if request.refusal is not None:
            assert f"would take {size + 1000}." in str(request.refusal)
