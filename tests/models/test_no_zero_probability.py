"""With default parameters no class is impossible, and no model is worse than the class shares."""

import warnings
from importlib import resources

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

import countwise as cw
from countwise.models import registry
from countwise.tables import datasets

#: A neural network is not calibrated, and takes longest: it is not promised to keep to this.
FAMILIES = ("additive", "bayes", "discrete_bayes", "ensembles", "linear", "neighbors", "tree")
MODELS = [
    entry.name
    for entry in registry.models()
    if entry.predicts == "class"
    and entry.module.split(".")[2] in FAMILIES
    and entry.name != "NeuralNet"
]
#: Bundled tables of at least 100 rows. What help-desk tells is in its text: its two other columns
#: are nearly noise.
TABLES = [
    sample.name
    for sample in datasets.all_samples()
    if (resources.files(datasets) / f"{sample.name}.csv").is_file() and sample.rows >= 100
]
#: These take longest, so they get fewer folds.
FOLDS = {"Additive": 3, "AdaBoost": 3, "Bagging": 3, "LinearDiscriminant": 3}


def losses(name, table):
    """Return the mean log loss of a model and of the class shares, and the least probability."""
    cut = StratifiedKFold(FOLDS.get(name, 10), shuffle=True, random_state=0)
    model_loss, share_loss, least = [], [], 1.0
    for train, test in cut.split(np.zeros(len(table)), table.target):
        rows, others = table.take(train), table.take(test)
        model = registry.ENTRIES[name].build()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(rows)
        found = model.predict_proba(others)
        least = min(least, found.min())
        known, count = np.unique(rows.labels.astype(str), return_counts=True)
        shares = dict(zip(known, count / count.sum(), strict=True))
        place = {str(label): at for at, label in enumerate(model.classes_.tolist())}
        for row, label in enumerate(others.labels.astype(str)):
            if label in place:  # a class of one row is unknown where that row is tested
                model_loss.append(-np.log(found[row, place[label]]))
                share_loss.append(-np.log(shares[label]))
    return np.mean(model_loss), np.mean(share_loss), least


def test_the_families_and_tables_are_found():
    assert {"Neighbors", "CondensedNeighbors", "DiscreteBayes", "ID3", "AdaBoost"} <= set(MODELS)
    assert {"Tree", "Forest", "Bagging", "Vote", "Additive", "TAN"} <= set(MODELS)
    assert len(TABLES) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_no_class_is_impossible_and_the_class_shares_are_not_better(name):
    above = []
    for data in TABLES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # small classes in folds, members that agree
            loss, shares, least = losses(name, cw.read(f"sample:{data}"))
        assert least > 0, data
        if loss > shares:
            above.append((data, loss, shares))
    assert not above


def test_auto_takes_the_least_leave_one_out_loss():
    """The chosen k and weights lose least among those tried, each row by a model of the others."""
    table = cw.read("sample:iris").take(np.arange(0, 150, 5))
    chosen = cw.Neighbors("auto", metric="euclidean").fit(table)

    def loss(k, weights):
        total = 0.0
        for row in range(len(table)):
            rest = np.delete(np.arange(len(table)), row)
            model = cw.Neighbors(k, weights=weights).fit(table.take(rest))
            place = model.classes_.tolist().index(table.labels[row])
            total -= np.log(model.predict_proba(table.take([row]))[0, place])
        return total / len(table)

    found = {(k, w): loss(k, w) for k in (1, 3, 5, 10, 20) for w in ("uniform", "distance", "rank")}
    assert loss(*chosen.k_and_weights) <= min(found.values()) + 1e-9


def test_auto_follows_neither_the_order_nor_the_way_rows_are_repeated():
    table = cw.read("sample:glass")
    weight = np.where(np.arange(len(table)) % 3 == 0, 2.0, 1.0)
    whole = cw.Neighbors("auto").fit(table, sample_weight=weight)
    rows = np.random.default_rng(0).permutation(
        np.repeat(np.arange(len(table)), weight.astype(int))
    )
    again = cw.Neighbors("auto").fit(table.take(rows))
    assert again.k_and_weights == whole.k_and_weights
    np.testing.assert_allclose(again.predict_proba(table), whole.predict_proba(table), atol=1e-9)


def test_imagined_votes_by_hand():
    rows = {"x": [0.0, 1.0, 2.0, 9.0]}
    model = cw.Neighbors(2, scale=None).fit(rows, ["a", "a", "b", "b"])
    # Two votes for a, one imagined vote spread by halves.
    np.testing.assert_allclose(model.predict_proba({"x": [0.2]}), [[2.5 / 3, 0.5 / 3]])


def test_imagined_votes_never_outvote_the_nearest_stored_row():
    table = cw.read("sample:hepatitis")
    plain = cw.CondensedNeighbors(smoothing=0).fit(table)
    assert plain.predict_proba(table).max(axis=1).min() == 0.5  # rows of both classes are nearest
    for smoothing in ("auto", 0.1, 1, 50):
        model = cw.CondensedNeighbors(smoothing=smoothing).fit(table)
        np.testing.assert_array_equal(model.predict(table), plain.predict(table))
        assert model.predict_proba(table).min() > 0


def test_a_temperature_changes_no_decision():
    table = cw.read("sample:glass")
    model, plain = (cw.AdaBoost(calibrate=how).fit(table) for how in ("auto", None))
    assert model.temperature_ > 1 == plain.temperature_
    np.testing.assert_array_equal(model.predict(table), plain.predict(table))
    why = model.explain(table)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-9)


def test_imagined_rows_in_a_cell_by_hand():
    weather = cw.read("sample:weather").select(["outlook", "windy"])
    model = cw.DiscreteBayes(bin_smoothing=None).fit(weather)
    # The cell sunny, FALSE holds two rows of no and one of yes; 5 of 14 rows are no.
    expected = [(2 + 5 / 14) / 4, (1 + 9 / 14) / 4]
    np.testing.assert_allclose(model.predict_proba(weather.take([0]))[0], expected)
