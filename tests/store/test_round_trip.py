"""What is saved comes back equal: predictions, parameters, labels, notes, behaviour."""

import json
import zipfile

import numpy as np
import pytest

import countwise as cw
from countwise.counts.plan import Plan
from countwise.discretize import rare_levels
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.store import codec
from countwise.store.files import describe, load, save


def again(thing, folder, **options):
    save(thing, folder / "model.cw", **options)
    return load(folder / "model.cw")


def same(left, right):
    """Equal values of equal types."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif isinstance(left, dict):
        assert [(type(key), key) for key in left] == [(type(key), key) for key in right]
        assert left == right
    else:
        assert left == right


def test_predictions_are_equal_to_the_last_bit(any_model, rows, tmp_path):
    loaded = again(any_model, tmp_path)
    assert type(loaded) is type(any_model)
    same(loaded.classes_, any_model.classes_)
    same(loaded.predict_proba(rows), any_model.predict_proba(rows))
    same(loaded.predict(rows), any_model.predict(rows))
    assert loaded.notes_ == any_model.notes_


def test_parameters_come_back_with_their_types(any_model, tmp_path):
    loaded = again(any_model, tmp_path)
    if isinstance(any_model, cw.Decide):
        assert repr(loaded.rule_) == repr(any_model.rule_)
        same(loaded.decisions_, any_model.decisions_)
        same(loaded.correction_, any_model.correction_)
        assert repr(loaded.prior) == repr(any_model.prior)
        assert hasattr(loaded.model, "counts_") == hasattr(any_model.model, "counts_")
        any_model, loaded = any_model.model_, loaded.model_
    for name, value in any_model.get_params(deep=False).items():
        same(getattr(loaded, name), value)


def test_what_training_left_comes_back(model, tmp_path):
    loaded = again(model, tmp_path)
    assert loaded.schema_ == model.schema_
    assert loaded.counts_ == model.counts_
    assert loaded.counts_.plan == model.counts_.plan
    assert loaded.n_features_in_ == model.n_features_in_
    same(loaded.feature_names_in_, model.feature_names_in_)
    assert loaded._named == model._named
    left, right = set(vars(model)), set(vars(loaded))
    assert left == right


def test_a_loaded_model_goes_on_learning_and_forgetting(model, rows, y, tmp_path):
    loaded = again(model, tmp_path)
    for one in (model, loaded):
        one.partial_fit(rows[:20], y[:20]).forget(rows[:5], y[:5])
    same(loaded.predict_proba(rows), model.predict_proba(rows))
    assert again(loaded, tmp_path).counts_ == model.counts_


def test_frames_must_have_the_same_columns_after_loading(model, rows, tmp_path):
    loaded = again(model, tmp_path)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(rows.rename(columns={"n": "m"}))


def test_arrays_stay_arrays(numbers, tmp_path):
    X, y = numbers
    model = cw.NaiveBayes(nominal=[2]).fit(X, y)
    loaded = again(model, tmp_path)
    same(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.n_features_in_ == 3
    assert not hasattr(loaded, "feature_names_in_")
    with pytest.raises(ValueError, match="3 features"):
        loaded.predict(X[:, :2])


def test_tables_are_matched_by_name(tmp_path):
    weather = cw.read("sample:weather")
    loaded = again(cw.NaiveBayes().fit(weather), tmp_path)
    assert not hasattr(loaded, "n_features_in_")
    turned = dict(reversed(weather.to_dict().items()))
    same(loaded.predict_proba(turned), cw.NaiveBayes().fit(weather).predict_proba(weather))


def test_a_tree_keeps_its_cuts_and_goes_on_learning(rows, y, tmp_path):
    model = TAN(cuts="width", bins=4).fit(rows, y)
    loaded = again(model, tmp_path)
    assert loaded.schema_ == model.schema_
    assert loaded.tree_ == model.tree_
    assert loaded.cut_points_.keys() == model.cut_points_.keys()
    for one in (model, loaded):
        one.partial_fit(rows[:20], y[:20]).forget(rows[:5], y[:5])
    same(loaded.predict_proba(rows), model.predict_proba(rows))
    assert "größe/cm " in describe(tmp_path / "model.cw")["fitted"]["recode_"]["cut_points"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: TAN("back-off", cuts="width"),
        lambda: AODE(cuts="width"),
        lambda: KDB(2, cuts="width"),
        lambda: KDB(1, selective=False, cuts="width"),
    ],
    ids=["TAN", "AODE", "KDB", "KDB of all"],
)
@pytest.mark.parametrize("cells", [1 << 26, 6300, 500])
def test_cuts_folds_and_families_come_back(make, cells, rows, y, tmp_path, monkeypatch):
    monkeypatch.setattr(rare_levels, "MOST_PAIR_CELLS", cells)
    model = make().fit(rows, y)
    assert bool(model.kept_levels_) == (cells < 1 << 26)
    assert any("fewer intervals" in str(note) for note in model.notes_) == (cells == 500)
    loaded = again(model, tmp_path)
    assert loaded.notes_ == model.notes_
    assert set(vars(loaded)) == set(vars(model))
    for name in ("schema_", "kept_levels_", "recode_", "_given", "families_", "tree_", "counts_"):
        assert getattr(loaded, name, None) == getattr(model, name, None)
    same(loaded.predict_proba(rows), model.predict_proba(rows))
    new = rows.assign(**{"": "a new level"})
    for one in (model, loaded):
        one.partial_fit(new[:9], y[:9], classes=["no", "perhaps", "yes", "later"])
        one.forget(rows[:5], y[:5])
    same(loaded.predict_proba(new), model.predict_proba(new))
    assert again(loaded, tmp_path).counts_ == model.counts_
    same((loaded + model).predict_proba(rows), (model + model).predict_proba(rows))


def test_levels_of_rows_that_are_forgotten_are_forgotten_after_loading_too(tmp_path):
    cells = {"a": [*"xyxyz"], "b": [*"ppqqp"]}
    for model in (
        cw.NaiveBayes(),
        TAN(cuts="width"),
        AODE(cuts="width"),
        KDB(1, selective=False, cuts="width"),
    ):
        model.fit(cells, [*"nnyyn"])
        loaded = again(model, tmp_path)
        for one in (model, loaded):
            one.forget({"a": ["z"], "b": ["p"]}, ["n"])
        assert loaded.schema_["a"].levels == model.schema_["a"].levels == ("x", "y")


def test_no_families_at_all_come_back(tmp_path):
    cells = {"a": [*"xyxyxyxy"]}
    model = KDB(1, cuts="width").fit(cells, [*"ppppqqqq"])
    assert model.families_ == ()
    same(again(model, tmp_path).predict_proba(cells), model.predict_proba(cells))


def test_a_chain_of_five_thousand_splits_comes_back(tmp_path):
    # Each number carries so much more weight than all above it that it is cut off alone.
    rows = {"x": np.arange(5001.0) / 7}
    weight = np.maximum(0.9 ** np.arange(5001.0), 1e-290)
    model = ID3(smoothing=0).fit(rows, np.arange(5001) % 2, weight)
    assert model.depth_ == 5000
    loaded = again(model, tmp_path)
    assert loaded.depth_ == 5000
    same(loaded.predict_proba(rows), model.predict_proba(rows))


def test_a_tree_says_what_it_is_without_being_loaded(rows, y, tmp_path):
    model = ID3(prune=0.2).fit(rows, y)
    loaded = again(model, tmp_path)
    assert loaded.pruning_ == model.pruning_
    assert loaded.rules() == model.rules()
    assert loaded.schema_ == model.schema_
    assert loaded.n_features_in_ == model.n_features_in_
    assert set(vars(loaded)) == set(vars(model))
    seen = describe(tmp_path / "model.cw")
    assert seen["kind"] == "ID3"
    assert seen["summary"]["depth"] == model.depth_
    assert seen["fitted"]["tree_"]["columns"] == list(model.tree_.columns)
    assert seen["summary"]["nodes"] == len(model.tree_)


def test_classes_still_to_come_are_kept(numbers, tmp_path):
    X, y = numbers
    model = cw.NaiveBayes().partial_fit(X, y, classes=[3, 5, 11, 20])
    loaded = again(model, tmp_path)
    assert loaded.classes_.tolist() == [3, 5, 11, 20]
    model.partial_fit(X, y), loaded.partial_fit(X, y)
    same(loaded.predict_proba(X), model.predict_proba(X))


def test_a_wheel_without_a_seed_and_numpy_scalars_come_back(rows, y, tmp_path):
    model = cw.Decide(cw.NaiveBayes(smoothing=np.float64(0.1)), "roulette").fit(rows, y)
    loaded = again(model, tmp_path)
    assert loaded.rule == "roulette"
    assert loaded.rule_ == cw.RouletteWheel(None)
    assert loaded.model.smoothing == 0.1


def test_a_gain_file_need_not_be_there_when_loading(rows, y, tmp_path):
    gains = cw.GainMatrix.identity(["no", "perhaps", "yes"])
    gains.write(tmp_path / "gains.csv")
    model = cw.Decide(cw.NaiveBayes(), tmp_path / "gains.csv").fit(rows, y)
    (tmp_path / "gains.csv").unlink()
    assert again(model, tmp_path).rule_ == cw.ExpectedGain(gains)


def test_counts_schema_and_gains_alone(model, pairs, tmp_path):
    for counts in (model.counts_, pairs):
        loaded = again(counts, tmp_path)
        assert loaded == counts
        assert loaded.schema == counts.schema
        for names, table in counts.tables.items():
            assert np.argsort(loaded.tables[names].strides).tolist() == (
                np.argsort(table.strides).tolist()
            )
    assert again(model.schema_, tmp_path) == model.schema_
    for gains in (
        cw.GainMatrix.of({1: {1: 3.5, 0: -1, "ask": 0}, 0: {1: -2, 0: 1, "ask": 0}}),
        cw.GainMatrix.of([[1, 0], [0, 1]]),
    ):
        loaded = again(gains, tmp_path)
        assert (loaded, loaded.notes, loaded.positional) == (gains, gains.notes, gains.positional)


def test_empty_counts_come_back(tmp_path):
    weather = cw.read("sample:weather_numeric")
    empty = cw.Counts.zero(weather.schema, Plan.each(weather.schema, "both"))
    assert again(empty, tmp_path) == empty


def test_schemas_with_every_property_come_back(tmp_path):
    schema = cw.Schema(
        (
            cw.Column("a\n中", "nominal", ("x", 1, 1.5, True, float("inf"), "")),
            cw.Column("b", "numeric", missing=("-",), when_missing="drop", decimal=","),
            cw.Column("c", "id", dates=True),
            cw.Column("d", "drop", levels=("1", "2")),
            cw.Column("is", "target", (0, 1)),
        )
    )
    loaded = again(schema, tmp_path)
    assert loaded == schema
    types = [type(level) for level in loaded["a\n中"].levels]
    assert types == [str, int, float, bool, float, str]


def test_many_tables_share_one_member(pairs, model, monkeypatch, rows, tmp_path):
    monkeypatch.setattr(codec, "MAX_SINGLE_ARRAYS", 1)
    _, arrays = codec.encode(pairs)
    assert list(arrays) == ["arrays/all_float64.npy"]
    assert again(pairs, tmp_path) == pairs
    same(again(model, tmp_path).predict_proba(rows), model.predict_proba(rows))


def test_two_thousand_columns(tmp_path):
    stream = np.random.default_rng(0)
    X, y = stream.normal(size=(20, 2000)), stream.integers(0, 2, 20)
    model = cw.NaiveBayes().fit(X, y)
    same(again(model, tmp_path).predict_proba(X), model.predict_proba(X))
    assert describe(tmp_path / "model.cw")["members"] < 20


def test_a_file_can_be_read_by_eye(model, tmp_path):
    save(model, tmp_path / "model.cw", notes={"who": "me", "tries": [1, 2]})
    with zipfile.ZipFile(tmp_path / "model.cw") as file:
        assert file.testzip() is None
        names = file.namelist()
        assert names[0] == "manifest.json"
        manifest = json.loads(file.read("manifest.json"))
        assert (manifest["format"], manifest["format_version"]) == ("countwise", 2)
        assert manifest["summary"]["classes"] == ["no", "perhaps", "yes"]
        assert set(manifest["members"]) == set(names) - {"manifest.json"}
        document = file.read("model.json").decode()
        assert "größe" in document
        assert '\n    "smoothing": 1.0,\n' in document
        for name in names:
            if name.endswith(".npy"):
                with file.open(name) as member:
                    array = np.load(member, allow_pickle=False)
                assert list(array.shape) == manifest["members"][name]["shape"]
                assert array.dtype.str == manifest["members"][name]["dtype"]


def test_files_beyond_four_gigabytes_have_another_end(model, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 50)
    monkeypatch.setattr("countwise.store.archive._add", _add_large)
    save(model, tmp_path / "model.cw")
    assert b"PK\x06\x07" in (tmp_path / "model.cw").read_bytes()[-42:-22]
    monkeypatch.undo()
    same(load(tmp_path / "model.cw").predict_proba(rows), model.predict_proba(rows))


def _add_large(archive, name, chunks, size=0):
    with archive.open(name, "w", force_zip64=True) as member:
        for chunk in chunks:
            member.write(chunk)


def test_describe_shows_what_a_file_holds(decided, tmp_path):
    save(decided, tmp_path / "model.cw", notes="mine")
    seen = describe(tmp_path / "model.cw")
    assert seen["kind"] == "Decide"
    assert seen["summary"]["over"] == "NaiveBayes"
    assert seen["summary"]["rows"] == 60
    assert sum(seen["summary"]["class_shares"]) == pytest.approx(1)
    assert seen["library_version"] == cw.__version__
    assert seen["notes"]["saved_with"] == "mine"
    assert seen["parameters"]["combine"] == "bayes"
    assert json.loads(json.dumps(seen)) == seen


def test_saving_twice_gives_the_same_bytes(model, tmp_path, monkeypatch):
    class Clock:
        @staticmethod
        def now(zone):
            from datetime import datetime

            return datetime(2024, 1, 1, tzinfo=zone)

    monkeypatch.setattr("countwise.store.archive.datetime", Clock)
    save(model, tmp_path / "a.cw")
    save(load(tmp_path / "a.cw"), tmp_path / "b.cw")
    assert (tmp_path / "a.cw").read_bytes() == (tmp_path / "b.cw").read_bytes()
