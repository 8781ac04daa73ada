"""For all tests: a machine that is busy with something else is no failure, and a sample of the tests may be asked for."""

import os

import pytest
from hypothesis import settings

from support.thoroughly import sample, today

settings.register_profile("phalanx", deadline=None)
settings.load_profile("phalanx")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where the environment variable SAMPLE is n, every n-th test, others on every day (`make pythons`)."""
    items[:], others = sample(items, int(os.environ.get("SAMPLE", "1")), today())
    config.hook.pytest_deselected(items=others)
