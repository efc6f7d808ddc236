"""Models of every kind that can be saved, and rows to ask them about."""

import functools
import hashlib
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.counts.plan import Plan
from countwise.errors import StoreError
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.store.files import load, save

ROWS = 60
LABELS = {str: ["no", "perhaps", "yes"], int: [3, 5, 11], float: [1.0, 2.0, 4.0]}
GAINS = {
    "no": {"no": 1, "perhaps": -1, "yes": -2.5, "ask": -0.1},
    "perhaps": {"no": 0, "perhaps": 1, "yes": 0, "ask": -0.1},
    "yes": {"no": -1 / 3, "perhaps": 0, "yes": 1, "ask": -0.1},
}
BARE = [[1, 0, 0], [0, 1, -1], [0, -2, 3]]


@functools.cache
def frame():
    """Texts, numbers and holes under odd column names."""
    stream = np.random.default_rng(7)
    holes = stream.random(ROWS) < 0.2
    return pd.DataFrame(
        {
            "größe/cm ": stream.normal(170, 9, ROWS).round(1),
            "../outlook": stream.choice(["sunny", "rainy", "中文", ""], ROWS),
            "": stream.choice(list("abcdefghijklmnop"), ROWS),
            "n": np.where(holes, np.nan, stream.gamma(2.0, 3.0, ROWS)),
            "coded": stream.integers(0, 4, ROWS),
        }
    )


def array():
    return frame()[["größe/cm ", "n", "coded"]].to_numpy()


def labels(kind=str):
    which = np.random.default_rng(3).integers(0, 3, ROWS)
    which[:3] = [0, 1, 2]
    return which > 0 if kind is bool else np.array(LABELS[kind])[which]


def weights(rows=ROWS):
    return np.random.default_rng(5).random(rows) + 0.1


BY_COLUMN = {
    "numeric": {"größe/cm ": "gaussian", "n": "kernel", "coded": "gaussian"},
    "min_deviation": 0,
}


def bayes(**parameters):
    return cw.NaiveBayes(**parameters).fit(frame(), labels(), sample_weight=weights())


def labelled(kind):
    every = np.unique(labels(kind)).tolist()
    model = cw.NaiveBayes(prior={label: 1 / len(every) for label in every})
    return model.fit(frame(), labels(kind))


def decide(rule, prior=None):
    return cw.Decide(cw.NaiveBayes(), rule, prior).fit(frame(), labels())


def over():
    return cw.Decide.over(bayes(), "argmax", "uniform", training_prior=[0.2, 0.2, 0.6])


MAKERS = {
    "plain": bayes,
    "kernel": lambda: bayes(numeric="kernel", when_missing="value", unseen="smooth"),
    "mixed": lambda: bayes(**BY_COLUMN, when_missing="value", unseen="smooth"),
    "by column": lambda: bayes(**BY_COLUMN, combine="posteriors"),
    "gaussian": lambda: bayes(numeric="gaussian"),
    "laplace": lambda: bayes(
        smoothing=cw.Laplace(0.3, by="classes"), numeric="gaussian", variance="population"
    ),
    "m-estimate": lambda: bayes(smoothing=cw.MEstimate(2.5, "overall"), bandwidth=0.7),
    "no smoothing": lambda: bayes(smoothing=None),
    "prior list": lambda: bayes(prior=[0.2, 0.3, 0.5]),
    "prior array": lambda: bayes(prior=np.array([0.2, 0.3, 0.5])),
    "prior by label": lambda: bayes(prior={"no": 0.1, "yes": 0.2, "perhaps": 0.7}),
    "nominal": lambda: bayes(nominal=["coded"]),
    "nominal set": lambda: bayes(nominal=frozenset(["coded"])),
    "bool labels": lambda: labelled(bool),
    "int labels": lambda: labelled(int),
    "float labels": lambda: labelled(float),
    "cuts": lambda: bayes(numeric="cuts", cuts="frequency", bins=4),
    "tree": lambda: TAN(smoothing="back-off").fit(frame(), labels(), weights()),
    "tree of nominal": lambda: TAN(nominal="all").fit(frame(), labels()),
    "decided tree": lambda: cw.Decide(TAN(bins=3), GAINS).fit(frame(), labels()),
    "parents": lambda: AODE(0.5, frequency_limit=2).fit(frame(), labels(), weights()),
    "families": lambda: KDB(2, bins=3).fit(frame(), labels(), weights()),
    "families of all": lambda: KDB(1, selective=False, smoothing="back-off").fit(frame(), labels()),
    "decided families": lambda: cw.Decide(KDB(1), GAINS).fit(frame(), labels()),
    "grown": lambda: ID3().fit(frame(), labels(), weights()),
    "grown on cuts": lambda: ID3("ratio", numeric="cuts", when_missing="majority", bins=4).fit(
        frame(), labels()
    ),
    "pruned": lambda: ID3(prune=0.3, max_depth=4).fit(frame(), labels()),
    "decided grown": lambda: cw.Decide(ID3(smoothing=0.5), GAINS).fit(frame(), labels()),
    "neighbors": lambda: cw.Neighbors(
        3, metric="vdm", weights="distance", p=3, attribute_weights="information", drop_least=1
    ).fit(frame(), labels(), weights()),
    "neighbors of whitened": lambda: cw.Neighbors(metric="mahalanobis").fit(frame(), labels()),
    "neighbors of words": lambda: cw.Neighbors(
        metric="overlap", when_missing="ignore", attribute_weights={"n": 2.0}, nominal=["coded"]
    ).fit(frame(), labels()),
    "condensed": lambda: cw.CondensedNeighbors(orders=3).fit(frame(), labels()),
    "fast condensed": lambda: cw.CondensedNeighbors("fast", metric="hvdm").fit(frame(), labels()),
    "one neighbor": lambda: cw.Neighbors(1, metric="maximum").fit(frame(), labels(int)),
    "decided neighbors": lambda: cw.Decide(cw.Neighbors(), GAINS).fit(frame(), labels()),
    "argmax": lambda: decide("argmax"),
    "wheel": lambda: decide(cw.RouletteWheel(random_state=4)),
    "gain dict": lambda: decide(GAINS),
    "gain rule": lambda: decide(cw.ExpectedGain(cw.GainMatrix.of(GAINS))),
    "bare gain": lambda: decide(cw.ExpectedGain(BARE)),
    "gain array": lambda: decide(np.array(BARE, dtype=float)),
    "gain and prior": lambda: decide(GAINS, {"no": 0.5, "perhaps": 0.25, "yes": 0.25}),
    "over": over,
}


@pytest.fixture(params=list(MAKERS))
def any_model(request):
    return MAKERS[request.param]()


@pytest.fixture
def model():
    return MAKERS["mixed"]()


@pytest.fixture
def decided():
    return MAKERS["gain and prior"]()


@pytest.fixture
def rows():
    return frame()


@pytest.fixture
def y():
    return labels()


@pytest.fixture
def numbers():
    """The same rows as a bare array, and whole numbers as labels."""
    return array(), labels(int)


def unpacked(path):
    """Return the members of a file by name."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(path, members, mended=True):
    """Write members to a file; `mended` makes the manifest agree with them again."""
    if mended:
        manifest = json.loads(members["manifest.json"])
        for name, entry in manifest["members"].items():
            if name in members:
                entry["bytes"] = len(members[name])
                entry["sha256"] = hashlib.sha256(members[name]).hexdigest()
        members = {**members, "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)


@pytest.fixture
def zips():
    """Ways to take a file apart and to put one together: unpacked, packed."""
    return unpacked, packed


@pytest.fixture
def pairs():
    """Counts of pairs of columns whose tables lie transposed in memory."""
    table = cw.read("sample:weather")
    counts = cw.count(table, Plan.pairs(table.schema), sample_weight=weights(14))
    return counts.restricted(Plan(tuple(tuple(reversed(names)) for names in counts.plan.tables)))


@pytest.fixture
def saved(model, tmp_path):
    """The path of a saved model."""
    save(model, tmp_path / "model.cw")
    return tmp_path / "model.cw"


@pytest.fixture
def edited(saved):
    """Edit a member's JSON (or its bytes) in a saved file, checksums mended."""

    def edit(name, change, path=saved):
        members = unpacked(path)
        if name.endswith(".json"):
            plain = json.loads(members[name])
            made = change(plain)
            members[name] = json.dumps(plain if made is None else made).encode()
        else:
            members[name] = change(members[name])
        packed(path, members, mended=name != "manifest.json")
        return path

    return edit


@pytest.fixture(name="refused")
def _refused():
    """Check that a file is refused with one sentence that holds these words."""
    return refused


def refused(path, words, read=load):
    with pytest.raises(StoreError, match=words) as caught:
        read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(("load: ", "describe: "))
    assert message.endswith((".", ")"))
    assert len(message) < 500
