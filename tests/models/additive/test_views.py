"""The views of an additive model and their pictures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import countwise as cw
from countwise.models.additive import prepare
from countwise.models.views import PairShapes, Shapes
from countwise.reports.model_facts import view_facts


@pytest.fixture(scope="module")
def cancer():
    return cw.Additive(pairs=2).fit(cw.read("sample:breast-w"))


def test_shapes_come_sorted_with_shares_that_sum_to_one(cancer):
    shapes, pairs = cancer.views()
    assert isinstance(shapes, Shapes)
    assert isinstance(pairs, PairShapes)
    strengths = [shape.strength for shape in shapes.columns]
    assert strengths == sorted(strengths, reverse=True)
    shares = [shape.share for shape in shapes.columns] + [pair.share for pair in pairs.pairs]
    assert sum(shares) == pytest.approx(1, abs=0.01)
    assert shapes.classes == ("malignant",)
    assert shapes.pairs_share == pytest.approx(sum(pair.share for pair in pairs.pairs))
    nuclei = next(shape for shape in shapes.columns if shape.name == "bare_nuclei")
    assert nuclei.missing is not None
    assert nuclei.errors is not None
    assert nuclei.edges is not None
    assert len(nuclei.edges) == len(nuclei.levels) + 1


def test_a_column_that_says_nothing_is_listed():
    table = cw.read("sample:breast-w")
    columns = {name: table.decode(name).tolist() for name in table.names}
    rows = {**columns, "still": [3.0] * len(table)}
    view = cw.Additive(pairs=0).fit(cw.read(rows, target=table.target_column.name)).views()[0]
    assert view.unused == ("still",)


@pytest.mark.parametrize("sample", ["breast-w", "iris", "weather", "glass"])
def test_every_view_is_drawn(sample):
    model = cw.Additive(pairs=1).fit(cw.read(f"sample:{sample}"))
    picture = cw.draw(model)
    ElementTree.fromstring(str(picture))
    assert "nan" not in re.findall(r'd="[^"]*"', str(picture))
    assert picture.title.startswith("Additive: shapes of")
    name = model.views()[0].columns[0].name
    assert cw.draw(model, name).title == f"Additive: shape of {name}"


def test_the_figures_of_a_page_keep_the_most_frequent_levels():
    rng = np.random.default_rng(0)
    level = np.minimum(rng.geometric(0.15, 600), 40)
    y = (level % 2) ^ (rng.random(600) < 0.1)
    rows = {"level": [f"v{code}" for code in level], "y": y.astype(int).tolist()}
    view = cw.Additive(pairs=0).fit(cw.read(rows, target="y")).views()[0]
    facts = view_facts(view)
    column = facts["columns"][0]
    assert len(column["levels"]) == 18
    assert column["more_levels"] == len(view.columns[0].levels) - 18
    assert "v1" in column["levels"]


def test_a_level_without_rows_has_no_band():
    rows = {"c": ["a", "b"] * 30 + ["z"], "y": ["p", "p", "q", "p", "q", "q"] * 10 + ["p"]}
    table = cw.read(rows, target="y").take(np.arange(60))
    (shape,) = cw.Additive().fit(table).views()[0].columns
    assert shape.levels[2] == "z"
    assert (shape.errors[:2] > 0).all()
    assert shape.errors[2] == shape.added[2] == 0


def test_no_errors_are_shown_where_there_was_one_fold(monkeypatch):
    monkeypatch.setattr(prepare, "_CHEAP_ENTRIES", 0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=5200)
    rows = {"x": x.tolist(), "y": (x + rng.logistic(size=5200) > 0).astype(int).tolist()}
    model = cw.Additive().fit(cw.read(rows, target="y"))
    view = model.views()[0]
    assert view.columns[0].errors is None
    assert "band" not in view.note
    assert "<svg" in str(cw.draw(model))


def test_only_the_page_speaks_of_bands_and_colors(cancer, tmp_path):
    views = cancer.views()
    assert not any("band" in view.note or "blue" in view.note for view in views)
    rows = cw.read("sample:breast-w")
    trials = cw.evaluate({"bayes": cw.NaiveBayes()}, rows, folds=2)
    cw.report(trials, tmp_path / "page.html", rows, model=cancer)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "A band shows two standard errors" in page
    assert "Blue cells are for" in page


def test_the_words_of_a_picture_without_shapes_have_room():
    rows = {"c": ["a"] * 60, "y": ["p", "q", "q"] * 20}
    picture = cw.draw(cw.Additive().fit(cw.read(rows, target="y")))
    words = re.findall(r"<text[^>]*>([^<]*)</text>", picture.svg)
    assert len(words) > 3
    assert max(map(len, words)) < 70
    assert "average row" in " ".join(words)


def test_a_pair_of_names_is_refused_in_good_english(cancer):
    with pytest.raises(cw.errors.ParameterError, match="one attribute for Additive; got"):
        cw.draw(cancer, ("cell_size", "adhesion"))
