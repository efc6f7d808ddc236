"""Options of reading for the tests of the formats, declared column by column."""

from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import MISSING_MARKS, Column


def options(
    text="",
    number="",
    dates="",
    skip="",
    only=None,
    marks=None,
    every=MISSING_MARKS,
    decimal=None,
    alone=False,
    **how,
):
    """Return options; `alone` leaves out all columns that are not declared, as a schema does."""
    marks, decimal = marks or {}, decimal or {}
    kinds = dict.fromkeys([*marks, *decimal], "infer") | dict.fromkeys(text, "nominal")
    kinds |= dict.fromkeys([*number, *dates], "numeric") | dict.fromkeys(skip, "drop")
    if only is not None:
        left_out = {name: "drop" for name in kinds if name not in only}
        kinds = dict.fromkeys(only, "infer") | kinds | left_out
        alone = True
    columns = {
        name: Column(
            name,
            kind,
            missing=marks.get(name, every),
            dates=name in dates,
            decimal=decimal.get(name),
        )
        for name, kind in kinds.items()
    }
    default = Column("", "drop" if alone else "infer", missing=every)
    return ReadOptions(columns, default, **how)
