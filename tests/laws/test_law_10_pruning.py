"""Law 10: pruning never raises the error it is judged by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.models.tree.id3 import ID3
from countwise.models.tree.predict import find_ends, values_of
from countwise.models.tree.prune import hold_out, prune
from countwise.numeric import draw_seed
from countwise.testing.strategies import tables, weights


def error(tree, values, target, weight, fractions):
    """The weight that ends in a leaf (or at a node) of another class, counted row by row."""
    parts = find_ends(tree, values, fractions)
    wrong = tree.label[parts.node] != target[parts.row]
    return float((parts.share * weight[parts.row] * wrong).sum() / weight.sum())


def drawn(data, missing=True):
    table = data.draw(tables(least_rows=4, most_rows=20, missing=missing))
    cut = data.draw(st.integers(1, len(table) - 2))
    grown, rest = table.take(slice(0, cut)), table.take(slice(cut, None))
    return grown, rest, data.draw(weights(len(rest), whole=False))


@pytest.mark.parametrize("missing", ["fraction", "majority"])
@given(st.data())
def test_law_10(missing, data):
    grown, rest, weight = drawn(data)
    model = ID3(when_missing=missing).fit(grown)
    tree, fractions = model.tree_, missing == "fraction"
    codes = {label: place for place, label in enumerate(model.classes_.tolist())}
    target = np.array([codes.get(label, len(codes)) for label in rest.labels.tolist()])
    values = values_of(tree, rest)
    pruned, report = prune(tree, values, target, weight, fractions)
    before = error(tree, values, target, weight, fractions)
    after = error(pruned, values, target, weight, fractions)
    assert after <= before + 1e-9
    assert report.error_before == pytest.approx(before, abs=1e-9)
    assert report.error_after == pytest.approx(after, abs=1e-9)
    assert (report.nodes_before, report.nodes_after) == (len(tree), len(pruned))


@given(st.data())
def test_no_node_left_could_become_a_leaf_without_error(data):
    """What pruning leaves is needed: every split that stays lowers the error it is judged by."""
    grown, rest, _ = drawn(data)
    weight = np.ones(len(rest))
    model = ID3(when_missing="majority").fit(grown)
    codes = {label: place for place, label in enumerate(model.classes_.tolist())}
    target = np.array([codes.get(label, len(codes)) for label in rest.labels.tolist()])
    values = values_of(model.tree_, rest)
    pruned, report = prune(model.tree_, values, target, weight, False)
    for node in np.flatnonzero(pruned.split):
        closed = np.zeros(len(pruned), dtype=bool)
        closed[node] = True
        less = pruned.without_below(closed)
        assert error(less, values, target, weight, False) > report.error_after


@given(st.data())
def test_pruning_in_fit_lowers_the_errors_of_predict(data):
    """With whole rows the error judged by is that of `predict` on the rows held out."""
    table = data.draw(tables(least_rows=6, most_rows=30, missing=False))
    seed = data.draw(st.integers(0, 3))
    model = ID3(prune=0.4, random_state=seed).fit(table)
    present, target = np.unique(table.target, return_inverse=True)
    apart = hold_out(table, target, len(present), 0.4, draw_seed(seed))
    if not apart.any():
        assert model.pruning_ is None
        return
    whole, test = ID3().fit(table.take(~apart)), table.take(apart)
    assert model.classes_.tolist() == whole.classes_.tolist()
    before, after = (np.mean(tree.predict(test) != test.labels) for tree in (whole, model))
    assert after <= before
    assert model.pruning_.error_after == pytest.approx(after)
    assert model.pruning_.rows == apart.sum()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.sampled_from([0.1, 0.25, 0.9]))
def test_what_is_held_out_is_stratified(labels, share):
    target = np.asarray(labels, dtype=np.uint8)
    rows = cw.read({"x": ["same"] * len(labels), "y": labels}, target="y", nominal=["x"])
    apart = hold_out(rows, target, 4, share, 0)
    for code in range(4):
        size = np.count_nonzero(target == code)
        taken = np.count_nonzero(apart & (target == code))
        assert taken == max(min(round(share * size), size - 1), 0)


def test_a_tie_is_cut_or_kept_as_told():
    votes = cw.read("sample:votes")
    cut, kept = (ID3(prune=0.3, cut_ties=ties).fit(votes) for ties in (True, False))
    assert len(cut.tree_) < len(kept.tree_)
    assert cut.pruning_.error_after == kept.pruning_.error_after <= kept.pruning_.error_before
