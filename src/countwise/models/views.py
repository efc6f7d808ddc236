"""Views: plain descriptions of a fitted model that pages and pictures render.

A model returns a few of these from ``views()``, the most telling first. A view holds everything; a
page or a picture shows as much of it as it has room for, and counts the rest in ``more_…``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from countwise._typing import FloatArray


@dataclass(frozen=True, eq=False)
class ProbabilityTable:
    """P(value | class) of one nominal attribute, classes × levels, and the counts behind it.

    ``bits`` is the information that the attribute gives about the class, from the counts alone.
    """

    name: str
    levels: tuple[str, ...]
    probabilities: FloatArray
    counts: FloatArray
    bits: float
    more_levels: int = 0


@dataclass(frozen=True, eq=False)
class ProbabilityTables:
    """The probability tables of nominal attributes, the most informative attribute first."""

    title: ClassVar[str] = "Probability tables"

    classes: tuple[str, ...]
    prior: FloatArray
    tables: tuple[ProbabilityTable, ...]
    note: str = ""
    more_classes: int = 0
    more_tables: int = 0


@dataclass(frozen=True, eq=False)
class Density:
    """The density of one numeric attribute at the points ``x``, classes × points.

    With ``dates`` the points are days since 1970-01-01.
    """

    name: str
    bits: float
    mean: FloatArray
    deviation: FloatArray
    x: FloatArray
    density: FloatArray
    dates: bool = False


@dataclass(frozen=True, eq=False)
class Densities:
    """The densities of numeric attributes by class, the most informative attribute first."""

    title: ClassVar[str] = "Densities"

    classes: tuple[str, ...]
    prior: FloatArray
    columns: tuple[Density, ...]
    note: str = ""
    more_classes: int = 0
    more_columns: int = 0


@dataclass(frozen=True)
class TopWord:
    """A word of a class: how many times as frequent as in other classes, and the rows with it."""

    word: str
    ratio: float
    rows: float
    other_rows: float


@dataclass(frozen=True)
class TextColumn:
    """The most telling words of a text column, by class, and how many words the model uses."""

    name: str
    words: tuple[tuple[TopWord, ...], ...]
    vocabulary: int


@dataclass(frozen=True, eq=False)
class TopWords:
    """The words of text columns that speak most for each class, the most telling first."""

    title: ClassVar[str] = "Top words"

    classes: tuple[str, ...]
    prior: FloatArray
    columns: tuple[TextColumn, ...]
    note: str = ""
    more_classes: int = 0


@dataclass(frozen=True)
class Edge:
    """A parent, by its position among the attributes, and the bits it shares given the class."""

    at: int
    bits: float


@dataclass(frozen=True)
class Dependency:
    """An attribute with the attributes it depends on; its bits are those about the class.

    ``hidden`` attributes that depend on it are not shown.
    """

    name: str
    bits: float
    parents: tuple[Edge, ...] = ()
    hidden: int = 0


@dataclass(frozen=True)
class DependencyGraph:
    """Which attribute depends on which, beside the class; parents come before their children."""

    title: ClassVar[str] = "Dependency graph"

    target: str
    attributes: tuple[Dependency, ...]
    note: str = ""
    unused: int = 0
    more_attributes: int = 0


@dataclass(frozen=True)
class TreeNode:
    """A node: the value that leads to it from its parent, its test or its class, its counts.

    An ``open`` node is shown with its children; of any other, ``below`` nodes are not shown.
    ``entropy`` is that of its classes and ``gain`` the information that its test gives about them,
    both in bits, and ``gain_ratio`` the gain divided by the entropy of the split; a leaf has none.
    """

    parent: int | None
    value: str
    name: str
    label: str
    leaf: bool
    open: bool
    below: int
    counts: tuple[float, ...]
    entropy: float
    gain: float | None = None
    gain_ratio: float | None = None


@dataclass(frozen=True)
class DecisionTree:
    """The heaviest nodes of a decision tree, parents first, and its first rules as text."""

    title: ClassVar[str] = "Decision tree"

    classes: tuple[str, ...]
    nodes: int
    leaves: int
    depth: int
    drawn: tuple[TreeNode, ...]
    rules: tuple[str, ...]
    note: str = ""
    more_rules: int = 0


@dataclass(frozen=True, eq=False)
class CellColumn:
    """A column of a grid of cells: its levels, where they begin and end, their class weights.

    ``spans`` are the ends of numeric levels (None for nominal ones), ``start`` the cut points at
    the beginning of the search, ``cut_points`` those found (``dates``: they are days since
    1970-01-01). ``width`` counts the levels without the one of missing values.
    """

    name: str
    levels: tuple[str, ...]
    width: int
    numeric: bool
    start: FloatArray
    cut_points: FloatArray
    spans: FloatArray | None
    weights: FloatArray
    bits: float
    more_levels: int = 0
    dates: bool = False


@dataclass(frozen=True)
class SearchStep:
    """A step of a search: its stage, the seconds so far, and the expected gain."""

    stage: str
    seconds: float
    train: float
    validation: float | None = None


@dataclass(frozen=True, eq=False)
class CellSlice:
    """The decisions over the levels of two columns, the others at their most frequent level."""

    across: CellColumn
    up: CellColumn
    fixed: Mapping[str, str]
    labels: tuple[str, ...]
    decisions: FloatArray
    surest: FloatArray
    rows: FloatArray


@dataclass(frozen=True, eq=False)
class CellGrid:
    """Columns cut together into cells, the most informative column first.

    ``slice`` shows the decisions over the two most informative columns, `slice_of` computes it for
    any two.
    """

    title: ClassVar[str] = "Cells"

    classes: tuple[str, ...]
    cells: int
    occupied: int
    budget: float | None
    gain: Mapping[str, float | None]
    columns: tuple[CellColumn, ...]
    unused: tuple[str, ...]
    smoothing: float
    smoothing_chosen: bool
    smoothing_table: tuple[Mapping[str, float], ...]
    steps: tuple[SearchStep, ...]
    slice: CellSlice | None
    slice_of: Callable[[str, str], CellSlice] = field(repr=False)
    more_columns: int = 0


@dataclass(frozen=True)
class Term:
    """The coefficients of a column, or of one of its levels, one a class.

    ``scaled`` are those of a number for a change by one standard deviation.
    """

    column: str
    level: str | None
    values: tuple[float, ...]
    scaled: tuple[float, ...]


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a linear model, the largest first; of two classes the second's."""

    title: ClassVar[str] = "Coefficients"

    classes: tuple[str, ...]
    intercept: tuple[float, ...]
    terms: tuple[Term, ...]
    note: str = ""
    more_terms: int = 0


@dataclass(frozen=True, eq=False)
class Shape:
    """What the values of one column add to the log-odds, levels × classes.

    ``edges`` are the ends of the intervals of a numeric column (None for a nominal one; ``dates``:
    they are days since 1970-01-01), ``errors``
    the standard errors (None: not known), ``missing`` what a missing cell adds (None: there was
    none). ``strength`` is the mean absolute log-odds over the training rows, ``share`` its share
    of all terms.
    """

    name: str
    levels: tuple[str, ...]
    edges: FloatArray | None
    added: FloatArray
    errors: FloatArray | None
    counts: FloatArray
    missing: FloatArray | None
    strength: float
    share: float
    more_levels: int = 0
    dates: bool = False


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of the columns of an additive model, the strongest first.

    ``base`` is the log-odds of the average row; of two classes all figures are the second's.
    ``unused`` columns add next to nothing.
    """

    title: ClassVar[str] = "Shapes of the columns"

    classes: tuple[str, ...]
    base: FloatArray
    columns: tuple[Shape, ...]
    unused: tuple[str, ...]
    pairs_share: float
    note: str = ""
    more_columns: int = 0
    more_classes: int = 0


@dataclass(frozen=True, eq=False)
class PairShape:
    """What two columns add together beyond what each adds alone, first × second.

    The figures are those of the class ``label``, for which the pair matters most.
    """

    first: str
    second: str
    first_levels: tuple[str, ...]
    second_levels: tuple[str, ...]
    label: str
    added: FloatArray
    counts: FloatArray
    strength: float
    share: float


@dataclass(frozen=True, eq=False)
class PairShapes:
    """The tables of pairs of an additive model, the strongest first."""

    title: ClassVar[str] = "Pairs of columns"

    pairs: tuple[PairShape, ...]
    share: float
    note: str = ""
    more_pairs: int = 0


@dataclass(frozen=True)
class Epoch:
    """A pass over the training rows: the loss on them, the error on rows held out."""

    number: int
    loss: float
    error: float | None


@dataclass(frozen=True)
class TrainingCurve:
    """Loss and error of a network over the epochs of its training."""

    title: ClassVar[str] = "Training curve"

    epochs: tuple[Epoch, ...]
    best_epoch: int
    note: str = ""


@dataclass(frozen=True)
class NearRow:
    """A stored row near another one: its number from 1, its label and its distance."""

    row: int
    label: str
    distance: float


@dataclass(frozen=True)
class SampleRow:
    """A stored row with the values of its attributes and its nearest other stored rows."""

    row: int
    label: str
    values: tuple[str, ...]
    neighbors: tuple[NearRow, ...]


@dataclass(frozen=True, eq=False)
class NeighborSample:
    """A few stored rows and those nearest to them, under the distance of the model.

    ``k`` rows decide (None: as many as lie within a width). ``classes`` is empty for a regressor.
    ``stretch`` is the factor of each attribute where the distance is plainly Euclidean.
    """

    title: ClassVar[str] = "Nearest rows"

    rows: int
    k: int | None
    metric: str
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    samples: tuple[SampleRow, ...]
    note: str = ""
    stretch: FloatArray | None = None


@dataclass(frozen=True)
class Member:
    """A member of an ensemble: its name or rule, the weight of its vote, its error."""

    name: str
    weight: float
    error: float | None = None


@dataclass(frozen=True, eq=False)
class MemberList:
    """The members of an ensemble in order; how often two agree; estimates of the error."""

    title: ClassVar[str] = "Members"

    note: str
    members: tuple[Member, ...] = ()
    agreement: FloatArray | None = None
    errors: Mapping[str, float] = field(default_factory=dict)
    more_members: int = 0


@dataclass(frozen=True)
class Importance:
    """A column and its share of what all splits on any column gain."""

    name: str
    share: float


@dataclass(frozen=True)
class Importances:
    """How much each column contributes to a forest, the most important first."""

    title: ClassVar[str] = "Importance of columns"

    columns: tuple[Importance, ...]
    note: str = ""
    more_columns: int = 0


View: TypeAlias = (
    ProbabilityTables
    | Densities
    | TopWords
    | DependencyGraph
    | DecisionTree
    | CellGrid
    | Coefficients
    | Shapes
    | PairShapes
    | TrainingCurve
    | NeighborSample
    | MemberList
    | Importances
)
