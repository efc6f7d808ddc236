"""The sample data sets hold what the index says and are found by name."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from countwise.errors import SampleError
from countwise.tables import datasets
from countwise.tables.datasets import Sample, all_samples, find, names

BUNDLED = [sample for sample in all_samples() if sample.bundled]
ABSENT = [sample for sample in all_samples() if not sample.bundled]


def read(sample: Sample) -> tuple[list[str], list[list[str]]]:
    with sample.locate().open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    return header, rows


def column(sample: Sample, name: str) -> list[str]:
    header, rows = read(sample)
    return [row[header.index(name)] for row in rows]


def classes(name: str) -> dict[str, int]:
    return dict(Counter(column(find(name), find(name).target)))


@pytest.mark.parametrize("sample", BUNDLED, ids=lambda sample: sample.name)
def test_file_is_what_the_index_says(sample: Sample) -> None:
    header, rows = read(sample)
    assert header == [described["name"] for described in sample.columns]
    assert header[-1] == sample.target
    assert len(set(header)) == len(header)
    assert len(rows) == sample.rows
    assert {len(row) for row in rows} == {len(header)}
    assert sum(cell == "" for row in rows for cell in row) == sample.missing
    assert "" not in column(sample, sample.target)


@pytest.mark.parametrize("sample", BUNDLED, ids=lambda sample: sample.name)
def test_cells_fit_their_kind(sample: Sample) -> None:
    _, rows = read(sample)
    for place, described in enumerate(sample.columns):
        seen = {row[place] for row in rows} - {""}
        assert all(cell == cell.strip() and cell != "?" for cell in seen)
        if described["kind"] == "numeric":
            assert all(isinstance(float(cell), float) for cell in seen)
        else:
            assert described["kind"] in {"nominal", "text", "id"}
        if "values" in described:
            assert described["kind"] == "nominal"
            assert seen <= set(described["values"])


def test_files_are_unchanged_since_they_were_made() -> None:
    folder = find("iris").locate().parent
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    files = {entry["file"]: entry["sha256"] for entry in index["samples"] if entry["file"]}
    assert {path.name for path in folder.glob("*.csv")} == set(files)
    for name, digest in files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("sample", all_samples(), ids=lambda sample: sample.name)
def test_every_set_names_its_source(sample: Sample) -> None:
    assert sample.title
    assert "\n" not in sample.title
    assert sample.origin
    assert sample.license
    assert bool(sample.package) == sample.bundled
    page = Path(datasets.__file__).with_name("README.md").read_text(encoding="utf-8")
    assert f"| {sample.name} | {sample.rows} |" in page


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("weather", {"no": 5, "yes": 9}),
        ("weather-numeric", {"no": 5, "yes": 9}),
        ("help-desk", {"billing": 136, "delivery": 142, "returns": 168, "technical": 154}),
        ("tax", {"No": 7, "Yes": 3}),
        ("vertebrates", {"mammals": 7, "non-mammals": 13}),
        ("voting-example", {"0": 2, "1": 3}),
        ("contact-lenses", {"none": 15, "soft": 5, "hard": 4}),
        ("iris", {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50}),
        ("breast-w", {"benign": 458, "malignant": 241}),
        ("votes", {"democrat": 267, "republican": 168}),
        ("credit-g", {"good": 700, "bad": 300}),
        ("credit-a", {"+": 307, "-": 383}),
        ("colic", {"yes": 232, "no": 136}),
        ("hepatitis", {"LIVE": 123, "DIE": 32}),
        ("ionosphere", {"g": 225, "b": 126}),
        ("breast-cancer", {"no-recurrence-events": 201, "recurrence-events": 85}),
        ("heart-c", {"<50": 164, ">50": 139}),
        ("anneal", {"3": 684, "2": 99, "5": 67, "U": 40, "1": 8}),
        ("autos", {"0": 67, "1": 54, "2": 32, "3": 27, "-1": 22, "-2": 3}),
    ],
)
def test_class_counts(name: str, counts: dict[str, int]) -> None:
    assert classes(name) == counts


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("breast-w", 16),
        ("votes", 392),
        ("colic", 1927),
        ("hepatitis", 167),
        ("credit-a", 67),
        ("autos", 59),
        ("breast-cancer", 9),
        ("anneal-orig", 22175),
        ("anneal", 0),
        ("iris", 0),
    ],
)
def test_missing_cells(name: str, missing: int) -> None:
    _, rows = read(find(name))
    assert sum(cell == "" for row in rows for cell in row) == missing


def test_sample_numbers_of_breast_w_repeat() -> None:
    assert find("breast-w").columns[0] == {"name": "id", "kind": "id"}
    numbers = column(find("breast-w"), "id")
    assert (len(numbers), len(set(numbers))) == (699, 645)
    assert column(find("breast-w"), "bare_nuclei").count("") == 16


def test_glass_keeps_its_id_and_declares_the_class_that_never_occurs() -> None:
    assert column(find("glass"), "Id") == [str(number) for number in range(1, 215)]
    assert len(find("glass").columns[-1]["values"]) == 7
    assert len(classes("glass")) == 6


def test_iris_is_the_uci_copy() -> None:
    _, rows = read(find("iris"))
    assert rows[34][:4] == ["4.9", "3.1", "1.5", "0.1"]
    assert rows[37][:4] == ["4.9", "3.1", "1.5", "0.1"]


def test_income_of_the_honest_has_mean_110_and_variance_2975() -> None:
    header, rows = read(find("tax"))
    incomes = [float(row[header.index("Taxable Income")]) for row in rows if row[-1] == "No"]
    mean = sum(incomes) / 7
    assert mean == 110
    assert sum((income - mean) ** 2 for income in incomes) / 6 == 2975


def test_vertebrates_give_the_printed_fractions() -> None:
    _, rows = read(find("vertebrates"))
    asked = ["yes", "no", "yes", "no"]
    for label, fractions in (("mammals", [6, 6, 2, 2]), ("non-mammals", [1, 10, 3, 4])):
        mine = [row[1:5] for row in rows if row[-1] == label]
        assert [sum(row[j] == asked[j] for row in mine) for j in range(4)] == fractions


def test_credit_g_says_what_a_mistake_costs() -> None:
    gain = find("credit-g").gain
    assert gain is not None
    assert gain["labels"] == ["good", "bad"]
    good, bad = 0, 1
    assert gain["values"][bad][good] == -5
    assert gain["values"][good][bad] == -1
    assert [sample.name for sample in all_samples() if sample.gain] == ["credit-g"]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("votes", "votes"),
        ("house-votes-84", "votes"),
        ("House_Votes_84", "votes"),
        (" IRIS ", "iris"),
        ("weather-nominal", "weather"),
        ("horse colic", "colic"),
        ("crx", "credit-a"),
    ],
)
def test_names_and_aliases(asked: str, name: str) -> None:
    assert find(asked).name == name


def test_no_two_sets_share_a_name() -> None:
    words = [word for sample in all_samples() for word in (sample.name, *sample.aliases)]
    assert len(words) == len(set(words))
    assert names() == [sample.name for sample in all_samples()]


@pytest.mark.parametrize(("asked", "meant"), [("vots", "votes"), ("Wether", "weather")])
def test_near_miss_is_suggested(asked: str, meant: str) -> None:
    with pytest.raises(SampleError, match=f"Did you mean '{meant}'"):
        find(asked)


def test_far_miss_lists_the_names() -> None:
    with pytest.raises(SampleError, match=r"there is no data set 'qqqq'\. Known are weather, "):
        find("qqqq")


def test_some_sets_are_not_bundled() -> None:
    assert {sample.name for sample in ABSENT} == {"heart-h", "heart-statlog", "soybean-small"}


def test_folder_of_the_environment_serves_absent_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTWISE_DATA", str(tmp_path))
    given = tmp_path / "soybean-small.csv"
    given.write_text("date,class\n1,D1\n", encoding="utf-8")
    assert find("soybean-small").locate() == given
    (tmp_path / "iris.csv").write_text("not iris\n", encoding="utf-8")
    assert find("iris").locate() != tmp_path / "iris.csv"


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> Any:
        raise OSError("no route to host")

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(datasets, "_fetch", refuse)


@pytest.mark.usefixtures("offline")
def test_offline_says_where_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTWISE_DATA", raising=False)
    with pytest.raises(SampleError) as caught:
        find("heart-h").locate()
    assert str(caught.value) == (
        "samples: 'heart-h' is not bundled with countwise, COUNTWISE_DATA is not set, and OpenML"
        " (set 51) could not be reached (no route to host). Set COUNTWISE_DATA to a folder that"
        " holds heart-h.csv, or try again with a network connection."
    )


@pytest.mark.usefixtures("offline")
def test_folder_without_the_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTWISE_DATA", str(tmp_path))
    with pytest.raises(SampleError, match=r"where there is no 'heart-statlog\.csv'"):
        find("heart-statlog").locate()
    with pytest.raises(SampleError, match="no OpenML number is known for it") as caught:
        find("soybean-small").locate()
    assert "try again" not in str(caught.value)


def openml_bunch(rows: int) -> SimpleNamespace:
    """What scikit-learn returns for heart-h: codes and numbers, words apart."""
    nan = float("nan")
    return SimpleNamespace(
        feature_names=[f"f{place}" for place in range(13)],
        target_names=["num"],
        categories={"f1": ["female", "male"], "num": ["'<50'", "'>50_1'"]},
        data=[[28.0, 1.0, 2.5, nan, *[0.0] * 9]] * rows,
        target=["'<50'"] * rows,
    )


@pytest.fixture
def online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    datasets = pytest.importorskip("sklearn.datasets")
    asked: list[int] = []

    def fetch_openml(*, data_id: int, **options: Any) -> SimpleNamespace:
        asked.append(data_id)
        return openml_bunch(294 if len(asked) == 1 else 3)

    monkeypatch.delenv("COUNTWISE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "fetch_openml", fetch_openml)
    return asked


def test_openml_is_asked_once_and_spelled_out(online: list[int]) -> None:
    header, rows = read(find("heart-h"))
    assert header == [described["name"] for described in find("heart-h").columns]
    assert rows[0] == ["28", "male", "2.5", "", *["0"] * 9, "<50"]
    assert len(rows) == 294
    again = find("heart-h").locate()
    assert online == [51]
    assert [path.name for path in again.parent.iterdir()] == ["heart-h-openml-51.csv"]


def test_openml_with_other_rows_is_refused(online: list[int]) -> None:
    online.append(0)
    with pytest.raises(SampleError, match="it holds 3 rows instead of 294"):
        find("heart-h").locate()
