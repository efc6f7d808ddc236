"""Ten dirty files, read as people mean them or with a note that says what was not."""

import io
import sys
import types

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.errors import SchemaError, TableError

from .dirty_files import (
    DIRTY,
    MARKS,
    ROWS,
    amounts,
    content,
    labels,
    moments,
    plain,
    to_frame,
    with_marks,
    write,
    write_csv,
)

FORMATS = (".csv", ".zip", ".xlsx", ".jsonl", ".parquet")


@pytest.fixture(params=DIRTY)
def dirty(request):
    return request.param


def codes(table):
    return {(note.code, note.column) for note in table.notes}


def days(moment):
    return moment.timestamp() / 86_400


@pytest.fixture
def read_dirty(tmp_path):
    def read(name, **how):
        return cw.read(write(tmp_path / "dirty.csv", content(name)), target="class", **how)

    return read


@pytest.mark.parametrize("extension", FORMATS)
def test_every_format_gives_the_same_table(tmp_path, dirty, extension):
    columns = content(dirty)
    from_frame = cw.read(to_frame(columns), target="class")
    from_file = cw.read(write(tmp_path / f"dirty{extension}", columns), target="class")
    if dirty == "labels" and extension not in (".csv", ".zip"):
        # Only text files leave out the blanks around a cell.
        assert from_file == from_frame
        return
    if dirty == "labels":
        from_frame = cw.read(to_frame(columns).replace(" dream", "dream"), target="class")
    assert from_file == from_frame
    assert codes(from_file) == codes(from_frame)


@pytest.mark.parametrize(("name", "column"), [("dollars", "income"), ("euros", "income")])
def test_money_is_a_number(read_dirty, name, column):
    table = read_dirty(name)
    assert table.schema[column].kind == "numeric"
    assert table.values(column).tolist() == amounts()
    note = next(note for note in table.notes if note.code == "T20")
    assert ("unit '$'" if name == "dollars" else "decimal sign ','") in note.text


def test_thousands_and_percent_are_numbers(read_dirty):
    table = read_dirty("thousands")
    assert table.values("units").tolist() == [abs(int(n)) for n in amounts()]
    assert ("T20", "units") in codes(table)
    table = read_dirty("percent")
    np.testing.assert_allclose(table.values("rate"), [k * 7 % 101 / 100 for k in range(ROWS)])


def test_local_dates_are_positions_in_time(read_dirty):
    table = read_dirty("local dates")
    column = table.schema["sold"]
    assert (column.kind, column.dates, column.date_order) == ("numeric", True, "dmy")
    assert table.values("sold").tolist() == [days(m.normalize()) for m in moments()]
    assert "the day first" in next(note.text for note in table.notes if note.code == "T06")
    table = read_dirty("times")
    assert table.schema["sold"].date_order == "mdy"
    np.testing.assert_allclose(table.values("sold"), [days(moment) for moment in moments()])


def test_dates_give_months_weekdays_and_hours(read_dirty):
    table = read_dirty("times")
    assert ("T28", "sold") in codes(table)
    names = [f"sold {part}" for part in ("month", "weekday", "hour")]
    assert [table.schema[name].kind for name in names] == ["nominal", "nominal", "numeric"]
    assert table.decode("sold weekday").tolist() == [f"{moment:%a}" for moment in moments()]
    assert table.decode("sold month").tolist() == [f"{moment:%b}" for moment in moments()]
    assert table.values("sold hour").tolist() == [moment.hour for moment in moments()]
    assert "sold hour" not in read_dirty("local dates").schema
    assert "sold month" not in read_dirty("times", drop=["sold month"])


def test_marks_among_numbers_are_missing_and_named(read_dirty):
    table = read_dirty("marks")
    assert table.schema["income"].kind == "numeric"
    assert int(table.missing("income").sum()) == len(MARKS)
    note = next(note for note in table.notes if note.code == "T21")
    assert note.text == "Column 'income': '-', '.', 'None' was taken as missing (cells: 3)."


def test_marks_among_names_are_levels():
    table = cw.read({"fuel": ["-", "None", "gas", "oil"] * 5, "y": list("abab") * 5}, target="y")
    assert table.schema["fuel"].levels == ("-", "None", "gas", "oil")


@pytest.mark.parametrize("words", [["twelve"], ["twelve", "ten", "six", "one", "two"]])
def test_one_rule_for_one_stray_text_or_five(tmp_path, words):
    columns = content("marks") | {"income": with_marks(plain(amounts()), words)}
    path = write(tmp_path / "stray.csv", columns)
    with pytest.raises(TableError, match="'income' is numeric but row 3 holds 'twelve'"):
        cw.read(path, target="class")
    table = cw.read(path, target="class", missing=words)
    assert int(table.missing("income").sum()) == len(words)
    assert "NA" in table.schema["income"].missing


def test_texts_that_look_like_numbers_are_noted(tmp_path):
    cells = [f"{k}.5" if k % 3 else f"about {k}" for k in range(ROWS)]
    path = write(tmp_path / "odd.csv", content("marks") | {"income": cells})
    table = cw.read(path, target="class", nominal=["income"])
    assert ("T22", "income") not in codes(table)
    table = cw.read(path, target="class", identifiers="keep")
    assert ("T22", "income") in codes(table)


def test_missing_only_replaces_the_usual_marks(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text("a,c\n?,x\nfoo,y\nbar,x\n-9,x\n")
    assert cw.read(path, target="c", missing="-9").schema["a"].levels == ("bar", "foo")
    only = cw.read(path, target="c", missing_only="-9")
    assert only.schema["a"].levels == ("?", "bar", "foo")
    with pytest.raises(cw.CountwiseError, match=r"missing= adds .* missing_only= replaces"):
        cw.read(path, target="c", missing="-9", missing_only="?")


def test_labels_that_differ_in_case_are_noted_and_folded(read_dirty):
    table = read_dirty("labels")
    assert ("T24", "island") in codes(table)
    assert table.schema["island"].width == 4
    folded = read_dirty("labels", fold_case=True)
    assert ("T24", "island") not in codes(folded)
    assert folded.schema["island"].width == 2
    model = cw.NaiveBayes().fit(folded)
    rows = {"island": ["dReaM", "DREAM"], "size": [1.0, 1.0]}
    same = model.predict_proba(rows)
    assert same[0].tolist() == same[1].tolist()


def test_leading_zeros_are_codes(read_dirty):
    table = read_dirty("codes")
    assert table.schema["zip"].kind == "nominal"
    assert table.schema["zip"].levels[:2] == ("00000", "00001")
    assert ("T25", "zip") in codes(table)
    assert read_dirty("codes", numeric=["zip"]).schema["zip"].kind == "numeric"


def test_leading_zeros_far_below_are_found_by_the_name(tmp_path):
    rows = "".join(f"{10000 + k % 70},{'ab'[k % 2]}\n" for k in range(6000))
    path = tmp_path / "zips.csv"
    path.write_text("zip code,class\n" + rows + "01234,a\n")
    assert "01234" in cw.read(path, target="class").schema["zip code"].levels


def test_a_numeric_target_with_many_values_is_a_quantity(tmp_path):
    path = write(
        tmp_path / "q.csv", content("percent") | {"class": [str(k % 40) for k in range(120)]}
    )
    table = cw.read(path, target="class")
    note = next(note for note in table.notes if note.code == "T13")
    assert "this looks like a quantity, not a class" in note.text


def test_rows_without_a_class_are_counted():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(TableError, match="2 of 4 rows have no class, the first is row 1"):
        cw.NaiveBayes().fit(X, [0.0, np.nan, 1.0, np.nan])
    with pytest.raises(TableError, match="1 of 4 rows has no class, the first is row 3"):
        cw.NaiveBayes().fit(X, ["u", "v", "u", None])


@pytest.mark.parametrize("model", [cw.ID3, cw.NaiveBayes])
@pytest.mark.parametrize("named", [False, True])
def test_fit_leaves_identifiers_out_as_read_does(read_dirty, model, named):
    frame = to_frame(content("identifiers"))
    y = "class" if named else frame["class"]
    fitted = model().fit(frame if named else frame.drop(columns="class"), y)
    note = next(note for note in fitted.notes_ if note.code == "T01")
    assert note in read_dirty("identifiers").notes
    assert fitted.schema_["customer"].kind == "id"
    kept = model(nominal=["customer"]).fit(frame.drop(columns="class"), frame["class"])
    assert kept.schema_["customer"].kind == "nominal"


ABOVE = {
    "title": ("Sales report\n\n", {"F05"}),
    "padded title": ("Sales report,,\n,,\n", {"F05"}),
    "comments": ("# made by a program\n# on a day\n", {"F06"}),
    "separator": ("sep=,\n", set()),
}


@pytest.mark.parametrize("above", ABOVE)
def test_lines_above_the_header(tmp_path, above):
    text, expected = ABOVE[above]
    columns = content("marks")
    clean = cw.read(write_csv(tmp_path / "clean.csv", columns), target="class")
    found = cw.read(write_csv(tmp_path / "above.csv", columns, text), target="class")
    assert found == clean
    assert {code for code, _ in codes(found)} - {code for code, _ in codes(clean)} == expected


def test_skip_lines(tmp_path):
    path = write_csv(tmp_path / "above.csv", content("marks"), "one,two,three\nfour,five,six\n")
    clean = cw.read(write_csv(tmp_path / "clean.csv", content("marks")), target="class")
    assert cw.read(path, target="class", skip_lines=2) == clean
    with pytest.raises(cw.CountwiseError, match="skip_lines must be a whole number from 0"):
        cw.read(path, target="class", skip_lines=-1)


def test_comments_between_rows(tmp_path):
    path = tmp_path / "comments.csv"
    path.write_text("a,b,class\n1.5,x,u\n# a remark\n2.5,y,v\n")
    assert cw.read(path, target="class").values("a").tolist() == [1.5, 2.5]


def test_excel_semicolons(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_text("sep=;\na;b;class\n1,5;x;u\n2,25;y, z;v\n")
    table = cw.read(path, target="class")
    assert table.values("a").tolist() == [1.5, 2.25]
    assert table.schema["b"].levels == ("x", "y, z")


def test_titles_in_a_workbook(tmp_path):
    import xlsxwriter

    path = tmp_path / "titled.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet, other = book.add_worksheet("data"), book.add_worksheet("remarks")
        sheet.write(0, 0, "Sales report")
        for row, cells in enumerate([["a", "class"], [1.5, "u"], [2.5, "v"]], start=2):
            sheet.write_row(row, 0, cells)
        other.write(0, 0, "nothing")
    table = cw.read(path, target="class")
    assert table.values("a").tolist() == [1.5, 2.5]
    assert {"F05", "F07"} <= {note.code for note in table.notes}


def test_a_workbook_says_how_to_install_its_reader(tmp_path, monkeypatch):
    path = write(tmp_path / "dirty.xlsx", content("marks"))
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(TableError, match=r"pip install 'countwise\[excel\]'"):
        cw.read(path, target="class")


def test_file_objects_and_standard_input(tmp_path, monkeypatch):
    path = write(tmp_path / "dirty.csv", content("dollars"))
    table = cw.read(path, target="class")
    assert cw.read(io.BytesIO(path.read_bytes()), target="class") == table
    with open(path, encoding="utf-8") as file:
        assert cw.read(file, target="class") == table
    stdin = types.SimpleNamespace(buffer=io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert cw.read("-", target="class") == table
    parquet = write(tmp_path / "dirty.parquet", content("dollars"))
    assert cw.read(io.BytesIO(parquet.read_bytes()), target="class") == table


def test_urls_are_refused_by_that_word():
    with pytest.raises(TableError, match=r"got the URL 'https://example\.org/a\.csv'"):
        cw.read("https://example.org/a.csv")


def test_a_zip_file_of_two_is_refused(tmp_path):
    import zipfile

    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "x\n1\n")
        archive.writestr("b.csv", "x\n1\n")
    with pytest.raises(TableError, match="must hold one file"):
        cw.read(path)


def test_order_of_day_and_month_that_no_date_tells():
    rows = {"d": ["01/02/2021", "03/04/2021"] * 3, "y": list("ababab")}
    table = cw.read(rows, target="y")
    assert ("T26", "d") in codes(table)
    assert table.schema["d"].date_order == "mdy"
    day_first = cw.read(rows, target="y", day_first=True)
    assert day_first.schema["d"].date_order == "dmy"
    assert ("T26", "d") not in codes(day_first)


def test_versions_and_ranges_are_no_numbers():
    rows = {"v": ["1.2.10", "1.3.11"] * 3, "r": ["1-2", "3-4"] * 3, "y": list("ababab")}
    assert [column.kind for column in cw.read(rows, target="y").schema.attributes] == [
        "nominal",
        "nominal",
    ]


@pytest.mark.parametrize("name", ["dollars", "euros", "percent", "times", "marks", "labels"])
def test_prediction_reads_as_training_did(tmp_path, name):
    columns = content(name)
    path = write(tmp_path / "dirty.csv", columns)
    model = cw.NaiveBayes().fit(cw.read(path, target="class"))
    cw.save(model, tmp_path / "model.cw")
    again = cw.load(tmp_path / "model.cw")
    expected = again.predict_proba(cw.read(path, target="class"))
    np.testing.assert_array_equal(again.predict_proba(path), expected)
    np.testing.assert_array_equal(again.predict_proba(str(path)), expected)
    if name != "labels":
        np.testing.assert_array_equal(again.predict_proba(to_frame(columns)), expected)
    for source in (path, to_frame(columns)):
        cw.predict_file(again, source, tmp_path / "answers.parquet")
        answers = pd.read_parquet(tmp_path / "answers.parquet")
        if name != "labels" or source is path:
            np.testing.assert_array_equal(answers[["p_no", "p_yes"]].to_numpy(), expected)


@pytest.mark.parametrize("extension", [".xlsx", ".ods"])
def test_answers_in_a_workbook(tmp_path, extension):
    path = write(tmp_path / "dirty.xlsx", content("dollars"))
    model = cw.NaiveBayes().fit(cw.read(path, target="class"))
    answers = tmp_path / f"answers{extension}"
    summary = cw.predict_file(model, path, answers, keep=["income"])
    assert summary.rows == ROWS
    table = cw.read(answers, target="class")
    assert table.labels.tolist() == model.predict(path).tolist()
    np.testing.assert_allclose(table.values("p_no"), model.predict_proba(path)[:, 0], atol=1e-15)
    assert table.values("income").tolist() == amounts()


def test_a_column_that_rows_lack_is_missing_with_a_note(tmp_path):
    columns = content("dollars")
    model = cw.NaiveBayes().fit(cw.read(write(tmp_path / "a.csv", columns), target="class"))
    lacking = write_csv(tmp_path / "b.csv", {"income": columns["income"], "other": labels()})
    summary = cw.predict_file(model, lacking, tmp_path / "answers.csv")
    assert "The rows have no column 'size'" in str(summary.notes[0])
    with pytest.warns(cw.MissingColumnWarning, match=r"lack columns, .* 'size'"):
        found = model.predict_proba(lacking)
    table = cw.read(write(tmp_path / "a.csv", columns), target="class").with_missing(["size"])
    np.testing.assert_array_equal(found, model.predict_proba(table))
    with pytest.raises(SchemaError, match="needs a column 'size'"):
        cw.predict_file(model, lacking, tmp_path / "strict.csv", strict=True)
    assert not (tmp_path / "strict.csv").exists()
    for wrong in ("Size", "sizes", "s i z e"):
        misspelt = {"income": columns["income"], wrong: columns["size"]}
        path = write_csv(tmp_path / "c.csv", misspelt)
        with pytest.raises(SchemaError, match=f"Did you mean '{wrong}'"):
            cw.predict_file(model, path, tmp_path / "answers.csv")
    nothing = write_csv(tmp_path / "d.csv", {"other": columns["size"]})
    with pytest.raises(SchemaError, match="needs a column"):
        cw.predict_file(model, nothing, tmp_path / "answers.csv")


@pytest.mark.parametrize("name", ["sample:weather", "sample:credit-g", "sample:iris"])
def test_tables_go_to_frames_and_back(name):
    table = cw.read(name)
    target = table.schema.target.name
    assert cw.read(table.to_pandas(), target=target) == table
    for frame in (table.to_polars(), table.to_arrow()):
        again = cw.read(frame, target=target)
        assert again.names == table.names
        for column in table.names:
            assert again.decode(column).tolist() == table.decode(column).tolist()


def test_dates_go_to_frames_and_back(read_dirty):
    table = read_dirty("times", drop=["sold month", "sold weekday", "sold hour"])
    assert table.to_pandas()["sold"].tolist() == moments()
