from pathlib import Path

import pytest

from tests.workshop.bench import WorkBench


@pytest.fixture(params=["uv", "pip"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> WorkBench:
    """Both tools do the same."""
    return WorkBench(tmp_path, with_uv=request.param == "uv")


@pytest.fixture
def quick(tmp_path: Path) -> WorkBench:
    """With uv alone, where the tool makes no difference."""
    return WorkBench(tmp_path)
