"""The picture of a decision tree: whole, readable at any size, and inert."""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import countwise as cw
from countwise.models.tree.id3 import ID3
from countwise.models.tree.tree_structure import TreeStructure
from countwise.models.tree.views import tree_view
from countwise.reports.figures.decision_tree import decision_tree_figure
from countwise.reports.figures.svg import standalone, width_of
from countwise.reports.sentences import plain

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("1")</script>&\x00'


def wide(rows=600, levels=80, columns=40):
    """Forty columns, one of them with eighty levels, and more classes than colours."""
    rng = np.random.default_rng(0)
    cells = {f"column number {i}": rng.choice(list("abc"), rows) for i in range(columns - 1)}
    cells["place of a rather long name"] = [f"place {i}" for i in rng.integers(0, levels, rows)]
    classes = [f"class {i}" for i in rng.integers(0, 12, rows)]
    return cw.read({**cells, "class": classes}, target="class", identifiers="keep")


def hostile():
    cells = {HOSTILE: [HOSTILE, "b", HOSTILE, "b"], "n": [1.0, 2.0, 3.0, 4.0]}
    return cw.read({**cells, "c": [HOSTILE, "]]>", HOSTILE, "'\""]}, target="c", identifiers="keep")


def chain(splits=5_000):
    """A tree in which each split parts one row off, written down rather than grown."""
    feature = np.array([0, *([-1, 0] * (splits - 1)), -1, -1], dtype=np.int32)
    cuts = [0.5, *(cut for at in range(1, splits) for cut in (np.nan, at + 0.5)), np.nan, np.nan]
    slots = np.where(feature == 0, 2, 0)
    counts = [[(splits + 2) // 2, (splits + 1) // 2]]
    for at in range(splits):
        left = splits - at
        counts += [[1 - at % 2, at % 2], [(left + at % 2) // 2, (left + 1 - at % 2) // 2]]
    return TreeStructure(
        ("x",),
        (None,),
        ("even", "odd"),
        feature,
        np.array(cuts),
        np.cumsum(slots) - slots,
        np.arange(1, 2 * splits + 1, dtype=np.int32),
        np.array(counts, dtype=np.float64),
    )


@pytest.fixture(scope="module")
def trees():
    trees = {
        name: ID3().fit(cw.read(f"sample:{name}")).tree_
        for name in ("weather", "iris", "votes", "audiology", "credit-g")
    }
    trees["one leaf"] = ID3(max_depth=0).fit(cw.read("sample:weather")).tree_
    trees["wide"] = ID3().fit(wide()).tree_
    trees["hostile"] = ID3().fit(hostile()).tree_
    trees["chain"] = chain(800)
    return trees


NAMES = [
    "weather",
    "iris",
    "votes",
    "audiology",
    "credit-g",
    "one leaf",
    "wide",
    "hostile",
    "chain",
]
every_figure = pytest.mark.parametrize("name", NAMES)
every_width = pytest.mark.parametrize("width", [1040, 600, 356])


def tree_facts(tree, **limits):
    return plain(tree_view(tree, **{"max_lines": 40, **limits}))


def svg(tree, width=1040, **limits):
    return decision_tree_figure(tree_facts(tree, **limits), width)


def texts(root):
    """Where texts lie, by the estimate that placed them; it is wide on purpose."""
    found = []
    for top, parts in ((0.0, root.findall(f"{SVG}text")), *shifted(root)):
        for node in parts:
            title = node.find(SVG + "title")
            words = "".join(node.itertext()).removeprefix("" if title is None else title.text)
            size = float(node.get("font-size"))
            long = 0.9 * width_of(words, size, "bold" in node.get("class"))
            x, y = float(node.get("x")), float(node.get("y")) + top
            left = x - long if node.get("text-anchor") == "end" else x
            found.append((words, left, y - 0.75 * size, left + long, y))
    return found


def shifted(root):
    for own in root.findall(f"{SVG}g"):
        down = float(re.match(r"translate\(0 ([\d.]+)\)", own.get("transform"))[1])
        yield down, own.findall(f"{SVG}text")


@every_width
@every_figure
def test_the_figure_is_whole(trees, name, width):
    picture = svg(trees[name], width)
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    assert root.find(SVG + "title").text == "Decision tree"
    assert " drawn" in root.find(SVG + "desc").text
    assert min(width, 340) <= float(root.get("width")) <= width
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r">[^<]*<", "><", picture))
    assert "style=" not in picture
    assert "#" not in re.sub(r"&#39;|>[^<]*<", "", picture)
    tags = {node.tag.removeprefix(SVG) for node in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "rect", "line", "text"}
    assert len(picture) < 60_000


@every_width
@every_figure
def test_no_two_texts_overlap_and_none_leaves_the_figure(trees, name, width):
    root = ElementTree.fromstring(svg(trees[name], width))
    height = float(root.get("height"))
    found = sorted(texts(root), key=lambda box: box[1])
    assert found
    for at, (words, left, top, right, bottom) in enumerate(found):
        assert left >= -1, words
        assert right <= width + 1, words
        assert top >= -1
        assert bottom <= height + 1
        for other, x, y, _, y2 in found[at + 1 :]:
            if x > right - 0.5:
                break
            assert y > bottom - 1 or y2 < top + 1, (words, other)


def test_the_tree_on_weather_is_drawn_with_its_counts(trees):
    facts = tree_facts(trees["weather"])
    assert [(own["value"], own["name"], sum(own["counts"])) for own in facts["drawn"]] == [
        ("", "outlook", 14),
        ("sunny", "humidity", 5),
        ("overcast", "yes", 4),
        ("rainy", "windy", 5),
        ("high", "no", 3),
        ("normal", "yes", 2),
        ("TRUE", "no", 2),
        ("FALSE", "yes", 3),
    ]
    picture = svg(trees["weather"])
    assert "yes: 9 of 14 (64 %)" in picture
    assert "more" not in picture


@every_figure
def test_every_node_is_drawn_or_counted_as_left_out(trees, name):
    facts = tree_facts(trees[name])
    drawn = facts["drawn"]
    left_out = sum(own["below"] for own in drawn if not own["open"])
    others = sum(own["name"] == "" for own in drawn)
    assert len(drawn) - others + left_out == facts["nodes"]
    parents = [own["parent"] for own in drawn[1:]]
    assert all(parent < at for at, parent in enumerate(parents, 1))
    leaves = len(drawn) - len(set(parents))
    assert leaves <= 40


def test_a_column_of_many_levels_shows_the_heaviest(trees):
    drawn = tree_facts(trees["wide"])["drawn"]
    branches = [own for own in drawn if own["parent"] == 0]
    assert drawn[0]["name"] == "place of a rather long name"
    assert len(branches) == 12
    assert branches[-1]["value"].endswith("other values")
    picture = svg(trees["wide"])
    assert "5 other classes" in picture
    assert "more nodes" in picture


def test_limits_and_plain_facts(trees):
    facts = tree_facts(trees["audiology"], max_lines=10, max_depth=3)
    assert json.loads(json.dumps(facts)) == facts
    assert decision_tree_figure(facts) == svg(trees["audiology"], max_lines=10, max_depth=3)
    assert svg(trees["audiology"]) == svg(trees["audiology"])
    assert len(decision_tree_figure(facts)) < len(svg(trees["audiology"]))


def test_a_chain_of_five_thousand_splits_is_drawn():
    tree = chain()
    assert (len(tree), tree.depth) == (10_001, 5_000)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        picture = svg(tree)
    finally:
        sys.setrecursionlimit(before)
    assert "9,990 more" in picture


def test_alone_it_brings_every_colour_it_uses(trees):
    root = ElementTree.fromstring(standalone(svg(trees["wide"])))
    style = root.find(SVG + "style").text
    used = {name for node in root.iter() for name in (node.get("class") or "").split()}
    assert not {name for name in used - {"cw"} if f".{name}{{" not in style}
    assert "prefers-color-scheme" in style
