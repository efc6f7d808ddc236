"""Every registered model is saved by its fields alone: ours, and one that somebody else adds."""

import subprocess
import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import countwise as cw
from countwise.errors import StoreError
from countwise.models import registry
from countwise.models.base import Classifier
from countwise.params import derived, fitted, number, parameter
from countwise.store.files import describe, load, save


@dataclass(frozen=True)
class Middle:
    """A value of the third party's own, which checks itself."""

    column: str
    means: NDArray[np.float64]

    def check(self) -> None:
        if not np.isfinite(self.means).all():
            raise ValueError("means must be finite")


class NearestMean(Classifier):
    """Classify by the nearest class mean of one column."""

    power: float = parameter(number(at_least=1), "exponent of the distance", default=2.0)
    middle_: Middle = fitted("the class means of the first numeric column")
    _logs: NDArray[np.float64] = derived()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NearestMean":
        table, *_ = self._training(X, y, sample_weight)
        present = self._take_classes(table)
        name = table.schema.numeric[0].name
        values = table.values(name)
        self.middle_ = Middle(name, np.array([values[table.target == p].mean() for p in present]))
        self.after_load()
        return self

    def after_load(self) -> None:
        self._check_classes()
        self._logs = np.zeros(len(self.classes_))

    def _scores(self, table: Any) -> NDArray[np.float64]:
        values = table.values(self.middle_.column)
        return self._logs - np.abs(values[:, None] - self.middle_.means) ** self.power


@pytest.fixture
def added():
    module = types.ModuleType("someone_elses_models")
    module.NearestMean = NearestMean  # type: ignore[attr-defined]
    sys.modules["someone_elses_models"] = module
    registry.add(registry.Entry("NearestMean", "someone_elses_models", "the nearest class mean"))
    yield
    registry.remove("NearestMean")
    del sys.modules["someone_elses_models"]


def test_a_model_of_somebody_else_is_saved_without_code_of_its_own(added, tmp_path):
    iris = cw.read("sample:iris")
    model = NearestMean(power=1.5).fit(iris)
    save(model, tmp_path / "m.cw")
    loaded = load(tmp_path / "m.cw")
    np.testing.assert_array_equal(loaded.predict_proba(iris), model.predict_proba(iris))
    assert (loaded.power, loaded.middle_.column) == (1.5, model.middle_.column)
    assert describe(tmp_path / "m.cw")["kind"] == "NearestMean"
    bagged = cw.Bagging(NearestMean(), n_estimators=3).fit(iris)
    save(cw.Decide.over(bagged), tmp_path / "b.cw")
    decided = load(tmp_path / "b.cw")
    np.testing.assert_array_equal(decided.predict_proba(iris), bagged.predict_proba(iris))


def test_a_model_that_is_not_registered_is_neither_saved_nor_loaded(added, tmp_path):
    model = NearestMean().fit(cw.read("sample:iris"))
    save(model, tmp_path / "m.cw")
    entry = registry.ENTRIES["NearestMean"]
    registry.remove("NearestMean")
    try:
        with pytest.raises(StoreError, match="which this countwise does not know"):
            load(tmp_path / "m.cw")
        with pytest.raises(StoreError, match=r"what can be saved are .* got a NearestMean"):
            save(model, tmp_path / "n.cw")
    finally:
        registry.add(entry)


CASES = [
    pytest.param(entry, settings, id=f"{entry.name}-{at}")
    for entry in registry.models()
    for at, settings in enumerate(entry.examples)
]


@pytest.mark.parametrize(("entry", "settings"), CASES)
def test_every_fitted_field_comes_back(entry, settings, tmp_path):
    table = cw.read("sample:weather_numeric")
    model = entry.build(settings)
    regressor = not isinstance(model, Classifier)
    if regressor:
        model.fit({"a": table.values("humidity")}, table.values("temperature"))
    else:
        model.fit(table)
    save(model, tmp_path / "m.cw")
    loaded = load(tmp_path / "m.cw")
    assert set(vars(loaded)) >= set(type(model).FITTED)
    assert set(vars(model)) - set(vars(loaded)) <= {"_seed"}
    rows = {"a": table.values("humidity")} if regressor else table
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    save(loaded, tmp_path / "again.cw")
    assert describe(tmp_path / "again.cw")["fitted"] == describe(tmp_path / "m.cw")["fitted"]


def test_what_an_ensemble_keeps_beside_its_members_comes_back(tmp_path):
    iris = cw.read("sample:iris")
    bagging = cw.Bagging(cw.NaiveBayes(), n_estimators=5, oob_score=True).fit(iris)
    boosting = cw.AdaBoost(n_estimators=4, keep_weights=True).fit(iris)
    vote = cw.Vote([cw.NaiveBayes(), cw.ID3()], how="weighted").fit(iris)
    network = cw.NeuralNet((4,), max_iter=3).fit(iris)
    for model in (bagging, boosting, vote, network):
        save(model, tmp_path / f"{type(model).__name__}.cw")
    found = load(tmp_path / "Bagging.cw").out_of_bag_
    assert found.to_dict() == bagging.out_of_bag_.to_dict()
    np.testing.assert_array_equal(found.votes, bagging.votes_)
    loaded = load(tmp_path / "AdaBoost.cw")
    assert loaded.rounds_ == boosting.rounds_
    np.testing.assert_array_equal(loaded.weights_, boosting.weights_)
    np.testing.assert_array_equal(load(tmp_path / "Vote.cw").weights_, vote.weights_)
    assert repr(load(tmp_path / "NeuralNet.cw").curve_) == repr(network.curve_)


def test_loading_a_model_imports_only_what_it_needs(tmp_path):
    save(cw.NaiveBayes().fit(cw.read("sample:weather")), tmp_path / "m.cw")
    program = (
        "import sys, countwise as cw; cw.load(sys.argv[1]); "
        "print(len([m for m in sys.modules if m.startswith('countwise')]))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "m.cw")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(found.stdout) < 60
