"""What all tests share: a bounded, repeatable hypothesis, and the UCI sets by name."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from countwise.tables.datasets import find

settings.register_profile(
    "house",
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("house")


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
