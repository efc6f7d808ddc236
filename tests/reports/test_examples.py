"""What the inner parts of reports answer, one small example each."""

import numpy as np
from scipy.stats import norm

import countwise as cw
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.learning_curve import learning_curve
from countwise.models.bayes.views import probability_tables
from countwise.models.tree.id3 import ID3
from countwise.models.views import ProbabilityTables
from countwise.reports.comparison_facts import (
    confusion_facts,
    curve_facts,
    difference_facts,
    gain_facts,
    protocol_facts,
    ranking_facts,
)
from countwise.reports.data_facts import data_facts, inspect_facts
from countwise.reports.figures.axes import (
    Scale,
    bottom_axis,
    left_axis,
    legend,
    legend_figure,
    mark,
    mark_legend,
)
from countwise.reports.figures.cell_grid import heat_figure
from countwise.reports.figures.dependency_graph import layered, outline
from countwise.reports.figures.line_plot import by_k_figure, search_figure
from countwise.reports.figures.palette import page_css, shade, standalone_css, variables
from countwise.reports.figures.panels import cut_table_figure
from countwise.reports.figures.regions import region_figure
from countwise.reports.figures.svg import two_lines
from countwise.reports.html import sections_of
from countwise.reports.model_facts import limit, model_facts
from countwise.reports.sentences import (
    brief,
    counted,
    data_sentence,
    interval_words,
    lead_sentence,
    measured_sentence,
    percent,
    plain,
    score_words,
    seconds,
    short,
    signed,
    tiles_of,
)
from countwise.reports.terminal import fraction_bar, interval_bar, sparkline, two_sided_bar
from countwise_papers.lecture_figures import (
    draw_bayes_error,
    least_error_figure,
    rounds_figure,
    sigmoid_figure,
)


def test_fraction_bar_example():
    assert fraction_bar(0.5, 6) == "███"


def test_data_facts_example():
    facts = data_facts(cw.read("sample:weather"))
    assert (facts["rows"], facts["balance"][0]) == (
        14,
        {"class": "no", "rows": 5.0, "fraction": 0.357143},
    )
    assert [level["level"] for level in facts["columns"][0]["levels"]] == [
        "sunny",
        "overcast",
        "rainy",
    ]


def test_density_facts_example():
    view = model_facts(cw.NaiveBayes(numeric="gaussian").fit(cw.read("sample:iris")))["views"][0]
    first = view["columns"][0]
    assert (first["name"], len(first["density"]), len(view["classes"])) == ("petal_width", 3, 3)


def test_figures_of_example():
    sections = sections_of(inspect_facts(cw.read("sample:weather")))
    assert [list(section["figures"]) for section in sections] == [["balance"]]


def test_cut_table_figure_example():
    one = {
        "name": "x",
        "levels": ["≤ 1", "> 1"],
        "spans": [[0.0, 1.0], [1.0, 2.0]],
        "start": [1.0],
        "weights": [[3.0, 1.0], [0.0, 2.0]],
        "bits": 0.5,
    }
    assert cut_table_figure([one], ["a", "b"]).count("<rect") == 3


def test_search_figure_example():
    step = {"stage": "start", "seconds": 0.1, "train": 1.2, "validation": 1.1}
    assert search_figure([step, {**step, "train": 2.0, "validation": 1.9}]).count("<path") == 2


def test_heat_figure_example():
    facts = {
        "k": [1, 2],
        "p": [1.0],
        "accuracy": [[0.8], [0.9]],
        "spread": [[0.1], [0.1]],
        "best": {"k": 2, "p": 1.0},
        "data": "",
        "metric": "vdm",
        "protocol": "10-fold",
    }
    assert heat_figure(facts).count("<rect") == 2


def test_by_k_figure_example():
    line = {"name": "largest vote", "values": [0.8, 0.9], "spread": [0.1, 0.05]}
    assert by_k_figure([1, 2], [line], "Accuracy by k").count("<circle") == 2


def test_layered_example():
    item = [
        {"name": "a", "bits": 0.2, "parents": [], "hidden": 0},
        {"name": "b", "bits": 0.1, "parents": [{"at": 0, "bits": 0.4}], "hidden": 0},
    ]
    assert layered(item, [-1, 0], 300, cut=False)[1:] == (54.0, 118.0)


def test_least_error_figure_example():
    assert (
        least_error_figure([0, 1, 2], [[0.5, 0.2, 0], [0, 0.2, 0.5]], ["a", "b"], [1.0], 0.1).count(
            "<path"
        )
        == 5
    )


def test_legend_example():
    assert legend(["no", "yes"], 300)[1] == 20.0


def test_legend_figure_example():
    assert legend_figure(["no", "yes"]).startswith("<svg")


def test_mark_legend_example():
    assert mark_legend(["no", "yes"], 300)[1] == 20.0


def test_outline_example():
    item = [
        {"name": "a", "bits": 0.2, "parents": [], "hidden": 0},
        {"name": "b", "bits": 0.1, "parents": [{"at": 0, "bits": 0.4}], "hidden": 0},
    ]
    assert outline(item, [-1, 0], 300)[1:] == (300, 46.0)


def test_shade_example():
    assert (shade(0.0), shade(0.55), shade(1.0)) == (0, 6, 9)


def test_page_css_example():
    assert "var(--q3)" in page_css()


def test_variables_example():
    assert variables({"ink": "#000"}) == "--ink:#000"


def test_standalone_css_example():
    assert ("var(" in standalone_css(), "prefers-color-scheme" in standalone_css()) == (False, True)


def test_bottom_axis_example():
    assert bottom_axis(Scale(0, 10, 0, 100), 50).count("<line") == 7


def test_left_axis_example():
    assert left_axis(Scale(0, 1, 100, 0), 30).count("<text") == 6


def test_region_figure_example():
    axis = {"name": "x", "low": 0.0, "high": 1.0}
    facts = {
        "title": "T",
        "classes": ["a", "b"],
        "x": axis,
        "y": axis,
        "areas": [[0, 1], [0, 0]],
        "points": [(0.5, 0.5, 0)],
        "edges": [],
    }
    assert region_figure(facts).count("<circle") == 2


def test_rounds_figure_example():
    panel = {
        "title": "round 1",
        "words": "x ≤ 1",
        "weights": [0.5, 0.5],
        "regions": [(0, 1, 0, 2, 0), (1, 2, 0, 2, 1)],
    }
    facts = {
        "x": ("x", [0, 2]),
        "y": ("y", [0, 2]),
        "classes": ["a", "b"],
        "truth": [0, 1],
        "panels": [panel],
    }
    assert rounds_figure(facts).count("<circle") == 2


def test_sigmoid_figure_example():
    assert (
        sigmoid_figure(
            [0, 1], {"generative": [0.1, 0.9]}, {"b": [1.0], "a": [0.0]}, "b", "size"
        ).count("<path")
        == 1
    )


def test_cut_facts_example():
    view = cw.DiscreteBayes(20).fit(cw.read("sample:iris")).views()[0]
    column = next(column for column in view.columns if column.name == "petal_width")
    assert len(column.levels) == len(column.weights)


def test_slice_facts_example():
    model = cw.DiscreteBayes(20).fit(cw.read("sample:iris"))
    shown = model.views()[0].slice_of("petal_length", "petal_width")
    assert len(shown.decisions) == len(shown.across.levels)


def test_cell_facts_example():
    view = cw.DiscreteBayes(20, random_state=0).fit(cw.read("sample:iris")).views()[0]
    assert (view.cells, view.columns[0].width) == (16, 2)


def test_listing_facts_example():
    model = cw.AdaBoost(n_estimators=3).fit(cw.read("sample:weather"))
    first = model.views()[0].members[0]
    assert (first.name, first.weight, first.error) == (
        model.rounds_[0].words,
        model.rounds_[0].alpha,
        model.rounds_[0].epsilon,
    )


def test_plain_array_example():
    assert plain(np.array([[1.0, 2.0 / 3]]), 3) == [[1.0, 0.667]]


def test_decision_facts_example():
    view = ID3().fit(cw.read("sample:weather")).views()[0]
    assert (view.nodes, view.rules[0], view.more_rules) == (8, "if outlook = sunny:", 0)


def test_lead_sentence_example():
    assert (
        lead_sentence(inspect_facts(cw.read("sample:weather")))
        == "14 rows, 4 attributes, 2 classes."
    )


def test_tiles_of_example():
    assert [tile["name"] for tile in tiles_of(inspect_facts(cw.read("sample:weather")))] == [
        "Rows",
        "Attributes",
        "Missing cells",
        "Largest class",
    ]


def test_data_sentence_example():
    assert data_sentence(data_facts(cw.read("sample:weather"))) == (
        "14 rows, 4 nominal and 0 numeric attributes; the class is 'play'. No cell is missing."
    )


def test_measured_sentence_example():
    assert measured_sentence(
        {
            "words": "10-fold cross-validation",
            "parts": 10,
            "tested": [15, 15],
            "trained": [135, 135],
        }
    ) == (
        "10-fold cross-validation: 10 folds of 15 test rows each, predicted by models trained on "
        "135 other rows."
    )


def test_sections_of_example():
    assert [item["id"] for item in sections_of(inspect_facts(cw.read("sample:weather")))] == [
        "data"
    ]


def test_shares_example():
    counts = cw.count(cw.read("sample:weather"))
    windy = [counts.schema["windy"]]
    table = probability_tables(counts, windy, ("no", "yes"), cw.Laplace(0))[0]
    smoothed = probability_tables(counts, windy, ("no", "yes"), cw.Laplace(5))[0]
    assert round(table.bits, 3) == round(smoothed.bits, 3) == 0.048
    assert np.allclose(table.probabilities, [[3 / 5, 2 / 5], [1 / 3, 2 / 3]])


def test_most_probable_example():
    classes = tuple(f"class {at}" for at in range(31))
    prior = np.r_[0.01, np.full(30, 0.033)]
    shown = limit(ProbabilityTables(classes, prior, ()))
    assert shown.classes == classes[1:]
    assert shown.more_classes == 1


def test_ranking_facts_example():
    facts = ranking_facts(evaluate(cw.NaiveBayes(), "sample:iris"), None)
    assert ([entry["name"] for entry in facts["entries"]], facts["ranked_by"]) == (
        ["NaiveBayes", "majority"],
        "accuracy",
    )


def test_difference_facts_example():
    facts = difference_facts(evaluate(cw.NaiveBayes(), "sample:iris"))
    assert (facts[0]["first"], facts[0]["second"], facts[0]["apart"]) == (
        "NaiveBayes",
        "majority",
        True,
    )


def test_confusion_facts_example():
    trials = evaluate(cw.NaiveBayes(), "sample:iris")
    assert confusion_facts(trials, "NaiveBayes")["decisions"][0] == "Iris-setosa"


def test_gain_facts_example():
    trials = evaluate(
        cw.NaiveBayes(),
        "sample:credit-g",
        gain={"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}},
    )
    assert (
        gain_facts(trials, trials.gain, trials.best)["sentences"][1]
        == "Calling a 'bad' case 'good' loses 5."
    )


def test_curve_facts_example():
    curve = learning_curve(cw.NaiveBayes(), "sample:iris", points=3, repeats=5)
    assert curve_facts(curve)["sizes"] == [10, 32, 105]


def test_protocol_facts_example():
    assert protocol_facts(evaluate(cw.NaiveBayes(), "sample:iris"))["parts"] == 10


def test_score_words_example():
    assert (score_words("log_loss"), score_words("my_score")) == ("Log loss", "My score")


def test_short_example():
    assert (short(0.98765), short(-1234.5), short(None), short(-0.0001)) == (
        "0.988",
        "−1,234",
        "–",
        "0.000",
    )


def test_brief_example():
    assert (brief(18424.0), brief(-0.12345), brief(None)) == ("18,424", "−0.1235", "–")


def test_signed_example():
    assert (signed(0.25), signed(-0.25)) == ("+0.250", "−0.250")


def test_interval_words_example():
    assert interval_words({"value": 0.9, "low": 0.85, "high": 0.95}) == "0.900 (0.850 to 0.950)"


def test_percent_example():
    assert (percent(0.25), percent(0.0312), percent(None), percent(1e-05)) == (
        "25 %",
        "3.1 %",
        "–",
        "< 0.1 %",
    )


def test_counted_example():
    assert (counted(1200.0), counted(2.5)) == ("1,200", "2.5")


def test_interval_bar_example():
    assert interval_bar(0.4, 0.5, 0.6, 0.0, 1.0, width=11) == "    ├●┤    "


def test_two_sided_bar_example():
    assert two_sided_bar(-1.0, 2.0, 4) == "  ██│    "


def test_sparkline_example():
    assert sparkline([0.1, 0.5, 0.9]) == "▁▅█"


def test_two_lines_example():
    assert (two_lines("physician-fee-freeze", 12), two_lines("crime", 12)) == (
        ["physician-", "fee-freeze"],
        ["crime"],
    )


def test_mark_example():
    assert [mark(0, 0, place).split()[0] for place in range(4)] == [
        "<circle",
        "<rect",
        "<path",
        "<path",
    ]


def test_seconds_example():
    assert (seconds(0.00042), seconds(0.0316), seconds(2.5), seconds(200)) == (
        "0.42 ms",
        "32 ms",
        "2.5 s",
        "3.3 min",
    )


def test_draw_bayes_error_example():
    assert draw_bayes_error([norm(0, 1), norm(2, 1)]).title == "The least possible error is 15.87 %"
