"""The command of `make accuracy`: measure what is missing, print tables, write JSON and pages."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.accuracy.contestants import Contestant, all_contestants, find_contestants
from benchmarks.accuracy.data_sets import find_sets, out_of_reach
from benchmarks.accuracy.pages import show_tables, write_pages
from benchmarks.accuracy.results import HERE, Kept, Store
from benchmarks.accuracy.run import Run, run
from benchmarks.accuracy.summary import summarize
from countwise.atomic_write import atomic_write, check_writable
from countwise.errors import CountwiseError, ParameterError, did_you_mean
from countwise.parallel import threads


def main(words: list[str] | None = None, folder: Path = HERE) -> None:
    """Run the command; bad input ends with one sentence and exit code 2."""
    try:
        _run(_parser().parse_args(words), folder)
    except CountwiseError as why:
        print(why, file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("accuracy: interrupted. The same command goes on from here.", file=sys.stderr)
        raise SystemExit(130) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description="Compare our models and other libraries on the same tables and folds. "
        "Finished folds are kept: an interrupted run goes on, and a new model runs alone.",
    )
    names = "names, separated by commas or blanks"
    parser.add_argument(
        "--sets", nargs="+", default=[], help=f"{names}; all sets in reach if none is given"
    )
    parser.add_argument(
        "--models", nargs="+", default=[],
        help=f"{names}; or ours, peers (other libraries, slow) or all; our models and "
        "scikit-learn's if none is given",
    )  # fmt: skip
    parser.add_argument("--folds", help="measure only so many folds of each set, the first ones")
    parser.add_argument(
        "--reference", default="additive", help="the model that the others are compared with"
    )
    parser.add_argument("--jobs", help="processes at a time; one a core if not given")
    parser.add_argument(
        "--json",
        help="file to write; by default benchmarks/results/accuracy.json, or accuracy-part.json "
        "if --sets, --models or --folds is given",
    )
    parser.add_argument(
        "--keep-peers", action="store_true",
        help="also write the results of other libraries to benchmarks/results/accuracy-peers.json",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the models, and what is missing")
    return parser


def _split(words: list[str]) -> list[str]:
    return [name for word in words for name in word.replace(",", " ").split()]


def _whole(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError("accuracy", option, "a whole number of at least 1", text)
    return int(text)


def _run(chosen: argparse.Namespace, folder: Path) -> None:
    if chosen.list:
        _list_models()
        return
    check_writable(chosen.json, "--json", (".json",))
    first, jobs = _whole(chosen.folds, "folds"), _whole(chosen.jobs, "jobs") or threads()
    measured = find_contestants(_split(chosen.models))
    if chosen.reference not in all_contestants():
        known = list(all_contestants())
        raise ParameterError(
            f"accuracy: reference must be a model; got {chosen.reference!r}."
            f"{did_you_mean(chosen.reference, known)}"
        )
    sets = find_sets(_split(chosen.sets))
    for absent in out_of_reach() if not chosen.sets else []:
        print(absent, file=sys.stderr)
    for missing in [one for one in measured if one.versions() is None]:
        print(f"{missing.name} is not installed. {missing.install}", file=sys.stderr)
    store = Store(folder, folder / "accuracy-peers.json")
    run(sets, measured, store, first, jobs)
    # The tables hold all results there are, of models that were not named, too.
    found = run(sets, find_contestants(["all", *(one.name for one in measured)]), store,
                measure=False)  # fmt: skip
    found = _with_results(found)
    text = _json(describe_run(found) | summarize(found, chosen.reference))
    facts = json.loads(text)  # rounded as in the file, from which the pages can be written again
    show_tables(facts, Console(width=None if sys.stdout.isatty() else 180))
    narrowed = bool(chosen.sets or chosen.folds or chosen.models)
    name = "accuracy-part.json" if narrowed else "accuracy.json"
    path = Path(chosen.json) if chosen.json else folder / name
    if not chosen.json:
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "accuracy") as draft:
        draft.write_text(text, encoding="utf-8")
    print(f"written to {_near(path)}")
    if chosen.keep_peers:
        _keep_peers(found, store)
    if folder == HERE and not narrowed and not chosen.json:
        print("written to", *(_near(page) for page in write_pages(facts)))


def _with_results(found: Run) -> Run:
    """Leave models out that have no result at all."""
    named = {name for (_, name), kept in found.kept.items() if kept.folds}
    models = [one for one in found.models if one.name in named]
    return Run(found.sets, models, found.kept, found.seed)


def _near(path: Path) -> Path:
    root = HERE.parents[1]
    return path.resolve().relative_to(root) if path.resolve().is_relative_to(root) else path


def _json(facts: dict[str, Any]) -> str:
    """Return JSON with numbers of six digits, one set or model a line."""
    plain = json.loads(
        json.dumps(facts, allow_nan=False), parse_float=lambda text: round(float(text), 6)
    )
    parts = [f"{json.dumps(name)}: {_lines(value)}" for name, value in plain.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(value: Any) -> str:
    if isinstance(value, dict) and value:
        items = [f" {json.dumps(name)}: {json.dumps(one)}" for name, one in value.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f" {json.dumps(one)}" for one in value) + "\n]"
    return json.dumps(value)


def describe_run(found: Run) -> dict[str, Any]:
    """Return what is known of machine, sets and models."""
    return {
        "format": "countwise-accuracy",
        "version": 1,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "seed": found.seed,
        "sets": [vars(one) for one in found.sets],
        "models": [_describe_model(one, found) for one in found.models],
    }


def describe_machine() -> dict[str, Any]:
    """Return what seconds depend on."""
    return {
        "python": platform.python_version(),
        "processor": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "scikit-learn": metadata.version("scikit-learn"),
    }


def _describe_model(one: Contestant, found: Run) -> dict[str, Any]:
    keys = [kept.key for (_, name), kept in found.kept.items() if name == one.name and kept.folds]
    return {
        "name": one.name,
        "about": one.about,
        "origin": one.origin,
        "settings": one.settings,
        "versions": next((key["versions"] for key in keys), None),
        "installed": one.versions() is not None,
    }


def _keep_peers(found: Run, store: Store) -> None:
    foreign = [one.name for one in found.models if not one.ours]
    results: list[Kept] = [
        kept for (_, name), kept in found.kept.items() if name in foreign and kept.folds
    ]
    about = "Results of other libraries on the folds of make accuracy; seconds are processor time."
    facts = {"about": about, "when": datetime.now(UTC).isoformat(timespec="seconds")}
    store.ship(results, {**facts, "machine": describe_machine()})
    print(f"written to {_near(store.peers)}")


def _list_models() -> None:
    for one in all_contestants().values():
        state = "" if one.versions() is not None else f" (not installed: {one.install})"
        print(f"{one.name:24} {one.origin:13} {one.about}{state}")
