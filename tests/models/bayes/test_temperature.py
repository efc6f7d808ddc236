"""One temperature from rows scored without themselves: for honest probabilities, same decisions."""

import numpy as np
import pytest
from sklearn.base import clone

import countwise as cw
from countwise.counts.count_rows import count
from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes.leave_one_out import LeftOut, find_temperature
from countwise.numeric import FARTHEST_BEHIND
from countwise.reports.describe import model_file_facts

MODELS = {
    "naive Bayes": cw.NaiveBayes(),
    "missing": cw.NaiveBayes(when_missing="value", smoothing=0.5),
    "gaussian": cw.NaiveBayes(numeric="gaussian", min_deviation=0),
    "TAN": cw.TAN(),
    "TAN, Laplace": cw.TAN(1.0),
    "AODE": cw.AODE(),
    "AODE, shares in all rows": cw.AODE("m-estimate:2:overall", frequency_limit=20),
    "AODE, next to nothing added": cw.AODE(1e-100),
    "KDB": cw.KDB(2, selective=False),
    "KDB, shares in all rows": cw.KDB(2, selective=False, smoothing="m-estimate:2:overall"),
}
every_model = pytest.mark.parametrize("model", list(MODELS.values()), ids=list(MODELS))


@every_model
def test_scores_without_a_row_are_those_of_its_model_fitted_without_it(model):
    """The cuts and the structure are held: all rows are cut alike, and parents are those of all."""
    table = cw.read("sample:hepatitis").take(slice(0, 60))
    whole = clone(model).set_params(calibrate=None).fit(table)
    seen = whole._view(table)
    counts = whole._view_counts(whole.counts_)
    scores = whole._scores_without(LeftOut(seen, counts, np.ones(len(table)))).T
    families = [term.columns for term in whole._model.terms]
    for row in range(0, len(table), 7):
        single = seen.take([row])
        less = counts - count(single, counts.plan)
        if isinstance(model, cw.TAN):  # its terms would choose the tree anew
            whole._model = whole._score_families(less, families)
        else:
            whole._model = whole.terms(less)
        expected = whole._raw_scores(table.take([row]))[0]
        found = scores[row] - scores[row, 0]
        np.testing.assert_allclose(found, expected - expected[0], atol=1e-9)


@pytest.mark.parametrize("model", [cw.TAN(5e-324), cw.AODE(5e-324), cw.KDB(smoothing=5e-324)])
def test_the_least_number_added_to_nothing_counted_gives_finite_scores(model):
    rows = {
        "x": ["a", *[None] * 23],
        "z": ["a", *[None] * 15, "b", *[None] * 7],
        "t": ["a", "a", "b", "b"] * 6,
        "y": ["yes", *["no"] * 23],
    }
    fitted = model.fit(cw.read(rows, target="y", identifiers="keep"))
    assert np.isfinite(fitted.predict_proba(rows)).all()


@every_model
@pytest.mark.parametrize("name", ["votes", "glass", "hepatitis"])
def test_decisions_stay(model, name):
    table = cw.read(f"sample:{name}")
    plain = clone(model).set_params(calibrate=None).fit(table)
    calm = clone(model).fit(table)
    assert plain.temperature_ == 1.0
    np.testing.assert_array_equal(calm.predict(table), plain.predict(table))
    places = calm.predict_proba(table).argmax(axis=1)
    np.testing.assert_array_equal(places, plain.predict_proba(table).argmax(axis=1))
    logs = plain.predict_log_proba(table) / calm.temperature_
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    known = [not all(table.missing(n)[row] for n in table.names[:-1]) for row in range(len(table))]
    np.testing.assert_allclose(calm.predict_log_proba(table)[known], logs[known], atol=1e-9)


def test_the_best_temperature_by_hand():
    """Log-odds of 4 and 80 % right: the loss is least at odds of 4 to 1, so T = 4 / ln 4."""
    scores = np.array([[4.0, 0.0]] * 500)
    truth = np.array([0] * 400 + [1] * 100)
    found = find_temperature(scores, truth, np.ones(500))
    assert found == pytest.approx(4 / np.log(4), rel=1e-6)
    # Weights repeat rows, and what gains too little is not kept.
    half = find_temperature(scores[::100], truth[::100], np.full(5, 100.0))
    assert half == pytest.approx(found, rel=1e-9)
    assert find_temperature(scores[::100], truth[::100], np.full(5, 0.01)) == 1.0


def test_one_hopeless_row_does_not_decide():
    scores = np.array([[4.0, 0.0]] * 500)
    truth = np.array([0] * 400 + [1] * 100)
    hopeless = scores.copy()
    hopeless[-1] = [1e6, 0.0]
    capped = scores.copy()
    capped[-1] = [FARTHEST_BEHIND, 0.0]
    found = find_temperature(hopeless, truth, np.ones(500))
    assert found == pytest.approx(find_temperature(capped, truth, np.ones(500)), rel=1e-9)
    assert found < 1.2 * find_temperature(scores, truth, np.ones(500))


def test_what_is_made_from_counts_alone_is_not_calibrated_and_says_so(tmp_path):
    votes = cw.read("sample:votes")
    model = cw.NaiveBayes().fit(votes)
    assert model.temperature_ > 1.5
    assert "P05" not in [note.code for note in model.notes_]
    both = model + cw.NaiveBayes().fit(votes)
    first = cw.NaiveBayes().partial_fit(votes)
    counted = cw.NaiveBayes().fit_counts(model.counts_)
    for other in (both, first, counted, cw.NaiveBayes().fit(votes).forget(votes.take([0]))):
        assert other.temperature_ == 1.0
        assert "P05" in [note.code for note in other.notes_]
    assert "P05" not in [n.code for n in cw.NaiveBayes(calibrate=None).partial_fit(votes).notes_]
    cw.save(model, tmp_path / "m.cw")
    again = cw.load(tmp_path / "m.cw")
    assert again.temperature_ == model.temperature_
    assert again.notes_ == model.notes_
    np.testing.assert_array_equal(again.predict_proba(votes), model.predict_proba(votes))
    about = " ".join(model_file_facts(str(tmp_path / "m.cw"))["about"])
    assert f"divided by the temperature {model.temperature_:.3g}." in about


@pytest.mark.parametrize("model", [cw.NaiveBayes(), cw.TAN(), cw.AODE()])
def test_the_evaluated_model_is_the_one_that_fit_gives(model):
    table = cw.read("sample:credit-g")
    trials = evaluate({"m": model}, table, folds=4)
    for fold, predicted in zip(trials.folds, trials.entries["m"].predictions, strict=True):
        train = np.setdiff1d(np.arange(len(table)), fold.rows)
        again = clone(model).fit(table.take(train))
        assert again.temperature_ != 1.0
        np.testing.assert_allclose(
            predicted.posteriors, again.predict_proba(table.take(fold.rows)), atol=1e-9
        )


@every_model
def test_explanations_add_up_at_any_temperature(model):
    table = cw.read("sample:glass")
    fitted = clone(model).fit(table)
    why = fitted.explain(table)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-9)
    np.testing.assert_allclose(why.posteriors, fitted.predict_proba(table), atol=1e-12)
    assert ("calibration" in why.attributes) == (fitted.temperature_ != 1.0)


def test_no_evidence_leaves_the_prior():
    votes = cw.read("sample:votes")
    model = cw.NaiveBayes().fit(votes)
    blank = {column.name: [None] for column in votes.schema.attributes}
    np.testing.assert_allclose(model.predict_proba(blank)[0], model.class_prior_, atol=1e-12)
    why = model.explain(blank)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-12)
