"""What all tests share: a bounded, repeatable hypothesis, and where the shared data lie."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "house",
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("house")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The UCI sets beside the project; they may be read by tests, not committed."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    assert folder.is_dir(), "the tests read the UCI sets from ../shared/data, which is not there"
    return folder
