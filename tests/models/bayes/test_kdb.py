"""KDB: the ranking by hand, selection against refitting without each row, and what may follow."""

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.counts.plan import Plan
from countwise.discretize import rare_levels
from countwise.discretize.recode import Recode
from countwise.errors import CountsError, ParameterError
from countwise.models.bayes.leave_one_out import best_prefix, prefix_losses


def KDB(k=2, **options):  # noqa: N802
    """Return the model with Laplace's smoothing and probabilities as they are."""
    return cw.KDB(k, **{"smoothing": 1.0, "calibrate": None, **options})


@pytest.fixture
def votes():
    table = cw.read("sample:votes")
    names = [column.name for column in table.schema.nominal][:7]
    return table.select(names).take(slice(0, 60))


def test_the_families_of_weather_by_hand():
    """Gains of play: outlook 0.247, humidity 0.152, windy 0.048, temperature 0.029 bits."""
    model = KDB(1, selective=False).fit(cw.read("sample:weather"))
    assert model.families_ == (
        ("outlook",),
        ("humidity", "outlook"),
        ("windy", "outlook"),
        ("temperature", "outlook"),
    )
    two = KDB(2, selective=False).fit(cw.read("sample:weather"))
    assert [family[0] for family in two.families_] == [family[0] for family in model.families_]
    assert [len(family) for family in two.families_] == [1, 2, 3, 3]
    # Temperature shares 0.420 bits with outlook and as many with humidity: the stronger is first.
    assert two.families_[3] == ("temperature", "outlook", "humidity")


@pytest.mark.parametrize("name", ["weather", "votes", "breast-cancer"])
@pytest.mark.parametrize("smoothing", [1.0, 0.3, cw.MEstimate(2, "overall"), None])
def test_without_parents_it_is_naive_bayes(name, smoothing):
    table = cw.read(f"sample:{name}")
    model = KDB(0, selective=False, smoothing=smoothing).fit(table)
    plain = cw.NaiveBayes(smoothing=smoothing, calibrate=None).fit(table)
    np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(table), atol=1e-12)


# ---------------------------------------------------------------- selection


def slow_losses(table, families, k, smoothing, weight=None):
    """The loss after each number of families, by counting anew without each row."""
    own = np.ones(len(table)) if weight is None else weight
    losses = np.zeros(len(families) + 1)
    for row in np.flatnonzero(own):
        without = own.copy()
        without[row] -= min(1.0, own[row])
        rest, given = table.take(without > 0), without[without > 0]
        for number in range(len(families) + 1):
            chosen = families[:number]
            model = KDB(k, smoothing=smoothing)
            model.families_, model._passed_over = tuple(chosen), {}
            counts = cw.count(rest, Plan(tuple(chosen)), sample_weight=given)
            model._take_counts(counts, table.schema, Recode())
            shares = model.predict_proba(table.take([row]))[0]
            label = table.labels[row]
            sure = shares[model.classes_ == label].sum()
            losses[number] += own[row] * (1 - sure) ** 2
    return losses / own.sum()


@pytest.mark.parametrize(
    ("k", "smoothing"), [(1, 1.0), (2, 1.0), (2, "back-off"), (1, cw.MEstimate(2, "overall"))]
)
def test_selection_is_leave_one_out_by_refitting(votes, k, smoothing):
    families = KDB(k, selective=False, smoothing=smoothing).fit(votes).families_
    model = KDB(k, smoothing=smoothing)
    counts = cw.count(votes, Plan(families))
    fast = prefix_losses(votes, counts, families, model._rule())
    slow = slow_losses(votes, families, k, smoothing)
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    assert model.fit(votes).families_ == families[: int(np.argmin(np.round(slow, 12)))]


def test_selection_with_weights_leaves_one_of_equal_rows_out(votes):
    table = votes.take(slice(0, 25))
    weight = np.random.default_rng(0).integers(0, 4, len(table)).astype(float)
    families = KDB(1, selective=False).fit(table, sample_weight=weight).families_
    counts = cw.count(table, Plan(families), sample_weight=weight)
    model = KDB(1)
    fast = prefix_losses(table, counts, families, model._rule(), weight)
    np.testing.assert_allclose(fast, slow_losses(table, families, 1, 1.0, weight), atol=1e-12)
    repeated = table.take(np.repeat(np.arange(len(table)), weight.astype(int)))
    again = prefix_losses(repeated, cw.count(repeated, Plan(families)), families, model._rule())
    np.testing.assert_allclose(fast, again, atol=1e-12)


def test_selection_in_blocks_is_selection_at_once(votes, monkeypatch):
    families = KDB(2, selective=False).fit(votes).families_
    counts = cw.count(votes, Plan(families))
    whole = prefix_losses(votes, counts, families, cw.Laplace(1))
    monkeypatch.setattr("countwise.models.bayes.leave_one_out._BLOCK", 7)
    np.testing.assert_allclose(
        prefix_losses(votes, counts, families, cw.Laplace(1)), whole, atol=1e-12
    )
    assert best_prefix(votes, counts, families, cw.Laplace(1)) == np.argmin(whole)


def test_noise_is_left_out_and_signal_kept():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame({f"noise{i}": rng.integers(0, 8, 400).astype(str) for i in range(6)})
    X["signal"] = np.where(rng.random(400) < 0.9, y, 1 - y).astype(str)
    assert KDB(1).fit(X, y).families_ == (("signal",),)
    assert len(KDB(1).fit(X.drop(columns="signal"), y).families_) < 3
    assert len(KDB(1, selective=False).fit(X, y).families_) == 7


def test_an_exclusive_or_is_learned_with_a_parent():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 500))
    X, y = pd.DataFrame({"a": a.astype(str), "b": b.astype(str)}), a ^ b
    assert KDB(1).fit(X, y).score(X, y) == 1.0
    assert cw.NaiveBayes().fit(X, y).score(X, y) < 0.7


# ---------------------------------------------------------------- what later rows change


def test_later_rows_change_the_counts_and_not_the_families(votes):
    first, second = votes.take(slice(0, 30)), votes.take(slice(30, None))
    model = KDB(2).fit(first)
    families = model.families_
    model.partial_fit(second)
    assert model.families_ == families
    assert model.counts_ == cw.count(votes, Plan(families))
    model.forget(second)
    np.testing.assert_array_equal(
        model.predict_proba(votes), KDB(2).fit(first).predict_proba(votes)
    )


def test_families_of_pairs_are_renewed_with_the_counts(votes):
    first, second = votes.take(slice(0, 15)), votes.take(slice(15, None))
    model = KDB(1, selective=False).fit(first).partial_fit(second)
    assert model.families_ == KDB(1, selective=False).fit(votes).families_


def test_models_of_the_same_families_merge_and_others_do_not(votes):
    one = KDB(2).fit(votes)
    total = one + KDB(2).fit(votes)
    assert total.counts_ == one.counts_ + one.counts_
    other = KDB(2, selective=False).fit(votes.take(slice(0, 20)))
    with pytest.raises(CountsError, match="only models of the same families merge"):
        one.merge(other)
    with pytest.raises(CountsError, match="only models of one kind"):
        one.merge(cw.NaiveBayes().fit(votes))


def test_counts_alone_do_not_suffice_for_more_than_pairs(votes):
    counts = cw.count(votes, Plan.pairs(votes.schema))
    for model in (KDB(2), KDB(1), KDB(2, selective=False)):
        assert model.counts_needed(votes.schema) is None
        with pytest.raises(CountsError, match="need the rows"):
            model.fit_counts(counts)
    model = KDB(1, selective=False).fit_counts(counts)
    np.testing.assert_array_equal(
        model.predict_proba(votes), KDB(1, selective=False).fit(votes).predict_proba(votes)
    )


# ---------------------------------------------------------------- data that are not easy


def test_parents_that_would_not_fit_in_memory_are_passed_over(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({f"c{i}": ((y + rng.integers(0, 9, 300)) % 9).astype(str) for i in range(5)})
    assert {len(family) for family in KDB(4, selective=False).fit(X, y).families_} == {
        1,
        2,
        3,
        4,
        5,
    }
    monkeypatch.setattr(rare_levels, "MOST_PAIR_CELLS", 20_000)
    model = KDB(4, selective=False).fit(X, y)
    assert {len(family) for family in model.families_} == {1, 2, 3}
    assert max(table.size for table in model.counts_.tables.values()) <= 20_000 // 5
    said = [note for note in model.notes_ if note.code == "P02"]
    assert len(said) == 2
    assert all("does not depend on" in note.text for note in said)
    cw.save(model, tmp_path / "model.cw")
    again = cw.load(tmp_path / "model.cw")
    assert again.notes_ == model.notes_
    assert again.partial_fit(X, y).notes_ == model.notes_


def test_many_levels_with_selection(monkeypatch):
    monkeypatch.setattr(rare_levels, "MOST_PAIR_CELLS", 1 << 13)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5000)
    X = pd.DataFrame({"id": rng.integers(0, 4000, 5000).astype(str), "s": y.astype(str)})
    model = KDB(2).fit(X, y)
    assert model.families_ == (("s",),)
    assert [note.column for note in model.notes_ if note.code == "P01"] == ["id"]
    assert model.score(X, y) == 1.0


def test_one_class_and_columns_that_do_not_vary():
    X = pd.DataFrame({"flat": [1.0] * 6, "same": ["z"] * 6, "w": [*"ababab"], "gap": [None] * 6})
    assert (KDB().fit(X, [3] * 6).predict_proba(X) == 1.0).all()
    shares = KDB(3, selective=False).fit(X, [0, 1] * 3).predict_proba(X)
    assert (shares.argmax(axis=1) == [0, 1] * 3).all()
    np.testing.assert_allclose(KDB().fit(X[["flat"]], [0, 1] * 3).predict_proba(X[["flat"]]), 0.5)


def test_forgetting_with_columns_that_were_left_out():
    X = pd.DataFrame({"s": [*"aabbaabb"], "noise": [*"pqpqpqpr"]})
    y = [0, 0, 1, 1, 0, 0, 1, 1]
    model = KDB(1).fit(X, y)
    assert model.families_ == (("s",),)
    model.forget(X[7:], y[7:])
    assert model.predict(X[:7]).tolist() == y[:7]


def test_missing_cells_are_summed_out(votes):
    gaps = votes.to_dict()
    model = KDB(2, selective=False).fit(votes)
    shares = model.predict_proba(gaps)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    child = next(family[0] for family in model.families_ if len(family) == 2)
    blank = {name: [None] for name in gaps} | {child: ["y"]}
    table = cw.count(votes).table(child)[:-1, :-1]
    level = votes.schema[child].levels.index("y")
    own = (table[:, level] + 1) / (table.sum(axis=1) + 2)
    weight = cw.count(votes).weight[:-1]
    expected = weight * own / (weight * own).sum()
    assert model.predict_proba(blank)[0] == pytest.approx(expected)


def test_what_is_refused():
    for wrong in ({"k": -1}, {"k": 1.5}, {"selective": "yes"}, {"smoothing": "some"}):
        with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must be"):
            KDB(**wrong).fit(cw.read("sample:weather"))
    with pytest.raises(ParameterError, match="not all be zero"):
        KDB().fit(cw.read("sample:weather"), sample_weight=np.zeros(14))
