"""Plans, counts, moments and grids by hand, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest

import countwise as cw
from countwise.counts.count_rows import ENGINES
from countwise.counts.engines import memory
from countwise.counts.histogram import MOST_CELLS, Grid, keys_of, values_of
from countwise.counts.moments import Moments
from countwise.errors import CountsError, ParameterError
from countwise.store.codec import decode, encode
from countwise.tables.schema import level_key


@pytest.fixture
def weather():
    return cw.read("sample:weather")


def test_the_table_of_weather(weather):
    counts = cw.count(weather, cw.Plan.pairs(weather.schema))
    both = counts.table("outlook", "windy")
    assert both.shape == (3, 4, 3)
    assert both.sum() == 14
    turned = counts.table("windy", "outlook")
    np.testing.assert_array_equal(turned, both.transpose(0, 2, 1))
    np.testing.assert_array_equal(counts.table("outlook"), both.sum(axis=2))
    assert counts.levels("outlook") == ("sunny", "overcast", "rainy")
    assert counts.total == 14
    assert "14 rows (no 5, yes 9): 10 tables of outlook, " in repr(counts)


def test_missing_has_a_slot_on_every_axis():
    table = cw.read({"a": ["x", None, None], "b": [None, "u", None], "y": list("pqp")}, target="y")
    joint = cw.count(table, cw.Plan.joint(table.schema, "a", "b")).table("a", "b")
    assert joint[0].tolist() == [[0, 1], [0, 1]]
    assert joint[1].tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_large_and_wide_axes(engine):
    rng = np.random.default_rng(0)
    n = 3000
    data = {
        "many": rng.integers(0, 300, n),
        "more": rng.integers(0, 70_000, n),
        "few": rng.integers(0, 3, n),
        "y": rng.integers(0, 4, n),
    }
    table = cw.read(data, target="y", nominal=["many", "more", "few"])
    counts = cw.count(
        table,
        cw.Plan.pairs(table.schema, ["many", "few"]) | cw.Plan.each(table.schema),
        engine=engine,
    )
    expected = np.zeros((4, 300))
    np.add.at(expected, (data["y"], data["many"]), 1)
    seen = np.unique(data["many"])
    np.testing.assert_array_equal(counts.table("many")[:4, :-1], expected[:, seen])
    assert counts.table("more").sum() == n


def test_unseen_levels_are_counted_as_missing(weather):
    rows = cw.read(
        {
            "outlook": ["fog"],
            "temperature": ["hot"],
            "humidity": ["high"],
            "windy": ["TRUE"],
            "play": ["yes"],
        },
        schema=weather.schema,
    )
    for engine in ENGINES:
        assert cw.count(rows, engine=engine).table("outlook")[1].tolist() == [0, 0, 0, 1]


def test_plans():
    schema = cw.read("sample:weather-numeric").schema
    each = cw.Plan.each(schema, numeric="both")
    assert each.moments == each.grids == ("temperature", "humidity")
    assert each.columns == ("outlook", "windy", "temperature", "humidity")
    assert cw.Plan.each(schema) in each
    assert each not in cw.Plan.each(schema)
    assert decode(cw.Plan, *encode(each)) == each
    with pytest.raises(CountsError, match="'humidity', which is numeric"):
        cw.Plan.joint(schema, "humidity")
    with pytest.raises(CountsError, match="must differ"):
        cw.Plan.joint(schema, "windy", "windy")
    with pytest.raises(CountsError, match="one column"):
        cw.Plan().within("windy") | cw.Plan().within("outlook")


def test_within_keeps_counts_apart(weather):
    plan = cw.Plan.each(weather.schema).within("windy")
    calm, windy = cw.count_groups(weather, plan)
    assert [calm.rows, windy.rows] == [8, 6] or [calm.rows, windy.rows] == [6, 8]
    assert calm + windy == cw.count(weather)
    with pytest.raises(CountsError, match="count_groups"):
        cw.count(weather, plan)


def test_refusals(weather):
    with pytest.raises(ParameterError, match="Did you mean 'memory'"):
        cw.count(weather, engine="memry")
    with pytest.raises(CountsError, match="names no class column"):
        cw.Counts.zero(weather.schema.without_target(), cw.Plan())
    with pytest.raises(CountsError, match="no table of 'outlook', 'windy'"):
        cw.count(weather).table("outlook", "windy")
    with pytest.raises(CountsError, match="same plan"):
        cw.count(weather) + cw.count(weather, cw.Plan.joint(weather.schema, "windy"))
    with pytest.raises(CountsError, match="14 whole numbers"):
        cw.count_groups(weather, groups=[0, 1])
    with pytest.raises(CountsError, match="from 0"):
        cw.count_groups(weather, groups=[-1] * 14)
    with pytest.raises(CountsError, match="groups must be stated"):
        cw.count_groups(weather)
    with pytest.raises(CountsError, match="at least one part"):
        cw.Counts.sum([])


def test_a_joint_table_too_large_for_memory_is_refused():
    n = 20_000
    data = {"a": np.arange(n) % 19_000, "b": np.arange(n) % 17_000, "y": np.arange(n) % 2}
    table = cw.read(data, target="y", nominal=["a", "b"])
    with pytest.raises(CountsError, match=r"at most \d+ cells; got \d+ for"):
        cw.count(table, cw.Plan.joint(table.schema, "a", "b"))


def test_merging_unites_levels_and_classes():
    one = cw.count({"a": ["x", "y"], "y": ["q", "p"]}, target="y")
    two = cw.count({"a": ["z", "x"], "y": ["r", "q"]}, target="y")
    both = one + two
    assert both.classes == ("p", "q", "r")
    assert both.levels("a") == ("x", "y", "z")
    assert both == two + one
    assert both - two == one
    whole = cw.count({"a": ["x", "y", "z", "x"], "y": ["q", "p", "r", "q"]}, target="y")
    assert both == whole
    assert decode(cw.Counts, *encode(both)) == both


def test_moments_keep_their_digits_far_from_zero():
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, 5000)
    for offset in (0.0, 1e6, 1e9):
        table = cw.read({"x": values + offset, "y": ["a"] * 5000}, target="y")
        moments = cw.count(table).moments["x"]
        shifted = (values + offset).astype(np.longdouble)
        assert moments.mean[0] == pytest.approx(float(shifted.mean()), rel=1e-15)
        assert moments.variance()[0] == pytest.approx(float(shifted.var(ddof=1)), rel=1e-9)


def test_moments_of_nothing():
    zero = Moments.zero(2)
    assert zero + zero == zero
    assert np.isnan(zero.variance()).all()
    assert zero.pooled() == (0.0, 0.0, 0.0)


def test_keys_sort_as_doubles_do():
    values = np.array([-np.finfo(float).max, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e300])
    keys = keys_of(values)
    assert np.all(np.diff(keys) >= 0)
    np.testing.assert_array_equal(values_of(keys), values + 0.0)


def test_grids_coarsen_together():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=9000), rng.lognormal(0, 3, size=9000)
    parts, labels = [], []
    for values in (first, second, np.concatenate([first, second])):
        table = cw.read({"x": values, "y": ["a", "b"] * (len(values) // 2)}, target="y")
        plan = cw.Plan.each(table.schema, numeric="grid")
        grid = cw.count(table, plan).grids["x"]
        assert cw.count(table, plan, engine="reference").grids["x"] == grid
        assert len(grid.keys) <= MOST_CELLS
        assert not grid.exact
        parts.append(grid)
        labels.append(grid.shift)
    one, two, both = parts
    assert one + two == both
    assert (one + two).shift == both.shift >= max(one.shift, two.shift)
    assert both - two == one
    middle = both.points
    assert np.all(np.diff(middle) > 0)
    with pytest.raises(CountsError, match=r"shift must be at least \d+; got 0"):
        both.coarser(0)
    assert decode(Grid, *encode(both)) == both


def test_folds_in_many_chunks_equal_one(monkeypatch):
    rng = np.random.default_rng(0)
    n = 5000
    data = {"a": rng.integers(0, 5, n), "x": rng.normal(size=n), "y": rng.integers(0, 2, n)}
    table = cw.read(data, target="y", nominal=["a"])
    plan = cw.Plan.each(table.schema, numeric="both")
    whole = cw.count(table, plan)
    monkeypatch.setattr(memory, "CHUNK", 701)
    assert cw.count(table, plan).close_to(whole)
    weight = rng.random(n)
    assert cw.count(table, plan, sample_weight=weight).close_to(
        cw.count(table, plan, sample_weight=weight, engine="reference")
    )


def test_plans_that_name_the_same_columns_in_another_order(weather):
    one = cw.count(weather, cw.Plan.joint(weather.schema, "outlook", "windy"))
    two = cw.count(weather, cw.Plan.joint(weather.schema, "windy", "outlook"))
    assert one == two
    assert (one + two).table("outlook", "windy").sum() == 28
    assert sum([one, two]) == one + two


def test_counts_of_other_targets_differ_without_a_fuss():
    one = cw.count({"a": ["x"], "y": ["p"]}, target="y")
    two = cw.count({"a": ["x"], "z": ["p"]}, target="z")
    assert one != two


def test_one_true_and_text_are_three_levels():
    left = cw.count({"a": [1, True] * 3, "y": ["p", "q"] * 3}, target="y")
    right = cw.count({"a": [True, 1] * 3, "y": ["q", "p"] * 3}, target="y")
    both = left + right
    cells = {
        level_key(level): both.table("a")[:2, place].tolist()
        for place, level in enumerate(both.levels("a"))
    }
    assert cells == {("number", 1): [6, 0], ("bool", True): [0, 6]}
    whole = cw.count({"a": [1, 2], "y": ["p", "q"]}, target="y", nominal=["a"])
    halves = cw.count({"a": [1.0, 2.5], "y": ["p", "q"]}, target="y", nominal=["a"])
    assert (whole + halves).levels("a") == (1, 2, 2.5)


def test_counts_of_a_wrong_shape_are_refused(weather):
    counts = cw.count(weather)
    narrow = {names: table[:, :1] for names, table in counts.tables.items()}
    with pytest.raises(CountsError, match="a place for each level"):
        replace(counts, tables=narrow).check()


def test_what_is_no_plan_and_no_group(weather):
    with pytest.raises(ParameterError, match="must be a Plan"):
        cw.count(weather, "each")
    with pytest.raises(CountsError, match="Number them anew"):
        cw.count_groups(weather, groups=np.arange(14) * 10**4)
    assert cw.count(weather, sample_weight=2).total == 28


def test_an_unknown_keyword_is_named():
    with pytest.raises(ParameterError, match=r"got 'weight'. Did you mean 'sample_weight'\?"):
        cw.count("sample:weather", weight=2)
    with pytest.raises(ParameterError, match=r"count_groups: .* Did you mean 'target'"):
        cw.count_groups("sample:weather", groups=[0] * 14, traget="play")
