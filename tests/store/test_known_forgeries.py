"""Forged files that once loaded and then failed: each is refused while loading, in one sentence."""

import json
import resource
import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import countwise as cw
from countwise.errors import SchemaError, StoreError
from countwise.store import codec
from countwise.store.files import load, save

from .conftest import frame, labels, packed, refused, unpacked


@pytest.fixture(autouse=True)
def _numbers_stay_in_the_document(monkeypatch):
    """So that a change of them is a change of JSON."""
    monkeypatch.setattr(codec, "MAX_INLINE", 10**6)


def forge(model, path, change):
    """Save a model, change its document, and make the checksums agree."""
    save(model, path)
    members = unpacked(path)
    document = json.loads(members["model.json"])
    change(document["parameters"], document.get("fitted", {}))
    packed(path, {**members, "model.json": json.dumps(document).encode()})
    return path


def test_weights_that_overflow(tmp_path):
    model = cw.Logistic().fit(frame(), labels())
    model.layers_[0].weights[0, 0] = 1e308
    save(model, tmp_path / "m.cw")
    refused(tmp_path / "m.cw", "its scores must be finite for all rows")


def test_layers_whose_product_overflows(tmp_path):
    model = cw.NeuralNet((4, 4), max_iter=3).fit(frame(), labels())
    for layer in model.layers_:
        layer.weights[:] = 1e100
    save(model, tmp_path / "m.cw")
    refused(tmp_path / "m.cw", "its scores must be finite for all rows")


def test_numbers_of_stored_rows_that_no_table_has(tmp_path):
    model = cw.Neighbors().fit(frame(), labels())
    save(model, tmp_path / "m.cw")
    members = unpacked(tmp_path / "m.cw")
    name = next(name for name in members if "numbers" in name)
    members[name] = members[name][:-8] + np.array([1e308]).tobytes()
    packed(tmp_path / "m.cw", members)
    refused(tmp_path / "m.cw", "must be at most 1e.140")


@pytest.mark.parametrize("width", [3, 2**70, -1])
def test_the_width_of_an_axis_of_numbers(tmp_path, width):
    def change(_, fitted):
        axis = next(axis for axis in fitted["space_"]["axes"] if axis["kind"] == "number")
        axis["width"] = width

    path = forge(cw.Neighbors().fit(frame(), labels()), tmp_path / "m.cw", change)
    refused(path, "must fit its column|is not sound")


@pytest.mark.parametrize("step", [{}, {"stage": "gain"}, {"stage": "gain", "seconds": "1"}])
def test_a_history_that_no_search_has(tmp_path, step):
    def change(_, fitted):
        fitted["history_"].append(step)

    path = forge(cw.DiscreteBayes().fit(frame(), labels()), tmp_path / "m.cw", change)
    refused(path, "every step of a search must have")


@pytest.mark.parametrize("value", [10**8, 2**60, 10**80])
def test_parameters_are_bounded_like_arrays(tmp_path, value):
    def change(parameters, _):
        parameters["bins"] = value

    path = forge(cw.NaiveBayes(numeric="cuts").fit(frame(), labels()), tmp_path / "m.cw", change)
    refused(path, "at most")
    program = (
        "import sys, countwise as cw\n"
        "from countwise.errors import StoreError\n"
        "try: cw.load(sys.argv[1])\n"
        "except StoreError: print('refused')"
    )
    limit = 2 << 30
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.stdout == "refused\n", done.stderr


def test_half_a_character(tmp_path):
    def change(_, fitted):
        column = next(c for c in fitted["schema_"]["columns"] if c.get("levels"))
        column["levels"][0] = "\ud800"

    path = forge(cw.NaiveBayes().fit(frame(), labels()), tmp_path / "m.cw", change)
    refused(path, "no proper JSON")
    with pytest.raises(SchemaError, match="half a character"):
        cw.read({"a": ["x\ud800", "y"], "class": ["p", "n"]}, target="class")
    with pytest.raises(StoreError, match="half a character"):
        save(cw.NaiveBayes().fit(frame(), labels()), path, notes="\ud800")


def test_a_model_without_any_family_answers_with_the_prior(tmp_path):
    def change(_, fitted):
        fitted["families_"] = []

    path = forge(cw.KDB().fit(frame(), labels()), tmp_path / "m.cw", change)
    model = load(path)
    prior = np.unique(labels(), return_counts=True)[1] / len(labels())
    np.testing.assert_allclose(model.predict_proba(frame()), np.tile(prior, (len(frame()), 1)))
    assert np.isfinite(model.explain(frame()).posteriors).all()
    assert "<svg" in str(cw.draw(model))


def test_a_whitening_that_cannot_be_undone(tmp_path):
    model = cw.Neighbors(metric="mahalanobis").fit(frame(), labels())
    model.space_.whitening[:] = 0.0
    save(model, tmp_path / "m.cw")
    again = load(tmp_path / "m.cw")
    assert np.isfinite(again.explain(frame()).posteriors).all()
    model.space_.whitening[0, 0] = 1e308
    with pytest.raises(StoreError, match="the figures of a space must fit each other"):
        save(model, tmp_path / "m.cw")


@pytest.mark.parametrize("ridge", [0, 1e-320, 1e308])
def test_any_ridge_of_local_planes(tmp_path, ridge):
    def change(parameters, _):
        parameters["ridge"] = ridge

    model = cw.LocalRegression().fit(frame(), np.arange(len(frame()), dtype=float))
    again = load(forge(model, tmp_path / "m.cw", change))
    assert np.isfinite(again.predict(frame())).all()


@pytest.mark.parametrize(
    "columns",
    [
        {"n_features_in_": 4},
        {"n_features_in_": 5, "feature_names_in_": ["a", "b", "c", "d", "e"]},
        {"feature_names_in_": ["a"]},
    ],
    ids=["fewer", "other names", "no number"],
)
def test_columns_other_than_those_of_the_schema(tmp_path, columns):
    save(cw.NaiveBayes().fit(frame(), labels()), tmp_path / "m.cw")
    members = unpacked(tmp_path / "m.cw")
    document = json.loads(members["model.json"])
    assert document["columns"]["n_features_in_"] == 5
    document["columns"] = columns
    packed(tmp_path / "m.cw", {**members, "model.json": json.dumps(document).encode()})
    refused(tmp_path / "m.cw", "columns")


def test_distances_beyond_the_largest_number_are_drawn(tmp_path):
    def change(_, fitted):
        next(a for a in fitted["space_"]["axes"] if a["kind"] == "number")["stretch"] = 1e308

    model = load(forge(cw.Neighbors().fit(frame(), labels()), tmp_path / "m.cw", change))
    assert "<svg" in str(cw.draw(model))


@pytest.mark.parametrize("number", [-1.0, float("nan"), 1e308])
@pytest.mark.parametrize("kind", [cw.ID3, cw.Tree, cw.Neighbors, cw.CondensedNeighbors])
def test_a_smoothing_that_no_fit_chooses(kind, number, tmp_path):
    def change(_, fitted):
        fitted["smoothing_"] = number

    refused(forge(kind().fit(frame(), labels()), tmp_path / "m.cw", change), "smoothing|finite")


def test_a_power_of_the_class_shares_that_no_fit_tries(tmp_path):
    def change(_, fitted):
        fitted["share_power_"] = 0.3

    model = cw.AdaBoost().fit(frame(), labels())
    refused(forge(model, tmp_path / "m.cw", change), "power of the class shares")


def test_any_smoothing_of_a_tree(tmp_path):
    def change(parameters, fitted):
        parameters["smoothing"] = fitted["smoothing_"] = 1e6

    model = load(forge(cw.ID3().fit(frame(), labels()), tmp_path / "m.cw", change))
    found = model.predict_proba(frame())
    assert found.min() > 0
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_cells_of_numbers_that_no_table_holds(tmp_path):
    def change(_, fitted):
        for grid in fitted["counts_"]["grids"].values():
            grid["shift"] = 1

    path = forge(cw.NaiveBayes(numeric="kernel").fit(frame(), labels()), tmp_path / "m.cw", change)
    refused(path, "cells must hold finite numbers|must fall into each cell")


def test_a_node_too_light_to_be_divided_by(tmp_path):
    model = cw.ID3(smoothing=1).fit(frame(), labels())
    leaf = np.flatnonzero(~model.tree_.split)[0]
    model.tree_.counts[leaf] = 0
    model.tree_.counts[leaf, 0] = 5e-324
    with pytest.raises(StoreError, match="a finite weight of each class"):
        save(model, tmp_path / "m.cw")


def test_a_cell_of_words_without_rows(tmp_path):
    table = cw.read("sample:help-desk")
    counts = cw.count(table)
    save(counts, tmp_path / "m.cw")
    words = next(iter(counts.words.values()))
    words.rows.flags.writeable = True
    words.rows[0] = 0.0
    with pytest.raises(StoreError, match="must be in some row"):
        save(counts, tmp_path / "m.cw")


def test_an_unfitted_model_in_the_state_of_a_step(tmp_path):
    pipeline = make_pipeline(StandardScaler(), cw.Logistic())
    pipeline.fit(np.arange(12.0).reshape(6, 2), ["a", "b"] * 3)
    save(pipeline, tmp_path / "m.cw")
    members = unpacked(tmp_path / "m.cw")
    document = json.loads(members["model.json"])
    document["steps"][0]["state"]["var_"] = {"is": "model", "model": "ID3", "parameters": {}}
    packed(tmp_path / "m.cw", {**members, "model.json": json.dumps(document).encode()})
    refused(tmp_path / "m.cw", "must be a fitted ID3")


@pytest.mark.parametrize("temperature", [0.0, 1e-320, -1.0, 1e300])
@pytest.mark.parametrize("make", [cw.NaiveBayes, cw.TAN, cw.AdaBoost])
def test_a_temperature_that_no_fit_finds(make, temperature, tmp_path):
    def change(parameters, fitted):
        fitted["temperature_"] = temperature

    path = forge(make().fit(frame(), labels()), tmp_path / "m.cw", change)
    refused(path, "temperature")
