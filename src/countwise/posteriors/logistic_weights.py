"""The logistic regression that a naive Bayes is: its weights in closed form.

With one variance a column for all classes, the log of a normal density is linear in the value but
for a part that all classes share: P(c | x) is a softmax of w₀ + Σ w x with w = μ/σ² and, in w₀, the
log prior less Σ μ²/2σ² (Mitchell 1997; Kuo's slides). A nominal column adds its log share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.numeric import softmax
from countwise.posteriors.matrix_classifier import Coefficient
from countwise.posteriors.terms import GaussianTerm, Sum, TableTerm
from countwise.tables.schema import Schema
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LogisticWeights:
    """Weights of a softmax: by class, a slope a numeric column, a figure a level of a nominal one.

    Attributes
    ----------
    classes
        The labels, in the order of all arrays.
    prior
        Log priors.
    slopes
        By numeric column, what a unit adds to each class.
    offsets
        By numeric column, what its presence adds: -μ²/2σ².
    figures
        By nominal column, levels (missing and unseen last) × classes.

    Examples
    --------
    >>> import countwise as cw
    >>> iris = cw.read("sample:iris")
    >>> model = cw.NaiveBayes(variance="shared").fit(iris)
    >>> weights = model.to_logistic()
    >>> bool(np.allclose(weights.posteriors(iris), model.predict_proba(iris)))
    True
    """

    classes: tuple[Any, ...]
    schema: Schema
    prior: Doubles
    slopes: Mapping[str, Doubles]
    offsets: Mapping[str, Doubles]
    figures: Mapping[str, Doubles]

    @property
    def intercept(self) -> Doubles:
        """w₀ of each class, for rows that miss no number."""
        return np.asarray(self.prior + sum(self.offsets.values(), np.zeros_like(self.prior)))

    def scores(self, table: Table) -> Doubles:
        """Return w₀ + Σ w x, rows × classes; a column that a row misses adds nothing."""
        made = np.tile(self.prior, (len(table), 1))
        for name, slope in self.slopes.items():
            values = table.values(name)
            known = ~np.isnan(values)
            made[known] += values[known, None] * slope + self.offsets[name]
        for name, figures in self.figures.items():
            made += figures[table.codes(name)]
        return made

    def posteriors(self, table: Table) -> Doubles:
        """Return the softmax of the scores."""
        return softmax(self.scores(table))

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """Every weight by class, column and level; of two classes those of the second."""
        two = len(self.classes) == 2
        made = []
        for place, label in enumerate(self.classes):
            if two and place == 0:
                continue

            def own(figures: Doubles, at: int = place) -> float:
                return float(figures[at] - figures[0]) if two else float(figures[at])

            made.append(Coefficient(label, None, None, own(self.intercept)))
            made += [Coefficient(label, n, None, own(slope)) for n, slope in self.slopes.items()]
            for name, figures in self.figures.items():
                levels = zip(self.schema[name].levels, figures, strict=False)
                made += [Coefficient(label, name, str(lv), own(line)) for lv, line in levels]
        return tuple(made)


def logistic_weights(classes: tuple[Any, ...], schema: Schema, model: Sum) -> LogisticWeights:
    """Read the weights off the terms of a naive Bayes whose variances are shared."""
    slopes, offsets, figures = {}, {}, {}
    for term in model.terms:
        name = term.columns[0]
        if isinstance(term, GaussianTerm):
            slopes[name] = term.mean / term.variance
            offsets[name] = term.weight - term.mean**2 / (2 * term.variance)
        elif isinstance(term, TableTerm):
            figures[name] = term.figures
    return LogisticWeights(classes, schema, model.base.copy(), slopes, offsets, figures)
