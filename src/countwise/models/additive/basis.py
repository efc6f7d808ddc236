"""From parameters to tables: lines and steps for numbers, a parameter for each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.cut_points import equal_frequency, mdl_cuts
from countwise.models.additive._passes import Basis, Layout
from countwise.models.additive.bins import ColumnBins, cap_counts, sum_weights

#: Kinds of parameters; each has a penalty.
LINE, STEP, LEVEL, MISSING, CELL, SURFACE = range(6)
KINDS = 6
#: Steps of equal frequency that a column gets, plus one; a column of fewer bins has them all.
_KNOTS = 16
#: Directions of a surface that the prior makes shorter than this part of the longest are left out.
_LEAST_LENGTH = 0.05


@dataclass(frozen=True, eq=False)
class TermBasis:
    """How the parameters of a column make its table: cells × parameters, or one a cell (None).

    The columns of a matrix are orthogonal under the training counts, and ``norms`` are their
    squared lengths: the search for the parameters needs few steps in them. ``bounded`` parameters
    may not be negative.
    """

    cells: int
    matrix: FloatArray | None
    norms: FloatArray
    kinds: NDArray[np.intp]
    bounded: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """How many parameters there are, for each score."""
        return len(self.norms)


@dataclass(frozen=True, eq=False)
class Groups:
    """The coarser groups of a column in the tables of pairs, and their basis.

    Two columns that have a ``line`` (the standardized number of each group) share one parameter
    more, for the product of their lines.
    """

    group: NDArray[np.uint16]
    counts: FloatArray
    basis: TermBasis
    line: TermBasis | None = None

    @property
    def cells(self) -> int:
        """How many groups there are, those of missing and unseen cells included."""
        return self.basis.cells


def find_knots(bins: ColumnBins, by_class: FloatArray) -> NDArray[np.intp]:
    """Return before which bins of numbers a step may be: evenly spread, and where MDL cuts."""
    width = bins.width
    if width <= _KNOTS:
        return np.arange(1, width)
    reached = np.cumsum(cap_counts(bins.counts[:width], _KNOTS))
    even = equal_frequency(np.arange(width), _KNOTS, reached)
    mdl = np.asarray(mdl_cuts(by_class[:, :width]), dtype=np.intp) + 1
    return np.union1d(even, mdl).astype(np.intp)


def column_basis(
    bins: ColumnBins, knots: NDArray[np.intp], line: float, direction: int = 0
) -> TermBasis:
    """Return the basis of a column's own table.

    `line` is the penalty of the straight line relative to that of the steps. With a `direction` of
    +1 or -1 the basis is left as it is, for parameters that must not be negative.
    """
    if not bins.numeric:
        return _level_basis(bins.counts, LEVEL)
    steps = line_and_steps(bins.counts[:-2], bins.centers, knots, line)
    return _number_basis(steps, bins.counts, STEP, direction)


def _level_basis(counts: FloatArray, kind: int) -> TermBasis:
    """Return a parameter for each level, and for missing cells if training had some."""
    size = len(counts) - 1 if counts[-2] > 0 else len(counts) - 2
    kinds = np.full(size, kind)
    kinds[len(counts) - 2 :] = MISSING if kind == LEVEL else kind
    return TermBasis(len(counts), None, counts[:size], kinds, np.zeros(size, bool))


def line_and_steps(
    counts: FloatArray, centers: FloatArray, knots: NDArray[np.intp], line: float
) -> FloatArray:
    """Return the straight line and a step at every knot, centered by the counts."""
    if len(counts) < 2:
        return np.zeros((len(counts), 0))
    steps = (np.arange(len(counts))[:, None] >= knots).astype(np.float64)
    basis = np.concatenate([centers[:, None] / np.sqrt(line), steps], axis=1)
    return np.asarray(basis - (counts @ basis) / (counts.sum() or 1.0))


def _number_basis(
    steps: FloatArray, counts: FloatArray, kind: int, direction: int = 0
) -> TermBasis:
    """Return lines and steps in orthogonal coordinates, and a parameter for missing cells."""
    width, root = len(steps), np.sqrt(counts[: len(steps)])[:, None]
    if direction:
        turned = steps * direction
    elif steps.shape[1]:
        # A rotation of the parameters changes no sum of their squares, and so not the penalty.
        _, lengths, turn = np.linalg.svd(root * steps, full_matrices=False)
        least = _LEAST_LENGTH if kind == SURFACE else 1e-7
        turned = (steps @ turn.T)[:, lengths > least * lengths.max(initial=1e-300)]
    else:
        turned = steps
    has_missing = int(counts[-2] > 0)
    matrix = np.zeros((width + 2, turned.shape[1] + has_missing))
    matrix[:width, : turned.shape[1]] = turned
    kinds = np.full(matrix.shape[1], kind)
    bounded = np.full(matrix.shape[1], bool(direction))
    if has_missing:
        matrix[width, -1] = 1.0
        kinds[-1] = MISSING if kind == STEP else kind
        bounded[-1] = False
    return TermBasis(width + 2, matrix, counts @ matrix**2, kinds, bounded)


def group_column(bins: ColumnBins, numbers: int, levels: int, smooth: bool) -> Groups:
    """Return the groups of a column in pairs: of about equal weight, or the most frequent levels.

    Up to `numbers` groups of a numeric column; a nominal one keeps up to `levels` + 2 levels as
    they are, else the `levels` - 1 most frequent ones and the rest. The basis of a `smooth` numeric
    column is a line and steps, else a parameter for each group beside the line.
    """
    width, counts = bins.width, bins.counts[:-2]
    group = np.arange(width)
    if bins.numeric and width > numbers:
        middle = (np.cumsum(counts) - counts / 2) / (counts.sum() or 1.0)
        group = np.minimum((middle * numbers).astype(np.intp), numbers - 1)
        group = np.unique(group, return_inverse=True)[1]
    elif not bins.numeric and width > levels + 2:
        order = np.argsort(-counts, kind="stable")
        group[order] = np.minimum(np.arange(width), levels - 1)
    found = int(group.max(initial=-1)) + 1
    group = np.concatenate([group, [found, found + 1]])
    weights = sum_weights(group, bins.counts, found + 2)
    if not bins.numeric:
        return Groups(group.astype(np.uint16), weights, _level_basis(weights, CELL))
    sums = np.bincount(group[:-2], counts * bins.centers, minlength=found)
    centers = sums / np.where(weights[:found] > 0, weights[:found], 1.0)
    if smooth:
        steps = line_and_steps(weights[:found], centers, np.arange(1, found), 1.0)
        return Groups(group.astype(np.uint16), weights, _number_basis(steps, weights, SURFACE))
    line = np.concatenate([centers, np.zeros(2)])[:, None]
    straight = TermBasis(
        found + 2, line, weights @ line**2, np.asarray([SURFACE]), np.zeros(1, bool)
    )
    return Groups(group.astype(np.uint16), weights, _level_basis(weights, CELL), straight)


Pair = tuple[int, int]
#: The squared lengths and the kinds of the parameters of a pair.
Product = tuple[FloatArray, NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Design:
    """The tables of columns and of some pairs: where rows find their cells, what fills them."""

    layout: Layout
    basis: Basis
    norms: FloatArray
    kinds: NDArray[np.intp]
    bounded: NDArray[np.bool_]
    pairs: tuple[Pair, ...]
    first_parameter: NDArray[np.int64]
    first_cell: NDArray[np.int64]


def lay_out(
    columns: Sequence[TermBasis],
    groups: Sequence[Groups],
    pairs: Sequence[Pair],
    products: dict[Pair, Product] | None = None,
) -> Design:
    """Put the tables of all columns and of these pairs behind each other.

    `products` keeps what was worked out for a pair.
    """
    products = {} if products is None else products
    held: dict[int, int] = {}
    matrices: list[FloatArray] = []
    total = 0

    def place(basis: TermBasis) -> int:
        nonlocal total
        if basis.matrix is None or not basis.matrix.size:
            return -1
        if id(basis) not in held:
            held[id(basis)] = total
            matrices.append(basis.matrix.ravel())
            total += basis.matrix.size
        return held[id(basis)]

    shapes, norms, kinds, bounded = [], [], [], []
    for basis in columns:
        shapes.append((basis.cells, basis.size, place(basis), 1, 1, -1))
        norms.append(basis.norms)
        kinds.append(basis.kinds)
        bounded.append(basis.bounded)
    extra = []
    for a, b in pairs:
        one, two = groups[a], groups[b]
        factors = [(one.basis, two.basis)]
        if one.line is not None and two.line is not None:
            extra.append(len(shapes) + 1)
            factors.append((one.line, two.line))
        for left, right in factors:
            shapes.append(
                (left.cells, left.size, place(left), right.cells, right.size, place(right))
            )
        if (a, b) not in products:
            products[a, b] = _product_of(factors, groups[a].counts.sum() or 1.0)
        norms.append(products[a, b][0])
        kinds.append(products[a, b][1])
        bounded.append(np.zeros(len(products[a, b][0]), bool))
    sizes = np.asarray([line[1] * line[4] for line in shapes], dtype=np.int64)
    cells = np.asarray([line[0] * line[3] for line in shapes], dtype=np.int64)
    # The product of two lines adds to the cells of the line before it.
    cells[extra] = 0
    first_parameter, first_cell = starts_of(sizes), starts_of(cells)
    first_cell[extra] = first_cell[np.asarray(extra, dtype=np.intp) - 1]
    lines = np.asarray(shapes, dtype=np.int64).reshape(-1, 6)
    lines = np.column_stack([lines, first_parameter, first_cell]).astype(np.int64)
    first_parameter = np.delete(first_parameter, extra)
    first_cell = np.delete(first_cell, extra)
    group_sizes = np.asarray([len(part.group) for part in groups], dtype=np.int64)
    layout = Layout(
        first_cell,
        np.concatenate([part.group for part in groups] or [np.zeros(0, np.uint16)]),
        starts_of(group_sizes),
        np.asarray([(a, b, groups[b].cells) for a, b in pairs], np.int32).reshape(-1, 3),
        int(cells.sum()),
    )
    flat = np.concatenate([*matrices, np.zeros(1)])
    return Design(
        layout,
        Basis(np.ascontiguousarray(lines), flat, int(sizes.sum()), int(cells.sum())),
        np.concatenate([*norms, np.zeros(0)]),
        np.concatenate([*kinds, np.zeros(0, np.intp)]).astype(np.intp),
        np.concatenate([*bounded, np.zeros(0, bool)]).astype(bool),
        tuple(pairs),
        first_parameter,
        first_cell,
    )


def _product_of(factors: Sequence[tuple[TermBasis, TermBasis]], rows: float) -> Product:
    """Return the squared lengths and the kinds of products of parameters."""
    norms = [np.outer(one.norms, two.norms).ravel() / rows for one, two in factors]
    kinds = [np.minimum.outer(one.kinds, two.kinds).ravel() for one, two in factors]
    return np.concatenate(norms), np.concatenate(kinds)


def starts_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of some parts begins when they stand behind each other."""
    return np.asarray(np.cumsum(sizes) - sizes, dtype=np.int64)
