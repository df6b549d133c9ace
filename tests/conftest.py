"""One hypothesis profile for all tests, the same examples in every run; and which tests are slow."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

#: What takes most of the time: replays, statistics, engines, a browser, killed processes, whole figures and pages.
SLOW = (
    "cli/test_killed.py",
    "docs",
    "figures",
    "measurement/discrete_gaussian",
    "measurement/test_what_leaves_the_gate.py",
    "replay",
    "reporting/test_browser.py",
    "sources/test_engines.py",
    "sources/test_spark.py",
    "statistical",
    "test_fuzz.py",
)
_HERE = Path(__file__).parent

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items):
    """Mark the slow tests, so that ``-m "not slow"`` is the quick suite."""
    for item in items:
        if any(item.path.is_relative_to(_HERE / name) for name in SLOW):
            item.add_marker(pytest.mark.slow)
