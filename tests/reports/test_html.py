"""The page: one file, no network, inert, under a megabyte."""

import html.parser
import json
import re

import pytest

import countwise as cw
from countwise.errors import ParameterError, StoreError
from countwise.reports.data_facts import inspect_facts
from countwise.reports.html import render, write
from countwise.tables import datasets

BUNDLED = [sample.name for sample in datasets.all_samples() if sample.bundled]
MEGABYTE = 1_000_000
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Reader(html.parser.HTMLParser):
    """Collects elements and refuses tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], {}

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data


def read(page):
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def embedded(page):
    found = re.search(r'<script type="application/json" id="countwise-facts">(.*?)</script>', page)
    return json.loads(found[1])


@pytest.mark.parametrize("name", BUNDLED)
def test_every_sample_makes_a_page_under_a_megabyte(sample_facts, name):
    facts = sample_facts(name)
    page = render(facts)
    assert len(page.encode()) < MEGABYTE
    read(page)
    assert embedded(page) == facts


def test_the_page_loads_nothing(sample_facts):
    page = render(sample_facts("credit-g"))
    assert set(re.findall(r"https?://[^\"'\s<]+", page)) == {"http://www.w3.org/2000/svg"}
    reader = read(page)
    assert not {"img", "link", "iframe", "object", "embed", "base", "form"} & set(reader.tags)
    names = {name for name, _ in reader.attributes}
    assert not {"src", "srcset", "action", "background", "poster"} & names
    assert all(value.startswith("#") for name, value in reader.attributes if name == "href")
    assert not re.search(r"url\(|@import", page)


def test_the_script_is_small_and_the_policy_admits_only_it(sample_facts):
    page = render(sample_facts("weather"))
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    assert len(script.encode()) < 20_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "unsafe-inline" not in policy.split("script-src")[1]
    assert policy.startswith("default-src &#39;none&#39;")


def test_sections_come_in_order(sample_facts):
    page = render(sample_facts("credit-g"))
    found = re.findall(r'<section id="(\w+)"', page)
    assert found == ["ranking", "gain", "confusion", "why", "curve", "data", "measured"]
    assert page.index("verdict") < page.index('id="ranking"')
    assert f"countwise {cw.__version__}" in page
    bare = {**sample_facts("weather"), "curve": None, "model": None}
    assert re.findall(r'<section id="(\w+)"', render(bare)) == [
        "ranking", "confusion", "data", "measured",
    ]  # fmt: skip


def test_notes_show_their_codes():
    table = cw.read("sample:glass")
    page = render(inspect_facts(table, "sample:glass"))
    assert '<span class="code">T01</span>' in page
    assert "Identifier left out" in page


def test_light_dark_and_print_are_provided(sample_facts):
    page = render(sample_facts("weather"))
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert "width=device-width" in page


def test_hostile_data_are_inert(hostile_facts):
    page = render(hostile_facts)
    reader = read(page)
    assert reader.tags.count("script") == 2
    assert not {"b", "img"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert (
        "alert"
        not in reader.text["script"].replace(json.dumps(hostile_facts), "").split("use strict")[1]
    )
    assert "49" not in re.findall(r"a&amp;amp;b&#39;(\S+)", page)
    assert embedded(page) == hostile_facts


def test_a_page_can_be_made_from_facts_read_back(sample_facts):
    facts = sample_facts("iris")
    assert render(json.loads(json.dumps(facts))) == render(facts)


def test_rendering_is_deterministic(sample_facts):
    assert render(sample_facts("votes")) == render(sample_facts("votes"))


def test_writing_replaces_the_file_whole(tmp_path, sample_facts):
    path = tmp_path / "out.html"
    path.write_text("old")
    write(sample_facts("weather"), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [own.name for own in tmp_path.iterdir()] == ["out.html"]


def test_errors_are_one_sentence(tmp_path, sample_facts):
    with pytest.raises(
        ParameterError, match="facts must be of format 'countwise-facts', version 2"
    ):
        render({"format": "other"})
    with pytest.raises(ParameterError, match="comparison_facts or inspect_facts"):
        render({**sample_facts("weather"), "version": 1})
    with pytest.raises(StoreError, match="no directory"):
        write(sample_facts("weather"), tmp_path / "nowhere" / "out.html")


def test_the_public_door_writes_a_page(tmp_path):
    votes = cw.read("sample:votes")
    trials = cw.evaluate({"nb": cw.NaiveBayes()}, votes, folds=3)
    path = tmp_path / "votes.html"
    cw.report(trials, path, "sample:votes", model=cw.Logistic().fit(votes), name="ours")
    facts = embedded(path.read_text(encoding="utf-8"))
    assert facts["title"] == "sample:votes: predicting Class"
    assert facts["model"]["name"] == "ours"
    assert facts["data"]["rows"] == 435
    cw.report(trials, path, title="Votes")
    page = path.read_text(encoding="utf-8")
    assert "<h1>Votes</h1>" in page
    assert re.findall(r'<section id="(\w+)"', page) == ["ranking", "confusion", "measured"]
    read(page)
    with pytest.raises(ParameterError, match="trials must be the Trials that evaluate returns"):
        cw.report(votes, path)


def test_the_page_ends_with_hash_and_command_and_gives_accuracy_in_percent(tmp_path):
    votes = cw.read("sample:votes")
    trials = cw.evaluate({"bayes": cw.NaiveBayes()}, votes, folds=3)
    cw.report(trials, tmp_path / "page.html", votes, command="python votes.py")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(
        r"Rows: hash [0-9a-f]{16}\.\s+Command: <code>python votes.py</code>\.\s+Its", page
    )
    assert "Accuracy (%)" in page
