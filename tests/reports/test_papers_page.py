"""The page of re-made papers in a real browser."""

import pytest

from countwise_papers.pages import write
from countwise_papers.reproduce import reproduce

from .test_browser import BLOCKS, OVERLAPS


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_CACHE", str(folder / "kept"))
        parts = ["p0-table-1", "p2-weather", "p4-neighbors", "p4-least-error", "p4-logistic"]
        write(reproduce(only=[*parts, "p4-boosting"]), folder / "papers.html")
    return browser.open(folder / "papers.html")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_overlaps_on_a_wide_screen(page, dark):
    page.resize(1280, dark)
    page.ask("document.querySelectorAll('details').forEach(own => { own.open = true; })")
    assert page.ask("document.documentElement.scrollWidth") <= 1280
    assert page.ask(OVERLAPS) == []
    assert page.ask(BLOCKS) == []
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith("file:")] == []


def test_a_narrow_screen_scrolls_tables_not_the_page(page):
    page.resize(400, False)
    assert page.ask("document.documentElement.scrollWidth") <= 400


def test_every_verdict_has_its_own_colour(page):
    page.resize(1280, False)
    colour = "getComputedStyle(document.querySelector('.v.{}')).backgroundColor"
    assert page.ask(colour.format("same")) != page.ask(colour.format("wrong"))
