"""A site's own commands on the PATH of a test, as `saldo` or `diskusage_report`: each says what the real one said.

    commands = SiteCommands(tmp_path / "site")
    commands.say("saldo", recorded("saldo-leonardo.txt"), arguments=["-b"])
    place.environment["PATH"] = commands.path(place.environment["PATH"])
    ...
    assert commands.asked("saldo") == ["-b"]

With `arguments` an answer is for these alone; without, for all others. One that nobody gave an answer for fails, as a
real command does that does not know an option.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "recorded"

_SCRIPT = """\
#!/bin/bash
echo "$*" >> {asked}
answer={answers}/"${{*//\\//_}}"
[ -e "$answer.sh" ] || answer={answers}/any
[ -e "$answer.sh" ] || {{ echo "{command}: unknown option: $*" >&2; exit 64; }}
source "$answer.sh"
"""


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


class SiteCommands:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True)

    def say(
        self, command: str, output: str, *, arguments: Sequence[str] | None = None, errors: str = "", code: int = 0
    ) -> None:
        lines = [f"printf %s {shlex.quote(output)}", f"printf %s {shlex.quote(errors)} >&2", f"exit {code}"]
        self._answer(command, arguments, lines)

    def hang(self, command: str, *, arguments: Sequence[str] | None = None, after: str = "") -> None:
        """It prints the beginning of an answer, perhaps, and then nothing more until somebody ends it."""
        self._answer(command, arguments, [f"printf %s {shlex.quote(after)}", "exec sleep 600"])

    def asked(self, command: str) -> list[str]:
        """The arguments of each call, as one line."""
        file = self.folder / ".asked" / command
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def path(self, behind: str = "/usr/bin:/bin") -> str:
        return f"{self.folder}:{behind}"

    def _answer(self, command: str, arguments: Sequence[str] | None, lines: Sequence[str]) -> None:
        asked, answers = self.folder / ".asked" / command, self.folder / ".answers" / command
        for folder in (asked.parent, answers):
            folder.mkdir(parents=True, exist_ok=True)
        which = "any" if arguments is None else " ".join(arguments).replace("/", "_")
        (answers / f"{which}.sh").write_text("\n".join([*lines, ""]), encoding="utf-8")
        script = self.folder / command
        script.write_text(_SCRIPT.format(asked=asked, answers=answers, command=command), encoding="utf-8")
        script.chmod(0o755)


@pytest.fixture
def site_commands(tmp_path: Path) -> SiteCommands:
    return SiteCommands(tmp_path / "site-commands")
