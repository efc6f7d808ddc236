"""Run every model in every fold of every set that has no result yet."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.accuracy.contestants import Contestant, all_contestants
from benchmarks.accuracy.data_sets import (
    DataSet,
    Group,
    deal_folds,
    group_of,
    hash_rows,
    load_rows,
)
from benchmarks.accuracy.measure import measure_fold
from benchmarks.accuracy.results import Kept, Score, Store, key_of
from countwise.progress import Bar

#: Seconds between two lines of progress where there is no terminal for a bar.
_QUIET = 30.0


class Job(NamedTuple):
    """One model in one fold of one set."""

    data: str
    model: str
    fold: int
    seed: int


@dataclass(frozen=True)
class SetFacts:
    """What is said of a set."""

    name: str
    source: str
    rows: int
    columns: int
    classes: int
    folds: int
    group: Group
    data: str


@dataclass(frozen=True)
class Run:
    """All results that a table is made of."""

    sets: list[SetFacts]
    models: list[Contestant]
    kept: dict[tuple[str, str], Kept]
    seed: int


def describe_set(one: DataSet, seed: int) -> SetFacts:
    """Read a set and return its size, its folds and the hash of its rows."""
    table = load_rows(one.name)
    folds = deal_folds(table, seed)
    return SetFacts(
        one.name, one.source, len(table), len(table.schema.attributes), len(table.classes),
        len(folds), group_of(len(table)), hash_rows(table),
    )  # fmt: skip


def do_job(job: Job) -> Score:
    """Run one model in one fold; called in worker processes, too."""
    table = load_rows(job.data)
    fold = deal_folds(table, job.seed)[job.fold]
    return measure_fold(all_contestants()[job.model].predict, table, fold)


def run(
    sets: Iterable[DataSet],
    models: list[Contestant],
    store: Store,
    first_folds: int | None = None,
    jobs: int = 1,
    seed: int = 0,
    measure: bool = True,
) -> Run:
    """Measure what is missing, at most the first folds, and return all results there are."""
    facts = [describe_set(one, seed) for one in sets]
    kept: dict[tuple[str, str], Kept] = {}
    waiting: list[Job] = []
    for one in facts:
        for model in models:
            key = key_of(model, one.data, one.folds, seed)
            kept[one.name, model.name] = store.load(one.name, model.name, key)
            if measure and key["versions"] is not None:
                done = kept[one.name, model.name].folds
                most = min(one.folds, first_folds or one.folds)
                waiting += [
                    Job(one.name, model.name, fold, seed)
                    for fold in range(most)
                    if fold not in done
                ]
    # The first fold of everything comes first: after a unit of it the time left is known, and an
    # interrupted run has the same folds of every model.
    waiting.sort(key=lambda job: job.fold)
    for job, score in _with_progress(_do(waiting, jobs), waiting):
        result = kept[job.data, job.model]
        result.folds[job.fold] = score
        store.save(result)
    return Run(facts, models, kept, seed)


def _do(waiting: list[Job], jobs: int) -> Iterator[tuple[Job, Score]]:
    if jobs < 2 or len(waiting) < 2:
        yield from ((job, do_job(job)) for job in waiting)
        return
    context = multiprocessing.get_context("spawn")  # threads of a library do not survive a fork
    with ProcessPoolExecutor(min(jobs, len(waiting)), mp_context=context) as pool:
        futures = {pool.submit(do_job, job): job for job in waiting}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _with_progress(done: Iterator[tuple[Job, Score]], waiting: list[Job]) -> Iterator[Any]:
    """Pass results on, and say on stderr how far the run is and how long it will take."""
    total, unit = len(waiting), sum(job.fold == waiting[0].fold for job in waiting)
    bar = Bar() if sys.stderr.isatty() else None
    if bar is not None:
        bar.new_pace(max(unit, 1))
    started = shown = time.monotonic()
    try:
        for number, (job, score) in enumerate(done, 1):
            yield job, score
            text = f"{job.data}, {job.model}, fold {job.fold + 1}"
            now = time.monotonic()
            if bar is not None:
                bar(number, total, text)
            elif now - shown > _QUIET:
                shown, left = now, (now - started) / number * (total - number) / 60
                print(f"{number} of {total}: {text}; about {left:.0f} min left", file=sys.stderr)
    finally:
        if bar is not None:
            bar.close()
