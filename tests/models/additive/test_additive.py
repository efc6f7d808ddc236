"""The model: what it learns, how it explains itself, odd tables, monotone columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.counts import row_hash
from countwise.errors import ParameterError, SchemaError, TableError, UnseenLevelWarning
from countwise.models.additive import choose, fit, prepare
from countwise.models.additive.prepare import order_rows


def log_loss(model, table):
    shares = model.predict_proba(table)
    places = [model.classes_.tolist().index(label) for label in table.labels.tolist()]
    return float(-np.log(shares[np.arange(len(places)), places]).mean())


def rule_table(rule, rows=240, noise=0.05, seed=0, kinds=str):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 3, (rows, 4))
    y = rule(cells).astype(bool) ^ (rng.random(rows) < noise)
    columns = {f"x{j}": [kinds(value) for value in cells[:, j]] for j in range(4)}
    nominal = [f"x{j}" for j in range(4)] if kinds is str else []
    return cw.read({**columns, "y": np.where(y, "yes", "no").tolist()}, target="y", nominal=nominal)


@pytest.mark.parametrize("kinds", [str, float])
def test_a_rule_of_two_equal_columns_is_found_as_a_pair(kinds):
    table = rule_table(lambda cells: cells[:, 0] == cells[:, 1], kinds=kinds)
    model = cw.Additive().fit(table)
    pairs = {(pair.first, pair.second) for pair in model.terms_.pairs}
    assert (0, 1) in pairs
    assert log_loss(model, table) < 0.35
    assert log_loss(cw.Additive(pairs=0).fit(table), table) > 0.55


def test_exclusive_or_needs_a_pair():
    table = rule_table(lambda cells: (cells[:, 0] > 0) ^ (cells[:, 1] > 0), kinds=float)
    model = cw.Additive().fit(table)
    assert model.terms_.pairs
    assert model.score(table) > 0.9


def test_noise_gets_no_strong_terms():
    table = rule_table(lambda cells: np.zeros(len(cells), bool), noise=0.5)
    shares = cw.Additive().fit(table).predict_proba(table)
    assert np.abs(shares - shares.mean(axis=0)).max() < 0.2


@pytest.mark.parametrize("sample", ["iris", "weather-numeric", "breast-w"])
def test_the_explanation_adds_up_to_the_scores(sample):
    table = cw.read(f"sample:{sample}")
    model = cw.Additive(pairs=3).fit(table)
    why = model.explain(table)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, rtol=0, atol=1e-12)
    np.testing.assert_allclose(why.joint, model.predict_joint_log_proba(table), rtol=0, atol=1e-12)
    pairs = model.terms_.pairs
    names = [column.name for column in table.schema.attributes]
    assert why.attributes[len(names) :] == tuple(
        f"{names[pair.first]} × {names[pair.second]}" for pair in pairs
    )


def test_the_explanation_begins_at_the_average_row():
    table = cw.read("sample:breast-w").take(np.arange(60))
    why = cw.Additive(pairs=0).fit(table).explain(table)
    assert why.to_dict()["base"] == "average row"
    assert why.describe().splitlines()[1].endswith("  average row")


def test_the_parts_are_relative_to_the_average_row():
    table = cw.read("sample:breast-w")
    model = cw.Additive(pairs=2).fit(table)
    why = model.explain(table)
    columns = why.parts[:, : len(table.schema.attributes)]
    np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-9)
    for pair in model.terms_.pairs:
        first = model.terms_.columns[pair.first]
        shares = np.bincount(first.group, first.bins.counts, minlength=first.groups)
        np.testing.assert_allclose(np.tensordot(shares, pair.table, 1), 0, atol=1e-9)


def test_pairs_can_be_counted_out():
    table = cw.read("sample:breast-w")
    assert len(cw.Additive(pairs=0).fit(table).terms_.pairs) == 0
    assert len(cw.Additive(pairs=2).fit(table).terms_.pairs) == 2


def test_a_monotone_column_rises_everywhere():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = rng.random(400) < 1 / (1 + np.exp(-2 * np.sin(2 * x)))
    rows = {"x": x.tolist(), "z": rng.normal(size=400).tolist(), "y": y.astype(int).tolist()}
    table = cw.read(rows, target="y")
    free = cw.Additive(random_state=1).fit(table).terms_.columns[0].table[:-2, 0]
    assert (np.diff(free) < -1e-3).any()
    for sign in (1, -1):
        model = cw.Additive(monotone={"x": sign}).fit(table)
        curve = model.terms_.columns[0].table[:-2, 0]
        assert (sign * np.diff(curve) >= -1e-12).all()
        assert all(0 not in (pair.first, pair.second) for pair in model.terms_.pairs)
        grid = {"x": np.linspace(-4, 4, 60).tolist(), "z": [0.0] * 60}
        assert (sign * np.diff(model.predict_proba(grid)[:, 1]) >= -1e-12).all()


@pytest.mark.parametrize(
    ("monotone", "words"),
    [
        ({"petal": 1}, "of known columns"),
        ({"outlook": 1}, "of numeric columns"),
        ({"humidity": 2}, "1 or -1"),
        (3, "a mapping"),
    ],
)
def test_a_wrong_monotone_column_is_refused(monotone, words):
    with pytest.raises(ParameterError, match=words):
        cw.Additive(monotone=monotone).fit(cw.read("sample:weather-numeric"))


def test_monotone_columns_need_two_classes():
    with pytest.raises(ParameterError, match="more than two classes"):
        cw.Additive(monotone={"petal_length": 1}).fit(cw.read("sample:iris"))


def test_one_class_is_certain():
    table = cw.read({"x": [1.0, 2.0, 3.0], "y": ["a", "a", "a"]}, target="y")
    model = cw.Additive().fit(table)
    assert model.predict_proba(table).tolist() == [[1.0]] * 3
    assert model.explain(table).joint.shape == (3, 1)


def odd_table(**columns):
    rows = 60
    y = ["a" if row % 3 else "b" for row in range(rows)]
    return cw.read({**columns, "y": y}, target="y", identifiers="keep")


@pytest.mark.parametrize(
    "column",
    [
        [1.5] * 60,
        ["same"] * 60,
        [None] * 59 + [1.0],
        [float(row % 3) if row % 4 else None for row in range(60)],
        [1e140 * (-1) ** row for row in range(60)],
        [1e-300 * row for row in range(60)],
    ],
)
def test_odd_columns_do_no_harm(column):
    table = odd_table(x=column, z=[row % 7 for row in range(60)])
    model = cw.Additive().fit(table)
    shares = model.predict_proba(table)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert model.views()


def test_a_column_without_any_value_adds_nothing():
    columns = {"x": ["1", "2"] * 30, "z": [row % 5 for row in range(60)]}
    table = odd_table(**columns).with_missing(["z"])
    model = cw.Additive().fit(table)
    assert np.isfinite(model.predict_proba({"x": ["1"], "z": [3]})).all()


def test_ten_thousand_levels_are_fitted():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 10_000, 20_000)
    y = rng.random(20_000) < np.where(level % 2, 0.7, 0.3)
    columns = {"id": [f"v{code}" for code in level], "y": y.astype(int).tolist()}
    table = cw.read(columns, target="y", nominal=["id"])
    model = cw.Additive(pairs=0).fit(table)
    assert model.score(table) > 0.65


def test_a_class_of_one_row_is_kept():
    table = odd_table(x=[float(row) for row in range(60)])
    labels = table.labels.tolist()
    labels[7] = "rare"
    rows = {"x": table.values("x").tolist(), "y": labels}
    model = cw.Additive().fit(cw.read(rows, target="y", identifiers="keep"))
    assert model.classes_.tolist() == ["a", "b", "rare"]
    assert (model.predict_proba({"x": [7.0]}) > 0).all()


def test_too_many_levels_are_refused(monkeypatch):
    from countwise.models.additive import bins

    monkeypatch.setattr(bins, "MAX_LEVELS", 3)
    with pytest.raises(TableError, match="up to 3 levels; column 'x' has 5"):
        cw.Additive().fit(odd_table(x=[f"v{row % 5}" for row in range(60)]))


def test_unseen_levels_add_nothing_or_are_refused():
    table = cw.read("sample:weather")
    model = cw.Additive(pairs=0).fit(table)
    rows = {"outlook": ["fog"], "temperature": ["hot"], "humidity": ["high"], "windy": ["TRUE"]}
    with pytest.warns(UnseenLevelWarning, match="left out"):
        why = model.explain(rows)
    assert np.all(why.parts[0, 0] == 0)
    with pytest.raises(SchemaError, match="every level must be known"):
        cw.Additive(pairs=0, unseen="error").fit(table).predict(rows)


def test_a_large_table_is_chosen_on_a_sample(monkeypatch):
    monkeypatch.setattr(prepare, "SAMPLE_ROWS", 300)
    table = cw.read("sample:breast-w")
    model = cw.Additive(pairs=3).fit(table)
    assert [note.code for note in model.notes_ if note.code == "A01"] == ["A01"]
    assert model.terms_.columns[0].bins.counts.sum() == len(table)
    assert model.score(table) > 0.95
    order = np.random.default_rng(0).permutation(len(table))
    shuffled = cw.Additive(pairs=3).fit(table.take(order))
    np.testing.assert_allclose(shuffled.predict_proba(table), model.predict_proba(table), atol=1e-9)


@pytest.mark.parametrize(("name", "classes"), [("breast-w", 2), ("glass", 6)])
def test_the_order_of_columns_changes_no_choice_and_no_probability(name, classes, monkeypatch):
    # A search that stops early shows whether the order of sums has an effect.
    monkeypatch.setattr(fit, "_FEW_ENTRIES", 0)
    monkeypatch.setattr(fit, "SLOPE_LIMIT", 1e-3)
    monkeypatch.setattr(choose, "PENALTIES", (0.003,))
    table = cw.read(f"sample:{name}")
    assert len(table.classes) == classes
    plain = cw.Additive(pairs=4).fit(table)
    names = [column.name for column in table.schema.attributes][::-1]
    labels = table.labels.tolist()
    # Other names in another order: the contents alone decide.
    turned = {f"c{place}": table.values(column) for place, column in enumerate(names)}
    other = cw.read({**turned, "class": labels}, target="class", identifiers="keep")
    model = cw.Additive(pairs=4).fit(other)
    np.testing.assert_array_equal(model.penalties_, plain.penalties_)
    np.testing.assert_allclose(model.predict_proba(other), plain.predict_proba(table), atol=1e-12)
    found = [{names[pair.first], names[pair.second]} for pair in model.terms_.pairs]
    assert found == [{names[-1 - p.first], names[-1 - p.second]} for p in plain.terms_.pairs]
    assert [column.bins.name for column in model.terms_.columns] == list(turned)
    order = np.random.default_rng(1).permutation(len(table))
    shuffled = cw.Additive(pairs=4).fit(table.take(order))
    np.testing.assert_array_equal(shuffled.predict_proba(table), plain.predict_proba(table))
    weight = 1.0 + np.arange(len(table)) % 2
    weighted = cw.Additive(pairs=4).fit(table, sample_weight=weight)
    twice = cw.Additive(pairs=4).fit(
        table.take(np.repeat(np.arange(len(table)), weight.astype(int)))
    )
    np.testing.assert_array_equal(weighted.predict_proba(table), twice.predict_proba(table))


@pytest.mark.parametrize(
    ("rows", "columns", "classes", "folds"),
    [(400, 4, 2, 10), (400, 400, 3, 5), (4999, 60, 9, 5), (6000, 30, 2, 5), (6000, 40, 2, 1)],
)
def test_large_tables_have_one_fold_where_five_take_long(rows, columns, classes, folds):
    y = (np.arange(rows) % classes).astype(np.int32)
    codes = np.zeros((columns, rows), dtype=np.uint16)
    dealt = prepare.deal_rows(codes, y, np.ones(rows), classes)
    assert dealt.folds == folds
    sizes = np.diff(dealt.bounds[: folds + 1])
    assert sizes.sum() == (rows if folds > 1 else rows // 5)
    assert sizes.max() - sizes.min() <= classes


def test_the_seed_deals_the_folds():
    table = cw.read("sample:breast-w")
    one, two, other = (cw.Additive(random_state=seed).fit(table) for seed in (0, 0, 1))
    assert np.array_equal(one.predict_proba(table), two.predict_proba(table))
    assert one.validation_loss_ != other.validation_loss_


@pytest.mark.parametrize("sample", ["breast-w", "iris"])
def test_threads_do_not_change_a_bit_of_the_model(monkeypatch, sample):
    table, found = cw.read(f"sample:{sample}"), []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("COUNTWISE_THREADS", threads)
        found.append(cw.Additive().fit(table).predict_proba(table))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_blocks_of_keys_do_not_change_a_bit_of_the_model(monkeypatch):
    table = cw.read("sample:breast-w")
    whole = cw.Additive(pairs=0).fit(table).predict_proba(table)
    monkeypatch.setattr(row_hash, "_BLOCK", 100)
    assert np.array_equal(cw.Additive(pairs=0).fit(table).predict_proba(table), whole)


def test_saving_changes_no_bit(tmp_path):
    table = cw.read("sample:breast-w")
    model = cw.Additive().fit(table)
    cw.save(model, tmp_path / "m.cw")
    again = cw.load(tmp_path / "m.cw").predict_proba(table)
    assert np.array_equal(again, model.predict_proba(table))


def test_progress_is_told_by_stages():
    told = []
    cw.Additive().fit(cw.read("sample:iris"), progress=lambda *step: told.append(step))
    assert told[0][2] == "penalty"
    assert all(done < total for done, total, _ in told)


def test_pairs_may_want_a_strong_penalty_where_columns_want_a_weak_one(monkeypatch):
    monkeypatch.setattr(choose, "PENALTIES", (0.003,))
    rng = np.random.default_rng(5)
    x = rng.normal(size=(700, 5))
    y = 0.8 * x[:, 0] * x[:, 1] + rng.logistic(size=700) > 0
    model = cw.Additive().fit(x, y)
    assert (0, 1) in {(pair.first, pair.second) for pair in model.terms_.pairs}
    # The columns' penalty times the largest usual factor.
    assert model.penalties_[-1] > 0.003 * 256 * 3


@pytest.mark.parametrize("weight", [3.0, 1e-6, 1e6 + 0.5])
def test_equal_weights_of_any_size_learn_nothing_by_heart(weight):
    """Copies of a row in several folds, or penalties too weak for large weights, did."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(150, 2)), random.integers(0, 2, 150)
    found = cw.Additive().fit(X, y, sample_weight=np.full(150, weight)).predict_proba(X)
    assert found.min() > 0.2


@pytest.mark.parametrize("pairs", [0, 1])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_size_of_weights_changes_no_choice(pairs, classes):
    random = np.random.default_rng(1)
    x, weight = random.normal(size=120), random.uniform(0.5, 1.5, 120)
    X, y = np.column_stack([x, x]), np.digitize(x + random.normal(size=120), [0, 1][: classes - 1])
    one, other = (
        cw.Additive(pairs=pairs).fit(X, y, sample_weight=weight * size) for size in (1, 2.0**24)
    )
    np.testing.assert_allclose(one.penalties_, other.penalties_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_so_many_copies_of_all_rows_of_a_class_are_one_row_of_that_weight():
    rows = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6]})
    table = cw.read(rows.assign(y=list("aabbbc")), target="y")
    weight = np.asarray([2.0, 4, 3, 3, 1, 2])
    order, weights = order_rows(table, weight, 0)
    assert np.bincount(order, weights).tolist() == weight.tolist()
    assert np.bincount(order).tolist() == [1, 2, 3, 3, 1, 2]
    again, copies = order_rows(table.take(np.repeat(np.arange(6), weight.astype(int))), None, 0)
    np.testing.assert_array_equal(copies, weights)
    assert len(again) == len(order)
