"""Figures are well-formed, deterministic, free of NaN, readable and self-contained."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from countwise.reports.draw import Picture
from countwise.reports.figures.axes import Scale, date_marks, log_ticks, tick_words, ticks
from countwise.reports.figures.bar_chart import balance_figure
from countwise.reports.figures.cell_grid import confusion_figure, gain_figure
from countwise.reports.figures.line_plot import curve_figure
from countwise.reports.figures.palette import DARK, LIGHT, dark_ink
from countwise.reports.figures.panels import (
    density_panel,
    density_table,
    probability_panel,
    probability_table,
)
from countwise.reports.figures.ranking import ranking_figure
from countwise.reports.figures.svg import (
    drawing,
    element,
    escape,
    height_of,
    label,
    shortened,
    width_of,
)

NAMES = ["weather", "iris", "votes", "credit-g", "audiology", "glass"]
SVG = "{http://www.w3.org/2000/svg}"


def every_figure(facts):
    for width in (1040, 356):
        yield ranking_figure(facts["ranking"], width=width)
        for score in facts["ranking"]["scores"]:
            yield ranking_figure(facts["ranking"], score["score"], width)
        yield confusion_figure(facts["confusion"], width)
        yield balance_figure(facts["data"]["balance"], width)
        yield curve_figure(facts["curve"], width)
        if facts["gain"]:
            yield gain_figure(facts["gain"], "values", width)
            yield gain_figure(facts["gain"], "contributions", width)
    model = facts["model"]
    for view in model["views"]:
        if view["kind"] == "ProbabilityTables":
            for table in view["tables"]:
                yield probability_panel(table, view["classes"])
            yield probability_table(view)
        elif view["kind"] == "Densities":
            for column in view["columns"]:
                yield density_panel(column, view["classes"])
            yield density_table(view)


def boxes(root):
    """Where the texts of a figure lie, by the same estimate that placed them."""
    found = []

    def walk(node, x, y, size, anchor):
        moved = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", node.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        size = float(node.get("font-size", size))
        anchor = node.get("text-anchor", anchor)
        if node.tag == SVG + "text":
            words = "".join(node.itertext())
            title = node.find(SVG + "title")
            words = words if title is None else words.removeprefix(title.text or "")
            # The estimate is wide on purpose, so a real text is about nine tenths of it.
            wide, tall = 0.9 * width_of(words, size), 0.75 * size
            left = {"start": 0.0, "middle": wide / 2, "end": wide}[anchor or "start"]
            at_x, at_y = x + float(node.get("x")), y + float(node.get("y"))
            if "rotate" in node.get("transform", ""):
                found.append((words, at_x - tall, at_y - wide + left, at_x, at_y + left))
            else:
                found.append((words, at_x - left, at_y - tall, at_x - left + wide, at_y))
        for child in node:
            walk(child, x, y, size, anchor)

    walk(root, 0.0, 0.0, 12.0, None)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_whole(sample_facts, name):
    facts = sample_facts(name)
    for svg in every_figure(facts):
        root = ElementTree.fromstring(svg)
        assert root.tag == SVG + "svg"
        assert root.find(SVG + "title").text
        assert root.find(SVG + "desc").text
        assert root.get("role") == "img"
        assert not re.search(r"\b(nan|inf|None)\b", re.sub(r">[^<]*<", "><", svg), re.IGNORECASE)
        assert "style=" not in svg
        assert "#" not in re.sub(r"&#39;|>[^<]*<", "", svg)


@pytest.mark.parametrize("name", NAMES)
def test_no_two_texts_overlap_and_none_leaves_its_figure(sample_facts, name):
    for svg in every_figure(sample_facts(name)):
        root = ElementTree.fromstring(svg)
        width, height = (float(root.get(key)) for key in ("width", "height"))
        found = sorted(boxes(root), key=lambda box: box[1])
        for at, (words, left, top, right, bottom) in enumerate(found):
            assert left >= -1, (words, root.get("aria-label"))
            assert top >= -1
            assert right <= width + 1, (words, root.get("aria-label"))
            assert bottom <= height + 1
            for other, x1, y1, _, y2 in found[at + 1 :]:
                if x1 > right - 0.5:
                    break
                assert y1 > bottom - 1 or y2 < top + 1, (words, other, root.get("aria-label"))


def test_figures_are_deterministic(sample_facts):
    facts = sample_facts("credit-g")
    again = json.loads(json.dumps(facts))
    assert list(every_figure(facts)) == list(every_figure(again))


def test_hostile_names_are_inert(hostile_facts):
    for svg in every_figure(hostile_facts):
        root = ElementTree.fromstring(svg)
        tags = {node.tag.removeprefix(SVG) for node in root.iter()}
        assert tags <= {"svg", "title", "desc", "g", "rect", "line", "circle", "path", "text"}
        for node in root.iter():
            assert not [key for key in node.attrib if key.startswith("on")]


def test_a_saved_figure_stands_alone(tmp_path, sample_facts):
    path = tmp_path / "ranking.svg"
    Picture(ranking_figure(sample_facts("iris")["ranking"]), "Ranking").save(path)
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    style = root.find(SVG + "style").text
    assert "prefers-color-scheme" in style
    assert "var(" not in style
    used = {name for node in root.iter() for name in (node.get("class") or "").split()}
    assert not {name for name in used - {"cw"} if f".{name}{{" not in style}
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_can_be_read_on_every_colour(scheme):
    for name, colour in scheme.items():
        if re.fullmatch(r"[qgn]\d|zero", name):
            assert contrast(colour, scheme["low" if dark_ink(name) else "high"]) >= 4.5, name
        elif re.fullmatch(r"c\d", name):
            assert contrast(colour, scheme["paper"]) >= 3, name
    for name in ("ink", "soft", "accent"):
        assert contrast(scheme[name], scheme["paper"]) >= 4.5
        assert contrast(scheme[name], scheme["panel"]) >= 4.5


def test_ramps_go_by_lightness_alone():
    for scheme, sign in ((LIGHT, -1), (DARK, 1)):
        steps = [luminance(scheme[f"q{at}"]) * sign for at in range(10)]
        assert steps == sorted(steps)


def test_long_texts_are_cut_in_the_middle_and_told_whole():
    text = "mixed_cochlear_age_otitis_media_of_the_left_ear"
    cut = shortened(text, 120, 12)
    assert width_of(cut, 12) <= 120
    assert cut.startswith("mixed_")
    assert cut.endswith("ear")
    assert f"<title>{text}</title>" in label(0, 0, text, room=120)
    assert shortened("", 0, 12) == ""
    assert shortened("日本語の名前", 40, 12).count("…") == 1
    assert height_of(10) == 12.0


def test_ticks_are_round_and_within():
    assert ticks(-1.45, -0.35) == [-1.4, -1.2, -1.0, -0.8, -0.6, -0.4]
    assert ticks(2.0, 2.0) == [2.0]
    assert tick_words([-0.5, 0.0]) == ["−0.5", "0.0"]
    assert tick_words([0.0, 1e-7]) == ["0", "1e−07"]
    assert log_ticks(Scale(10, 10_000_000, 0, 60, log=True), 11)
    assert Scale(3, 3, 0, 10)(3) == 5.0


def test_a_narrow_plot_has_more_than_one_tick():
    assert ticks(12, 95, 4) == [20.0, 40.0, 60.0, 80.0]


def test_marks_of_dates_are_first_days_of_years_or_months():
    years = Scale(18200, 19300, 0, 200)
    assert [text for _, text in date_marks(years, 4)] == ["2020", "2021", "2022"]
    months = Scale(18270, 18400, 0, 200)
    assert [text for _, text in date_marks(months, 4)] == [
        "2020-02",
        "2020-03",
        "2020-04",
        "2020-05",
    ]
    assert date_marks(Scale(0, 1e12, 0, 200), 4)[0] == (0.0, "0")


def test_odd_facts_still_draw():
    nothing = {"value": 0.5, "low": None, "high": None}
    entry = {"name": "x" * 200, "baseline": False, "scores": {"accuracy": nothing}}
    ElementTree.fromstring(ranking_figure({"ranked_by": "accuracy", "entries": [entry]}))
    curve = {"score": "accuracy", "sizes": [10], "lines": [{"name": "a", "points": [nothing]}]}
    ElementTree.fromstring(curve_figure(curve))
    spike = {"name": "s", "bits": 0.1, "x": [0.0, 1.0], "mean": [0.0, None],
             "deviation": [0.0, None], "dates": False,
             "density": [[1e6, 0.0], [0.1, 0.2]]}  # fmt: skip
    ElementTree.fromstring(density_panel(spike, ["a", "b"]))
    zero = {"name": "m", "classes": ["a"], "decisions": ["a", "ask"], "counts": [[0, 0]],
            "joint": [[0, 0]]}  # fmt: skip
    ElementTree.fromstring(confusion_figure(zero))
    assert escape("\x00\ud800") == "\ufffd\ufffd"
    assert element("g", a=None) == "<g/>"
    assert drawing(1, 1, "<", "&").count("&lt;") == 2
