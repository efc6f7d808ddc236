"""``countwise draw``: models, comparisons, curves and maps, in four formats, light and dark."""

import builtins
import json
import re
import struct

import pytest

import countwise as cw
from countwise.reports.figures.palette import DARK, LIGHT

from .conftest import refused


def pixel_size(path):
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", content[16:24])


@pytest.mark.parametrize(
    ("what", "title"),
    [
        ("model", "NaiveBayes: 4 attributes by class and value"),
        ("ranking", "Models by accuracy"),
        ("roc", "ROC curves"),
        ("confusion", "Confusion matrix of naive-bayes"),
    ],
)
def test_what_is_drawn_from_rows(run, folder, what, title):
    done = run("draw", "sample:weather", "--what", what, "-m", "naive-bayes", "-o", "p.svg")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"{title}\n"
    assert "Picture written to p.svg." in done.stderr
    assert (folder / "p.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_learning_curve_and_a_map_of_neighbors(run, folder):
    done = run("draw", "sample:iris", "--what", "curve", "-m", "naive-bayes", "-o", "c.svg")
    assert done.stdout == "Accuracy by training rows\n"
    done = run("draw", "sample:weather", "--what", "grid", "-o", "g.svg")
    assert done.stdout == "Accuracy of neighbors by k and p\n"


def test_a_model_file_in_every_format(run, folder):
    for extension, head in (
        ("svg", b"<svg"),
        ("html", b"<!DO"),
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
    ):
        done = run("draw", "m.cw", "-o", f"p.{extension}")
        assert done.exit_code == 0, done.stderr
        assert (folder / f"p.{extension}").read_bytes().startswith(head)
    facts = json.loads(run("draw", "m.cw", "-o", "p.svg", "--json").stdout)
    assert facts["title"] == "NaiveBayes: 2 attributes by class and value"
    done = run("draw", "m.cw", "--attribute", "a", "-o", "p.svg")
    assert done.stdout == "NaiveBayes: a by class\n"


def test_light_dark_or_as_the_reader_has_it(run, folder):
    def style(*options):
        assert run("draw", "m.cw", "-o", "p.svg", *options).exit_code == 0
        return (folder / "p.svg").read_text(encoding="utf-8")

    assert "prefers-color-scheme" in style()
    assert "prefers-color-scheme" not in style("--dark")
    assert LIGHT["paper"] not in style("--dark")
    assert DARK["paper"] not in style("--light")


def test_a_png_is_twice_as_large_and_has_a_background(tmp_path):
    from io import BytesIO

    image = pytest.importorskip("PIL.Image")
    picture = cw.draw(cw.TAN().fit(cw.read("sample:weather")))
    for dark, scheme in ((None, LIGHT), (True, DARK)):
        picture.save(tmp_path / "p.png", dark)
        wide, high = pixel_size(tmp_path / "p.png")
        assert f'width="{wide // 2}" height="{high // 2}"' in str(picture)
        corner = (
            image.open(BytesIO((tmp_path / "p.png").read_bytes())).convert("RGB").getpixel((0, 0))
        )
        assert "#{:02x}{:02x}{:02x}".format(*corner) == scheme["paper"]


def test_no_pixel_of_a_png_is_transparent(tmp_path):
    image = pytest.importorskip("PIL.Image")
    cw.draw(cw.NaiveBayes().fit(cw.read("sample:weather"))).save(tmp_path / "p.png")
    opacity = image.open(tmp_path / "p.png").convert("RGBA").getchannel("A")
    assert opacity.getextrema() == (255, 255)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("m.cw", "-o", "p.gif"), "-o must name a .svg, .html, .png or .pdf file"),
        (("m.cw",), "-o must name the picture to write"),
        (("m.cw", "--what", "roc", "-o", "p.svg"), "--what roc needs rows; m.cw is a model"),
        (("m.cw", "-m", "id3", "-o", "p.svg"), "--models needs rows"),
        (("m.cw", "--attribute", "b", "-o", "p.svg"), "--attribute must be an attribute; got 'b'"),
        (("good.csv", "-m", "id3,tan", "-o", "p.svg"), "-m must name one model"),
        (("good.csv", "-m", "sklearn-forest", "-o", "p.svg"), "only for comparison"),
        (("good.csv", "--what", "grid", "-m", "id3", "-o", "p.svg"), "not for --what grid"),
        (("good.csv", "--what", "roc", "--attribute", "a", "-o", "p.svg"), "picture of a model"),
        (("missing.csv", "-o", "p.svg"), "there is no file"),
    ],
)
def test_what_draw_refuses(run, folder, args, words):
    assert words in refused(run("draw", *args))
    assert not list(folder.glob("p.*"))


def test_without_the_extra_package_it_says_how_to_install_it(run, folder, monkeypatch):
    plain_import = builtins.__import__

    def without(name, *args, **settings):
        if name == "cairosvg":
            raise ImportError(name)
        return plain_import(name, *args, **settings)

    monkeypatch.setattr(builtins, "__import__", without)
    message = refused(run("draw", "m.cw", "-o", "p.png"))
    assert "pip install 'countwise[pictures]'" in message
    assert not (folder / "p.png").exists()
    assert run("draw", "m.cw", "-o", "p.svg").exit_code == 0


def test_a_model_is_drawn_with_parameters(run, folder):
    args = ("draw", "sample:iris", "-m", "tree", "-o", "tree.svg")
    assert run(*args).exit_code == 0
    whole = (folder / "tree.svg").read_text(encoding="utf-8")
    assert run(*args, "--param", "max_depth=1").exit_code == 0
    cut = (folder / "tree.svg").read_text(encoding="utf-8")
    assert cut.count("<rect") < whole.count("<rect")
    assert "there is no parameter 'depth'" in refused(run(*args, "--param", "depth=1"))
    several = ("draw", "sample:iris", "--what", "roc", "-m", "tree,id3", "-o", "roc.svg")
    assert "--param needs one model" in refused(run(*several, "--param", "max_depth=1"))


def test_a_low_tree_leaves_no_empty_paper(run, folder):
    run("draw", "sample:weather", "-m", "id3", "-o", "tree.svg")
    text = (folder / "tree.svg").read_text(encoding="utf-8")
    wide = float(re.search(r'<svg[^>]* width="([\d.]+)"', text)[1])
    bars = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', text)
    assert max(float(x) + float(width) for x, width in bars) > 0.9 * wide


def test_a_picture_grows_before_it_cuts_the_names_of_a_graph():
    names = [f"a very long name of column {at} that nobody would shorten" for at in range(6)]
    rows = {name: [str(row >> at & 1) for row in range(64)] for at, name in enumerate(names)}
    labels = ["yes" if row % 3 else "no" for row in range(64)]
    for at in range(1, 6):  # a chain, which is deep
        rows[names[at]] = [
            rows[names[at - 1]][row] if row % 7 else rows[names[at]][row] for row in range(64)
        ]
    model = cw.TAN().fit(cw.read(rows, target=labels))
    text = str(cw.draw(model))
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)", text))
    assert "…" not in shown
