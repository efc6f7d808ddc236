"""The tree of attributes: right edges and bits, nothing overlaps, from no attribute to hundreds."""

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import countwise as cw
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.reports.figures.bar_chart import information_figure
from countwise.reports.figures.decision_tree import (
    children_of,
    depths_of,
    place_in_strips,
    size_limit,
)
from countwise.reports.figures.dependency_graph import dependency_figure
from countwise.reports.figures.svg import two_lines, width_of, wrapped
from countwise.reports.model_facts import model_facts, view_facts

from .pieces import kinds_of, tables_of

SVG = "{http://www.w3.org/2000/svg}"
WIDTHS = (1040, 700, 356)


def made(parents, bits=None, name="attribute {}"):
    """Facts of a tree given by its first parents."""
    return {
        "target": "class",
        "more_attributes": 0,
        "attributes": [
            {
                "name": name.format(at),
                "bits": 0.1,
                "hidden": 0,
                "parents": [] if above < 0 else [{"at": above, "bits": bits or 1 / (at + 1)}],
            }
            for at, above in enumerate(parents)
        ],
    }


def wild_trees():
    rng = np.random.default_rng(0)
    yield "one", made([-1])
    yield "chain of 60", made([at - 1 for at in range(60)])
    yield "chain of 5000", made([at - 1 for at in range(5000)])
    yield "star of 40", made([-1, *[0] * 39])
    yield "forest of 30", made([-1] * 30)
    yield "without information", made([-1, 0, 0, 1], bits=0.0) | {"more_attributes": 7}
    yield "long names", made([-1, 0, 0, 1, 1], name="mixed_cochlear_age_otitis_media " * 6 + "{}")
    yield "one long word", made([-1, 0, 1, 2, 3, 4, 5, 6], name="x" * 80 + "{}")
    yield "other letters", made([-1, 0, 0], name="日本語の名前 {} <&\"'>")
    for number in (2, 5, 17, 40, 90):
        yield f"any {number}", made([-1, *(int(rng.integers(0, at)) for at in range(1, number))])


TREES = dict(wild_trees())


def structure_facts(model, *limits):
    return view_facts(model.views()[0], *limits)


def texts(root):
    """The boxes of texts, by the estimate that placed them."""
    found = []

    def walk(node, x, y):
        moved = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", node.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        if node.tag == SVG + "text":
            title = node.find(SVG + "title")
            words = "".join(node.itertext()).removeprefix("" if title is None else title.text)
            size = float(node.get("font-size"))
            wide = 0.9 * width_of(words, size)
            back = {"start": 0.0, "middle": wide / 2, "end": wide}[node.get("text-anchor", "start")]
            left, base = x + float(node.get("x")) - back, y + float(node.get("y"))
            found.append((left, base - 0.75 * size, left + wide, base, words))
        for child in node:
            walk(child, x, y)

    walk(root, 0.0, 0.0)
    return sorted(found)


def check(svg):
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    found = texts(root)
    for at, (left, top, right, bottom, words) in enumerate(found):
        assert left >= -1, words
        assert top >= -1, words
        assert right <= width + 1, words
        assert bottom <= height + 1, words
        for x1, y1, _, y2, other in found[at + 1 :]:
            if x1 > right - 0.5:
                break
            assert y1 > bottom - 1 or y2 < top + 1, (words, other)
    return root


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TREES)
def test_any_tree_is_drawn_without_overlap(name, width):
    tree = TREES[name]
    svg = dependency_figure(tree, width)
    root = check(svg) if len(tree["attributes"]) < 1000 else ElementTree.fromstring(svg)
    assert float(root.get("width")) <= width
    nodes = [own for own in root.iter() if own.get("class") in ("node", "accent")]
    assert len(nodes) >= len(tree["attributes"])
    assert not re.search(r"\b(nan|inf)\b", re.sub(r">[^<]*<", "><", svg), re.IGNORECASE)
    tags = {own.tag.removeprefix(SVG) for own in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "rect", "line", "circle", "path", "text"}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["weather", "iris", "votes", "credit-g", "audiology", "autos"])
def test_the_trees_of_samples(name, width):
    table = cw.read(f"sample:{name}")
    for model in (TAN(), KDB(k=2, selective=False), KDB(k=0, selective=False)):
        facts = structure_facts(model.fit(table))
        assert json.loads(json.dumps(facts, allow_nan=False)) == facts
        root = check(dependency_figure(facts, width))
        told = root.find(SVG + "desc").text
        assert told.startswith(facts["target"])


def test_edges_and_bits_are_the_models():
    model = TAN().fit(cw.read("sample:votes"))
    facts = structure_facts(model)
    names = [own["name"] for own in facts["attributes"]]
    edges = {
        (names[own["parents"][0]["at"]], own["name"]): own["parents"][0]["bits"]
        for own in facts["attributes"]
        if own["parents"]
    }
    assert edges.keys() == {(edge.parent, edge.child) for edge in model.tree_}
    for edge in model.tree_:
        assert np.isclose(edges[edge.parent, edge.child], edge.weight, atol=1e-6)
    svg = dependency_figure(facts)
    for edge in model.tree_:
        assert f">{edge.weight:.3f}<" in svg
    weather = structure_facts(TAN().fit(cw.read("sample:weather")))
    outlook = next(own for own in weather["attributes"] if own["name"] == "outlook")
    assert round(outlook["bits"], 3) == 0.247


def test_a_heavier_edge_is_thicker():
    tree = made([-1, 0, 0])
    tree["attributes"][1]["parents"][0]["bits"] = 0.4
    tree["attributes"][2]["parents"][0]["bits"] = 0.1
    for width in (1040, 100):
        svg = dependency_figure(tree, width)
        thick = [float(own) for own in re.findall(r'class="limb" stroke-width="([\d.]+)"', svg)]
        assert thick[0] > thick[1] > 1


def test_further_parents_are_thin_lines_or_words():
    few = structure_facts(KDB(k=2, selective=False).fit(cw.read("sample:weather")))
    assert dependency_figure(few).count('class="twig"') == 2
    many = structure_facts(KDB(k=2, selective=False).fit(cw.read("sample:votes")))
    svg = dependency_figure(many)
    assert "twig" not in svg
    assert ">+ " in svg


def test_of_very_many_attributes_the_heaviest_edges_are_kept():
    rng = np.random.default_rng(1)
    rows = {f"a{at}": rng.choice(["x", "y"], 60).tolist() for at in range(130)}
    table = cw.read(rows, target=rng.choice(["n", "p"], 60))
    model = TAN().fit(table)
    facts = structure_facts(model, 50)
    assert len(facts["attributes"]) == 50
    assert facts["more_attributes"] == 80
    for at, own in enumerate(facts["attributes"]):
        assert all(arc["at"] < at for arc in own["parents"])
    roots = [own for own in facts["attributes"] if not own["parents"]]
    assert [own["hidden"] for own in roots] == [80]
    svg = dependency_figure(facts)
    check(svg)
    assert "80 more attributes" in svg
    assert len(structure_facts(model)["attributes"]) == 100


def test_an_unselected_attribute_is_not_drawn():
    model = KDB(k=1, selective=True).fit(cw.read("sample:credit-g"))
    facts = structure_facts(model)
    assert [own["name"] for own in facts["attributes"]] == [own[0] for own in model.families_]


def test_attributes_by_what_they_tell():
    model = AODE().fit(cw.read("sample:weather"))
    assert kinds_of(model_facts(model)) == ["ProbabilityTables"]
    found = tables_of(model_facts(model))
    assert [own["name"] for own in found] == ["outlook", "humidity", "windy", "temperature"]
    assert information_figure(found).count("<rect") == 4
    check(information_figure([{"name": "n" * 90, "bits": 0.0}], 200))


def test_layout_pieces():
    parent = [-1, 0, 0, 1, 1, 1, 2]
    assert depths_of(parent) == [0, 1, 1, 2, 2, 2, 2]
    assert children_of(parent)[1] == [3, 4, 5]
    middle, whole = place_in_strips(parent, [10.0] * 7, 2)
    assert whole == 46
    assert middle[0] == (middle[1] + middle[2]) / 2
    assert place_in_strips([], [], 2) == ([], 0.0)
    assert size_limit([50, 50], 60) == 30
    assert size_limit([], 60) == 60
    assert two_lines("a-b", 12) == ["a-", "b"]
    assert two_lines("-ab", 12) == ["-", "ab"]
    assert wrapped("", 50, 12) == []
