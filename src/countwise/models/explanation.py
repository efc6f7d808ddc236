"""Explanations: what each attribute adds to a prediction, in log-odds that add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from countwise._typing import FloatArray
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.numeric import softmax
from countwise.show_rows import html_table
from countwise.tables.table import Table

#: Where only posteriors are known, one below this counts as this in an explanation.
LEAST_POSTERIOR = 1e-9

#: Rows that a notebook shows.
_MAX_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each attribute adds to the joint log probability of each class, row by row.

    ``base + parts.sum(axis=1) = joint``: prediction adds the same figures. Between two classes the
    differences are log-odds: `log_odds` gives them, `describe` puts them in words. A text column
    has several parts: the words of the row that matter most, and the sum of all others. A part
    that a row does not have adds nothing; its value is empty. ``base_name`` says what the base is.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> why = cw.NaiveBayes().fit(weather).explain(weather.take([0]))
    >>> base, parts = why.log_odds("no", "yes")
    >>> bool(np.isclose(base + parts[0].sum(), why.joint[0, 0] - why.joint[0, 1]))
    True
    """

    classes: tuple[Any, ...]
    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    base: FloatArray
    parts: FloatArray
    joint: FloatArray
    base_name: str = field(default="before any evidence", kw_only=True)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def posteriors(self) -> FloatArray:
        """The posteriors of the rows."""
        return softmax(self.joint)

    def log_odds(self, label: Any, against: Any) -> tuple[float, FloatArray]:
        """Return prior log-odds and each attribute's part (rows × attributes) for `label`."""
        one, two = self._place(label), self._place(against)
        return float(self.base[one] - self.base[two]), self.parts[:, :, one] - self.parts[:, :, two]

    def _place(self, label: Any) -> int:
        if label not in self.classes:
            raise ParameterError(
                f"explain: there is no class {label!r}.{did_you_mean(label, self.classes)} "
                f"The classes are {listing(self.classes)}."
            )
        return self.classes.index(label)

    def rivals(self, row: int = 0) -> tuple[Any, Any]:
        """Return the two most probable classes of a row, the winner first."""
        order = np.argsort(-self.joint[row], kind="stable")
        return self.classes[order[0]], self.classes[order[min(1, len(order) - 1)]]

    def to_dict(self, row: int = 0, label: Any = None, against: Any = None) -> dict[str, Any]:
        """Return one row's explanation as plain data, the strongest attribute first."""
        winner, second = self.rivals(row)
        label = winner if label is None else label
        if against is None:
            against = second if label == winner else winner
        base, parts = self.log_odds(label, against)
        order = np.argsort(-np.abs(parts[row]), kind="stable")
        return {
            "class": label,
            "against": against,
            "posterior": dict(
                zip(map(str, self.classes), self.posteriors[row].tolist(), strict=True)
            ),
            "base": self.base_name,
            "prior_log_odds": base,
            "parts": [
                {
                    "attribute": self.attributes[place],
                    "value": self.values[row][place],
                    "log_odds": float(parts[row, place]),
                }
                for place in order
                if self.values[row][place]
            ],
            "log_odds": base + float(parts[row].sum()),
        }

    def describe(self, row: int = 0, most: int = 10) -> str:
        """Return one row's explanation in lines of text.

        Examples
        --------
        >>> import countwise as cw
        >>> weather = cw.read("sample:weather")
        >>> why = cw.NaiveBayes().fit(weather).explain(weather.take([0]))
        >>> print(why.describe().splitlines()[0])
        no (posterior 0.688) against yes: log-odds +0.791
        """
        facts = self.to_dict(row)
        if len(self.classes) == 1:
            return f"{facts['class']} is the only class there is"
        lines = [
            f"{_title(facts)}: log-odds {_odds(facts['log_odds']).strip()}",
            f"  {_odds(facts['prior_log_odds'])}  {facts['base']}",
        ]
        for part in facts["parts"][:most]:
            lines.append(f"  {_odds(part['log_odds'])}  {part['attribute']} = {part['value']}")
        if len(facts["parts"]) > most:
            rest = sum(part["log_odds"] for part in facts["parts"][most:])
            lines.append(f"  {_odds(rest)}  {len(facts['parts']) - most} further attributes")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook, the strongest attribute first."""
        shown = [self._html(row) for row in range(min(len(self), _MAX_SHOWN))]
        more = len(self) - len(shown)
        return "".join([*shown, f"<p>… and {more:,} more rows</p>" if more else ""])

    def _html(self, row: int) -> str:
        facts = self.to_dict(row)
        lines = [(facts["base"], "", facts["prior_log_odds"])]
        lines += [(part["attribute"], part["value"], part["log_odds"]) for part in facts["parts"]]
        lines.append(("sum", "", facts["log_odds"]))
        cells = [(name, value, _odds(odds).strip()) for name, value, odds in lines]
        return html_table(("attribute", "value", "log-odds"), cells, _title(facts))


def explain_in_turn(
    table: Table, classes: tuple[Any, ...], log_posteriors: Callable[[Table], FloatArray]
) -> Explanation:
    """Explain any classifier: columns, all missing at first, are shown to it one after the other.

    A part is what the log posterior of a class gains by a column, averaged over the order of the
    table and the opposite one. Posteriors below 1e-9 count as 1e-9, so that every part is finite.
    """
    names = [column.name for column in table.schema.attributes]
    blank = table.with_missing(names)

    def scores(rows: Table) -> FloatArray:
        return np.maximum(log_posteriors(rows), np.log(LEAST_POSTERIOR))

    base = scores(blank.take([0])) if len(table) else np.zeros((1, len(classes)))
    joint = scores(table)
    parts = np.zeros((len(table), len(names), len(classes)))
    for order in (names, names[::-1]):
        before = np.broadcast_to(base[0], joint.shape)
        for shown in range(1, len(names) + 1):
            hidden = order[shown:]
            after = scores(table.with_missing(hidden)) if hidden else joint
            parts[:, names.index(order[shown - 1])] += (after - before) / 2
            before = after
    return Explanation(classes, tuple(names), table.cell_texts(names), base[0], parts, joint)


def _title(facts: Mapping[str, Any]) -> str:
    share = facts["posterior"][str(facts["class"])]
    return f"{facts['class']} (posterior {share:.3f}) against {facts['against']}"


def _odds(figure: float) -> str:
    """Write log-odds in eight places; a value that one class never has rules it out altogether."""
    if abs(figure) > 1e200:
        return "certain " if figure > 0 else "ruled out"
    return f"{figure:+8.3f}"


class Coefficient(NamedTuple):
    """What a unit of a column, or a level, adds to the log-odds (or the margin) of a class.

    The intercept has no column.
    """

    label: Any
    column: str | None
    level: str | None
    value: float
