"""Experiment: models compared on several data sets, with marks, wins and mean ranks.

On each data set a model is compared with the baseline by the corrected resampled t-test of Nadeau
and Bengio (2003), as Weka's Experimenter does. Over the data sets models have mean ranks; two of
them differ if their ranks are further apart than Nemenyi's critical difference (Demšar 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from countwise.errors import CountwiseError, ParameterError
from countwise.evaluation.intervals import LEVEL
from countwise.evaluation.scores import find_score
from countwise.evaluation.trials import Trials, align_columns
from countwise.params import check
from countwise.progress import Progress, open_progress
from countwise.show_rows import html_table

#: Significantly better than the baseline, worse, or neither; the signs are Weka's.
Mark = Literal["v", "*", ""]
#: Options of `evaluate` that may be given by data set.
_BY_SET = ("target", "folds", "groups", "time", "sample_weight")


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over data sets (1 is best), and what they tell.

    `p_value` is Friedman's test that all models are alike; ranks that differ by less than
    `critical_difference` (Nemenyi) cannot be told apart. Both are None where they are not defined.
    """

    data_sets: int
    mean: dict[str, float]
    p_value: float | None
    critical_difference: float | None
    level: float


def rank_models(models: Sequence[str], lines: Sequence[Sequence[float]], level: float) -> Ranks:
    """Return mean ranks from one line of ranks a data set, with the tests of Demšar (2006)."""
    number, k = len(lines), len(models)
    if not lines:
        return Ranks(0, dict.fromkeys(models, math.nan), None, None, level)
    ranks = np.asarray(lines)
    mean = dict(zip(models, ranks.mean(axis=0).tolist(), strict=True))
    if number < 2 or k < 2:
        return Ranks(number, mean, None, None, level)
    # Distributions are imported only where they are needed: it takes a while.
    from scipy.stats import chi2, studentized_range

    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) / (number * (k - 1))
    between = number * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    p_value = float(chi2.sf(between / spread, k - 1)) if spread > 0 else None
    q = float(studentized_range.ppf(level, k, np.inf)) / math.sqrt(2)
    return Ranks(number, mean, p_value, q * math.sqrt(k * (k + 1) / (6 * number)), level)


@dataclass(frozen=True, repr=False, eq=False)
class Experiment:
    """Models compared on several data sets: a table of scores with marks, wins and mean ranks.

    `evaluate` returns one for a mapping of data sets.

    Attributes
    ----------
    trials
        The `Trials` of every data set, by name.
    baseline
        The entry that the others are compared with.
    failures
        Why a data set could not be evaluated, by name.

    Examples
    --------
    >>> import countwise as cw
    >>> models = {"bayes": cw.NaiveBayes(), "tan": cw.TAN()}
    >>> experiment = cw.evaluate(models, {"votes": "sample:votes", "iris": "sample:iris"})
    >>> print(experiment)
    accuracy; 10-fold cross-validation, stratified
    data set   bayes   tan
    votes      0.9012  0.9428 v
    iris       0.9333  0.9133
    v/ /*              (1/1/0)
    mean rank  1.5     1.5
    v: significantly better than bayes, *: significantly worse (corrected t-test, 95 %)
    """

    trials: dict[str, Trials]
    baseline: str
    failures: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Experiment: {len(self.models)} models on {len(self.trials)} data sets>"

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        heads = ["data set", *self.models]
        rows = [
            [line["data"], *(self._cell(line, name) for name in self.models)]
            for line in self.rows()
        ]
        return html_table(heads, rows, f"{self._head()}; {self._legend()}", self.verdict())

    @property
    def models(self) -> tuple[str, ...]:
        """The entries that are compared; the majority only if it is the baseline."""
        entries = {
            name: entry for trials in self.trials.values() for name, entry in trials.entries.items()
        }
        shown = [n for n, entry in entries.items() if not entry.baseline and n != self.baseline]
        return (self.baseline, *shown)

    @property
    def ranked_by(self) -> str:
        """The score that is compared."""
        return next(iter(self.trials.values())).ranked_by

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return one record a data set: its size and, for every model, figures, mark and rank.

        Examples
        --------
        >>> import countwise as cw
        >>> models = [cw.NaiveBayes(), cw.TAN()]
        >>> experiment = cw.evaluate(models, {"votes": "sample:votes"})
        >>> experiment.rows()[0]["scores"]["TAN"]["mark"]
        'v'
        """
        check("Experiment", LEVEL, {"level": level})
        return [self._row(name, trials, level) for name, trials in self.trials.items()]

    def _row(self, data: str, trials: Trials, level: float) -> dict[str, Any]:
        scores: dict[str, Any] = {}
        for name in self.models:
            if name not in trials.entries:
                scores[name] = None
                continue
            score = trials.score(self.ranked_by, name, level=level).to_dict()
            figures = {key: score[key] for key in ("value", "low", "high")}
            gap = trials.improvement(name, self.baseline, level)
            mark: Mark = "v" if gap.low > 0 else "*" if gap.high < 0 else ""
            scores[name] = {**figures, "mark": "" if name == self.baseline else mark}
        for name, rank in self._ranks_of(scores).items():
            scores[name]["rank"] = rank
        sizes = {"rows": trials.tested, "classes": len(trials.classes)}
        return {"data": data, **sizes, "protocol": trials.protocol, "scores": scores}

    def _ranks_of(self, scores: Mapping[str, Any]) -> dict[str, float]:
        """Return the ranks on one data set; equal figures share their mean rank."""
        known = {n: s["value"] for n, s in scores.items() if s and s["value"] is not None}
        sign = 1 if find_score("Experiment", self.ranked_by).lower_is_better else -1
        values = sign * np.asarray(list(known.values()), dtype=np.float64)
        before = (values[:, None] > values).sum(axis=1)
        equal = (values[:, None] == values).sum(axis=1)
        return dict(zip(known, (before + (equal + 1) / 2).tolist(), strict=True))

    def wins(self, level: float = 0.95) -> dict[str, tuple[int, int, int]]:
        """Return for every other model on how many sets it wins, ties and loses to the baseline."""
        marks: dict[str, list[str]] = {name: [] for name in self.models[1:]}
        for line in self.rows(level):
            for name, seen in marks.items():
                seen += [line["scores"][name]["mark"]] if line["scores"][name] else []
        return {name: (m.count("v"), m.count(""), m.count("*")) for name, m in marks.items()}

    def ranks(self, level: float = 0.95) -> Ranks:
        """Return mean ranks over the data sets on which every model has a figure."""
        lines = [
            [line["scores"][name]["rank"] for name in self.models]
            for line in self.rows(level)
            if all(s and s["value"] is not None for s in line["scores"].values())
        ]
        return rank_models(self.models, lines, level)

    def verdict(self, level: float = 0.95) -> str:
        """Say in a few sentences how the models compare with the baseline and with each other."""
        score, sets = find_score("Experiment", self.ranked_by).phrase, len(self.trials)
        compared = [
            f"{name} is significantly better than {self.baseline} on {win} and worse on {loss}"
            for name, (win, _, loss) in self.wins(level).items()
        ]
        if not compared:
            return f"{self.baseline} was the only model: there is nothing to compare it with."
        text = f"{score[:1].upper()}{score[1:]} on {sets} data set{'s' * (sets > 1)}: "
        text += f"{'; '.join(compared)}."
        ranks = self.ranks(level)
        if ranks.critical_difference is None:
            return text
        first = min(ranks.mean.values())
        best = [name for name, rank in ranks.mean.items() if rank == first]
        most = first + ranks.critical_difference
        worse = [name for name, rank in ranks.mean.items() if rank > most]
        has = f"{best[0]} has" if len(best) == 1 else f"{' and '.join(best)} share"
        behind = f"; {' and '.join(worse)} rank significantly lower" if worse else ""
        none = "" if worse else ", but no difference in mean rank is significant"
        return (
            f"{text} {has} the best mean rank, {first:.3g}{behind}{none} (critical difference "
            f"{ranks.critical_difference:.3g})."
        )

    def records(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return one flat record a data set, for a CSV file: a figure and a mark a model."""
        flat = []
        for line in self.rows(level):
            record = {"data set": line["data"], "rows": line["rows"], "classes": line["classes"]}
            for name, score in line["scores"].items():
                record[name] = None if score is None else score["value"]
                if name != self.baseline:
                    record[f"{name} mark"] = "" if score is None else score["mark"]
            flat.append(record)
        return flat

    def to_dict(self) -> dict[str, Any]:
        """Return plain, JSON-able data: the table, wins, ranks, failures and all trials."""
        return {
            "score": self.ranked_by,
            "baseline": self.baseline,
            "models": list(self.models),
            "data_sets": self.rows(),
            "wins_ties_losses": {name: list(counts) for name, counts in self.wins().items()},
            "ranks": vars(self.ranks()),
            "verdict": self.verdict(),
            "failures": dict(self.failures),
            "trials": {name: trials.to_dict() for name, trials in self.trials.items()},
        }

    def to_latex(self, level: float = 0.95) -> str:
        r"""Return the table for a LaTeX document, which needs no package.

        Examples
        --------
        >>> import countwise as cw
        >>> experiment = cw.evaluate(cw.NaiveBayes(), {"iris_2": "sample:iris"})
        >>> print(experiment.to_latex().splitlines()[4])
        iris\_2 & 0.933 \\
        """
        signs = {"v": r" $\circ$", "*": r" $\bullet$", "": ""}
        lines = [
            [line["data"], *(self._cell(line, name, signs, 3) for name in self.models)]
            for line in self.rows(level)
        ]
        wins, ranks = self.wins(level), self.ranks(level).mean
        won = ["/".join(map(str, wins[name])) for name in self.models[1:]]
        ends = [
            ["win/tie/loss", "", *won],
            ["mean rank", *(f"{ranks[name]:.2f}" for name in self.models)],
        ]
        rules: list[str] = [rf"\begin{{tabular}}{{l{'r' * len(self.models)}}}", r"\hline"]
        rules += [_latex_line(["data set", *map(_escape, self.models)]), r"\hline"]
        rules += [_latex_line(line) for line in lines]
        rules += [r"\hline", *(_latex_line(line) for line in ends), r"\hline", r"\end{tabular}"]
        better = f"significantly better than {_escape(self.baseline)}"
        legend = rf"% $\circ$ {better}, $\bullet$ significantly worse ({100 * level:g} \%)"
        return "\n".join([*rules, legend, ""])

    def describe(self, level: float = 0.95) -> str:
        """Return the table, wins and mean ranks as text."""
        lines: list[dict[str, Any]] = []
        for line in self.rows(level):
            cells = {name: self._cell(line, name) for name in self.models}
            lines.append({"data set": line["data"], **cells})
        wins, ranks = self.wins(level), self.ranks(level).mean
        won = {name: f"({'/'.join(map(str, counts))})" for name, counts in wins.items()}
        lines.append({"data set": "v/ /*", self.baseline: "", **won})
        means = {name: f"{rank:.3g}" for name, rank in ranks.items()}
        lines.append({"data set": "mean rank", **means})
        table = align_columns(lines, ["data set", *self.models])
        failed = [f"{name}: {why}" for name, why in self.failures.items()]
        return "\n".join([self._head(), table, self._legend(level), *failed])

    def _cell(
        self,
        line: Mapping[str, Any],
        name: str,
        signs: Mapping[str, str] | None = None,
        digits: int = 4,
    ) -> str:
        """Return the figure of a model on a data set with its mark."""
        score = line["scores"][name]
        if score is None or score["value"] is None:
            return "–"
        mark = (signs or {"v": " v", "*": " *", "": ""})[score["mark"]]
        return f"{score['value']:.{digits}f}{mark}"

    def _head(self) -> str:
        protocols = dict.fromkeys(trials.protocol for trials in self.trials.values())
        return f"{find_score('Experiment', self.ranked_by).phrase}; {'; '.join(protocols)}"

    def _legend(self, level: float = 0.95) -> str:
        return (
            f"v: significantly better than {self.baseline}, *: significantly worse (corrected "
            f"t-test, {100 * level:g} %)"
        )


def _latex_line(cells: list[str]) -> str:
    return f"{' & '.join([_escape(cells[0]), *cells[1:]])} \\\\"


def _escape(text: str) -> str:
    """Return a name as LaTeX writes it."""
    special = {char: f"\\{char}" for char in "&%$#_{}"}
    special |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(char, char) for char in text)


def evaluate_sets(
    evaluate: Callable[..., Trials],
    data: Mapping[str, Any],
    baseline: str,
    progress: Progress | bool | None,
    options: dict[str, Any],
) -> Experiment:
    """Evaluate every data set; one that fails is named and does not stop the others."""
    trials: dict[str, Trials] = {}
    failures: dict[str, str] = {}
    if options.get("max_seconds") is not None:
        options = {**options, "max_seconds": options["max_seconds"] / len(data)}
    with open_progress("evaluate", progress) as report:
        for place, (name, source) in enumerate(data.items()):
            by_set = {key: options[key] for key in _BY_SET if isinstance(options.get(key), Mapping)}
            chosen = {**options, **{key: given.get(name) for key, given in by_set.items()}}
            if chosen.get("folds") is None:
                chosen.pop("folds", None)
            try:
                trials[name] = evaluate(
                    source, **chosen, progress=_within(report, name, place, len(data))
                )
            except CountwiseError as why:
                failures[name] = str(why)
    if not trials:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise ParameterError(f"evaluate: no data set could be evaluated. {reasons}")
    return Experiment(trials, baseline, failures)


def _within(report: Progress | None, name: str, place: int, sets: int) -> Progress | None:
    """Return a report of steps within one of several data sets."""
    if report is None:
        return None
    return lambda done, total, text: report(place + done / max(total, 1), sets, f"{name}: {text}")
