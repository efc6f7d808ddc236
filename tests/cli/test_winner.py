"""Costs and gains, yardsticks, the winner kept, and decisions said."""

import csv
import json
from pathlib import Path

import pytest

import countwise as cw

from .conftest import refused

COSTS = "true,good,bad\ngood,0,1\nbad,5,0\n"
SENTENCE = "Calling a 'bad' case 'good' costs 5 €."


@pytest.fixture
def costs(folder):
    (folder / "cost.csv").write_text(COSTS, encoding="utf-8")
    return "cost.csv"


def test_costs_are_gains_with_the_other_sign(run, costs):
    by_cost = run("compare", "sample:credit-g", "-m", "naive-bayes", "--cost", costs, "--json")
    by_gain = run("compare", "sample:credit-g", "-m", "naive-bayes", "--gain", "sample", "--json")
    told = json.loads(by_cost.stdout)["verdict"].replace("cost", "gain")
    assert told == json.loads(by_gain.stdout)["verdict"]


def test_every_command_says_the_gains_it_uses_with_their_unit(run, costs):
    given = ("--cost", costs, "--unit", "€")
    assert SENTENCE in run("fit", "sample:credit-g", *given, "-o", "c.cw").stderr
    for command in (("predict", "c.cw"), ("explain", "c.cw")):
        done = run(*command, "sample:credit-g")
        assert SENTENCE in done.stderr
        assert SENTENCE not in run(*command, "sample:credit-g", "-q").stderr


@pytest.mark.parametrize("option", ["--gain", "--cost"])
def test_a_matrix_of_the_wrong_sign_is_questioned_before_anything_runs(run, folder, option):
    text = COSTS if option == "--gain" else COSTS.replace("1", "-1").replace("5", "-5")
    (folder / "m.csv").write_text(text, encoding="utf-8")
    other = "--cost" if option == "--gain" else "--gain"
    done = run("fit", "no-such-file.csv", option, "m.csv", "-o", "x.cw")
    assert f"Give the file with {other}, or add --as-written" in refused(done)
    taken = run("fit", "sample:credit-g", option, "m.csv", "--as-written", "-o", "x.cw")
    assert taken.exit_code == 0


def test_gain_and_cost_exclude_each_other(run, costs):
    done = run("fit", "sample:credit-g", "--gain", "sample", "--cost", costs, "-o", "x.cw")
    assert "--gain and --cost exclude each other" in refused(done)


def test_a_yardstick_stands_below_the_ranking_and_the_winner_can_be_kept(run, folder):
    done = run(
        "compare",
        "sample:weather",
        "-m",
        "naive-bayes,discriminant,sklearn-boosting",
        "--folds",
        "3",
    )
    lines = done.stdout.splitlines()
    line = next(at for at, text in enumerate(lines) if text.strip() == "yardsticks")
    assert "sklearn-boosting" in lines[line + 1]
    assert "sklearn-boosting" not in "".join(lines[4:line])
    command = lines[-1].split()
    assert command[:2] == ["countwise", "fit"]
    assert run(*command[1:]).exit_code == 0
    assert cw.load(command[-1]).classes_.tolist() == ["no", "yes"]


def test_the_command_to_keep_the_winner_has_the_options_of_the_comparison(run, folder):
    done = run(
        "compare", "good.csv", "-t", "class", "-m", "naive-bayes", "--nominal", "x", "--json"
    )
    keep = json.loads(done.stdout)["keep"]
    assert (
        keep
        == "countwise fit good.csv --model naive-bayes --target class --nominal x -o naive-bayes.cw"
    )


def test_fit_best_trains_the_leader_of_a_comparison(run, folder):
    facts = json.loads(run("fit", "sample:iris", "--model", "best", "-o", "b.cw", "--json").stdout)
    compared = run("compare", "sample:iris", "--json")
    ours = [line["model"] for line in json.loads(compared.stdout)["summary"] if line["rank"]]
    assert facts["model"] == ours[0]
    assert facts["chosen"].startswith("Compared ")
    done = run("fit", "sample:iris", "--model", "best", "--param", "smoothing=1", "-o", "b.cw")
    assert "--param needs one model" in refused(done)


@pytest.mark.parametrize(
    ("option", "word", "sign"), [("--cost", "cost", 1), ("--gain", "gain", -1)]
)
def test_predictions_hold_the_expected_gain_or_cost_of_every_decision(
    run, costs, option, word, sign
):
    matrix = costs
    if option == "--gain":
        matrix = "gain.csv"
        with open(matrix, "w", encoding="utf-8") as file:
            file.write("true,good,bad\ngood,0,-1\nbad,-5,0\n")
    run("fit", "sample:credit-g", option, matrix, "-o", "c.cw", "-q")
    done = run("predict", "c.cw", "sample:credit-g", "-o", "a.csv")
    with open("a.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = ["class", "p_bad", "p_good", "decision", f"{word}_bad", f"{word}_good"]
    assert list(rows[0]) == names
    for row in rows:
        costs = {label: sign * float(row[f"{word}_{label}"]) for label in ("bad", "good")}
        assert costs["bad"] == pytest.approx(float(row["p_good"]), abs=2e-6)
        assert costs["good"] == pytest.approx(5 * float(row["p_bad"]), abs=1e-5)
        assert row["decision"] == min(costs, key=costs.__getitem__)
    assert "Accuracy of the most probable class" in done.stderr
    assert "of the decision" in done.stderr


def test_explain_says_why_the_decision_differs_from_the_class(run, costs):
    run("fit", "sample:credit-g", "--cost", costs, "-o", "c.cw", "-q")
    facts = json.loads(run("explain", "c.cw", "sample:credit-g", "--rows", "1-60", "--json").stdout)
    differ = [
        row["decision"]
        for row in facts["rows"]
        if row["decision"]["likely"] != row["decision"]["decision"]
    ]
    assert differ
    assert "Most likely 'good'" in differ[0]["sentence"]
    assert "decided 'bad': expected cost" in differ[0]["sentence"]


def test_a_page_recommends_in_money_and_names_date_hash_and_command(run, costs):
    done = run(
        "compare", "sample:credit-g", "-m", "naive-bayes,sklearn-forest", "--folds", "4",
        "--cost", costs, "--unit", "€", "--report", "r.html",
    )  # fmt: skip
    assert done.exit_code == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "Deciding by naive-bayes instead of calling every case" in page
    assert "€ per 1,000 cases (95 % interval:" in page
    assert "yardstick" in page
    assert "Rows: hash" in page
