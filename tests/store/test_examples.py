"""What the inner parts of store answer, one small example each."""

import io
import re

import numpy as np
import pytest

import countwise as cw
from countwise.counts.smoothing import Laplace
from countwise.errors import StoreError, shown
from countwise.models.bayes.kdb import KDB
from countwise.models.tree.id3 import ID3
from countwise.store.archive import (
    axes_of,
    contents,
    header_of,
    library_version,
    read_array,
    readable,
    size_of,
)
from countwise.store.cells import cells_to
from countwise.store.checks import check_counts
from countwise.store.decided import decide_to
from countwise.store.ensembles import is_ensemble
from countwise.store.families import families_to
from countwise.store.fields import Fields, parse
from countwise.store.flaws import UnsoundError, refusals
from countwise.store.kept import kept_to
from countwise.store.matrices import matrix_to
from countwise.store.models import (
    classes_in,
    columns_to,
    is_model,
    model_to,
    prototype,
    training_to,
)
from countwise.store.plain import from_plain, label_from, to_plain
from countwise.store.schemas import cuts_to, points_to, schema_from, schema_to
from countwise.store.states import parts_of
from countwise.store.tallies import Shelf
from countwise.store.trees import tree_to
from countwise.tables.schema import Column, Schema


def test_cells_to_example():
    parts = cells_to(cw.DiscreteBayes().fit(cw.read("sample:weather")), {})
    assert (parts.documents["cells.json"]["cells"], sorted(parts.arrays)) == (
        14,
        ["cells/counts.npy", "cells/levels.npy"],
    )


def test_check_counts_example():
    counts = cw.count(cw.read("sample:weather"))
    check_counts(counts)
    counts.tables["outlook",][0, 0] = -1
    with pytest.raises(
        UnsoundError,
        match=re.escape(
            "holds counts below zero in the table of 'outlook'. Fetch the file again, or "
            "save the model again."
        ),
    ):
        check_counts(counts)


def test_decide_to_example():
    assert (
        decide_to(cw.Decide(cw.NaiveBayes(), "argmax").fit(cw.read("sample:weather")))["rule"]
        == "argmax"
    )


def test_is_ensemble_example():
    assert (is_ensemble(cw.Vote()), is_ensemble(cw.ID3())) == (True, False)


def test_families_to_example():
    assert families_to(KDB(1).fit(cw.read("sample:votes")))["families"][1] == [
        "adoption-of-the-budget-resolution",
        "physician-fee-freeze",
    ]


def test_fields_example():
    fields = Fields({"rows": 14}, "training.json")
    assert fields.whole("rows") == 14
    with pytest.raises(
        UnsoundError,
        match=re.escape(
            "must hold a text under 'rows' of training.json, but 14 is there. Fetch the "
            "file again, or save the model again."
        ),
    ):
        fields.text("rows")


def test_unsound_error_example():
    with (
        pytest.raises(
            StoreError,
            match=re.escape(
                "load: 'model.cw' ends too early. Fetch the file again, or save the model again."
            ),
        ),
        refusals("load", "model.cw"),
    ):
        raise UnsoundError("ends too early")


def test_shown_example():
    assert shown("models/a.cw") == "'models/a.cw'"


def test_kept_to_example():
    parts = kept_to(cw.Neighbors().fit(cw.read("sample:weather")), {})
    assert (parts.summary["rows"], sorted(parts.arrays)) == (
        14,
        ["rows/codes.npy", "rows/numbers.npy"],
    )


def test_matrix_to_example():
    parts = matrix_to(cw.Logistic().fit(cw.read("sample:weather")), {})
    assert (parts.kind, sorted(parts.arrays)) == (
        "Logistic",
        ["layers/bias_0.npy", "layers/weights_0.npy"],
    )


def test_is_model_example():
    assert (is_model(cw.NaiveBayes()), is_model("NaiveBayes")) == (True, False)


def test_model_to_example():
    assert model_to(cw.NaiveBayes(prior={0: 0.5, 1: 0.5}))["parameters"]["prior"] == {
        "is": "mapping",
        "pairs": [[0, 0.5], [1, 0.5]],
    }


def test_classes_in_example():
    assert classes_in(cw.count(cw.read("sample:weather")))["weight"] == 14.0


def test_training_to_example():
    assert training_to(cw.NaiveBayes().fit([[0.5], [1.5]], [0, 1]))["features_in"] == 1


def test_columns_to_example():
    assert columns_to(cw.NaiveBayes().fit([[0.5], [1.5]], [0, 1])) == {
        "features_in": 1,
        "feature_names_in": None,
    }


def test_prototype_example():
    assert (
        repr(
            prototype(Fields({"model": "NaiveBayes", "parameters": {"smoothing": 2.0}}, "example"))
        )
        == "NaiveBayes(smoothing=2.0)"
    )


def test_axes_of_example():
    assert (axes_of(np.zeros((2, 3))), axes_of(np.zeros((2, 3)).T)) == ((0, 1), (1, 0))


def test_header_of_example():
    assert (
        header_of("<f8", (2, 3))[10:60].decode()
        == "{'descr': '<f8', 'fortran_order': False, 'shape': "
    )


def test_contents_example():
    assert contents(np.array([1], dtype="<i8")).tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


def test_size_of_example():
    assert size_of("<f8", (2, 3)) - len(header_of("<f8", (2, 3))) == 48


def test_read_array_example():
    whole = io.BytesIO(header_of("<i8", (2,)) + b"\x01" + bytes(15))
    assert repr(read_array(whole.read, "<i8", (2,), "a.npy")) == "array([1, 0])"


def test_library_version_example():
    assert library_version().count(".") == 2


def test_readable_example():
    assert str(readable({"rows": 14, "levels": ["no", "yes"]})) == (
        '{\n  "rows": 14,\n  "levels": ["no", "yes"]\n}'
    )


def test_to_plain_example():
    assert to_plain({1: 0.5}, "prior") == {"is": "mapping", "pairs": [[1, 0.5]]}
    assert to_plain(Laplace(0.5), "smoothing") == {"is": "Laplace", "alpha": 0.5, "by": "values"}


def test_from_plain_example():
    assert from_plain({"is": "mapping", "pairs": [[1, 0.5]]}, "prior") == {1: 0.5}
    with pytest.raises(
        UnsoundError,
        match=re.escape(
            "holds something unknown, 'os.system', in prior. Fetch the file again, or "
            "save the model again."
        ),
    ):
        from_plain({"is": "os.system"}, "prior")


def test_label_from_example():
    assert (
        repr((label_from(True, "levels"), label_from({"is": "float", "value": "inf"}, "levels")))
        == "(True, inf)"
    )


def test_schema_to_example():
    assert schema_to(Schema((Column("windy", "nominal", (False, True)),))) == {
        "columns": [{"name": "windy", "kind": "nominal", "levels": [False, True]}]
    }


def test_schema_from_example():
    schema = Schema((Column("windy", "nominal", (False, True)),))
    assert schema_from(Fields(schema_to(schema), "schema.json")) == schema


def test_cuts_to_example():
    assert cuts_to(cw.NaiveBayes().fit(cw.read("sample:weather"))) is None


def test_points_to_example():
    assert points_to({"x": np.array([0.5])}) == [["x", [0.5]]]


def test_parts_of_example():
    parts = parts_of(cw.NaiveBayes().fit(cw.read("sample:weather")))
    assert (parts.kind, sorted(parts.documents)[0], parts.summary["rows"]) == (
        "NaiveBayes",
        "counts.json",
        14,
    )


def test_shelf_example():
    shelf = Shelf(together=False)
    assert shelf.put("table", "Größe (cm)", np.zeros((2, 2))) == "counts/table_0001_Gr_e_cm.npy"


def test_tree_to_example():
    parts = tree_to(ID3().fit(cw.read("sample:weather")), {})
    assert (parts.documents["tree.json"]["nodes"], sorted(parts.arrays)[0]) == (8, "tree/child.npy")


def test_parse_example():
    assert parse(b'{"rows": 14}', "training.json") == {"rows": 14}
    with pytest.raises(
        UnsoundError,
        match=re.escape(
            "holds no proper JSON in 'training.json' (NaN is no number). Fetch the file "
            "again, or save the model again."
        ),
    ):
        parse(b'{"rows": NaN}', "training.json")
