"""Write a report: one self-contained page about a comparison of models."""

from __future__ import annotations

import os
from typing import Any

from countwise.decisions.gain_matrix import Gains
from countwise.errors import ParameterError
from countwise.evaluation.experiment import Experiment
from countwise.evaluation.learning_curve import Curve
from countwise.evaluation.trials import Trials
from countwise.reports.comparison_facts import comparison_facts, experiment_facts
from countwise.reports.html import write
from countwise.tables.read import read
from countwise.tables.scan import Scan
from countwise.tables.table import Table


def report(
    trials: Trials | Experiment,
    path: str | os.PathLike[str],
    data: Any = None,
    *,
    model: Any = None,
    name: str | None = None,
    curve: Curve | None = None,
    gain: Gains | None = None,
    title: str | None = None,
    source: str | None = None,
    command: str | None = None,
    **read_options: Any,
) -> None:
    """Write an HTML page about a comparison: ranking, confusion matrix, model, data and method.

    The page is one file that needs no network. It holds its facts as JSON, too.

    Parameters
    ----------
    trials
        What `evaluate` returned. The page of an `Experiment` has the table of all data sets; of the
        parameters below it takes `title` and `command`.
    path
        Where to write; replaced as a whole if it exists.
    data
        The rows of the comparison, a `Table` or anything `read` takes, for the section about the
        data; further keywords are passed to `read`.
    model
        A fitted model to show: its probability tables, its tree, its coefficients.
    name
        What the page calls that model; by default its class.
    curve
        A learning curve to show.
    gain
        A gain matrix to score by, if the comparison had none.
    title
        The title of the page; by default the data and the class.
    source
        The name of the data; by default `data` if it is a path or the name of a sample.
    command
        The command or the script that made the comparison, for the end of the page.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import countwise as cw
    >>> votes = cw.read("sample:votes")
    >>> trials = cw.evaluate({"bayes": cw.NaiveBayes(), "tan": cw.TAN()}, votes, folds=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "votes.html"
    ...     cw.report(trials, page, votes, model=cw.TAN().fit(votes))
    ...     "Confusion matrix" in page.read_text(encoding="utf-8")
    True
    """
    if isinstance(trials, Experiment):
        write(experiment_facts(trials, title, command), path)
        return
    if not isinstance(trials, Trials):
        raise ParameterError("report", "trials", "the Trials that evaluate returns", trials)
    table = data
    if data is not None and (read_options or not isinstance(data, Table | Scan)):
        table = read(data, **read_options)
        source = source or (os.fspath(data) if isinstance(data, str | os.PathLike) else None)
    facts = comparison_facts(
        table,
        trials,
        model=model,
        model_name=name,
        curve=curve,
        gain=gain,
        title=title,
        source=source,
        command=command,
    )
    write(facts, path)
