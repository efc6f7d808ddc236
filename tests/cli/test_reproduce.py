"""``countwise reproduce``: what it prints and writes, and how it refuses."""

import csv
import json

import pytest

from .conftest import refused


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTWISE_CACHE", str(tmp_path / "kept"))


def test_one_figure_with_its_verdict(run, folder):
    done = run("reproduce", "--only", "P4.2")
    assert done.exit_code == 0
    assert "P(meningitis | stiff neck)" in done.stdout
    assert "1 printed figure: 1 agrees." in done.stdout


def test_as_json_with_protocol_seed_hash_and_code(run, folder):
    whole = json.loads(run("reproduce", "p4", "--only", "p4-vertebrates", "--json").stdout)
    (part,) = whole["parts"]
    assert part["seed"] == 0
    assert set(part["data"]) == {"vertebrates"}
    assert "def vertebrates(work" in part["code"]["text"]
    assert {finding["verdict"] for finding in part["findings"]} == {"agrees"}


def test_a_page_and_a_table_are_written(run, folder):
    done = run("reproduce", "--only", "P2.1", "--report", "p.html", "-o", "p.csv")
    assert done.exit_code == 0
    assert "Report written to p.html." in done.stderr
    assert "new day" in (folder / "p.html").read_text(encoding="utf-8")
    with open(folder / "p.csv", encoding="utf-8") as lines:
        assert {line["ledger"] for line in csv.DictReader(lines)} == {"P2.1"}


def test_figures_without_their_data_are_named_and_how_to_get_them(run, folder, monkeypatch):
    monkeypatch.delenv("COUNTWISE_DATA", raising=False)
    done = run("reproduce", "--only", "P1.1", "--report", "p.html")
    assert done.exit_code == 0
    advice = "Set COUNTWISE_DATA to a folder with soybean-small.csv, and run again."
    words = " ".join(done.stdout.split())
    assert "Left out: 1 of P1.1. Not bundled and out of reach: soybean-small." in words
    assert words.endswith(advice)
    assert advice in (folder / "p.html").read_text(encoding="utf-8")
    whole = json.loads(run("reproduce", "--only", "P1.1", "--json").stdout)
    assert whole["left_out"].endswith(advice)


def test_nothing_is_left_out_with_the_folder_of_the_environment(run, folder, uci, monkeypatch):
    monkeypatch.setenv("COUNTWISE_DATA", str(uci("soybean-small").parent))
    whole = json.loads(run("reproduce", "--only", "P1.1", "--json").stdout)
    assert whole["left_out"] == ""
    assert "cannot be run" not in whole["verdicts"]


def test_the_parts_are_listed_without_running(run, folder):
    listed = json.loads(run("reproduce", "--parts", "--json").stdout)
    assert "p3-search" in {part["name"] for part in listed}
    assert "p1-table-1" in run("reproduce", "--parts").stdout
    assert not (folder / "kept").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["p9"], "there is no paper 'p9'"),
        (["--only", "P4.99"], "there is no figure 'P4.99'"),
        (["--only", "P4.2", "--report", "page.txt"], "--report must name"),
        (["--only", "P4.2", "-o", "nowhere/p.csv"], "there is no directory"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(run, folder, args, words):
    assert words in refused(run("reproduce", *args))
    assert not (folder / "kept").exists()
