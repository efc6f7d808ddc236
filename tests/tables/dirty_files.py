"""Ten dirty files as people have them, made of a seed; each is written in any format."""

import json
import zipfile

import numpy as np
import pandas as pd
import xlsxwriter

ROWS = 120


def dollars(number):
    return f"${number:,.2f}"


def euros(number):
    return f"{number:,.2f} €".translate(str.maketrans(",.", ".,"))


def labels():
    return ["yes" if k % 3 else "no" for k in range(ROWS)]


def amounts(seed=0):
    return np.random.default_rng(seed).normal(20_000, 8_000, ROWS).round(2).tolist()


def moments():
    start = pd.Timestamp("2020-01-05 06:00")
    hours = np.random.default_rng(1).integers(0, 24 * 800, ROWS).tolist()
    return [start + pd.Timedelta(hours=int(k)) for k in hours]


def with_marks(cells, marks):
    """Put each of the marks into one of the cells, five rows apart."""
    every = list(cells)
    for at, mark in enumerate(marks):
        every[5 * at + 2] = mark
    return every


def plain(numbers):
    return [f"{number:.2f}" for number in numbers]


MARKS = ("-", ".", "#N/A", "None", "n/a", "NULL", "?", "")

#: The content of the ten files, by what is dirty about them.
DIRTY = {
    "dollars": {"income": [dollars(n) for n in amounts()]},
    "euros": {"income": [euros(n) for n in amounts()]},
    "thousands": {"units": [f"{abs(int(n)):,}" for n in amounts()]},
    "percent": {"rate": [f"{k * 7 % 101}%" for k in range(ROWS)]},
    "local dates": {"sold": [f"{moment:%d.%m.%Y}" for moment in moments()]},
    "times": {"sold": [f"{moment:%m/%d/%Y %H:%M}" for moment in moments()]},
    "marks": {"income": with_marks(plain(amounts()), MARKS)},
    "labels": {"island": [("Dream", "DREAM", " dream", "Biscoe")[k % 4] for k in range(ROWS)]},
    "codes": {"zip": [f"{k * 37 % 60:05d}" for k in range(ROWS)]},
    "identifiers": {"customer": [f"K-{k:03d}-{'xyz'[k % 3]}" for k in range(ROWS)]},
}


def content(name):
    """Return the columns of one of the files as texts, with a measured column and the class."""
    return {**DIRTY[name], "size": plain([k % 17 / 4 for k in range(ROWS)]), "class": labels()}


def write_csv(path, columns, above=""):
    def cell(text):
        quoted = '"' + text.replace('"', '""') + '"'
        return quoted if any(sign in text for sign in ',"\n') else text

    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    lines = [",".join(cell(text) for text in row) for row in rows]
    path.write_text(above + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def to_frame(columns):
    """Return a pandas frame: texts, but the measured column as numbers and blanks as None."""
    frame = pd.DataFrame(
        {name: [cell or None for cell in cells] for name, cells in columns.items()}
    )
    return frame.assign(size=frame["size"].astype(float))


def write(path, columns):
    """Write the columns in the format that the extension says, numbers as the format has them."""
    if path.suffix == ".csv":
        return write_csv(path, columns)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(write_csv(path.with_suffix(".csv"), columns), "inside.csv")
        return path
    frame = to_frame(columns)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".xlsx":
        book = xlsxwriter.Workbook(path)
        sheet = book.add_worksheet("data")
        for at, name in enumerate(frame.columns):
            sheet.write_string(0, at, name)
            for row, cell in enumerate(frame[name].tolist(), start=1):
                if isinstance(cell, str):
                    sheet.write_string(row, at, cell)
                elif cell is not None and cell == cell:
                    sheet.write_number(row, at, cell)
        book.close()
    return path
