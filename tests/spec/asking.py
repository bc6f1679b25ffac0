"""A user's files in a folder, read as `voy` reads them."""

from pathlib import Path

import pytest

from voyageur.errors import VoyageurError
from voyageur.spec import Given, Spec, read_spec


class Asking:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "weather"
        self.folder.mkdir()
        self.user_file = folder / "config.toml"

    def project(self, text: str) -> "Asking":
        (self.folder / "voyageur.toml").write_text(text, encoding="utf-8")
        return self

    def pyproject(self, text: str) -> "Asking":
        (self.folder / "pyproject.toml").write_text(text, encoding="utf-8")
        return self

    def user(self, text: str) -> "Asking":
        self.user_file.write_text(text, encoding="utf-8")
        return self

    def spec(
        self,
        flags: dict[str, Given] | None = None,
        variables: dict[str, str] | None = None,
        *,
        inside: str = ".",
        config: Path | None = None,
    ) -> Spec:
        return read_spec(
            folder=self.folder / inside if inside != "." else self.folder,
            flags=flags or {},
            environment=variables or {},
            config=config,
            user_file=self.user_file,
        )

    def error(self, flags: dict[str, Given] | None = None, variables: dict[str, str] | None = None) -> str:
        """What the user would read, without the name of the folder that this test was given."""
        with pytest.raises(VoyageurError) as caught:
            self.spec(flags, variables)
        assert caught.value.exit_code == 2
        return caught.value.text().replace(str(self.folder.parent), "…")
