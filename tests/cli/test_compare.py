"""countwise compare: the score that ranks, the rows that are tested, several data sets."""

import csv
import json
import random

from .conftest import refused, write_csv


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


def visits(folder):
    draw = random.Random(4)
    rows = [
        (
            draw.choice("uvw"),
            f"{draw.gauss(0, 1):.3f}",
            f"p{at % 40:03}",
            f"2021-{1 + at // 28:02}-{1 + at % 28:02}",
            str(at % 3),
            draw.choice(["yes", "no"]),
        )
        for at in range(120)
    ]
    header = ("a", "x", "patient", "day", "part", "class")
    return write_csv(folder / "visits.csv", rows, header)


def test_columns_say_which_rows_are_tested(run, folder):
    file = visits(folder)
    args = ("compare", file, "-m", "naive-bayes,id3", "--json")
    facts = json.loads(run(*args, "--group", "patient", "--folds", "5").stdout)
    assert "40 groups kept together" in facts["protocol"]
    facts = json.loads(run(*args, "--time", "day").stdout)
    assert facts["protocol"].startswith("10 folds in order of time")
    assert [fold["trained"] for fold in facts["folds"]] == sorted(
        fold["trained"] for fold in facts["folds"]
    )
    facts = json.loads(run(*args, "--time", "day", "--holdout", "0.25").stdout)
    assert [(fold["trained"], fold["tested"]) for fold in facts["folds"]] == [(90, 30)]
    facts = json.loads(run(*args, "--fold", "part").stdout)
    assert [fold["tested"] for fold in facts["folds"]] == [40, 40, 40]
    assert "models do not get it" in run(*args[:-1], "--fold", "part").stderr


def test_a_page_of_grouped_folds_has_no_curve(run, folder):
    args = ("compare", visits(folder), "-m", "naive-bayes", "--group", "patient")
    done = run(*args, "--report", "page.html")
    assert "no learning curve: a curve deals rows in memory at random" in done.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "groups kept together" in page
    assert '<section id="curve">' not in page


def test_shuffled_dates_are_noted(run, folder):
    done = run("compare", visits(folder), "-m", "naive-bayes")
    assert "--time day trains on earlier rows" in done.stderr


def test_columns_that_cannot_say_it_are_refused(run, folder):
    file = visits(folder)
    message = refused(run("compare", file, "--group", "patint"))
    assert "compare: --group must name a column; got 'patint'. Did you mean 'patient'?" in message
    message = refused(run("compare", file, "--time", "a"))
    assert "compare: --time must be a column of numbers, or of dates" in message
    message = refused(run("compare", file, "--fold", "part", "--folds", "3"))
    assert "--fold names the tested rows; omit --folds" in message
    message = refused(run("compare", file, "--group", "patient", "--folds", "50"))
    assert "--folds must be at most the number of groups, 40; got 50." in message


def test_several_files_give_one_table(run, folder):
    args = ("compare", "sample:votes", "sample:iris", "-m", "naive-bayes,tan,id3", "--folds", "5")
    done = run(*args, "-o", "table.tex", "--report", "table.html")
    assert done.exit_code == 0, done.stderr
    assert "win/tie/loss" in done.stdout
    assert "mean rank" in done.stdout
    assert "\\hline" in (folder / "table.tex").read_text()
    assert "Models on all data sets" in (folder / "table.html").read_text(encoding="utf-8")
    assert run(*args, "-o", "table.csv", "--score", "auc").exit_code == 0
    with (folder / "table.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["data set"] for line in lines] == ["votes", "iris"]
    assert lines[0]["tan mark"] in ("v", "", "*")
    facts = json.loads(run(*args, "--baseline", "id3", "--json").stdout)
    assert facts["models"] == ["id3", "naive-bayes", "tan"]


def test_a_file_that_fails_is_named_after_the_results_of_the_others(run, folder):
    args = ("compare", "sample:votes", "gone.csv", "good.csv", "-m", "naive-bayes", "--folds", "3")
    done = run(*args, "-o", "table.csv")
    assert done.exit_code == 2
    assert "votes" in done.stdout
    last = done.stderr.splitlines()[-1]
    assert last.startswith("countwise: compare: 1 of 3 data sets could not be evaluated. gone: ")
    assert (folder / "table.csv").read_text().count("\n") == 3
    message = refused(run("compare", "gone.csv", "lost.csv"))
    assert "2 of 2 data sets could not be evaluated" in message


def test_columns_of_groups_serve_several_files(run, folder):
    file = visits(folder)
    (folder / "more.csv").write_text((folder / "visits.csv").read_text())
    args = ("compare", file, "more.csv", "-m", "naive-bayes", "--group", "patient", "--json")
    facts = json.loads(run(*args).stdout)
    assert all("40 groups" in line["protocol"] for line in facts["data_sets"])


def test_what_is_for_one_file_or_for_several_is_said(run, folder):
    message = refused(run("compare", "sample:credit-g", "sample:iris", "--gain", "sample", "-q"))
    assert "--gain sample is for one FILE" in message
    message = refused(run("compare", "sample:votes", "--baseline", "id3"))
    assert "--baseline is for several data sets" in message
    message = refused(run("compare", "sample:votes", "sample:iris", "--baseline", "idd"))
    assert "--baseline must be one of the entries" in message


def test_a_comparison_by_gain_says_that_probabilities_are_calibrated(run):
    done = run(
        "compare", "sample:credit-g", "--gain", "sample", "-m", "naive-bayes", "--folds", "2"
    )
    assert done.exit_code == 0
    assert "those of our models are calibrated or smoothed" in " ".join(done.stderr.split())
