"""A picture: shown by notebooks, saved whole, with its own colours."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from countwise.errors import CountwiseError, ParameterError, StoreError
from countwise.reports.draw import Picture
from countwise.reports.figures.svg import drawing, label, rect

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def picture():
    body = rect(0, 0, 10, 5, "accent") + label(1, 4, "a < b", classes="high")
    return Picture(drawing(10, 5, "A <b>", "A box.", body), "A <b>")


def test_what_a_notebook_shows(picture):
    shown = picture._repr_html_()
    assert shown.startswith("<div")
    assert "<svg" in shown
    assert "prefers-color-scheme" in shown
    assert "var(" not in shown
    assert ElementTree.fromstring(picture._repr_svg_()).tag == SVG + "svg"
    assert str(picture) == picture._repr_svg_()
    assert 'viewBox="-12 -12 34 29" width="34" height="29"' in str(picture)
    assert repr(picture) == "<Picture: A <b>, 10 × 5 pixels>"


def test_a_saved_figure_stands_alone(picture, tmp_path):
    picture.save(tmp_path / "own.svg")
    root = ElementTree.fromstring((tmp_path / "own.svg").read_text(encoding="utf-8"))
    assert root.find(SVG + "style") is not None
    picture.save(str(tmp_path / "OWN.HTML"))
    page = (tmp_path / "OWN.HTML").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>A &lt;b&gt;</title>" in page
    assert re.findall(r"https?://[^\"]+", page) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in page
    assert sorted(own.name for own in tmp_path.iterdir()) == ["OWN.HTML", "own.svg"]


@pytest.mark.parametrize("path", ["a.gif", "a", "", "a.svg.gz", Path("a.jpg"), 5, None, b"a.svg"])
def test_other_suffixes_are_refused_in_one_sentence(picture, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=r"ends in \.svg, \.html, \.png or \.pdf; got"):
        picture.save(path)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_said(picture, tmp_path):
    with pytest.raises(StoreError, match="no directory"):
        picture.save(tmp_path / "nowhere" / "a.svg")
    assert issubclass(StoreError, CountwiseError)


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_light_and_dark_in_a_browser(picture, browser, tmp_path, suffix):
    path = tmp_path / f"own.{suffix}"
    picture.save(path)
    page = browser.open(path, 800)
    fill = "getComputedStyle(document.querySelector('rect')).fill"
    light = page.ask(fill)
    page.resize(800, dark=True)
    assert page.ask(fill) != light
    assert page.errors == []
    assert len(page.requests) == 1
