"""Files to change at random, and the changes; `fuzz.py` sees what becomes of them."""

import copy
import hashlib
import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import countwise as cw
from countwise.counts.plan import Plan
from countwise.models.registry import models

ROWS = 18

NAN, INFINITE = ({"is": "float", "value": word} for word in ("nan", "inf"))
ATOMS = [
    None, True, False, -1, 0, 1, 2, 3, 17, 10**8, 2**31, 2**63, -(2**63), 2**70, 10**90, 0.0, -0.0,
    0.5, -1.5, 1e-320, 1e-12, 1e15, 1e100, 1e308, -1e308, NAN, INFINITE, "", "x", "no", "argmax",
    "\ud800", "\n", "y" * 300, [], {}, [[]], [None], {"is": "set", "items": []},
]  # fmt: skip
DOUBLES = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e100, 1e-320, 5e-324, 0.0, -0.0, -1.0, 0.5, 3.0]
WHOLES = [-1, 0, 1, 2, 7, 100, 255, 2**15, 2**31 - 1, 2**62]


def training_rows(text=False):
    """Two columns of words, one of numbers, holes in both, three classes; perhaps a text."""
    stream = np.random.default_rng(7)
    classes = np.array(["no", "perhaps", "yes"])[np.arange(ROWS) % 3]
    number = stream.normal(0, 1, ROWS) + (classes == "yes")
    number[4] = np.nan
    words = stream.choice(["sunny", "rainy", "mild"], ROWS).tolist()
    words[7] = None
    columns = {
        "outlook": words,
        "size": number,
        "windy": stream.choice(["a", "b"], ROWS).tolist(),
        "class": classes.tolist(),
    }
    if text:
        known = ["cheap", "money", "meeting", "tomorrow", "now", "we", "shall"]
        columns["mail"] = [" ".join(stream.choice(known, 4)) for _ in range(ROWS)]
    return cw.read(columns, target="class", text=["mail"] if text else ())


#: Settings that make a model small where its defaults make it large.
SMALL = {"budget": 12, "n_estimators": 3, "max_bins": 6, "members": 3}


def unfitted():
    """Return every example of every model in the registry, and models that decide by a rule."""
    built = {}
    for entry in models():
        for number, settings in enumerate(entry.examples):
            model = entry.build(settings)
            given = model.get_params(deep=False)
            small = {name: size for name, size in SMALL.items() if given.get(name) is not None}
            built[f"{entry.name} {number}"] = model.set_params(**small)
    labels = ("no", "perhaps", "yes")
    gains = {true: {decided: float(true == decided) for decided in labels} for true in labels}
    built["Decide 0"] = cw.Decide(cw.NaiveBayes(), gains, "uniform")
    built["Decide 1"] = cw.Decide(cw.Bagging(cw.NaiveBayes(), n_estimators=2), cw.RouletteWheel(1))
    return built


def pipelines(table):
    """Return fitted pipelines of every kind of step that a file may hold."""
    stream = np.random.default_rng(8)
    numbers = np.column_stack([table.values("size"), stream.integers(0, 9, ROWS)])
    steps = [
        (SimpleImputer(), StandardScaler(), PCA(2), cw.NaiveBayes()),
        (cw.Cuts("frequency", bins=3), cw.TAN(nominal="all")),
        (cw.Quantizer(budget=6), cw.NaiveBayes(nominal="all")),
        (SimpleImputer(), QuantileTransformer(n_quantiles=5), cw.Neighbors()),
        (FunctionTransformer(np.abs), RobustScaler(), cw.Decide(cw.ID3(), prior="uniform")),
    ]
    return [make_pipeline(*some).fit(numbers, table.labels) for some in steps]


def values_to_save():
    """Yield the name of everything that a model file may hold, and the value."""
    table, mail = training_rows(), training_rows(text=True)
    frame = pd.DataFrame({name: table.to_dict()[name] for name in ("outlook", "size", "windy")})
    for name, model in unfitted().items():
        target = () if is_classifier(model) else (table.target.astype(float),)
        yield name, model.fit(table, *target)
    for number, model in enumerate((cw.NaiveBayes(), cw.Tree(), cw.Neighbors(), cw.Logistic())):
        yield f"of a frame {number}", model.fit(frame, table.labels)
    yield "text 0", cw.NaiveBayes().fit(mail)
    yield "text 1", cw.NaiveBayes(text="bernoulli", bigrams=True, min_rows=2).fit(mail)
    numbers = np.random.default_rng(9).normal(size=(ROWS, 2))
    for number, model in enumerate((cw.NaiveBayes(), cw.Neighbors())):
        yield f"of an array {number}", model.fit(numbers, table.labels)
    for number, pipeline in enumerate(pipelines(table)):
        yield f"Pipeline {number}", pipeline
    yield "Counts 0", cw.count(table)
    yield "Counts 1", cw.count(table, Plan.pairs(table.schema))
    yield "Counts 2", cw.count(mail)
    yield "Schema 0", mail.schema
    gains = {"no": {"no": 1, "yes": -2.5, "ask": 0}, "yes": {"no": -1, "yes": 3, "ask": -0.1}}
    yield "GainMatrix 0", cw.GainMatrix.of(gains)


def saved_files(folder):
    """Return the bytes of the members of every file; a file that is no zip has one without name."""
    found = {}
    for name, value in values_to_save():
        cw.save(value, folder / "m.cw")
        with zipfile.ZipFile(folder / "m.cw") as file:
            found[name] = {member: file.read(member) for member in file.namelist()}
        if name in ("Schema 0", "GainMatrix 0"):
            value.write(folder / "plain")
            found[f"{name} as text"] = {"": (folder / "plain").read_bytes()}
    return found


# --- changes -----------------------------------------------------------------------------------


def places_in(plain, found):
    """Return every place in a document: the container and the key."""
    for key in list(plain) if isinstance(plain, dict) else range(len(plain)):
        found.append((plain, key))
        if isinstance(plain[key], dict | list):
            places_in(plain[key], found)
    return found


def change_document(document, stream):
    """Change one place, or a few, in a document."""
    for _ in range(stream.choice([1, 1, 1, 1, 3])):
        places = places_in(document, [])
        if not places:
            return
        inside, key = stream.choice(places)
        act = stream.random()
        if act < 0.12:
            del inside[key]
        elif act < 0.3:
            other, there = stream.choice(places)
            inside[key] = copy.deepcopy(other[there])
        elif act < 0.36 and isinstance(inside, list):
            inside.insert(key, copy.deepcopy(inside[key]))
        elif act < 0.42 and isinstance(inside, list):
            stream.shuffle(inside)
        elif act < 0.5 and isinstance(inside[key], str) and inside[key]:
            word = inside[key]
            inside[key] = stream.choice([word[:-1], word * 2, word.upper(), word + "\udc80"])
        elif act < 0.62 and type(inside[key]) in (int, float):
            number = inside[key]
            inside[key] = stream.choice([-number, number + 1, number * 1000, number * 1e-9])
        else:
            inside[key] = copy.deepcopy(stream.choice(ATOMS))


def change_array(array, stream):
    """Return an array with other numbers, or of another shape or type."""
    act = stream.random()
    flat = array.reshape(-1).copy()
    if act < 0.7 and len(flat):
        odd = DOUBLES if flat.dtype.kind == "f" else WHOLES
        for _ in range(stream.choice([1, 1, 2, len(flat)])):
            number = stream.choice(odd)
            with np.errstate(all="ignore"):
                flat[stream.randrange(len(flat))] = np.array(number).astype(flat.dtype)
        return flat.reshape(array.shape)
    if act < 0.8:
        stream.shuffle(flat)
        return flat.reshape(array.shape)
    if act < 0.9:
        return array[: stream.randrange(len(array) + 1)] if array.ndim else array
    return array.astype(stream.choice(["<f8", "<i8", "<i4", "|u1", "|b1"]))


def changed(original, stream):
    """Return the members of a file with a change somewhere; the manifest agrees with them."""
    if "" in original:
        return {"": change_text(original[""], stream)}
    members = dict(original)
    manifest = json.loads(members["manifest.json"])
    arrays = [name for name in members if name.endswith(".npy")]
    way = stream.random()
    if way < 0.35 and arrays:
        change_member(members, manifest, stream.choice(arrays), stream)
    elif way < 0.4 and len(arrays) > 1:
        one, other = stream.sample(arrays, 2)
        members[one], members[other] = members[other], members[one]
    elif way < 0.43:
        change_document(manifest, stream)
    else:
        document = json.loads(members["model.json"])
        change_document(document, stream)
        members["model.json"] = json.dumps(document).encode()
    listed = manifest.get("members")
    for name, entry in listed.items() if isinstance(listed, dict) else ():
        data = members.get(name)
        if data is not None and data is not original[name] and isinstance(entry, dict):
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    members["manifest.json"] = json.dumps(manifest).encode()
    return members


def change_text(data, stream):
    """Change a file of plain text: a place of its JSON, or some of its characters."""
    if data.startswith(b"{") and stream.random() < 0.7:
        document = json.loads(data)
        change_document(document, stream)
        return json.dumps(document).encode()
    text = data.decode()
    first, last = sorted(stream.choices(range(len(text) + 1), k=2))
    bits = ["", ",", "\n", '"', "nan", "1e999", "-", "[[", "x" * 200, "\0", text[first:last] * 2]
    return (text[:first] + stream.choice(bits) + text[last:]).encode()


def change_member(members, manifest, name, stream):
    """Change an array, and in half of the cases what the model says of its shape, too."""
    array = change_array(np.load(io.BytesIO(members[name])), stream)
    out = io.BytesIO()
    np.save(out, array)
    members[name] = out.getvalue()
    manifest["members"][name] |= {"dtype": array.dtype.str, "shape": list(array.shape)}
    if stream.random() < 0.5:
        document = json.loads(members["model.json"])
        for inside, key in places_in(document, []):
            if key == "array" and inside["array"] == name and "from" not in inside:
                inside["shape"] = list(array.shape)
        members["model.json"] = json.dumps(document).encode()


def packed(members):
    """Return the bytes of a file; zipfile itself takes three times as long."""
    if "" in members:
        return members[""]
    parts, directory, at = [], [], 0
    for name, data in members.items():
        key, crc, size = name.encode(), zlib.crc32(data), len(data)
        same = (20, 0, 0, 0, 33, crc, size, size, len(key), 0)
        local = struct.pack("<4s5H3L2H", b"PK\3\4", *same) + key
        directory.append(struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *same, 0, 0, 0, 0, at) + key)
        parts += [local, data]
        at += len(local) + size
    listed = b"".join(directory)
    end = (0, 0, len(members), len(members), len(listed), at, 0)
    return b"".join([*parts, listed, struct.pack("<4s4H2LH", b"PK\5\6", *end)])
