"""Every model and every source: the model of rows in memory, a noted sample, or a refusal."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import countwise as cw
from countwise.errors import CountwiseError
from countwise.models import registry
from countwise.models.discrete_bayes import discrete_bayes
from countwise.tables.sources import files

ROWS = 600
#: Settings under which a model of rows needs no words.
MODELS = [(entry, place) for entry in registry.models() for place in range(len(entry.examples))]


def columns(mixed: bool) -> dict[str, list]:
    drawn = random.Random(1)
    classes = [drawn.choice("abc") for _ in range(ROWS)]
    data: dict[str, list] = {
        "k": [drawn.choice("xyz" if label == "a" else "xw") for label in classes],
        "m": [drawn.choice(["p", "q", None]) for _ in classes],
        "n": [drawn.choice("01") + label * (drawn.random() < 0.3) for label in classes],
    }
    if mixed:
        data["u"] = [round(drawn.gauss("abc".index(label), 1.0), 2) for label in classes]
        data["v"] = [drawn.choice([None, drawn.random()]) for _ in classes]
    data["w"] = [drawn.choice([0, 1, 1, 2, 5]) for _ in classes]
    return {**data, "y": classes}


def write(place: Path, form: str, mixed: bool):
    """Write the rows in a form, in three parts; return what `scan` takes."""
    table = pa.table(columns(mixed))
    parts = [table.slice(start, 200) for start in (0, 200, 400)]
    if form == "data set":
        return ds.dataset(parts[0].from_batches([b for part in parts for b in part.to_batches()]))
    for number, part in enumerate(parts):
        path = place / f"{number}.{form}"
        if form == "parquet":
            pq.write_table(part, path, row_group_size=64)
        else:
            arrow_csv.write_csv(part, path)
    return place


@pytest.mark.parametrize(
    ("form", "weighted"),
    [("parquet", False), ("csv", False), ("data set", False), ("csv", True)],
    ids=["parquet", "csv", "data set", "weights"],
)
@pytest.mark.parametrize("mixed", [False, True], ids=["nominal", "mixed"])
@pytest.mark.parametrize(
    ("entry", "place"), MODELS, ids=[f"{entry.name}-{place}" for entry, place in MODELS]
)
def test_a_scan_gives_the_model_of_memory_a_noted_sample_or_a_refusal(
    entry, place, form, weighted, mixed, tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "SEGMENT", 1000)
    place_of_weights = {"weight": "w"} if weighted else {"drop": ["w"]}
    rows = cw.scan(write(tmp_path, form, mixed), target="y", memory="2MB", **place_of_weights)
    model = entry.build(entry.examples[place])
    refused = ""
    try:
        model.fit(rows)
    except CountwiseError as error:
        refused = str(error)
    if refused:
        assert "in memory" in refused
        is_made_from_counts = getattr(model, "takes_scans", False)
        reasons = ("quantizer", "pruning", "no weights")
        assert not is_made_from_counts or any(reason in refused for reason in reasons)
        return
    assert model.takes_scans
    table = cw.read(pa.table(columns(mixed)), target="y", drop=["w"])
    weight = columns(mixed)["w"] if weighted else None
    wanted = entry.build(entry.examples[place]).fit(table, sample_weight=weight)
    found, expected = model.predict_proba(table), wanted.predict_proba(table)
    if "S12" in {note.code for note in model.notes_}:
        # Members draw other rows than in memory; that they are right is tested by their weights.
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert np.mean(np.abs(found - expected)) < 0.2
        return
    if entry.name == "ID3":
        # Parts of rows without a value are fractions, which are added in another order.
        assert len(model.tree_) == len(wanted.tree_)
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)
    else:
        assert np.array_equal(found, expected)
    assert {"S01", "S04"} & {note.code for note in model.notes_} or entry.name == "DiscreteBayes"


@pytest.mark.parametrize("model", [cw.NaiveBayes(), cw.NaiveBayes(bigrams=True), cw.TAN()])
def test_words_are_counted_or_left_out_as_in_memory(model, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SEGMENT", 1000)
    drawn = random.Random(0)
    words = ["alpha", "beta", "gamma", "delta", "don't", "Été"]
    lines = [
        f"{' '.join(drawn.choice(words) + str(drawn.randint(0, 9)) for _ in range(6))},"
        f"{drawn.choice('ab')},{drawn.choice('pq')}\n"
        for _ in range(300)
    ]
    path = tmp_path / "rows.csv"
    path.write_text("body,k,y\n" + "".join(lines), encoding="utf-8")
    table = cw.read(path, target="y")
    found = clone(model).fit(cw.scan(path, target="y"))
    expected = clone(model).fit(table)
    assert np.array_equal(found.predict_proba(table), expected.predict_proba(table))
    codes = [note.code for note in found.notes_ if note.code != "S01"]
    assert codes == [note.code for note in expected.notes_]


def test_thresholds_on_borders_of_cells_are_noted(tmp_path):
    drawn = np.random.default_rng(0)
    values = drawn.random(6000)
    table = pa.table({"x": values, "y": np.where(values > 0.6, "a", "b")})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=1000)
    model = cw.ID3(max_depth=1).fit(cw.scan(tmp_path, target="y"))
    assert model.tree_.threshold[0] == pytest.approx(0.6, abs=1e-3)
    assert "S05" in {note.code for note in model.notes_}


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1.5, "holds -1.5 in 'w'"),
        (None, "holds no number in 'w'"),
        (1e120, "1e[+]120"),
        (1e200, "1e[+]200"),
    ],
)
def test_what_is_no_weight_is_named_with_file_and_row(form, value, said, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SEGMENT", 1000)
    data = columns(True)
    data["w"] = [value if place == 577 else float(w) for place, w in enumerate(data["w"])]
    path = tmp_path / f"rows.{form}"
    if form == "csv":
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in
                 zip(*data.values(), strict=True)]  # fmt: skip
        path.write_text("\n".join([",".join(data), *lines]))
    else:
        pq.write_table(pa.table(data), path, row_group_size=64)
    with pytest.raises(CountwiseError, match=said) as refusal:
        cw.TAN().fit(cw.scan(path, target="y", weight="w"))
    assert f"rows.{form}'" in str(refusal.value)
    assert "row 578 " in str(refusal.value)


def test_fractional_weights_are_noted_and_rounded(tmp_path):
    data = columns(True)
    weight = np.array(data["w"]) / 10
    pq.write_table(pa.table({**data, "w": weight}), tmp_path / "rows.parquet", row_group_size=64)
    rows = cw.scan(tmp_path, target="y", weight="w")
    model = cw.NaiveBayes().fit(rows)
    table = cw.read(pa.table(data), target="y", drop=["w"])
    wanted = cw.NaiveBayes().fit(table, sample_weight=weight)
    assert np.allclose(model.predict_proba(table), wanted.predict_proba(table), rtol=1e-9)
    assert "S07" in {note.code for note in model.notes_}
    whole = cw.NaiveBayes().fit(cw.scan(tmp_path, target="y", drop=["w"]))
    assert "S07" not in {note.code for note in whole.notes_}


def test_weights_that_a_scan_cannot_have(tmp_path):
    place = write(tmp_path, "csv", True)
    with pytest.raises(CountwiseError, match="weight= must name a column; got 'x'"):
        cw.scan(place, target="y", weight="x")
    with pytest.raises(CountwiseError, match="must not be the class"):
        cw.scan(place, target="y", weight="y")
    with pytest.raises(CountwiseError, match="weight must be the name of a column"):
        cw.scan(place, target="y", weight=3)
    with pytest.raises(CountwiseError, match="weight= and the name"):
        cw.count(cw.scan(place, target="y"), sample_weight=np.ones(ROWS))
    schema = cw.read(pa.table(columns(True)), target="y", drop=["w"]).schema
    rows = cw.scan(place, schema=schema, weight="w")
    assert cw.count(rows).total == sum(columns(True)["w"])


def test_a_sample_is_noted_and_cells_hold_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(discrete_bayes, "SEARCHED_ROWS", 150)
    place = write(tmp_path, "parquet", True)
    weighted = cw.DiscreteBayes(random_state=0).fit(cw.scan(place, target="y", weight="w"))
    assert weighted.cells_.total == sum(columns(True)["w"])
    model = cw.DiscreteBayes(random_state=0).fit(cw.scan(place, target="y", drop=["w"]))
    assert model.cells_.total == ROWS
    (note,) = [note for note in model.notes_ if note.code == "S04"]
    assert "150 of 600 rows" in note.text


def test_a_sample_is_drawn_by_identity_not_by_order(tmp_path):
    place = write(tmp_path, "parquet", True)
    paths = sorted(place.glob("*.parquet"))
    one = cw.scan(paths, target="y").sample(40)
    two = cw.scan(paths[::-1], target="y").sample(40)
    assert sorted(map(str, one.to_arrow().to_pylist())) == sorted(
        map(str, two.to_arrow().to_pylist())
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_of_weights_and_gaps_can_be_saved(tmp_path, seed):
    """What is left of a node is summed up, not taken away: differences may be below zero."""
    rng = np.random.default_rng(seed)
    rows = 400
    x = np.where(rng.random(rows) < 0.15, np.nan, rng.normal(size=rows).round(2))
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=rows).round(2), "w": rng.random(rows)})
    frame["y"] = np.where((frame.z > 0) ^ (rng.random(rows) < 0.3), "yes", "no")
    frame.to_parquet(tmp_path / "rows.parquet")
    model = cw.ID3(max_depth=6).fit(cw.scan(tmp_path / "rows.parquet", target="y", weight="w"))
    assert model.tree_.counts.min() >= 0
    cw.save(model, tmp_path / "m.cw")
    table = cw.read(frame.drop(columns="w"), target="y")
    again = cw.load(tmp_path / "m.cw").predict_proba(table)
    np.testing.assert_array_equal(again, model.predict_proba(table))
