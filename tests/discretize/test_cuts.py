"""Cuts as a transformer: frames, arrays and tables, in pipelines, with names."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import countwise as cw
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import METHODS, cut_points
from countwise.discretize.cuts import Cuts
from countwise.errors import ParameterError, SchemaError, TableError
from countwise.models.bayes.tan import TAN

IRIS = cw.read("sample:iris")
NAMES = [column.name for column in IRIS.schema.attributes]


def array():
    return np.column_stack([IRIS.values(name) for name in NAMES])


def frame():
    return pd.DataFrame(array(), columns=NAMES)


@parametrize_with_checks([Cuts(), Cuts("frequency", bins=4), Cuts("two-way"), Cuts("mdl")])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
def test_frames_arrays_and_tables_are_cut_alike(method):
    by_table = Cuts(method, bins=5).fit(IRIS)
    by_frame = Cuts(method, bins=5).fit(frame(), IRIS.labels)
    by_array = Cuts(method, bins=5).fit(array(), IRIS.labels)
    counts = cw.count(IRIS, Plan.each(IRIS.schema, "grid"))
    for place, name in enumerate(NAMES):
        expected = cut_points(counts.grids[name], method, 5)
        np.testing.assert_array_equal(by_table.cut_points_[name], expected)
        np.testing.assert_array_equal(by_frame.cut_points_[name], expected)
        np.testing.assert_array_equal(by_array.cut_points_[f"x{place}"], expected)
    table, named, codes = (
        by_table.transform(IRIS),
        by_frame.transform(frame()),
        by_array.transform(array()),
    )
    for place, name in enumerate(NAMES):
        assert table.decode(name).tolist() == named[name].tolist()
        words = by_frame.interval_names_[name]
        assert [words[int(code)] for code in codes[:, place]] == named[name].tolist()
        np.testing.assert_array_equal(table.codes(name), codes[:, place])
    assert by_frame.get_feature_names_out().tolist() == NAMES
    assert by_table.get_feature_names_out().tolist() == NAMES
    assert by_array.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]


def test_ten_bins_of_equal_width_by_hand():
    cuts = Cuts().fit(np.arange(11.0).reshape(-1, 1))
    np.testing.assert_allclose(cuts.cut_points_["x0"], np.arange(1.0, 10.0))
    # A cut point belongs to the interval on its left; what lies beyond falls into the outer ones.
    codes = cuts.transform([[-5.0], [0.0], [1.0], [1.5], [10.0], [99.0]])
    assert codes.ravel().tolist() == [0, 0, 0, 1, 9, 9]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_keep_their_kind_their_columns_and_what_is_missing(kind):
    cells = {"x": [1.0, 2.0, None, 4.0], "word": ["a", None, "b", "a"], "n": [1, 2, 3, 4]}
    X = kind(cells)
    out = Cuts("frequency", bins=2).fit(X).transform(X)
    assert type(out) is type(X)
    plain = pd.DataFrame({name: list(map(str, pa_list(out, name))) for name in cells})
    assert plain["x"].tolist() == ["≤ 3", "≤ 3", "None", "> 3"]
    assert plain["word"].tolist() == ["a", "None", "b", "a"]
    assert plain["n"].tolist() == ["≤ 2.5", "≤ 2.5", "> 2.5", "> 2.5"]


def pa_list(frame, name):
    column = frame[name]
    cells = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return [None if cell is None or cell != cell else cell for cell in cells]


def test_an_index_stays_as_it_is():
    X = pd.DataFrame({"x": [1.0, 5.0, 9.0], "w": ["a", "b", "c"]}, index=[7, 3, 3])
    out = Cuts(bins=2).fit(X).transform(X)
    assert out.index.tolist() == [7, 3, 3]
    assert out["x"].tolist() == ["≤ 5", "≤ 5", "> 5"]


def test_output_can_be_asked_for_as_a_frame():
    out = Cuts(bins=2).set_output(transform="pandas").fit(array()).transform(array())
    assert list(out.columns) == ["x0", "x1", "x2", "x3"]
    assert Cuts().set_output(transform="polars").fit_transform(frame()).columns == NAMES


def test_missing_numbers_stay_missing_in_arrays():
    X = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 4.0]])
    codes = Cuts(bins=2).fit(X).transform(X)
    np.testing.assert_array_equal(codes, [[0, np.nan], [1, 0], [np.nan, 1]])


def test_columns_that_do_not_vary_have_one_interval():
    X = pd.DataFrame({"flat": [3.0, 3.0], "empty": [np.nan, np.nan], "x": [0.0, 1.0]})
    cuts = Cuts(bins=2).fit(X)
    assert cuts.interval_names_["flat"] == cuts.interval_names_["empty"] == ("any number",)
    assert cuts.transform(X)["flat"].tolist() == ["any number"] * 2


def test_in_pipelines_before_scikit_learn_and_before_ours():
    y = IRIS.labels
    for model in (
        make_pipeline(Cuts("mdl"), CategoricalNB(min_categories=10)),
        make_pipeline(Cuts(bins=6), DecisionTreeClassifier(random_state=0)),
        make_pipeline(Cuts("frequency", bins=5), cw.NaiveBayes(nominal="all")),
    ):
        assert cross_val_score(model, array(), y, cv=5).mean() > 0.88
    ours = make_pipeline(Cuts("mdl"), TAN())
    assert cross_val_score(ours, frame(), y, cv=5).mean() > 0.9
    mixed = make_column_transformer((Cuts("mdl"), NAMES[:2]), remainder="passthrough")
    assert make_pipeline(mixed, cw.NaiveBayes()).fit(frame(), y).score(frame(), y) > 0.9


def test_a_pipeline_is_what_the_model_does_itself():
    inside = TAN(cuts="mdl").fit(IRIS)
    outside = TAN().fit(Cuts("mdl").fit(IRIS).transform(IRIS))
    np.testing.assert_array_equal(
        inside.predict_proba(IRIS), outside.predict_proba(Cuts("mdl").fit(IRIS).transform(IRIS))
    )


@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1, max_size=30),
    st.sampled_from(METHODS),
    st.integers(2, 6),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_and_weights_for_repeats_change_nothing(values, method, bins, chance):
    X = np.array(values).reshape(-1, 1)
    y = np.arange(len(X)) % 3
    times = np.array([chance.randrange(1, 4) for _ in values])
    order = np.array(chance.sample(range(len(X)), len(X)))
    plain = Cuts(method, bins=bins).fit(X, y, times)
    again = np.repeat(np.arange(len(X)), times)
    for other in (
        Cuts(method, bins=bins).fit(X[order], y[order], times[order]),
        Cuts(method, bins=bins).fit(X[again], y[again]),
    ):
        np.testing.assert_array_equal(other.cut_points_["x0"], plain.cut_points_["x0"])


def test_what_is_refused():
    with pytest.raises(ParameterError, match="method must be one of"):
        Cuts("wide").fit(array())
    with pytest.raises(ParameterError, match="bins must be"):
        Cuts(bins=1).fit(array())
    with pytest.raises(TableError, match="requires y to be passed"):
        Cuts("mdl").fit(array())
    with pytest.raises(ParameterError, match="not all be zero"):
        Cuts().fit(array(), sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match="infinity"):
        Cuts().fit(frame().assign(petal_length=np.inf))
    with pytest.raises(SchemaError, match="must be numeric as it was in fit"):
        Cuts().fit(IRIS).transform(cw.read("sample:weather"))
    with pytest.raises(ValueError, match="feature names"):
        Cuts().fit(frame()).transform(frame().rename(columns={"petal_length": "length"}))


@pytest.mark.parametrize("transformer", [cw.Cuts(), cw.Cuts("mdl"), cw.Quantizer()])
def test_a_frame_without_numbers_stays_as_it_is(transformer):
    frame = pd.DataFrame({"a": list("xyxyxyxy"), "b": list("aabbaabb")})
    y = list("ppnnppnn")
    assert transformer.fit(frame, y).transform(frame).equals(frame)


@pytest.mark.parametrize("transformer", [cw.Cuts(), cw.Quantizer()])
def test_a_frame_without_columns_is_refused(transformer):
    with pytest.raises(TableError, match="at least one column is needed; got a frame of none"):
        transformer.fit(pd.DataFrame(index=range(8)), list("ppnnppnn"))
