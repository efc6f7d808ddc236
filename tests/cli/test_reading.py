"""The options about reading, as typed: marks, folding, dates, lines above, workbooks, stdin."""

import json

import countwise as cw

from .conftest import refused, rows_of, write_csv


def described(run, *args, **how):
    done = run("inspect", *args, "--json", **how)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["data"]


def kinds(data):
    return {column["name"]: column["kind"] for column in data["columns"]}


def dirty(path, rows=40):
    cells = [
        (f'"${k * 250:,}.00"', f"{k % 12 + 1:02d}/{k % 12 + 1:02d}/2021", ("yes", "no")[k % 2])
        for k in range(1, rows)
    ]
    return write_csv(path, [*cells, ("-", "", "yes")], ("income", "since", "class"))


def test_inspect_says_what_was_understood(run, folder):
    done = run("inspect", dirty("dirty.csv"))
    assert "numbers written like" in done.stdout
    assert "'-' was taken as missing" in done.stdout
    text = " ".join(done.stdout.split())
    assert "Set --day-first to choose the order" in text
    assert "Set --day-first" not in run("inspect", "dirty.csv", "--day-first").stdout


def test_missing_adds_and_missing_only_replaces(run, folder):
    rows = [("?", "1", "yes"), ("x", "2", "no"), ("z", "9", "yes")] * 4
    write_csv("marks.csv", rows)

    def levels(*args):
        schema = run("inspect", "marks.csv", *args, "--write-schema", "schema.json")
        assert schema.exit_code == 0, schema.stderr
        return cw.Schema.read("schema.json")["a"].levels

    assert levels("--missing", "z") == ("x",)
    assert levels("--missing-only", "z") == ("?", "x")
    assert "missing-only" in refused(
        run("inspect", "marks.csv", "--missing", "z", "--missing-only", "x")
    )


def test_fold_case_and_its_note(run, folder):
    write_csv("case.csv", [("Dream", "1.5", "yes"), ("DREAM", "2.5", "no")] * 6)
    done = run("fit", "case.csv", "-o", "case.cw")
    assert "--fold-case makes them one" in " ".join(done.stderr.split())
    assert run("fit", "case.csv", "-o", "folded.cw", "--fold-case").exit_code == 0
    assert cw.load("folded.cw").schema_["a"].levels == ("Dream",)


def test_skip_lines(run, folder):
    good = (folder / "good.csv").read_text()
    (folder / "titled.csv").write_text("Report of today\n" + good)
    done = run("predict", "m.cw", "titled.csv")
    assert done.stdout == run("predict", "m.cw", "good.csv").stdout
    assert "--skip-lines" in done.stderr
    (folder / "odd.csv").write_text("one,two,three\n" + good)
    again = run("predict", "m.cw", "odd.csv", "--skip-lines", "1")
    assert again.stdout == done.stdout


def test_standard_input(run, folder):
    good = (folder / "good.csv").read_text()
    from_file, from_stdin = (
        run("predict", "m.cw", "good.csv").stdout,
        run("predict", "m.cw", "-", input=good).stdout,
    )
    assert from_stdin == from_file
    assert kinds(described(run, "-", input=good)) == kinds(described(run, "good.csv"))
    assert run("fit", "-", "-o", "stdin.cw", input=good).exit_code == 0
    assert "is empty" in refused(run("inspect", "-", input=""))


def test_workbooks_in_and_out(run, folder):
    for name in ("answers.xlsx", "answers.ods"):
        done = run("predict", "m.cw", "good.csv", "-o", name, "--keep", "x")
        assert done.exit_code == 0, done.stderr
        table = cw.read(name, target="class")
        assert table.labels.tolist() == cw.load("m.cw").predict("good.csv").tolist()
        again = run("inspect", name)
        assert again.exit_code == 0, again.stderr
    refused(run("predict", "m.cw", "good.csv", "-o", "answers.xls"))


def test_a_column_that_the_file_lacks(run, folder):
    write_csv("lacking.csv", [(a, "0", label) for a, _, label in rows_of()], ("a", "n", "class"))
    done = run("predict", "m.cw", "lacking.csv", "-o", "answers.csv")
    assert done.exit_code == 0
    assert "The rows have no column 'x'" in done.stderr
    (folder / "answers.csv").unlink()
    assert "needs a column 'x'" in refused(
        run("predict", "m.cw", "lacking.csv", "-o", "answers.csv", "--strict")
    )
    assert not (folder / "answers.csv").exists()
    write_csv("cased.csv", rows_of(), ("a", "X", "class"))
    assert "Did you mean 'X'?" in refused(run("predict", "m.cw", "cased.csv"))


def test_urls_are_refused(run, folder):
    assert "got the URL" in refused(run("inspect", "https://example.org/data.csv"))
