"""Ensembles, linear models and networks are saved as data and come back to the last bit."""

import zipfile

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import countwise as cw
from countwise.errors import StoreError
from countwise.store.files import describe, load, save

GAIN = {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}
MODELS = {
    "bagging": lambda: cw.Bagging(cw.NaiveBayes(), n_estimators=70),
    "bagged trees": lambda: cw.Bagging(n_estimators=3, vote="roulette", oob_score=True),
    "bagged TAN": lambda: cw.Bagging(cw.TAN(cuts="mdl"), n_estimators=3, vote="majority"),
    "boosting": lambda: cw.AdaBoost(n_estimators=12),
    "boosted Bayes": lambda: cw.AdaBoost(cw.NaiveBayes(), n_estimators=3),
    "vote": lambda: cw.Vote({"a": cw.NaiveBayes(2.0), "b": cw.ID3(), "c": cw.Logistic()}),
    "weighted": lambda: cw.Vote([cw.NaiveBayes(), cw.TAN()], "weighted", weights=[1, 2.5]),
    "gain": lambda: cw.Vote([cw.NaiveBayes()], "gain", gain=GAIN),
    "nested": lambda: cw.Vote(
        [cw.Bagging(cw.NaiveBayes(), n_estimators=2), cw.AdaBoost(n_estimators=3)]
    ),
    "logistic": lambda: cw.Logistic(class_weight="balanced"),
    "discriminant": lambda: cw.LinearDiscriminant(),
    "perceptron": lambda: cw.Perceptron(),
    "svm": lambda: cw.LinearSVM(),
    "network": lambda: cw.NeuralNet((6, 3), max_iter=4),
    "decided": lambda: cw.Decide(cw.Bagging(cw.NaiveBayes(), n_estimators=3), GAIN),
}


@pytest.fixture(scope="module")
def credit():
    return cw.read("sample:credit-g")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_to_the_last_bit(name, credit, tmp_path):
    model = MODELS[name]().fit(credit)
    path = tmp_path / "m.cw"
    save(model, path)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.predict_proba(credit), model.predict_proba(credit))
    np.testing.assert_array_equal(loaded.predict(credit), model.predict(credit))
    assert type(loaded) is type(model)
    assert name == "decided" or repr(loaded) == repr(model)
    assert describe(path)["summary"]["classes"] == ["bad", "good"]
    if hasattr(model, "explain") and name not in ("boosted Bayes", "network", "decided"):
        row = credit.take([0])
        np.testing.assert_array_equal(loaded.explain(row).parts, model.explain(row).parts)


@pytest.mark.parametrize("name", ["boosting", "vote", "logistic", "bagging"])
def test_a_model_trained_on_an_array_remembers_its_columns(name, tmp_path):
    iris = cw.read("sample:iris")
    X = np.column_stack([iris.values(c.name) for c in iris.schema.numeric])
    model = MODELS[name]().fit(X, iris.labels)
    save(model, tmp_path / "m.cw")
    assert (load(tmp_path / "m.cw").predict_proba(X) == model.predict_proba(X)).all()


def test_members_of_other_libraries_are_refused(credit, tmp_path):
    model = cw.Bagging(DecisionTreeClassifier(max_depth=2), n_estimators=2).fit(credit)
    with pytest.raises(StoreError, match="must be one of 'NaiveBayes'"):
        save(model, tmp_path / "m.cw")
    with pytest.raises(StoreError, match="must be fitted"):
        save(cw.Vote(), tmp_path / "m.cw")


@pytest.mark.parametrize("name", ["boosting", "vote", "logistic", "bagged trees", "network"])
def test_forged_documents_are_refused_or_work(name, credit, tmp_path):
    """Every value of every document replaced by an odd one: a sentence, or finite posteriors."""
    path, forged = tmp_path / "m.cw", tmp_path / "f.cw"
    small = credit.take(slice(0, 60)).select(["duration", "purpose", "age"])
    save(MODELS[name]().fit(small), path)
    tried = 0
    for member, change in _changes(path):
        _forge(path, forged, member, change)
        tried += 1
        try:
            shares = load(forged).predict_proba(small)
        except cw.CountwiseError:
            continue
        assert np.isfinite(shares).all()
    assert tried > 20


ODD = [None, -1, 2**40, "x", [], 1e308]


def _changes(path):
    """Every fitted field, and what stands in it, replaced by something odd."""
    import copy
    import json

    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    for inside, key in _places(document["fitted"], 3):
        whole = inside[key]
        for odd in ODD:
            inside[key] = odd
            yield "model.json", copy.deepcopy(document)
        if isinstance(whole, list) and whole:
            inside[key] = whole[1:]
            yield "model.json", copy.deepcopy(document)
        inside[key] = whole


def _places(plain, depth):
    """The places of a document, of a long list only the first two."""
    keys = list(plain) if isinstance(plain, dict) else range(min(2, len(plain)))
    for key in keys:
        yield plain, key
        if depth > 1 and isinstance(plain[key], dict | list):
            yield from _places(plain[key], depth - 1)


def _forge(path, forged, member, plain):
    """Write the file again with one document changed and its manifest put right."""
    import hashlib
    import json

    with zipfile.ZipFile(path) as old, zipfile.ZipFile(forged, "w") as new:
        data = json.dumps(plain).encode()
        manifest = json.loads(old.read("manifest.json"))
        manifest["members"][member] |= {
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for name in old.namelist():
            own = data if name == member else old.read(name)
            own = json.dumps(manifest).encode() if name == "manifest.json" else own
            new.writestr(name, own)
