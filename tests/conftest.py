"""What all tests share: a bounded, repeatable hypothesis, and the UCI sets by name."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

import countwise as cw
from countwise.tables.datasets import find

settings.register_profile(
    "house",
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("house")
# A shell that starts the tests in the background lets them, and what they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


def locate_uci_set(name: str) -> Path:
    """Return the bundled file of a set, else the one in COUNTWISE_DATA; skip without either.

    The target is the last column. No other folder is searched and no network asked.
    """
    sample = find(name)
    if sample.bundled:
        return sample.locate()
    folder = os.environ.get("COUNTWISE_DATA")
    if folder and (path := Path(folder) / sample.file).is_file():
        return path
    pytest.skip(
        f"needs the UCI set {sample.name!r}: set COUNTWISE_DATA to a folder with {sample.file}"
    )


@pytest.fixture(scope="session")
def uci() -> Callable[[str], Path]:
    """Give tests `locate_uci_set`."""
    return locate_uci_set


@pytest.fixture(scope="session")
def credit_frame() -> pd.DataFrame:
    """Rows of credits and their customers, as text and numbers."""
    table = cw.read("sample:credit-g")
    columns = {
        name: cells if table.schema[name].kind == "numeric" else [c and str(c) for c in cells]
        for name, cells in table.to_dict().items()
    }
    frame = pd.DataFrame(columns).head(600)
    frame["customer"] = [f"c{number % 90}" for number in range(600)]
    return frame


@pytest.fixture(scope="session")
def credit_folder(credit_frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in three files."""
    folder = tmp_path_factory.mktemp("parts")
    for at in range(3):
        credit_frame.iloc[200 * at : 200 * (at + 1)].to_parquet(folder / f"part{at}.parquet")
    return folder
