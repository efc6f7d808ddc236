"""Several data sets: the table, its marks, wins and ranks, what fails, and what is written."""

import math

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, t

import countwise as cw
from countwise.errors import ParameterError

MODELS = {"bayes": cw.NaiveBayes(), "tan": cw.TAN(), "tree": cw.ID3()}
SETS = {
    "votes": "sample:votes",
    "iris": cw.read("sample:iris"),
    "glass": "sample:glass",
    "breast-w": "sample:breast-w",
}


@pytest.fixture(scope="module")
def experiment():
    return cw.evaluate(MODELS, SETS, folds=5)


def test_each_data_set_is_evaluated_as_if_alone(experiment):
    alone = cw.evaluate(MODELS, "sample:glass", folds=5)
    assert experiment.trials["glass"].score("accuracy", "tan").values == pytest.approx(
        alone.score("accuracy", "tan").values
    )
    assert experiment.models == ("bayes", "tan", "tree")
    assert [line["data"] for line in experiment.rows()] == list(SETS)


def test_marks_are_those_of_the_corrected_t_test(experiment):
    seen = set()
    for line in experiment.rows():
        trials = experiment.trials[line["data"]]
        for name in ("tan", "tree"):
            gaps = np.subtract(
                trials.score("accuracy", name).values, trials.score("accuracy", "bayes").values
            )
            scale = math.sqrt((1 / len(gaps) + trials.ratio) * gaps.var(ddof=1))
            p_value = 2 * t.sf(abs(gaps.mean()) / scale, len(gaps) - 1) if scale else 1.0
            mark = "" if p_value >= 0.05 else "v" if gaps.mean() > 0 else "*"
            assert line["scores"][name]["mark"] == mark
            seen.add(mark)
        assert line["scores"]["bayes"]["mark"] == ""
    assert len(seen) > 1
    wins = experiment.wins()
    assert all(sum(counts) == len(SETS) for counts in wins.values())
    assert wins["tree"][0] == sum(
        line["scores"]["tree"]["mark"] == "v" for line in experiment.rows()
    )


def test_ranks_are_friedman_s_and_nemenyi_s(experiment):
    ranks = experiment.ranks()
    figures = np.asarray(
        [[line["scores"][name]["value"] for name in MODELS] for line in experiment.rows()]
    )
    assert ranks.p_value == pytest.approx(friedmanchisquare(*figures.T).pvalue)
    assert sum(ranks.mean.values()) == pytest.approx(6)
    # Demšar (2006), table 5: q = 2.343 for three models.
    wanted = 2.343 * math.sqrt(3 * 4 / (6 * len(SETS)))
    assert ranks.critical_difference == pytest.approx(wanted, rel=1e-3)


def test_a_failing_data_set_is_named_and_the_others_stay():
    sets = {"votes": "sample:votes", "gone": "no such file.csv", "iris": "sample:iris"}
    experiment = cw.evaluate([cw.NaiveBayes(), cw.TAN()], sets, folds=3)
    assert list(experiment.trials) == ["votes", "iris"]
    assert "no such file.csv" in experiment.failures["gone"]
    assert "gone: " in str(experiment)
    with pytest.raises(ParameterError, match=r"no data set could be evaluated. gone: "):
        cw.evaluate(cw.NaiveBayes(), {"gone": "no such file.csv"})


def test_a_baseline_of_ones_choice_and_another_score():
    sets = {"votes": "sample:votes", "iris": "sample:iris"}
    experiment = cw.evaluate(MODELS, sets, folds=3, baseline="majority", score="log_loss")
    assert experiment.models == ("majority", "bayes", "tan", "tree")
    for line in experiment.rows():
        scores = line["scores"]
        order = sorted(scores, key=lambda name: scores[name]["value"])
        assert [scores[name]["rank"] for name in order] == [1, 2, 3, 4]
        assert scores["tan"]["mark"] == "v"  # a lower loss is a win
    with pytest.raises(ParameterError, match=r"baseline must be one of .* Did you mean 'tree'?"):
        cw.evaluate(MODELS, sets, baseline="trees")
    with pytest.raises(ParameterError, match="baseline is for several data sets"):
        cw.evaluate(MODELS, "sample:iris", baseline="tree")


def test_columns_are_one_data_set_and_options_may_go_by_data_set():
    columns = {"x": ["a", "b"] * 10, "y": ["c", "d"] * 10}
    assert isinstance(cw.evaluate(cw.NaiveBayes(), columns, target="y", folds=2), cw.Trials)
    one = {"x": ["a", "b"] * 10, "class": ["c", "d"] * 10}
    experiment = cw.evaluate(
        cw.NaiveBayes(),
        {"columns": columns, "more": one},
        target={"columns": "y", "more": "class"},
        folds={"columns": 2, "more": 5},
    )
    assert not experiment.failures
    assert [len(trials.folds) for trials in experiment.trials.values()] == [2, 5]


def test_progress_counts_data_sets():
    steps = []
    sets = {"votes": "sample:votes", "iris": "sample:iris"}
    cw.evaluate(MODELS, sets, folds=3, progress=lambda *step: steps.append(step))
    done = [step[0] for step in steps]
    assert done == sorted(done)
    assert done[-1] == 2
    assert {step[1] for step in steps} == {2}
    assert steps[0][2].startswith("votes: ")


def test_what_is_written(experiment, tmp_path):
    [line] = [line for line in experiment.records() if line["data set"] == "glass"]
    assert list(line)[:6] == ["data set", "rows", "classes", "bayes", "tan", "tan mark"]
    latex = experiment.to_latex()
    assert latex.startswith("\\begin{tabular}{lrrr}\n")
    assert "win/tie/loss" in latex
    assert "breast-w & " in latex
    cw.report(experiment, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Models on all data sets" in page
    assert experiment.verdict() in page
    assert "cannot be told apart (Nemenyi)" in page
    facts = experiment.to_dict()
    assert facts["wins_ties_losses"]["tan"] == list(experiment.wins()["tan"])
    assert "breast-w" in experiment._repr_html_()
