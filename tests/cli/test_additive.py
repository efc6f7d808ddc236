"""The additive model on the command line."""

import json

import countwise as cw


def test_it_is_what_fit_trains_and_compare_ranks(run, folder):
    assert run("fit", "good.csv", "-o", "default.cw").exit_code == 0
    assert isinstance(cw.load("default.cw"), cw.Additive)
    done = run("compare", "good.csv", "--folds", "2", "--json")
    ranked = [line["model"] for line in json.loads(done.stdout)["summary"]]
    assert "additive" in ranked


def test_the_curve_of_a_page_has_few_points_where_every_point_is_a_fit(run, folder):
    options = ["--models", "additive", "--folds", "2", "--report", "page.html"]
    assert run("compare", "good.csv", *options).exit_code == 0
    assert "stratified, 2 repeats" in (folder / "page.html").read_text(encoding="utf-8")
    options[1] = "naive-bayes"
    assert run("compare", "good.csv", *options).exit_code == 0
    assert "stratified, 10 repeats" in (folder / "page.html").read_text(encoding="utf-8")


def test_it_trains_explains_and_reports(run, folder):
    options = ["--model", "additive", "--param", "pairs=1", "-o", "cancer.cw"]
    done = run("fit", "sample:breast-w", *options)
    assert done.exit_code == 0, done.stderr
    done = run("explain", "cancer.cw", "sample:breast-w", "--json")
    assert done.exit_code == 0, done.stderr
    assert "×" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    options = ["--models", "additive", "--folds", "2", "--report", "page.html"]
    done = run("compare", "sample:weather", *options)
    assert done.exit_code == 0, done.stderr
    assert "Shapes of the columns" in (folder / "page.html").read_text(encoding="utf-8")


def test_a_wrong_parameter_is_one_sentence_with_code_2(run, folder):
    done = run("fit", "sample:weather", "--model", "additive", "--param", "pairs=-1")
    assert done.exit_code == 2
    assert "pairs must be 'auto', or a whole number of at least 0" in done.stderr
    assert not (folder / "weather.cw").exists()


def test_a_monotone_column_is_given_as_json(run, folder):
    monotone = 'monotone={"humidity": -1}'
    options = ["--model", "additive", "--param", monotone, "-o", "model.cw"]
    assert run("fit", "sample:weather-numeric", *options).exit_code == 0


def test_show_names_the_file_that_the_model_was_trained_on(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("fit", "sample:weather", "-o", "m.cw")
    assert "Trained on sample:weather: class 'play'" in run("show", "m.cw").stdout
