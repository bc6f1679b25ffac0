"""The shell that tools run in: with the modules of the environment, and without what this shell happened to have."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from voyageur.errors import RunError, SpecError

_START = b"\0voyageur: environment\0"
_PATIENCE = 120.0
# What an active environment, conda or a user's own packages would add to what is asked.
_STRANGE = ("VIRTUAL_ENV", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "CONDA_PREFIX", "PIP_REQUIRE_VIRTUALENV")
_ALWAYS = {"PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1", "PIP_NO_INPUT": "1", "UV_NO_PROGRESS": "1"}
_LOAD = """
if [ "$#" -gt 1 ]; then
    type module >/dev/null 2>&1 || { echo "voyageur: no modules" >&2; exit 97; }
    [ "$1" = purge ] && module purge >/dev/null 2>&1
    shift
    for name in "$@"; do
        module load "$name" || { echo "voyageur: missing $name" >&2; exit 98; }
        # Modules before 4.1 answer 0 also for what they do not have.
        [ -n "${LMOD_VERSION:-}${MODULES_CMD:-}" ] && continue
        case ":${LOADEDMODULES:-}" in
            *":$name"*) ;;
            *) echo "voyageur: missing $name" >&2; exit 98 ;;
        esac
    done
fi
printf '\\0voyageur: environment\\0'
exec env -0
"""


class Answer(Struct, frozen=True, kw_only=True):
    code: int
    output: str
    errors: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def all(self) -> str:
        return "\n".join(filter(None, [self.output.strip(), self.errors.strip()]))


class Shell(Struct, frozen=True, kw_only=True):
    """`tmp` is where the tools put what they need for a moment."""

    variables: dict[str, str]
    tmp: Path

    def run(
        self, argv: Sequence[str], *, patience: float | None = None, folder: Path | None = None, **more: str
    ) -> Answer:
        """The answer; 127 where there is no such program, 124 where none came in time."""
        try:
            done = subprocess.run(
                list(argv),
                env={**self.variables, **more},
                cwd=folder or self.tmp,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=patience,
            )
        except FileNotFoundError as problem:
            return Answer(code=127, output="", errors=str(problem))
        except subprocess.TimeoutExpired:
            return Answer(code=124, output="", errors=f"{argv[0]} gave no answer in {patience:.0f} s")
        return Answer(code=done.returncode, output=_text(done.stdout), errors=_text(done.stderr))

    def having(self, variables: Mapping[str, str]) -> Shell:
        return Shell(variables={**self.variables, **variables}, tmp=self.tmp)

    def find(self, program: str) -> str | None:
        import shutil

        return shutil.which(program, path=self.variables.get("PATH"))


def open_shell(modules: Sequence[str], purge: bool, environment: Mapping[str, str], tmp: Path) -> Shell:
    """Raises SpecError for a module that there is not."""
    variables = _cleaned(environment)
    if modules:
        variables = _loaded(modules, purge, variables)
    else:
        variables.pop("PYTHONPATH", None)
    return Shell(variables={**variables, **_ALWAYS, "TMPDIR": str(tmp)}, tmp=tmp)


def _cleaned(environment: Mapping[str, str]) -> dict[str, str]:
    """An active virtual environment must not be taken for the Python that another one stands on."""
    kept = {name: value for name, value in environment.items() if name not in _STRANGE}
    strange = {os.path.join(environment[name], "bin") for name in _STRANGE if environment.get(name)}
    path = [folder for folder in environment.get("PATH", os.defpath).split(":") if folder not in strange]
    return {**kept, "PATH": ":".join(path)}


def _loaded(modules: Sequence[str], purge: bool, variables: Mapping[str, str]) -> dict[str, str]:
    argv = ["bash", "-lc", _LOAD, "bash", "purge" if purge else "keep", *modules]
    try:
        done = subprocess.run(
            argv, env=dict(variables), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise RunError("the modules could not be loaded in time", facts=[" ".join(modules)], hint="try again") from None
    if done.returncode or _START not in done.stdout:
        raise _refused(modules, _text(done.stderr))
    pairs = done.stdout.rpartition(_START)[2].split(b"\0")
    return dict(_text(pair).split("=", 1) for pair in pairs if b"=" in pair)


def _refused(modules: Sequence[str], errors: str) -> SpecError:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    if "voyageur: no modules" in lines:
        return SpecError(
            "this machine knows no modules",
            facts=[f"wanted: {' '.join(modules)}"],
            hint="leave `env.modules` empty here: `[sites.NAME]` is the place for what is true on one cluster",
        )
    wrong = next((line.partition("missing ")[2] for line in lines if line.startswith("voyageur: missing ")), "")
    facts = [line for line in lines if not line.startswith("voyageur:")][:4]
    name = wrong or modules[-1]
    hint = f"`module spider {name.split('/')[0]}` lists the versions there are; write one into `env.modules`"
    return SpecError(f"the module {name} could not be loaded", facts=facts, hint=hint)


def _text(answer: bytes) -> str:
    return answer.decode("utf-8", "replace")
