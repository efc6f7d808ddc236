"""Views of Bayes models: probability tables, densities, top words, the graph of dependencies.

The probabilities come from the model's counts with its smoothing, the densities from what it adds
up for a row. A nominal attribute's information about the class comes from the counts themselves
(information gain), a numeric one's from its densities:

    I = Σ_c P(c) Σ_v P(v | c) log2 (P(v | c) / P(v)).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.information import information_gain
from countwise.counts.moments import Moments
from countwise.counts.smoothing import Laplace, MEstimate, Smoothing, smoothing_of
from countwise.discretize.cut_points import cut_counts
from countwise.models.bayes.score_terms import BACK_OFF, BackOff
from countwise.models.bayes.words import WordsTerm, join
from countwise.models.views import (
    Densities,
    Density,
    Dependency,
    DependencyGraph,
    Edge,
    ProbabilityTable,
    ProbabilityTables,
    TextColumn,
    TopWord,
    TopWords,
    View,
)
from countwise.numeric import softmax
from countwise.tables.labels import text
from countwise.tables.schema import MISSING_VALUE, Column, Level
from countwise.tables.table import Table, code_type
from countwise.tables.words import text_codes

if TYPE_CHECKING:
    from countwise.models.bayes.counted import CountedModel, JointClassifier
    from countwise.models.bayes.naive_bayes import NaiveBayes

#: Points at which a density is computed.
_POINTS = 241
#: Figures that `explain` holds at a time.
_FIGURES = 2_000_000
#: By attribute its parents and the bits they share with it; an attribute comes after its parents.
Parents = Mapping[str, Sequence[tuple[str, float]]]


def naive_bayes_views(model: NaiveBayes) -> tuple[View, ...]:
    """Return the tables of nominal and of cut attributes, and the densities of numbers."""
    # Under combine="posteriors" terms are P(class | value); the same counts give P(value | class).
    plain: NaiveBayes = clone(model).set_params(combine="bayes", when_missing="omit")
    plain.fit_counts(model.counts_)
    counts = cut_counts(plain.counts_, plain.cut_points_) if plain.cut_points_ else plain.counts_
    rule, prior = smoothing_of(model.smoothing), plain.class_prior_
    labels = plain.classes_.tolist()
    note = f"Probabilities are those counted on all rows. {_describe(rule)}"
    if model.combine == "posteriors":
        note += " The model multiplies P(class | value), which follows from these."
    nominal, missing = counts.schema.nominal, model.when_missing == "value"
    tables = probability_tables(counts, nominal, labels, rule, with_missing=missing)
    columns = _densities(plain)
    classes, views = _texts(labels), list[View]()
    if model.schema_.text:
        views.append(top_words(plain))
    if tables or not (columns or views):
        views.append(ProbabilityTables(classes, prior, tables, note))
    if columns:
        without_values = len(counts.schema.numeric) - len(columns)
        views.append(Densities(classes, prior, columns, more_columns=without_values))
    return tuple(views)


#: Words that a view lists for each class.
_TOP_WORDS = 12


def top_words(model: NaiveBayes) -> TopWords:
    """Return the words that speak most for each class, by P(w | c) log (P(w | c) / P(w | others)).

    That is what a word adds, on average, to the evidence for its class.
    """
    from scipy.special import expit  # slow to import

    prior, columns = model.class_prior_, []
    for term in model._model.terms:
        if not isinstance(term, WordsTerm):
            continue
        kept = model._vocabularies[term.columns[0]]
        every = join(model.counts_, kept.column, kept.sizes, "rows")
        rows = model.by_class(every)[:, kept.places]
        share = expit(term.figures.T) if term.binary else np.exp(term.figures.T)
        columns.append(
            TextColumn(
                kept.column,
                tuple(_words_of(at, share, rows, prior, term) for at in range(len(prior))),
                len(kept.places),
            )
        )
    what = "texts of the class hold it" if model.text == "bernoulli" else "it occurs in the class"
    note = f"The ratio says how many times as often {what} as in the others."
    return TopWords(_texts(model.classes_.tolist()), prior, tuple(columns), note)


def _words_of(
    at: int, share: FloatArray, rows: FloatArray, prior: FloatArray, term: WordsTerm
) -> tuple[TopWord, ...]:
    """Return the words of one class that are more frequent there than elsewhere."""
    others = np.where(np.arange(len(prior)) == at, 0.0, prior)
    if not others.any():
        return ()
    ratio = share[at] / (others @ share / others.sum())
    order = np.argsort(-share[at] * np.log(ratio), kind="stable")[:_TOP_WORDS]
    everywhere = rows.sum(axis=0)
    return tuple(
        TopWord(
            term.vocabulary[w],
            float(ratio[w]),
            float(rows[at, w]),
            float(everywhere[w] - rows[at, w]),
        )
        for w in order.tolist()
        if ratio[w] > 1 and rows[at, w] > 0
    )


def counted_views(
    model: CountedModel, rule: Smoothing | BackOff | None = None, note: str = ""
) -> tuple[View, ...]:
    """Return the class fractions and the tables of the attributes that were counted."""
    counts, labels = model.counts_, model.classes_.tolist()
    used = {name for names in counts.tables for name in names}
    columns = [column for column in counts.schema.nominal if column.name in used]
    prior = softmax(model._model.base[None, :])[0]
    rule = rule or Laplace(0.0)
    note = note or ("" if isinstance(rule, BackOff) else _describe(rule))
    tables = probability_tables(counts, columns, labels, rule)
    classes = _texts(labels)
    if not tables:
        shares = [f"{label} {share:.3f}" for label, share in zip(classes, prior, strict=True)]
        note = f"The classes before any evidence: {', '.join(shares)}."
    return (ProbabilityTables(classes, prior, tables, note),)


def joint_views(model: JointClassifier, parents: Parents | None) -> tuple[View, ...]:
    """Return the graph of dependencies, if attributes have parents of their own, and the tables."""
    counts, given = model.counts_, model._rule()
    if isinstance(given, str):
        rule: Smoothing | BackOff = BackOff()
        rows = f"{BACK_OFF:g} imagined rows"
        smoothing = f"Where rows are few, {rows} follow the class, then the column (back-off)."
    else:
        rule, smoothing = given, _describe(given)
    name = type(model).__name__
    if parents is None:
        note = (
            f"{name} averages models in which each attribute in turn is the parent of all others. "
            f"{smoothing}"
        )
        return counted_views(model, rule, note)
    note = f"{smoothing} The model itself uses these probabilities by parent value."
    place = {attribute: at for at, attribute in enumerate(parents)}
    graph = DependencyGraph(
        "class" if model.schema_.target is None else str(model.schema_.target.name),
        tuple(
            Dependency(
                attribute,
                information_gain(counts.table(attribute)[:-1, :-1]),
                tuple(Edge(place[parent], bits) for parent, bits in edges),
            )
            for attribute, edges in parents.items()
        ),
        f"{name} lets an attribute depend on others besides the class: on those with which it "
        "shares most information, given the class.",
        len({column.name for column in counts.schema.nominal}.difference(*counts.tables)),
    )
    return graph, *counted_views(model, rule, note)


def probability_tables(
    counts: Counts,
    columns: Iterable[Column],
    labels: Sequence[Level],
    rule: Smoothing | BackOff,
    *,
    with_missing: bool = False,
) -> tuple[ProbabilityTable, ...]:
    """Return P(value | class) of columns with their counts, the most informative column first."""
    present = [list(counts.classes).index(label) for label in labels]
    tables = []
    for column in columns:
        every = counts.table(column.name)[present]
        known = every if with_missing else every[:, :-1]
        if not known.shape[1]:
            continue
        probabilities = rule.shares(known)
        bits = information_gain(known)
        levels = _texts(column.levels) + ((MISSING_VALUE,) if with_missing else ())
        tables.append(ProbabilityTable(column.name, levels, probabilities, known, bits))
    return tuple(sorted(tables, key=lambda table: -round(table.bits, 12)))


def information(prior: FloatArray, probabilities: FloatArray) -> float:
    """Return the bits that a value gives about the class, from P(value | class) in rows."""
    total = probabilities.sum(axis=1, keepdims=True)
    by_class = np.divide(probabilities, total, out=np.zeros_like(probabilities), where=total > 0)
    mixed = prior @ by_class
    both = (by_class > 0) & (mixed > 0)
    ratio = np.divide(by_class, mixed, out=np.ones_like(by_class), where=both)
    return max(float(prior @ (by_class * np.log2(ratio)).sum(axis=1)), 0.0)


def _texts(labels: Iterable[Any]) -> tuple[str, ...]:
    return tuple(text(label) for label in labels)


def _describe(rule: Smoothing) -> str:
    if isinstance(rule, MEstimate):
        return f"They are m-estimates with m = {rule.m:g} and p = {rule.p}."
    if not rule.alpha:
        return "Nothing is added to the counts."
    if rule.by == "classes":
        return (
            f"{rule.alpha:g} is added to every count, and {rule.alpha:g} for each class to every "
            "total (Laplace by classes)."
        )
    return f"{rule.alpha:g} is added to every count (Laplace)."


def _densities(model: NaiveBayes) -> tuple[Density, ...]:
    """Return the densities of the numeric columns that are not cut and have values."""
    columns = [
        column.name
        for column in model.schema_.numeric
        if column.name not in model.cut_points_ and _moments(model, column.name).pooled()[0] > 0
    ]
    if not columns:
        return ()
    grids = {name: _grid(_moments(model, name)) for name in columns}
    logs = _log_densities(model, grids)
    present = [list(model.counts_.classes).index(label) for label in model.classes_.tolist()]
    densities = []
    for name in columns:
        density = np.exp(np.minimum(logs[name], 700.0)).T
        moments = _moments(model, name)
        mean = np.where(moments.weight[present] > 0, moments.mean[present], np.nan)
        bits = information(model.class_prior_, density)
        deviation = np.sqrt(moments.variance()[present])
        dates = model.schema_[name].dates
        densities.append(Density(name, bits, mean, deviation, grids[name], density, dates))
    return tuple(sorted(densities, key=lambda density: -density.bits))


def _moments(model: NaiveBayes, name: str) -> Moments:
    """Return weight, mean and squared deviation by class; of a kernel those of its grid."""
    counts = model.counts_
    if name in counts.moments:
        return counts.moments[name]
    grid = counts.grids[name]
    weight = grid.table.sum(axis=1)
    points = np.where(grid.table.any(axis=0), grid.points, 0.0)
    mean = np.divide(grid.table @ points, weight, out=np.zeros_like(weight), where=weight > 0)
    square = (grid.table * (points - mean[:, None]) ** 2).sum(axis=1)
    return Moments(weight, mean, square, grid.missing)


def _grid(moments: Moments) -> FloatArray:
    """Return points from three deviations below the lowest mean to three above the highest."""
    weight, mean, square = moments.pooled()
    spread = float(np.sqrt(square / weight)) or abs(mean) * 0.01 or 1.0
    known = np.flatnonzero(moments.weight[:-1] > 0)
    within = np.sqrt(moments.square[known] / moments.weight[known])
    low = float(np.min(moments.mean[known] - 3 * within))
    high = float(np.max(moments.mean[known] + 3 * within))
    low, high = max(low, mean - 5 * spread), min(high, mean + 5 * spread)
    if not high > low:
        low, high = mean - 3 * spread, mean + 3 * spread
    return np.linspace(low, high, _POINTS)


def _log_densities(model: NaiveBayes, grids: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return what each point adds for each class, as `explain` does."""
    schema = model.schema_.without_target()
    places = [term.columns for term in model._model.terms]
    names = [column.name for column in schema.attributes]
    parts: dict[str, list[FloatArray]] = {name: [] for name in grids}
    step = max(1, min(_POINTS, _FIGURES // (len(names) * len(model.classes_))))
    for start in range(0, _POINTS, step):
        rows = slice(start, min(start + step, _POINTS))
        size = rows.stop - rows.start
        data: dict[str, NDArray[Any]] = {}
        for column in schema.attributes:
            if column.kind == "nominal":
                data[column.name] = np.full(size, column.width, dtype=code_type(column.width))
            elif column.kind == "text":
                data[column.name] = text_codes(np.full(size, -1), ())
            else:
                grid = grids.get(column.name)
                data[column.name] = np.full(size, np.nan) if grid is None else grid[rows]
        figures = model._model.parts(Table(schema, data, rows=size))
        for name, blocks in parts.items():
            blocks.append(figures[:, places.index((name,)), :])
    return {name: np.concatenate(blocks) for name, blocks in parts.items()}
