"""Every model writes the dates of a column as dates, not as days since 1970-01-01."""

import datetime

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise.reports.model_facts import model_facts

START = datetime.date(2020, 1, 1)


@pytest.fixture(scope="module")
def orders():
    random = np.random.default_rng(0)
    days = random.integers(0, 1000, 300)
    late = np.where(days + random.normal(0, 60, 300) > 500, "yes", "no")
    dates = pd.to_datetime([START + datetime.timedelta(int(day)) for day in days])
    frame = pd.DataFrame({"ordered": dates, "price": random.normal(size=300), "late": late})
    return cw.read(frame, target="late")


@pytest.mark.parametrize(
    "model",
    [
        cw.Additive(pairs=1),
        cw.NaiveBayes(),
        cw.Tree(),
        cw.ID3(),
        cw.Forest(n_estimators=3),
        cw.DiscreteBayes(),
        cw.AdaBoost(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_dates_are_written_as_dates(orders, model):
    assert "2021-" in str(model_facts(model.fit(orders)))


@pytest.mark.parametrize("model", [cw.Additive(pairs=0), cw.NaiveBayes(numeric="gaussian")])
def test_an_axis_of_dates_marks_years(orders, model):
    picture = cw.draw(model.fit(orders), "ordered").svg
    assert ">2021<" in picture


@pytest.mark.parametrize("model", [cw.Additive(pairs=0), cw.NaiveBayes(), cw.Tree()])
def test_a_model_of_a_frame_of_dates_comes_back_from_a_file(model, tmp_path):
    days = pd.date_range("2021-01-01", periods=60)
    frame, late = pd.DataFrame({"ordered": days, "price": range(60)}), ["yes", "no"] * 30
    cw.save(model.fit(frame, late), tmp_path / "m.cw")
    again = cw.load(tmp_path / "m.cw")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.feature_names_in_.tolist() == ["ordered", "price"]
