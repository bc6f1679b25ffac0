"""Fixtures for all tests: a private home, and places where runs really run."""

from pathlib import Path

import pytest

pytest_plugins = ["tests.testbed.fixtures", "tests.place", "tests.site_commands"]

# Where real daemons run, and are killed, a machine of two cores is now and then too slow for a deadline. Such a test is
# tried a second time; the summary counts it as rerun.
REAL = ("behaviour", "faults", "testbed", "launchers")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    for item in items:
        if item.path.relative_to(root).parts[0] in REAL:
            item.add_marker(pytest.mark.flaky(reruns=1))
