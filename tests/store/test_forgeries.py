"""A file whose checksums are right may still say something wrong: in its documents, its arrays."""

import io

import numpy as np
import pytest

from countwise.discretize import rare_levels
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.store.files import load, save

# --- documents -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no proper JSON"),
        (b"\xff\xfe", "no proper JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "nested without end"),
        (b'{"columns": [' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"]}", "nested|name"),
        (b'{"columns": 1' + b"0" * 5000 + b"}", "no proper JSON"),
        (b'{"columns": 1e999}', "no proper JSON"),
        (b'{"columns": NaN}', "no proper JSON"),
        (b'{"columns": [], "columns": []}', "a name stands twice"),
        (b"[]", "must hold an object"),
        (b"{}", "must hold 'columns'"),
        (b'{"columns": [3]}', "must hold an object"),
        (b'{"columns": [{"name": 3}]}', "a text under 'name'"),
        (b'{"columns": []}', "names no class"),
    ],
)
def test_json_that_is_none(saved, zips, content, words, refused):
    unpacked, packed = zips
    packed(saved, {**unpacked(saved), "schema.json": content})
    refused(saved, words)


def first_table(plain):
    return plain["tables"][0]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("manifest.json", lambda m: m.update(kind="os"), "does not know"),
        ("manifest.json", lambda m: m.update(kind=3), "a text under 'kind'"),
        ("manifest.json", lambda m: m.update(kind="Decide"), "must hold 'decide.json'"),
        ("manifest.json", lambda m: m.update(members=[]), "an object"),
        ("manifest.json", lambda m: m["members"]["notes.json"].update(sha256=None), "'sha256'"),
        ("manifest.json", lambda m: m.update(format_version=1.5), "a whole number"),
        ("schema.json", lambda s: s["columns"][0].update(kind="target"), "one column can be"),
        ("schema.json", lambda s: s["columns"][0].update(surprise=1), "no property"),
        ("schema.json", lambda s: s["columns"][0].update(name="n"), "names must differ"),
        ("schema.json", lambda s: s["columns"][1].update(levels="abc"), "a list"),
        ("schema.json", lambda s: s["columns"][1].update(levels=[[1]]), "as levels"),
        ("schema.json", lambda s: s["columns"][1]["levels"].append("z"), "of shape"),
        ("schema.json", lambda s: s["columns"][1].update(missing=[3]), "list of texts"),
        ("schema.json", lambda s: s["columns"][1].update(decimal=""), "decimal mark"),
        ("parameters.json", lambda p: p.update(model="os.system"), "another model"),
        ("parameters.json", lambda p: p["parameters"].update(smoothing=-1), "smoothing must be"),
        ("parameters.json", lambda p: p["parameters"].update(smoothing={"is": "eval"}), "unknown"),
        ("parameters.json", lambda p: p["parameters"].update(smoothing={"is": "Laplace"}), "alpha"),
        (
            "parameters.json",
            lambda p: p["parameters"].update(smoothing={"is": "Laplace", "alpha": "1", "by": "a"}),
            "cannot be rebuilt",
        ),
        ("parameters.json", lambda p: p["parameters"].update(hyper=1), "does not know, 'hyper'"),
        ("parameters.json", lambda p: p["parameters"].update(prior=[1.0]), "prior must hold one"),
        (
            "parameters.json",
            lambda p: p["parameters"].update(prior={"is": "mapping", "pairs": [[[], 1]]}),
            "cannot be rebuilt",
        ),
        ("parameters.json", lambda p: p["parameters"].update(bandwidth=10**98), None),
        ("training.json", lambda t: t.update(classes_named=["other"]), "names classes"),
        ("training.json", lambda t: t.update(features_in="five"), "whole number"),
        ("training.json", lambda t: t.update(features_in=4), "more or fewer columns"),
        ("notes.json", lambda n: n.update(model=[{"code": 1}]), "a text"),
        ("counts.json", lambda c: c.update(rows=1.5), "whole number"),
        ("counts.json", lambda c: c.update(rows=2**64), "whole number"),
        ("counts.json", lambda c: first_table(c).update(columns=["n"]), "no nominal column"),
        ("counts.json", lambda c: first_table(c).update(columns=["x"]), "no nominal column"),
        ("counts.json", lambda c: first_table(c).update(axes=[0, 0]), "each axis once"),
        ("counts.json", lambda c: c["tables"][1].update(axes=[1, 0]), "of shape"),
        ("counts.json", lambda c: first_table(c).update(array="nowhere"), "must hold 'nowhere'"),
        ("counts.json", lambda c: first_table(c).update(array={"array": "x"}), "'from'"),
        ("counts.json", lambda c: c["tables"].append(first_table(c)), "twice"),
        ("counts.json", lambda c: c["tables"].clear(), "not counted"),
        ("counts.json", lambda c: c["grids"].clear(), "not counted"),
        ("counts.json", lambda c: c["grids"][0].update(shift=64), "whole number"),
        ("counts.json", lambda c: c["grids"][0].update(shift=60), "no number falls into"),
        ("counts.json", lambda c: c["grids"][0].update(most=2), "more cells"),
        ("counts.json", lambda c: c["grids"][0].update(cells=2**40), "of shape"),
        ("counts.json", lambda c: c["grids"][0].update(missing=[1.0]), "4 numbers"),
        ("counts.json", lambda c: c["moments"].update(statistics=["mean"]), "the statistics"),
    ],
)
def test_documents_that_say_something_wrong(edited, name, change, words, refused):
    path = edited(name, change)
    if words is None:
        load(path)
    else:
        refused(path, words)


def test_a_rule_cannot_name_a_file_to_read(decided, saved, edited, refused):
    save(decided, saved)
    rule = {"is": "ExpectedGain", "gain": "/etc/passwd"}
    edited("decide.json", lambda d: d.update(rule=rule))
    refused(saved, "rows of gains")
    edited("decide.json", lambda d: d.update(rule="/etc/passwd"))
    refused(saved, "must hold a decision rule")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(rule_in_use="argmax"), "decision rule"),
        (lambda d: d.update(prior=None), "a correction"),
        (lambda d: d.update(correction=[1.0, -1.0, 0.0]), "at least 0"),
        (lambda d: d.update(correction=[1.0]), "one number a class"),
        (
            lambda d: d["rule_in_use"]["gain"].update(classes=["a", "b", "c"]),
            "every class must have",
        ),
        (lambda d: d["rule_in_use"]["gain"].update(rows=[["x"]]), "numbers as gains"),
        (lambda d: d["prototype"].update(model="Pipeline"), "does not know"),
        (lambda d: d.update(notes=[1]), "list of texts"),
    ],
)
def test_rules_that_say_something_wrong(decided, saved, edited, change, words, refused):
    save(decided, saved)
    refused(edited("decide.json", change), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(points=[]), "other columns than it counts"),
        (lambda c: c["points"][0][1].pop() and None, "other columns than it counts"),
        (lambda c: c["points"][0][1].reverse(), "rising points"),
        (lambda c: c["points"][0][1].append("x"), "rising points"),
        (lambda c: c["points"].append(["../outlook", [1.0]]), "other columns than it counts"),
        (lambda c: c["points"].append(3), "a column and a list"),
        (lambda c: c["input"]["columns"].pop() and None, "other columns than it counts"),
    ],
)
def test_cuts_that_say_something_wrong(rows, y, saved, edited, change, words, refused):
    save(TAN().fit(rows, y), saved)
    refused(edited("cuts.json", change), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(kept=[]), "other columns than it counts"),
        (lambda c: c["kept"][0][1].pop() and None, "other columns than it counts"),
        (lambda c: c["kept"][0][1].reverse(), "other columns than it counts"),
        (lambda c: c["kept"][0][1].append("b"), "levels|other columns"),
        (lambda c: c["kept"][0][1].__setitem__(0, "never"), "other columns than it counts"),
        (lambda c: c["kept"][0][1].__setitem__(0, []), "texts, numbers"),
        (lambda c: c["kept"].append(["n", ["a"]]), "other columns than it counts"),
        (lambda c: c["kept"].append(["none", ["a"]]), "other columns than it counts"),
        (lambda c: c["kept"].append(c["kept"][0]), "twice"),
        (lambda c: c.update(kept=3), "a list"),
        (lambda c: c.update(coarser=["../outlook"]), "does not cut"),
        (lambda c: c.update(coarser=["n", "n"]), "does not cut"),
    ],
)
def test_folds_that_say_something_wrong(
    rows, y, saved, edited, change, words, refused, monkeypatch
):
    monkeypatch.setattr(rare_levels, "MOST_PAIR_CELLS", 6300)
    model = TAN().fit(rows, y)
    assert "" in model.kept_levels_
    save(model, saved)
    refused(edited("cuts.json", change), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.update(families=3), "a list"),
        (lambda f: f["families"].append("n"), "lists of columns"),
        (lambda f: f["families"].append([3]), "lists of columns"),
        (lambda f: f["families"].append([]), "up to 1 others"),
        (lambda f: f["families"].append(["n", "", "coded"]), "up to 1 others"),
        (lambda f: f["families"][1].__setitem__(1, f["families"][1][0]), "up to 1 others"),
        (lambda f: f["families"].append(["none"]), "no column of its own"),
        (lambda f: f["families"].append(["y"]), "no column of its own"),
        (lambda f: f["families"].append(f["families"][0]), "no column of its own"),
        (lambda f: f["families"].reverse(), "come after it"),
        (lambda f: f["families"][0].append("coded"), "come after it"),
        (lambda f: f["families"][-1].pop() and None, "not counted"),
    ],
)
def test_families_that_say_something_wrong(rows, y, saved, edited, change, words, refused):
    model = KDB(1).fit(rows, y)
    assert len(model.families_) > 1
    save(model, saved)
    refused(edited("families.json", change), words)


def test_families_that_were_not_counted(rows, y, saved, edited, refused):
    save(KDB(1).fit(rows, y), saved)
    edited("counts.json", lambda c: c["tables"].pop() and None)
    refused(saved, "not counted")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.update(nodes=0), "whole number"),
        (lambda t: t.update(nodes=2**40), "whole number"),
        (lambda t: t.update(nodes=t["nodes"] + 1), "of shape"),
        (lambda t: t.update(slots=t["slots"] - 1), "of shape"),
        (lambda t: t["columns"].pop() and None, "sound tree"),
        (lambda t: t["columns"].reverse(), "sound tree"),
        (lambda t: t["columns"].append("none"), "does not have"),
        (lambda t: t["columns"].append(3), "list of texts"),
        (lambda t: t["classes"].pop() and None, "of shape"),
        (lambda t: t["classes"].reverse(), "in their order"),
        (lambda t: t["classes"].__setitem__(0, "never"), "does not have"),
        (lambda t: t.update(classes=[]), "does not have"),
        (lambda t: t.update(points=[["../outlook", [1.0]]]), "sound tree"),
        (lambda t: t.update(points=[["none", [1.0]]]), "does not have"),
        (lambda t: t.update(pruning={"rows": "many"}), "numbers under 'pruning'"),
        (lambda t: t.update(pruning={"rows": 3}), "sound tree"),
    ],
)
def test_trees_that_say_something_wrong(rows, y, saved, edited, change, words, refused):
    save(ID3().fit(rows, y), saved)
    refused(edited("tree.json", change), words)


# --- arrays ----------------------------------------------------------------------------------


def with_numbers(change):
    def edit(data):
        array = np.load(io.BytesIO(data))
        change(array)
        out = io.BytesIO()
        np.save(out, array)
        return out.getvalue()

    return edit


def put(place, value):
    return with_numbers(lambda array: array.__setitem__(place, value))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("feature", put(0, 99), "sound tree"),
        ("feature", put(0, -2), "beyond all bounds"),
        ("feature", put(0, 2**32), "beyond all bounds"),
        ("feature", put(-1, 0), "sound tree"),
        ("child", put(0, 0), "sound tree"),  # around in circles
        ("child", put(-1, 1), "sound tree"),
        ("child", put(0, -1), "sound tree"),
        ("child", put(slice(None), -1), "sound tree"),
        ("child", with_numbers(lambda a: a.__setitem__(slice(None), a[::-1].copy())), "sound tree"),
        ("threshold", put(slice(None), np.nan), "sound tree"),
        ("counts", put((0, 0), np.nan), "no finite numbers"),
        ("counts", put((0, 0), np.inf), "no finite numbers"),
        ("counts", put((0, 0), 1e300), "no finite numbers"),
        ("counts", put((0, 0), -1.0), "below zero"),
        ("counts", put(1, 0.0), "sound tree"),
        ("counts", put(-1, 1e6), "weigh more"),
    ],
)
def test_trees_that_lead_astray(rows, y, saved, edited, name, change, words, refused):
    save(ID3().fit(rows, y), saved)
    refused(edited(f"tree/{name}.npy", change), words)


@pytest.mark.parametrize(
    ("what", "change", "words"),
    [
        ("table", put((0, 0), np.nan), "no finite numbers"),
        ("table", put((0, 0), np.inf), "no finite numbers"),
        ("table", put((0, 0), -1.0), "below zero"),
        ("table", put((0, 0), 1e9), "more rows than there are"),
        ("class_weight", put(0, 1e200), "no finite numbers"),
        ("class_weight", put(0, 0.1), "more rows than there are"),
        ("moments", put((0, 1, 0), np.nan), "a mean that is no number"),
        ("moments", put((0, 2, 0), -5.0), "squared deviation"),
        ("moments", put((0, 0, 0), 1e9), "more rows than there are"),
        ("grid_keys", put(0, 2**63 - 1), "out of order"),
        ("grid_keys", put(-1, 2**63 - 1), "beyond all numbers"),
        ("grid_", put((0, 0), -1), "out of order|below zero"),
    ],
)
def test_numbers_that_are_no_counts(edited, saved, zips, what, change, words, refused):
    names = [name for name in zips[0](saved) if f"/{what}" in name]
    if what == "grid_":
        names = [name for name in names if "keys" not in name]
    refused(edited(names[0], change), words)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"'<f8'", b"'|O8'"),
        lambda data: data.replace(b"False", b"True "),
        lambda data: data.replace(b"NUMPY\x01", b"NUMPY\x07"),
        lambda data: data.replace(b"'descr'", b"__im__)"),
        lambda data: data[:8] + b"\xff\xff" + data[10:],
    ],
)
def test_headers_that_are_none(edited, saved, zips, change, refused):
    name = next(name for name in zips[0](saved) if "/table" in name)
    refused(edited(name, change), "whose header is not|must hold")
