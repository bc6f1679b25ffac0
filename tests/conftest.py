"""Fixtures for all tests: a private home, and places where runs really run."""

pytest_plugins = ["tests.testbed.fixtures", "tests.place", "tests.site_commands"]
