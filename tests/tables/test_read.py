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
from countwise.tables.datasets import find, names

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
    "polars categories": lambda d: pl.DataFrame(d).with_columns(pl.col("sky").cast(pl.Categorical)),
    "pyarrow": lambda d: pa.table(d),
    "mapping": lambda d: d,
}


@pytest.mark.parametrize("make", list(FRAMES.values()), ids=list(FRAMES))
def test_every_frame_gives_the_same_table(make):
    table = cw.read(make(EXPECTED), target="play")
    assert as_rows(table) == EXPECTED
    assert sorted(table.schema["sky"].levels) == ["rain", "sun"]


def test_rows_outside_memory_are_not_collected_without_being_asked():
    lazy = pl.DataFrame(EXPECTED).lazy()
    with pytest.raises(TableError, match=r"cw\.scan.*\.collect\(\)"):
        cw.read(lazy, target="play")
    with pytest.raises(TableError, match=r"cw\.scan.*\.collect\(\)"):
        cw.NaiveBayes().fit(lazy, "play")
    with pytest.raises(TableError, match=r"cw\.scan.*\.collect\(\)"):
        cw.NaiveBayes().fit(lazy, ["yes"] * 3)


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
    table = cw.read(path, target="c", missing_only={"a": ["-9"], "b": ["-9", "NA"]})
    assert as_rows(table)["a"] == ["NA", "foo", None]
    assert as_rows(table)["b"] == [None, 1.0, None]
    added = cw.read(path, target="c", missing={"a": ["-9"], "b": "-9"})
    assert as_rows(added)["a"] == [None, "foo", None]
    assert as_rows(added)["b"] == [None, 1.0, None]
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
    with pytest.raises(SchemaError, match=r"must be a column 'sky'.*Did you mean 'ski'\?"):
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
        "year": np.arange(1960, 1960 + n),
        "num_rooms": rng.permutation(np.arange(n) + 3),
        "customerid": rng.integers(10**6, 10**7, n),
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
        "year": "numeric",
        "who": "id",
        "customer_id": "id",
        "amount": "numeric",
        "growing": "numeric",
        "num_rooms": "numeric",
        "customerid": "id",
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
            "target= must name a column; got 'outlok'. Did you mean 'outlook'?",
        ),
        (
            lambda: cw.read({"x": [1.0, np.inf], "y": ["b", "c"]}, target="y"),
            TableError,
            "column 'x' must hold finite numbers up to 1e+140; row 2 holds inf",
        ),
        (
            lambda: cw.read({"x": ["1", "2", "two"], "y": list("aab")}, target="y", numeric=["x"]),
            TableError,
            "column 'x' is numeric but row 3 holds 'two'. Add it to missing=",
        ),
        (
            lambda: cw.read({"x": [1, 2], "y": [None, None]}, target="y"),
            TableError,
            "is the class; it is missing in every row",
        ),
        (
            lambda: cw.read({"y": ["a", "b"]}, target="y"),
            TableError,
            "at least one nominal, numeric or text",
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
            "nominal= must name",
        ),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, target="y", nominal=["x"], numeric=["x"]),
            ParameterError,
            "nominal and numeric",
        ),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, target="y", identifiers="no"),
            ParameterError,
            "'drop named' or 'keep'",
        ),
        (
            lambda: cw.read({"x": [1], "y": ["a"]}, target="y", missing=[None]),
            ParameterError,
            "texts",
        ),
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
            "fit a double",
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
        ({"columns": [{"name": "a"}]}, "must have a 'name' and a 'kind'"),
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


@pytest.mark.parametrize("name", names())
def test_all_sets_read_as_their_index_says(uci, name):
    sample = find(name)
    kinds = {c["name"]: c["kind"] for c in sample.columns if c["name"] != sample.target}
    codes = [column for column, kind in kinds.items() if kind == "nominal"]
    table = cw.read(uci(name), target=sample.target, nominal=codes)
    assert len(table) == sample.rows
    assert {c.name: c.kind for c in table.schema if c.kind != "target"} == kinds


def test_labels_given_beside_the_rows_are_never_missing_marks():
    table = cw.read(np.arange(4.0)[:, None], target=["na", "?", "eu", "null"])
    assert table.classes == ("?", "eu", "na", "null")
    declared = pd.DataFrame({"country": pd.Categorical(["NA", "DE", "NA"]), "y": [0, 1, 0]})
    assert cw.read(declared, target="y").schema["country"].levels == ("DE", "NA")


def test_integers_beyond_two_to_the_53_stay_apart_as_labels_and_codes(tmp_path):
    big = [2**60, 2**60 + 1, 2**60, 2**60 + 1]
    table = cw.read({"a": big, "x": [1.0, 2.5, 3.0, 4.0]}, target=big, nominal=["a"])
    assert table.classes == (2**60, 2**60 + 1)
    assert table.schema["a"].width == 2
    path = tmp_path / "big.csv"
    path.write_text("a,x,y\n" + "".join(f"{value},{i}.5,{value}\n" for i, value in enumerate(big)))
    for options in ({"nominal": "all"}, {"nominal": [0]}):
        assert cw.read(path, target=-1, **options).schema["a"].width == 2


def test_names_go_before_positions():
    frame = pd.DataFrame({1: list("abab"), 0: list("nyny")})
    assert cw.read(frame, target=0).schema.target.name == "0"
    assert cw.read(frame, target=1).schema.target.name == "1"


def test_numeric_marks_hold_for_every_source(tmp_path):
    data = {"a": [-999, 1, 2], "y": list("pqp")}
    parquet, lines = tmp_path / "a.parquet", tmp_path / "a.jsonl"
    pl.DataFrame(data).write_parquet(parquet)
    pl.DataFrame(data).write_ndjson(lines)
    for source in (data, pd.DataFrame(data), parquet, lines):
        for mark in ("-999", -999, ["-999.0"]):
            table = cw.read(source, target="y", missing=mark)
            np.testing.assert_array_equal(table.values("a"), [np.nan, 1, 2])
    endless = cw.read({"a": [np.inf, 1.0, 2.0], "y": list("pqp")}, target="y", missing="inf")
    assert np.isnan(endless.values("a")[0])


def test_a_table_does_not_change_when_its_source_does():
    values = np.arange(5.0)
    frame = pd.DataFrame({"a": values.copy()})
    tables = [cw.read({"a": values}), cw.read(frame), cw.read(np.asfortranarray(values[:, None]))]
    values[0] = 999
    frame.iloc[0, 0] = 999.0
    for table in tables:
        assert table.values(table.names[0])[0] == 0
    codes = np.zeros(3, np.uint8)
    schema = cw.Schema((cw.Column("k", "nominal", ("x", "y")),))
    table = cw.Table(schema, {"k": codes})
    codes[:] = 200
    assert table.codes("k").tolist() == [0, 0, 0]
    with pytest.raises(AttributeError):
        table.schema = schema


def test_the_same_cells_match_across_formats(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("flag,code,day,y\nTRUE,1.0,2024-01-01,a\nFALSE,2.0,2024-01-03,b\n")
    schema = cw.read(path, target="y", nominal=["code"]).schema
    frame = pd.DataFrame(
        {"flag": [False, True], "code": [2, 1], "day": ["2024-01-03", "2024-01-01"]}
    )
    table = cw.read(frame, schema=schema)
    assert table.unseen == {}
    assert table.decode("flag").tolist() == ["FALSE", "TRUE"]
    assert table.decode("code").tolist() == ["2.0", "1.0"]
    assert table.values("day").tolist() == [19725.0, 19723.0]
    dates = cw.read(pd.DataFrame({"day": ["2024-01-01", "2024-01-03"] * 9}))
    assert dates.schema["day"].dates


def test_unseen_levels_survive_taking_and_recoding():
    schema = cw.read({"a": ["x", "y"], "k": ["p", "q"]}, target="k").schema.without_target()
    table = cw.read({"a": ["fog", "x", "mist"]}, schema=schema)
    assert table.take([0, 1]).unseen == {"a": {"(never seen)": 1}}
    assert table.take([1]).unseen == {}
    two = cw.read({"a": ["x", "y"], "b": ["u", "v"]}).schema
    both = cw.read({"a": ["fog", "x"], "b": ["u", "w"]}, schema=two)
    assert both.select(["b"]).unseen == {"b": {"w": 1}}
    assert both.select(["b"]).take([0]).unseen == both.leave_out(["b"]).take([1]).unseen == {}
    wider = cw.Schema((cw.Column("a", "nominal", ("w", "x", "y")),))
    assert cw.read(table, schema=wider).codes("a").tolist() == [4, 1, 4]


def test_columns_that_are_left_out_need_not_be_readable():
    frame = pl.DataFrame({"b": [[1]] * 4, "c": ["u", "v"] * 2, "y": ["p", "q"] * 2})
    table = cw.read(frame, target="y", drop=["b"])
    assert table.schema["b"].kind == "drop"
    again = cw.read(frame, schema=table.schema)
    assert len(again) == 4


def test_odd_frames_are_read_or_refused_in_one_sentence():
    cut = pd.DataFrame({"k": pd.cut([1, 5, 9, 2], 2), "y": list("abab")})
    assert cw.read(cut, target="y").schema["k"].width == 2
    mixed = pd.DataFrame({"k": pd.Categorical([1, "a"] * 5), "y": list("ab") * 5})
    assert cw.read(mixed, target="y").schema["k"].width == 2
    batch = pa.RecordBatch.from_pydict({"k": ["u", "v"], "y": ["p", "q"]})
    assert len(cw.read(batch, target="y")) == 2
    records = cw.read([{"k": "u", "y": "p"}, {"y": "q", "n": 2}], target="y")
    assert records.to_dict() == {"k": ["u", None], "y": ["p", "q"], "n": [None, 2.0]}
    masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[1, 0], [0, 0]])
    assert np.isnan(cw.read(masked).values("x1")[0])
    named = np.array([(1.5, "u"), (2.5, "v")], dtype=[("n", "f8"), ("k", "U1")])
    assert [c.kind for c in cw.read(named).schema] == ["numeric", "nominal"]


def test_a_column_of_texts_that_is_all_missing_stays_nominal():
    table = cw.read({"a": [None] * 4, "b": [1.0, 2.5, 3.0, 4.0], "y": list("pqpq")}, target="y")
    assert table.schema["a"].kind == "nominal"
    model = cw.NaiveBayes().fit(table)
    with pytest.warns(cw.UnseenLevelWarning):
        assert model.predict({"a": ["x"], "b": [1.0]}).shape == (1,)


def test_a_quantity_as_target_is_noted():
    table = cw.read({"x": np.arange(60) % 7, "price": np.arange(60) * 1.5}, target="price")
    assert "T13" in [note.code for note in table.notes]


@pytest.mark.parametrize("odd", [None, float("nan"), 3, True, "3"])
def test_long_lists_read_as_short_ones(odd):
    """Arrow reads long lists of texts; what it does not take is read cell by cell."""
    cells = ["sun", "rain", " Sun ", "TRUE", "?"]
    labels = ["yes", "no"]
    short = cw.read({"sky": [*cells, odd] * 20, "play": labels * 60}, target="play")
    long = cw.read({"sky": [*cells, odd] * 4000, "play": labels * 12_000}, target="play")
    assert long.schema == short.schema
    assert as_rows(long.take(slice(0, 120))) == as_rows(short)
