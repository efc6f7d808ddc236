"""P1, Smart, Leh and Marsh (2016): four learners on five data sets, ten bins, ten folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from countwise.discretize.cuts import Cuts
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.intervals import Estimate
from countwise.evaluation.learning_curve import learning_curve
from countwise.evaluation.neighbor_grid import NeighborGrid, neighbor_grid
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.bayes.tan import TAN
from countwise.models.neighbors.classifier import Neighbors
from countwise.models.tree.id3 import ID3
from countwise.reports.comparison_facts import curve_facts
from countwise.reports.draw import draw
from countwise.reports.figures.line_plot import curve_figure
from countwise.tables.table import Table
from countwise_papers.findings import Finding, Outcome, Part, Shown, Work, cannot, held, measured

#: Table 1: the share of right answers under 1 × 10 cross-validation.
TABLE_1: Mapping[str, tuple[float, ...]] = {
    "kNN": (0.953154, 0.579221, 0.96, 1.0, 0.942389),
    "NB": (0.975085, 0.649783, 0.95333, 1.0, 0.903436),
    "TAN": (0.961893, 0.66342, 0.96, 0.98, 0.944767),
    "ID3": (0.950171, 0.662771, 0.98, 0.975, 0.95629),
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


def _reading(name: str) -> dict[str, Any]:
    """Missing values as the paper says per set; codes of the soybean set are no numbers."""
    return {
        "votes": {"when_missing": "value"},
        "breast-w": {"when_missing": "drop"},
        "soybean-small": {"nominal": "all"},
    }.get(name, {})


def _learners(seed: int) -> dict[str, Any]:
    """The paper's choices: k = 2 and p = 3 with VDM, ten bins of equal width, pruned ID3."""
    return {
        "kNN": Neighbors(n_neighbors=2, p=3, metric="vdm"),
        "NB": NaiveBayes(numeric="cuts", cuts="width", bins=10),
        "TAN": TAN(cuts="width", bins=10),
        "ID3": ID3(numeric="cuts", cuts="width", bins=10, prune=0.2, random_state=seed),
    }


def data_handling(work: Work) -> Outcome:
    """Identifiers, bins, folds and missing values, as the paper describes them."""
    out = Outcome()
    found = dict(work.tables(_DATA, _reading))
    for name, why in work.missing.items():
        out.add(cannot("P1.1", name, why))
    dropped = [
        f"{note.column} of {name}"
        for name, table in found.items()
        for note in table.notes
        if note.code == "T01"
    ]
    out.add(
        held(
            "P1.1",
            "identifiers found and left out by themselves",
            len(dropped) == 2,
            " and ".join(dropped),
            "breast-w and glass have one each, the other sets have none.",
            printed="all edited out by hand",
            value=float(len(dropped)),
        )
    )
    out.add(_bins(found["iris"]), _strata(found))
    votes, cancer = found["votes"], found["breast-w"]
    own_level = sum("(missing)" in column.levels for column in votes.schema.nominal)
    out.add(
        held(
            "P1.4",
            "vote: missing is a value of its own",
            own_level == 16 and len(votes) == 435,
            f"in {own_level} columns, {len(votes)} rows kept",
            value=float(own_level),
        ),
        held(
            "P1.4",
            "cancer: rows with a missing value are dropped",
            len(cancer) == 683,
            f"{699 - len(cancer)} rows dropped, {len(cancer)} kept",
            value=float(len(cancer)),
        ),
    )
    return out


def _bins(iris: Table) -> Finding:
    """Ten bins learned on nine folds are not those of all rows: nothing leaks."""
    whole = Cuts("width", bins=10).fit(iris).cut_points_
    folds = np.arange(len(iris)) % 10
    moved = 0
    for fold in range(10):
        own = Cuts("width", bins=10).fit(iris.take(np.flatnonzero(folds != fold))).cut_points_
        moved += any(not np.array_equal(own[name], whole[name]) for name in whole)
    points = sorted({len(own) for own in whole.values()})
    return held(
        "P1.2",
        "iris: ten bins, learned on the training fold only",
        points == [9],
        f"9 cut points a column; in {moved} of 10 folds they differ from those of all rows",
        value=float(moved),
    )


def _strata(found: Mapping[str, Table]) -> Finding:
    worst = 0
    for table in found.values():
        trials = evaluate(NaiveBayes(), table, folds=10)
        counts = np.asarray(
            [np.bincount(fold.truth, minlength=len(trials.classes)) for fold in trials.folds]
        )
        worst = max(worst, int((counts.max(axis=0) - counts.min(axis=0)).max()))
    return held(
        "P1.3",
        "ten stratified folds: rows of a class differ between folds by at most",
        worst <= 1,
        str(worst),
        value=float(worst),
    )


def table_1(work: Work) -> Outcome:
    """Twenty cells, then the paper's conclusions one by one."""
    out = Outcome()
    scores: dict[str, dict[str, Estimate]] = {}
    paper_names = {own: theirs for theirs, own in SETS.items()}
    for name, table in work.tables(_DATA, _reading):
        trials = evaluate(_learners(work.seed), table, folds=10, random_state=work.seed)
        scores[paper_names[name]] = {own: trials.score("accuracy", own) for own in TABLE_1}
    for at, name in enumerate(SETS):
        for learner, printed in TABLE_1.items():
            place = {"table": "Table 1", "row": learner, "column": name}
            words = f"{learner} on {name}"
            if name not in scores:
                why = work.missing[SETS[name]]
                out.add(cannot("P1.10", words, why, f"{printed[at]:.3f}", **place))
                continue
            own = scores[name][learner]
            out.add(
                measured(
                    "P1.10",
                    words,
                    printed[at],
                    own.value,
                    (own.low, own.high),
                    3,
                    "The paper's folds, seed and tie-breaking are not known.",
                    **place,
                )
            )
    out.findings.sort(key=lambda own: list(TABLE_1).index(own.row))
    out.add(*_conclusions(scores))
    return out


def value_distance(work: Work) -> Outcome:
    """Minkowski p over attributes and classes (eq. 1 and 2), by a loop, against the model's."""
    out = Outcome()
    votes = work.table("votes", **_reading("votes"))
    shares = {}
    counts = NaiveBayes(smoothing=0).fit(votes).counts_
    for column in votes.schema.attributes:
        own = counts.table(column.name)[:2, : len(column.levels)]
        shares[column.name] = own / own.sum(axis=0)
    asked = votes.take(np.arange(10))
    for p in (1, 2, 3, 5):
        near = Neighbors(n_neighbors=20, p=p, metric="vdm").fit(votes).neighbors(asked)
        worst = 0.0
        for at in range(len(asked)):
            for place, row in enumerate(near.rows[at]):
                total = 0.0
                for name, own in shares.items():
                    codes = votes.codes(name)
                    total += float((np.abs(own[:, codes[at]] - own[:, codes[row]]) ** p).sum())
                worst = max(worst, abs(total ** (1 / p) - near.distances[at, place]))
        out.add(
            held(
                "P1.5",
                f"VDM within Minkowski p = {p}, on vote",
                worst < 1e-12,
                f"largest gap of 200 distances to eq. 1 and 2: {worst:.1g}",
                value=worst,
            )
        )
    return out


def figure_1(work: Work) -> Outcome:
    """Accuracy over k = 1 to 20 and p = 1 to 9, per set and on average."""
    out = Outcome()
    grids = {}
    ks, ps = (range(1, 11), range(1, 6)) if work.quick else (range(1, 21), range(1, 10))
    for name, table in work.tables(_DATA, _reading):
        grids[name] = neighbor_grid(table, k=ks, p=ps, random_state=work.seed)
    for name, why in work.missing.items():
        out.add(cannot("P1.6", name, why))
    if not grids:
        return out
    grids["the average"] = NeighborGrid.mean(list(grids.values()))
    for name, grid in grids.items():
        picture = draw(grid)
        out.add(Shown(f"Figure 1, {name}", picture.svg, picture.title))
        own, best = float(grid.accuracy[1, 2]), grid.best
        gap = best["accuracy"] - own
        out.add(
            held(
                "P1.6",
                f"{name}: k = 2, p = 3 is near the best of {grid.accuracy.size} settings",
                gap < 0.02,
                f"{own:.4f} against {best['accuracy']:.4f} at k = {best['k']}, p = {best['p']:g}",
                printed="k = 2, p = 3" if name == "the average" else "",
                value=own,
            )
        )
    mean = grids["the average"].accuracy
    by_k = float(mean.mean(axis=1).max() - mean.mean(axis=1).min())
    by_p = float(mean.mean(axis=0).max() - mean.mean(axis=0).min())
    out.add(
        held(
            "P1.6",
            "k matters more than p",
            by_k > by_p,
            f"accuracy varies by {by_k:.4f} over k, by {by_p:.4f} over p",
            "The paper's sentence names p twice; its figure shows k.",
            value=by_k,
        ),
        held(
            "P1.6",
            "small k is better on average",
            float(mean[:5].mean()) > float(mean[-5:].mean()),
            f"{mean[:5].mean():.4f} for the five smallest k, {mean[-5:].mean():.4f} for the five "
            "largest",
            value=float(mean[:5].mean()),
        ),
    )
    return out


def _conclusions(scores: Mapping[str, Mapping[str, Estimate]]) -> list[Finding]:
    """What the paper says of its table, asked of ours."""
    means = {name: np.mean([own.value for own in line.values()]) for name, line in scores.items()}
    hardest = min(means, key=lambda name: means[name])
    firsts = {name: max(line, key=lambda own: line[own].value) for name, line in scores.items()}
    spread = {
        name: max(own.value for own in line.values()) - min(own.value for own in line.values())
        for name, line in scores.items()
    }
    apart = [
        name
        for name, line in scores.items()
        if max(own.low for own in line.values()) > min(own.high for own in line.values())
    ]
    found = [
        held(
            "P1.10",
            "glass is the most difficult set",
            hardest == "glass",
            f"{hardest}, mean {means[hardest]:.3f}",
            printed="glass",
            value=float(means[hardest]),
        ),
        held(
            "P1.10",
            "no single learner outperforms the rest",
            len(set(firsts.values())) > 1,
            "first: " + ", ".join(f"{own} on {name}" for name, own in firsts.items()),
            f"Intervals lie apart on {', '.join(apart) or 'no set'}.",
            value=float(len(set(firsts.values()))),
        ),
    ]
    if "soybean" in scores:
        own = scores["soybean"]
        best = max(each.value for each in own.values())
        found.append(
            held(
                "P1.10",
                "kNN and naive Bayes are best on soybean",
                own["kNN"].value == best and own["NB"].value == best,
                f"kNN {own['kNN'].value:.3f}, NB {own['NB'].value:.3f}, best {best:.3f}",
                value=own["NB"].value,
            )
        )
    if "vote" in scores:
        own = scores["vote"]
        found.append(
            held(
                "P1.10",
                "ID3 does best on vote",
                firsts["vote"] == "ID3",
                f"{firsts['vote']} {own[firsts['vote']].value:.3f}, ID3 {own['ID3'].value:.3f}",
                value=own["ID3"].value,
            )
        )
    closest = min(spread, key=lambda name: spread[name])
    found.append(
        held(
            "P1.10",
            "results are close: largest gap between learners on a set",
            max(spread.values()) < 0.12,
            ", ".join(f"{name} {own:.3f}" for name, own in spread.items()),
            f"Closest on {closest}.",
            value=float(max(spread.values())),
        )
    )
    return found


def pictures(work: Work) -> Outcome:
    """Figures 2 to 4: probability tables, the TAN tree of cancer, the ID3 tree of soybean."""
    out = Outcome()
    learners = _learners(work.seed)
    for name, table in work.tables(_DATA, _reading):
        cut = Cuts("width", bins=10).fit(table).transform(table) if table.schema.numeric else table
        bayes = NaiveBayes().fit(cut)
        drawn = draw(bayes)
        columns = len(cut.schema.attributes)
        cells = sum(len(bayes.counts_.levels(c.name)) for c in cut.schema.attributes)
        cells *= len(bayes.classes_)
        out.add(Shown(f"Figure 2, {name}", drawn.svg, drawn.title))
        out.add(
            held(
                "P1.7",
                f"{name}: probability table",
                columns > 0,
                f"{len(bayes.classes_)} classes × {columns} attributes, {cells:,} cells drawn",
                value=float(cells),
            )
        )
        if name == "breast-w":
            tan = learners["TAN"].fit(table)
            edges = [own for own in tan.tree_ if own[0] is not None]
            out.add(Shown("Figure 3, the TAN tree of cancer", draw(tan).svg))
            out.add(
                held(
                    "P1.8",
                    "cancer: a spanning tree over the attributes",
                    len(edges) == columns - 1,
                    f"{len(edges)} edges over {columns} attributes, root {tan.root_}",
                    value=float(len(edges)),
                )
            )
        if name == "soybean-small":
            tree = ID3().fit(table)
            right = float(np.mean(tree.predict(table) == table.labels))
            out.add(Shown("Figure 4, the ID3 tree of soybean", draw(tree).svg))
            out.add(
                held(
                    "P1.9",
                    "soybean: a tree that classifies its own rows",
                    right == 1.0,
                    f"{tree.n_leaves_} leaves, depth {tree.depth_}, {100 * right:.0f} % right",
                    value=right,
                )
            )
    for name, why in work.missing.items():
        for ledger in ("P1.7", *(("P1.9",) if name == "soybean-small" else ())):
            out.add(cannot(ledger, name, why))
    return out


def figure_5(work: Work) -> Outcome:
    """Learning curves of every learner on every set, and what the paper reads from its own."""
    out = Outcome()
    for name, table in work.tables(_DATA, _reading):
        points = 5 if work.quick else 10
        curve = learning_curve(
            _learners(work.seed),
            table,
            points=points,
            folds=10 if not work.quick else 5,
            random_state=work.seed,
        )
        out.add(Shown(f"Figure 5, {name}", curve_figure(curve_facts(curve))))
        for learner in TABLE_1:
            own = curve.score("accuracy", learner)
            start, last = own[0], own[-1]
            out.add(
                Finding(
                    "P1.11",
                    f"{name}, {learner}: from {curve.sizes[0]} to {curve.sizes[-1]} rows",
                    "",
                    f"{start.value:.3f} to {last.value:.3f}",
                    "agrees" if last.value >= start.value else "differs",
                    "" if last.value >= start.value else "The curve does not rise.",
                    value=last.value,
                    low=last.low,
                    high=last.high,
                    table="Figure 5: accuracy with the fewest and with all training rows",
                    row=learner,
                    column=name,
                )
            )
        out.add(*_said_of_curves(name, curve))
    for name, why in work.missing.items():
        out.add(cannot("P1.11", name, why))
    return out


def _said_of_curves(name: str, curve: Any) -> list[Finding]:
    """The paper's sentences about single curves."""
    lines = {own: [each.value for each in curve.score("accuracy", own)] for own in TABLE_1}
    mean = {own: float(np.mean(line)) for own, line in lines.items()}
    found = []
    if name == "breast-w":
        first = max(mean, key=lambda own: mean[own])
        found.append(
            held(
                "P1.11",
                "cancer: kNN has the fastest learning curve",
                first == "kNN",
                f"highest on average: {first}, {mean[first]:.3f}; kNN {mean['kNN']:.3f}",
                value=mean["kNN"],
            )
        )
    if name == "iris":
        last = min(mean, key=lambda own: mean[own])
        found.append(
            held(
                "P1.11",
                "iris: TAN learns slowest",
                last == "TAN",
                f"lowest on average: {last}, {mean[last]:.3f}; TAN {mean['TAN']:.3f}",
                value=mean["TAN"],
            )
        )
    if name == "votes":
        dive = max(lines["NB"]) - lines["NB"][-1]
        found.append(
            held(
                "P1.11",
                "vote: naive Bayes dives from its maximum as rows are added",
                dive > 0.02,
                f"its last accuracy is {dive:.3f} below its highest",
                "Counts can only become better estimates with more rows; a dive of a few points "
                "is what one curve without repeats can show by chance.",
                value=dive,
            )
        )
    return found


PARTS = (
    Part(
        "p1-data",
        ("P1.1", "P1.2", "P1.3", "P1.4"),
        "Identifiers, bins, folds, missing values",
        "Identifiers are detected by the reader; ten bins of equal width are learned on each "
        "training fold; folds are dealt class by class; missing is a value of its own in vote, and "
        "drops the row in cancer.",
        data_handling,
        data=_DATA,
        cost=3,
    ),
    Part(
        "p1-table-1",
        ("P1.10",),
        "Four learners on five data sets",
        "Stratified ten-fold cross-validation, once. kNN with k = 2, Minkowski p = 3 and VDM; "
        "naive Bayes, TAN and ID3 with ten bins of equal width learned in each training fold; ID3 "
        "pruned on a fifth of the training rows. The paper calls the share of right answers "
        "precision. Intervals are Nadeau and Bengio's over the folds.",
        table_1,
        data=_DATA,
        cost=10,
    ),
    Part(
        "p1-vdm",
        ("P1.5",),
        "Minkowski distance with VDM",
        "Ten rows of vote and their twenty nearest, missing as a value; each distance again by a "
        "loop over attributes and classes.",
        value_distance,
        data=("votes",),
    ),
    Part(
        "p1-figure-1",
        ("P1.6",),
        "Precision over k and p",
        "kNN with VDM, k = 1 to 20 and p = 1 to 9, stratified ten-fold cross-validation; shares, "
        "ranges and neighbours are learned in each training fold. One search serves all k of a p.",
        figure_1,
        data=_DATA,
        cost=5,
    ),
    Part(
        "p1-pictures",
        ("P1.7", "P1.8", "P1.9"),
        "Probability tables, a TAN tree, an ID3 tree",
        "Each learner on all rows of the set, ten bins of equal width; ID3 unpruned.",
        pictures,
        data=_DATA,
        cost=3,
    ),
    Part(
        "p1-figure-5",
        ("P1.11",),
        "Learning curves",
        "Ten folds; each fold is tested against growing parts of the others, ten sizes on a "
        "logarithmic scale, the same learners as Table 1.",
        figure_5,
        data=_DATA,
        cost=60,
    ),
)
