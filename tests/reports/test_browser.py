"""The page in a real browser: silent console, no request, nothing overlaps or overflows."""

import sys

import pytest

import countwise as cw
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.reports.data_facts import inspect_facts
from countwise.reports.html import write

from .pieces import view_of

WIDTHS = (1280, 400)
NAMES = ["weather", "iris", "votes", "credit-g", "audiology", "glass"]

# Boxes of letters include the empty space of ascenders and descenders: a little of it may touch.
OVERLAPS = """(() => {
  const bad = [];
  for (const svg of document.querySelectorAll('svg.cw')) {
    const edge = svg.getBoundingClientRect();
    if (!edge.width) continue;
    const name = svg.getAttribute('aria-label');
    const texts = [...svg.querySelectorAll('text')]
      .map(e => [e.textContent, e.getBoundingClientRect()]);
    texts.forEach(([words, r], at) => {
      if (r.left < edge.left - 2 || r.right > edge.right + 2 ||
          r.top < edge.top - 2 || r.bottom > edge.bottom + 2) bad.push(`${words} leaves ${name}`);
      for (const [other, s] of texts.slice(at + 1)) {
        const w = Math.min(r.right, s.right) - Math.max(r.left, s.left);
        const h = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
        if (w > 1.5 && h > 2.5) bad.push(`${words} / ${other} in ${name}`);
      }
    });
  }
  return bad;
})()"""

# Elements side by side in the flow of the page must not lie upon each other.
BLOCKS = """(() => {
  const bad = [];
  const kinds = 'h1,h2,h3,p,table,figure,.tile,.panels > div,summary,.notes li';
  const seen = [...document.querySelectorAll(kinds)]
    .filter(e => e.getClientRects().length).map(e => [e, e.getBoundingClientRect()]);
  seen.forEach(([e, r]) => {
    const outside = r.right > innerWidth + 1 || r.left < -1;
    if (outside) bad.push('beside the page: ' + e.textContent.slice(0, 40));
  });
  for (let i = 0; i < seen.length; i++) for (let j = i + 1; j < seen.length; j++) {
    const [a, r] = seen[i], [b, s] = seen[j];
    if (a.contains(b) || b.contains(a)) continue;
    const w = Math.min(r.right, s.right) - Math.max(r.left, s.left);
    const h = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
    if (w > 1 && h > 1) bad.push(a.textContent.slice(0, 30) + ' / ' + b.textContent.slice(0, 30));
  }
  return bad;
})()"""


@pytest.fixture(scope="module")
def opened(browser, sample_facts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    pages = {}

    def page(name):
        if name not in pages:
            write(sample_facts(name), folder / f"{name}.html")
            pages[name] = browser.open(folder / f"{name}.html")
        return pages[name]

    return page


def check(page, width, dark):
    page.resize(width, dark)
    page.ask("document.querySelectorAll('details').forEach(own => { own.open = true; })")
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask(OVERLAPS) == []
    assert page.ask(BLOCKS) == []
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith("file:")] == []
    assert len(page.requests) == 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_overlaps_and_nothing_is_asked_for(opened, name, width, dark):
    check(opened(name), width, dark)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("weather", "TAN"),
        ("votes", "TAN"),
        ("credit-g", "TAN"),
        ("audiology", "TAN"),
        ("weather", "KDB"),
        ("votes", "KDB"),
        ("iris", "AODE"),
        ("weather", "ID3"),
        ("iris", "ID3"),
        ("credit-g", "ID3"),
        ("votes", "pruned"),
        ("audiology", "pruned"),
        ("iris", "cuts"),
        ("iris", "cells"),
        ("credit-g", "cells"),
        ("audiology", "cells"),
        ("credit-g", "logistic"),
        ("audiology", "logistic"),
        ("iris", "network"),
        ("credit-g", "neighbors"),
        ("audiology", "neighbors"),
        ("iris", "bagging"),
        ("credit-g", "boosting"),
        ("audiology", "boosting"),
        ("weather", "vote"),
    ],
)
def test_a_model_is_explained_without_overlap(browser, explained, tmp_path, name, kind):
    write(explained(name, kind), tmp_path / "page.html")
    page = browser.open(tmp_path / "page.html")
    for width, dark in ((1280, False), (400, True)):
        check(page, width, dark)
    tip = page.ask("document.querySelector('#why svg.cw title')?.textContent")
    assert tip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "kind",
    [TAN, KDB, AODE, ID3, cw.DiscreteBayes, cw.Logistic, cw.Neighbors, cw.AdaBoost, cw.Vote],
)
def test_hostile_data_do_nothing_in_other_models(browser, hostile, tmp_path, kind, width):
    write(hostile(kind), tmp_path / "hostile.html")
    page = browser.open(tmp_path / "hostile.html", width)
    check(page, width, False)
    assert page.ask("document.scripts.length") == 2
    assert page.ask("document.images.length") == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_data_do_nothing(browser, hostile_facts, tmp_path, width):
    write(hostile_facts, tmp_path / "hostile.html")
    page = browser.open(tmp_path / "hostile.html", width)
    check(page, width, False)
    assert page.ask("document.scripts.length") == 2
    assert page.ask("document.images.length") == 0
    facts = "JSON.parse(document.getElementById('countwise-facts').textContent)"
    assert page.ask(f"{facts}.title") == hostile_facts["title"]


@pytest.mark.parametrize("width", WIDTHS)
def test_an_inspection_is_a_page_too(browser, tmp_path, width):
    write(inspect_facts(cw.read("sample:glass"), "sample:glass"), tmp_path / "glass.html")
    check(browser.open(tmp_path / "glass.html", width), width, False)


def test_dark_is_dark_and_the_toggle_turns_it(opened):
    page = opened("weather")
    ground = "getComputedStyle(document.body).backgroundColor"
    page.resize(1280, dark=False)
    light = page.ask(ground)
    page.resize(1280, dark=True)
    assert page.ask(ground) != light
    page.ask("document.getElementById('theme').click()")
    assert page.ask(ground) == light
    page.ask("delete document.documentElement.dataset.theme")


def test_a_click_on_a_heading_sorts(opened):
    page = opened("credit-g")
    page.resize(1280)
    column = (
        "[...document.querySelector('#ranking table.sortable').querySelectorAll('tbody tr')]"
        ".map(row => Number(row.cells[3].dataset.sort))"
    )
    click = "document.querySelectorAll('#ranking table.sortable th button')[3].click()"
    page.ask(click)
    up = page.ask(column)
    assert up == sorted(up)
    page.ask(click)
    assert page.ask(column) == sorted(up, reverse=True)


def test_a_pointer_is_told_what_a_cell_holds(opened):
    page = opened("weather")
    page.resize(1280)
    over = (
        "document.querySelector('[data-attribute] rect').dispatchEvent("
        "new PointerEvent('pointerover', {bubbles: true}))"
    )
    page.ask(over)
    assert page.ask("document.getElementById('tip').hidden") is False
    told = page.ask("document.getElementById('tip').textContent")
    model = page.ask("JSON.parse(document.getElementById('countwise-facts').textContent).model")
    view = view_of(model, "ProbabilityTables")
    first = view["tables"][0]
    assert told == (
        f"{first['levels'][0]} in {view['classes'][0]}: {first['probabilities'][0][0]:.3f}, "
        f"{first['counts'][0][0]:g} rows"
    )


def test_print_is_light_and_shows_everything(opened):
    page = opened("weather")
    page.resize(1280, dark=True)
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    page.send("Emulation.setEmulatedMedia", media="print", features=[scheme])
    assert page.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.send("Page.printToPDF")["data"]
    page.send("Emulation.setEmulatedMedia", media="", features=[])
    page.resize(1280)


def test_without_chromium_one_sentence_says_what_to_do(monkeypatch, request):
    monkeypatch.setenv("PATH", "")
    conftest = request.config.pluginmanager.getplugin(
        str(request.path.with_name("conftest.py"))
    ) or sys.modules.get("tests.reports.conftest")
    with pytest.raises(AssertionError, match="`make test` installs it"):
        conftest.find_chromium()
