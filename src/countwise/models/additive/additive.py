"""The additive model: look-up tables for columns and pairs, fitted by penalized likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys, scattered, uniforms
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.models.additive.basis import find_knots
from countwise.models.additive.bins import ColumnBins, class_counts, learn_bins, sum_weights
from countwise.models.additive.choose import choose
from countwise.models.additive.fit import Rows, both_sides
from countwise.models.additive.space import Space
from countwise.models.additive.terms import Terms, gather_terms
from countwise.models.additive.words import code_columns, learn_words, name_words
from countwise.models.base import Classifier
from countwise.models.explanation import Explanation
from countwise.notes import Note
from countwise.numeric import draw_seed
from countwise.parallel import blocks
from countwise.params import fitted, mapping, nothing, one_of, parameter, seed, whole
from countwise.progress import Progress, open_progress
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

if TYPE_CHECKING:
    from countwise.models.views import View

#: Beyond so many rows, penalties and pairs are chosen on a sample of as many.
SAMPLE_ROWS = 50_000
_KEY_ROWS = 1 << 17


class Additive(Classifier):
    """Add up tables of columns and of a few pairs of columns, all fitted together.

    The score of a class is that of the average row, plus an entry for the value of each column,
    plus an entry for some pairs of values and for each word of a text; softmax makes probabilities
    of the scores. A ridge penalty decides how much to believe of each table. The penalties, the
    pairs and a temperature are chosen by validation within the training rows.

    Attributes
    ----------
    terms_
        The score of the average row, and the tables.

    Examples
    --------
    >>> import countwise as cw
    >>> iris = cw.read("sample:iris")
    >>> model = cw.Additive().fit(iris)
    >>> model.score(iris) > 0.95
    True
    >>> why = model.explain(iris.take([0]))
    >>> bool(np.allclose(why.base + why.parts[0].sum(axis=0), why.joint[0]))
    True
    """

    pairs: Any = parameter(
        one_of("auto") | whole(at_least=0),
        "number of pairs of columns that get a table; 'auto' chooses it by validation",
        default="auto",
    )
    max_bins: int = parameter(
        whole(at_least=2), "largest number of bins of a numeric column", default=64
    )
    monotone: Any = parameter(
        nothing() | mapping("a mapping of numeric columns to 1 or -1"),
        "for each named column: whether the log-odds of the second class may only rise (1) or only "
        "fall (-1) as the column rises; two classes only",
        default=None,
    )
    unseen: str = parameter(
        one_of("ignore", "error"),
        "treatment of a level that did not occur in training: 'ignore' adds nothing, 'error' "
        "raises an error",
        default="ignore",
    )
    random_state: Any = parameter(seed(), "random seed of the validation folds", default=0)
    terms_: Terms = fitted("")
    penalties_: FloatArray = fitted(
        "the penalties of lines, steps, levels, missing cells, cells and surfaces of pairs"
    )
    temperature_: float = fitted("the factor on all tables that validation asked for")
    validation_loss_: float = fitted("the mean log loss of rows that were left out")

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        progress: Progress | bool | None = None,
    ) -> Self:
        """Learn from rows and their classes.

        `progress` is called after each stage with stages done, stages in all, and a text; True
        shows a bar.
        """
        table, weight, *_ = self._training(X, y, sample_weight)
        target = np.searchsorted(self._take_classes(table), table.target).astype(np.int32)
        directions = self._directions(table)
        with open_progress("Additive", progress) as report:
            stages = Stages(report)
            self._fit_rows(table, target, weight, directions, stages)
        return self

    def _fit_rows(
        self,
        table: Table,
        target: NDArray[np.int32],
        weight: FloatArray | None,
        directions: Sequence[int],
        stages: Stages,
    ) -> None:
        given = [column.name for column in table.schema.attributes if column.kind != "text"]
        signs = dict(zip(given, directions, strict=True))
        ordered = _order_columns(table, weight)
        names = [name for name in ordered if name in signs]
        order, weights = _order_rows(table, ordered, weight, draw_seed(self.random_state))
        y, classes = target[order], len(self.classes_)
        sample = _sample(y, classes) if len(y) > SAMPLE_ROWS else None
        chosen = order if sample is None else order[sample]
        some = table.take(chosen)
        some_y = y if sample is None else y[sample]
        some_weight = weights if sample is None else weights[sample]
        bins = [
            learn_bins(some, name, some_y, some_weight, classes, self.max_bins) for name in names
        ]
        for name in ordered:
            if name not in signs:
                bins += learn_words(some, name, some_weight, len(y))
        directions = [signs.get(column.name, 0) for column in bins]
        codes = code_columns(bins, some)
        if classes == 1:
            self._keep_one_class(bins)
            return
        knots = [
            find_knots(column, _by_class(column.width, code, some_y, some_weight, classes))
            for column, code in zip(bins, codes, strict=True)
        ]
        space = Space.learn(bins, knots, directions, 2 * len(chosen) / classes)
        rows = _deal(codes, some_y, some_weight, classes)
        choice = choose(rows, space, self.pairs, stages)
        scale = 1.0
        if sample is not None:
            self.notes_ = (*self.notes_, Note.of("A01", rows=len(y), sample=len(chosen)))
            del some, codes
            rows = Rows(
                code_columns(bins, table, order), y, weights, classes, np.zeros(1, np.int64), 0
            )
            scale = float(weights.sum() / some_weight.sum())
        best = choice.best
        tables, biases = choice.fits.fit_all(rows, choice.pairs, best, scale)
        bins = [
            replace(column, counts=sum_weights(code, rows.weight, column.width + 2))
            for column, code in zip(bins, rows.codes, strict=True)
        ]
        terms = gather_terms(
            space.design(choice.pairs, best.penalties),
            bins,
            space.groups,
            rows.codes,
            rows.weight,
            tables,
            biases,
            choice.fold_tables,
            choice.temperature,
        )
        self.terms_ = terms.in_order([*given, *(column.name for column in table.schema.text)])
        self.penalties_ = best.penalties
        self.temperature_, self.validation_loss_ = choice.temperature, best.loss

    def _keep_one_class(self, bins: Sequence[Any]) -> None:
        """Keep what there is to know with one class: nothing."""
        self.terms_ = Terms(np.zeros(1), (), ())
        self.penalties_, self.temperature_, self.validation_loss_ = np.zeros(0), 1.0, 0.0

    def _directions(self, table: Table) -> list[int]:
        """Return +1 or -1 for each column that must rise or fall, else 0."""
        wanted = self.monotone or {}
        known = {column.name: column for column in table.schema.attributes}
        for name, sign in wanted.items():
            if name not in known:
                hint = f"{did_you_mean(name, known).strip()} The columns are {listing(known)}."
                raise ParameterError("Additive", "monotone", "of known columns", name, hint.strip())
            if known[name].kind != "numeric":
                raise ParameterError(
                    "Additive", "monotone", "of numeric columns", name, "Leave it out."
                )
            if isinstance(sign, bool) or sign not in (1, -1):
                raise ParameterError("Additive", "monotone", f"1 or -1 for {name!r}", sign)
        if wanted and len(self.classes_) > 2:
            raise ParameterError(
                "Additive",
                "monotone",
                "None where there are more than two classes",
                wanted,
                f"There are {len(self.classes_)}; join some of them first.",
            )
        return [int(wanted.get(name, 0)) for name, column in known.items() if column.kind != "text"]

    def after_load(self) -> None:
        """Refuse terms that do not fit the schema or the classes."""
        self._check_classes()
        classes = len(self.classes_)
        bins = [column.bins for column in self.terms_.columns]
        text = {column.name for column in self.schema_.text}
        expected = [column.name for column in self.schema_.attributes if column.name not in text]
        named = [column for column in bins if column.word is None]
        widths_fit = [column.name for column in named] == (expected if classes > 1 else [])
        widths_fit &= all(
            column.numeric != self.schema_[column.name].coded
            and (column.numeric or column.width == self.schema_[column.name].width)
            for column in named
            if widths_fit
        )
        widths_fit &= all(
            column.name in text and column.width == 2 for column in bins if column.word is not None
        )
        if not widths_fit or len(self.terms_.base) != (1 if classes == 2 else classes):
            raise ParameterError("Additive: its terms must fit its columns and classes.")

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        return {
            "classes": self.classes_.tolist(),
            "columns": len(self.schema_.attributes),
            "pairs": len(self.terms_.pairs),
        }

    def _codes(self, table: Table) -> NDArray[np.uint16]:
        return code_columns([column.bins for column in self.terms_.columns], table)

    def _scores(self, table: Table) -> FloatArray:
        if len(self.classes_) == 1:
            return np.zeros((len(table), 1))
        return both_sides(self.terms_.scores(self._codes(table)))

    def explain(self, X: Any) -> Explanation:
        """Return what each column and each pair adds to the score of each class.

        The base is the average row; base and parts sum to the scores.
        """
        table = self._rows(X)
        if len(self.classes_) == 1:
            return super().explain(table)
        codes = self._codes(table)
        parts, base = both_sides(self.terms_.parts(codes)), both_sides(self.terms_.base)
        named = list(self._named_parts(table, codes, parts))
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=tuple(name for name, _, _ in named),
            values=tuple(zip(*(values for _, _, values in named), strict=True))
            or ((),) * len(table),
            base=base,
            parts=np.stack([part for _, part, _ in named], axis=1) if named else parts,
            joint=base + parts.sum(axis=1),
        )

    def _named_parts(
        self, table: Table, codes: NDArray[np.uint16], parts: FloatArray
    ) -> Iterator[tuple[str, FloatArray, list[str]]]:
        """Yield a name, what it adds, and the values of all rows: columns, pairs, words."""
        terms, number = self.terms_, len(self.terms_.columns)
        cells: dict[str, list[str]] = {}
        words: dict[str, list[tuple[int, ColumnBins]]] = {}
        for place, column in enumerate(terms.columns):
            name = column.bins.name
            if column.bins.word is not None:
                words.setdefault(name, []).append((place, column.bins))
                continue
            cells[name] = [table.cell_text(name, row) for row in range(len(table))]
            yield name, parts[:, place], cells[name]
        for place, pair in enumerate(terms.pairs, start=number):
            a, b = (terms.columns[at].bins.name for at in (pair.first, pair.second))
            both = [f"{one}, {two}" for one, two in zip(cells[a], cells[b], strict=True)]
            yield f"{a} × {b}", parts[:, place], both
        for name, kept in words.items():
            for part, values in name_words(kept, codes, parts):
                yield name, part, values

    def views(self) -> Sequence[View]:
        """Return the shapes of the columns, then the tables of the strongest pairs."""
        check_is_fitted(self, "terms_")
        from countwise.models.additive.views import shapes_of

        return shapes_of(self.terms_, self.schema_, self.classes_.tolist())


class Stages:
    """Report the stages of a fit; how many there are is known only roughly."""

    _TOTAL = 10

    def __init__(self, report: Progress | None) -> None:
        self._report, self._done = report, 0

    def __call__(self, text: str) -> None:
        """Report the next stage."""
        if self._report is not None:
            self._report(min(self._done, self._TOTAL - 1), self._TOTAL, text)
        self._done += 1


def _order_columns(table: Table, weight: FloatArray | None) -> list[str]:
    """Return the columns in an order that follows from their content alone.

    Sums of many numbers depend on their order in the last digits, and a search that stops short of
    the optimum depends on them. So the same columns in another order must be added up in this one.
    """
    repeats = None if weight is None else whole_repeats(weight)
    marks: dict[str, int] = {}
    for column in table.schema.attributes:
        keys = row_keys(table, target=True, names=[column.name])
        if repeats is not None:
            keys = keys * repeats.astype(np.uint64)
        elif weight is not None:
            keys = (keys ^ weight.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        marks[column.name] = int(keys.sum(dtype=np.uint64))
    return sorted(marks, key=lambda name: marks[name])


def _order_rows(
    table: Table, names: Sequence[str], weight: FloatArray | None, seed_: int
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the rows in an order that follows from their content and the seed, and weights.

    Whole weights become repeated rows.
    """
    # The texts of a table are hashed as a whole; rows of other columns in blocks, to save memory.
    size = len(table) if table.schema.text else _KEY_ROWS
    keys = np.concatenate(
        [row_keys(table.take(part), True, names) for part in blocks(len(table), size)]
    )
    order = np.argsort(keys, kind="stable")
    if weight is not None and (repeats := whole_repeats(weight)) is not None:
        order, weight = np.repeat(order, repeats[order]), None
    drawn = uniforms(scattered(keys[order]), seed_, 0)
    order = order[np.argsort(drawn, kind="stable")]
    return order, np.ones(len(order)) if weight is None else weight[order]


def _sample(y: NDArray[np.int32], classes: int) -> NDArray[np.intp]:
    """Return the first rows of each class, as many as its share of the sample."""
    counts = np.bincount(y, minlength=classes)
    wanted = np.minimum(np.ceil(counts * (SAMPLE_ROWS / len(y))), counts).astype(np.intp)
    by_class = np.argsort(y, kind="stable")
    starts = np.cumsum(counts) - counts
    places = [by_class[a : a + many] for a, many in zip(starts, wanted, strict=True)]
    return np.sort(np.concatenate(places))


def _deal(
    codes: NDArray[np.uint16], y: NDArray[np.int32], weight: FloatArray, classes: int
) -> Rows:
    """Deal the rows of each class to folds in turn: ten, five, or one fifth against the rest."""
    rows = len(y)
    number = 10 if rows < 500 and len(codes) * classes <= 1000 else 5
    by_class = np.argsort(y, kind="stable")
    fold = np.empty(rows, dtype=np.intp)
    fold[by_class] = np.arange(rows) % number
    order = np.argsort(fold, kind="stable")
    bounds = np.searchsorted(fold[order], np.arange(number + 1)).astype(np.int64)
    one = rows >= 5000
    if one:
        bounds = np.asarray([0, bounds[1], rows], dtype=np.int64)
    return Rows(
        np.ascontiguousarray(codes[:, order]),
        y[order],
        weight[order],
        classes,
        bounds,
        1 if one else number,
    )


def _by_class(
    width: int,
    code: NDArray[np.uint16],
    y: NDArray[np.int32],
    weight: FloatArray,
    classes: int,
) -> FloatArray:
    return class_counts(code.astype(np.intp), y, weight, width + 2, classes)
