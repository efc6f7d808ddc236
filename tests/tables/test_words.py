"""Columns of free text: how they are found, read and split into words."""

import gzip
import json
import pickle

import numpy as np
import pytest

import countwise as cw
from countwise.errors import ParameterError, SchemaError, TableError
from countwise.tables.words import Texts, join_cells, split_words, text_codes

SENTENCES = [
    f"The {thing} was {how} on day {day}"
    for day, (thing, how) in enumerate(
        (thing, how)
        for thing in ("train", "film", "soup", "walk")
        for how in ("very late", "really good", "not so hot")
    )
]
LABELS = ["a", "b"] * 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("To be, or NOT to be", ["to", "be", "or", "not", "to", "be"]),
        ("don't 'quote' rock’n’roll", ["don't", "quote", "rock'n'roll"]),
        ("Äpfel über ÉCOLE", ["äpfel", "über", "école"]),
        ("cafe\u0301 caf\u00e9", ["café", "café"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("snake_case 3.5 x2", ["snake_case", "3", "5", "x2"]),
        ("東京 2020", ["東京", "2020"]),
        ("--- ' '' !!", []),
        ("", []),
        ("half \ud83d pair", ["half", "pair"]),
    ],
)
def test_words_are_runs_of_letters_marks_and_digits_in_lower_case(text, words):
    assert split_words(text) == words


def test_index_counts_words_in_the_order_of_the_text():
    index = Texts(["b a b", "", "c"]).index()
    assert index.vocabulary == ("a", "b", "c")
    assert index.starts.tolist() == [0, 2, 2, 3]
    assert (index.words.tolist(), index.times.tolist()) == ([1, 0, 2], [2, 1, 1])
    pairs = Texts(["b a b a", "c"]).index(2)
    assert pairs.vocabulary == ("a b", "b a")
    assert (pairs.starts.tolist(), pairs.times.tolist()) == ([0, 2, 2], [2, 1])


def test_sentences_are_found_to_be_text_with_a_note():
    table = cw.read({"said": SENTENCES, "y": LABELS}, target="y")
    assert table.schema["said"].kind == "text"
    assert [note.code for note in table.notes] == ["W01"]
    assert table.decode("said").tolist() == SENTENCES


def test_names_codes_and_repeated_phrases_are_not_text():
    names = {
        "name": [f"Mr. John Peter Smith the {n}th" for n in range(12)],
        "code": [f"A-{n}" for n in range(12)],
        "phrase": ["no checking account at all", "less than two hundred marks"] * 6,
        "y": LABELS,
    }
    schema = cw.read(names, target="y").schema
    assert [column.kind for column in schema] == ["id", "id", "nominal", "target"]


def test_a_column_is_text_on_request_whatever_it_holds():
    table = cw.read({"n": [1, 22, None], "y": ["a", "b", "a"]}, target="y", text="n")
    assert table.decode("n").tolist() == ["1", "22", None]
    assert not table.notes
    assert table.missing("n").tolist() == [False, False, True]
    with pytest.raises(ParameterError, match="nominal, numeric or text; got 'n' as"):
        cw.read({"n": [1], "y": ["a"]}, target="y", text="n", nominal="n")
    with pytest.raises(TableError, match="text= must name a column; got 'm'"):
        cw.read({"n": [1], "y": ["a"]}, target="y", text=["m"])


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl", "arff", "pandas", "polars"])
def test_every_source_gives_the_same_texts(kind, tmp_path):
    said = [*SENTENCES[:-1], None]
    path = tmp_path / f"rows.{kind}"
    if kind.startswith("csv"):
        lines = "said,y\n" + "".join(
            f'"{s or ""}",{y}\n' for s, y in zip(said, LABELS, strict=True)
        )
        path.write_bytes(gzip.compress(lines.encode()) if kind == "csv.gz" else lines.encode())
    elif kind == "jsonl":
        rows = [{"said": s, "y": y} for s, y in zip(said, LABELS, strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "arff":
        head = "@relation r\n@attribute said string\n@attribute y {a,b}\n@data\n"
        cells = ["?" if s is None else f"'{s}'" for s in said]
        path.write_text(head + "".join(f"{s},{y}\n" for s, y in zip(cells, LABELS, strict=True)))
    elif kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"said": said, "y": LABELS}), path)
    else:
        path = pytest.importorskip(kind).DataFrame({"said": said, "y": LABELS})
    for options in ({}, {"text": ["said"]}):
        table = cw.read(path, target="y", **options)
        assert table.schema["said"].kind == "text"
        assert table.decode("said").tolist() == said


def test_rows_are_taken_compared_and_pickled():
    table = cw.read({"said": [*SENTENCES, None], "y": [*LABELS, "a"]}, target="y", text=["said"])
    part = table.take([12, 0])
    assert part.decode("said").tolist() == [None, SENTENCES[0]]
    assert part.texts("said").texts is table.texts("said").texts
    assert pickle.loads(pickle.dumps(part)) == part
    assert part != table.take([0, 12])
    assert table.with_missing(["said"]).missing("said").all()
    assert "1 text columns" in repr(table)
    assert part.cell_text("said", 0) == "missing"
    assert part.cell_text("said", 1) == f"'{SENTENCES[0]}'"
    with pytest.raises(TableError, match="is text, not numeric"):
        table.values("said")


def test_blocks_of_texts_are_joined():
    one, two = text_codes([0, -1], ["x", "never used"]), text_codes([1, 0], ["x", "y"])
    joined = join_cells([one, two])
    assert joined.decode().tolist() == ["x", None, "y", "x"]
    assert joined.texts.texts == ("x", "y")


def test_schema_is_written_and_read_back(tmp_path):
    table = cw.read({"said": SENTENCES, "y": LABELS}, target="y")
    table.schema.write(tmp_path / "schema.json")
    again = cw.read({"said": ["one", "two"], "y": ["a", "b"]}, schema=tmp_path / "schema.json")
    assert again.schema["said"].kind == "text"
    with pytest.raises(SchemaError, match="missing text cannot be a level"):
        cw.Column("said", "text", when_missing="value")
    for_all = cw.read({"said": SENTENCES, "y": LABELS}, target="y", when_missing="value")
    assert for_all.schema["said"].when_missing == "omit"


def test_rows_without_a_text_may_be_dropped():
    rows = {"said": [*SENTENCES[:-1], None], "y": LABELS}
    table = cw.read(rows, target="y", when_missing={"said": "drop"})
    assert len(table) == 11
    assert np.all(np.asarray(table.texts("said")) >= 0)
