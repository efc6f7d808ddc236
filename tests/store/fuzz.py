"""Change saved files at random and see what becomes of them; run as a program of its own.

``python fuzz.py SEED FIRST COUNT`` makes the changes FIRST to FIRST + COUNT - 1 of a seed, in turn
to a file of every example of every model in the registry, of pipelines, counts, schemas and gains.
It prints a line of JSON for each that went wrong and one in the end. A change that is refused must
be refused by an error of ours, in one sentence. What is loaded must work: a model answers with
finite probabilities, explains them, is drawn and is saved again.
"""

import gc
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
from pathlib import Path

import numpy as np
import pandas as pd
from fuzz_files import changed, packed, saved_files
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

import countwise as cw
from countwise.errors import CountsError, CountwiseError, StoreError

#: Bytes of memory and seconds that one changed file may take.
MEMORY = 2 << 30
SECONDS = 20
#: How much of a file a refusal may quote.
MOST_QUOTED = 90


class WrongError(Exception):
    """What a loaded value did that it must not do."""


def columns_of(schema, errs=False):
    """Return rows as a schema admits them: known, missing, unseen, far away."""
    rows = {}
    for column in schema.attributes:
        if column.kind == "numeric":
            rows[column.name] = [0.0, 1.5, -2.0, None, 1e9, None]
        elif column.kind == "text":
            rows[column.name] = ["cheap money now", "we", "", None, "never seen", "now now now"]
        else:
            levels = list(column.levels) or [None]
            known = [levels[0], levels[-1], levels[len(levels) // 2], None]
            rows[column.name] = [*known, levels[-1] if errs else "never seen", None]
    return rows


def rows_of(model):
    """Return rows in the shape in which the model was trained: an array, a frame or a table."""
    inner = getattr(model, "model_", model)
    schema = inner.schema_.without_target()
    rows = columns_of(schema, getattr(inner, "unseen", "ignore") == "error")
    names = getattr(inner, "feature_names_in_", None)
    if names is None and hasattr(inner, "n_features_in_"):
        return np.tile(np.array([[0.5], [-2.0], [np.nan], [1e9]]), inner.n_features_in_)
    if names is None:
        return cw.read(rows, schema=schema, keep_rows=True)
    return pd.DataFrame({name: rows.get(name, [None] * 6) for name in names})


def check_shares(shares):
    """Refuse what are no probabilities."""
    if not np.isfinite(shares).all() or (shares < 0).any():
        raise WrongError("a probability is not finite")
    if np.abs(shares.sum(axis=1) - 1).max(initial=0) > 1e-6:
        raise WrongError("probabilities do not sum to one")


def try_model(model):
    """Use a model in all ways."""
    rows = rows_of(model)
    inner = getattr(model, "model_", model)
    predicted = model.predict(rows)
    if is_classifier(model):
        check_shares(model.predict_proba(rows))
        check_shares(inner.explain(rows).posteriors)
    else:
        inner.explain(rows)
        if not np.isfinite(predicted).all():
            raise WrongError("a prediction is not finite")
    cw.draw(inner)


def try_pipeline(pipeline):
    """Ask a pipeline about ordinary numbers."""
    width = getattr(pipeline[0], "n_features_in_", 2)
    rows = np.column_stack([[0.5, 1.5, -2.0, 3.0]] * width)
    check_shares(pipeline.predict_proba(rows))
    pipeline.predict(rows)


def try_counts(counts):
    """Add counts, and learn from them."""
    if not (counts + counts) - counts == counts and np.isfinite(counts.total):
        raise WrongError("counts that were added cannot be subtracted")
    if not counts.classes or not counts.total:
        return
    try:
        model = cw.NaiveBayes().fit_counts(counts)
    except CountsError:  # other tables were counted
        return
    check_shares(model.predict_proba(rows_of(model)))


def try_gains(gains):
    """Decide by gains, and say them in words."""
    " ".join(gains.sentences())
    posteriors = np.eye(len(gains.classes)) * 0.5 + 0.5 / len(gains.classes)
    check_shares(cw.ExpectedGain(gains).shares(posteriors))


def try_value(value):
    """Use a loaded value as one of its kind is used."""
    if isinstance(value, Pipeline):
        try_pipeline(value)
    elif isinstance(value, cw.Counts):
        try_counts(value)
    elif isinstance(value, cw.GainMatrix):
        try_gains(value)
    elif isinstance(value, cw.Schema):
        rows = columns_of(value)
        if rows:
            cw.read(rows, schema=value.without_target(), keep_rows=True)
    else:
        try_model(value)


#: How files that are no zip are read, and what refuses them.
READERS = {
    "Schema 0 as text": (cw.Schema.read, CountwiseError),
    "GainMatrix 0 as text": (cw.GainMatrix.read, CountwiseError),
}


def try_file(path, kind):
    """Load a file and use what it holds; return what happened and what was wrong."""
    read, refusal = READERS.get(kind, (cw.load, StoreError))
    try:
        value = read(path)
    except refusal as why:
        text = str(why).replace(str(path), "")
        quoted = max(map(len, re.findall(r"'([^']*)'", text)), default=0)
        bad = "\n" in text or len(text) > 600 or quoted > MOST_QUOTED
        return "refused", f"a refusal that is long: {text}" if bad else None
    try:
        try_value(value)
        if kind not in READERS:
            cw.save(value, path)
    except WrongError as why:
        return "loaded", str(why)
    return "loaded", None


def interrupted(*_):
    raise TimeoutError("takes too long")


def report(line):
    """Print a line of JSON."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def describe_failure(why):
    """Return an exception and where it was raised, in a line."""
    steps = traceback.extract_tb(why.__traceback__)[:-7:-1]
    where = " < ".join(f"{os.path.basename(step.filename)}:{step.lineno}" for step in steps)
    return f"{type(why).__name__}: {str(why)[:200]} at {where}"


def main(seed, first, count):
    """Make changes and print those that went wrong."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, interrupted)
    # The disk is not what is tried here.
    os.fsync = lambda file: None
    totals = {"refused": 0, "loaded": 0, "failed": 0, "slowest": 0.0}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "m.cw"
        originals = saved_files(Path(name))
        kinds = list(originals)
        for kind, members in originals.items():
            path.write_bytes(packed(members))
            if try_file(path, kind) != ("loaded", None):
                raise WrongError(f"{kind} is refused as it was saved")
        gc.freeze()
        for number in range(first, first + count):
            kind = kinds[number % len(kinds)]
            stream = random.Random(f"{seed} {number}")
            path.write_bytes(packed(changed(originals[kind], stream)))
            start = time.perf_counter()
            signal.alarm(SECONDS)
            try:
                outcome, wrong = try_file(path, kind)
            except Exception as why:
                outcome, wrong = "failed", describe_failure(why)
            finally:
                signal.alarm(0)
            totals["slowest"] = max(totals["slowest"], time.perf_counter() - start)
            totals["failed" if wrong else outcome] += 1
            if wrong:
                report({"change": number, "file": kind, "wrong": wrong})
    totals["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    totals["seconds"] = round(time.perf_counter() - began, 1)
    totals["cpu_seconds"] = round(time.process_time(), 1)
    report(totals)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
