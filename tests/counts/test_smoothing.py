"""A smoothing as a user writes it: one reader for Python and for a shell."""

import numpy as np
import pytest

import countwise as cw
from countwise.counts.smoothing import Laplace, MEstimate, smoothing_of
from countwise.errors import ParameterError


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        (None, Laplace(0.0)),
        ("none", Laplace(0.0)),
        (0.5, Laplace(0.5)),
        ("laplace", Laplace(1.0)),
        ("Laplace:0.5", Laplace(0.5)),
        ("laplace:classes", Laplace(1.0, "classes")),
        ("laplace:2:values", Laplace(2.0, "values")),
        ("m-estimate", MEstimate()),
        ("m-estimate:3", MEstimate(3.0)),
        ("m-estimate:3:overall", MEstimate(3.0, "overall")),
        ("m-estimate:overall", MEstimate(2.0, "overall")),
        ("m-estimate:3:0.25", MEstimate(3.0, 0.25)),
    ],
)
def test_a_smoothing_in_words(written, rule):
    assert smoothing_of(written) == rule


@pytest.mark.parametrize(
    "written", ["", "laplace:", "laplace:classes:1", "m-estimate:1:2:3", "m-estimate:1:7", "nan"]
)
def test_what_no_smoothing_is(written):
    with pytest.raises(ParameterError):
        smoothing_of(written)


def test_a_misspelled_word_gets_a_suggestion():
    with pytest.raises(ParameterError, match=r"got 'laplase:2'\. Did you mean 'laplace'\?"):
        smoothing_of("laplase:2")


def test_words_and_objects_make_the_same_model(tmp_path):
    weather = cw.read("sample:weather")
    for words, rule in (("laplace:classes", Laplace(1, "classes")), ("m-estimate:2", MEstimate(2))):
        by_words = cw.NaiveBayes(smoothing=words).fit(weather)
        by_rule = cw.NaiveBayes(smoothing=rule).fit(weather).predict_proba(weather)
        np.testing.assert_array_equal(by_words.predict_proba(weather), by_rule)
        cw.save(by_words, tmp_path / "model.cw")
        again = cw.load(tmp_path / "model.cw")
        assert again.smoothing == words
        np.testing.assert_array_equal(again.predict_proba(weather), by_rule)
