"""A thousand damaged files: each is loaded as the model it was, or refused in one sentence."""

import json
import os
import random
import subprocess
import sys
import time
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from countwise.errors import CountwiseError, StoreError
from countwise.store.files import describe, load, save

ODD = [None, True, -1, 0, 1, 2**70, 1.5, -1e308, "", "x", "argmax", [], {}, [[]], {"is": "set"}]


def flipped(data, stream):
    changed = bytearray(data)
    for _ in range(stream.choice([1, 1, 2, 8])):
        changed[stream.randrange(len(changed))] ^= 1 << stream.randrange(8)
    return bytes(changed)


def cut(data, stream):
    return data[: stream.randrange(len(data))]


def spliced(data, stream):
    first, second = sorted(stream.sample(range(len(data)), 2))
    return stream.choice(
        [data[:first] + data[second:], data[:second] + data[first:], data[second:] + data[:first]]
    )


def overwritten(data, stream):
    at, size = stream.randrange(len(data)), stream.randrange(1, 64)
    return data[:at] + stream.randbytes(size) + data[at + size :]


def outcome(read, path):
    """Return what is read and the refusal, one of them None; nothing else may be raised."""
    try:
        return read(path), None
    except StoreError as why:
        return None, str(why)


def tried(path, model, rows, equal):
    """Load; what is not refused must work, and be the same where nothing was forged."""
    loaded, refusal = outcome(load, path)
    seen, unseen = outcome(describe, path)
    assert (seen is None) == (unseen is not None)
    if refusal is not None:
        assert refusal.startswith("load: ")
        assert "\n" not in refusal
        return
    with warnings.catch_warnings():
        if not equal:
            warnings.simplefilter("ignore")
        try:
            posteriors, decisions = loaded.predict_proba(rows), loaded.predict(rows)
        except (CountwiseError, ValueError, AttributeError):
            # A forged file may hold another thing, or a model of other columns.
            assert not equal
            return
    assert np.isfinite(posteriors).all()
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)
    if equal:
        np.testing.assert_array_equal(posteriors, model.predict_proba(rows))
        np.testing.assert_array_equal(decisions, model.predict(rows))


@pytest.mark.parametrize("damage", [flipped, cut, spliced, overwritten])
def test_damaged_bytes(any_model, rows, tmp_path, damage, request):
    stream = random.Random(request.node.name)
    path = tmp_path / "m.cw"
    save(any_model, path)
    whole = path.read_bytes()
    for _ in range(8):
        path.write_bytes(damage(whole, stream))
        tried(path, any_model, rows, equal=True)


def spots(plain, found):
    """Every place in a document: the container and the key."""
    keys = list(plain) if isinstance(plain, dict) else range(len(plain))
    for key in keys:
        found.append((plain, key))
        if isinstance(plain[key], dict | list):
            spots(plain[key], found)
    return found


def forged(members, stream):
    """Change a document, an array, or swap two members."""
    members = dict(members)
    way = stream.random()
    if way < 0.15:
        one, other = stream.sample(sorted(members), 2)
        members[one], members[other] = members[other], members[one]
        return members
    arrays = [name for name in members if name.endswith(".npy")]
    if way < 0.3 and arrays:
        name = stream.choice(arrays)
        return {**members, name: overwritten(members[name], stream)[: len(members[name])]}
    name = stream.choice([name for name in members if name.endswith(".json")])
    plain = json.loads(members[name])
    for _ in range(stream.choice([1, 1, 1, 3])):
        places = spots(plain, [])
        if not places:
            break
        inside, key = stream.choice(places)
        act = stream.random()
        if act < 0.2:
            del inside[key]
        elif act < 0.4:
            other, there = stream.choice(places)
            inside[key] = json.loads(json.dumps(other[there]))
        elif act < 0.5 and isinstance(inside, list):
            inside.append(inside[key])
        else:
            inside[key] = deepcopy(stream.choice(ODD))
    return {**members, name: json.dumps(plain).encode()}


def test_forged_members_with_mended_checksums(any_model, rows, zips, tmp_path, request):
    unpacked, packed = zips
    stream = random.Random(request.node.name)
    path = tmp_path / "m.cw"
    save(any_model, path)
    members = unpacked(path)
    for _ in range(20):
        made = forged(members, stream)
        try:
            packed(path, made)
        except (ValueError, AttributeError, TypeError, KeyError):
            packed(path, made, mended=False)
        start = time.perf_counter()
        tried(path, any_model, rows, equal=False)
        assert time.perf_counter() - start < 300  # it ends, however busy the machine is


@pytest.mark.slow
def test_twenty_thousand_changes_of_every_model():
    """Every example of the registry, changed at random in programs of their own; see fuzz.py."""
    count, program = 10_000, Path(__file__).with_name("fuzz.py")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            [sys.executable, program, "7", str(first), str(count)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for first in (0, count)
    ]
    try:
        for worker in workers:
            printed, errors = worker.communicate(timeout=1800)
            assert worker.returncode == 0, errors[-2000:]
            *wrong, totals = map(json.loads, printed.splitlines())
            assert wrong == []
            assert totals["refused"] + totals["loaded"] == count
            assert totals["loaded"] > count // 20
    finally:
        for worker in workers:
            worker.kill()
