"""What tables, schemas and columns look like when they are printed or shown in a notebook."""

import numpy as np

import countwise as cw


def test_a_table_shows_its_first_rows_aligned():
    table = cw.read("sample:iris")
    lines = repr(table).splitlines()
    assert lines[0] == (
        "Table: 150 rows, 0 nominal and 4 numeric columns, target 'class' with 3 classes"
    )
    assert lines[1].split() == list(table.names)
    assert lines[1].index("class") == lines[2].index("Iris")
    assert lines[-1] == "  … and 145 more rows"


def test_wide_tables_are_cut():
    table = cw.read(np.zeros((3, 40)), target=["a", "b", "a"])
    assert repr(table).splitlines()[1].endswith("… 31 more columns")


def test_html_is_escaped_and_without_scripts():
    table = cw.read({"<b>": ["<script>alert(1)</script>", "x"], "y": ["a", "b"]}, target="y")
    for shown in (table._repr_html_(), table.schema._repr_html_()):
        assert "<table>" in shown
        assert "<script" not in shown
        assert "<b>" not in shown
        assert "&lt;b&gt;" in shown


def test_a_schema_is_one_line_a_column():
    lines = repr(cw.read("sample:weather").schema).splitlines()
    assert lines[:2] == ["Schema of 5 columns", "  outlook      nominal  sunny, overcast, rainy"]
    assert len(lines) == 6


def test_a_column_shows_what_is_not_as_usual():
    column = cw.Column("x", "nominal", tuple("abcdefgh"), missing=("?",))
    shown = repr(column)
    assert shown == (
        "Column('x', 'nominal', levels=('a', 'b', 'c', 'd', 'e', 'f'); 8 levels, missing=('?',))"
    )
    assert repr(cw.Column("x", "numeric")) == "Column('x', 'numeric')"


def test_a_description_holds_the_facts_and_prints_them(tmp_path):
    found = cw.describe({"x": [1.5, None, 3.0], "y": ["a", "b", "a"]}, target="y")
    x, y = found["columns"]
    assert (x["kind"], x["missing"], x["least"], x["most"]) == ("numeric", 1, 1.5, 3.0)
    assert [level["level"] for level in y["levels"]] == ["a", "b"]
    assert "1.5 to 3" in repr(found)
    assert "<table>" in found._repr_html_()
    model = cw.NaiveBayes().fit(cw.read("sample:weather"))
    cw.save(model, tmp_path / "m.cw")
    facts = cw.describe(tmp_path / "m.cw")
    assert facts["kind"] == "NaiveBayes"
    assert "NaiveBayes" in repr(facts)
    assert dict(facts) == facts.to_dict()


def test_a_schema_may_leave_kinds_to_the_data():
    rows = {"code": ["1", "2", "?", "1"], "x": [1.0, 2.0, 3.0, 4.0], "y": list("abab")}
    partial = cw.Schema(
        (
            cw.Column("code", "nominal"),
            cw.Column("x", "infer"),
            cw.Column("y", "target"),
        )
    )
    table = cw.read(rows, schema=partial)
    assert table.schema["x"].kind == "numeric"
    assert table.schema["code"].levels == ("1", "2")
    changed = cw.read(rows, schema=partial, nominal=["x"], drop=["code"])
    assert changed.schema["x"].kind == "nominal"
    assert [column.name for column in changed.schema.attributes] == ["x"]
