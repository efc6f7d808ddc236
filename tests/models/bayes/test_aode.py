"""AODE: against a slow triple loop over rows as people wrote them, and its limits."""

from math import prod

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.counts.smoothing import MEstimate
from countwise.errors import ParameterError


def AODE(smoothing=1.0, **options):  # noqa: N802
    """Return the model with Laplace's smoothing and probabilities as they are."""
    return cw.AODE(smoothing, **{"calibrate": None, **options})


def rows_of(table):
    columns = {name: table.decode(name).tolist() for name in table.names}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def slow(table, row, alpha=1.0, limit=1):
    """Σ_i P(c) P(x_i | c) Π_j P(x_j | c, x_i), counted anew for every figure."""
    rows, target = rows_of(table), table.target_column.name
    names = [column.name for column in table.schema.nominal]
    held = {name: row[name] for name in names if row[name] is not None}

    def number(**wanted):
        return sum(all(one[key] == value for key, value in wanted.items()) for one in rows)

    def known(name, **wanted):
        return sum(
            one[name] is not None and all(one[key] == value for key, value in wanted.items())
            for one in rows
        )

    def share(name, **wanted):
        width = table.schema[name].width
        own = number(**wanted, **{name: held[name]})
        return (own + alpha) / (known(name, **wanted) + alpha * width)

    joint = []
    for label in table.classes:
        prior = number(**{target: label}) / len(rows)
        parents = [name for name in held if number(**{name: held[name]}) >= limit]
        if parents:
            joint.append(
                prior
                * sum(
                    share(parent, **{target: label})
                    * prod(
                        share(child, **{target: label, parent: held[parent]})
                        for child in held
                        if child != parent
                    )
                    for parent in parents
                )
            )
        else:
            joint.append(prior * prod(share(child, **{target: label}) for child in held))
    return np.array(joint) / sum(joint)


@pytest.mark.parametrize("limit", [0, 1, 5, 100])
def test_weather_is_what_a_triple_loop_says(limit):
    table = cw.read("sample:weather")
    model = AODE(frequency_limit=limit).fit(table)
    for at, row in enumerate(rows_of(table)):
        expected = slow(table, row, limit=max(limit, 1))
        assert model.predict_proba(table.take([at]))[0] == pytest.approx(expected, abs=1e-12)


def test_votes_with_missing_cells_are_what_a_triple_loop_says():
    votes = cw.read("sample:votes")
    names = [column.name for column in votes.schema.nominal][:6]
    table = votes.select(names).take(slice(0, 80))
    model = AODE(0.5, frequency_limit=3).fit(table)
    rows = rows_of(table)
    gaps = [at for at, row in enumerate(rows) if None in row.values()]
    for at in [*gaps[:4], 0, 7]:
        expected = slow(table, rows[at], alpha=0.5, limit=3)
        assert model.predict_proba(table.take([at]))[0] == pytest.approx(expected, abs=1e-12)


def test_without_a_parent_naive_bayes_answers():
    table = cw.read("sample:votes")
    model, plain = AODE(frequency_limit=1000).fit(table), cw.NaiveBayes(calibrate=None).fit(table)
    np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(table), atol=1e-12)


def test_a_parent_must_be_frequent_enough():
    """A value seen three times is a parent at a limit of three, and is none at four."""
    X = pd.DataFrame({"a": [*"xxxyyyyy"], "b": [*"pqpqpqpq"]})
    y = [0, 0, 1, 1, 1, 0, 1, 0]
    every, three, four = (AODE(frequency_limit=n).fit(X, y).predict_proba(X) for n in (0, 3, 4))
    np.testing.assert_array_equal(every, three)
    assert not np.allclose(three[:3], four[:3])
    np.testing.assert_array_equal(three[3:], four[3:])


def test_one_column_is_naive_bayes():
    table = cw.read("sample:weather").select(["outlook"])
    np.testing.assert_allclose(
        AODE().fit(table).predict_proba(table),
        cw.NaiveBayes(calibrate=None).fit(table).predict_proba(table),
    )


def test_explanations_add_up():
    for table in (cw.read("sample:votes").take(slice(0, 50)), cw.read("sample:iris")):
        for limit in (0, 1, 20, 1000):
            model = AODE(frequency_limit=limit).fit(table)
            told = model.explain(table)
            assert told.attributes[-1] == "spread over parents"
            np.testing.assert_allclose(
                told.base + told.parts.sum(axis=1), model.predict_joint_log_proba(table), atol=1e-9
            )


def test_no_smoothing_leaves_possible_classes_and_finite_posteriors():
    table = cw.read("sample:votes")
    shares = AODE(0).fit(table).predict_proba(table)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (AODE(0).fit(table).predict(table) == table.labels).mean() > 0.93


def test_other_smoothings_and_weights():
    table = cw.read("sample:votes")
    weight = np.random.default_rng(0).integers(0, 3, len(table)).astype(float)
    for smoothing in (MEstimate(2, "overall"), cw.Laplace(0.1, by="classes")):
        weighted = AODE(smoothing).fit(table, sample_weight=weight)
        again = AODE(smoothing).fit(
            table.take(np.repeat(np.arange(len(table)), weight.astype(int)))
        )
        np.testing.assert_allclose(
            weighted.predict_proba(table), again.predict_proba(table), atol=1e-12
        )


def test_one_class_and_columns_that_do_not_vary():
    X = pd.DataFrame({"flat": [1.0] * 6, "same": ["z"] * 6, "w": [*"ababab"], "gap": [None] * 6})
    assert (AODE().fit(X, [3] * 6).predict_proba(X) == 1.0).all()
    shares = AODE().fit(X, [0, 1] * 3).predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) == [0, 1] * 3).all()
    np.testing.assert_allclose(AODE().fit(X[["flat"]], [0, 1] * 3).predict_proba(X[["flat"]]), 0.5)


def test_unseen_levels_are_neither_parent_nor_child():
    table = cw.read("sample:weather")
    model = AODE().fit(table)
    day = {"outlook": ["foggy"], "temperature": ["hot"], "humidity": ["high"], "windy": ["TRUE"]}
    with pytest.warns(cw.UnseenLevelWarning, match="foggy"):
        share = model.predict_proba(day)
    np.testing.assert_array_equal(share, model.predict_proba({**day, "outlook": [None]}))


def test_what_is_refused():
    with pytest.raises(ParameterError, match="frequency_limit must be"):
        AODE(frequency_limit=-1).fit(cw.read("sample:weather"))
    with pytest.raises(ParameterError, match="smoothing must be"):
        AODE("backoff").fit(cw.read("sample:weather"))
