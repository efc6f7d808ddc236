"""Laws 2, 3, 5 (row by row), 6 and 7 for models that keep rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

MODELS = {
    "five": lambda: cw.Neighbors(),
    "one": lambda: cw.Neighbors(n_neighbors=1, scale="z"),
    "two by 1/d, VDM": lambda: cw.Neighbors(n_neighbors=2, metric="vdm", p=3, weights="distance"),
    "three by 1/d², HVDM": lambda: cw.Neighbors(n_neighbors=3, metric="hvdm", weights="squared"),
    "four by rank, HEOM": lambda: cw.Neighbors(n_neighbors=4, metric="heom", weights="rank"),
    "three by kernel, Gower": lambda: cw.Neighbors(n_neighbors=3, metric="gower", weights="kernel"),
    "ignoring, maximum": lambda: cw.Neighbors(
        n_neighbors=2, metric="maximum", when_missing="ignore"
    ),
    "overlap": lambda: cw.Neighbors(n_neighbors=3, metric="overlap"),
    "manhattan, own weights": lambda: cw.Neighbors(
        n_neighbors=3, metric="manhattan", weights=lambda far: 1 / (1 + far)
    ),
    "by information": lambda: cw.Neighbors(
        n_neighbors=2, attribute_weights="information", drop_least=1
    ),
    "mahalanobis": lambda: cw.Neighbors(n_neighbors=2, metric="mahalanobis"),
}
every_model = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))
#: Whitening rounds differently in another order, and ties may part: see learned spaces.
untied = [name for name in MODELS if name != "mahalanobis"]


@pytest.mark.parametrize("name", untied)
@settings(max_examples=20)
@given(st.data())
def test_law_2(name, data):
    table = data.draw(tables(least_rows=2))
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    laws.law_2_names_and_order(MODELS[name], table, order)


@pytest.mark.parametrize("name", untied)
@settings(max_examples=20)
@given(st.data())
def test_law_3(name, data):
    table = data.draw(tables())
    laws.law_3_weights_repeat_rows(MODELS[name], table, data.draw(weights(len(table))))


@every_model
@settings(max_examples=20)
@given(tables(least_rows=2, most_rows=12))
def test_law_5_rows_one_by_one(make, table):
    laws.law_5_rows_one_by_one(make, table)


@every_model
@settings(max_examples=20)
@given(st.data())
def test_law_6(make, data):
    train = data.draw(tables())
    cells = {}
    for column in train.schema.attributes:
        if column.kind == "nominal":
            cells[column.name] = data.draw(
                st.lists(st.sampled_from(["a", "never seen", None]), min_size=5, max_size=5)
            )
        else:
            far = st.sampled_from([0.0, 1e9, -1e100, 1e140, float("nan")])
            cells[column.name] = data.draw(st.lists(far, min_size=5, max_size=5))
    rows = cw.read(cells, schema=train.schema.without_target())
    laws.law_6_posteriors(make, train, rows)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "mahalanobis"])
@settings(max_examples=20)
@given(tables())
def test_law_7(name, table):
    """With every attribute missing all rows are equally far, and the votes are the class shares."""
    model = MODELS[name]().fit(table)
    blank = {column.name: [None] for column in table.schema.attributes}
    shares = np.bincount(table.target, minlength=len(table.classes))
    prior = shares[shares > 0] / shares.sum()
    np.testing.assert_allclose(model.predict_proba(blank)[0], prior, atol=1e-12)


def test_two_thousand_attributes_stay_finite():
    rng = np.random.default_rng(0)
    cells = {f"w{i}": rng.choice(["a", "b", "c"], 30) for i in range(1000)}
    cells |= {f"x{i}": rng.normal(size=30) for i in range(1000)}
    table = cw.read({**cells, "class": rng.choice(["no", "yes"], 30)}, target="class")
    far = {name: ["z"] if name[0] == "w" else [1e120] for name in cells}
    for make in (MODELS["five"], MODELS["two by 1/d, VDM"]):
        laws.law_6_posteriors(make, table, table)
        laws.law_6_posteriors(make, table, cw.read(far, schema=table.schema.without_target()))
