"""Text compared with a file that holds what it should be: `pytest_plugins = ["tests.golden"]`.

VOY_REWRITE_GOLDEN=1 writes the files anew; read the difference before you commit it.
"""

import os
from collections.abc import Callable

import pytest

Golden = Callable[[str, str], None]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """golden("narval.sh", text) compares with golden/narval.sh beside the test."""
    folder = request.path.parent / "golden"

    def check(name: str, text: str) -> None:
        file = folder / name
        if os.environ.get("VOY_REWRITE_GOLDEN") == "1":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")
        assert file.is_file(), f"there is no {file}; VOY_REWRITE_GOLDEN=1 writes it"
        assert text == file.read_bytes().decode("utf-8")

    return check
