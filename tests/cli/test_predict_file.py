"""`predict_file` from Python: models and paths, files and streams, progress and a summary."""

import io

import numpy as np
import pyarrow.parquet as pq
import pytest

import countwise as cw


@pytest.fixture(scope="module")
def model():
    return cw.NaiveBayes().fit(cw.read("sample:weather"))


def test_a_model_and_its_file_answer_alike(model, tmp_path):
    cw.save(model, tmp_path / "m.cw")
    steps = []
    first = cw.predict_file(
        model, "sample:weather", tmp_path / "a.csv", progress=lambda *step: steps.append(step)
    )
    again = cw.predict_file(tmp_path / "m.cw", "sample:weather", str(tmp_path / "b.csv"))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert first.to_dict() | {"seconds": 0} == again.to_dict() | {"seconds": 0}
    assert steps[-1][0] == steps[-1][1]
    assert steps[-1][2] == "14 rows"
    assert first.accuracy == np.mean(model.predict(cw.read("sample:weather")) == labels())


def labels():
    return cw.read("sample:weather").labels


def test_streams_take_csv_and_columns_are_kept(model):
    stream = io.BytesIO()
    summary = cw.predict_file(model, "sample:weather", stream, keep=["outlook"])
    lines = stream.getvalue().decode().splitlines()
    assert lines[0] == "outlook,class,p_no,p_yes,decision"
    assert len(lines) == 1 + summary.rows == 15


def test_gains_change_the_decisions(model, tmp_path):
    gain = {"no": {"no": 1, "yes": -9}, "yes": {"no": -1, "yes": 1}}
    summary = cw.predict_file(model, "sample:weather", tmp_path / "a.parquet", gain=gain)
    table = pq.read_table(tmp_path / "a.parquet")
    assert summary.gain_per_row is not None
    assert table["class"].to_pylist() != table["decision"].to_pylist()
    assert f"earn {summary.gain_per_row:.4g} per row" in str(summary)


def test_unseen_levels_are_counted(model, tmp_path):
    text = "outlook,temperature,humidity,windy\nfog,hot,high,TRUE\n"
    (tmp_path / "new.csv").write_text(text)
    with pytest.warns(cw.UnseenLevelWarning):
        summary = cw.predict_file(model, tmp_path / "new.csv", tmp_path / "a.csv")
    assert summary.unseen == {"outlook": {"fog": 1}}
    assert summary.accuracy is None
    assert "'fog'" in str(summary)
    with pytest.raises(cw.CountwiseError, match="keep= names a column 'who'"):
        cw.predict_file(model, tmp_path / "new.csv", tmp_path / "a.csv", keep=["who"])
