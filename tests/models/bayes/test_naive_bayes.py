"""Naive Bayes on mixed, missing, unseen and degenerate data, and inside scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import countwise as cw
from countwise.errors import CountsError, ParameterError, PrecisionWarning, SchemaError, TableError


@pytest.fixture(scope="module")
def credit():
    return cw.read("sample:credit-g")


@pytest.fixture(scope="module")
def frame(credit):
    plain = {c.name: credit.decode(c.name) for c in credit.schema.attributes}
    return pd.DataFrame(plain), credit.labels


def test_a_raw_frame_a_table_and_polars_give_the_same(credit, frame):
    X, y = frame
    # Levels the sample declares but never shows are unknown to a frame.
    credit = cw.read({**{name: X[name].tolist() for name in X}, "class": y}, target="class")
    from_table = cw.NaiveBayes().fit(credit).predict_proba(credit)
    from_pandas = cw.NaiveBayes().fit(X, y).predict_proba(X)
    polars = pl.DataFrame(X.to_dict("list"))
    from_polars = cw.NaiveBayes().fit(polars, pl.Series(y)).predict_proba(polars)
    np.testing.assert_allclose(from_pandas, from_table, atol=1e-12)
    np.testing.assert_allclose(from_polars, from_table, atol=1e-12)


def test_kernel_estimates_equal_the_plain_sum():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, 300), rng.normal(6, 0.1, 200), [40.0]])[:, None]
    y = np.array(["a"] * 300 + ["b"] * 201)
    model = cw.NaiveBayes(numeric="kernel", bandwidth=0.3).fit(X, y)
    at = np.concatenate([np.linspace(-12, 50, 4001), [1e6]])[:, None]
    ours = model.predict_joint_log_proba(at)
    for place, label in enumerate(model.classes_):
        points = X[y == label, 0]
        logs = -0.5 * ((at - points) / 0.3) ** 2
        top = logs.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))
        plain = total - np.log(len(points) * 0.3 * np.sqrt(2 * np.pi))
        plain += np.log(np.mean(y == label))
        np.testing.assert_allclose(ours[:, place], plain, rtol=1e-8, atol=1e-8)


def test_kernel_bandwidths():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 1)), np.array([0, 1] * 25)
    answers = [
        cw.NaiveBayes(numeric="kernel", bandwidth=rule).fit(X, y).predict_proba(X)
        for rule in ("silverman", "scott", 0.5)
    ]
    assert not np.allclose(answers[0], answers[1])
    assert not np.allclose(answers[0], answers[2])


def test_numeric_by_column(credit):
    both = cw.NaiveBayes(numeric={"age": "kernel"}).fit(credit)
    kinds = {term.columns[0]: type(term).__name__ for term in both._model.terms}
    assert kinds["age"] == "KernelTerm"
    assert kinds["duration"] == "TableTerm"  # those not named are cut
    with pytest.raises(ParameterError, match=r"numeric\['age'\] must be"):
        cw.NaiveBayes(numeric={"age": "kernl"}).fit(credit)


def test_priors(credit):
    bad = credit.classes.index("bad")
    uniform = cw.NaiveBayes(prior="uniform").fit(credit)
    given = cw.NaiveBayes(prior={"bad": 0.5, "good": 0.5}).fit(credit)
    array = cw.NaiveBayes(prior=[0.5, 0.5]).fit(credit)
    plain = cw.NaiveBayes().fit(credit)
    np.testing.assert_array_equal(uniform.predict_proba(credit), given.predict_proba(credit))
    np.testing.assert_array_equal(uniform.predict_proba(credit), array.predict_proba(credit))
    assert np.all(uniform.predict_proba(credit)[:, bad] >= plain.predict_proba(credit)[:, bad])
    for prior, words in (
        ({"bad": 1.0}, "got none for 'good'"),
        ([0.5, 0.6], "sum to 1"),
        ([1.0], "Give 2 shares"),
        ([-0.5, 1.5], "at least 0"),
        ("flat", "one of 'empirical'"),
    ):
        with pytest.raises(ParameterError, match=words):
            cw.NaiveBayes(prior=prior).fit(credit)


def test_missing_as_evidence():
    data = {"a": [None, None, None, "x", "x", "x"], "n": [None, None, 1.0, 1.5, 2.0, 2.5]}
    table = cw.read({**data, "y": list("pppqqq")}, target="y")
    omit = cw.NaiveBayes().fit(table).predict_proba({"a": [None], "n": [None]})
    value = cw.NaiveBayes(when_missing="value").fit(table).predict_proba({"a": [None], "n": [None]})
    assert omit[0].tolist() == [0.5, 0.5]
    # (3+1)/(3+2) against (0+1)/(3+2), and (2+1)/5 against 1/5.
    assert value[0, 0] == pytest.approx(12 / 13)


def test_unseen_levels_are_reported_and_treated_as_asked():
    table = cw.read({"a": ["x", "x", "y", "y", "y"], "y": list("ppqqq")}, target="y")
    row = {"a": ["new", "x"]}
    ignore = cw.NaiveBayes().fit(table)
    with pytest.warns(cw.UnseenLevelWarning, match=r"1 cells hold levels.*'a': 'new'.*left out"):
        shares = ignore.predict_proba(row)
    assert shares[0].tolist() == pytest.approx([0.4, 0.6])
    with pytest.warns(cw.UnseenLevelWarning, match="smoothed"):
        smooth = cw.NaiveBayes(unseen="smooth").fit(table).predict_proba(row)
    weights = np.array([0.4 * 1 / (2 + 3), 0.6 * 1 / (3 + 3)])
    assert smooth[0].tolist() == pytest.approx((weights / weights.sum()).tolist())
    with pytest.raises(SchemaError, match="every level must be known"):
        cw.NaiveBayes(unseen="error").fit(table).predict(row)


def test_degenerate_data_stay_finite():
    cases = {
        "one row": ({"a": ["x"], "n": [1.0]}, ["p"]),
        "one class": ({"a": ["x", "y"], "n": [1.0, 2.0]}, ["p", "p"]),
        "no variance": ({"a": ["x", "x"], "n": [3.0, 3.0]}, ["p", "q"]),
        "one row a class": ({"a": ["x", "y"], "n": [3.0, 4.0]}, ["p", "q"]),
        "all missing": ({"a": [None, None], "n": [None, None]}, ["p", "q"]),
        "huge": ({"a": ["x", "y"], "n": [1e140, -1e140]}, ["p", "q"]),
    }
    for name, (data, labels) in cases.items():
        table = cw.read({**data, "class": labels}, target="class", numeric=["n"], nominal=["a"])
        for numeric in ("gaussian", "kernel"):
            for smoothing in (0, 1.0):
                model = cw.NaiveBayes(numeric=numeric, smoothing=smoothing).fit(table)
                shares = model.predict_proba(table)
                assert np.isfinite(shares).all(), (name, numeric)
                np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_no_class_allows_the_row():
    """Unsmoothed, each class has one impossible value: the rest of the evidence decides."""
    data = {"a": list("xxxxyyy"), "b": list("uuuwvvv"), "y": list("pppqqqq")}
    model = cw.NaiveBayes(smoothing=0).fit(cw.read(data, target="y"))
    shares = model.predict_proba({"a": ["x", "y"], "b": ["v", "u"]})
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares[1, 0] > 0
    assert np.all(model.predict({"a": ["y"], "b": ["u"]}) == model.classes_[shares[1].argmax()])


def test_explain_adds_up_to_the_prediction(credit):
    others = ({"numeric": "kernel"}, {"combine": "posteriors"}, {"when_missing": "value"})
    for options in ({}, *others):
        model = cw.NaiveBayes(**options).fit(credit)
        why = model.explain(credit)
        total = why.base + why.parts.sum(axis=1)
        np.testing.assert_allclose(
            total, model.predict_joint_log_proba(credit), rtol=1e-13, atol=1e-11
        )
        np.testing.assert_allclose(why.posteriors, model.predict_proba(credit), atol=1e-12)
    base, parts = why.log_odds("bad", "good")
    np.testing.assert_allclose(
        base + parts.sum(axis=1), why.joint[:, 0] - why.joint[:, 1], atol=1e-10
    )
    plain = why.to_dict(3)
    assert plain["log_odds"] == pytest.approx(abs(why.joint[3, 0] - why.joint[3, 1]))
    assert len(plain["parts"]) == 21  # the last one is the temperature
    assert "calibration" in [part["attribute"] for part in plain["parts"]]
    assert "further attributes" in why.describe(3)
    with pytest.raises(ParameterError, match="Did you mean 'good'"):
        why.log_odds("goood", "bad")


def test_partial_fit_meets_new_levels_and_classes():
    first = cw.read({"a": ["x", "y"], "n": [1.0, 2.0], "y": ["p", "q"]}, target="y")
    second = cw.read({"a": ["z", "x"], "n": [3.0, 4.5], "y": ["r", "p"]}, target="y")
    both = cw.read(
        {"a": ["x", "y", "z", "x"], "n": [1.0, 2.0, 3.0, 4.5], "y": ["p", "q", "r", "p"]},
        target="y",
    )
    stepwise = cw.NaiveBayes().partial_fit(first).partial_fit(second)
    whole = cw.NaiveBayes().fit(both)
    assert stepwise.classes_.tolist() == ["p", "q", "r"]
    np.testing.assert_allclose(stepwise.predict_proba(both), whole.predict_proba(both), atol=1e-12)
    named = cw.NaiveBayes().partial_fit(first, classes=["p", "q", "r", "s"])
    assert named.classes_.tolist() == ["p", "q", "r", "s"]
    assert named.predict_proba(first).shape == (2, 4)
    with pytest.raises(ParameterError, match="got 'q' too"):
        cw.NaiveBayes().partial_fit(first, classes=["p"])


def test_merge_forget_and_counts_refuse_what_makes_no_sense(credit):
    model = cw.NaiveBayes().fit(credit)
    with pytest.raises(CountsError, match="at least one row must stay"):
        cw.NaiveBayes().fit(credit).forget(credit)
    with pytest.raises(CountsError, match="below zero"):
        cw.NaiveBayes().fit(credit.take(slice(0, 10))).forget(credit.take(slice(10, 20)))
    with pytest.raises(CountsError, match="both sides must know column"):
        cw.NaiveBayes().fit(credit).merge(cw.NaiveBayes().fit(cw.read("sample:weather")))
    with pytest.raises(CountsError, match="were not counted"):
        cw.NaiveBayes(numeric="gaussian").fit_counts(model.counts_)
    with pytest.raises(CountsError, match="must be counted; got none"):
        cw.NaiveBayes().fit_counts(cw.Counts.zero(credit.schema, cw.Plan.each(credit.schema)))
    model = cw.NaiveBayes(calibrate=None).fit(credit)
    half = cw.NaiveBayes().fit(credit.take(slice(0, 500))) + cw.NaiveBayes().fit(
        credit.take(slice(500, None))
    )
    np.testing.assert_allclose(half.predict_proba(credit), model.predict_proba(credit), atol=1e-10)
    larger = cw.count(
        credit, cw.Plan.each(credit.schema, numeric="both") | cw.Plan.pairs(credit.schema)
    )
    np.testing.assert_array_equal(
        cw.NaiveBayes().fit_counts(larger).predict_proba(credit), model.predict_proba(credit)
    )


def test_wrong_calls_get_one_sentence(credit, frame):
    X, y = frame
    for call, words in (
        (
            lambda: cw.NaiveBayes(smoothing=-1).fit(credit),
            "smoothing must be a number of at least 0",
        ),
        (lambda: cw.NaiveBayes(unseen="ignor").fit(credit), "Did you mean 'ignore'?"),
        (lambda: cw.NaiveBayes().fit(credit, y), "a Table brings its classes along"),
        (lambda: cw.NaiveBayes().fit(X), "requires y"),
        (
            lambda: cw.NaiveBayes().fit(credit.select(["age"]).take([0]), sample_weight=[0.0]),
            "all be zero",
        ),
        (
            lambda: cw.NaiveBayes().fit(credit, sample_weight=[1.0]),
            "one number for each of the 1000",
        ),
        (lambda: cw.NaiveBayes().fit(credit, sample_weight=-np.ones(1000)), "at least 0"),
        (lambda: cw.NaiveBayes().fit(credit).predict({"ages": [3]}), "Did you mean 'ages'?"),
    ):
        with pytest.raises((ParameterError, TableError)) as caught:
            call()
        assert words in str(caught.value)


def test_inside_scikit_learn(frame):
    X, y = frame
    scores = cross_val_score(cw.NaiveBayes(), X, y, cv=5)
    assert scores.mean() > 0.7
    search = GridSearchCV(
        cw.NaiveBayes(), {"smoothing": [0.1, 1.0], "numeric": ["gaussian", "kernel"]}, cv=3
    )
    search.fit(X, y)
    assert set(search.best_params_) == {"smoothing", "numeric"}
    numbers = X[["age", "duration"]]
    pipeline = make_pipeline(StandardScaler(), cw.NaiveBayes()).fit(numbers, y)
    assert pipeline.predict(numbers).shape == y.shape
    calibrated = CalibratedClassifierCV(cw.NaiveBayes(), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    model = cw.NaiveBayes(smoothing=cw.MEstimate(2, "overall"), prior={"bad": 0.5, "good": 0.5})
    assert clone(model).get_params() == model.get_params()
    assert cw.NaiveBayes().fit(X, y).score(X, y) == pytest.approx(
        np.mean(cw.NaiveBayes().fit(X, y).predict(X) == y)
    )


def test_decide_over_naive_bayes(credit):
    gain = cw.GainMatrix.of({"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}})
    plain = cw.Decide(cw.NaiveBayes()).fit(credit)
    careful = cw.Decide(cw.NaiveBayes(), cw.ExpectedGain(gain)).fit(credit)
    assert careful.expected_gain(credit) > plain.expected_gain(credit, gain=gain)
    assert np.mean(careful.predict(credit) == "bad") > np.mean(plain.predict(credit) == "bad")


def test_threads_do_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(0)
    rows = (1 << 21) + 7
    X = np.column_stack([rng.integers(0, 9, rows), rng.normal(1e6, 1, rows)])
    y = rng.integers(0, 2, rows)
    weight = rng.random(rows)
    answers = []
    for threads in ("1", "3"):
        monkeypatch.setenv("COUNTWISE_THREADS", threads)
        table = cw.read(X, target=y, nominal=[0])
        model = cw.NaiveBayes().fit(table, sample_weight=weight)
        answers.append((model.counts_, model.predict_proba(table.take(slice(0, 200_000)))))
    assert answers[0][0] == answers[1][0]
    np.testing.assert_array_equal(answers[0][1], answers[1][1])


def test_no_warning_on_plain_data(credit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cw.NaiveBayes(numeric="kernel").fit(credit).predict(credit)


def test_every_row_gets_an_answer():
    table = cw.read({"x": [1.0, 2, None, 4], "y": list("abab")}, target="y", when_missing="drop")
    assert len(table) == 3
    model = cw.NaiveBayes().fit(table)
    assert model.predict(pd.DataFrame({"x": [1.0, None, 3.0]})).shape == (3,)
    assert model.predict_proba({"x": [None, None]}).tolist() == [model.class_prior_.tolist()] * 2


def test_weights_that_are_shares_scale_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)) * 1000
    y = (X[:, 0] > 0) * 1
    for options in ({"numeric": "gaussian"}, {"numeric": "kernel"}):
        whole = cw.NaiveBayes(**options).fit(X, y, np.ones(200)).predict_proba(X)
        for size in (1 / 200, 1 / 199, 1 / 5000):
            part = cw.NaiveBayes(**options).fit(X, y, np.full(200, size)).predict_proba(X)
            np.testing.assert_allclose(part, whole, atol=0.12)
    assert cw.NaiveBayes().fit(X, y, sample_weight=2.0).counts_.total == 400


def test_a_constant_column_is_evidence_when_posteriors_are_multiplied():
    rows = {"k": ["c"] * 4, "b": ["u", "u", "v", "u"]}
    model = cw.NaiveBayes(combine="posteriors").fit(rows, ["p", "p", "p", "q"])
    both = np.array([0.75, 0.25]) * np.array([0.75 * 3 / 5, 0.25 * 2 / 3])
    shares = model.predict_proba({"k": ["c"], "b": ["u"]})[0]
    np.testing.assert_allclose(shares, both / both.sum(), atol=1e-12)


@pytest.mark.parametrize("smoothing", [0, 1.0])
@pytest.mark.parametrize("kind", ["nominal", "numeric", "kernel"])
def test_missing_cells_leave_multiplied_posteriors_as_they_are(kind, smoothing):
    """P(A | x) is that of the rows that have x, whatever rows lack it."""
    values = ["v", "v", "v", "v"] if kind == "nominal" else [1.0, 3.0, 1.0, 3.0]
    labels = [*"AABB"]
    estimate = "kernel" if kind == "kernel" else "gaussian"
    for lacking in ("", "AAAA", "AB", "BBBBBBB"):
        rows = {"x": values + [None] * len(lacking), "y": ["u"] * (4 + len(lacking))}
        model = cw.NaiveBayes(smoothing, numeric=estimate, combine="posteriors")
        model.fit(cw.read({**rows, "class": [*labels, *lacking]}, target="class"))
        row = {"x": values[:1], "y": [None]}
        assert model.predict_proba(row)[0] == pytest.approx([0.5, 0.5], abs=1e-12)


def test_a_class_without_a_value_is_ruled_out_only_without_smoothing():
    table = cw.read({"x": ["v", "v", None], "class": [*"ABC"]}, target="class")
    plain = cw.NaiveBayes(0, combine="posteriors").fit(table).predict_proba({"x": ["v"]})[0]
    assert plain.tolist() == pytest.approx([0.5, 0.5, 0.0])
    smooth = cw.NaiveBayes(1, combine="posteriors").fit(table).predict_proba({"x": ["v"]})[0]
    assert smooth.min() > 0


def test_the_least_deviation_of_normal_densities():
    x = np.array([1.0, 1.0, 1.0, 2.0, 4.0, 7.0])
    y = np.array([*"aaabbb"])
    query = np.array([[2.0]])

    def log_odds(least):
        model = cw.NaiveBayes(numeric="gaussian", min_deviation=least).fit(x[:, None], y)
        return float(np.diff(model.predict_joint_log_proba(query)[0])[0])

    def by_hand(least):
        means, deviations = (1.0, 13 / 3), (least, max(np.std(x[3:], ddof=1), least))
        logs = [
            -np.log(s) - (2.0 - m) ** 2 / (2 * s * s)
            for m, s in zip(means, deviations, strict=True)
        ]
        return logs[1] - logs[0]

    assert log_odds(0.5) == pytest.approx(by_hand(0.5))
    assert log_odds("precision") == pytest.approx(by_hand((7.0 - 1.0) / 3))  # 1, 2, 4, 7
    assert log_odds("weka") == pytest.approx(by_hand((7.0 - 1.0) / 3 / 6))
    assert log_odds(0) > 1e6  # class a has no spread of its own
    one_value = cw.NaiveBayes(numeric="gaussian").fit([[3.0], [3.0]], [*"ab"])
    assert np.isfinite(one_value.predict_proba([[3.0]])).all()
    for wrong in (-1, "width"):
        with pytest.raises(ParameterError, match="min_deviation"):
            cw.NaiveBayes(min_deviation=wrong).fit(x[:, None], y)


def test_forgetting_levels_outliers_and_strangers():
    model = cw.NaiveBayes().fit({"a": ["u", "u", "v"]}, ["p", "p", "q"])
    model.partial_fit({"a": ["w"]}, ["p"]).forget({"a": ["w"]}, ["p"])
    assert model.schema_["a"].levels == ("u", "v")
    whole = cw.NaiveBayes().fit({"a": ["u", "v", "w"]}, ["p", "q", "r"]).forget({"a": ["w"]}, ["r"])
    plain = cw.NaiveBayes().fit({"a": ["u", "v"]}, ["p", "q"])
    np.testing.assert_array_equal(
        whole.predict_proba({"a": ["u"]}), plain.predict_proba({"a": ["u"]})
    )
    rng = np.random.default_rng(1)
    x = rng.normal(size=100)
    x[:5] = 1e12
    table = cw.read({"x": x, "y": ["a", "b"] * 50}, target="y", numeric=["x"])
    rest, gone = table.take(slice(5, None)), table.take(slice(0, 5))
    # Whole weights lose nothing, fractional ones may.
    forgetful = cw.NaiveBayes(numeric="gaussian").fit(table).forget(gone)
    assert forgetful.counts_ == cw.NaiveBayes(numeric="gaussian").fit(rest).counts_
    with pytest.warns(PrecisionWarning, match="'x' may be lost in rounding"):
        cw.NaiveBayes(numeric="gaussian").fit(table, sample_weight=np.full(100, 0.3)).forget(
            gone, sample_weight=np.full(5, 0.3)
        )
    for options in ({}, {"numeric": "kernel"}):
        with pytest.raises(CountsError, match="only if they were counted"):
            cw.NaiveBayes(**options).fit([[0.0], [1], [10], [11]], [0, 0, 1, 1]).forget(
                [[500.0]], [0]
            )


def test_unseen_error_cannot_be_passed_by():
    weather = cw.read("sample:weather")
    model = cw.NaiveBayes(unseen="error").fit(weather)
    row = {"outlook": ["fog"], "temperature": ["hot"], "humidity": ["high"], "windy": ["TRUE"]}
    table = cw.read(row, schema=weather.schema.without_target())
    for rows in (table, table.take([0]), row):
        with pytest.raises(SchemaError, match="every level must be known"):
            model.predict(rows)


def test_labels_of_mixed_types_come_back_as_they_were():
    mixed = np.array([1, "a", 1, "a"], dtype=object)
    model = cw.NaiveBayes().fit(cw.read({"x": [1.0, 5, 1, 5.5]}, target=mixed.tolist()))
    assert model.classes_.tolist() == [1, "a"]
    assert model.predict({"x": [1.0]}).tolist() == [1]


def test_a_frame_handed_over_keeps_row_numbers_unless_their_name_tells():
    frame = pd.DataFrame({"id": np.arange(100), "n": np.arange(100), "x": np.arange(100) % 3})
    model = cw.NaiveBayes().fit(frame, np.arange(100) % 2)
    assert [c.name for c in model.schema_.attributes] == ["n", "x"]
    assert [note.column for note in model.notes_ if note.code == "T01"] == ["id"]
    polar = pl.DataFrame({"x": [1.0, 2.0], "k": ["u", "v"]})
    assert cw.NaiveBayes().fit(polar, ["p", "q"]).predict(polar).tolist() == ["p", "q"]


def test_bandwidths_that_are_given_are_kept():
    X = np.r_[np.linspace(0, 1, 50), np.linspace(3, 4, 50), 1e6][:, None]
    y = np.r_[np.zeros(50), np.ones(51)].astype(int)
    at = [[0.5], [3.5]]
    given = cw.NaiveBayes(numeric="kernel", bandwidth=0.1).fit(X, y)
    assert given.predict(at).tolist() == [0, 1]
    assert cw.NaiveBayes(numeric="kernel").fit(X, y).predict(at).tolist() == [0, 1]
    with pytest.raises(ParameterError, match=r"numeric names 'agee'.*Did you mean 'age'"):
        cw.NaiveBayes(numeric={"agee": "kernel"}).fit(cw.read("sample:credit-g"))


def test_log_posteriors_beyond_the_smallest_double():
    model = cw.NaiveBayes(numeric="gaussian", min_deviation=0)
    model.fit([[0.0], [1], [1000], [1001]], [0, 0, 1, 1])
    logs = model.predict_log_proba([[0.0]])
    assert -1.1e6 < logs[0, 1] < -9e5


def test_explaining_what_is_impossible():
    weather = cw.read("sample:weather")
    model = cw.NaiveBayes(smoothing=0).fit(weather)
    row = {
        "outlook": ["overcast"],
        "temperature": ["cool"],
        "humidity": ["high"],
        "windy": ["TRUE"],
    }
    text = model.explain(row).describe()
    assert "certain" in text
    assert max(map(len, text.splitlines())) < 80
    alone = cw.NaiveBayes().fit({"a": ["x", "y"]}, ["p", "p"]).explain({"a": ["x"]})
    assert alone.describe() == "p is the only class there is"


def test_score_of_a_table():
    weather = cw.read("sample:weather")
    model = cw.NaiveBayes().fit(weather)
    assert model.score(weather) == model.score(weather, weather.labels)


def test_many_classes_need_little_memory():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 800, 20_000)
    table = cw.read({"a": rng.integers(0, 9, 20_000)}, target=y, nominal="all")
    assert cw.NaiveBayes().fit(table).predict(table).shape == (20_000,)


@pytest.mark.parametrize("bandwidth", ["silverman", "scott", 5e-324])
@pytest.mark.parametrize("unit", [1e-160, 1e-300, 5e-324])
def test_kernels_of_tiny_numbers(bandwidth, unit):
    stream = np.random.default_rng(0)
    X, y = stream.integers(0, 3, (40, 2)) * unit, np.arange(40) % 2
    shares = cw.NaiveBayes(numeric="kernel", bandwidth=bandwidth).fit(X, y).predict_proba(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("bandwidth", ["silverman", "scott"])
def test_the_unit_of_a_column_does_not_change_its_kernels(bandwidth):
    X, y = np.random.default_rng(0).normal(0, 1, (40, 2)), np.arange(40) % 2
    model = cw.NaiveBayes(numeric="kernel", bandwidth=bandwidth)
    plain = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(X * 1e-300, y).predict_proba(X * 1e-300), plain, atol=1e-9)


def test_normal_densities_of_tiny_numbers():
    X, y = np.random.default_rng(0).normal(0, 1e-160, (40, 2)), np.arange(40) % 2
    assert np.isfinite(cw.NaiveBayes().fit(X, y).predict_proba(X)).all()


def test_the_explanation_of_multiplied_posteriors_adds_up_for_a_row_without_values():
    rows = {"x": [0.0, 1.0, 2.0, np.nan] * 10, "z": ["u", "v", "u", ""] * 10}
    table = cw.read({**rows, "class": [*"abba"] * 10}, target="class", missing=["", "nan"])
    why = cw.NaiveBayes(combine="posteriors").fit(table).explain(table)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-12)
    assert why.attributes[-1] == "prior"
