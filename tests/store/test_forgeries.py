"""A file whose checksums are right may still say something wrong: in its document, its arrays."""

import io

import numpy as np
import pytest

from countwise.discretize import rare_levels
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.store import codec
from countwise.store.files import load, save


@pytest.fixture(autouse=True)
def _all_arrays_are_members(monkeypatch):
    """Even a few numbers, so that they can be forged beyond what JSON can say."""
    monkeypatch.setattr(codec, "MAX_INLINE", -1)


# --- documents -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no proper JSON"),
        (b"\xff\xfe", "no proper JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 100"),
        (b'{"columns": [' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"]}", "nested|must hold"),
        (b'{"columns": 1' + b"0" * 5000 + b"}", "no proper JSON"),
        (b'{"columns": 1e999}', "no proper JSON"),
        (b'{"columns": NaN}', "no proper JSON"),
        (b'{"columns": [], "columns": []}', "a name stands twice"),
        (b"[]", "must be an object"),
        (b"{}", "must hold 'model', 'parameters'|must hold 'parameters', 'model'"),
        (b'{"model": "NaiveBayes", "parameters": {}}', "must be a fitted NaiveBayes"),
    ],
)
def test_json_that_is_none(saved, zips, content, words, refused):
    unpacked, packed = zips
    packed(saved, {**unpacked(saved), "model.json": content})
    refused(saved, words)


def parameters(change):
    return lambda document: change(document["parameters"]) and None


def fitted(*names):
    """Make a change in a fitted field, or further in."""

    def at(change):
        def edit(document):
            inside = document["fitted"]
            for name in names:
                inside = inside[name]
            change(inside)

        return edit

    return at


schema = fitted("schema_")
counts = fitted("counts_")
grid = fitted("counts_", "grids", "n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(kind="os"), "does not know"),
        (lambda m: m.update(kind=3), "kind must be str"),
        (lambda m: m.update(kind="Decide"), "must be a fitted Decide"),
        (lambda m: m.update(kind="Counts"), "must hold 'schema'"),
        (lambda m: m.update(members=[]), "members must be a mapping"),
        (lambda m: m["members"]["notes.json"].update(sha256=None), "sha256 must be str"),
        (lambda m: m["members"]["notes.json"].update(bytes=-1), "sizes must be at least 0"),
        (lambda m: m.update(format_version=1.5), "a whole number"),
        (lambda m: m.update(surprise=1), "must not hold 'surprise'"),
    ],
)
def test_manifests_that_say_something_wrong(edited, change, words, refused):
    refused(edited("manifest.json", change), words)


def first_table(plain):
    return plain["tables"][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (schema(lambda s: s["columns"][0].update(kind="target")), "one column can be"),
        (schema(lambda s: s["columns"][0].update(surprise=1)), "must not hold 'surprise'"),
        (schema(lambda s: s["columns"][0].update(name="n")), "names must differ"),
        (schema(lambda s: s["columns"][0].update(name=3)), r"columns\[0\].name must be str"),
        (schema(lambda s: s["columns"][1].update(levels="abc")), "levels must be a list"),
        (schema(lambda s: s["columns"][1].update(levels=[[1]])), r"levels\[0\] must be str or int"),
        (schema(lambda s: s["columns"][1]["levels"].append("z")), "a place for each level"),
        (schema(lambda s: s["columns"][1].update(missing=[3])), r"missing\[0\] must be str"),
        (schema(lambda s: s["columns"][1].update(decimal="")), "decimal mark"),
        (schema(lambda s: s.update(columns=[3])), r"columns\[0\] must be an object"),
        (schema(lambda s: s.update(columns=[])), "must be the number of a Schema"),
        (lambda d: d.update(model="os.system"), "must be a model this countwise knows"),
        (lambda d: d.update(model="TAN"), "must not hold .*which no parameter of TAN has"),
        (lambda d: d.update(surprise=1), "must not hold 'surprise'"),
        (fitted()(lambda d: d.pop("_named")), "must hold '_named'"),
        (lambda d: d["fitted"].update(surprise=1), "must not hold 'surprise'"),
        (parameters(lambda p: p.update(smoothing=-1)), "smoothing must be"),
        (parameters(lambda p: p.update(smoothing={"is": "eval"})), "smoothing .*knows; got 'eval'"),
        (parameters(lambda p: p.update(smoothing={"is": "Laplace", "beta": 1})), "'beta'"),
        (
            parameters(lambda p: p.update(smoothing={"is": "Laplace", "alpha": "1"})),
            "smoothing.alpha must be float; got '1'",
        ),
        (parameters(lambda p: p.update(hyper=1)), "'hyper', which no parameter of NaiveBayes"),
        (parameters(lambda p: p.update(prior=[1.0])), "prior must hold one"),
        (
            parameters(lambda p: p.update(prior={"is": "mapping", "pairs": [[[], 1]]})),
            "prior is not sound",
        ),
        (parameters(lambda p: p.update(bandwidth=10**98)), "must be at most"),
        (lambda d: d["fitted"].update(_named=["other"]), "named class must be"),
        (lambda d: d["columns"].update(n_features_in_="five"), "n_features_in_ must be int"),
        (lambda d: d["columns"].update(n_features_in_=4), "one name for each"),
        (lambda d: d["fitted"].update(notes_=[{"code": 1}]), "must hold 'column', 'text'"),
        (
            lambda d: d["fitted"].update(notes_=[{"code": 1, "column": None, "text": ""}]),
            r"notes_\[0\].code must be str",
        ),
        (counts(lambda c: c.update(rows=1.5)), "rows must be int"),
        (counts(lambda c: c.update(rows=2**64)), "what the plan names"),
        (counts(lambda c: first_table(c).__setitem__(0, ["n"])), "what the plan names"),
        (counts(lambda c: first_table(c)[1].update(axes=[0, 0])), "each axis once"),
        (counts(lambda c: c["tables"][1][1].update(axes=[1, 0])), "of shape"),
        (counts(lambda c: c["tables"][1][1].update(shape=[1, 2])), "of shape"),
        (counts(lambda c: c["tables"][1][1].update(shape=[-1])), "must be an array"),
        (counts(lambda c: first_table(c)[1].update(array="nowhere")), "must hold 'nowhere'"),
        (counts(lambda c: first_table(c)[1].update({"from": 5})), "must lie within"),
        (counts(lambda c: c["tables"].append(first_table(c))), "must be there once"),
        (counts(lambda c: c["tables"].clear()), "what the plan names"),
        (counts(lambda c: c["grids"].clear()), "what the plan names"),
        (counts(lambda c: (c["grids"].clear(), c["plan"].update(grids=[]))), "not counted"),
        (counts(lambda c: c["plan"].update(moments=[])), "what the plan names"),
        (counts(lambda c: c.update(schema={"same": 99})), "must be the number of a Schema"),
        (counts(lambda c: c.update(schema={"same": 0})), "must be the number of a Schema"),
        (grid(lambda g: g.update(shift=64)), "a number must fall into each cell"),
        (grid(lambda g: g.update(shift=60)), "a number must fall into each cell"),
        (grid(lambda g: g.update(most=2)), "at most 2 cells"),
        (grid(lambda g: g["keys"].update(shape=[2**40])), "of shape"),
        (grid(lambda g: g.update(missing=[1.0])), "missing must be an object"),
        (
            lambda d: d["fitted"]["counts_"]["grids"].update(
                {"coded": d["fitted"]["counts_"]["grids"].pop("n")}
            ),
            "what the plan names",
        ),
    ],
)
def test_documents_that_say_something_wrong(edited, change, words, refused):
    path = edited("model.json", change)
    if words is None:
        load(path)
    else:
        refused(path, words)


def test_a_rule_cannot_name_a_file_to_read(decided, saved, edited, refused):
    save(decided, saved)
    rule = {"is": "ExpectedGain", "gain": "/etc/passwd"}
    edited("model.json", parameters(lambda p: p.update(rule=rule)))
    refused(saved, "rule.gain must be GainMatrix or tuple")
    edited("model.json", parameters(lambda p: p.update(rule="/etc/passwd")))
    refused(saved, "rule must be a decision rule")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (fitted()(lambda d: d.update(rule_="argmax")), "rule_ must be Argmax or RouletteWheel"),
        (parameters(lambda d: d.update(prior=None)), "a correction"),
        (fitted()(lambda d: d.update(correction_=None)), "a correction"),
        (
            fitted("rule_", "gain")(lambda d: d.update(classes=["a", "b", "c"])),
            "every class must have",
        ),
        (
            fitted("rule_", "gain")(lambda d: d.update(rows=[["x"]])),
            r"rule_.gain.rows\[0\]\[0\] must be float",
        ),
        (parameters(lambda d: d["model"].update(model="Pipeline")), "a model this countwise knows"),
        (fitted()(lambda d: d.update(notes_=[1])), r"notes_\[0\] must be str"),
    ],
)
def test_rules_that_say_something_wrong(decided, saved, edited, change, words, refused):
    save(decided, saved)
    refused(edited("model.json", change), words)


@pytest.mark.parametrize(
    "change",
    [
        lambda array: array.__setitem__(slice(None), [1.0, -1.0, 0.0]),
        lambda array: array.__setitem__(slice(None), 0.0),
        lambda array: array.__setitem__(0, np.nan),
    ],
)
def test_corrections_that_are_none(decided, saved, edited, zips, change, refused):
    save(decided, saved)
    name = next(name for name in zips[0](saved) if "correction" in name)
    refused(edited(name, with_numbers(change)), "factor of at least 0")


cut_points = fitted("recode_", "cut_points")
kept_levels = fitted("recode_", "kept_levels")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cut_points(lambda c: c.clear()), "those that were counted"),
        (cut_points(lambda c: c.update({"../outlook": c["n"]})), "must be a numeric column"),
        (cut_points(lambda c: c.update(n=3)), "cut_points.n must be an object"),
        (cut_points(lambda c: c.update(n=c["coded"])), "those that were counted"),
        (schema(lambda s: s["columns"].pop(0) and None), "must be the number|counted|no column"),
        (fitted()(lambda d: d.update(recode_=[])), "recode_ must be an object"),
    ],
)
def test_cuts_that_say_something_wrong(rows, y, saved, edited, change, words, refused):
    save(TAN(cuts="width", bins=7).fit(rows, y), saved)
    refused(edited("model.json", change), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda array: array.__setitem__(slice(None), array[::-1].copy()), "must rise"),
        (lambda array: array.__setitem__(0, np.nan), "must rise"),
        (lambda array: array.__setitem__(-1, np.inf), "must rise"),
        (lambda array: array.__setitem__(-1, array[-1] + 1), "those that were counted"),
    ],
)
def test_cut_points_that_are_none(rows, y, saved, edited, zips, change, words, refused):
    save(TAN(cuts="width").fit(rows, y), saved)
    name = next(name for name in zips[0](saved) if "cut_points" in name)
    refused(edited(name, with_numbers(change)), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (kept_levels(lambda k: k.clear()), "those that were counted"),
        (kept_levels(lambda k: k[""].pop() and None), "those that were counted"),
        (kept_levels(lambda k: k[""].reverse()), "those that were counted"),
        (kept_levels(lambda k: k[""].append(k[""][0])), "must differ"),
        (kept_levels(lambda k: k[""].__setitem__(0, "never")), "with these levels"),
        (kept_levels(lambda k: k[""].__setitem__(0, [])), r"kept_levels.\[0\] must be str or int"),
        (kept_levels(lambda k: k[""].clear()), "must differ"),
        (kept_levels(lambda k: k.update(n=["a"])), "must be a nominal column"),
        (kept_levels(lambda k: k.update(none=["a"])), "no column 'none'"),
        (fitted("recode_")(lambda r: r.update(kept_levels=3)), "must be a mapping"),
    ],
)
def test_folds_that_say_something_wrong(
    rows, y, saved, edited, change, words, refused, monkeypatch
):
    monkeypatch.setattr(rare_levels, "MOST_PAIR_CELLS", 6300)
    model = TAN(cuts="width").fit(rows, y)
    assert "" in model.kept_levels_
    save(model, saved)
    refused(edited("model.json", change), words)


families = fitted("families_")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (fitted()(lambda d: d.update(families_=3)), "families_ must be a list"),
        (families(lambda f: f.append("n")), "must be a list"),
        (families(lambda f: f.append([3])), "must be str"),
        (families(lambda f: f.append([])), "is not sound"),
        (families(lambda f: f.append(["n", "", "coded"])), "depends on"),
        (families(lambda f: f[1].__setitem__(1, f[1][0])), "depends on"),
        (families(lambda f: f.append(["none"])), "not counted"),
        (families(lambda f: f.append(["y"])), "not counted"),
        (families(lambda f: f.append(f[0])), "depends on"),
        (families(lambda f: f.reverse()), "depends on"),
        (families(lambda f: f[0].append("coded")), "depends on"),
        (families(lambda f: f[-1].pop() and None), "not counted"),
    ],
)
def test_families_that_say_something_wrong(rows, y, saved, edited, change, words, refused):
    model = KDB(1, cuts="width", smoothing=1.0).fit(rows, y)
    assert len(model.families_) > 1
    save(model, saved)
    refused(edited("model.json", change), words)


def test_families_that_were_not_counted(rows, y, saved, edited, refused):
    save(KDB(1, cuts="width", smoothing=1.0).fit(rows, y), saved)
    edited("model.json", counts(lambda c: (c["tables"].pop(), c["plan"]["tables"].pop())))
    refused(saved, "not counted")


tree = fitted("tree_")
classes = fitted("classes_", "items")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (tree(lambda t: t["feature"].update(shape=[0])), "of shape"),
        (tree(lambda t: t["child"].update(shape=[2**40])), "of shape"),
        (
            tree(lambda t: t.update(child=t["feature"])),
            "must be a|must have a slot|be a child once",
        ),
        (tree(lambda t: t["columns"].pop() and None), "must have its levels"),
        (tree(lambda t: t["columns"].reverse()), "as in the schema"),
        (tree(lambda t: t["columns"].append("none")), "must have its levels"),
        (tree(lambda t: t["columns"].__setitem__(0, "none")), "no column 'none'"),
        (tree(lambda t: t["columns"].append(3)), "must be str"),
        (tree(lambda t: t["levels"][1].append("x")), "a slot for every level|as in the schema"),
        (tree(lambda t: t["classes"].pop() and None), "a finite weight of each class"),
        (tree(lambda t: t["classes"].reverse()), "those of the model"),
        (tree(lambda t: t.update(classes=[])), "a node and a class"),
        (classes(lambda c: c.reverse()), "in their order"),
        (classes(lambda c: c.__setitem__(0, "never")), "in their order"),
        (classes(lambda c: c.clear()), "in their order"),
        (classes(lambda c: c.__setitem__(0, [])), "is not sound|must hold texts"),
        (
            fitted()(lambda d: d["recode_"]["cut_points"].update(n=d["tree_"]["threshold"])),
            "must rise",
        ),
        (fitted()(lambda d: d.update(pruning_={"rows": "many"})), "pruning_ must hold"),
        (fitted()(lambda d: d.update(pruning_=3)), "pruning_ must be"),
    ],
)
def test_trees_that_say_something_wrong(rows, y, saved, edited, change, words, refused):
    save(ID3().fit(rows, y), saved)
    refused(edited("model.json", change), words)


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
        ("feature", put(0, 99), "split on a column, or be a leaf"),
        ("feature", put(0, -2), "split on a column, or be a leaf"),
        ("feature", put(-1, 0), "a threshold|a slot for every level"),
        ("slot", put(-1, 0), "a slot for every level"),
        ("child", put(0, 0), "a child once"),  # around in circles
        ("child", put(-1, 1), "a child once"),
        ("child", put(0, -1), "a child once"),
        ("child", put(slice(None), -1), "a child once"),
        (
            "child",
            with_numbers(lambda a: a.__setitem__(slice(None), a[::-1].copy())),
            "a child once",
        ),
        ("threshold", put(slice(None), np.nan), "must have a threshold"),
        ("counts", put((0, 0), np.nan), "a finite weight"),
        ("counts", put((0, 0), np.inf), "a finite weight"),
        ("counts", put((0, 0), 1e300), "a finite weight"),
        ("counts", put((0, 0), -1.0), "a finite weight"),
        ("counts", put(1, 0.0), "not all zero"),
        ("counts", put(-1, 1e6), "weigh more"),
    ],
)
def test_trees_that_lead_astray(rows, y, saved, edited, zips, name, change, words, refused):
    weight = np.linspace(0.5, 1.5, len(rows))
    save(ID3().fit(rows, y, weight), saved)
    member = next(member for member in zips[0](saved) if member.endswith(f"_tree_{name}.npy"))
    refused(edited(member, change), words)


@pytest.mark.parametrize(
    ("what", "change", "words"),
    [
        ("tables_outlook", put((0, 0), np.nan), "finite numbers"),
        ("tables_outlook", put((0, 0), np.inf), "finite numbers"),
        ("tables_outlook", put((0, 0), -1.0), "below zero"),
        ("tables_outlook", put((0, 0), 1e9), "more rows than there are"),
        ("counts_weight", put(0, 1e200), "finite numbers"),
        ("counts_weight", put(0, 0.1), "more rows than there are"),
        ("mean", put(0, np.nan), "mean must be a finite number"),
        ("square", put(0, -5.0), "squared deviation"),
        ("square", put(0, np.nan), "squared deviation"),
        ("cm_weight", put(0, 1e9), "more rows than there are"),
        ("n_keys", put(0, 2**63 - 1), "out of order"),
        ("n_keys", put(-1, 2**63 - 1), "beyond all numbers"),
        ("n_table", put((0, 0), -1), "below zero"),
    ],
)
def test_numbers_that_are_no_counts(edited, saved, zips, what, change, words, refused):
    names = [name for name in zips[0](saved) if name.endswith(f"{what}.npy")]
    refused(edited(names[0], change), words)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"'<f8'", b"'|O8'"),
        lambda data: data.replace(b"'<f8'", b"'<i8'"),
        lambda data: data.replace(b"False", b"True "),
        lambda data: data.replace(b"NUMPY\x01", b"NUMPY\x07"),
        lambda data: data.replace(b"'descr'", b"__im__)"),
        lambda data: data[:8] + b"\xff\xff" + data[10:],
    ],
)
def test_headers_that_are_none(edited, saved, zips, change, refused):
    name = next(name for name in zips[0](saved) if "tables" in name)
    refused(edited(name, change), "whose header is not|must hold")


def test_members_that_nothing_refers_to(saved, zips, refused):
    unpacked, packed = zips
    members = unpacked(saved)
    import json

    manifest = json.loads(members["manifest.json"])
    name = next(name for name in members if "tables" in name)
    manifest["members"]["arrays/spare.npy"] = dict(manifest["members"][name])
    members |= {"arrays/spare.npy": members[name], "manifest.json": json.dumps(manifest).encode()}
    packed(saved, members)
    refused(saved, "no model refers to")
