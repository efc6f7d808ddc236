"""Many columns: what is counted, measured and dropped gives the models that all pairs give."""

import subprocess
import sys
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.discretize import rare_levels
from countwise.errors import CountsError, TableError
from countwise.evaluation import from_counts
from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes import aode
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN

ONE_PARENT = {
    "TAN": lambda: TAN(calibrate=None),
    "TAN by Laplace": lambda: TAN(1, calibrate=None),
    "TAN from a root": lambda: TAN(root="c07", calibrate=None),
    "KDB of all": lambda: KDB(1, selective=False, calibrate=None),
}
#: All pairs of 40 columns of three levels take 90 000 cells, a tree at most 4 800.
ROOM = 20_000


def wide_table(rows=120, columns=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    data = {
        f"c{at:02d}": (rng.integers(0, 3, rows) + y * (at % 3 == 0)) % 3 for at in range(columns)
    }
    frame = pd.DataFrame(data).astype(str)
    frame["c05"] = frame["c07"]
    return cw.read(frame.mask(rng.random(frame.shape) < 0.05).assign(y=y), target="y")


def fit_narrow(make, table, weight=None):
    """Fit where all pairs do not fit in memory."""
    with mock.patch.object(rare_levels, "MOST_PAIR_CELLS", ROOM):
        return make().fit(table, sample_weight=weight)


@pytest.mark.parametrize("make", ONE_PARENT.values(), ids=ONE_PARENT)
def test_the_tables_of_the_tree_alone_give_the_same_model(make):
    table = wide_table()
    weight = np.random.default_rng(1).integers(0, 3, len(table)).astype(float)
    whole, narrow = make().fit(table, sample_weight=weight), fit_narrow(make, table, weight)
    assert "P04" in [note.code for note in narrow.notes_]
    assert "P04" not in [note.code for note in whole.notes_]
    assert not narrow.kept_levels_
    assert len(narrow.counts_.tables) < 80 < len(whole.counts_.tables)
    np.testing.assert_array_equal(narrow.predict_proba(table), whole.predict_proba(table))
    for name in ("tree_", "root_", "families_"):
        assert getattr(narrow, name, None) == getattr(whole, name, None)
    assert narrow.views()[0] == whole.views()[0]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 9), st.integers(1, 30), st.integers(0, 10**6))
def test_the_tree_learned_once_is_the_tree_of_all_pairs(columns, rows, seed):
    table = wide_table(rows, max(columns, 8), seed)
    whole = TAN().fit(table)
    with (
        mock.patch.object(rare_levels, "MOST_PAIR_CELLS", 1),
        mock.patch.object(rare_levels, "tree_limit", lambda widths, classes: max(widths)),
        mock.patch("countwise.models.bayes.families.tree_limit", lambda widths, _: max(widths)),
    ):
        narrow = TAN().fit(table)
    assert narrow._learned_once
    assert narrow.tree_ == whole.tree_
    np.testing.assert_array_equal(narrow.predict_proba(table), whole.predict_proba(table))


@pytest.mark.parametrize("make", ONE_PARENT.values(), ids=ONE_PARENT)
def test_later_rows_change_the_tables_not_the_tree(make, tmp_path):
    table, more = wide_table(), wide_table(30, seed=5)
    model = fit_narrow(make, table)
    posteriors, tables = model.predict_proba(table), dict(model.counts_.tables)
    families = [term.columns for term in model._model.terms]
    cw.save(model, tmp_path / "model.cw")
    loaded = cw.load(tmp_path / "model.cw")
    np.testing.assert_array_equal(loaded.predict_proba(table), posteriors)
    assert loaded.notes_ == model.notes_
    for one in (model, loaded):
        one.partial_fit(more)
        assert [term.columns for term in one._model.terms] == families
        assert one.counts_.total == 150
        assert "P04" in [note.code for note in one.notes_]
    np.testing.assert_array_equal(loaded.predict_proba(more), model.predict_proba(more))
    model.forget(more)
    assert all(np.array_equal(cells, tables[key]) for key, cells in model.counts_.tables.items())
    np.testing.assert_array_equal(model.predict_proba(table), posteriors)
    assert (model + model).counts_.total == 240
    with pytest.raises(CountsError, match="merge"):
        model + fit_narrow(make, more)
    # Fitted again where there is room, the model keeps all pairs again.
    assert len(model.fit(table).counts_.tables) > 80


def test_a_tree_that_is_none_is_refused():
    model = fit_narrow(TAN, wide_table())
    model._learned_once = (model._learned_once[0], *model._learned_once[:0:-1])
    with pytest.raises(CountsError, match="after the 1 at most that it depends on"):
        model.after_load()
    model._learned_once = tuple((family[0],) for family in model._learned_once)
    with pytest.raises(CountsError, match="each attribute but the root"):
        model.after_load()


def test_a_column_of_many_levels_is_folded_until_the_tree_fits():
    table = wide_table(600)
    codes = np.random.default_rng(0).integers(0, 500, 600).astype(str)
    frame = pd.DataFrame({name: table.decode(name) for name in table.names}).assign(code=codes)
    model = fit_narrow(TAN, cw.read(frame, target="y", nominal=["code"], identifiers="keep"))
    assert {note.code for note in model.notes_} >= {"P01", "P04"}
    assert list(model.kept_levels_) == ["code"]
    assert sum(cells.size for cells in model.counts_.tables.values()) < ROOM


def test_aode_refuses_more_pairs_than_fit_and_names_a_way():
    with (
        mock.patch.object(rare_levels, "MOST_PAIR_CELLS", 1000),
        pytest.raises(TableError, match="take TAN, which keeps the tables of a tree"),
    ):
        AODE().fit(wide_table())


@pytest.mark.parametrize("model", [TAN(), AODE(), KDB(1, selective=False)], ids=repr)
def test_where_tables_of_all_folds_do_not_fit_models_are_refitted(model, monkeypatch):
    table = wide_table()
    once = evaluate({"one": model}, table, folds=4)
    monkeypatch.setattr(from_counts, "MOST_FOLD_CELLS", 1000)
    again = evaluate({"one": model}, table, folds=4)
    assert "E14" not in [note.code for note in once.notes]
    assert "would not fit" in next(note for note in again.notes if note.code == "E14").text
    assert "E05" not in [note.code for note in again.notes]
    for left, right in zip(
        once.entries["one"].predictions, again.entries["one"].predictions, strict=True
    ):
        np.testing.assert_array_equal(left.posteriors, right.posteriors)


@pytest.mark.parametrize("smoothing", [1.0, "laplace:0", "m-estimate:2:overall"])
def test_aode_answers_alike_whether_it_keeps_its_figures_or_not(smoothing, monkeypatch):
    table = wide_table(columns=12)
    asked = pd.DataFrame({name: table.decode(name) for name in table.names if name != "y"})
    asked.loc[:5, "c03"] = "unseen"
    kept = AODE(smoothing).fit(table)
    monkeypatch.setattr(aode, "MOST_FIGURES", 0)
    asking = AODE(smoothing).fit(table)
    with pytest.warns(cw.UnseenLevelWarning):
        expected = kept.predict_proba(asked)
    with pytest.warns(cw.UnseenLevelWarning):
        found = asking.predict_proba(asked)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(asking.predict(table), kept.predict(table))
    np.testing.assert_allclose(
        asking.explain(table).parts, kept.explain(table).parts, rtol=1e-9, atol=1e-11
    )


MEASURE = """
import numpy as np, countwise as cw
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table
rng = np.random.default_rng(0)
levels, classes = tuple("abcde"[:{levels}]), tuple(f"k{{at:02d}}" for at in range({classes}))
y = rng.integers(0, {classes}, {rows}).astype(np.uint8)
data = {{f"c{{at}}": rng.integers(0, {levels}, {rows}).astype(np.uint8) for at in range({columns})}}
schema = Schema((*(Column(n, "nominal", levels) for n in data), Column("y", "target", classes)))
table = Table(schema, {{**data, "y": y}})
model = cw.{model}().fit(table)
assert np.isfinite(model.predict_proba(table.take(slice(0, {asked})))).all()
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    ("model", "rows", "columns", "levels", "classes", "asked", "most"),
    [
        ("TAN", 450, 279, 5, 13, 450, 500),
        ("AODE", 450, 279, 5, 13, 450, 1000),
        ("TAN", 100, 2000, 5, 3, 100, 600),
        ("KDB", 100, 2000, 5, 3, 100, 600),
    ],
)
def test_peak_memory_in_megabytes(model, rows, columns, levels, classes, asked, most):
    code = MEASURE.format(
        model=model, rows=rows, columns=columns, levels=levels, classes=classes, asked=asked
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < most
