"""The beds as pytest fixtures: one of each kind for a session, one with accounts, healed after each test.

    pytest_plugins = ["tests.testbed.fixtures"]

Where a bed cannot start, its tests are skipped with the reason; VOYAGEUR_BED_REQUIRED=1 makes them fail.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from .accounts import start_bed_with_accounts
from .bed import Bed, start_bed
from .layout import Kind
from .requirements import why_not


def _session_bed(kind: Kind, start: Callable[[], AbstractContextManager[Bed]] | None = None) -> Iterator[Bed]:
    reason = why_not(kind)
    if reason is None:
        with start() if start else start_bed(kind) as bed:
            yield bed
    elif os.environ.get("VOYAGEUR_BED_REQUIRED"):
        pytest.fail(reason, pytrace=False)
    else:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def session_bed_s() -> Iterator[Bed]:
    yield from _session_bed("S")


@pytest.fixture(scope="session")
def session_bed_p() -> Iterator[Bed]:
    yield from _session_bed("P")


@pytest.fixture(scope="session")
def session_bed_with_accounts() -> Iterator[Bed]:
    yield from _session_bed("P", start_bed_with_accounts)


@pytest.fixture
def bed_s(session_bed_s: Bed) -> Iterator[Bed]:
    yield session_bed_s
    session_bed_s.heal()


@pytest.fixture
def bed_p(session_bed_p: Bed) -> Iterator[Bed]:
    yield session_bed_p
    session_bed_p.heal()


@pytest.fixture
def bed_with_accounts(session_bed_with_accounts: Bed) -> Iterator[Bed]:
    """Of kind P, with accounts, shares and limits that Slurm enforces."""
    yield session_bed_with_accounts
    session_bed_with_accounts.heal()


@pytest.fixture(params=["S", "P"])
def bed(request: pytest.FixtureRequest) -> Bed:
    """The same test on both kinds."""
    name = {"S": "bed_s", "P": "bed_p"}[request.param]
    found: Bed = request.getfixturevalue(name)
    return found
