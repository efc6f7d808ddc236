"""The small parts: lines of CSV, words, bars, progress."""

import csv
import io

import click
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise.cli.compare import command as compare
from countwise.cli.errors import describe, spelling
from countwise.cli.fit import command as fit
from countwise.cli.output import plain, progress
from countwise.cli.predict import command as predict
from countwise.errors import ParameterError, TableError, spell_parameters
from countwise.prediction.answers import Kept, Predictions, csv_lines, to_arrow
from countwise.reports.terminal import interval_bar, sparkline, two_sided_bar

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


def lines_of(codes, levels, shares):
    codes = np.array(codes)
    predictions = Predictions(
        {"kept": Kept(codes, levels)}, ["c"], np.zeros(len(codes), int), shares, ["c"], 0 * codes
    )
    return csv_lines(to_arrow(predictions, as_text=True)).decode("utf-8")


@given(st.lists(TEXT, min_size=1, max_size=5), st.data())
def test_lines_read_back_as_they_were_written(levels, data):
    codes = data.draw(st.lists(st.integers(-1, len(levels) - 1), min_size=1, max_size=8))
    text = lines_of(codes, levels, np.full((len(codes), 1), 0.5))
    found = list(csv.reader(io.StringIO(text, newline="")))
    cells = ["" if code < 0 else levels[code] for code in codes]
    assert found == [[cell, "c", "0.500000", "c"] for cell in cells]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_shares_have_six_digits(shares):
    text = lines_of([0] * len(shares), ["a"], np.array(shares)[:, None])
    cells = [line.split(",")[2] for line in text.split()]
    assert [float(cell) for cell in cells] == [pytest.approx(share, abs=5.1e-7) for share in shares]
    assert {len(cell) for cell in cells} == {8}


def test_quotes_only_where_needed():
    shares = np.full((1, 1), 0.25)
    assert lines_of([0], ["plain text"], shares) == "plain text,c,0.250000,c\n"
    assert lines_of([-1], ["plain"], shares) == ",c,0.250000,c\n"
    for text in ("a,b", 'a"b', "a\nb"):
        quoted = text.replace('"', '""')
        assert lines_of([0], [text], shares).startswith(f'"{quoted}",')


def context(command):
    return click.Context(command, info_name=command.name)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("keep it with `nominal=` or `numeric=`.", "keep it with --nominal or --numeric."),
        ("declare it with `nominal=['a b']`.", "declare it with --nominal 'a b'."),
        ("pass `nominal=['a', 'b']`.", "pass --nominal a,b."),
        ("or `leave_one_out=True`.", "or --leave-one-out."),
        ("or `folds='leave-one-out'`.", "or --leave-one-out."),
        ("pass `header=False`.", "pass --no-header."),
        ("pass `identifiers='keep'`.", "pass --keep-identifiers."),
        ("`random_state=7` and `n_jobs=`", "--seed 7 and --jobs"),
        ("`when_missing='omit'`", "--when-missing omit"),
        ("`test_rows=` is no option", "test_rows= is no option"),
        ("a-target=b stays", "a-target=b stays"),
    ],
)
def test_parameters_are_spelled_as_options(text, spelled):
    assert spell_parameters(text, spelling(context(compare))) == spelled


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (fit, "column 'x' holds 'n/a'. Add it to --missing, or leave it out with --drop x."),
        (predict, "column 'x' holds 'n/a'. Add it to --missing."),
    ],
)
def test_a_hint_names_only_options_of_the_command(command, text):
    cures = ("add it to `missing=`", "leave it out with `drop=['x']`")
    error = TableError("read: column 'x' holds 'n/a'.", hint=cures)
    assert describe(error, context(command)) == text


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (fit, "NaiveBayes: --param smoothing must be a number; got 'x'."),
        (compare, "NaiveBayes: smoothing must be a number; got 'x'."),
    ],
)
def test_parameters_of_models_are_spelled_as_param(command, text):
    error = ParameterError("NaiveBayes", "smoothing", "a number", "x")
    assert describe(error, context(command)) == text
    error = ParameterError("evaluate", "n_jobs", "a number", "x")
    assert describe(error, context(compare)) == "--jobs must be a number; got 'x'."


def test_plain_values():
    value = {"a": np.float64(1.5), "b": (np.int64(2), float("inf")), 3: {"c": object}}
    assert plain(value) == {"a": 1.5, "b": [2, None], "3": {"c": str(object)}}


def test_bars_keep_to_their_width():
    assert len(interval_bar(0.1, 0.2, 0.9, 0.0, 1.0, width=20)) == 20
    assert interval_bar(0, 0, 0, 0.5, 1.0, width=5) == "◂    "
    assert interval_bar(2, 2, 2, 0.5, 1.0, width=5) == "    ▸"
    assert interval_bar(float("nan"), 0.5, float("nan"), 0.5, 0.5, width=5) == "  ●  "
    assert len(two_sided_bar(1e300, 1.0, 6)) == 13
    assert sparkline([0.0, float("nan"), 1.0]) == "▁ █"
    assert sparkline([]) == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_comes_after_two_seconds_and_only_on_a_terminal(monkeypatch):
    clock = iter([0.0, 1.0, 3.0, 4.0])
    monkeypatch.setattr("countwise.progress.monotonic", lambda: next(clock))
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    with progress(quiet=False) as tell:
        tell(1, 10, "first")
        assert shown.getvalue() == ""
        tell(2, 10, "second")
    assert "second" in shown.getvalue()


def test_no_progress_in_a_pipe(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress(quiet=False) as tell:
        assert tell is None
