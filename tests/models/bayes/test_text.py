"""Naive Bayes on text: agreement with scikit-learn, vocabulary, explanation, views, others."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

import countwise as cw
from countwise.errors import CountsError, ParameterError, TableError
from countwise.models.bayes.stop_words import ENGLISH
from countwise.tables.words import split_words


@pytest.fixture(scope="module")
def desk():
    return cw.read("sample:help-desk")


@pytest.fixture(scope="module")
def messages(desk):
    """The rows of the help desk that have a message, and nothing but the message."""
    rows = desk.take(~desk.missing("message"))
    return rows.select(["message"])


def vectorizer(**options):
    return CountVectorizer(tokenizer=split_words, lowercase=False, token_pattern=None, **options)


@pytest.mark.parametrize("bigrams", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.2])
@pytest.mark.parametrize(
    ("text", "peer"), [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB)]
)
def test_agrees_with_scikit_learn_on_the_same_words(messages, text, peer, alpha, bigrams):
    words = {"text": text, "bigrams": bigrams, "min_rows": 2}
    model = cw.NaiveBayes(alpha, calibrate=None, **words).fit(messages)
    words = vectorizer(ngram_range=(1, 2 if bigrams else 1), min_df=2)
    counted = words.fit_transform(messages.decode("message"))
    other = peer(alpha=alpha).fit(counted, messages.labels)
    new = ["Where is my parcel, my PARCEL?", "an unheard-of contraption", "refund refund label"]
    for ours, theirs in (
        (model.predict_proba(messages), other.predict_proba(counted)),
        (model.predict_proba({"message": new}), other.predict_proba(words.transform(new))),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_figures_worked_by_hand():
    rows = {"said": ["good good film", "good soup", "bad film"], "y": ["+", "+", "-"]}
    table = cw.read(rows, target="y", text=["said"])
    # 4 words; "+" has 5 occurrences (good 3), "-" has 2 (good 0): 2/3 · 4/9 against 1/3 · 1/6.
    found = cw.NaiveBayes().fit(table).predict_proba({"said": ["good"]})[0]
    np.testing.assert_allclose(found, np.array([8 / 27, 1 / 18]) / (8 / 27 + 1 / 18))
    # Bernoulli: good in 2 of 2 texts (3/4), film 1 of 2 (absent 1/2), soup likewise, bad 0 (3/4).
    plus = 2 / 3 * 3 / 4 * 1 / 2 * 1 / 2 * 3 / 4
    minus = 1 / 3 * 1 / 3 * 1 / 3 * 2 / 3 * 1 / 3
    found = cw.NaiveBayes(text="bernoulli").fit(table).predict_proba({"said": ["good"]})[0]
    np.testing.assert_allclose(found, np.array([plus, minus]) / (plus + minus))


def test_vocabulary_is_chosen_by_rows_words_and_stop_list(messages):
    def words(**options):
        model = cw.NaiveBayes(**options).fit(messages)
        return model, set(model._model.terms[0].vocabulary)

    _, every = words()
    assert {"parcel", "refund", "the"} <= every
    rows = vectorizer(binary=True).fit(messages.decode("message"))
    held = rows.transform(messages.decode("message")).sum(axis=0).A1
    often = {word for word, place in rows.vocabulary_.items() if held[place] >= 30}
    assert words(min_rows=30)[1] == often
    model, few = words(max_words=10)
    assert len(few) == 10
    assert "the" in few
    assert [note.code for note in model.notes_] == ["W01", "W03"]
    assert f"has {len(every)} words; the 10 most frequent" in str(model.notes_[-1])
    assert not words(stop_words="english")[1] & ENGLISH
    assert not [
        word for word in words(stop_words=["The"], bigrams=True)[1] if "the" in word.split()
    ]


def test_mixed_tables_use_every_column(desk):
    def right(table):
        predicted = cw.evaluate({"nb": cw.NaiveBayes()}, table).entries["nb"].predictions
        folds = cw.evaluate({"nb": cw.NaiveBayes()}, table).folds
        answers = [
            p.posteriors.argmax(axis=1) == table.target[f.rows]
            for p, f in zip(predicted, folds, strict=True)
        ]
        return np.concatenate(answers).mean()

    assert right(desk) > 0.85 > 0.5 > right(desk.select(["channel", "order value"]))
    terms = cw.NaiveBayes().fit(desk)._model.terms
    assert [term.columns for term in terms] == [("message",), ("channel",), ("order value",)]


def test_explanation_names_the_words_and_adds_up(desk):
    model = cw.NaiveBayes().fit(desk)
    why = model.explain(
        {"message": ["refund refund for the toaster"], "channel": ["chat"], "order value": [5.0]}
    )
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint)
    parts = {part["value"]: part for part in why.to_dict()["parts"]}
    assert parts["'refund' × 2"]["attribute"] == "message"
    assert parts["'refund' × 2"]["log_odds"] > 1
    assert "no other words" in parts
    assert "message = 'refund' × 2" in why.describe()
    long = model.explain(desk.take([0]))
    values = [part["value"] for part in long.to_dict()["parts"]]
    assert sum(value.startswith("'") for value in values) == 8
    assert any(value.endswith("other words") for value in values)
    blank = model.explain({"message": [None], "channel": ["chat"], "order value": [5.0]})
    assert "missing" in [part["value"] for part in blank.to_dict()["parts"]]
    absent = cw.NaiveBayes(text="bernoulli").fit(desk).explain(desk.take([0, 3]))
    assert "absent ones" in absent.describe()
    np.testing.assert_allclose(absent.base + absent.parts.sum(axis=1), absent.joint)


def test_unseen_empty_and_missing_texts(desk):
    model = cw.NaiveBayes().fit(desk.select(["message"]))
    answers = model.predict_proba({"message": ["zyzzyva", "!!!", None, ""]})
    np.testing.assert_allclose(answers, np.tile(model.class_prior_, (4, 1)))


def test_views_show_top_words_on_the_page_and_in_a_picture(desk, tmp_path):
    model = cw.NaiveBayes().fit(desk)
    view = model.views()[0]
    assert view.title == "Top words"
    words = dict(zip(view.classes, view.columns[0].words, strict=True))
    assert {"invoice", "charged"} & {word.word for word in words["billing"]}
    assert all(word.ratio > 1 and word.rows > 0 for word in words["delivery"])
    assert "returns: refund" in str(cw.draw(model))
    assert cw.draw(model, "message").title == "NaiveBayes: message by class"
    trials = cw.evaluate({"nb": model}, desk, folds=3)
    cw.report(trials, tmp_path / "page.html", desk, model=model)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The words of message as a table" in page
    assert "593 different texts" in page


def test_other_models_leave_text_out_with_a_note(desk):
    model = cw.ID3().fit(desk)
    note = next(note for note in model.notes_ if note.code == "W02")
    assert str(note) == (
        "Column 'message' holds free text and was left out by ID3; its words are used "
        "by 'NaiveBayes', 'Additive'."
    )
    assert model.predict({"channel": ["chat"], "order value": [10.0]}).shape == (1,)
    assert model.predict(desk).shape == (600,)
    with pytest.raises(TableError, match="ID3: there must be a nominal or numeric column"):
        cw.ID3().fit(desk.select(["message"]))
    trials = cw.evaluate({"nb": cw.NaiveBayes(), "tan": cw.TAN()}, desk, folds=3)
    assert [str(n) for n in trials.notes if n.code == "W02"] == [
        "Column 'message' holds free text and was left out by tan; its words are used "
        "by 'NaiveBayes', 'Additive'."
    ]


def test_ensembles_hand_text_to_members_that_count_words(desk, tmp_path):
    bag = cw.Bagging(cw.NaiveBayes(), n_estimators=5).fit(desk)
    assert bag.score(desk) > 0.85
    vote = cw.Vote([cw.NaiveBayes(), cw.ID3()]).fit(desk)
    assert [note.code for note in vote.notes_] == ["W01", "W02"]
    decide = cw.Decide(cw.NaiveBayes(), "roulette").fit(desk)
    for model in (bag, vote, decide):
        cw.save(model, tmp_path / "model.cw")
        again = cw.load(tmp_path / "model.cw")
        np.testing.assert_array_equal(again.predict_proba(desk), model.predict_proba(desk))


def test_forgotten_words_are_not_in_the_file(desk, tmp_path):
    table = desk.take(slice(0, 40))
    rows = {
        "message": ["my secret is xylophone"],
        "channel": ["chat"],
        "order value": [1.0],
        "team": ["billing"],
    }
    extra = cw.read(rows, schema=table.schema)
    model = cw.NaiveBayes().fit(table).partial_fit(extra)
    assert "xylophone" in model.counts_.words["message", 1].vocabulary
    model.forget(extra)
    assert "xylophone" not in model.counts_.words["message", 1].vocabulary
    with pytest.raises(CountsError, match="only if they were counted"):
        model.forget(extra)
    part = cw.NaiveBayes().fit(desk.take(slice(0, 5)))
    assert len(part.counts_.words["message", 1].vocabulary) < 100


def test_parameters_are_checked(messages):
    for name, value in (
        ("text", "poisson"),
        ("min_rows", 0),
        ("max_words", 0),
        ("stop_words", "latin"),
    ):
        with pytest.raises(ParameterError, match=f"NaiveBayes: {name} must be"):
            clone(cw.NaiveBayes()).set_params(**{name: value}).fit(messages)
    with pytest.raises(ParameterError, match="'message' is text"):
        cw.NaiveBayes(variance="shared").fit(messages).to_logistic()


def test_learning_curve_and_leave_one_out_run_on_text(desk):
    table = desk.take(slice(0, 120))
    curve = cw.learning_curve({"nb": cw.NaiveBayes()}, table, repeats=2)
    assert "nb" in curve.names
    trials = cw.evaluate({"nb": cw.NaiveBayes()}, table, leave_one_out=True)
    assert trials.entries["nb"].predictions[0].posteriors.shape == (120, 4)


def test_frames_are_taken_as_they_are():
    pd = pytest.importorskip("pandas")
    desk = cw.read("sample:help-desk")
    frame = pd.DataFrame({name: desk.decode(name) for name in ("message", "channel")})
    model = cw.NaiveBayes().fit(frame, desk.labels)
    assert [column.kind for column in model.schema_] == ["text", "nominal", "target"]
    assert model.score(frame, desk.labels) > 0.85
