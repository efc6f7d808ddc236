"""Words of text columns as terms of an additive model."""

from __future__ import annotations

import numpy as np
import pytest

from countwise.models.additive.additive import Additive
from countwise.store.files import load, save
from countwise.tables.read import read

GOOD, BAD = "good fine film plot the a", "bad awful film plot the a"


def make_reviews(rows=160, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    texts: list[str | None] = []
    for label in y.tolist():
        kind = GOOD if (label == 1) != (rng.random() < 0.1) else BAD
        texts.append(" ".join(rng.choice(kind.split(), 6)))
    texts[5] = None
    columns = {"review": texts, "size": rng.normal(size=rows).tolist()}
    columns["y"] = ["likes" if label else "hates" for label in y.tolist()]
    return read(columns, target="y", text=["review"])


@pytest.fixture(scope="module")
def reviews():
    return make_reviews()


@pytest.fixture(scope="module")
def model(reviews):
    return Additive().fit(reviews)


def test_words_tell_the_classes_apart(model):
    assert model.score(make_reviews(seed=1)) > 0.8


def test_the_explanation_names_words_and_adds_up(model, reviews):
    why = model.explain(reviews)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-12)
    words = set(np.concatenate([values[1:] for values in why.values]).tolist())
    assert {"'good'", "'awful'", "missing"} <= words
    assert why.attributes[0] == "size"
    assert set(why.attributes[1:]) == {"review"}
    probabilities = np.exp(why.joint - np.logaddexp.reduce(why.joint, axis=1, keepdims=True))
    np.testing.assert_allclose(probabilities, model.predict_proba(reviews), atol=1e-12)


def test_unknown_words_add_nothing_of_their_own(model):
    texts = read({"review": ["zebra quokka", ""], "size": [0.0, 0.0]}, text=["review"])
    one, two = model.predict_proba(texts)
    none = read({"review": ["zebra"], "size": [0.0]}, text=["review"])
    np.testing.assert_array_equal(one, model.predict_proba(none)[0])
    assert np.isfinite(two).all()


def test_words_survive_a_file(model, reviews, tmp_path):
    save(model, tmp_path / "model.cw")
    loaded = load(tmp_path / "model.cw")
    np.testing.assert_array_equal(loaded.predict_proba(reviews), model.predict_proba(reviews))


def test_the_shapes_name_their_words(model):
    names = [shape.name for shape in model.views()[0].columns]
    assert "review: 'good'" in names


def test_texts_without_a_common_word_give_the_shares_of_the_classes():
    columns = {"note": [f"a{i} b{i}" for i in range(40)], "y": ["p", "q", "q", "q"] * 10}
    table = read(columns, target="y", text=["note"])
    shares = Additive().fit(table).predict_proba(table)
    np.testing.assert_allclose(shares[:, 1], 0.75, atol=0.01)
    assert np.ptp(shares, axis=0).max() == 0
