"""Claims in words: each verdict follows from the rows, and other rows turn it."""

import numpy as np
import pytest

import countwise as cw
from countwise_papers import best_bins
from countwise_papers import word_claims as claims
from countwise_papers.findings import Work
from countwise_papers.p0_probabilistic_voting import count_wins, judge_spread
from countwise_papers.p3_discrete_bayes import judge_rounding, judge_volumes


class Planted(Work):
    """Work on rows made by a test instead of the bundled sets."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def table(self, name, **options):
        return self.make(np.random.default_rng(["one", "two"].index(name)))


@pytest.fixture(autouse=True)
def two_sets(monkeypatch):
    monkeypatch.setattr(claims, "SETS", ("one", "two"))
    monkeypatch.setattr(claims, "REPEATS", 6)


def columns(rng, rows=120, labels=None, **given):
    labels = rng.integers(0, 2, rows) if labels is None else labels
    return cw.read({**given, "class": labels.astype(str)}, target="class")


def apart(rng):
    """Two classes far from each other in two columns."""
    labels = rng.integers(0, 2, 120)
    x, y = (rng.normal(4 * labels, 1.0) for _ in range(2))
    return columns(rng, labels=labels, x=x, y=y)


def unrelated(rng):
    """Columns that say nothing about the class."""
    return columns(rng, x=rng.normal(size=120), y=rng.normal(size=120))


def line(rng):
    """Classes on either side of a slanted line, between two columns that go together."""
    x = rng.normal(size=120)
    y = x + rng.normal(0, 0.3, 120)
    return columns(rng, labels=(y > x).astype(int), x=x, y=y)


def rings(rng):
    """Classes with one mean and two spreads: densities tell them apart, no line does."""
    labels = rng.integers(0, 2, 120)
    x, y = (rng.normal(0, np.where(labels == 1, 4.0, 0.7)) for _ in range(2))
    return columns(rng, labels=labels, x=x, y=y)


def one_column(rng):
    labels = np.arange(120) % 2
    return columns(rng, labels=labels, x=rng.normal(2.0 * labels, 1.0))


def verdict(make, settings, measure, gaps, absent=False):
    runs = claims.run(Planted(make), settings, measure)
    return claims.Claim("printed", "x", gaps, absent).judge("P2.11", runs).verdict


def verdict_on(gaps, absent=False):
    runs = claims.Runs((), (0,), (), np.zeros(0))
    return claims.Claim("printed", "x", lambda _: gaps, absent).judge("P4.12", runs).verdict


def test_copies_spoil_naive_bayes_only_if_there_are_other_columns():
    def gaps(runs):
        return runs.loss("one column", 32)

    def weak_and_strong(rng):
        labels = np.arange(120) % 2
        weak, strong = rng.normal(0.5 * labels, 1.0), rng.normal(3.0 * labels, 1.0)
        return columns(rng, labels=labels, weak=weak, strong=strong, other=0 * weak)

    settings = (0, 32)
    assert verdict(weak_and_strong, settings, claims._measure_copies, gaps) == "agrees"
    assert verdict(one_column, settings, claims._measure_copies, gaps) == "differs"


def test_robust_is_judged_in_two_readings():
    def loss(runs):
        return runs.loss("naive Bayes", 0.4)

    def more(runs):
        return runs.loss("1-NN", 0.4) - runs.loss("naive Bayes", 0.4)

    settings = (0.0, 0.4)
    assert verdict(apart, settings, claims._measure_noise, more) == "agrees"
    assert verdict(unrelated, settings, claims._measure_noise, more) == "differs"
    assert verdict(unrelated, settings, claims._measure_noise, loss, absent=True) == "agrees"
    lost = 0.07 + 0.02 * np.random.default_rng(0).normal(size=(5, 10))
    assert verdict_on(lost, absent=True) == "differs"
    assert verdict_on(np.full((5, 10), 0.1)) == "agrees"  # all alike: there is no interval


def test_noise_degrades_neighbors_only_if_there_is_something_to_learn():
    def gaps(runs):
        return runs.loss("1-NN", 0.4)

    assert verdict(apart, (0.0, 0.4), claims._measure_noise, gaps) == "agrees"
    assert verdict(unrelated, (0.0, 0.4), claims._measure_noise, gaps) == "differs"


def test_small_k_is_sensitive_to_noise_only_if_there_is_something_to_learn():
    def gaps(runs):
        return runs.loss("1-NN", 0.2) - runs.loss("15-NN", 0.2)

    assert verdict(apart, (0.0, 0.2), claims._measure_noise, gaps) == "agrees"
    assert verdict(unrelated, (0.0, 0.2), claims._measure_noise, gaps) == "differs"


def test_irrelevant_columns_degrade_neighbors_only_if_there_is_something_to_learn():
    def gaps(runs):
        return runs.loss("1-NN", 50)

    assert verdict(line, (0, 50), claims._measure_columns, gaps) == "agrees"
    assert verdict(unrelated, (0, 50), claims._measure_columns, gaps) == "differs"


def test_discriminative_models_win_on_lines_and_lose_on_rings():
    def gaps(runs):
        return runs.values("logistic", 0) - runs.values("naive Bayes", 0)

    assert verdict(line, (0,), claims._measure_families, gaps) == "agrees"
    assert verdict(rings, (0,), claims._measure_families, gaps) == "differs"


def test_half_of_the_rows_are_too_many_neighbors_only_if_nine_are_not():
    def gaps(runs):
        return runs.values("k-NN", 9) - runs.values("k-NN", 0.5)

    assert verdict(line, (9, 0.5), claims._measure_k, gaps) == "agrees"
    assert verdict(unrelated, (9, 0.5), claims._measure_k, gaps) == "differs"


def test_bagging_lowers_a_variance_that_is_there():
    def gaps(runs):
        return runs.values("tree", 0) - runs.values("bagged", 0)

    def clear(rng):
        labels = np.arange(120) % 2
        return columns(rng, labels=labels, x=rng.normal(100.0 * labels, 1.0))

    assert verdict(clear, (0,), claims._measure_variance, gaps) == "differs"
    lower = 0.07 + 0.02 * np.random.default_rng(0).normal(size=(5, 10))
    assert verdict_on(lower) == "agrees"
    assert verdict_on(-lower) == "differs"


def test_the_best_number_of_bins_must_go_with_the_classes():
    def verdicts(best):
        return [found.verdict for found in best_bins.proportional(best, classes)]

    classes = [2, 3, 6, 8, 2]
    rng = np.random.default_rng(0)
    times = 3 * np.asarray(classes)[:, None] + rng.integers(-1, 2, (5, 10))
    assert verdicts(times) == ["agrees", "agrees"]
    assert verdicts(20 + times / 10) == ["differs", "agrees"]  # rising, but not in proportion
    assert verdicts(40 - times) == ["differs", "differs"]
    assert verdicts(np.full((5, 10), 10.0)) == ["differs", "differs"]


def test_every_number_of_bins_is_tried_by_ten_fold_cross_validation():
    assert tuple(range(2, 41)) == best_bins.BINS
    table = cw.read("sample:iris")
    found = best_bins._by_bins(table, (2, 5), 2, Work(quick=True))
    assert found.shape == (2, 10, 2, 3)
    models = {
        "nb": cw.NaiveBayes(numeric="cuts", cuts="width", bins=5),
        "tan": cw.TAN(cuts="width", bins=5),
        "id3": cw.ID3(numeric="cuts", cuts="width", bins=5),
    }
    trials = cw.evaluate(models, table, repeats=2)
    expected = [trials.score("accuracy", name).value for name in models]
    assert found[:, :, 1].mean(axis=(0, 1)) == pytest.approx(expected, abs=1e-12)


def test_the_spread_over_k_is_judged_in_two_readings():
    def verdicts(gaps):
        return [found.verdict for found in judge_spread(gaps)]

    assert verdicts([0.01] * 15) == ["agrees", "agrees"]
    assert verdicts([-0.01] * 8 + [0.01] * 7) == ["differs", "agrees"]
    assert verdicts([-0.01] * 15) == ["differs", "differs"]


def test_wins_are_counted_with_a_sign_test():
    found = count_wins("P0.9", "x", [4] * 14 + [0], "14 of 15, 1 tie")
    assert (found.verdict, found.ours) == ("agrees", "14 of 15, 1 tie; sign test p = 6.1e-05")
    assert count_wins("P0.9", "x", [1] * 8 + [-1] * 7, "14 of 15").verdict == "differs"
    assert count_wins("P0.9", "x", [-4] * 14 + [0], "14 of 15").verdict == "differs"
    assert count_wins("P0.9", "x", [0] * 15, "14 of 15").verdict == "differs"


def test_levels_must_fit_the_budget_and_volumes_must_earn_alike():
    assert [f.verdict for f in judge_rounding([6] * 5, 10_000)] == ["agrees", None]
    assert [f.verdict for f in judge_rounding([7] * 5, 10_000)] == ["differs", None]
    assert judge_volumes([0.0, 0.019]).verdict == "agrees"
    assert judge_volumes([0.0, 0.021]).verdict == "differs"


def test_rows_are_spoiled_as_asked():
    table = cw.read("sample:iris")
    rng = np.random.default_rng(0)
    wrong = claims.mislabel(table, 0.2, rng)
    assert np.mean(wrong.target != table.target) == pytest.approx(0.2, abs=0.08)
    assert claims.mislabel(table, 0.0, rng) == table
    wide = claims.add_noise_columns(table, 3, rng)
    assert len(wide.schema.attributes) == len(table.schema.attributes) + 3
    votes = cw.read("sample:votes")
    name = votes.schema.attributes[0].name
    double = claims.copy_columns(votes, [name], 2)
    assert np.array_equal(double.codes(f"{name} copy 1"), votes.codes(name))


@pytest.mark.slow
@pytest.mark.parametrize("part", [best_bins.bins_and_classes, claims.warnings, claims.summaries])
def test_a_part_draws_and_judges_every_claim(part, monkeypatch):
    for module in (claims, best_bins):
        monkeypatch.setattr(module, "SETS", ("iris", "glass"))
    out = part.run(Work(quick=True))
    judged = [found for found in out.findings if found.printed]
    assert {found.ledger for found in out.findings} == set(part.ledger)
    assert len(judged) == {"P1.12": 2, "P2.11": 5, "P4.12": 7}[part.ledger[0]]
    assert {found.verdict for found in judged} <= {"agrees", "differs"}
    assert len(out.pictures) == {"P1.12": 1, "P2.11": 3, "P4.12": 3}[part.ledger[0]]
    assert all(picture.svg.startswith("<svg") for picture in out.pictures)
