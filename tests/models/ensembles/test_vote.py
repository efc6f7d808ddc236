"""Vote: ways of voting over unlike models, agreement, and the error of independent members."""

from types import MappingProxyType

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import countwise as cw
from countwise.errors import ParameterError
from countwise.models.ensembles.vote import Vote, ensemble_error

UNLIKE = {"bayes": cw.NaiveBayes(), "tree": cw.ID3(max_depth=2), "logistic": LogisticRegression()}


@pytest.fixture(scope="module")
def credit():
    return cw.read("sample:credit-g")


def test_p4_9_twenty_five_members():
    assert ensemble_error(25, 0.35) == pytest.approx(0.06, abs=0.0005)
    assert ensemble_error(1, 0.35) == pytest.approx(0.35)
    assert ensemble_error(2, 0.5) == pytest.approx(0.5)
    assert (ensemble_error(5, 0), ensemble_error(5, 1)) == (0, 1)
    assert ensemble_error(10_001, 0.49) < 0.03


@pytest.mark.parametrize(("members", "error"), [(0, 0.3), (2.5, 0.3), (3, 1.2), (True, 0.1)])
def test_the_formula_refuses_what_it_cannot_take(members, error):
    with pytest.raises(ParameterError, match="ensemble_error"):
        ensemble_error(members, error)


@pytest.mark.parametrize("how", ["majority", "weighted", "mean", "roulette", "gain"])
def test_argmax_of_the_posterior_is_the_label(credit, how):
    gain = {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}
    model = Vote(UNLIKE, how, gain=gain).fit(credit)
    shares = model.predict_proba(credit)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(credit), model.classes_[shares.argmax(axis=1)])
    np.testing.assert_allclose(model.votes(credit), shares * model.weights_.sum())
    each = model.member_votes(credit)
    np.testing.assert_allclose((each * model.weights_[:, None]).sum(axis=1), model.votes(credit))
    assert set(model.members_) == set(UNLIKE)


def test_votes_are_those_of_the_members(credit):
    model = Vote(UNLIKE, "majority").fit(credit)
    alone = cw.NaiveBayes().fit(credit).predict(credit)
    votes = model.member_votes(credit)[:, 0]
    np.testing.assert_array_equal(model.classes_[votes.argmax(axis=1)], alone)


def test_soft_and_hard_votes_are_scikit_learns():
    iris = cw.read("sample:iris")
    X = np.column_stack([iris.values(c.name) for c in iris.schema.numeric])
    bases = [GaussianNB(), DecisionTreeClassifier(max_depth=1, random_state=0),
             DecisionTreeClassifier(max_depth=2, random_state=0)]  # fmt: skip
    pairs = [(str(at), model) for at, model in enumerate(bases)]
    soft = VotingClassifier(pairs, voting="soft").fit(X, iris.labels)
    ours = Vote(bases, "mean").fit(X, iris.labels)
    np.testing.assert_allclose(ours.predict_proba(X), soft.predict_proba(X), atol=1e-6)
    hard = VotingClassifier(pairs, voting="hard").fit(X, iris.labels)
    np.testing.assert_array_equal(
        Vote(bases, "majority").fit(X, iris.labels).predict(X), hard.predict(X)
    )


def test_given_weights_count_and_learned_ones_favour_the_better(credit):
    dictator = Vote(UNLIKE, "weighted", weights=[0, 5, 1]).fit(credit)
    np.testing.assert_array_equal(
        dictator.predict(credit), dictator.members_["tree"].predict(credit)
    )
    noise = cw.ID3(max_depth=0)
    learned = Vote([cw.NaiveBayes(), noise], "weighted").fit(cw.read("sample:votes"))
    assert learned.weights_[0] > learned.weights_[1]
    with pytest.raises(ParameterError, match="weights must be 3 numbers"):
        Vote(UNLIKE, "weighted", weights=[1, 2]).fit(credit)


def test_gain_votes_for_what_earns(credit):
    gain = cw.GainMatrix.of({"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}})
    careful = Vote([cw.NaiveBayes()], "gain", gain=gain).fit(credit)
    decided = cw.Decide(cw.NaiveBayes(), gain).fit(credit)
    np.testing.assert_array_equal(careful.predict(credit), decided.predict(credit))
    plain = Vote([cw.NaiveBayes()], "gain", gain=np.eye(2)).fit(credit)
    np.testing.assert_array_equal(
        plain.predict(credit), cw.NaiveBayes().fit(credit).predict(credit)
    )
    with pytest.raises(ParameterError, match="needs a gain matrix"):
        Vote(UNLIKE, "gain").fit(credit)
    with pytest.raises(ParameterError, match="every class must have a row"):
        Vote(UNLIKE, "gain", gain={"good": {"good": 1}}).fit(credit)


def test_members_that_are_alike_are_remarked_on(credit):
    alike = Vote([cw.NaiveBayes(), cw.NaiveBayes(smoothing=2), cw.NaiveBayes(smoothing=3)]).fit(
        credit
    )
    assert alike.agreement_[0, 1] > 0.98
    assert any(note.code == "V02" for note in alike.notes_)
    np.testing.assert_allclose(alike.agreement(credit), alike.agreement_)
    np.testing.assert_allclose(alike.agreement_, alike.agreement_.T)


def test_independent_members_are_not_remarked_on():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    cells = {f"c{at}": np.where(rng.random(4000) < 0.3, 1 - y, y).astype(str) for at in range(3)}
    table = cw.read({**cells, "y": y}, target="y")
    one_column = [_OneColumn(name) for name in cells]
    model = Vote(one_column, "majority").fit(table)
    assert not [note for note in model.notes_ if note.code == "V02"]
    error = 1 - model.score(table)
    assert error == pytest.approx(ensemble_error(3, 0.3), abs=0.03)


class _OneColumn(cw.NaiveBayes):
    """Naive Bayes that looks at one column."""

    def __init__(self, only="c0"):
        super().__init__()
        self.only = only

    def get_params(self, deep=True):
        return {"only": self.only}

    PARAMETERS = MappingProxyType({})

    def terms(self, counts):
        whole = super().terms(counts)
        from countwise.models.bayes.score_terms import ScoreTerms

        return ScoreTerms(whole.base, [t for t in whole.terms if t.columns == (self.only,)])


def test_a_list_names_its_members_by_their_kind(credit):
    model = Vote([cw.NaiveBayes(), cw.NaiveBayes(2.0)]).fit(credit)
    assert list(model.members_) == ["NaiveBayes", "NaiveBayes 2"]
    with pytest.raises(ParameterError, match="estimators must be"):
        Vote([]).fit(credit)
