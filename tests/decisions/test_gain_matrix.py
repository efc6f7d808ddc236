"""The gain matrix: every way in, every refusal, what it says."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countwise.decisions.gain_matrix import GainMatrix
from countwise.errors import GainError

CREDIT = {"bad": {"bad": 1, "good": -5}, "good": {"bad": -1, "good": 1}}
ASKING = {"bad": {"bad": 1, "good": -5, "ask": -0.5}, "good": {"bad": -1, "good": 1, "ask": 0}}
VALUES = [[1, -5], [-1, 1]]


def test_dict_frame_file_and_array_agree(tmp_path):
    path = tmp_path / "gains.csv"
    path.write_text("true,bad,good\nbad,1,-5\ngood,-1,1\n", encoding="utf-8")
    labelled = pd.DataFrame(VALUES, index=["bad", "good"], columns=["bad", "good"])
    columns = {"true": ["bad", "good"], "bad": [1, -1], "good": [-5, 1]}
    ways = [
        GainMatrix.of(CREDIT),
        GainMatrix.read(path),
        GainMatrix.read(str(path)),
        GainMatrix.of(labelled),
        GainMatrix.of(pd.DataFrame(columns)),
        GainMatrix.of(pl.DataFrame(columns)),
        GainMatrix.of(pl.DataFrame(columns).lazy()),
        GainMatrix.of(pa.table(columns)),
        GainMatrix.of(VALUES, ["bad", "good"]),
    ]
    through_the_door = [CREDIT, path, str(path), labelled, pl.DataFrame(columns), pa.table(columns)]
    ways += [GainMatrix.of(thing) for thing in through_the_door]
    ways += [GainMatrix.of(np.array(VALUES), classes=["bad", "good"]), GainMatrix.of(ways[0])]
    for way in ways:
        assert way == ways[0]
        assert hash(way) == hash(ways[0])
    assert ways[0].values.tolist() == VALUES
    assert ways[0].classes == ways[0].decisions == ("bad", "good")


def test_columns_are_put_in_class_order():
    matrix = GainMatrix.of({"b": {"a": 1, "wait": 9, "b": 2}, "a": {"a": 3, "wait": 8, "b": 4}})
    assert matrix.classes == ("b", "a")
    assert matrix.decisions == ("b", "a", "wait")
    assert matrix.values.tolist() == [[2, 1, 9], [4, 3, 8]]


def test_pandas_frames_read_with_and_without_an_index(tmp_path):
    path = tmp_path / "gains.csv"
    matrix = GainMatrix.of({0: {0: 1, 1: -1}, 1: {0: -2, 1: 3}})
    matrix.write(path)
    for frame in (pd.read_csv(path), pd.read_csv(path, index_col=0)):
        assert GainMatrix.of(frame, classes=[0, 1]) == matrix
    asking = GainMatrix.of({0: {0: 1, 1: -1, 2: 0}, 1: {0: 2, 1: 3, 2: 0}})
    asking.write(path)
    assert GainMatrix.of(pd.read_csv(path, index_col=0), classes=[0, 1]).values[1, 0] == 2


def test_values_are_read_only_and_copies_are_equal():
    matrix = GainMatrix.of(ASKING)
    with pytest.raises(ValueError, match="read-only"):
        matrix.values[0, 0] = 9
    for other in (pickle.loads(pickle.dumps(matrix)), copy.deepcopy(matrix)):
        assert other == matrix
        assert other.notes == matrix.notes
        assert not other.values.flags.writeable
    assert matrix != GainMatrix.of(CREDIT)
    assert eval(repr(matrix)) == matrix


def test_costs_are_negated_by_every_way_in(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text(",bad,good\nbad,0,5\ngood,1,0\n", encoding="utf-8")
    costs = {"bad": {"bad": 0, "good": 5}, "good": {"bad": 1, "good": 0}}
    expected = GainMatrix.of({"bad": {"bad": 0, "good": -5}, "good": {"bad": -1, "good": 0}})
    assert GainMatrix.read(path, costs=True) == expected
    assert GainMatrix.of(costs, costs=True) == expected
    assert GainMatrix.of(pd.DataFrame(costs).T, costs=True) == expected
    assert GainMatrix.of([[0, 5], [1, 0]], ["bad", "good"], costs=True) == expected
    for thing in (path, costs, GainMatrix.of(costs)):
        assert GainMatrix.of(thing, costs=True) == expected
    assert not np.signbit(expected.values[0, 0])
    back = -expected
    assert -back == expected


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separators_and_byte_order_marks(tmp_path, separator, encoding):
    path = tmp_path / "gains.csv"
    lines = [["", "schlecht", "gut, sehr"], ["schlecht", "1", "-5"], ["gut, sehr", " -1 ", "1.5"]]
    quoted = [[f'"{cell}"' if "," in cell else cell for cell in line] for line in lines]
    path.write_text("\r\n".join(separator.join(line) for line in quoted) + "\r\n\r\n", encoding)
    matrix = GainMatrix.read(path)
    assert matrix.classes == ("schlecht", "gut, sehr")
    assert matrix.values.tolist() == [[1, -5], [-1, 1.5]]


def test_decimal_commas_where_the_comma_does_not_separate(tmp_path):
    path = tmp_path / "gains.csv"
    path.write_text(";ja;nein\nja;1,5;-0,25\nnein;0;1\n", encoding="utf-8")
    assert GainMatrix.read(path).values.tolist() == [[1.5, -0.25], [0, 1]]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e12, 1e12), min_size=6, max_size=6), st.booleans())
def test_write_then_read_is_the_same(tmp_path_factory, gains, extra):
    rows = np.reshape(gains, (2, 3)) if extra else np.reshape(gains[:4], (2, 2))
    word = "ask; maybe" if extra else None
    matrix = GainMatrix.of(rows, ["so, so", 'he said "no"'], no_decision=word)
    path = tmp_path_factory.mktemp("gain") / "gains.csv"
    matrix.write(path)
    assert GainMatrix.read(path) == matrix


def test_labels_read_from_a_file_meet_classes_of_another_type(tmp_path):
    path = tmp_path / "gains.csv"
    GainMatrix.of({1: {1: 3, 0: -2}, 0: {1: -1, 0: 1}}).write(path)
    read = GainMatrix.read(path)
    assert read.classes == ("1", "0")
    for classes in ([0, 1], np.array([0, 1]), np.array([0.0, 1.0])):
        aligned = read.align(classes)
        assert aligned.values.tolist() == [[1, -1], [-2, 3]]
        assert aligned.classes == (0, 1)
    assert GainMatrix.of(path, classes=[0, 1]) == read.align([0, 1])


def test_float_classes_survive_a_file(tmp_path):
    path = tmp_path / "gains.csv"
    for classes in ([0.5, 1.0], [1e16, 2.5], [-1.0, 1e-05], [0.0, 1.0]):
        matrix = GainMatrix.of([[1, -2], [-3, 4]], classes)
        matrix.write(path)
        assert GainMatrix.read(path).align(classes) == matrix
        backwards = GainMatrix.of(path, classes=np.array(classes[::-1]))
        assert backwards.values.tolist() == [[4, -3], [-2, 1]]
    for classes in ([0, 1], ["0", "1"], ["0.0", "1.0"], ["0", 1.0]):
        assert GainMatrix.of(path, classes=classes).values.tolist() == [[1, -2], [-3, 4]]


def test_names_that_only_look_like_numbers_stay_names():
    matrix = GainMatrix.identity(["007", "1e999"])
    for classes in ([7, "1e999"], ["7", "1e999"], ["007", float("inf")], ["007", "1e9999"]):
        with pytest.raises(GainError, match="in the matrix of '007', '1e999'"):
            matrix.align(classes)
    large = GainMatrix.identity(["12345678901234567890", "12345678901234567891"])
    assert large.align([12345678901234567891, 12345678901234567890]).values.tolist() == [
        [1, 0],
        [0, 1],
    ]
    with pytest.raises(GainError, match=r"1 reads like each of '1\.0', '1\.00'"):
        GainMatrix.identity(["1.0", "1.00"]).align([1, 2])
    assert GainMatrix.identity([True, False]).align(["False", "True"]).classes == ("False", "True")


@pytest.mark.parametrize(
    "classes",
    [["a;b"], ["a\tb"], ["a,b"], ["a;b", "c"], ["a;b", "c;d"], ["a;b,c\td", 'x"y'], ["1;1"]],
)
@pytest.mark.parametrize("word", [None, "ask; maybe"])
def test_labels_that_hold_separators_survive_a_file(tmp_path, classes, word):
    path = tmp_path / "gains.csv"
    width = len(classes) + (word is not None)
    rows = np.arange(len(classes) * width).reshape(-1, width) + 0.5
    matrix = GainMatrix.of(rows, classes, no_decision=word)
    matrix.write(path)
    assert GainMatrix.read(path) == matrix


def test_labels_that_hold_separators_written_by_hand(tmp_path):
    path = tmp_path / "gains.csv"
    for text in ("true,a;b\na;b,1\n", "true;'a;b'\n'a;b';1\n".replace("'", '"')):
        path.write_text(text)
        assert GainMatrix.read(path).classes == ("a;b",)
    GainMatrix.identity(["bad", "good"]).write(path)
    assert path.read_text().splitlines()[1] == "bad,1.0,0.0"


def test_align_reorders_both_sides_and_keeps_the_extra_column_last():
    aligned = GainMatrix.of(ASKING).align(["good", "bad"])
    assert aligned.decisions == ("good", "bad", "ask")
    assert aligned.values.tolist() == [[1, -1, 0], [-5, 1, -0.5]]


def test_a_label_that_reads_like_two_classes_is_refused():
    matrix = GainMatrix.of({"1": {"1": 1, "x": 0}, "x": {"1": 0, "x": 1}})
    with pytest.raises(
        GainError, match=r"1 reads like each of '1', '1 '\. Write labels in the type"
    ):
        GainMatrix.of({"1": {"1": 1, "1 ": 0}, "1 ": {"1": 0, "1 ": 1}}).align([1, "x"])
    assert matrix.align([1, "x"]).classes == (1, "x")


def test_bare_array_with_classes_says_how_it_was_read():
    matrix = GainMatrix.of([[1, -1], [-2, 3]], classes=np.array(["bad", "good"]))
    assert matrix.notes == (
        "Bare array: rows are the true classes and columns the assigned ones, both in the order "
        "'bad', 'good'.",
    )
    asking = GainMatrix.of([[1, -1, 0], [-2, 3, 0]], classes=["bad", "good"], no_decision="ask")
    assert asking.decisions == ("bad", "good", "ask")
    assert asking.notes[0].endswith("'bad', 'good'; the last column is 'ask'.")
    numbered = pd.DataFrame([[1, -1], [-2, 3]])
    assert GainMatrix.of(numbered, classes=["bad", "good"]) == matrix
    assert GainMatrix.of(numbered, classes=["bad", "good"]).notes == matrix.notes


def test_bare_array_without_classes_must_be_symmetric():
    for asymmetric in (
        [[1, -1], [-2, 3]],
        np.array([[1, -1], [-2, 3]]),
        pd.DataFrame([[0, 1], [2, 3]]),
    ):
        with pytest.raises(GainError, match=r"without labels must be symmetric"):
            GainMatrix.of(asymmetric)
    matrix = GainMatrix.of([[1, -2], [-2, 3]])
    assert matrix.classes == (0, 1)
    assert "both in the order '0', '1'" in matrix.notes[0]
    named = matrix.align(["bad", "good"])
    assert named.classes == ("bad", "good")
    assert "both in the order 'bad', 'good'" in named.notes[0]


def test_identity_and_to_dict():
    matrix = GainMatrix.identity(np.array([3, 5]))
    assert matrix.to_dict() == {3: {3: 1.0, 5: 0.0}, 5: {3: 0.0, 5: 1.0}}
    assert GainMatrix.of(matrix.to_dict()) == matrix
    assert all(type(label) is int for label in matrix.classes)


def test_sentences_and_description():
    matrix = GainMatrix.of(ASKING)
    assert matrix.sentences() == [
        "Calling a 'bad' case 'bad' earns 1.",
        "Calling a 'bad' case 'good' loses 5.",
        "Leaving a 'bad' case undecided costs 0.5.",
        "Calling a 'good' case 'bad' loses 1.",
        "Calling a 'good' case 'good' earns 1.",
        "Leaving a 'good' case undecided earns nothing.",
    ]
    assert matrix.describe().splitlines()[:6] == matrix.sentences()
    assert matrix.notes == ()


def test_notes_name_decisions_that_are_never_best():
    worse = GainMatrix.of({"a": {"a": 1, "b": 0, "ask": -1}, "b": {"a": 0, "b": 1, "ask": 0}})
    assert worse.notes == ("'ask' is never better than 'a', whatever the true class.",)
    between = GainMatrix.of([[1, -1, -0.5], [-1, 1, -0.5]], ["a", "b"], no_decision="ask")
    assert between.notes[1:] == ("'ask' is never the best decision, whatever the posterior.",)
    useful = GainMatrix.of([[1, -1, 0.1], [-1, 1, 0.1]], ["a", "b"], no_decision="ask")
    assert useful.notes[1:] == ()
    equal = GainMatrix.of([[1, 1], [0, 0]], ["a", "b"])
    assert equal.notes[1:] == ("'b' is never better than 'a', whatever the true class.",)


REFUSED = [
    ({"bad": {"bad": 1, "good": 0}, "good": {"bad": 0}}, "got none of 'good' for 'good'. Add it."),
    ({"bad": {"bad": 1, "good": 0}, "good": {"bad": 0, "goood": 1}}, "Did you mean 'good'?"),
    ({"bad": 3}, "got 3 for 'bad'. Write {true: {assigned: gain}}."),
    ({}, "at least one true class is needed"),
    ({"a": {"a": 1, "b": 0}}, None),
    (
        {"a": {"a": 1, "x": 0, "y": 0}},
        "at most one assigned label, the decision not to decide, may be no class",
    ),
    ({"a": {"b": 1}}, "assigned labels 'b'; got 'a'. Add a column for it."),
    ({"a": {"a": float("nan")}}, "calling 'a' 'a' must be a finite number; got nan"),
    ({"a": {"a": float("inf")}}, "number; got inf"),
    ({"a": {"a": "much"}}, "number; got 'much'."),
    ({"a": {"a": None}}, "number; got an empty cell"),
    ({"a": {"a": [1]}}, "number; got [1]"),
    ({None: {None: 1}}, "every true class must have a label; got None as number 1"),
    ([[1, 2], [3]], "every row must have as many gains; got [2, 1]"),
    ([1, 2], "rows of numbers; got list '[1, 2]'"),
    ([], "rows of numbers; got list '[]'"),
    (7, "rows of numbers; got int '7'"),
    (pd.DataFrame([[1, 2], [3, 4]], index=["a", "a"], columns=["a", "b"]), "got 'a' again"),
    (
        pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["a", "a"]),
        "once; got the columns 'a', 'a'",
    ),
    (pl.DataFrame({"t": ["a", "b"], "a": ["x", "y"], "b": [1, 2]}), "number; got 'x'"),
]


@pytest.mark.parametrize(("thing", "words"), REFUSED)
def test_what_leaves_the_meaning_open_is_refused(thing, words):
    if words is None:
        assert GainMatrix.of(thing).no_decision == "b"
        return
    with pytest.raises(GainError) as refusal:
        GainMatrix.of(thing)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith("GainMatrix: ")


FILES = [
    (b"", "got no such table. Write one with GainMatrix.write."),
    (b"just words", "got no such table"),
    (b",a,b\na,1,0\nb,0\n", "gains.csv must have 3 cells in every row; got 2 in row 3 ('b')"),
    (b",a,b\na,1,x\nb,0,1\n", "calling 'a' 'b' must be a finite number; got 'x'"),
    (b",a,b\na,1,\nb,0,1\n", "number; got an empty cell"),
    (b",a,b\na,1,nan\nb,0,1\n", "number; got nan"),
    (b",a,a\na,1,0\nb,0,1\n", "every assigned label must occur once; got 'a' again"),
    (b",a,\na,1,0\nb,0,1\n", "every assigned label must have a label; got '' as number 2"),
    (
        b",bad,goood\nbad,1,0\ngood,0,1\n",
        "gains.csv: every true class must be one of the assigned labels",
    ),
    (b",bad,goood\nbad,1,0\ngood,0,1\n", "Did you mean 'goood'?"),
    (b",a,\xff\na,1,0\n", "must be UTF-8 text; got another byte at 3. Save it as 'CSV UTF-8'."),
]


@pytest.mark.parametrize(("content", "words"), FILES)
def test_files_that_are_no_gain_matrix(tmp_path, content, words):
    path = tmp_path / "gains.csv"
    path.write_bytes(content)
    with pytest.raises(GainError) as refusal:
        GainMatrix.read(path)
    assert words in str(refusal.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(GainError, match=r"there is no file '.*Check the path\."):
        GainMatrix.of(tmp_path / "none.csv")


def test_missing_and_spare_classes_are_refused():
    matrix = GainMatrix.of(CREDIT)
    with pytest.raises(GainError, match=r"got none for 'ugly' in the matrix of 'bad', 'good'\."):
        matrix.align(["bad", "good", "ugly"])
    with pytest.raises(GainError, match=r"got none for 'goood' .* Did you mean 'good'\?"):
        matrix.align(["bad", "goood"])
    with pytest.raises(GainError, match=r"classes 'bad'; got 'good'\. Take its row and column out"):
        matrix.align(["bad"])
    with pytest.raises(GainError, match="'bad', 'good' need 2 rows of 2 gains; got 3 rows of 3"):
        GainMatrix.of(np.eye(3), classes=["bad", "good"])
    with pytest.raises(GainError, match=r"got 2 rows of 3\..* no_decision="):
        GainMatrix.of([[1, 2, 3], [4, 5, 6]], classes=["bad", "good"])


def test_the_no_decision_word_is_checked():
    assert GainMatrix.of(ASKING, no_decision="ask").no_decision == "ask"
    with pytest.raises(GainError, match=r"got 'Ask', and the columns are .* Did you mean 'ask'\?"):
        GainMatrix.of(ASKING, no_decision="Ask")
    with pytest.raises(GainError, match="no_decision must be an assigned label that is no class"):
        GainMatrix.of(CREDIT, no_decision="good")
    with pytest.raises(GainError, match=r"that of the matrix, 'ask'; got 'wait'"):
        GainMatrix.of(GainMatrix.of(ASKING), no_decision="wait")
    with pytest.raises(
        GainError, match=r"the classes 'bad', 'good'; got 'good'\. Choose another word"
    ):
        GainMatrix.of([[1, 2, 3], [4, 5, 6]], ["bad", "good"], no_decision="good")


def test_words_about_costs_say_costs():
    costs = {"bad": {"bad": 0, "good": 5}, "good": {"bad": 1, "good": -0.5}}
    matrix = GainMatrix.of(costs, costs=True, unit="€").align(["good", "bad"])
    assert matrix.sentences() == [
        "Calling a 'good' case 'good' earns 0.5 €.",
        "Calling a 'good' case 'bad' costs 1 €.",
        "Calling a 'bad' case 'good' costs 5 €.",
        "Calling a 'bad' case 'bad' costs nothing.",
    ]
    weighed = matrix.weigh([0.5, 0.5])
    assert weighed["expected"] == {"good": 2.25, "bad": 0.5}
    assert weighed["sentence"].endswith("expected cost 0.5 € against 2.25 € for 'good'.")
    assert (matrix.word, matrix.score) == ("cost", "expected_cost")
    again = eval(repr(matrix))
    assert again == matrix
    assert again.costs


def test_costs_that_look_like_gains_are_doubted():
    gains = {"bad": {"bad": 1, "good": 0}, "good": {"bad": 0, "good": 1}}
    doubt = GainMatrix.of(gains, costs=True).doubt
    assert doubt.endswith("right decision costs most: these look like gains, not costs.")
