"""A scikit-learn pipeline around our models is saved and loaded; another is refused by its step."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import countwise as cw
from countwise.errors import StoreError
from countwise.store.codec import UnsoundError, decode
from countwise.store.pipelines import StoredPipeline, from_stored

IRIS = cw.read("sample:iris")
X = np.column_stack([IRIS.values(column.name) for column in IRIS.schema.attributes])
Y = IRIS.labels
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)


@pytest.mark.parametrize(
    ("pipeline", "rows"),
    [
        (make_pipeline(StandardScaler(), cw.NaiveBayes()), X),
        (make_pipeline(SimpleImputer(), MinMaxScaler(), PCA(2), cw.Neighbors()), HOLES),
        (make_pipeline(FunctionTransformer(np.log1p), RobustScaler(), cw.Logistic()), X),
        (make_pipeline(QuantileTransformer(n_quantiles=20), cw.ID3()), X),
        (make_pipeline(cw.Cuts("frequency", bins=4), cw.TAN(nominal="all")), X),
        (make_pipeline(cw.Quantizer(budget=30), cw.NaiveBayes(nominal="all")), X),
        (make_pipeline("passthrough", cw.Decide(cw.NaiveBayes(), prior="uniform")), X),
    ],
    ids=["scaler", "imputer-pca", "function", "quantiles", "cuts", "quantizer", "decide"],
)
def test_a_pipeline_predicts_the_same_after_loading(pipeline, rows, tmp_path):
    pipeline.fit(rows, Y)
    cw.save(pipeline, tmp_path / "p.cw")
    again = cw.load(tmp_path / "p.cw")
    assert [name for name, _ in again.steps] == [name for name, _ in pipeline.steps]
    assert np.array_equal(again.predict_proba(rows), pipeline.predict_proba(rows))
    assert cw.describe(tmp_path / "p.cw")["kind"] == "Pipeline"


def test_names_of_columns_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), cw.NaiveBayes())
    pipeline.fit(frame, Y)
    cw.save(pipeline, tmp_path / "p.cw")
    again = cw.load(tmp_path / "p.cw")
    assert list(again.feature_names_in_) == list("abcd")


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            make_pipeline(OneHotEncoder(sparse_output=False), cw.NaiveBayes()),
            "step 'onehotencoder' is a OneHotEncoder",
        ),
        (make_pipeline(StandardScaler(), LogisticRegression()), "must be a model of countwise"),
        (
            make_pipeline(FunctionTransformer(lambda x: x), cw.NaiveBayes()),
            "must be a function of NumPy such as np.log1p",
        ),
    ],
    ids=["encoder", "classifier", "lambda"],
)
def test_what_cannot_be_saved_is_said(pipeline, message, tmp_path):
    pipeline.fit((X > 3).astype(float), Y)
    with pytest.raises(StoreError, match=message):
        cw.save(pipeline, tmp_path / "p.cw")
    assert not list(tmp_path.iterdir())


def test_a_pipeline_does_not_read_files(tmp_path):
    cw.save(make_pipeline(StandardScaler(), cw.NaiveBayes()).fit(X, Y), tmp_path / "p.cw")
    with pytest.raises(StoreError, match="holds a Pipeline, whose first step takes arrays"):
        cw.predict_file(tmp_path / "p.cw", "sample:iris", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_an_unfitted_pipeline_is_refused(tmp_path):
    with pytest.raises(StoreError, match="a pipeline must be fitted to be saved"):
        cw.save(make_pipeline(StandardScaler(), cw.NaiveBayes()), tmp_path / "p.cw")


@pytest.mark.parametrize(
    "change",
    [
        lambda step: step.update(kind="Popen"),
        lambda step: step.update(functions={"func": "load"}),
        lambda step: step["state"].update(transform=1),
        lambda step: step["state"].update({"__class__": 1}),
        lambda step: step["state"].update(n_features_in_=3),
        lambda step: step["state"].update(n_features_in_="4"),
        lambda step: step["state"].pop("n_features_in_"),
        lambda step: step["state"].update(feature_names_in_=["a", 1]),
        lambda step: step["state"].pop("scale_"),
        lambda step: step["state"].update(scale_="x"),
    ],
    ids=[
        "class",
        "function",
        "method",
        "dunder",
        "other width",
        "text",
        "no width",
        "names",
        "no scale",
        "word",
    ],
)
def test_a_forged_step_is_refused(change, tmp_path):
    path = tmp_path / "p.cw"
    cw.save(make_pipeline(StandardScaler(), cw.NaiveBayes()).fit(X, Y), path)
    with zipfile.ZipFile(path) as file:
        document = json.loads(file.read("model.json"))
        arrays = {
            name: np.load(file.open(name)) for name in file.namelist() if name.endswith(".npy")
        }
    change(document["steps"][0])
    with pytest.raises(UnsoundError):
        from_stored(decode(StoredPipeline, document, arrays))


@pytest.mark.parametrize("cuts", [[[0.5]], [2.0, 1.0], ["a"], 3], ids=str)
def test_forged_cut_points_are_refused(cuts, tmp_path):
    path = tmp_path / "p.cw"
    pipeline = make_pipeline(cw.Cuts("frequency", bins=3), cw.NaiveBayes(nominal="all")).fit(X, Y)
    cw.save(pipeline, path)
    cw.load(path)
    pipeline[0].cut_points_["x1"] = np.array(cuts) if isinstance(cuts, list) else cuts
    cw.save(pipeline, path)
    with pytest.raises(StoreError, match="steps that do not fit each other"):
        cw.load(path)


def test_a_model_in_the_parameters_of_a_step_is_refused(tmp_path):
    careful = cw.Decide(cw.TAN(), cw.RouletteWheel(3))
    assert careful.parameters_to_save()["rule"] == cw.RouletteWheel(3)
    pipeline = make_pipeline(FunctionTransformer(inv_kw_args={"unused": careful}), cw.Logistic())
    pipeline.fit(np.arange(12.0).reshape(6, 2), ["a", "b"] * 3)
    with pytest.raises(StoreError, match="must be a fitted Decide"):
        cw.save(pipeline, tmp_path / "p.cw")
    assert not (tmp_path / "p.cw").exists()
