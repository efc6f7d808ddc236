"""predict: what it writes is what the model says, whatever the size, the shape or the place."""

import csv
import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.store.files import load
from countwise.tables.formats import blocks

from .conftest import refused, rows_of, write_csv


def answers(text):
    return list(csv.DictReader(io.StringIO(text)))


def expected(path="good.csv", model="m.cw"):
    loaded = load(model)
    return loaded, loaded.predict_proba(cw.read(path, target="class"))


def test_stdout_is_csv_and_the_accuracy_goes_to_stderr(run, folder):
    done = run("predict", "m.cw", "good.csv")
    model, posteriors = expected()
    found = answers(done.stdout)
    assert list(found[0]) == ["class", "p_no", "p_yes", "decision"]
    shares = np.array([[float(row["p_no"]), float(row["p_yes"])] for row in found])
    assert np.abs(shares - posteriors).max() <= 5.1e-7
    assert [row["class"] for row in found] == model.predict(cw.read("good.csv", "class")).tolist()
    assert [row["class"] for row in found] == [row["decision"] for row in found]
    right = np.mean([row["class"] == truth[2] for row, truth in zip(found, rows_of(), strict=True)])
    assert f"Accuracy {right:.4f} on the 60 rows" in done.stderr


def test_parquet_holds_the_exact_posteriors(run, folder):
    assert run("predict", "m.cw", "good.csv", "-o", "out.parquet").exit_code == 0
    table = pq.read_table("out.parquet")
    _, posteriors = expected()
    assert table.column_names == ["class", "p_no", "p_yes", "decision"]
    assert np.array_equal(np.stack([table["p_no"], table["p_yes"]], axis=1), posteriors)


@pytest.mark.parametrize("size", [40, 300, 1 << 20])
def test_segments_of_any_size_say_the_same(run, folder, monkeypatch, size):
    write_csv("long.csv", [row for seed in range(30) for row in rows_of(seed=seed)])
    whole = run("predict", "m.cw", "long.csv").stdout
    monkeypatch.setattr(blocks, "SEGMENT", size)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    assert run("predict", "m.cw", "long.csv").stdout == whole
    assert len(answers(whole)) == 1800


@pytest.mark.parametrize("way", ["quotes", "crlf", "latin", "carriage returns", "blank lines"])
def test_files_written_in_other_ways_say_the_same(run, folder, monkeypatch, way):
    monkeypatch.setattr(blocks, "SEGMENT", 100)
    plain = run("predict", "m.cw", "good.csv").stdout
    text = (folder / "good.csv").read_text()
    changed = {
        "quotes": text.replace("\na,", '\n"a",'),
        "crlf": text.replace("\n", "\r\n"),
        "latin": text.replace("class\n", "class,cafe\n", 1).replace("yes\n", "yes,caf\xe9\n"),
        "carriage returns": text.replace("\n", "\r"),
        "blank lines": text.replace("\n", "\n\n"),
    }[way]
    if way == "latin":
        changed = changed.replace("no\n", "no,x\n")
    (folder / "other.csv").write_bytes(changed.encode("latin-1"))
    assert run("predict", "m.cw", "other.csv").stdout == plain


def test_columns_in_another_order_and_without_the_class(run, folder):
    rows = [(row[1], "extra", row[0]) for row in rows_of()]
    write_csv("turned.csv", rows, ("x", "more", "a"))
    done = run("predict", "m.cw", "turned.csv")
    assert done.stdout == run("predict", "m.cw", "good.csv").stdout
    assert done.stderr == ""


def test_other_formats(run, folder):
    plain = run("predict", "m.cw", "good.csv").stdout
    lines = [json.dumps({"a": row[0], "x": float(row[1]), "class": row[2]}) for row in rows_of()]
    (folder / "good.jsonl").write_text("\n".join(lines) + "\n")
    assert run("predict", "m.cw", "good.jsonl").stdout == plain


def test_columns_are_carried_over(run, folder):
    rows = [(f'say "{n}", please', *row) for n, row in enumerate(rows_of())]
    with open("named.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("who", "a", "x", "class"), *rows])
    done = run("predict", "m.cw", "named.csv", "--keep", "who,x")
    found = answers(done.stdout)
    assert [row["who"] for row in found] == [row[0] for row in rows]
    assert [float(row["x"]) for row in found] == [float(row[2]) for row in rows]
    run("predict", "m.cw", "named.csv", "--keep", "who", "-o", "out.parquet")
    assert pq.read_table("out.parquet")["who"].to_pylist() == [row[0] for row in rows]


def test_gains_change_decisions_not_classes(run, folder):
    write_csv("gain.csv", [("yes", "1", "-9"), ("no", "-1", "1")], ("true", "yes", "no"))
    done = run("predict", "m.cw", "good.csv", "--gain", "gain.csv")
    found = answers(done.stdout)
    assert {row["class"] for row in found} == {"yes", "no"}
    assert {row["decision"] for row in found} == {"yes"}
    assert "The decisions lose" in done.stderr
    run("fit", "good.csv", "--model", "naive-bayes", "--gain", "gain.csv", "-o", "g.cw", "-q")
    assert run("predict", "g.cw", "good.csv").stdout == done.stdout


def test_a_decision_not_to_decide(run, folder):
    rows = [("yes", "1", "-9", "0.9"), ("no", "-9", "1", "0.9")]
    write_csv("gain.csv", rows, ("true", "yes", "no", "ask"))
    found = answers(run("predict", "m.cw", "good.csv", "--gain", "gain.csv").stdout)
    assert {row["decision"] for row in found} == {"ask"}


def test_new_levels_are_said_once(run, folder, monkeypatch):
    monkeypatch.setattr(blocks, "SEGMENT", 100)
    write_csv("new.csv", [("zz", *row[1:]) for row in rows_of()])
    done = run("predict", "m.cw", "new.csv", "-o", "out.csv", "--json")
    facts = json.loads(done.stdout)
    assert facts["unseen"] == {"a": {"zz": 60}}
    assert done.stderr == ""
    done = run("predict", "m.cw", "new.csv", "-o", "out.csv")
    assert done.stderr.count("never saw") == 1


def test_new_levels_are_refused_where_the_model_says_so(run, folder):
    run("fit", "good.csv", "-o", "strict.cw", "--param", "unseen=error", "-q")
    write_csv("new.csv", [("zz", *row[1:]) for row in rows_of()])
    assert "'zz'" in refused(run("predict", "strict.cw", "new.csv", "-o", "out.csv"))
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("cell", ["inf", "oops"])
def test_rows_are_numbered_from_the_start_of_the_file(run, folder, monkeypatch, cell):
    monkeypatch.setattr(blocks, "SEGMENT", 100)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 3)
    write_csv("bad.csv", [*rows_of(), ("a", cell, "yes"), *rows_of()])
    (folder / "out.csv").write_text("as it was")
    assert f"row 61 holds {cell!r}" in refused(
        run("predict", "m.cw", "bad.csv", "-o", "out.csv")
    ).replace(" inf.", " 'inf'.")
    assert (folder / "out.csv").read_text() == "as it was"
    assert not list(folder.glob(".*"))


def test_a_row_stays_a_row_where_training_would_drop_it(run, folder):
    run("fit", "good.csv", "-o", "drop.cw", "--when-missing", "drop", "-q")
    write_csv("gaps.csv", [("?", "", "yes"), *rows_of()])
    done = run("predict", "drop.cw", "gaps.csv")
    assert len(answers(done.stdout)) == 61


def test_a_file_without_a_header(run, folder):
    text = (folder / "good.csv").read_text().split("\n", 1)[1]
    (folder / "bare.csv").write_text(text)
    options = ["--no-header", "-t", "x3", "--model", "naive-bayes", "-o", "bare.cw"]
    assert run("fit", "bare.csv", *options).exit_code == 0
    done = run("predict", "bare.cw", "bare.csv", "--no-header")
    assert done.stdout == run("predict", "m.cw", "good.csv").stdout


def test_whole_number_classes_keep_their_type_in_parquet(run, folder):
    rows = [(row[0], row[1], "1" if row[2] == "yes" else "0") for row in rows_of()]
    write_csv("numbers.csv", rows)
    run("fit", "numbers.csv", "-o", "numbers.cw", "-q")
    assert run("predict", "numbers.cw", "numbers.csv", "-o", "out.parquet").exit_code == 0
    found = pq.read_table("out.parquet")
    assert found.column_names == ["class", "p_0", "p_1", "decision"]
    assert set(found["class"].to_pylist()) <= {"0", "1", 0, 1}


def test_samples_can_be_predicted(run, folder):
    run("fit", "sample:credit-g", "-o", "credit.cw", "-q")
    done = run("predict", "credit.cw", "sample:credit-g", "--gain", "sample", "-q")
    assert len(answers(done.stdout)) == 1000
    assert done.stderr == ""
