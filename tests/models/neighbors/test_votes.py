"""Votes of many k at once are those of one k at a time, and of a slow, plain version."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import ParameterError
from countwise.models.neighbors import votes as votes_room
from countwise.models.neighbors.index import Index
from countwise.models.neighbors.metrics import learn_space
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.votes import (
    SAME,
    SCHEMES,
    Nearest,
    Voters,
    normalize_votes,
    score_votes,
    sum_votes,
)

KS = (1.0, 2.0, 2.5, 3.0, 5.0, 9.0)


def votes_of(found, voters, k, scheme="uniform"):
    return sum_votes(found, voters, (k,), scheme)[:, 0]


def steep(far):
    """A function that looks at more than one distance at a time."""
    return (
        np.where(np.isfinite(far), 1.0 / (1.0 + far), 0.0)
        / (1 + np.isfinite(far).sum(axis=1))[:, None]
    )


def slowly(found, voters, k, scheme):
    """The k nearest vote, by masks over the whole list; one k at a time."""
    places = voters.places[found.who]
    taken = np.cumsum(places, axis=1)
    last = np.minimum((taken < k - 1e-9).sum(axis=1), found.who.shape[1] - 1)
    reach = found.far[np.arange(len(last)), last]
    nearer = found.far < (reach * (1.0 - SAME))[:, None]
    tied = ~nearer & (found.far <= (reach * (1.0 + SAME))[:, None])
    inside = (places * nearer).sum(axis=1)
    open_end = tied[:, -1] & ~np.isnan(found.edge[:, -1])
    equals = np.where(open_end, found.edge[:, -1], (places * tied).sum(axis=1))
    left = np.maximum(k - inside, 0.0)
    share = np.minimum(np.divide(left, equals, out=np.zeros_like(left), where=equals > 0), 1.0)
    value, at_reach = _weights(found.far, reach, places, inside, equals, k, scheme)
    say = np.where(nearer, value, 0.0)
    say = say + np.where(tied & ~open_end[:, None], (share * at_reach)[:, None], 0.0)
    sums = np.einsum("qk,qkc->qc", say, voters.ballots[found.who])
    edge = np.where(open_end[:, None], found.edge[:, :-1], 0.0)
    return sums + (share * at_reach)[:, None] * edge


def _weights(far, reach, places, inside, equals, k, scheme):
    if callable(scheme):
        both = scheme(np.concatenate([far, reach[:, None]], axis=1))
        return both[:, :-1], both[:, -1]
    if scheme == "uniform":
        return np.ones_like(far), np.ones_like(reach)
    with np.errstate(all="ignore"):  # of rows that do not vote
        if scheme == "kernel":
            ratio = np.where(reach[:, None] > 0, far / reach[:, None], 0.0)
            bumps = np.exp(-0.5 * np.where(np.isfinite(ratio), ratio, 1.0) ** 2)
            return bumps, np.full_like(reach, math.exp(-0.5))
        if scheme == "rank":
            return _by_rank(far, places, inside, equals, k)
        power = 1 if scheme == "distance" else 2
        value = np.where(far > 0, (far[:, :1] / far) ** power, 1.0)
        at_reach = np.where(reach > 0, (far[:, 0] / reach) ** power, 1.0)
    return np.nan_to_num(value, nan=1.0), np.nan_to_num(at_reach, nan=1.0)


def _by_rank(far, places, inside, equals, k):
    """Each place weighs one less than the one before; equals get the mean of theirs."""
    stop = np.cumsum(places, axis=1)
    start = stop - places
    same = far[:, 1:] <= far[:, :-1] * (1.0 + SAME)
    for at in range(1, far.shape[1]):
        start[:, at] = np.where(same[:, at - 1], start[:, at - 1], start[:, at])
    for at in range(far.shape[1] - 2, -1, -1):
        stop[:, at] = np.where(same[:, at], stop[:, at + 1], stop[:, at])

    def mean(one, two):
        def total(t):
            return k * t - t * (t - 1.0) / 2.0

        wide = two - one
        return np.divide(total(two) - total(one), wide, out=np.ones_like(wide), where=wide > 0)

    return mean(start, stop), mean(inside, inside + np.minimum(equals, k - inside))


@st.composite
def polls(draw):
    """Lists with ties, near ties, distance zero and infinity, some ending among equals."""
    rows, width = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    queries, size = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    own = rng.choice([1.0, 1.0, 2.0, 3.0, 0.25, 1.7], rows)
    if draw(st.booleans()):
        ballots = np.zeros((rows, width))
        ballots[np.arange(rows), rng.integers(0, width, rows)] = own
    else:  # as a regressor's, of any sign
        ballots = rng.normal(size=(rows, width)) * own[:, None]
    steps = [0.0, 1.0, 1.0 + 2e-15, 1.0 + 1e-13, 2.0, 3.5, 1e-200, 1e200, np.inf]
    far = np.sort(rng.choice(steps, (queries, size)), axis=1)
    edge = np.full((queries, width + 1), np.nan)
    some = rng.random(queries) < 0.5
    edge[some] = rng.choice([0.5, 1.0, 2.0, 7.0], (int(some.sum()), width + 1))
    edge[some, -1] += 1.0
    found = Nearest(rng.integers(0, rows, (queries, size)), far, edge)
    return found, Voters(ballots, np.maximum(own, 1.0))


@pytest.mark.parametrize("scheme", [*SCHEMES, steep])
@given(polls())
@settings(max_examples=80, deadline=None)
def test_votes_of_every_k_are_those_of_the_slow_version(scheme, poll):
    found, voters = poll
    every = sum_votes(found, voters, KS, scheme)
    for at, k in enumerate(KS):
        slow = slowly(found, voters, k, scheme)
        np.testing.assert_allclose(every[:, at], slow, rtol=1e-12, atol=1e-12)
        # To the last bit, so that a grid and a model of its best k never disagree.
        np.testing.assert_array_equal(every[:, at], votes_of(found, voters, k, scheme))


@pytest.mark.parametrize("scheme", [*SCHEMES, steep])
@given(polls(), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_a_class_and_a_weight_say_what_a_column_for_each_class_says(scheme, poll, seed):
    found, other = poll
    rng = np.random.default_rng(seed)
    rows = len(other.places)
    label, own = rng.integers(0, other.width, rows), rng.choice([1.0, 2.0, 0.25, 1.7], rows)
    named = Voters.of_classes(label, other.width, own)
    spread = Voters(np.eye(other.width)[label] * own[:, None], np.maximum(own, 1.0))
    np.testing.assert_array_equal(named.total(), spread.total())
    few = rng.integers(0, rows, 3)
    for one, two in ((named, spread), (named.take(few), spread.take(few))):
        lists = Nearest(found.who % len(one.places), found.far, found.edge)
        np.testing.assert_array_equal(
            sum_votes(lists, one, KS, scheme), sum_votes(lists, two, KS, scheme)
        )


@pytest.mark.parametrize("scheme", [*SCHEMES, steep, np.zeros_like])
@given(polls(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_verdicts_are_read_off_the_shares_of_the_votes(scheme, poll, seed):
    found, voters = poll
    voters = Voters(np.abs(voters.ballots) + 0.01, voters.places)
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, voters.width, len(found.who))
    weight = rng.choice([1.0, 0.5, 3.0], len(truth))
    right, hoped, lost = score_votes(found, voters, KS, truth, weight, scheme)
    for at, k in enumerate(KS):
        votes = votes_of(found, voters, k, scheme)
        silent = ~(votes.sum(axis=1) > 0)
        votes[silent] = votes_of(found, voters, k)[silent]
        fractions = normalize_votes(votes)
        assert right[at] == pytest.approx(weight @ (fractions.argmax(axis=1) == truth))
        shares = fractions[np.arange(len(truth)), truth]
        assert hoped[at] == pytest.approx(weight @ shares)
        assert lost[at] == pytest.approx(-weight @ np.log(np.maximum(shares, 2.0**-52)))


def test_a_longer_list_says_the_same_to_the_last_bit():
    """A grid reads k off the list of its largest k, a model off one of its own, ended by ties."""
    table = cw.read("sample:votes")
    voters = Voters.of_classes(table.target, 2, None)
    index = Index(Search(learn_space(table, "vdm"), table), voters)
    longest = index.nearest(table, 20)
    for scheme in SCHEMES:
        every = sum_votes(longest, voters, range(1, 21), scheme)
        for k in (1, 2, 3, 7, 20):
            alone = votes_of(index.nearest(table, k), voters, k, scheme)
            np.testing.assert_array_equal(every[:, k - 1], alone)


def test_blocks_and_threads_do_not_show(monkeypatch):
    rng = np.random.default_rng(3)
    far = np.sort(rng.choice(6, (500, 9)).astype(float), axis=1)
    found = Nearest(rng.integers(0, 40, (500, 9)), far, np.full((500, 4), np.nan))
    voters = Voters(np.eye(3)[rng.integers(0, 3, 40)], np.ones(40))
    truth, weight = rng.integers(0, 3, 500), rng.random(500)
    whole = sum_votes(found, voters, KS, "kernel")
    monkeypatch.setattr(votes_room, "BLOCK", 64)
    scores = []
    for number in ("1", "3"):
        monkeypatch.setenv("COUNTWISE_THREADS", number)
        np.testing.assert_array_equal(sum_votes(found, voters, KS, "kernel"), whole)
        scores.append(np.stack(score_votes(found, voters, KS, truth, weight)))
    np.testing.assert_array_equal(*scores)


def test_no_queries_and_wrong_lists():
    voters = Voters(np.eye(2), np.ones(2))
    none = Nearest(np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
    assert sum_votes(none, voters, KS).shape == (0, len(KS), 2)
    wrong = Nearest(np.array([[0, 2]]), np.ones((1, 2)), np.full((1, 3), np.nan))
    with pytest.raises(ValueError, match="rows that vote"):
        votes_of(wrong, voters, 1)
    right = Nearest(np.array([[0, 1]]), np.ones((1, 2)), np.full((1, 3), np.nan))
    with pytest.raises(ValueError, match="ascend"):
        sum_votes(right, voters, (2, 1))
    with pytest.raises(ValueError, match="voted for"):
        score_votes(right, voters, (1,), np.array([2]), np.ones(1))
    with pytest.raises(ParameterError, match="one finite weight"):
        votes_of(right, voters, 1, lambda far: far[:, :1])


def test_a_distance_that_is_none_votes_for_nobody():
    found = Nearest(np.array([[0, 1]]), np.array([[1.0, np.nan]]), np.full((1, 3), np.nan))
    voters = Voters(np.eye(2), np.ones(2))
    assert sum_votes(found, voters, (1, 2)).tolist() == [[[1.0, 0.0], [0.0, 0.0]]]


@pytest.mark.parametrize(("left", "gap"), [(3, 5), (3, 7), (7, 7), (5, 21), (11, 13)])
def test_equal_votes_stay_equal_to_the_last_bit(left, gap):
    """One vote nearer, or so many more among equals that share what is left: it is the same."""
    equals = left * gap
    one = Voters(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.ones(2))
    for few in range((equals - gap) // 2 + 1):
        edge = np.array([[few, few + gap, equals - 2 * few - gap, equals]], dtype=float)
        found = Nearest(np.array([[0, 1]]), np.array([[1.0, 2.0]]), edge)
        votes = votes_of(found, one, 1.0 + left)[0]
        assert votes[0] == votes[1]
