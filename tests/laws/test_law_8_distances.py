"""Law 8: every distance equals the textbook double loop, on mixed tables with missing values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.models.neighbors.metrics import METRICS, learn_space
from countwise.models.neighbors.search import Search
from countwise.testing.strategies import tables

POWERS = {
    "euclidean": 2,
    "manhattan": 1,
    "maximum": math.inf,
    "mahalanobis": 2,
    "overlap": 1,
    "hvdm": 2,
    "heom": 2,
    "gower": 1,
}


class Textbook:
    """Distances cell by cell, as the papers write them; nothing is shared with the product."""

    def __init__(self, train, metric, p, scale, missing, factors):
        self.train, self.metric, self.scale = train, metric, scale
        self.p = POWERS.get(metric, p)
        self.ignore = missing == "ignore" or (missing is None and metric == "gower")
        self.names = [column.name for column in train.schema.attributes]
        self.factor = dict(zip(self.names, factors, strict=True))
        self.cells = {name: list(train.decode(name)) for name in self.names}
        self.labels = list(train.labels)
        self.numeric = [column.name for column in train.schema.numeric]
        if metric == "mahalanobis":
            self.inverse, self.middle = self._covariance()

    def known(self, name):
        return [v for v in self.cells[name] if v is not None and v == v]

    def deviation(self, name):
        values = self.known(name)
        if len(values) < 2:
            return 0.0
        mean = sum(values) / len(values)
        return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))

    def range(self, name):
        values = self.known(name)
        return max(values) - min(values) if values else 0.0

    def share(self, name, value, label):
        seen = [c for v, c in zip(self.cells[name], self.labels, strict=True) if v == value]
        return seen.count(label) / len(seen) if seen else 0.0

    def vdm(self, name, a, b):
        gaps = [
            abs(self.share(name, a, c) - self.share(name, b, c)) for c in sorted(set(self.labels))
        ]
        if math.isinf(self.p):
            return max(gaps)
        return sum(gap**self.p for gap in gaps) ** (1 / self.p)

    def gap(self, name, a, b):
        """The gap of two known cells."""
        if self.metric == "overlap":
            return 0.0 if a == b else 1.0
        if name in self.numeric:
            unit = {
                "hvdm": 4 * self.deviation(name),
                "heom": self.range(name),
                "gower": self.range(name),
            }.get(self.metric)
            if unit is None:
                unit = {"range": self.range(name), "z": self.deviation(name), None: 1.0}[self.scale]
            return abs(a - b) / unit if unit > 0 else 0.0
        if self.metric in ("vdm", "hvdm"):
            return self.vdm(name, a, b)
        return 0.0 if a == b else 1.0

    def far(self, name):
        """What a missing cell counts."""
        if self.metric in ("hvdm", "heom", "gower", "overlap"):
            return 1.0
        if name in self.numeric:
            if self.metric == "mahalanobis":
                spread = self.deviation(name)
                return self.range(name) / spread if spread > 0 else 0.0
            unit = {"range": self.range(name), "z": self.deviation(name), None: 1.0}[self.scale]
            return self.range(name) / unit if unit > 0 else 0.0
        if self.metric == "vdm":
            if len(set(self.train.classes)) < 2:
                return 0.0
            return 1.0 if math.isinf(self.p) else 2 ** (1 / self.p)
        return 1.0

    def _covariance(self):
        columns = []
        for name in self.numeric:
            known = self.known(name)
            mean = sum(known) / len(known) if known else 0.0
            columns.append([v if v == v else mean for v in self.cells[name]])
        values = np.array(columns).reshape(len(self.numeric), len(self.train))
        if len(values) == 0:
            return np.zeros((0, 0)), np.zeros(0)
        return np.linalg.inv(np.atleast_2d(np.cov(values))), values.mean(axis=1)

    def distance(self, one, two):
        terms, present, mass, extra = [], 0.0, 0.0, 0.0
        if self.metric == "mahalanobis" and self.numeric:
            gap = np.array(
                [
                    (m if one[n] != one[n] else one[n]) - (m if two[n] != two[n] else two[n])
                    for n, m in zip(self.numeric, self.middle, strict=True)
                ]
            )
            extra = float(gap @ self.inverse @ gap)
        for name in self.names:
            a, b, factor = one[name], two[name], self.factor[name]
            own = factor if math.isinf(self.p) else factor**self.p
            mass += own
            blank = a is None or b is None or a != a or b != b
            if blank and self.ignore:
                continue
            present += own
            if blank:
                terms.append(factor * self.far(name))
            elif not (self.metric == "mahalanobis" and name in self.numeric):
                terms.append(factor * self.gap(name, a, b))
        if self.ignore and present == 0:
            return math.inf
        if math.isinf(self.p):
            return max(terms, default=0.0)
        total = sum(term**self.p for term in terms) + extra
        if self.ignore:
            total *= mass / present
        made = total ** (1 / self.p)
        return made / mass if self.metric == "gower" else made


def every_distance(train, asked, **wish):
    space = learn_space(train, **wish)
    search = Search(space, train)
    who, powers = search.nearest(asked, len(train))
    made = np.empty((len(asked), len(train)))
    np.put_along_axis(made, who, space.to_distances(powers), axis=1)
    parts = search.parts(asked, who)
    summed = parts.max(axis=2) if math.isinf(space.p) else parts.sum(axis=2)
    if space.whitening is None:
        finite = np.isfinite(powers)
        np.testing.assert_allclose(summed[finite], powers[finite], rtol=1e-9, atol=1e-300)
    order = np.lexsort((who, powers), axis=1)
    np.testing.assert_array_equal(order, np.broadcast_to(np.arange(who.shape[1]), who.shape))
    return made


def looped(train, asked, factors, metric, p, scale, missing):
    book = Textbook(train, metric, p, scale, missing, factors)
    lines = [{n: train.decode(n)[row] for n in book.names} for row in range(len(train))]
    queries = [{n: asked.decode(n)[row] for n in book.names} for row in range(len(asked))]
    return np.array([[book.distance(q, line) for line in lines] for q in queries])


@pytest.mark.parametrize("missing", [None, "far", "ignore"])
@pytest.mark.parametrize("metric", [m for m in METRICS if m != "mahalanobis"])
@given(data=st.data())
@settings(max_examples=25)
def test_distances_equal_the_double_loop(metric, missing, data):
    table = data.draw(tables(least_rows=2, most_rows=10))
    cut = data.draw(st.integers(1, len(table)))
    train = table.take(slice(0, cut))
    number = len(table.schema.attributes)
    factors = data.draw(
        st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=number, max_size=number)
    )
    wish = {
        "metric": metric,
        "p": data.draw(st.sampled_from([1.0, 1.5, 2.0, 3.0, 2.7, 9.0, 17.0, 40.5])),
        "scale": data.draw(st.sampled_from(["range", "z", None])),
        "missing": missing,
    }
    made = every_distance(train, table, weights=np.array(factors), **wish)
    told = looped(train, table, factors, **wish)
    np.testing.assert_allclose(made, told, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("missing", ["far", "ignore"])
@pytest.mark.parametrize("p", [50.0, 1000.0])
def test_near_rows_keep_their_distance_however_steep_the_exponent(p, missing):
    """Powers that no double holds: the same gaps a million times as large tell what is right."""
    rng = np.random.default_rng(9)
    small = rng.normal(size=(30, 4)) * 1e-6
    small[rng.random(small.shape) < 0.1] = np.nan
    wish = {"metric": "minkowski", "p": p, "scale": None, "missing": missing}
    near, wide = (cw.read(X, target=[*"ab"] * 15) for X in (small, small * 1e6))
    made, told = (every_distance(rows, rows, **wish) for rows in (near, wide))
    np.testing.assert_allclose(made * 1e6, told, rtol=1e-9)
    exact = [[np.abs(a - b) for b in small * 1e6] for a in small * 1e6]
    if missing == "ignore":
        with np.errstate(over="ignore", under="ignore"):
            for one, line in enumerate(exact):
                for two, gaps in enumerate(line):
                    known = gaps[~np.isnan(gaps)]
                    top = known.max(initial=0.0)
                    share = float(((known / top) ** p).sum()) if top > 0 else 0.0
                    more = len(gaps) / len(known) if len(known) else math.inf
                    assert told[one, two] == pytest.approx(top * (share * more) ** (1 / p))


@pytest.mark.parametrize("missing", ["far", "ignore"])
def test_mahalanobis_equals_the_double_loop(missing):
    rng = np.random.default_rng(3)
    cells = {name: rng.normal(size=40) + place for place, name in enumerate("abc")}
    cells["b"] = cells["a"] * 0.7 + cells["b"]
    cells["c"][rng.random(40) < 0.2] = np.nan
    cells["word"] = rng.choice(np.array(["x", "y", None], dtype=object), 40)
    table = cw.read({**cells, "class": rng.choice(["n", "y"], 40)}, target="class")
    wish = {"metric": "mahalanobis", "p": 2.0, "scale": None, "missing": missing}
    made = every_distance(table, table, **wish)
    np.testing.assert_allclose(made, looped(table, table, [1.0] * 4, **wish), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("metric", ["vdm", "hvdm"])
@pytest.mark.parametrize("missing", ["far", "ignore"])
def test_columns_of_very_many_levels_have_the_same_distances(metric, missing, monkeypatch):
    rng = np.random.default_rng(5)
    cells = {
        "word": rng.choice(np.array([*"abcdefgh", None], dtype=object), 60),
        "x": np.where(rng.random(60) < 0.2, np.nan, rng.normal(size=60)),
    }
    table = cw.read({**cells, "class": rng.choice(["n", "m", "y"], 60)}, target="class")
    train = table.take(slice(0, 40))
    by_table = every_distance(train, table, metric=metric, p=3.0, missing=missing)
    monkeypatch.setattr("countwise.models.neighbors.metrics._MOST_CELLS", 4)
    by_axes = every_distance(train, table, metric=metric, p=3.0, missing=missing)
    np.testing.assert_allclose(by_axes, by_table, rtol=1e-12)


def test_wilson_and_martinez_by_hand():
    """Two classes, one word, one number: figures worked out on paper."""
    table = cw.read(
        {"word": ["a", "a", "b", "b"], "x": [0.0, 1.0, 2.0, 3.0], "class": ["n", "y", "y", "y"]},
        target="class",
    )
    sigma = math.sqrt(5 / 3)
    hvdm = every_distance(table, table, metric="hvdm")
    assert hvdm[0, 2] == pytest.approx(math.sqrt(2 * 0.5**2 + (2 / (4 * sigma)) ** 2))
    heom = every_distance(table, table, metric="heom")
    assert heom[0, 2] == pytest.approx(math.sqrt(1 + (2 / 3) ** 2))
    vdm = every_distance(table, table, metric="vdm", p=3)
    assert vdm[0, 2] == pytest.approx((2 * 0.5**3 + (2 / 3) ** 3) ** (1 / 3))
