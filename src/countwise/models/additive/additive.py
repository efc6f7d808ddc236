"""The additive model: look-up tables for columns and pairs, fitted by penalized likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from operator import add
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.plan import Plan
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.models.additive._passes import Solver
from countwise.models.additive.bins import ColumnBins
from countwise.models.additive.fit import (
    MAX_STEPS,
    Rows,
    TrainingRows,
    both_sides,
)
from countwise.models.additive.prepare import (
    Prepared,
    expect_sample,
    first_rows,
    needs_sample,
    order_columns,
    order_rows,
    prepare,
    sample_sizes,
)
from countwise.models.additive.scan_rows import (
    Coder,
    SourceRows,
    SpillError,
    SpillFile,
    keep_rows,
)
from countwise.models.additive.terms import Terms, gather_terms
from countwise.models.additive.words import code_columns, name_words
from countwise.models.base import Classifier, check_scan
from countwise.models.explanation import Explanation
from countwise.notes import Note
from countwise.numeric import draw_seed
from countwise.params import fitted, mapping, nothing, number, one_of, parameter, seed, whole
from countwise.progress import Progress, open_progress, report_part
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import run_pass
from countwise.tables.scan_sample import draw_by_class
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.views import View

#: The coded rows of a scan stay in memory if they take no more than this part of its memory.
KEPT_SHARE = 0.5


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
        "number of pairs of columns that get a table, at most 200; 'auto' chooses it by validation",
        default="auto",
    )
    max_bins: int = parameter(
        whole(at_least=2),
        "largest number of bins of a numeric column; with 1,000 rows or more, cuts by description "
        "length (MDL) may add some",
        default=64,
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
    max_seconds: float | None = parameter(
        nothing() | number(above=0),
        "so many seconds after the start of fit, the fit of all rows ends with the step it is at; "
        "choosing pairs and penalties is not cut short",
        default=None,
    )
    random_state: Any = parameter(seed(), "random seed of the validation folds", default=0)
    takes_scans = True
    terms_: Terms = fitted("")
    penalties_: FloatArray = fitted(
        "the penalties of lines, steps, levels, missing cells, cells and surfaces of pairs, for "
        "rows of mean weight 1"
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

        `X` may be a `Scan`: bins, penalties and pairs are chosen on a sample of its rows, and the
        tables are fitted to all of them. `progress` is called after each stage with stages done,
        stages in all, and a text; True shows a bar.
        """
        started = monotonic()
        with open_progress("Additive", progress) as report:
            if isinstance(X, Scan):
                check_scan(self, X, y, sample_weight)
                self.check_parameters()
                return self._fit_scan(X, report or X.progress, started)
            table, weight, *_ = self._training(X, y, sample_weight)
            self._fit_rows(table, weight, report, started)
        return self

    def _fit_rows(
        self, table: Table, weight: FloatArray | None, report: Progress | None, started: float
    ) -> None:
        """Fit rows in memory."""
        table = order_columns(table, weight)
        target = np.searchsorted(self._take_classes(table), table.target).astype(np.int32)
        order, weights = order_rows(table, weight, draw_seed(self.random_state))
        y, classes = target[order], len(self.classes_)
        is_large = needs_sample(len(y))
        chosen = first_rows(y, classes) if is_large else slice(None)
        some = table.take(order[chosen])
        ready = self._prepare(some, y[chosen], weights[chosen], len(y), Stages(report))
        if ready is None:
            return
        rows, scale = ready.rows, 1.0
        if is_large:
            self._add_note("A01", rows=len(y), sample=len(some))
            del some
            codes = code_columns(ready.bins, table, order)
            rows = Rows(codes, y, weights, classes, np.zeros(1, np.int64), 0)
            scale = float(weights.sum() / weights[chosen].sum())
        watch = None if self.max_seconds is None else StepWatch(self.max_seconds, started)
        self._finish(ready, rows.part(None), scale, watch)

    def _fit_scan(self, scan: Scan, report: Progress | None, started: float) -> Self:
        """Choose on a sample of rows outside memory, and fit all of them."""
        seed_ = draw_seed(self.random_state)
        expect_sample(scan, seed_)
        counted = count(scan, lambda _: Plan(), progress=report_part(report, 0.0, 0.1))
        by_class = counted.weight[:-1]
        counts = by_class.astype(np.int64)
        if scan.weight is not None:
            counts = run_pass(scan, partial(_count_classes, classes=len(by_class)), add)
        total = int(counts.sum())
        is_large = needs_sample(total)
        wanted = sample_sizes(counts) if is_large else counts.astype(np.intp)
        some, weight = draw_by_class(scan, wanted, seed_, report_part(report, 0.1, 0.2))
        scan.expected = None  # those rows take memory
        choosing = report_part(report, 0.2, 0.4)
        if not is_large:
            return self.fit(some, sample_weight=weight, progress=choosing)
        table, weight, *_ = self._training(some, None, weight)
        table = order_columns(table, weight)
        present = self._take_classes(table)
        order, weights = order_rows(table, weight, seed_)
        y = np.searchsorted(present, table.target).astype(np.int32)[order]
        if needs_sample(len(y)):  # whole weights repeat rows
            kept = first_rows(y, len(present))
            order, weights, y = order[kept], weights[kept], y[kept]
        with scan.turn():
            ready = self._prepare(table.take(order), y, weights, total, Stages(choosing))
        self._add_note("A01", rows=total, sample=len(table))
        if not scan.source.stable_rows:
            self._add_note("A04")
        if ready is None:
            return self
        del some, table
        watch = StepWatch(self.max_seconds, started, report_part(report, 0.5, 1.0))
        by_class = by_class[present]
        scale = float(by_class.sum() / weights.sum())
        coder = Coder(ready.bins, present, scan.weight is not None)
        coding = report_part(report, 0.4, 0.5)
        size = total * coder.bytes_per_row
        spill = None
        try:
            spill = SpillFile() if size > scan.memory * KEPT_SHARE else None
            coded = keep_rows(scan, coder, by_class, total, spill, coding)
            with scan.turn():
                self._finish(ready, coded, scale, watch)
            where = "memory" if spill is None else "a temporary file"
            road = f"which were coded once and kept in {where} ({size / 1e6:,.0f} MB)"
        except SpillError as error:
            self._finish(ready, SourceRows(scan, coder, by_class), scale, watch)
            road = f"each a scan, because no temporary file could be written ({error})"
        finally:
            if spill is not None:
                spill.close()
        self._add_note("A02", passes=watch.steps, rows=total, road=road)
        return self

    def _prepare(
        self, table: Table, y: NDArray[np.int32], weight: FloatArray, total: int, stages: Stages
    ) -> Prepared | None:
        """Choose bins, pairs and penalties on some rows."""
        ready = prepare(
            table,
            y,
            weight,
            len(self.classes_),
            self._directions(table),
            max_bins=self.max_bins,
            pairs=self.pairs,
            total=total,
            report=stages,
        )
        if ready is None:
            self._keep_one_class()
        return ready

    def _finish(
        self, ready: Prepared, rows: TrainingRows, scale: float, watch: StepWatch | None
    ) -> None:
        """Fit the chosen tables to all rows."""
        choice, space = ready.choice, ready.space
        best = choice.best
        tables, biases = choice.fits.fit_all(rows, choice.pairs, best, scale, watch)
        if watch is not None and watch.stopped:
            self._add_note("A03", steps=watch.steps, why=watch.stopped, gradient=watch.gradient)
        design = space.design(choice.pairs, best.penalties)
        terms = gather_terms(
            design,
            ready.bins,
            space.groups,
            rows.count_cells(design.layout),
            tables,
            biases,
            choice.fold_tables,
            choice.temperature,
        )
        self.terms_ = terms.in_order([column.name for column in self.schema_.attributes])
        self.penalties_ = best.penalties
        self.temperature_, self.validation_loss_ = choice.temperature, best.loss

    def _add_note(self, code: str, **facts: Any) -> None:
        self.notes_ = (*self.notes_, Note.of(code, **facts))

    def _keep_one_class(self) -> None:
        """Keep what there is to know with one class: nothing."""
        self.terms_ = Terms(np.zeros(1), (), ())
        self.penalties_, self.temperature_, self.validation_loss_ = np.zeros(0), 1.0, 0.0

    def _directions(self, table: Table) -> list[int]:
        """Return +1 or -1 for each column that must rise or fall, else 0."""
        wanted = self.monotone or {}
        known = {column.name: column for column in self.schema_.attributes}
        for name, sign in wanted.items():
            if name not in known:
                hint = f"{did_you_mean(name, known).strip()} The columns are {listing(known)}."
                raise ParameterError(
                    "Additive", "monotone", "a mapping of known columns", name, hint.strip()
                )
            if known[name].kind != "numeric":
                raise ParameterError(
                    "Additive", "monotone", "a mapping of numeric columns", name, "Leave it out."
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
        named = [column.name for column in table.schema.attributes if column.kind != "text"]
        return [int(wanted.get(name, 0)) for name in named]

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
            base_name="average row",
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


def _count_classes(block: Block, classes: int) -> NDArray[np.int64]:
    """Return how many rows of each class a block has, whatever their weights."""
    return np.bincount(block.table.target, minlength=classes)[:classes].astype(np.int64)


class StepWatch:
    """Watches the steps of the last fit: reports them, and ends the fit when its time is over."""

    def __init__(
        self, max_seconds: float | None, started: float, report: Progress | None = None
    ) -> None:
        self._until = math.inf if max_seconds is None else started + max_seconds
        self._report, self._first, self._done = report, 0.0, 0.0
        self.steps, self.gradient, self.stopped = 0, 0.0, ""

    def __call__(self, limit: float, solver: Solver) -> bool:
        """Look at a step that is done; return whether to end here."""
        self.steps, self.gradient = solver.steps, solver.slope / solver.slope_limit * limit
        self._first = self._first or self.gradient
        if self._report is not None:
            decades = math.log(self._first / limit)
            done = math.log(self._first / max(self.gradient, limit)) / max(decades, 1e-9)
            self._done = max(done, self._done)
            self._report(self._done, 1.0, f"step {self.steps}, gradient {self.gradient:.0e}")
        if monotonic() > self._until:
            self.stopped = "by `max_seconds=`"
        elif self.steps >= MAX_STEPS:
            self.stopped = "by its limit of steps"
        return bool(self.stopped)
