"""Imagined rows and votes: the number that rows held out choose, however these are given."""

import numpy as np
import pytest

import countwise as cw
from countwise.counts.resampling import draws_of
from countwise.counts.row_hash import content_folds
from countwise.errors import ParameterError
from countwise.models.choose_smoothing import (
    AMOUNTS,
    _blind_keys,
    add_in_order,
    least_loss,
    some_rows,
    sorted_keys,
)
from countwise.models.ensembles.members import order_by_content
from countwise.testing.laws import mirror

#: Tables of which one tells nearly nothing, one nearly all, and one has missing cells.
TABLES = ("help-desk", "iris", "hepatitis")


def right(model, rows):
    """Return the probability of each row's own class."""
    place = np.searchsorted(model.classes_, rows.labels)
    return model.predict_proba(rows)[np.arange(len(rows)), place]


def known_only(table):
    """Return a table without text, and without classes of few rows, which some fold may lack."""
    number = np.bincount(table.target, minlength=len(table.classes))
    table = table.take(np.flatnonzero(number[table.target] > 20))
    return table.select([c.name for c in table.schema.attributes if c.kind != "text"])


@pytest.mark.parametrize("kind", [cw.ID3, cw.Tree, cw.CondensedNeighbors])
@pytest.mark.parametrize("sample", TABLES)
def test_the_number_loses_least_in_cross_validation(kind, sample):
    table = known_only(cw.read(f"sample:{sample}"))
    losses, keys = [], _blind_keys(table, None)
    order = np.lexsort((sorted_keys(table), keys))
    for amount in AMOUNTS:
        logs = [
            np.log(right(kind(smoothing=amount).fit(table.take(part.rest)), table.take(part.out)))
            for part in content_folds(keys, None, order)
        ]
        losses.append(-np.concatenate(logs).mean())
    model = kind().fit(table)
    assert model.smoothing_ == AMOUNTS[int(np.argmin(losses))]
    alone = kind(smoothing=model.smoothing_).fit(table)
    np.testing.assert_array_equal(model.predict_proba(table), alone.predict_proba(table))


@pytest.mark.parametrize("sample", TABLES)
def test_neighbors_choose_by_leaving_one_out(sample):
    table = known_only(cw.read(f"sample:{sample}"))
    table = table.take(np.arange(0, len(table), -(-len(table) // 60)))
    rows = np.arange(len(table))
    losses = [
        -np.mean(
            [
                np.log(right(cw.Neighbors(smoothing=amount).fit(table.take(np.delete(rows, row))),
                             table.take([row])))
                for row in rows
            ]
        )
        for amount in AMOUNTS
    ]  # fmt: skip
    assert cw.Neighbors().fit(table).smoothing_ == AMOUNTS[int(np.argmin(losses))]


@pytest.mark.parametrize("sample", TABLES)
def test_bagging_chooses_by_the_rows_that_members_did_not_draw(sample):
    table = known_only(cw.read(f"sample:{sample}"))
    table = table.take(order_by_content(table))
    model = cw.Bagging(n_estimators=15).fit(table)
    draws = draws_of(len(table), 15, model._seed)
    left = np.stack([draws.times(place) == 0 for place in range(15)], axis=1)
    some = np.flatnonzero(left.any(axis=1))
    losses = []
    for amount in AMOUNTS:
        each = []
        for place in range(15):
            alone = cw.ID3(smoothing=amount)
            times = draws.times(place).astype(float)
            each.append(right(alone.fit(table, sample_weight=times), table))
        votes = np.where(left, np.stack(each, axis=1), 0.0).sum(axis=1)
        losses.append(-np.log(votes[some] / left.sum(axis=1)[some]).mean())
    assert {member.smoothing_ for member in model.members_} == {AMOUNTS[int(np.argmin(losses))]}
    asked = {member.get_params()["smoothing"] for member in model.members_}
    assert asked == {member.smoothing_ for member in model.members_}


def test_noise_gets_many_imagined_rows_and_clear_classes_few():
    noise, clear = cw.read("sample:help-desk"), cw.read("sample:iris")
    for kind in (cw.ID3, cw.Neighbors, cw.CondensedNeighbors):
        assert kind().fit(clear).smoothing_ <= 3 < 8 <= kind().fit(noise).smoothing_


MODELS = [
    cw.ID3(),
    cw.Tree(),
    cw.Neighbors(),
    cw.Neighbors("auto"),
    cw.CondensedNeighbors(method="fast"),
    cw.Bagging(n_estimators=5),
    cw.AdaBoost(n_estimators=5),
    cw.AdaBoost(cw.Tree(), n_estimators=3),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_repeated_and_shuffled_rows_choose_the_same(model):
    table = cw.read("sample:hepatitis")
    weight = 1.0 + np.arange(len(table)) % 2
    repeated = np.repeat(np.arange(len(table)), weight.astype(int))
    shuffled = np.random.default_rng(3).permutation(repeated)
    found = model.fit(table, sample_weight=weight).predict_proba(table)
    np.testing.assert_allclose(model.fit(table.take(shuffled)).predict_proba(table), found,
                               rtol=1e-9)  # fmt: skip


@pytest.mark.parametrize("kind", [cw.ID3, cw.Tree, cw.Neighbors, cw.CondensedNeighbors])
@pytest.mark.parametrize("sample", TABLES)
def test_more_imagined_ones_change_no_decision(kind, sample):
    table = cw.read(f"sample:{sample}")
    train, test = table.take(np.arange(0, len(table), 2)), table.take(np.arange(1, len(table), 2))
    expected = kind(smoothing=1).fit(train).predict(test)
    for amount in (1.5, 5, 50, 1e6):
        model = kind(smoothing=amount).fit(train)
        found = model.predict_proba(test)
        assert found.min() > 0
        np.testing.assert_array_equal(model.predict(test), expected)
        np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], expected)


def test_few_rows_get_the_usual_number():
    rows = cw.read("sample:iris").take(np.arange(0, 150, 3)[:49])
    assert cw.ID3().fit(rows).smoothing_ == cw.Tree().fit(rows).smoothing_ == 5
    assert cw.Neighbors().fit(rows).smoothing_ == cw.CondensedNeighbors().fit(rows).smoothing_ == 1
    assert cw.Bagging(n_estimators=3).fit(rows).members_[0].smoothing_ == 1


@pytest.mark.parametrize("model", [cw.ID3(), cw.Bagging(n_estimators=3), cw.Neighbors("auto")])
def test_a_file_keeps_the_number(model, tmp_path):
    table = cw.read("sample:help-desk")
    cw.save(model.fit(table), tmp_path / "m.cw")
    again = cw.load(tmp_path / "m.cw")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize("weight", [None, "existing_credits"])
def test_rows_outside_memory_choose_like_rows_in_memory(credit_frame, credit_folder, weight):
    numeric = credit_frame.select_dtypes("number").columns.drop("existing_credits")
    drop = [*numeric, "customer"]
    rows = cw.scan(f"{credit_folder}/*.parquet", target="class", drop=drop, weight=weight)
    table = cw.read(credit_frame, target="class", drop=drop)
    given = None
    if weight is not None:
        given = table.values(weight)
        table = table.select([c.name for c in table.schema.attributes if c.name != weight])
    model = cw.ID3(max_depth=4, prune=0).fit(table, sample_weight=given)
    scanned = cw.ID3(max_depth=4, prune=0).fit(rows)
    assert scanned.smoothing_ == model.smoothing_ != 5
    np.testing.assert_allclose(scanned.predict_proba(table), model.predict_proba(table), rtol=1e-12)


def test_what_is_added_keeps_the_order_by_hand():
    shares = np.array([[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]])
    total = add_in_order(shares, np.tile([8.0, 2.0], (3, 1)))
    np.testing.assert_allclose(total[0], [8.6, 2.4])
    # Of a lead of 0.2, 0.999 is used up by a part of the 6 that class 1 gets less.
    kept = 0.999 * 0.2 / 6
    np.testing.assert_allclose(total[1], shares[1] + kept * np.array([8, 2]) + (1 - kept) * 5)
    np.testing.assert_allclose(total[2], [8.5, 2.5])
    assert (total.argmax(axis=1) == [0, 1, 0]).all()
    # What is lost in rounding does not decide.
    huge = add_in_order(np.array([[0.3, 0.4, 0.3]]), np.full((1, 3), 1e300))
    assert (huge / huge.sum()).argmax() == 1


def test_rules_that_repeat_rows_are_believed():
    """Each row is there 25 times: what a leaf says of it is what it says of a new one."""
    x = np.array([[a, b, c] for a in "uv" for b in "uv" for c in "uv"] * 25)
    frame = {name: x[:, place] for place, name in enumerate("abc")}
    frame["y"] = np.where((x[:, 0] == "u") ^ (x[:, 1] == "u"), "yes", "no")
    table = cw.read(frame, target="y")
    for model in (cw.ID3(min_gain=None), cw.CondensedNeighbors(), cw.Neighbors()):
        model.fit(table)
        assert model.smoothing_ == AMOUNTS[0]
        assert right(model, table).min() > 0.9


@pytest.mark.parametrize("kind", [cw.ID3, cw.Tree, cw.CondensedNeighbors, cw.Neighbors])
@pytest.mark.parametrize("sample", ["iris", "hepatitis", "breast-cancer"])
def test_columns_in_another_order_choose_the_same(kind, sample):
    table = cw.read(f"sample:{sample}")
    assert kind().fit(table).smoothing_ == kind().fit(mirror(table)).smoothing_


@pytest.mark.parametrize("kind", [cw.ID3, cw.Tree, cw.CondensedNeighbors, cw.Neighbors])
def test_other_names_choose_the_same(kind):
    frame = {
        column.name: cw.read("sample:votes").codes(column.name).astype(str)
        for column in cw.read("sample:votes").schema.attributes
    }
    labels = cw.read("sample:votes").labels
    one = cw.read({**frame, "party": labels}, target="party")
    other = cw.read(
        {
            **{name: np.char.add("level ", cells)[:] for name, cells in frame.items()},
            "party": [f"z{len(label)} {label}" for label in labels],
        },
        target="party",
    )
    assert kind().fit(one).smoothing_ == kind().fit(other).smoothing_


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_of_few_different_rows_has_all_of_them(weighted):
    rng = np.random.default_rng(0)
    frame = {name: rng.choice(["u", "v"], 1000) for name in "abc"} | {
        "y": rng.choice(["p", "q"], 1000)
    }
    table = cw.read(frame, target="y")
    weight = np.full(1000, 3.0) if weighted else None
    repeats = None if weight is None else weight.astype(int)
    some, amounts = some_rows(table, weight, repeats, 300)
    taken = np.ones(len(some)) if amounts is None else amounts
    assert taken.sum() == 300
    whole = np.bincount(table.target) / 1000
    np.testing.assert_allclose(np.bincount(some.target, taken) / 300, whole, atol=0.02)
    assert len(np.unique(sorted_keys(some))) == len(np.unique(sorted_keys(table)))


def test_neighbors_of_many_copies_choose_like_repeated_rows(monkeypatch):
    monkeypatch.setattr("countwise.models.neighbors.choose_votes.SEARCHED_ROWS", 300)
    table = cw.read("sample:glass")
    weight = 1.0 + np.arange(len(table)) % 4
    repeated = np.repeat(np.arange(len(table)), weight.astype(int))
    shuffled = np.random.default_rng(1).permutation(repeated)
    for kind in (cw.Neighbors(), cw.Neighbors("auto")):
        weighted = kind.fit(table, sample_weight=weight)
        chosen = weighted.smoothing_, *weighted.k_and_weights
        again = kind.fit(table.take(shuffled))
        assert (again.smoothing_, *again.k_and_weights) == chosen


@pytest.mark.parametrize("kind", [cw.ID3, cw.Tree, cw.Neighbors, cw.CondensedNeighbors])
def test_a_number_given_after_training_counts(kind, tmp_path):
    table = cw.read("sample:iris")
    model = kind().fit(table).set_params(smoothing=10)
    expected = kind(smoothing=10).fit(table).predict_proba(table)
    np.testing.assert_array_equal(model.predict_proba(table), expected)
    cw.save(model, tmp_path / "m.cw")
    np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict_proba(table), expected)


@pytest.mark.parametrize("number", [10**400, 1e7, -1, float("nan"), "5", None, True])
def test_numbers_that_no_smoothing_is(number):
    for kind in (cw.ID3, cw.Tree, cw.Neighbors, cw.CondensedNeighbors):
        with pytest.raises(ParameterError, match="smoothing must be"):
            kind(smoothing=number).fit(cw.read("sample:weather"))


def test_equal_votes_stay_equal_but_for_the_first():
    model = cw.Neighbors(n_neighbors=2, smoothing=1)
    rows = {"x": [0, 2, 1, 2, 1, 1.0]}
    answers = {
        amount: model.set_params(smoothing=amount).fit(rows, list("cbaaab")).predict(rows).tolist()
        for amount in (1, 1.5, 2, 50, 1e6)
    }
    assert len(set(map(tuple, answers.values()))) == 1


def test_equal_losses_take_the_smaller_number():
    losses = np.ones(len(AMOUNTS))
    losses[3:6] = 0.5
    assert least_loss(losses) == AMOUNTS[3]
