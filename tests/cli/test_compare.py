"""countwise compare: the score that ranks, the rows that are tested, several data sets."""

import json

from .conftest import refused


def test_a_score_ranks(run, folder):
    args = ("compare", "sample:credit-g", "-m", "naive-bayes,id3", "--folds", "3")
    done = run(*args, "--score", "auc", "--report", "auc.html", "-o", "auc.csv")
    assert done.exit_code == 0, done.stderr
    assert "AUC" in done.stdout
    assert "in AUC" in done.stdout
    assert "auc_low" in (folder / "auc.csv").read_text()
    page = (folder / "auc.html").read_text(encoding="utf-8")
    assert "by AUC" in page
    assert '<th class="n" title="agreement beyond chance (Cohen)">Kappa</th>' in page
    facts = json.loads(run(*args, "--score", "balanced-accuracy", "--json").stdout)
    assert facts["ranked_by"] == "balanced_accuracy"


def test_a_score_that_cannot_rank_is_refused(run, folder):
    message = refused(run("compare", "sample:iris", "--score", "kapa"))
    assert "compare: --score must be one of" in message
    assert "Did you mean 'kappa'?" in message
    message = refused(run("compare", "sample:iris", "--score", "expected_gain"))
    assert message.endswith("needs a gain matrix; got none. Pass --gain.\n")
