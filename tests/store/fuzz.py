"""Change saved models at random and see what becomes of them; run as a program of its own.

``python fuzz.py SEED FIRST COUNT`` makes the changes FIRST to FIRST + COUNT - 1 of a seed, in turn
to every example of every model in the registry, and prints a line of JSON for each that went wrong
and one in the end. A change that is refused must be refused by a `StoreError` of one sentence; a
model that loads must answer with finite probabilities, explain them, be drawn and be saved again.
"""

import copy
import hashlib
import io
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier

import countwise as cw
from countwise.errors import StoreError
from countwise.models.registry import models

#: Bytes of memory and seconds that one changed file may take.
MEMORY = 2 << 30
SECONDS = 20
ROWS = 24
#: How much of a file a refusal may quote.
MOST_QUOTED = 90

NAN, INFINITE = ({"is": "float", "value": word} for word in ("nan", "inf"))
ATOMS = [
    None, True, False, -1, 0, 1, 2, 3, 17, 10**8, 2**31, 2**63, -(2**63), 2**70, 10**90, 0.0, -0.0,
    0.5, -1.5, 1e-320, 1e-12, 1e15, 1e100, 1e308, -1e308, NAN, INFINITE, "", "x", "no", "argmax",
    "\ud800", "\n", "y" * 300, [], {}, [[]], [None], {"is": "set", "items": []},
]  # fmt: skip
DOUBLES = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e100, 1e-320, 5e-324, 0.0, -0.0, -1.0, 0.5, 3.0]
WHOLES = [-1, 0, 1, 2, 7, 100, 255, 2**15, 2**31 - 1, 2**62]


def training_rows():
    """Two columns of words, two of numbers, holes in both, three classes."""
    stream = np.random.default_rng(7)
    classes = np.array(["no", "perhaps", "yes"])[np.arange(ROWS) % 3]
    number = stream.normal(0, 1, ROWS) + (classes == "yes")
    number[4] = np.nan
    words = stream.choice(["sunny", "rainy", "mild"], ROWS).tolist()
    words[7] = None
    return cw.read(
        {
            "outlook": words,
            "size": number,
            "windy": stream.choice(["a", "b"], ROWS).tolist(),
            "count": stream.integers(0, 9, ROWS).astype(float),
            "class": classes.tolist(),
        },
        target="class",
    )


def saved_models(folder):
    """Return the members of the file of every example, and of models that decide by a rule."""
    table = training_rows()
    built = {
        f"{entry.name} {number}": entry.build(settings)
        for entry in models()
        for number, settings in enumerate(entry.examples)
    }
    gains = {a: {b: float(a == b) for b in table.classes} for a in table.classes}
    built["Decide 0"] = cw.Decide(cw.NaiveBayes(), gains, "uniform")
    built["Decide 1"] = cw.Decide(cw.Bagging(cw.NaiveBayes(), n_estimators=2), cw.RouletteWheel(1))
    found = {}
    for name, model in built.items():
        target = () if is_classifier(model) else (table.target.astype(float),)
        cw.save(model.fit(table, *target), folder / "m.cw")
        with zipfile.ZipFile(folder / "m.cw") as file:
            members = {member: file.read(member) for member in file.namelist()}
        found[name] = members
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


def changed(members, stream):
    """Return the members of a file with a change somewhere; the manifest agrees with them."""
    members = dict(members)
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
        if name in members and isinstance(entry, dict):
            digest = hashlib.sha256(members[name]).hexdigest()
            entry |= {"bytes": len(members[name]), "sha256": digest}
    members["manifest.json"] = json.dumps(manifest).encode()
    return members


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


def write_file(path, members):
    """Write the members of a file."""
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


# --- what must hold ----------------------------------------------------------------------------


def rows_of(model):
    """Return rows as the schema of a model admits them: known, missing, unseen, far away."""
    inner = getattr(model, "model_", model)
    errs = getattr(inner, "unseen", "ignore") == "error"
    rows = {}
    for column in inner.schema_.attributes:
        if column.kind == "numeric":
            rows[column.name] = [0.0, 1.5, -2.0, None, 1e9, None]
        else:
            levels = list(column.levels) or [None]
            known = [levels[0], levels[-1], levels[len(levels) // 2], None]
            rows[column.name] = [*known, levels[-1] if errs else "never seen", None]
    return cw.read(rows, schema=inner.schema_.without_target(), keep_rows=True)


def try_model(model, path, draws):
    """Use a loaded model; return what was wrong, or None."""
    if not hasattr(model, "predict"):
        return None
    rows = rows_of(model)
    if not is_classifier(model):
        return None if np.isfinite(model.predict(rows)).all() else "a prediction is not finite"
    shares = model.predict_proba(rows)
    if not np.isfinite(shares).all() or (shares < 0).any():
        return "a probability is not finite"
    if np.abs(shares.sum(axis=1) - 1).max() > 1e-6:
        return "probabilities do not sum to one"
    model.predict(rows)
    inner = getattr(model, "model_", model)
    if not np.isfinite(inner.explain(rows).posteriors).all():
        return "an explained probability is not finite"
    inner.views()
    if draws:
        cw.draw(inner)
        cw.save(model, path)
    return None


def try_file(path, draws=True):
    """Load a file and use what it holds; return what happened and what was wrong."""
    try:
        model = cw.load(path)
    except StoreError as why:
        text = str(why).replace(str(path), "")
        quoted = max(map(len, re.findall(r"'([^']*)'", text)), default=0)
        bad = "\n" in text or len(text) > 600 or quoted > MOST_QUOTED
        return "refused", f"a refusal that is long: {text}" if bad else None
    return "loaded", try_model(model, path, draws)


def interrupted(*_):
    raise TimeoutError("takes too long")


def report(line):
    """Print a line of JSON."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(seed, first, count):
    """Make changes and print those that went wrong."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, interrupted)
    totals = {"refused": 0, "loaded": 0, "failed": 0, "slowest": 0.0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        originals = saved_models(folder)
        path = folder / "m.cw"
        for number in range(first, first + count):
            kind = list(originals)[number % len(originals)]
            stream = random.Random(f"{seed} {number}")
            write_file(path, changed(originals[kind], stream))
            start = time.perf_counter()
            signal.alarm(SECONDS)
            try:
                # Drawing takes longer than all else: a third of the models is enough.
                outcome, wrong = try_file(path, draws=stream.random() < 0.34)
            except Exception as why:
                trace = traceback.extract_tb(why.__traceback__)
                where = " < ".join(
                    f"{os.path.basename(step.filename)}:{step.lineno}" for step in trace[:-7:-1]
                )
                outcome, wrong = "failed", f"{type(why).__name__}: {str(why)[:200]} at {where}"
            finally:
                signal.alarm(0)
            totals["slowest"] = max(totals["slowest"], time.perf_counter() - start)
            totals["failed" if wrong else outcome] += 1
            if wrong:
                report({"change": number, "model": kind, "wrong": wrong})
    totals["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    report(totals)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
