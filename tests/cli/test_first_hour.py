"""What new users stumbled over: titles with commas, sheets, kept dates, units, a slow start."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.tables.formats import blocks

from .conftest import refused


def loans(count=60):
    """Rows of a German export: identifier, money, date, class."""
    for k in range(count):
        good = "good" if (k * 7) % 10 < 6 else "bad"
        yield (
            f"K-{1000 + 7 * k}",
            f"{k % 9 + 1}.{100 + k},50 €",
            f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2022",
            good,
        )


HEADER = ("customer", "amount", "applied", "result")


@pytest.fixture
def dirty(folder):
    lines = [";".join(row) for row in (HEADER, *loans())]
    text = "Loans, export of today, all branches\n" + "\n".join(lines) + "\n"
    (folder / "loans.csv").write_text(text, encoding="utf-8-sig")
    (folder / "cost.csv").write_text("true,good,bad\ngood,0,200\nbad,1000,0\n")
    return folder


def write_book(path, sheets):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)


@pytest.mark.parametrize("mark", [";", ","])
def test_a_title_may_hold_commas(tmp_path, mark):
    rows = [("a", "b", "c", "d", "e", "class")]
    rows += [("1.5", "x", "y", "2", "3", "u"), ("2.5", "y", "x", "4", "5", "v")] * 3
    path = tmp_path / "titled.csv"
    path.write_text("Sales, of March\n" + "\n".join(mark.join(row) for row in rows) + "\n")
    table = cw.read(path, target="class")
    assert tuple(column.name for column in table.schema) == rows[0]
    assert "F05" in {note.code for note in table.notes}


def test_decimal_commas_do_not_make_the_comma_of_a_title_the_separator(tmp_path):
    rates = ("3,5 %", "4 %", "n/a", "18 %")
    rows = [f"K-{at};{at}.100,50 €;{rates[at % 4]};{'uv'[at % 2]}" for at in range(1, 41)]
    path = tmp_path / "titled.csv"
    path.write_text("Loans, as of today\ncustomer;amount;rate;class\n" + "\n".join(rows) + "\n")
    table = cw.read(path, target="class")
    assert [column.kind for column in table.schema] == ["id", "numeric", "numeric", "target"]


def test_a_header_that_lacks_names_is_no_title(tmp_path):
    path = tmp_path / "short.csv"
    path.write_text("a,b,c\n" + "x,y,z,w\n" * 5)
    with pytest.raises(cw.CountwiseError, match="must hold 3 cells"):
        cw.read(path)


def test_the_sheet_of_a_workbook(run, dirty):
    rows = [HEADER, *loans(20)]
    new = [HEADER, *loans(5)]
    write_book("book.xlsx", {"Read me": [("A remark",)], "Old": [("Loans",), *rows], "New": new})
    assert len(cw.read("book.xlsx", target="result")) == 20
    assert len(cw.read("book.xlsx", target="result", sheet="New")) == 5
    assert len(cw.read("book.xlsx", target="result", sheet=3)) == 5
    assert run("fit", "loans.csv", "-t", "result", "-o", "loans.cw").exit_code == 0
    done = run("predict", "loans.cw", "book.xlsx")
    assert (
        "Sheet 'Old' was read; the workbook also has 'Read me', 'New'. Set --sheet" in done.stderr
    )
    for sheet in ("New", "3"):
        done = run("predict", "loans.cw", "book.xlsx", "--sheet", sheet)
        assert len(done.stdout.splitlines()) == 6
        assert "also has" not in done.stderr
    assert run("explain", "loans.cw", "book.xlsx", "--sheet", "New").exit_code == 0
    message = refused(run("inspect", "book.xlsx", "--sheet", "Nwe"))
    assert "--sheet must name a sheet of 'book.xlsx'; got 'Nwe'. Did you mean 'New'?" in message
    assert "is for workbooks" in refused(run("inspect", "loans.csv", "--sheet", "1"))
    with pytest.raises(cw.CountwiseError, match=r"a sheet's name or its number from 1; got 1\.5"):
        cw.read("book.xlsx", sheet=1.5)
    with pytest.raises(cw.CountwiseError, match="must name a sheet"):
        cw.read("book.xlsx", sheet=0)


def test_units_are_said_in_the_ranking_and_the_verdict(run, dirty):
    args = ("loans.csv", "-t", "result", "-m", "naive-bayes", "--cost", "cost.csv", "--unit", "€")
    done = run("compare", *args)
    assert "cost per row (€)" in done.stdout
    assert "€" not in run("compare", *args[:5]).stdout
    gain = cw.GainMatrix.of(
        {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}, unit="€"
    )
    trials = cw.evaluate({"b": cw.NaiveBayes()}, "sample:credit-g", gain=gain, folds=3)
    assert trials.unit == "€"
    assert " € (95 % interval" in trials.verdict()
    assert trials.rank_by("auc").unit == ""
    assert "Gain per row (€)" in str(cw.draw(trials))


def test_costs_are_called_costs_everywhere(run, dirty):
    args = ("loans.csv", "-t", "result", "--cost", "cost.csv", "--unit", "€")
    done = run("compare", *args, "-m", "naive-bayes", "--report", "page.html")
    assert "naive-bayes by cost" in done.stdout
    assert " costs 1000 €." in done.stderr
    assert "gain" not in done.stdout + done.stderr
    page = (dirty / "page.html").read_text(encoding="utf-8")
    shown = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    words = re.sub(r"<[^>]*>", " ", shown)
    assert "Cost matrix" in words
    assert "Expected cost" in words
    assert not re.search(r"\bgains?\b", words, re.IGNORECASE)
    saved = run("fit", *args, "--model", "naive-bayes", "-o", "m.cw")
    assert "It decides by cost." in saved.stdout
    assert "It decides by the smallest expected cost." in run("show", "m.cw").stdout
    scored = run("predict", "m.cw", "loans.csv", "-o", "out.csv")
    assert "The decisions cost " in scored.stderr
    lines = list(csv.DictReader((dirty / "out.csv").read_text(encoding="utf-8").splitlines()))
    for line in lines[:5]:
        assert float(line["cost_good"]) == pytest.approx(1000 * float(line["p_bad"]), abs=1e-2)
        least = min(("good", "bad"), key=lambda label: float(line[f"cost_{label}"]))
        assert line["decision"] == least
    assert "expected cost " in run("explain", "m.cw", "loans.csv").stdout


@pytest.mark.parametrize("extension", [".xlsx", ".ods"])
def test_kept_dates_are_dates_in_a_workbook(run, dirty, extension):
    calamine = pytest.importorskip("python_calamine")
    pytest.importorskip("xlsxwriter")
    run("fit", "loans.csv", "-t", "result", "--model", "naive-bayes", "-o", "m.cw", "-q")
    run("predict", "m.cw", "loans.csv", "--keep", "applied,amount", "-o", f"out{extension}")
    rows = calamine.load_workbook(f"out{extension}").get_sheet_by_index(0).to_python()
    assert rows[0][:2] == ["applied", "amount"]
    for row, loan in zip(rows[1:], loans(), strict=True):
        assert f"{row[0]:%d.%m.%Y}" == loan[2]
        assert isinstance(row[1], float)


def test_kept_columns_have_one_type_in_all_blocks_of_a_parquet_file(run, folder, monkeypatch):
    monkeypatch.setattr(blocks, "SEGMENT", 2000)
    rows = [f"{at % 9},,{'xy'[at % 2]}" for at in range(600)]
    rows += [f"{at % 9}.5,{at % 28 + 1:02d}.02.2022,{'xy'[at % 2]}" for at in range(600)]
    (folder / "two.csv").write_text("a,day,class\n" + "\n".join(rows) + "\n")
    run("fit", "two.csv", "--model", "naive-bayes", "-o", "m.cw", "-q")
    done = run("predict", "m.cw", "two.csv", "--keep", "a,day", "-o", "out.parquet")
    assert done.exit_code == 0, done.stderr
    found = pq.read_table("out.parquet")
    assert found.num_rows == 1200
    assert list(map(str, found.schema.types[:2])) == ["double", "timestamp[us]"]
    assert found["day"].null_count == 600


def test_gains_and_rules_with_several_files(run, dirty):
    (dirty / "more.csv").write_text((dirty / "loans.csv").read_text(encoding="utf-8-sig"))
    args = ("loans.csv", "more.csv", "-t", "result", "-m", "naive-bayes", "--folds", "3")
    done = run("compare", *args, "--cost", "cost.csv", "--rule", "roulette")
    assert done.exit_code == 0, done.stderr
    assert "Calling a 'bad' case 'good' costs 1000." in done.stderr
    assert "cost per row; 3-fold" in done.stdout
    for name in ("naive-bayes by cost", "naive-bayes by roulette"):
        assert name in done.stdout
    text = (dirty / "more.csv").read_text().replace("result", "class")
    (dirty / "more.csv").write_text(text)
    done = run("compare", "more.csv", "good.csv", "-m", "naive-bayes", "--cost", "cost.csv")
    assert done.exit_code == 2
    assert "1 of 2 data sets could not be evaluated. good: " in done.stderr


def test_progress_of_bayes_error():
    steps = []
    found = cw.bayes_error_bound(
        "sample:credit-g", progress=lambda done, total, text: steps.append((done, total))
    )
    assert steps == [(1000, 1000)]
    assert found == cw.bayes_error_bound("sample:credit-g")


def test_a_missing_cost_file(run, dirty):
    message = refused(run("fit", "loans.csv", "-t", "result", "--cost", "no.csv", "-o", "x.cw"))
    assert "there is no file 'no.csv'" in message


def test_dates_are_shown_as_dates(run, dirty):
    model = ("--model", "naive-bayes-gaussian")
    assert run("fit", "loans.csv", "-t", "result", "-o", "loans.cw", *model).exit_code == 0
    done = run("explain", "loans.cw", "loans.csv", "--row", "4")
    assert "2022-04-04" in done.stdout
    assert (
        cw.read({"t": ["2022-02-04 20:15", "2022-02-05"]}).cell_text("t", 0) == "2022-02-04 20:15"
    )


def test_all_columns_can_be_kept(run, dirty):
    assert run("fit", "loans.csv", "-t", "result", "-o", "loans.cw").exit_code == 0
    done = run("predict", "loans.cw", "loans.csv", "--keep", "all")
    header, first = (line.split(",") for line in done.stdout.splitlines()[:2])
    assert header == [*HEADER, "class", "p_bad", "p_good", "decision"]
    assert first[:4] == ["K-1000", "1100.5", "2022-01-01", "good"]
    options = {"identifiers": "keep", "drop": "applied weekday"}
    frame = cw.read("loans.csv", target="result", **options).to_pandas()
    cw.predict_file("loans.cw", frame, "kept.csv", keep="all")
    assert Path("kept.csv").read_text().splitlines()[0] == ",".join(header)


def test_the_notes_of_a_saved_model_name_options(run, dirty):
    assert run("fit", "loans.csv", "-t", "result", "-o", "loans.cw").exit_code == 0
    done = run("show", "loans.cw")
    assert "Set --skip-lines to say" in done.stderr
    assert "`" not in done.stderr


def test_a_command_imports_neither_pandas_nor_statistics(dirty):
    code = (
        "import sys\n"
        "from countwise.cli.app import main\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted({'pandas', 'scipy.stats'} & set(sys.modules)))\n"
    )

    def run_alone(*args):
        words = [sys.executable, "-c", code, *args]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    for args in (
        ("inspect", "loans.csv"),
        ("fit", "loans.csv", "-t", "result", "-o", "loans.cw"),
        ("predict", "loans.cw", "loans.csv", "-o", "answers.csv"),
        ("show", "loans.cw"),
        ("explain", "loans.cw", "loans.csv"),
        ("draw", "loans.cw", "-o", "loans.svg"),
        ("compare", "loans.csv", "-t", "result", "-m", "naive-bayes"),
    ):
        assert run_alone(*args).endswith("[]\n"), args
