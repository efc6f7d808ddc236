"""Values of every kind to plain JSON and arrays, and back, by their annotations alone."""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import countwise as cw
from countwise.counts.plan import Plan
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.recode import Recode
from countwise.errors import StoreError
from countwise.models.ensembles.adaboost import Round, Rule
from countwise.models.linear.base import Layer
from countwise.models.linear.encoder import Features
from countwise.models.linear.neural_net import Epoch
from countwise.models.neighbors.space import Space
from countwise.models.tree.tree_structure import TreeStructure
from countwise.notes import Note
from countwise.store.archive import format_json, npy_header, parse_json, read_npy
from countwise.store.codec import UnsoundError, decode, encode, memory_order
from countwise.tables.table import Table


def again(value, kind=None):
    """The value that comes back after its document was written and read."""
    plain, arrays = encode(value, kind)
    document = parse_json(format_json(plain), "model.json")
    return decode(type(value) if kind is None else kind, document, arrays)


def same(one, two):
    """Equal, field by field and array by array."""
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)
    elif isinstance(one, dict):
        assert list(one) == list(two)
        for key in one:
            same(one[key], two[key])
    elif isinstance(one, list | tuple) and not hasattr(one, "_fields"):
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            same(left, right)
    elif hasattr(one, "__dataclass_fields__"):
        for name, own in one.__dataclass_fields__.items():
            if own.init:
                same(getattr(one, name), getattr(two, name))
    elif hasattr(one, "_fields"):
        same(tuple(one), tuple(two))
    else:
        assert one == two or (one != one and two != two)


# --- atoms and containers --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, "中文"),
        (int, -(10**90)),
        (float, 0.1),
        (float, 3),
        (float, math.inf),
        (float, math.nan),
        (bool, True),
        (type(None), None),
        (Literal["a", 1], 1),
        (float | None, None),
        (str | int | float | bool, True),
        (str | int | float | bool, -math.inf),
        (tuple[int, ...], (1, 2, 3)),
        (tuple[int, str], (1, "x")),
        (tuple[str | int | float | bool, ...], ("x", 1, 1.0, True, math.inf)),
        (list[tuple[float, ...] | None], [(0.5,), None, ()]),
        (dict[str, int], {"": 1, "is": 2}),
        (dict[tuple[str, ...], float], {("a", "b"): 1.0, (): 2.0}),
        (NDArray[np.float64], np.array([[1.0, np.nan], [np.inf, 0.0]])),
        (NDArray[np.int32], np.zeros((0, 3), np.int32)),
        (NDArray[np.bool_], np.array([True, False])),
        (NDArray[np.signedinteger[Any]], np.arange(3, dtype=np.int16)),
        (NDArray[np.int32] | NDArray[np.float64], np.array([1.5])),
        (NDArray[np.float64] | None, None),
        (NDArray[np.float64], np.array([0.1, -0.0, 5e-324])),
        (NDArray[np.int64], np.array([-(2**63), 2**63 - 1])),
        (NDArray[np.float64], np.arange(100.0)),
        (NDArray[Any], np.array(["a", "b"])),
        (NDArray[Any], np.array(["a", 1, True, 2.5], dtype=object)),
        (Any, {"a": [1, (2.5, "x"), {3}, None], "b": {1: np.array([1.0])}}),
        (Any, {"is": "set"}),
        (Any, cw.Laplace(0.5)),
    ],
)
def test_values_come_back(kind, value):
    same(again(value, kind), value)


@pytest.mark.parametrize(
    ("kind", "plain", "words"),
    [
        (str, 3, "the value must be str; got 3"),
        (int, 3.0, "must be int; got 3.0"),
        (int, True, "must be int; got True"),
        (float, "3", "must be float; got '3'"),
        (bool, 1, "must be bool; got 1"),
        (type(None), 0, "must be null"),
        (Literal["a", 1], True, "must be one of 'a', 1; got True"),
        (float | None, "x", "must be float or null; got 'x'"),
        (tuple[int, ...], "12", "must be a list; got '12'"),
        (tuple[int, ...], [1, "2"], r"\[1\] must be int; got '2'"),
        (tuple[int, str], [1], "must hold 2 values; got 1"),
        (dict[str, int], [["a", 1]], "must be a mapping"),
        (dict[str, int], {"a": {}}, "a must be int; got an object"),
        (dict[tuple[str, ...], int], [[["a"], 1], [["a"], 2]], "must be there once"),
        (dict[tuple[str, ...], int], {"a": 1}, "must be a mapping"),
        (NDArray[np.float64], [1.0], "must be an object; got a list"),
        (NDArray[np.float64], {"array": "a", "shape": [2]}, "array of float64; got"),
        (NDArray[np.int64], {"array": "a", "shape": [3]}, "must name an array of shape"),
        (NDArray[np.int64], {"array": "b", "shape": [2]}, "must name an array of shape"),
        (NDArray[np.int64], {"array": "a", "shape": [2], "axes": [1]}, "each axis once"),
        (NDArray[np.int64], {"array": "a", "shape": [2], "from": 1}, "must lie within 'a'"),
        (NDArray[np.int64], {"array": "a", "shape": [2.0]}, "must be an array"),
        (NDArray[np.int64], {"array": "a"}, "must hold 'shape'"),
        (NDArray[np.int64], {"numbers": [1.0], "type": "int64"}, "numbers of type int64"),
        (NDArray[np.int64], {"numbers": [2**70], "type": "int64"}, "is not sound"),
        (NDArray[np.int64], {"numbers": [1] * 17, "type": "int64"}, "at most 16 numbers"),
        (NDArray[np.int64], {"numbers": [1], "type": "object"}, "of a known type"),
        (NDArray[np.int64], {"numbers": [1], "type": "int32"}, "array of int64; got"),
        (NDArray[np.int64], {"numbers": [1], "type": "int64", "shape": [1]}, "must not hold"),
        (NDArray[Any], {"is": "array", "type": "str", "items": [[1]]}, "array of labels|sound"),
        (NDArray[Any], {"is": "array", "type": "object", "items": [[1]]}, "must hold texts"),
        (NDArray[Any], [1], "must be an array of labels"),
        (Any, {"is": "os.system"}, "a value this countwise knows; got 'os.system'"),
        (Any, {"is": "set", "items": [[]]}, "is not sound"),
        (Any, {"is": "model", "model": "Pipeline", "parameters": {}}, "a model this countwise"),
    ],
)
def test_what_is_no_value_is_refused_by_its_place(kind, plain, words):
    with pytest.raises(UnsoundError, match=words):
        decode(kind, plain, {"a": np.arange(2)})


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (int, "x", "save: the value must be int to be saved; got a str"),
        (dict[str, int], {"a": 0.5}, "save: a must be int to be saved; got a float"),
        (int, 10**100, "fewer than 100 digits"),
        (NDArray[np.float64], np.arange(3), "must be an array of float64"),
        (Any, object(), "must be plain data to be saved; got a object"),
        (Any, b"x", "must be plain data"),
        (np.random.Generator | None, np.random.default_rng(0), "seed as a whole number"),
    ],
)
def test_what_cannot_be_written_is_refused_by_its_place(kind, value, words):
    with pytest.raises(StoreError, match=words):
        encode(value, kind)


def test_values_without_end_are_refused():
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(StoreError, match="nested deeper than 12"):
        encode(endless, Any)
    deep: Any = 0
    for _ in range(60):
        deep = [deep]
    with pytest.raises(UnsoundError, match="nested deeper than 36"):
        decode(Any, deep, {})


# --- records ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.0
    names: tuple[str, ...] = ()
    derived: int = field(init=False, default=3)

    def check(self):
        if self.x < 0:
            raise ValueError("x must be at least 0")


class Pair(NamedTuple):
    left: Point
    right: Point | None = None


@dataclass(frozen=True)
class Line:
    points: tuple[Point, ...]
    ends: Point | Pair | None
    shape: "Point | Other"


@dataclass(frozen=True)
class Other:
    z: int


@pytest.mark.parametrize(
    "value",
    [
        Point(1.5),
        Point(1.5, 2.0, ("a",)),
        Pair(Point(1.0)),
        Line((Point(1.0), Point(2.0)), None, Other(3)),
        Line((), Point(1.0), Point(2.0)),
    ],
)
def test_records_come_back(value):
    assert again(value) == value


def test_defaults_are_left_out_and_classes_are_tagged_only_in_unions():
    assert encode(Point(1.5)) == ({"x": 1.5}, {})
    assert encode(Line((), None, Other(3)))[0] == {
        "points": [], "ends": None, "shape": {"is": "Other", "z": 3}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        (3, "must be an object; got 3"),
        ({}, "must hold 'x'"),
        ({"x": 1.0, "z": 2}, "must not hold 'z', which no Point has"),
        ({"x": 1.0, "derived": 2}, "must not hold 'derived'"),
        ({"x": "1"}, "x must be float; got '1'"),
        ({"x": 1.0, "names": ["a", 2]}, r"names\[1\] must be str; got 2"),
        ({"x": -1.0}, r"is not sound \(x must be at least 0\)"),
    ],
)
def test_records_are_read_strictly(plain, words):
    with pytest.raises(UnsoundError, match=words):
        decode(Point, plain, {})


def test_records_check_themselves_before_they_are_saved():
    with pytest.raises(StoreError, match=r"left is not sound \(x must be at least 0\)"):
        encode(Pair(Point(-1.0)))


def weather_counts():
    table = cw.read("sample:weather_numeric")
    return cw.count(table, Plan.each(table.schema, "both"))


VALUES = {
    "Counts": weather_counts,
    "Plan": lambda: Plan((("a",), ("a", "b")), ("x",), ("x",)),
    "Schema": lambda: cw.read("sample:weather").schema,
    "Table": lambda: cw.read("sample:weather_numeric"),
    "Moments": lambda: weather_counts().moments["humidity"],
    "Grid": lambda: weather_counts().grids["humidity"],
    "TreeStructure": lambda: cw.ID3().fit(cw.read("sample:weather_numeric")).tree_,
    "CellTable": lambda: cw.DiscreteBayes().fit(cw.read("sample:weather_numeric")).cells_,
    "Space": lambda: cw.Neighbors(metric="vdm").fit(cw.read("sample:weather_numeric")).space_,
    "whitened": lambda: cw.Neighbors(metric="mahalanobis").fit(cw.read("sample:iris")).space_,
    "Features": lambda: Features.learn(cw.read("sample:weather_numeric")),
    "Layer": lambda: Layer(np.ones((2, 3)), np.zeros(3)),
    "Round": lambda: Round(0.25, 0.5, "x", "x ≤ 3: no; else: yes"),
    "Rule": lambda: Rule("x", np.array([0, 1, 0, 0], np.int32), 0.25, 1),
    "Epoch": lambda: Epoch(1, 0.5, math.nan),
    "OutOfBag": lambda: (
        cw.Bagging(cw.NaiveBayes(), n_estimators=5, oob_score=True)
        .fit(cw.read("sample:weather"))
        .out_of_bag_
    ),
    "Recode": lambda: Recode({"x": np.array([1.0])}, {"a": ("u", 1)}, (Note("P01", "a", "A."),)),
    "Note": lambda: Note("T01", None, "A remark."),
    "Laplace": lambda: cw.Laplace(1, "classes"),
    "MEstimate": lambda: cw.MEstimate(2.5, 0.25),
    "GainMatrix": lambda: cw.GainMatrix.of({1: {1: 3, 0: -1, "ask": 0}, 0: {1: 0, 0: 1, "ask": 0}}),
    "Argmax": cw.Argmax,
    "RouletteWheel": lambda: cw.RouletteWheel(3),
    "ExpectedGain": lambda: cw.ExpectedGain([[1, 0], [0, 1]]),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_models_learn_comes_back(name):
    value = VALUES[name]()
    back = again(value)
    if isinstance(value, Table | cw.Counts):
        assert back == value
    else:
        same(back, value)


@pytest.mark.parametrize("kind", [TreeStructure, CellTable, Space, Features, cw.Counts])
def test_an_array_of_another_shape_is_refused(kind):
    value = next(make() for make in VALUES.values() if type(make()) is kind)
    plain, arrays = encode(value)
    text = json.dumps(plain)
    for name, array in arrays.items():
        if "lookup" in name:  # of which only the schema knows the length
            continue
        longer = np.concatenate([array, array[:1]])
        reference = json.dumps({"array": name, "shape": list(array.shape)})
        swapped = json.dumps({"array": name, "shape": list(longer.shape)})
        assert reference in text
        with pytest.raises(UnsoundError, match="is not sound"):
            decode(kind, json.loads(text.replace(reference, swapped)), {**arrays, name: longer})


def test_columns_that_stand_twice_are_written_once():
    counts = weather_counts()
    plain, _ = encode((counts.schema, counts), tuple[cw.Schema, cw.Counts])
    assert plain[1]["schema"] == {"same": len(counts.schema)}
    schema, back = decode(tuple[cw.Schema, cw.Counts], plain, encode(counts)[1] | _arrays(counts))
    assert back.schema is schema


def _arrays(counts):
    return encode((counts.schema, counts), tuple[cw.Schema, cw.Counts])[1]


def test_arrays_keep_their_order_in_memory():
    assert memory_order(np.zeros((2, 3))) == (0, 1)
    assert memory_order(np.zeros((2, 3)).T) == (1, 0)
    turned = np.arange(6.0).reshape(2, 3).T
    back = again(turned, NDArray[np.float64])
    assert back.strides == turned.strides
    np.testing.assert_array_equal(back, turned)


# --- documents and arrays --------------------------------------------------------------------


def test_a_document_is_written_for_people_and_read_strictly():
    assert format_json({"rows": 14, "levels": ["no", "yes"]}) == (
        b'{\n  "rows": 14,\n  "levels": ["no", "yes"]\n}'
    )
    assert format_json({"numbers": [1, 2], "type": "int64"}) == (
        b'{"numbers": [1, 2], "type": "int64"}'
    )
    assert parse_json(b'{"rows": 14}', "model.json") == {"rows": 14}
    with pytest.raises(UnsoundError, match=r"no proper JSON in 'model.json' \(NaN is no number\)"):
        parse_json(b'{"rows": NaN}', "model.json")


def test_an_array_is_read_as_it_was_announced_or_not_at_all():
    import io

    data = npy_header("<i8", (2,)) + b"\x01" + bytes(15)
    assert read_npy(io.BytesIO(data).read, "<i8", (2,), "a.npy").tolist() == [1, 0]
    for dtype, shape in (("<f8", (2,)), ("<i8", (3,)), ("<i8", (2, 1))):
        with pytest.raises(UnsoundError, match="must hold"):
            read_npy(io.BytesIO(data).read, dtype, shape, "a.npy")
    with pytest.raises(UnsoundError, match="ends too early"):
        read_npy(io.BytesIO(data[:-1]).read, "<i8", (2,), "a.npy")
