"""What a notebook shows of results: tables, escaped and short."""

import pytest

import countwise as cw
from countwise.models.registry import models
from countwise.show_rows import MAX_ROWS, html_table

from .test_html import read


@pytest.fixture(scope="module")
def weather():
    return cw.read("sample:weather")


def test_every_result_is_a_table(weather):
    trials = cw.evaluate({"<b>bayes</b>": cw.NaiveBayes()}, weather, folds=2)
    model = cw.NaiveBayes().fit(weather)
    shown = {
        "explanation": (model.explain(weather), "before any evidence"),
        "trials": (trials, "&lt;b&gt;bayes&lt;/b&gt;"),
        "confusion": (trials.confusion(trials.best), "precision"),
        "gain": (cw.GainMatrix.identity(["no", "yes"]), "Gain by true class"),
        "counts": (cw.count(weather), "Counts of 14 rows"),
    }
    for result, words in shown.values():
        text = result._repr_html_()
        assert "table" in read(text).tags
        assert "b" not in read(text).tags
        assert words in text
    assert "… and 11 more rows" in model.explain(weather)._repr_html_()


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.name)
def test_every_model_has_a_picture_of_its_parameters(entry):
    assert entry.name in entry.build()._repr_html_()


def test_cells_are_short_escaped_and_aligned():
    text = html_table(["a", "n"], [["<i>", 1234.0], [None, 0.123456]], "x < y")
    assert "&lt;i&gt;" in text
    assert "1,234" in text
    assert "0.1235" in text
    assert "x &lt; y" in text
    assert text.count("text-align:right") == 3
    assert "… and 5 more rows" in html_table(["n"], [[at] for at in range(MAX_ROWS + 5)])
