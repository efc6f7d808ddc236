"""Every command answers bad input with exit code 2, one line, and nothing half-written."""

import os

import pytest

from .conftest import HEADER, refused, rows_of, write_csv

READERS = {
    "neighbors": ["neighbors", "{file}", "-k", "1,2", "-p", "2", "-o", "out.csv"],
    "inspect": ["inspect", "{file}"],
    "compare": ["compare", "{file}", "-m", "naive-bayes", "-o", "out.csv", "--report", "out.html"],
    "curve": ["curve", "{file}", "-m", "naive-bayes", "-o", "out.csv"],
    "fit": ["fit", "{file}", "-o", "out.cw"],
    "predict": ["predict", "m.cw", "{file}", "-o", "out.csv"],
    "explain": ["explain", "m.cw", "{file}", "-o", "out.csv", "--row", "31"],
}
LEARNERS = ("neighbors", "compare", "curve", "fit")


def arguments(command, file):
    return [part.format(file=file) for part in READERS[command]]


def bad_file(kind):
    rows = rows_of()
    if kind == "directory":
        os.mkdir("bad.csv")
    elif kind == "empty":
        open("bad.csv", "w").close()
    elif kind == "header only":
        write_csv("bad.csv", [])
    elif kind == "duplicate header":
        write_csv("bad.csv", rows, ("a", "a", "class"))
    elif kind == "ragged":
        write_csv("bad.csv", [*rows[:20], ("a", "1"), *rows[20:]])
    elif kind == "endless":
        write_csv("bad.csv", [*rows[:30], ("a", "inf", "yes"), *rows[30:]])
    elif kind == "text among numbers":
        write_csv("bad.csv", [*rows[:30], ("a", "oops", "yes"), *rows[30:]])
    elif kind == "one class":
        write_csv("bad.csv", [(*row[:2], "yes") for row in rows])
    elif kind == "class missing":
        write_csv("bad.csv", [(*row[:2], "?") for row in rows])
    elif kind == "all missing":
        write_csv("bad.csv", [("?", "", row[2]) for row in rows])
    elif kind == "no class":
        write_csv("bad.csv", rows, ("a", "x", "clas"))


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "there is no file 'bad.csv'"),
        ("directory", "'bad.csv' must "),
        ("empty", "empty"),
        ("header only", "--no-header"),
        ("duplicate header", "'a' names columns 1 and 2"),
        ("ragged", "row 21 holds 2"),
        ("endless", "row 31 holds inf"),
        ("text among numbers", "row 31 holds 'oops'"),
    ],
)
def test_a_file_that_cannot_be_read(run, folder, command, kind, words):
    bad_file(kind)
    before = set(os.listdir())
    assert words in refused(run(*arguments(command, "bad.csv")))
    assert set(os.listdir()) == before


@pytest.mark.parametrize("command", LEARNERS)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("one class", "at least two classes"),
        ("class missing", "missing in every row"),
        ("all missing", "must hold values"),
        ("no class", "Did you mean 'clas'? Name it with --target"),
    ],
)
def test_a_table_that_teaches_nothing(run, folder, command, kind, words):
    bad_file(kind)
    before = set(os.listdir())
    assert words in refused(run(*arguments(command, "bad.csv")))
    assert set(os.listdir()) == before


@pytest.mark.parametrize("kind", ["one class", "all missing", "no class"])
def test_inspect_shows_such_tables_all_the_same(run, folder, kind):
    bad_file(kind)
    assert run("inspect", "bad.csv").exit_code == 0


@pytest.mark.parametrize("command", ["inspect", *LEARNERS])
@pytest.mark.parametrize("option", ["--target", "--nominal", "--numeric", "--drop"])
def test_a_column_that_is_not_there(run, folder, command, option):
    line = refused(run(*arguments(command, "good.csv"), option, "clas"))
    assert f"{option} must name a column; got 'clas'" in line
    assert "Did you mean 'class'?" in line


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_column_that_the_model_needs(run, folder, command):
    write_csv("lack.csv", [(row[0], row[2]) for row in rows_of()], ("a", "class"))
    assert "have no column 'x'" in run(*arguments(command, "lack.csv")).stderr
    write_csv("none.csv", [(row[0], row[2]) for row in rows_of()], ("other", "class"))
    assert "needs a column 'a'" in refused(run(*arguments(command, "none.csv")))


@pytest.mark.parametrize("command", ["predict", "explain", "inspect"])
@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x03\x04 no zip", None], ids=["empty", "text", "cut", "absent"]
)
def test_a_model_file_that_is_none(run, folder, command, content):
    if content is not None:
        (folder / "bad.cw").write_bytes(content)
    args = [command, "bad.cw"] if command == "inspect" else [command, "bad.cw", "good.csv"]
    assert "bad.cw" in refused(run(*args))


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_saved_thing_that_is_no_model(run, folder, command):
    import countwise as cw
    from countwise.store.files import save

    save(cw.read("good.csv", target="class").schema, "schema.cw")
    assert "holds a Schema" in refused(run(command, "schema.cw", "good.csv"))


@pytest.mark.parametrize(
    "args",
    [
        ["predict", "m.cw", "good.csv", "-o", "{out}.csv"],
        ["compare", "good.csv", "-m", "naive-bayes", "-o", "{out}.csv"],
        ["compare", "good.csv", "-m", "naive-bayes", "--report", "{out}.html"],
        ["curve", "good.csv", "-m", "naive-bayes", "-o", "{out}.csv"],
        ["curve", "good.csv", "-m", "naive-bayes", "--report", "{out}.html"],
        ["fit", "good.csv", "-o", "{out}.cw"],
        ["inspect", "good.csv", "--write-schema", "{out}.json"],
        ["inspect", "good.csv", "-o", "{out}.json"],
        ["explain", "m.cw", "good.csv", "-o", "{out}.csv"],
        ["neighbors", "good.csv", "-k", "1", "-p", "2", "-o", "{out}.csv"],
        ["neighbors", "good.csv", "-k", "1", "-p", "2", "--picture", "{out}.html"],
        ["samples", "-o", "{out}.csv"],
        ["models", "-o", "{out}.csv"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("place", ["nowhere/out", "good.csv/out", "taken"])
def test_a_place_that_cannot_be_written(run, folder, args, place):
    for suffix in (".csv", ".html", ".cw", ".json"):
        (folder / f"taken{suffix}").mkdir()
    line = refused(run(*(arg.format(out=place) for arg in args)))
    assert place in line
    assert not list(folder.rglob("*.tmp*"))


@pytest.mark.parametrize(
    "args",
    [
        ["predict", "m.cw", "good.csv", "-o", "out.txt"],
        ["compare", "good.csv", "-o", "out.xlsx"],
        ["compare", "good.csv", "--report", "out.pdf"],
        ["fit", "good.csv", "-o", "out.pkl"],
        ["inspect", "good.csv", "--write-schema", "out.csv"],
    ],
)
def test_an_extension_that_says_something_else(run, folder, args):
    assert "Change the extension" in refused(run(*args))


def test_the_file_that_is_read_is_not_written(run, folder):
    before = (folder / "good.csv").read_bytes()
    assert "another file" in refused(run("predict", "m.cw", "good.csv", "-o", "good.csv"))
    assert (folder / "good.csv").read_bytes() == before


@pytest.mark.parametrize("command", ["compare", "curve", "fit", "predict"])
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("good", "1", "-5"), ("bad", "-1", "1")], "every class must have a row"),
        ([("yes", "1", "x"), ("no", "-1", "1")], "finite number"),
        ([], "must"),
        (None, "gain.csv"),
    ],
    ids=["other labels", "no number", "no rows", "absent"],
)
def test_a_gain_matrix_that_does_not_fit(run, folder, command, rows, words):
    if rows is not None:
        labels = ("good", "bad") if rows and rows[0][0] == "good" else ("yes", "no")
        write_csv("gain.csv", rows, ("true", *labels))
    before = set(os.listdir())
    assert words in refused(run(*arguments(command, "good.csv"), "--gain", "gain.csv"))
    assert set(os.listdir()) == before


@pytest.mark.parametrize("source", ["good.csv", "sample:iris"])
def test_a_sample_gain_that_is_not_there(run, folder, source):
    assert "--gain sample" in refused(run("compare", source, "--gain", "sample"))


@pytest.mark.parametrize("command", ["compare", "curve"])
def test_an_unknown_model(run, folder, command):
    line = refused(run(command, "good.csv", "-m", "naive-bays"))
    assert "Did you mean 'naive-bayes'?" in line


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--model", "naive-bays"], "Did you mean 'naive-bayes'?"),
        (["--model", "sklearn-forest"], "cannot be saved"),
        (["--model", "naive-bayes", "--param", "smoothing=-1"], "at least 0"),
        (["--model", "naive-bayes", "--param", "smoothin=1"], "Did you mean 'smoothing'?"),
        (["--param", "smoothing"], "name=value"),
        (["--param", "smoothing=1", "--param", "smoothing=2"], "twice"),
        (["--model", "naive-bayes", "--param", "numeric=kernal"], "Did you mean 'kernel'?"),
        (["--param", "nominal=a"], "--nominal"),
        (["--model", "naive-bayes", "--param", 'prior={"yes": 1}'], "got none for 'no'"),
    ],
)
def test_a_model_that_cannot_be_made(run, folder, args, words):
    assert words in refused(run("fit", "good.csv", "-o", "out.cw", *args))
    assert not os.path.exists("out.cw")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["explan"], "Did you mean 'explain'?"),
        (["compare", "good.csv", "--modles", "x"], "Did you mean '--models'?"),
        (["predict", "m.cw"], "missing argument 'FILE'"),
        (["fit", "m.cw"], "already there"),
        (["curve", "good.csv", "more.csv"], "unexpected extra argument"),
        (
            ["compare", "good.csv", "--folds", "1"],
            "--folds must be a whole number of at least 2; got 1.",
        ),
        (["compare", "good.csv", "--folds", "61"], "at most the number of rows, 60; got 61"),
        (["compare", "good.csv", "--holdout", "2"], "a number above 0 and below 1; got 2.0."),
        (["compare", "good.csv", "--seed", "x"], "whole number of at least 0; got 'x'."),
        (["compare", "good.csv", "--rule", "roullette"], "Did you mean 'roulette'?"),
        (["ensemble-error", "25", "x"], "ensemble-error: ERROR must be a number; got 'x'."),
        (["fit", "good.csv", "--seed", "4294967296"], "--seed must be a whole number from 0 to"),
        (["compare", "good.csv", "--holdout", "0.3", "--folds", "3"], "choose one"),
        (["compare", "good.csv", "--leave-one-out", "--repeats", "3"], "every row once"),
        (["compare", "good.csv", "--when-missing", "vlaue"], "Did you mean 'value'?"),
        (["compare", "good.csv", "--schema", "no.json"], "no.json"),
        (["compare", "good.csv", "--separator", "xx"], "one plain character"),
        (["explain", "m.cw", "good.csv", "--row", "99"], "has 60 rows"),
        (["explain", "m.cw", "good.csv", "--rows", "5-1"], "--rows"),
        (["explain", "m.cw", "good.csv", "--class", "maybe"], "no class 'maybe'"),
        (["explain", "m.cw", "good.csv", "--class", "yes", "--against", "yes"], "differ"),
        (["predict", "m.cw", "good.csv", "--keep", "q"], "--keep names a column 'q'"),
        (["predict", "m.cw", "good.csv", "--keep", "class"], "twice"),
        (["predict", "m.cw", "good.csv", "--json"], "needs -o"),
        (["samples", "irsi"], "Did you mean 'iris'?"),
        (["models", "tre"], "Did you mean 'tree'?"),
        (["inspect", "sample:irsi"], "Did you mean 'iris'?"),
        (["neighbors", "good.csv", "-p", "0.5"], "-p must be numbers from 1 to 10,000"),
        (["neighbors", "good.csv", "-p", "99999"], "-p must be numbers from 1 to 10,000"),
        (["neighbors", "good.csv", "-p", "most"], "1.5 or maximum"),
        (["neighbors", "good.csv", "-p", "3-1"], "-p must be numbers as"),
        (["neighbors", "good.csv", "-k", "0"], "-k must be numbers from 1"),
        (["neighbors", "good.csv", "-k", "1.5"], "-k must be numbers as"),
        (["neighbors", "good.csv", "-k", ""], "-k must be numbers as"),
        (["neighbors", "good.csv", "-k", "99999"], "1 to 10,000"),
        (["neighbors", "good.csv", "--metric", "euclidean", "-p", "3"], "always has the exponent"),
        (["neighbors", "good.csv", "--metric", "maximum", "-p", "3"], "the largest difference"),
        (["neighbors", "good.csv", "--metric", "gowr"], "Did you mean 'gower'?"),
        (["neighbors", "good.csv", "--weights", "uniforn"], "Did you mean 'uniform'?"),
        (["neighbors", "good.csv", "--scale", "None"], "Did you mean 'none'?"),
        (["neighbors", "good.csv", "--folds", "1"], "at least 2"),
        (["neighbors", "good.csv", "--folds", "99"], "fewer folds, or --leave-one-out"),
        (["neighbors", "good.csv", "--picture", "out.gif"], ".svg, .html, .png or .pdf"),
        (["neighbors", "good.csv", "-o", "a.svg", "--picture", "b.svg"], "name one"),
        (["neighbors", "sample:iris", "good.csv", "-o", "good.csv"], "another file"),
        (["neighbors", "sample:iris", "absent.csv", "-o", "a.svg"], "no file 'absent.csv'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_that_is_wrong(run, folder, args, words):
    assert words in refused(run(*args))


def test_a_byte_order_mark_is_read_over(run, folder):
    write_csv("bom.csv", rows_of(), mark="\ufeff")
    for command in READERS:
        done = run(*arguments(command, "bom.csv"))
        assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_cure_is_an_option_that_the_command_has(run, folder, command):
    write_csv("text.csv", [("a", "oops", "yes")])
    line = refused(run(*[part.replace("31", "1") for part in arguments(command, "text.csv")]))
    assert "--drop" not in line
    assert "Add it to --missing" in line


def test_what_a_model_remarks_is_said(run, folder):
    settings = ("--param", "metric=euclidean", "--param", "p=3")
    done = run("fit", "good.csv", "--model", "neighbors", *settings, "-o", "n.cw")
    assert done.exit_code == 0
    assert "p = 3 does nothing with the euclidean metric" in done.stderr


def test_ten_thousand_levels(run, folder):
    rows = [(f"l{n % 10_000}", f"{n % 7}.5", "yes" if n % 3 else "no") for n in range(20_000)]
    write_csv("levels.csv", rows)
    done = run("fit", "levels.csv", "-o", "levels.cw")
    assert done.exit_code == 0
    assert "10000 levels" in done.stderr
    done = run("predict", "m.cw", "levels.csv", "-o", "out.csv")
    assert done.exit_code == 0
    assert done.stderr.count("never saw") == 1
    assert "20000 cells" in done.stderr


def test_bad_header_names_are_named(run, folder):
    write_csv("good2.csv", rows_of(), tuple(name.upper() for name in HEADER))
    done = run("fit", "good2.csv", "-o", "out.cw")
    assert done.exit_code == 0
    assert "Column 'CLASS' is taken as the class" in done.stdout
