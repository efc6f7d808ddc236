"""P1, Smart, Leh and Marsh (2016): four learners on five data sets, ten bins, ten folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from countwise.discretize.cuts import Cuts
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.intervals import Estimate
from countwise.evaluation.learning_curve import learning_curve
from countwise.evaluation.neighbor_grid import NeighborGrid, neighbor_grid
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.tree.id3 import ID3
from countwise.reports.comparison_facts import curve_facts
from countwise.reports.draw import draw
from countwise.reports.figures.line_plot import curve_figure
from countwise.tables.table import Table
from countwise_papers.exact_models import exact_naive_bayes, exact_tan
from countwise_papers.findings import (
    TRUE,
    Drawing,
    Finding,
    Found,
    Work,
    above,
    at_most,
    exactly,
    figure,
    held,
    not_run,
    part,
    same_word,
)

#: Table 1: accuracy under 1 × 10 cross-validation, as printed.
TABLE_1: Mapping[str, tuple[str, ...]] = {
    "kNN": ("0.953154", "0.579221", "0.96", "1", "0.942389"),
    "NB": ("0.975085", "0.649783", "0.95333", "1", "0.903436"),
    "TAN": ("0.961893", "0.66342", "0.96", "0.98", "0.944767"),
    "ID3": ("0.950171", "0.662771", "0.98", "0.975", "0.95629"),
}
#: The paper's names of the sets, and ours.
SETS: Mapping[str, str] = {
    "cancer": "breast-w",
    "glass": "glass",
    "iris": "iris",
    "soybean": "soybean-small",
    "vote": "votes",
}

_DATA = tuple(SETS.values())


def _options(name: str) -> dict[str, Any]:
    """Missing values as the paper says per set; codes of the soybean set are not numbers."""
    return {
        "votes": {"when_missing": "value"},
        "breast-w": {"when_missing": "drop"},
        "soybean-small": {"nominal": "all"},
    }.get(name, {})


def _learners(seed: int) -> dict[str, Any]:
    """The paper's choices: k = 2 and p = 3 with VDM, ten bins of equal width, pruned ID3."""
    return {
        "kNN": Neighbors(n_neighbors=2, p=3, metric="vdm", smoothing=0),
        "NB": exact_naive_bayes(numeric="cuts", cuts="width", bins=10),
        "TAN": exact_tan(cuts="width", bins=10),
        # The paper keeps a node unless cutting it is better.
        "ID3": ID3(
            numeric="cuts",
            bins=10,
            prune=0.2,
            cut_ties=False,
            smoothing="laplace",
            random_state=seed,
        ),
    }


@part("P1.1", "P1.2", "P1.3", "P1.4", data=_DATA)
def data(work: Work) -> Found:
    """Identifiers, bins, folds, missing values.

    The reader detects identifiers. Ten bins of equal width are learned on each training fold. Folds
    are stratified by class. In vote, missing is a value of its own; in cancer, rows with a missing
    value are dropped.
    """
    found = dict(work.tables(_DATA, _options))
    yield from work.not_run("P1.1")
    dropped = [
        f"{note.column} of {name}"
        for name, table in found.items()
        for note in table.notes
        if note.code == "T01"
    ]
    yield held(
        "P1.1",
        "identifiers found and left out automatically",
        len(dropped),
        exactly(2),
        " and ".join(dropped),
        "breast-w and glass have one each; the other sets have none.",
        printed="all edited out by hand",
    )
    yield _bins(found["iris"])
    yield _strata(found)
    votes, cancer = found["votes"], found["breast-w"]
    columns = sum("(missing)" in column.levels for column in votes.schema.nominal)
    yield held(
        "P1.4",
        "vote: missing is a value of its own",
        columns if len(votes) == 435 else 0,
        exactly(16),
        f"in {{:.0f}} columns, {len(votes)} rows kept",
    )
    yield held(
        "P1.4",
        "cancer: rows with a missing value are dropped",
        len(cancer),
        exactly(683),
        f"{699 - len(cancer)} rows dropped, {{:.0f}} kept",
    )


def _bins(iris: Table) -> Finding:
    """Ten bins learned on nine folds are not those of all rows: nothing leaks."""
    whole = Cuts("width", bins=10).fit(iris).cut_points_
    folds = np.arange(len(iris)) % 10
    moved = 0
    for fold in range(10):
        points = Cuts("width", bins=10).fit(iris.take(np.flatnonzero(folds != fold))).cut_points_
        moved += any(not np.array_equal(points[name], whole[name]) for name in whole)
    return held(
        "P1.2",
        "iris: ten bins, learned on the training fold only",
        {len(points) for points in whole.values()} == {9},
        TRUE,
        f"9 cut points per column; in {moved} of 10 folds they differ from those of all rows",
    )


def _strata(found: Mapping[str, Table]) -> Finding:
    worst = 0
    for table in found.values():
        trials = evaluate(exact_naive_bayes(), table, folds=10)
        counts = np.asarray(
            [np.bincount(fold.truth, minlength=len(trials.classes)) for fold in trials.folds]
        )
        worst = max(worst, int((counts.max(axis=0) - counts.min(axis=0)).max()))
    what = "ten stratified folds: rows of a class differ between folds by at most"
    return held("P1.3", what, worst, at_most(1), "{:.0f}")


@part("P1.10", data=_DATA)
def table_1(work: Work) -> Found:
    """Four learners on five data sets.

    Stratified ten-fold cross-validation, run once. kNN uses k = 2 and the Minkowski distance with p
    = 3 and VDM. Naive Bayes, TAN and ID3 use ten bins of equal width, learned in each training
    fold. ID3 is pruned on a fifth of the training rows; a node stays unless cutting it makes the
    tree better. The paper calls accuracy *precision*. Intervals are those of Nadeau and Bengio over
    the folds.
    """
    scores: dict[str, dict[str, Estimate]] = {}
    paper_names = {ours: theirs for theirs, ours in SETS.items()}
    for name, table in work.tables(_DATA, _options):
        trials = evaluate(_learners(work.seed), table, folds=10, random_state=work.seed)
        scores[paper_names[name]] = {
            learner: trials.score("accuracy", learner) for learner in TABLE_1
        }
    for learner, line in TABLE_1.items():
        for name, printed in zip(SETS, line, strict=True):
            place: Any = {"table": "Table 1", "row": learner, "column": name}
            words = f"{learner} on {name}"
            if name not in scores:
                yield not_run("P1.10", words, work.missing[SETS[name]], printed, **place)
                continue
            score = scores[name][learner]
            reason = "The paper's folds, seed and tie-breaking are not known."
            yield figure("P1.10", words, printed, score, None, reason, digits=3, **place)
    yield from _conclusions(scores)


def _conclusions(scores: Mapping[str, Mapping[str, Estimate]]) -> Iterator[Finding]:
    """Judge the paper's sentences about its table by ours."""
    values = {name: [score.value for score in line.values()] for name, line in scores.items()}
    means = {name: np.mean(line) for name, line in values.items()}
    spread = {name: max(line) - min(line) for name, line in values.items()}
    firsts = {name: max(line, key=lambda key: line[key].value) for name, line in scores.items()}
    apart = [
        name
        for name, line in scores.items()
        if max(score.low for score in line.values()) > min(score.high for score in line.values())
    ]
    hardest = min(means, key=lambda name: means[name])
    yield same_word(
        "P1.10", "the most difficult set", "glass", hardest, f"Its mean is {means[hardest]:.3f}."
    )
    yield held(
        "P1.10",
        "no single learner outperforms the rest: learners that are first on a set",
        len(set(firsts.values())),
        above(1),
        "{:.0f}: " + ", ".join(f"{learner} on {name}" for name, learner in firsts.items()),
        "Sets on which the intervals of two learners do not overlap: "
        f"{', '.join(apart) or 'none'}.",
        printed="no single algorithm",
    )
    if "soybean" in scores:
        line, best = scores["soybean"], max(values["soybean"])
        yield held(
            "P1.10",
            "kNN and naive Bayes are best on soybean",
            min(line["kNN"].value, line["NB"].value),
            (best, best),
            f"kNN {line['kNN'].value:.3f}, NB {line['NB'].value:.3f}, best {best:.3f}",
            printed="did the best",
        )
    if "vote" in scores:
        line, first = scores["vote"], firsts["vote"]
        words = f"The best accuracy is {line[first].value:.3f}; ID3 has {line['ID3'].value:.3f}."
        yield same_word("P1.10", "the best learner on vote", "ID3", first, words)
    yield held(
        "P1.10",
        "results are close: largest gap between learners on a set",
        max(spread.values()),
        at_most(0.12),
        "{:.3f}: " + ", ".join(f"{name} {gap:.3f}" for name, gap in spread.items()),
        f"Closest on {min(spread, key=lambda name: spread[name])}.",
        printed="extremely close",
    )


@part("P1.5", data=["votes"])
def vdm(work: Work) -> Found:
    """Minkowski distance with VDM.

    For ten rows of vote, the distances to their twenty nearest rows are computed again by a loop
    over attributes and classes. Missing is a value of its own.
    """
    votes = work.table("votes", **_options("votes"))
    shares = {}
    counts = exact_naive_bayes(smoothing=0).fit(votes).counts_
    for column in votes.schema.attributes:
        cells = counts.table(column.name)[:2, : len(column.levels)]
        shares[column.name] = cells / cells.sum(axis=0)
    queries = votes.take(np.arange(10))
    for p in (1, 2, 3, 5):
        near = Neighbors(n_neighbors=20, p=p, metric="vdm").fit(votes).neighbors(queries)
        worst = 0.0
        for at in range(len(queries)):
            for place, row in enumerate(near.rows[at]):
                total = 0.0
                for name, given in shares.items():
                    codes = votes.codes(name)
                    total += float((np.abs(given[:, codes[at]] - given[:, codes[row]]) ** p).sum())
                worst = max(worst, abs(total ** (1 / p) - near.distances[at, place]))
        text = "largest gap between 200 distances and eq. 1 and 2: {:.1g}"
        what = f"VDM in the Minkowski distance with p = {p}, on vote"
        yield held("P1.5", what, worst, at_most(1e-12), text)


@part("P1.6", data=_DATA)
def figure_1(work: Work) -> Found:
    """Precision over k and p.

    Nearest neighbors with VDM, k = 1 to 20 and p = 1 to 9, stratified ten-fold cross-validation.
    Probabilities, ranges and neighbors are learned in each training fold. For each p, one search
    serves all k. The paper chooses k and p for the average of the sets; results for single sets are
    our additions.
    """
    grids = {}
    ks, ps = (range(1, 11), range(1, 6)) if work.quick else (range(1, 21), range(1, 10))
    for name, table in work.tables(_DATA, _options):
        grids[name] = neighbor_grid(table, k=ks, p=ps, smoothing=0, random_state=work.seed)
    yield from work.not_run("P1.6")
    if not grids:
        return
    grids["the average"] = NeighborGrid.mean(list(grids.values()))
    for name, grid in grids.items():
        picture = draw(grid)
        yield Drawing(f"Figure 1, {name}", picture.svg, picture.title)
        best = grid.best
        what = f"{name}: k = 2, p = 3 is near the best of {grid.accuracy.size} settings"
        text = f"{{:.4f}} against {best['accuracy']:.4f} at k = {best['k']}, p = {best['p']:g}"
        chosen = grid.accuracy[1, 2]
        if name == "the average":
            near = above(best["accuracy"] - 0.02)
            yield held("P1.6", what, chosen, near, text, printed="k = 2, p = 3")
        else:
            yield figure("P1.6", what, "", chosen, text=text)
    mean = grids["the average"].accuracy
    by_k, by_p = (float(np.ptp(mean.mean(axis=axis))) for axis in (1, 0))
    yield held(
        "P1.6",
        "k matters more than p: ratio of the ranges of mean accuracy",
        by_k / by_p,
        above(1),
        f"{{:.2f}}: accuracy varies by {by_k:.4f} over k, by {by_p:.4f} over p",
        "The paper's sentence names p twice; its figure shows that k is meant.",
        printed="p had a lesser effect",
    )
    few, many = float(mean[:5].mean()), float(mean[-5:].mean())
    yield held(
        "P1.6",
        "mean accuracy with the five smallest k, against the five largest",
        few,
        above(many),
        f"{{:.4f}}, against {many:.4f}",
    )


@part("P1.7", "P1.8", "P1.9", data=_DATA)
def pictures(work: Work) -> Found:
    """Probability tables, a TAN tree, an ID3 tree.

    Each learner is trained on all rows of a set, with ten bins of equal width. ID3 is not pruned.
    """
    learners = _learners(work.seed)
    for name, table in work.tables(_DATA, _options):
        cut = Cuts("width", bins=10).fit(table).transform(table) if table.schema.numeric else table
        bayes = exact_naive_bayes().fit(cut)
        picture = draw(bayes)
        columns, classes = len(cut.schema.attributes), len(bayes.classes_)
        levels = sum(len(bayes.counts_.levels(c.name)) for c in cut.schema.attributes)
        yield Drawing(f"Figure 2, {name}", picture.svg, picture.title)
        yield figure(
            "P1.7",
            f"{name}: cells of the probability table",
            "",
            levels * classes,
            text=f"{classes} classes × {columns} attributes, {{:,.0f}} cells drawn",
        )
        if name == "breast-w":
            tan = learners["TAN"].fit(table)
            edges = sum(parent is not None for parent, *_ in tan.tree_)
            yield Drawing("Figure 3, the TAN tree of cancer", draw(tan).svg)
            yield held(
                "P1.8",
                "cancer: a spanning tree over the attributes",
                edges,
                exactly(columns - 1),
                f"{{:.0f}} edges over {columns} attributes, root {tan.root_}",
            )
        if name == "soybean-small":
            tree = ID3(smoothing="laplace").fit(table)
            yield Drawing("Figure 4, the ID3 tree of soybean", draw(tree).svg)
            yield held(
                "P1.9",
                "soybean: a tree that classifies its own rows",
                np.mean(tree.predict(table) == table.labels),
                exactly(1),
                f"{tree.n_leaves_} leaves, depth {tree.depth_}, {{:.0%}} right",
            )
    yield from work.not_run("P1.7")
    if "soybean-small" in work.missing:
        yield not_run("P1.9", "soybean-small", work.missing["soybean-small"])


@part("P1.11", data=_DATA, cost=9)
def figure_5(work: Work) -> Found:
    """Learning curves.

    Each of ten folds is tested with models trained on growing parts of the other folds: ten sizes
    on a logarithmic scale, with the learners of Table 1. The paper draws its curves and prints no
    figures; its sentences about them are judged.
    """
    for name, table in work.tables(_DATA, _options):
        curve = learning_curve(
            _learners(work.seed),
            table,
            points=5 if work.quick else 10,
            folds=5 if work.quick else 10,
            random_state=work.seed,
        )
        yield Drawing(f"Figure 5, {name}", curve_figure(curve_facts(curve)))
        for learner in TABLE_1:
            scores = curve.score("accuracy", learner)
            yield figure(
                "P1.11",
                f"{name}, {learner}: from {curve.sizes[0]} to {curve.sizes[-1]} rows",
                "",
                scores[-1],
                text=f"{scores[0].value:.3f} to {{:.3f}}",
                table="Figure 5 (accuracy with the fewest and with all training rows)",
                row=learner,
                column=name,
            )
        yield from _judge_curves(name, curve)
    yield from work.not_run("P1.11")


def _judge_curves(name: str, curve: Any) -> Iterator[Finding]:
    """Judge the paper's sentences about single curves."""
    lines = {
        learner: [score.value for score in curve.score("accuracy", learner)] for learner in TABLE_1
    }
    means = {learner: float(np.mean(line)) for learner, line in lines.items()}
    words = "Mean accuracy over the sizes: " + ", ".join(
        f"{learner} {mean:.3f}" for learner, mean in means.items()
    )
    if name == "breast-w":
        first = max(means, key=lambda learner: means[learner])
        yield same_word("P1.11", "cancer: the fastest learning curve", "kNN", first, f"{words}.")
    if name == "iris":
        last = min(means, key=lambda learner: means[learner])
        yield same_word("P1.11", "iris: the slowest learning curve", "TAN", last, f"{words}.")
    if name == "votes":
        yield held(
            "P1.11",
            "vote: naive Bayes dives from its maximum as rows are added",
            max(lines["NB"]) - lines["NB"][-1],
            above(0.02),
            "its last accuracy is {:.3f} below its highest",
            "With more rows, counts become better estimates. In a single curve without repeats, a "
            "dive of a few points can be due to chance.",
            printed="a sharp dive",
        )
