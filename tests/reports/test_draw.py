"""cw.draw: the natural picture of each model, and clear words where there is none."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import countwise as cw
from countwise.errors import ParameterError
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.reports.draw import draw

MODELS = {
    "NaiveBayes": cw.NaiveBayes,
    "kernel": lambda: cw.NaiveBayes(numeric="kernel", when_missing="value"),
    "cuts": lambda: cw.NaiveBayes(numeric="cuts"),
    "TAN": TAN,
    "back-off": lambda: TAN(smoothing="back-off"),
    "AODE": AODE,
    "KDB": KDB,
    "ID3": ID3,
}
#: Models without tables by attribute.
WHOLE = {
    "logistic": cw.Logistic,
    "network": lambda: cw.NeuralNet((4,), max_iter=12),
    "neighbors": cw.Neighbors,
    "bagging": lambda: cw.Bagging(n_estimators=3, oob_score=True),
    "boosting": lambda: cw.AdaBoost(n_estimators=12),
    "vote": cw.Vote,
    "cells": lambda: cw.DiscreteBayes(200, random_state=0),
}
OVERLAPS = """(() => {
  const bad = [], edge = document.documentElement.getBoundingClientRect();
  const texts = [...document.querySelectorAll('text')]
    .map(e => [e.textContent, e.getBoundingClientRect()]);
  texts.forEach(([words, r], at) => {
    if (r.left < edge.left - 2 || r.right > edge.right + 2 ||
        r.top < edge.top - 2 || r.bottom > edge.bottom + 2) bad.push(words + ' leaves');
    for (const [other, s] of texts.slice(at + 1)) {
      const w = Math.min(r.right, s.right) - Math.max(r.left, s.left);
      const h = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
      if (w > 1.5 && h > 2.5) bad.push(words + ' / ' + other);
    }
  });
  return bad;
})()"""


@pytest.mark.parametrize("kind", [*MODELS, *WHOLE])
@pytest.mark.parametrize("name", ["weather", "iris", "credit-g", "audiology"])
def test_every_model_has_a_picture(kind, name, browser, tmp_path):
    model = (MODELS | WHOLE)[kind]().fit(cw.read(f"sample:{name}"))
    picture = draw(model)
    ElementTree.fromstring(picture.svg)
    assert len(picture.svg) < 1_000_000
    assert picture.title.startswith(type(model).__name__)
    picture.save(tmp_path / "picture.svg")
    page = browser.open(tmp_path / "picture.svg")
    assert page.ask(OVERLAPS) == []
    assert page.errors == []
    assert draw(model).svg == picture.svg


def test_the_picture_of_naive_bayes_is_its_tables():
    svg = draw(cw.NaiveBayes(smoothing=0).fit(cw.read("sample:weather"))).svg
    assert svg.count('class="q') == 2 * (1 + 3 + 3 + 2 + 2)
    assert ">Class prior<" in svg
    assert "sunny in no: 0.600, 3 rows" in svg


def test_mixed_columns_are_one_picture():
    model = cw.NaiveBayes().fit(cw.read("sample:credit-g"))
    picture = draw(model)
    assert picture.title == "NaiveBayes: 20 attributes by class and value"
    assert ">checking_status<" in picture.svg
    assert ">duration<" in picture.svg


@pytest.mark.parametrize("kind", [own for own in MODELS if own not in ("ID3", "KDB")])
def test_one_attribute(kind):
    weather = MODELS[kind]().fit(cw.read("sample:weather"))
    picture = draw(weather, "windy")
    assert picture.title.endswith(": windy by class")
    assert picture.svg.count('class="q') == (6 if kind == "kernel" else 4)
    iris = MODELS[kind]().fit(cw.read("sample:iris"))
    assert ">petal_width<" in draw(iris, "petal_width").svg


def test_a_wrong_attribute_is_said():
    model = cw.NaiveBayes().fit(cw.read("sample:weather"))
    with pytest.raises(
        ParameterError, match=r"what must be an attribute; got 'wind'\. Did you mean 'windy'"
    ):
        draw(model, "wind")
    with pytest.raises(ParameterError, match="what must be an attribute; got 3"):
        draw(model, 3)
    with pytest.raises(ParameterError, match="drawn as a whole"):
        draw(ID3().fit(cw.read("sample:weather")), "windy")
    selective = KDB().fit(cw.read("sample:credit-g"))
    kept = {own[0] for own in selective.families_}
    lost = next(c.name for c in selective.schema_.attributes if c.name not in kept)
    with pytest.raises(ParameterError, match="has no values that this KDB counts"):
        draw(selective, lost)


@pytest.mark.parametrize("model", [cw.NaiveBayes(), TAN(), KDB(), AODE(), ID3()], ids=repr)
def test_an_unfitted_model_is_said(model):
    with pytest.raises(ParameterError, match="model must be fitted; got"):
        draw(model)
    with pytest.raises(ParameterError, match="model must be fitted; got"):
        draw(cw.Decide(model, "argmax"))


@pytest.mark.parametrize("thing", [RandomForestClassifier(), None, "tree", 5], ids=repr)
def test_anything_else_is_said(thing):
    with pytest.raises(ParameterError, match="model must be a fitted model of countwise; got"):
        draw(thing)


def test_a_decided_model_is_drawn_as_its_model():
    table = cw.read("sample:weather")
    assert draw(cw.Decide(TAN(), "argmax").fit(table)).svg == draw(TAN().fit(table)).svg


def test_hostile_names_are_inert():
    marks = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</svg>\x00]]>"]
    rows = {own: [marks[(row * at) % 3] for row in range(30)] for at, own in enumerate(marks, 1)}
    table = cw.read(rows, target=np.array(marks)[np.arange(30) % 3])
    for model in (cw.NaiveBayes(), TAN(), KDB(k=2, selective=False), AODE(), ID3()):
        svg = str(draw(model.fit(table)))
        root = ElementTree.fromstring(svg)
        tags = {own.tag.split("}")[1] for own in root.iter()}
        assert not tags & {"script", "img"}
        assert not re.search(r"<[^>]* on\w+=", re.sub(r">[^<]*<", "><", svg))


def test_a_wide_table_is_still_a_picture():
    rng = np.random.default_rng(0)
    rows = {f"column {at}": rng.choice(list("abc"), 80).tolist() for at in range(120)}
    table = cw.read(rows, target=rng.choice(["n", "p"], 80))
    assert "60 more attributes, which are less informative" in draw(cw.NaiveBayes().fit(table)).svg
    assert draw(TAN().fit(table)).svg.count("column 119") > 0


@pytest.mark.parametrize("kind", [cw.NaiveBayes, TAN, AODE, KDB, ID3])
def test_one_class_and_columns_without_values_are_drawn(kind):
    rows = {"constant": ["c"] * 6, "empty": [None] * 6, "three": [3.0] * 6, "flag": [True] * 6}
    ElementTree.fromstring(draw(kind().fit(cw.read(rows, target=np.array(["one"] * 6)))).svg)
