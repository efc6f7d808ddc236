"""What `read` makes of files, frames and arrays, and what it says about them."""

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import countwise as cw
from countwise.errors import ParameterError, SchemaError, TableError

CSV = "sky,hours,play\nsun,1.5,yes\nrain,?,no\nsun,3,yes\n,2,no\n"


@pytest.fixture
def weather_csv(tmp_path):
    path = tmp_path / "weather.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def as_rows(table):
    return table.to_dict()


EXPECTED = {
    "sky": ["sun", "rain", "sun", None],
    "hours": [1.5, None, 3.0, 2.0],
    "play": ["yes", "no", "yes", "no"],
}


def test_a_csv(weather_csv):
    table = cw.read(weather_csv, target="play")
    assert as_rows(table) == EXPECTED
    assert [(c.name, c.kind) for c in table.schema] == [
        ("sky", "nominal"),
        ("hours", "numeric"),
        ("play", "target"),
    ]
    assert table.codes("sky").tolist() == [1, 0, 1, 2]
    assert table.codes("sky").dtype == np.uint8


@pytest.mark.parametrize("kind", ["gz", "bom", "semicolon", "tab", "parquet", "jsonl", "arff"])
def test_every_file_format_gives_the_same_table(tmp_path, kind):
    path = tmp_path / f"data.{ {'gz': 'csv.gz', 'tab': 'tsv'}.get(kind, kind) }"
    frame = pl.DataFrame(
        {
            "sky": ["sun", "rain", "sun", None],
            "hours": [1.5, None, 3.0, 2.0],
            "play": ["yes", "no", "yes", "no"],
        }
    )
    if kind == "gz":
        path.write_bytes(gzip.compress(CSV.encode()))
    elif kind == "bom":
        path = tmp_path / "data.csv"
        path.write_text(CSV, encoding="utf-8-sig")
    elif kind == "semicolon":
        path = tmp_path / "data.csv"
        path.write_text(CSV.replace(",", ";"), encoding="utf-8")
    elif kind == "tab":
        path.write_text(CSV.replace(",", "\t"), encoding="utf-8")
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "jsonl":
        frame.write_ndjson(path)
    else:
        path.write_text(
            "@relation r\n@attribute sky {rain,sun}\n@attribute hours numeric\n"
            "@attribute play {no,yes}\n@data\nsun,1.5,yes\nrain,?,no\nsun,3,yes\n?,2,no\n"
        )
    table = cw.read(path, target="play")
    assert as_rows(table) == EXPECTED
    assert table.schema["sky"].levels == ("rain", "sun")


FRAMES = {
    "pandas": lambda d: pd.DataFrame(d),
    "pandas objects": lambda d: pd.DataFrame(d).astype({"sky": object, "play": object}),
    "pandas categories": lambda d: pd.DataFrame(d).astype({"sky": "category", "play": "category"}),
    "polars": lambda d: pl.DataFrame(d),
    "polars lazy": lambda d: pl.DataFrame(d).lazy(),
    "polars categories": lambda d: pl.DataFrame(d).with_columns(pl.col("sky").cast(pl.Categorical)),
    "pyarrow": lambda d: pa.table(d),
    "mapping": lambda d: d,
}


@pytest.mark.parametrize("make", list(FRAMES.values()), ids=list(FRAMES))
def test_every_frame_gives_the_same_table(make):
    table = cw.read(make(EXPECTED), target="play")
    assert as_rows(table) == EXPECTED
    assert sorted(table.schema["sky"].levels) == ["rain", "sun"]


def test_arrays_lists_and_labels_beside_them():
    X = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    table = cw.read(X, target=["b", "a", "b"])
    assert [c.name for c in table.schema] == ["x1", "x2", "class"]
    assert table.classes == ("a", "b")
    mixed = cw.read(
        [["sun", 1.5], ["rain", None], ["sun", 2]], target=pd.Series([1, 0, 1], name="y")
    )
    assert [(c.name, c.kind) for c in mixed.schema] == [
        ("x1", "nominal"),
        ("x2", "numeric"),
        ("y", "target"),
    ]
    assert mixed.classes == (0, 1)


def test_kinds_can_be_said():
    data = {"code": [1, 2, 1, 3], "text": ["1", "2", "x", "4"], "class": list("aabb")}
    table = cw.read(data, target="class", nominal=["code"], drop=["text"])
    assert table.schema["code"].levels == (1, 2, 3)
    assert table.schema["text"].kind == "drop"
    numeric = cw.read({**data, "text": ["1", "2", "?", "4"]}, target="class", numeric=["text"])
    np.testing.assert_array_equal(numeric.values("text"), [1, 2, np.nan, 4])
    everything = cw.read(data, target="class", nominal="all")
    assert [c.kind for c in everything.schema] == ["nominal", "nominal", "target"]
    by_place = cw.read(data, target=-1, nominal=[0])
    assert by_place.schema["code"].kind == "nominal"
    assert by_place.schema.target.name == "class"


def test_missing_marks_by_column(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text("a,b,c\nNA,-9,x\nfoo,1,y\n-9,NA,x\n")
    table = cw.read(path, target="c", missing={"a": ["-9"], "b": ["-9", "NA"]})
    assert as_rows(table)["a"] == ["NA", "foo", None]
    assert as_rows(table)["b"] == [None, 1.0, None]
    everywhere = cw.read(path, target="c", missing=["-9", "NA"])
    assert as_rows(everywhere)["a"] == [None, "foo", None]


def test_when_missing(weather_csv):
    table = cw.read(weather_csv, target="play", when_missing={"sky": "value", "hours": "drop"})
    assert as_rows(table) == {
        "sky": ["sun", "sun", "(missing)"],
        "hours": [1.5, 3.0, 2.0],
        "play": ["yes", "yes", "no"],
    }
    assert [note.code for note in table.notes] == ["T04"]


def test_a_schema_is_written_edited_and_passed_back(weather_csv, tmp_path):
    first = cw.read(weather_csv, target="play")
    path = tmp_path / "schema.json"
    first.schema.write(path)
    assert cw.Schema.read(path) == first.schema
    plain = json.loads(path.read_text())
    plain["columns"][1]["kind"] = "nominal"
    plain["columns"][1]["levels"] = []
    path.write_text(json.dumps(plain))
    again = cw.read(weather_csv, schema=path)
    assert again.schema["hours"].levels == ("1.5", "2", "3")
    assert again.labelled


def test_rows_are_checked_by_name_not_by_position(weather_csv):
    schema = cw.read(weather_csv, target="play").schema
    turned = cw.read({"hours": [1.0], "extra": [0], "sky": ["sun"]}, schema=schema)
    assert turned.codes("sky").tolist() == [1]
    assert [note.code for note in turned.notes] == ["T10"]
    with pytest.raises(SchemaError, match=r"column 'sky' is needed.*Did you mean 'ski'\?"):
        cw.read({"hours": [1.0], "ski": ["sun"]}, schema=schema)


def test_a_level_the_schema_does_not_know_is_unseen(weather_csv):
    schema = cw.read(weather_csv, target="play").schema
    table = cw.read({"sky": ["fog", "sun", None], "hours": [1, 2, 3]}, schema=schema)
    assert table.codes("sky").tolist() == [3, 1, 2]
    assert table.unseen == {"sky": {"fog": 1}}


def test_numbers_match_text_levels_of_a_schema():
    first = cw.read({"code": ["0", "1", "2"], "y": list("aab")}, target="y", nominal=["code"])
    table = cw.read({"code": [2, 0, 1]}, schema=first.schema)
    assert table.codes("code").tolist() == [2, 0, 1]


def test_codes_are_as_small_as_they_can_be():
    for width, kind in ((200, np.uint8), (300, np.uint16), (70_000, np.uint32)):
        cells = [f"level {i}" for i in range(width)] * 2
        table = cw.read({"a": cells, "y": ["x", "y"] * width}, target="y", nominal=["a"])
        assert table.codes("a").dtype == kind
        assert table.schema["a"].width == width


def test_ten_thousand_levels_are_noted():
    cells = [f"town {i}, 🙂" for i in range(10_000)] * 3
    table = cw.read({"town": cells, "y": ["x", "y", "z"] * 10_000}, target="y")
    assert table.schema["town"].width == 10_000
    assert [note.code for note in table.notes] == ["T07"]


def test_identifiers():
    n = 60
    rng = np.random.default_rng(0)
    data = {
        "row": np.arange(1, n + 1),
        "who": [f"person {i}" for i in range(n)],
        "customer_id": rng.integers(10**6, 10**7, n),
        "amount": rng.permutation(np.arange(n) * 37 + 250),
        "growing": np.cumsum(rng.integers(1, 9, n)),
        "height": rng.normal(size=n),
        "y": ["a", "b"] * (n // 2),
    }
    table = cw.read(data, target="y")
    assert {c.name: c.kind for c in table.schema} == {
        "row": "id",
        "who": "id",
        "customer_id": "id",
        "amount": "numeric",
        "growing": "id",
        "height": "numeric",
        "y": "target",
    }
    assert len([note for note in table.notes if note.code == "T01"]) == 4
    kept = cw.read(data, target="y", numeric=["row"], nominal=["who"])
    assert kept.schema["row"].kind == "numeric"
    assert kept.schema["who"].kind == "nominal"


def test_oddities_are_noted():
    big = 2**53 + 1
    data = {
        "constant": ["x"] * 30,
        "empty": [None] * 30,
        "big": [big, 1, 2] * 10,
        "code": [0, 1] * 15,
        "when": pd.to_datetime(["2024-01-01", "2024-01-03"] * 15),
        "y": ["a", "b", None] * 10,
    }
    table = cw.read(data, target="y")
    codes = {note.code: note.column for note in table.notes}
    assert codes["T02"] == "constant"
    assert codes["T08"] == "empty"
    assert codes["T05"] == "big"
    assert codes["T09"] == "code"
    assert codes["T06"] == "when"
    assert codes["T03"] == "y"
    assert len(table) == 20
    assert table.values("when")[:2].tolist() == [19723.0, 19725.0]


def test_one_class_is_noted():
    table = cw.read({"a": [1.0, 2.5], "y": ["x", "x"]}, target="y")
    assert [note.code for note in table.notes] == ["T12"]


def test_declared_categories_are_kept():
    declared = pd.Categorical(["a", "b", "a"], categories=["c", "a", "b"])
    table = cw.read(pd.DataFrame({"k": declared, "y": [0, 1, 0]}), target="y")
    assert table.schema["k"].levels == ("c", "a", "b")
    table = cw.read("sample:contact-lenses")
    assert all(column.width >= 2 for column in table.schema.nominal)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: cw.read("no such file.csv"), TableError, "there is no file 'no such file.csv'"),
        (
            lambda: cw.read({"outlook": ["a"], "y": ["b"]}, target="outlok"),
            TableError,
            "target names a column 'outlok' that is not there. Did you mean 'outlook'?",
        ),
        (
            lambda: cw.read({"x": [1.0, np.inf], "y": ["b", "c"]}, target="y"),
            TableError,
            "column 'x' must hold finite numbers, but row 2 holds inf",
        ),
        (
            lambda: cw.read({"x": ["1", "2", "n.a."], "y": list("aab")}, target="y", numeric=["x"]),
            TableError,
            "column 'x' is numeric but row 3 holds 'n.a.'. Add it to missing=",
        ),
        (
            lambda: cw.read({"x": [1, 2], "y": [None, None]}, target="y"),
            TableError,
            "is the class, but it is missing in every row",
        ),
        (
            lambda: cw.read({"y": ["a", "b"]}, target="y"),
            TableError,
            "at least one nominal or numeric",
        ),
        (lambda: cw.read({"x": [1, 2], "y": ["a"]}, target="y"), TableError, "equally long"),
        (lambda: cw.read({"x": [1, 2]}, target=["a"]), TableError, "2 rows and 1 labels"),
        (lambda: cw.read(np.zeros(3)), TableError, "two dimensions"),
        (lambda: cw.read([[1, 2], [3]]), TableError, "equally long"),
        (lambda: cw.read(42), TableError, "a path, a data frame, an array"),
        (
            lambda: cw.read({"x": [[1], [2]], "y": list("ab")}, target="y"),
            TableError,
            "row 1 holds a list",
        ),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, target="y", nominal=["z"]),
            TableError,
            "nominal names",
        ),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, target="y", nominal=["x"], numeric=["x"]),
            ParameterError,
            "came as both",
        ),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, target="y", identifiers="no"),
            ParameterError,
            "'drop' or 'keep'",
        ),
        (lambda: cw.read({"x": [1], "y": ["a"]}, target="y", missing=[7]), ParameterError, "texts"),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, target="y", when_missing={"x": "value"}),
            SchemaError,
            "a missing number cannot be a level",
        ),
        (
            lambda: cw.read({"x": ["a"], "y": ["a"]}, target="y", when_missing={"x": "valu"}),
            SchemaError,
            "Did you mean 'value'?",
        ),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, schema={"columns": 3}),
            SchemaError,
            "a list under",
        ),
        (
            lambda: cw.read({"x": [10**400, 2], "y": ["a", "b"]}, target="y"),
            TableError,
            "no double",
        ),
        (lambda: cw.read(pd.DataFrame([[1, 2]], columns=["a", "a"])), TableError, "twice"),
        (lambda: cw.read("sample:votess"), cw.CountwiseError, "Did you mean 'votes'?"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert isinstance(caught.value, cw.CountwiseError)


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"columns": [{"name": "a"}]}, "needs a 'name' and a 'kind'"),
        ({"columns": [{"name": "a", "kind": "nominl"}]}, "Did you mean 'nominal'?"),
        ({"columns": [{"name": "a", "kind": "nominal", "level": []}]}, "Did you mean 'levels'?"),
        (
            {"columns": [{"name": "a", "kind": "target"}, {"name": "b", "kind": "target"}]},
            "Keep one",
        ),
        ({"columns": [{"name": "a", "kind": "numeric"}] * 2}, "names must differ"),
        ({"columns": [{"name": "a", "kind": "nominal", "levels": ["x", "x"]}]}, "must differ"),
        ({"columns": [{"name": "a", "kind": "nominal", "levels": "xy"}]}, "must be a list"),
        ({"columns": [{"name": "a", "kind": "nominal", "levels": [None]}]}, "must be texts"),
        ({"columns": ["a"]}, "must be a mapping"),
    ],
)
def test_a_bad_schema_is_refused(plain, words):
    with pytest.raises(SchemaError) as caught:
        cw.Schema.from_dict(plain)
    assert words in str(caught.value)


def test_a_schema_file_that_is_no_json(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text("{")
    with pytest.raises(SchemaError, match="must be JSON"):
        cw.Schema.read(path)
    with pytest.raises(SchemaError, match="there is no file"):
        cw.Schema.read(tmp_path / "other.json")


def test_tables_cannot_be_changed_or_built_wrong(weather_csv):
    table = cw.read(weather_csv, target="play")
    with pytest.raises(ValueError, match="read-only"):
        table.codes("sky")[0] = 3
    with pytest.raises(TableError, match="codes of column 'sky' must be at most 3"):
        cw.Table(table.schema, {"sky": np.array([9], dtype=np.uint8)})
    with pytest.raises(TableError, match="must be stored as float64"):
        cw.Table(table.schema, {"hours": np.array([9])})
    with pytest.raises(TableError, match="is numeric and has no codes"):
        table.codes("hours")
    with pytest.raises(SchemaError, match="Did you mean 'hours'"):
        table.values("hour")


def test_take_select_and_blocks(weather_csv):
    table = cw.read(weather_csv, target="play")
    assert as_rows(table.take([3, 0]))["sky"] == [None, "sun"]
    assert as_rows(table.take(np.array([True, False, True, False])))["hours"] == [1.5, 3.0]
    assert table.select(["hours"]).schema.attributes == (table.schema["hours"],)
    assert [len(block) for block in table.blocks(3)] == [3, 1]
    assert "2 classes" in repr(table)
    assert "sky" in table.describe()


def test_all_uci_sets_read_as_their_schema_says(shared_data):
    known = json.loads((shared_data / "schema.json").read_text())
    for name, facts in known.items():
        codes = [
            c["name"]
            for c in facts["columns"]
            if c["kind"] == "nominal" and c["name"] != facts["target"]
        ]
        table = cw.read(shared_data / facts["file"], target=facts["target"], nominal=codes)
        assert len(table) == facts["rows"], name
        kinds = {c["name"]: c["kind"] for c in facts["columns"] if c["name"] != facts["target"]}
        assert {c.name: c.kind for c in table.schema if c.kind != "target"} == kinds, name
