"""Pictures of ideas: two sigmoids, the least error, rounds of boosting."""

import re
from html import escape
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import norm

import countwise as cw
from countwise.errors import ParameterError, TableError
from countwise_papers.lecture_figures import draw_bayes_error, draw_rounds, draw_sigmoids


def parsed(picture):
    return ElementTree.fromstring(str(picture))


def texts(picture):
    return [own.text for own in parsed(picture).iter() if own.tag.endswith("text")]


def test_the_shaded_area_is_the_least_error():
    picture = draw_bayes_error([norm(0, 1), norm(2, 1)], [0.5, 0.5], ["well", "ill"], "sugar")
    assert "least possible error 15.87%, shaded" in texts(picture)
    assert "best class changes at 1" in texts(picture)
    assert "well, prior 0.5" in texts(picture)
    with pytest.raises(ParameterError, match="a name for each"):
        draw_bayes_error([norm(0, 1), norm(2, 1)], classes=["one"])


def test_both_sigmoids_rise_over_one_column():
    picture = draw_sigmoids("sample:iris", "petal_width")
    curves = [own.get("d") for own in parsed(picture).iter() if own.get("class") in ("s0", "s1")]
    for curve in [own for own in curves if own]:
        heights = [float(pair.split()[1]) for pair in re.findall(r"-?[\d.]+ -?[\d.]+", curve)]
        assert np.all(np.diff(heights) <= 0)  # up is towards nought
    assert "P(Iris-virginica | petal_width)" in texts(picture)
    with pytest.raises(ParameterError, match="column must be numeric"):
        draw_sigmoids("sample:weather", "outlook")
    with pytest.raises(ParameterError, match="label must be a class"):
        draw_sigmoids("sample:iris", "petal_width", label="oak")
    with pytest.raises(TableError, match="must vary"):
        draw_sigmoids({"x": [1.0, 1.0, 1.0], "y": ["a", "b", "a"]}, "x", "y", numeric=["x"])


def test_rounds_show_weights_rules_and_the_vote():
    iris = cw.read("sample:iris").select(["petal_length", "petal_width"])
    model = cw.AdaBoost(n_estimators=3, keep_weights=True).fit(iris)
    picture = draw_rounds(model, iris)
    assert picture.title == "AdaBoost: 3 rounds and their vote"
    circles = [own for own in parsed(picture).iter() if own.tag.endswith("circle")]
    assert len(circles) == 4 * 150
    assert len({own.get("r") for own in circles}) > 2
    assert any(text and text.startswith("round 1: ε 0.333") for text in texts(picture))
    with pytest.raises(ParameterError, match="keep_weights=True"):
        draw_rounds(cw.AdaBoost(n_estimators=2).fit(iris), iris)
    every = cw.read("sample:iris")
    with pytest.raises(ParameterError, match="two numeric"):
        draw_rounds(cw.AdaBoost(n_estimators=2, keep_weights=True).fit(every), every)


@pytest.mark.parametrize(
    "model",
    [
        cw.Logistic(),
        cw.LinearSVM(),
        cw.NeuralNet((4,), max_iter=3),
        cw.AdaBoost(n_estimators=5),
        cw.Bagging(n_estimators=3, oob_score=True),
        cw.Vote(),
    ],
    ids=lambda own: type(own).__name__,
)
def test_a_page_lists_what_was_learned(model, tmp_path):
    from countwise.reports.comparison_facts import comparison_facts
    from countwise.reports.html import write

    table = cw.read("sample:iris")
    trials = cw.evaluate(cw.NaiveBayes(), table, folds=3)
    facts = comparison_facts(table, trials, model=model.fit(table), model_name="own")
    views = facts["model"]["views"]
    assert any(view["note"] for view in views)
    write(facts, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = page.split('<section id="why">')[1].split("</section>")[0]
    assert views[0]["title"] in shown
    assert escape(views[0]["note"][:40]) in shown
    words = {
        "Coefficients": "(intercept)",
        "TrainingCurve": "Loss and error by epoch",
        "MemberList": "Estimates of the error" if views[0].get("errors") else "All members",
    }
    assert words[views[0]["kind"]] in shown
