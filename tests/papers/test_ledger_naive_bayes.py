"""The papers' worked figures for naive Bayes, to the printed digits, through the public API."""

import numpy as np
import pytest

import countwise as cw
from countwise_papers.exact_models import exact_naive_bayes

DAY = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"], "windy": ["TRUE"]}


def joint(model, rows):
    """Joint probabilities of the first row, by class."""
    figures = np.exp(model.predict_joint_log_proba(rows)[0])
    return dict(zip(model.classes_.tolist(), figures.tolist(), strict=True))


def posterior(model, rows):
    return dict(zip(model.classes_.tolist(), model.predict_proba(rows)[0].tolist(), strict=True))


@pytest.fixture
def voting():
    return cw.read("sample:voting-example")


def test_p0_2_product_of_posteriors(voting):
    model = exact_naive_bayes(smoothing=0, combine="posteriors").fit(voting)
    figures = list(joint(model, {"x1": ["1"], "x2": ["1"], "x3": ["1"]}).values())
    assert figures == pytest.approx([1 / 18, 2 / 9], abs=1e-12)


def test_p0_2_is_bayes_with_the_prior_to_a_power(voting):
    rows = voting
    product = exact_naive_bayes(smoothing=0, combine="posteriors").fit(rows).predict_proba(rows)
    model = exact_naive_bayes(smoothing=0).fit(rows)
    logs = model.predict_joint_log_proba(rows) + 2 * np.log(model.class_prior_)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(product, shares / shares.sum(axis=1, keepdims=True), atol=1e-12)


def test_p0_3_bayes_rule(voting):
    model = exact_naive_bayes(smoothing=0).fit(voting)
    figures = list(joint(model, {"x1": ["1"], "x2": ["1"], "x3": ["1"]}).values())
    assert figures == pytest.approx([1 / 20, 4 / 45], abs=1e-12)


def test_p0_5_the_wheel_on_table_1(voting):
    """The paper prints (0.5463, 0.4537): its product 0.5 · 0.67 · 0.67 is 0.2244, not 0.04489."""
    model = exact_naive_bayes(smoothing=0, combine="posteriors").fit(voting)
    shares = cw.RouletteWheel().shares(model.predict_proba({"x1": ["1"], "x2": ["1"], "x3": ["1"]}))
    assert shares[0].tolist() == pytest.approx([0.2, 0.8])


def test_p2_1_weather_counts_and_the_new_day():
    weather = cw.read("sample:weather")
    model = exact_naive_bayes(smoothing=0).fit(weather)
    outlook = model.counts_.table("outlook")
    levels = model.counts_.levels("outlook")
    by_level = {level: outlook[:2, place].tolist() for place, level in enumerate(levels)}
    assert by_level == {"sunny": [3, 2], "overcast": [0, 4], "rainy": [2, 3]}
    assert {k: round(v, 4) for k, v in joint(model, DAY).items()} == {"no": 0.0206, "yes": 0.0053}
    assert {k: round(v, 3) for k, v in posterior(model, DAY).items()} == {"no": 0.795, "yes": 0.205}


def test_p2_2_outlook_unknown():
    model = exact_naive_bayes(smoothing=0).fit(cw.read("sample:weather"))
    day = {**DAY, "outlook": [None]}
    assert {k: round(v, 4) for k, v in joint(model, day).items()} == {"no": 0.0343, "yes": 0.0238}
    assert {k: round(v, 2) for k, v in posterior(model, day).items()} == {"no": 0.59, "yes": 0.41}


def test_p2_2_missing_is_left_out_of_the_counts():
    table = cw.read({"a": ["x", None, "x", "y"], "class": ["n", "n", "y", "y"]}, target="class")
    model = exact_naive_bayes(smoothing=0).fit(table)
    assert model.predict_proba({"a": ["x"]})[0].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert model.counts_.table("a")[:2, -1].tolist() == [1, 0]


def test_p4_2_meningitis():
    """0.5 · (1/50000) / (1/20) = 0.0002, from counts of a million patients."""
    sick, stiff_sick, stiff = 20, 10, 50_000
    rows = {"stiff neck": ["yes", "no", "yes", "no"], "class": ["m", "m", "w", "w"]}
    weight = [
        stiff_sick,
        sick - stiff_sick,
        stiff - stiff_sick,
        1_000_000 - sick - stiff + stiff_sick,
    ]
    model = exact_naive_bayes(smoothing=0).fit(cw.read(rows, target="class"), sample_weight=weight)
    assert posterior(model, {"stiff neck": ["yes"]})["m"] == pytest.approx(0.0002)


def test_p4_3_tax_table():
    tax = cw.read("sample:tax")
    model = exact_naive_bayes(smoothing=0).fit(tax)
    income = next(c.name for c in tax.schema.numeric)
    no = model.classes_.tolist().index("No")
    moments = model.counts_.moments[income]
    assert moments.mean[no] == pytest.approx(110)
    assert moments.variance()[no] == pytest.approx(2975)
    why = model.explain({"Refund": ["No"], "Marital Status": ["Married"], income: [120]})
    place = why.attributes.index(income)
    density = np.exp(why.parts[0, place])
    assert round(density[no], 4) == 0.0072
    assert f"{density[1 - no]:.1e}" == "1.2e-09"
    given_no = np.exp(why.parts[0, :, no].sum())
    # The slide multiplies the rounded density, 4/7 · 4/7 · 0.0072 = 0.0024; exactly it is 0.00235.
    assert round(16 / 49 * round(density[no], 4), 4) == 0.0024
    assert given_no == pytest.approx(0.002349, abs=5e-7)
    assert posterior(model, {"Refund": ["No"], "Marital Status": ["Married"], income: [120]}) == {
        "No": 1.0,
        "Yes": 0.0,
    }
    assert model.predict({"Refund": ["No"], "Marital Status": ["Married"], income: [120]}) == ["No"]


def test_p4_5_vertebrates():
    table = cw.read("sample:vertebrates")
    model = exact_naive_bayes(smoothing=0).fit(table)
    new = {"Give Birth": ["yes"], "Can Fly": ["no"], "Live in Water": ["yes"], "Have Legs": ["no"]}
    why = model.explain(new)
    given = dict(zip(why.classes, np.exp(why.parts[0].sum(axis=0)), strict=True))
    assert round(given["mammals"], 2) == 0.06
    assert round(given["non-mammals"], 4) == 0.0042
    figures = joint(model, new)
    assert round(figures["mammals"], 3) == 0.021
    assert round(figures["non-mammals"], 4) == 0.0027
    assert model.predict(new) == ["mammals"]


def test_p4_6_laplace_both_ways_and_the_m_estimate():
    counts = np.array([[2.0, 0.0, 1.0], [1.0, 1.0, 5.0]])
    usual = cw.Laplace(1).shares(counts)
    assert usual[0].tolist() == pytest.approx([3 / 6, 1 / 6, 2 / 6])
    slides = cw.Laplace(1, by="classes").shares(counts)
    assert slides[0].tolist() == pytest.approx([3 / 5, 1 / 5, 2 / 5])
    m = cw.MEstimate(m=4, p=0.25).shares(counts)
    assert m[0].tolist() == pytest.approx([3 / 7, 1 / 7, 2 / 7])
    overall = cw.MEstimate(m=10, p="overall").shares(counts)
    assert overall[0].tolist() == pytest.approx([(2 + 3) / 13, 1 / 13, (1 + 6) / 13])
    tax = cw.read("sample:tax")
    for smoothing in (cw.Laplace(1, by="classes"), cw.MEstimate(3), 1.0):
        model = exact_naive_bayes(smoothing=smoothing).fit(tax)
        row = {"Refund": ["No"], "Marital Status": ["Married"], tax.schema.numeric[0].name: [120]}
        assert posterior(model, row)["Yes"] > 0


def test_p3_2_confusion_and_gain():
    confusion = cw.Confusion.from_joint([[0.4699, 0.0311], [0.0043, 0.4947]])
    gain = cw.GainMatrix.of([[1, -1], [-2, 3]], classes=[0, 1])
    assert round(confusion.expected_gain(gain), 4) == 1.9143


def test_p1_1_identifiers_are_found_dropped_and_overridable():
    for name, column in (("glass", "Id"), ("ecoli", "name"), ("breast-w", "id")):
        table = cw.read(f"sample:{name}")
        assert table.schema[column].kind == "id"
        assert [note.column for note in table.notes if note.code == "T01"] == [column]
        assert column not in [attribute.name for attribute in table.schema.attributes]
        kept = cw.read(f"sample:{name}", identifiers="keep")
        assert column in [attribute.name for attribute in kept.schema.attributes]


def test_p1_1_on_the_uci_files(uci, tmp_path):
    for name, column in (
        ("glass", "Id"),
        ("ecoli", "sequence_name"),
        ("breast-w", "sample_code_number"),
    ):
        _, cells = uci(name).read_text().split(",", 1)
        path = tmp_path / f"{name}.csv"
        path.write_text(f"{column},{cells}")  # the name of the UCI archive's file
        table = cw.read(path, target=-1)
        assert [c.name for c in table.schema if c.kind == "id"] == [column]
    for name in ("credit-g", "iris", "heart-c", "autos", "hepatitis", "anneal"):
        table = cw.read(uci(name), target=-1)
        assert [c.name for c in table.schema if c.kind == "id"] == []


def test_p1_4_missing_as_a_value_left_out_or_row_dropped(uci):
    votes = cw.read(uci("house-votes-84"), target=-1, when_missing="value")
    assert all("(missing)" in column.levels for column in votes.schema.nominal)
    assert len(votes) == 435
    cancer = cw.read(uci("breast-w"), target=-1, when_missing={"bare_nuclei": "drop"})
    assert len(cancer) == 683
    assert any(note.code == "T04" and "16 rows" in note.text for note in cancer.notes)
    left_out = cw.read(uci("breast-w"), target=-1)
    assert int(np.isnan(left_out.values("bare_nuclei")).sum()) == 16
