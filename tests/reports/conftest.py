"""A headless Chromium for looking at pages, driven through its own pipe: no package, no network.

Chromium speaks the DevTools protocol over two file descriptors (``--remote-debugging-pipe``): JSON
messages that end in a NUL byte. That is all a test needs to open a page at a given width, to hear
its console, to see what it asks the network for and to measure where its texts lie.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from functools import cache, lru_cache
from pathlib import Path

import pytest

import countwise as cw
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.learning_curve import learning_curve
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.reports.comparison_facts import comparison_facts

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 180.0
# Puts the ends of the pipes where Chromium looks for them, 3 and 4, and becomes Chromium.
PLACING = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(own), fcntl.F_DUPFD, 10) for own in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium():
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found, (
        f"The browser tests need Chromium, but none of {', '.join(NAMES)} is on the PATH. "
        "`make test` installs it."
    )
    return found


class Page:
    """One open page: what it said, what it asked for, and a way to ask it something."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.errors, self.requests = [], []

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def heard(self, message):
        method, said = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(said["exceptionDetails"])[:300])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.errors.append(json.dumps(said["args"])[:300])
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.errors.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])

    def ask(self, script):
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def resize(self, width, dark=False, height=900):
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path, clip=None):
        shot = {"captureBeyondViewport": True}
        if clip is None:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"]}
        shot["clip"] = {**clip, "scale": 1}
        data = self.send("Page.captureScreenshot", format="png", **shot)["data"]
        Path(path).write_bytes(base64.b64decode(data))


class Browser:
    """A running Chromium with a profile of its own."""

    def __init__(self, profile):
        inward, to_browser = os.pipe()
        from_browser, outward = os.pipe()
        ends = (str(inward), str(outward))
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-c", PLACING, *ends, find_chromium()),
                *(*FLAGS, f"--user-data-dir={profile}", "about:blank"),
            ],
            pass_fds=(inward, outward),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(inward)
        os.close(outward)
        self.to, self.source = to_browser, from_browser
        self.held, self.number, self.pages = b"", 0, {}

    def _message(self, until):
        while b"\0" not in self.held:
            left = until - time.monotonic()
            ready = left > 0 and select.select([self.source], [], [], left)[0]
            assert ready, "Chromium is silent"
            piece = os.read(self.source, 1 << 16)
            assert piece, "Chromium has ended"
            self.held += piece
        first, self.held = self.held.split(b"\0", 1)
        return json.loads(first)

    def send(self, method, session=None, **params):
        self.number += 1
        wanted = self.number
        message = {"id": wanted, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        return self._until(lambda answer: answer.get("id") == wanted)["result"]

    def _until(self, fits):
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._message(until)
            if answer.get("sessionId") in self.pages and "method" in answer:
                self.pages[answer["sessionId"]].heard(answer)
            if fits(answer):
                assert "error" not in answer, answer["error"]
                return answer

    def open(self, path, width=1280, dark=False):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.resize(width, dark)
        page.send("Page.navigate", url=Path(path).as_uri())
        self._until(
            lambda said: (
                said.get("method") == "Page.loadEventFired" and said.get("sessionId") == session
            )
        )
        return page

    def close(self):
        for end in (self.to, self.source):
            os.close(end)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    running = Browser(tmp_path_factory.mktemp("chromium"))
    yield running
    running.close()


GAIN = {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}


def facts_of_sample(name):
    table = cw.read(f"sample:{name}")
    gain = GAIN if name == "credit-g" else None
    models = {"NaiveBayes": cw.NaiveBayes(), "kernel": cw.NaiveBayes(numeric="kernel")}
    folds = 5 if len(table) >= 50 else 2
    trials = evaluate(models, table, folds=folds, gain=gain)
    curve = learning_curve(models, table, points=4, repeats=2, gain=gain)
    return comparison_facts(
        table,
        trials,
        model=cw.NaiveBayes().fit(table),
        model_name="NaiveBayes",
        curve=curve,
        source=f"sample:{name}",
    )


@pytest.fixture(scope="session")
def sample_facts():
    """The facts of a bundled sample by name, gathered once."""
    return lru_cache(maxsize=None)(facts_of_sample)


MODELS = {
    "TAN": TAN,
    "AODE": AODE,
    "KDB": lambda: KDB(k=2, selective=False),
    "ID3": ID3,
    "pruned": lambda: ID3(prune=0.25),
    "cuts": lambda: cw.NaiveBayes(numeric="cuts"),
    "cells": lambda: cw.DiscreteBayes(2000, random_state=0),
    "logistic": cw.Logistic,
    "network": lambda: cw.NeuralNet((4,), max_iter=12),
    "neighbors": lambda: cw.Neighbors(n_neighbors=4, metric="heom"),
    "bagging": lambda: cw.Bagging(n_estimators=3, oob_score=True),
    "boosting": lambda: cw.AdaBoost(n_estimators=12),
    "vote": cw.Vote,
}


@cache
def trials_of(name):
    table = cw.read(f"sample:{name}")
    return table, evaluate(cw.NaiveBayes(), table, folds=2)


@cache
def facts_of_model(name, kind):
    table, trials = trials_of(name)
    model = MODELS[kind]().fit(table)
    return comparison_facts(table, trials, model=model, model_name=kind, source=f"sample:{name}")


@pytest.fixture(scope="session")
def explained():
    """The facts of a bundled sample in which a model of some kind is explained."""
    return facts_of_model


HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def hostile():
    """Facts in which every name, level and class tries to break out of the page, by model."""
    return lru_cache(maxsize=None)(facts_of_hostile)


@pytest.fixture(scope="session")
def hostile_facts(hostile):
    """The same of naive Bayes."""
    return hostile(cw.NaiveBayes)


def facts_of_hostile(kind):
    marks = [HOSTILE, '"><img src=x onerror=alert(2)>', "</script><b>", "a&amp;b'{{ 7*7 }}"]
    rows = 40
    columns = {
        f"{HOSTILE} {at}": [marks[(row * (at + 1)) % 4] + "x" * at for row in range(rows)]
        for at in range(3)
    }
    columns["</title><script>"] = [float(row % 7) for row in range(rows)]
    columns["</style>\x00\x1b]]>"] = [marks[row % 2] for row in range(rows)]
    table = cw.read(columns, target="</style>\x00\x1b]]>")
    classes = table.classes
    gain = {a: {b: float(a == b) for b in classes} for a in classes}
    name = f"{HOSTILE} model"
    trials = evaluate({name: cw.NaiveBayes()}, table, folds=3, gain=gain)
    curve = learning_curve({name: cw.NaiveBayes()}, table, points=3, repeats=2, gain=gain)
    model = kind().fit(table)
    return comparison_facts(
        table, trials, model=model, model_name=name, curve=curve, source=HOSTILE
    )
