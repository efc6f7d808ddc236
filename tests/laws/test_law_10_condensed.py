"""Law 10: a condensed set classifies its own training rows without error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.testing.strategies import tables

METRICS = ("euclidean", "heom", "vdm", "gower", "maximum")


def conflicts(table):
    """Rows that equal a row of another class."""
    columns = [
        # A negative zero equals zero, but not in print.
        table.values(column.name) + 0.0 if column.kind == "numeric" else table.decode(column.name)
        for column in table.schema.attributes
    ]
    lines = list(zip(*(map(repr, cells) for cells in columns), strict=True))
    found = {}
    for line, label in zip(lines, table.target.tolist(), strict=True):
        found.setdefault(line, set()).add(label)
    return any(len(labels) > 1 for labels in found.values())


@pytest.mark.parametrize("method", ["hart", "fast"])
@given(data=st.data())
@settings(max_examples=60)
def test_law_10(method, data):
    table = data.draw(tables(least_rows=2, missing=False))
    model = cw.CondensedNeighbors(method, metric=data.draw(st.sampled_from(METRICS))).fit(table)
    wrong = np.count_nonzero(model.predict(table) != table.labels)
    assert wrong == model.conflicts_
    if model.metric in ("euclidean", "heom") and not conflicts(table):
        constant = [c for c in table.schema.numeric if np.ptp(table.values(c.name)) == 0]
        assert wrong == 0 or constant


@pytest.mark.parametrize("method", ["hart", "fast"])
@pytest.mark.parametrize("sample", ["iris", "credit-a", "votes", "glass"])
def test_real_data_are_got_right_by_far_fewer_rows(sample, method):
    table = cw.read(f"sample:{sample}")
    model = cw.CondensedNeighbors(method, metric="heom", orders=3).fit(table)
    assert np.count_nonzero(model.predict(table) != table.labels) == model.conflicts_
    assert 0.3 < model.reduction_ < 0.95
    assert model.n_rows_ == len(model.kept_) == min(model.sizes_)
    np.testing.assert_array_equal(table.take(model.kept_).target, model.rows_.target)


def test_hart_step_by_step():
    """By hand: 0 is kept, 1 and 2 are right, 10 is wrong and kept, 11 is right, 5.5 falls to 10."""
    rows = {"x": [0.0, 1.0, 2.0, 10.0, 11.0, 5.5]}
    model = cw.CondensedNeighbors(scale=None).fit(rows, [*"aaabba"])
    assert model.kept_.tolist() == [0, 3, 5]
    assert model.passes_ == 2  # the last pass finds nothing to add


def test_equal_rows_of_two_classes_are_counted():
    rows = {"x": [0.0, 0.0, 0.0, 5.0], "w": [*"aaab"]}
    for method in ("hart", "fast"):
        model = cw.CondensedNeighbors(method).fit(rows, [*"ppqq"])
        assert model.conflicts_ == 1
        assert "N03" in [note.code for note in model.notes_]
        assert "equal rows of another class" in model.describe()


def test_rows_without_a_class_teach_nothing_and_keep_their_numbers():
    rows = {"x": [0.0, 5.0, 1.0, 10.0, 11.0], "class": ["a", None, "a", "b", "b"]}
    table = cw.read(rows, target="class", keep_rows=True)
    model = cw.CondensedNeighbors().fit(table)
    assert model.kept_.tolist() == [0, 3]
    assert cw.Neighbors(n_neighbors=1).fit(table).n_rows_ == 4
