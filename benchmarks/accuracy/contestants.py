"""The models that are compared: ours and scikit-learn's by the registry, and other libraries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from benchmarks.accuracy import peers, weka
from benchmarks.accuracy.measure import Predict
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.models.registry import COMMANDS, Named

#: Our models that every run measures, by their names on the command line.
OURS = (
    "naive-bayes", "tan", "aode", "kdb", "additive", "tree", "id3", "forest", "logistic",
    "neighbors", "adaboost", "bagging",
)  # fmt: skip
_TOGETHER = "Run make peers, which installs it in an environment of its own."
_JAVA = "Install Java, and run make peers, which installs python-weka-wrapper3."
_AODE = (
    "Install Java, run make peers, and set "
    f"{weka.ENVIRONMENT} to the weka.jar of Weka 3.6, such as that of Debian's package weka."
)


@dataclass(frozen=True)
class Contestant:
    """One model: how it is run, and all that its results depend on besides rows and folds."""

    name: str
    about: str
    #: "countwise", "scikit-learn" and so on.
    origin: str
    predict: Predict
    #: Settings in words; a change makes old results stale.
    settings: str
    #: Returns version by distribution, or None if something is not installed.
    versions: Callable[[], dict[str, str] | None]
    #: What to do if it is not installed.
    install: str = ""
    #: Slow, or needs a library that few have: it is run only by name.
    heavy: bool = False

    @property
    def ours(self) -> bool:
        """Whether it is a model of countwise."""
        return self.origin == "countwise"


def _installed(*names: str) -> dict[str, str] | None:
    try:
        return {name: metadata.version(name) for name in names}
    except metadata.PackageNotFoundError:
        return None


@cache
def hash_code(module: str) -> str:
    """Return a hash of the source files that a model of ours is computed by.

    These are the packages below the models, the modules that all models share, and the family of
    the model; an ensemble may train any family.
    """
    root = Path(str(resources.files("countwise")))
    family = module.split(".")[2]
    places = [*root.glob("*.py"), *(root / "models").glob("*.py")]
    for room in ("tables", "counts", "decisions", "discretize"):
        places += (root / room).rglob("*.py*")
    home = root / "models" / ("" if family == "ensembles" else family)
    places += home.rglob("*.py*")
    found = hashlib.sha256()
    for path in sorted({path for path in places if path.suffix in (".py", ".pyx", ".pxd")}):
        found.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def _from_registry(named: Named, name: str = "", **parameters: Any) -> Contestant:
    entry = named.entry
    ours = entry.origin == "countwise"

    def predict(table: Any, fold: Any) -> Any:
        return peers.refit_model(named.build(0, parameters), table, fold)

    def versions() -> dict[str, str] | None:
        return {"code": hash_code(entry.module)} if ours else _installed("scikit-learn")

    settings = {**named.command.settings, **parameters}
    words = ", ".join(f"{key}={value!r}" for key, value in settings.items()) or "defaults"
    about = named.about if not parameters else f"{entry.about}, {words}"
    origin = "scikit-learn" if entry.origin == "baseline" else entry.origin
    return Contestant(name or named.name, about, origin, predict, words, versions)


def _weka(
    name: str, about: str, classifier: str, *options: str, find_jar: Any = weka.newest_jar
) -> Contestant:
    def versions() -> dict[str, str] | None:
        jar = find_jar()
        return {"weka": weka.jar_version(jar)} if jar and weka.has_java() else None

    def predict(table: Any, fold: Any) -> Any:
        return weka.fit_weka(find_jar(), classifier, options, table, fold)

    words = " ".join([classifier.removeprefix("weka.classifiers."), *options])
    install = _JAVA if find_jar is weka.newest_jar else _AODE
    return Contestant(name, about, "Weka", predict, words, versions, install, heavy=True)


_NAIVE_BAYES = "weka.classifiers.bayes.NaiveBayes"
_DISCRETIZE = "weka.filters.supervised.attribute.Discretize"


@cache
def all_contestants() -> dict[str, Contestant]:
    """Return everything that can be named, in the order of tables."""
    found = [_from_registry(COMMANDS[name]) for name in OURS]
    if _takes_auto():
        found.append(_from_registry(COMMANDS["neighbors"], "neighbors-auto", n_neighbors="auto"))
    names = {one.name for one in found}
    found += [
        _from_registry(named)
        for named in COMMANDS.values()
        if named.name not in names and named.entry.predicts == "class"
    ]
    found += [*_scikit_learn(), *_libraries(), *_weka_models()]
    return {one.name: one for one in found}


def _takes_auto() -> bool:
    try:
        COMMANDS["neighbors"].build(0, {"n_neighbors": "auto"})
    except ParameterError:
        return False
    return True


def _scikit_learn() -> list[Contestant]:
    versions = partial(_installed, "scikit-learn")
    return [
        Contestant(
            "sklearn-boosting-native", "gradient-boosted trees with native categories",
            "scikit-learn", peers.fit_boosting, "HistGradientBoostingClassifier, defaults",
            versions,
        ),
        Contestant(
            "sklearn-logistic", "logistic regression, one-hot, standardized", "scikit-learn",
            peers.fit_logistic, "LogisticRegression, defaults, max_iter=5000", versions,
        ),
        Contestant(
            "sklearn-naive-bayes", "GaussianNB and CategoricalNB together", "scikit-learn",
            peers.fit_two_bayes, "defaults; missing numbers: mean, missing levels: a level",
            versions,
        ),
    ]  # fmt: skip


def _libraries() -> list[Contestant]:
    about = [
        ("lightgbm", "gradient-boosted trees", "LightGBM", peers.fit_lightgbm, ("lightgbm",)),
        ("khiops", "selective naive Bayes", "Khiops", peers.fit_khiops, ("khiops", "khiops-core")),
        ("catboost", "gradient-boosted trees", "CatBoost", peers.fit_catboost, ("catboost",)),
        ("ebm", "explainable boosting machine", "InterpretML", peers.fit_ebm, ("interpret-core",)),
    ]
    return [
        Contestant(
            name, words, origin, fit, "defaults, one thread", partial(_installed, *needs),
            _TOGETHER, heavy=True,
        )
        for name, words, origin, fit, needs in about
    ]  # fmt: skip


def _weka_models() -> list[Contestant]:
    return [
        _weka("weka-naive-bayes", "naive Bayes, MDL cuts", _NAIVE_BAYES, "-D"),
        _weka(
            "weka-tan", "tree-augmented naive Bayes", "weka.classifiers.bayes.BayesNet", "-D", "-Q",
            "weka.classifiers.bayes.net.search.local.TAN", "--", "-S", "BAYES",
        ),
        _weka(
            "weka-aode", "AODE, MDL cuts", "weka.classifiers.meta.FilteredClassifier", "-F",
            _DISCRETIZE, "-W", "weka.classifiers.bayes.AODE", find_jar=weka.aode_jar,
        ),
        _weka("weka-j48", "C4.5 tree", "weka.classifiers.trees.J48"),
        _weka("weka-ibk", "5 nearest neighbors", "weka.classifiers.lazy.IBk", "-K", "5"),
    ]  # fmt: skip


#: Our models and those of Weka that do the same.
COUNTERPARTS = {
    "naive-bayes": "weka-naive-bayes",
    "tan": "weka-tan",
    "aode": "weka-aode",
    "tree": "weka-j48",
    "neighbors": "weka-ibk",
}


def find_contestants(wanted: Iterable[str] = ()) -> list[Contestant]:
    """Return the models of these names; ``ours`` and ``peers`` name groups.

    Without names: our usual models, the class shares, and scikit-learn's.
    """
    every = all_contestants()
    ours = [name for name in every if name in (*OURS, "neighbors-auto")]
    light = ["majority", "sklearn-forest", *(one.name for one in _scikit_learn())]
    groups = {
        "ours": ours,
        "peers": [name for name, one in every.items() if one.heavy],
        "all": [*ours, *light, *(name for name, one in every.items() if one.heavy)],
    }
    names: list[str] = []
    for word in [word for word in wanted if word.strip()] or ["ours", *light]:
        if word not in groups and word not in every:
            known = [*groups, *every]
            raise ParameterError(
                f"accuracy: a model must be one of {listing(known, 60)}; got {word!r}."
                f"{did_you_mean(word, known)}"
            )
        names += groups.get(word, [word])
    return [every[name] for name in dict.fromkeys(names)]
