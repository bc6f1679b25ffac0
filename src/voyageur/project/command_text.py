"""A line of a shell script as a command for the spec, which knows no shell: its variables must be ours, or none."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

_PROGRAM = re.compile(
    r"(?:.*/)?(?:python[\d.]*|torchrun|accelerate|deepspeed|julia|Rscript|matlab|bash|sh|singularity|apptainer)"
    r"|\.{1,2}/.+"
)
_OURS = {"SLURM_TMPDIR": "{tmp}", "scratch_dir": "{scratch}", "source_dir": "."}
_IN_EVERY_RUN = re.compile(r"HOME|USER|SCRATCH|project_name|exp_name|SLURM_\w+")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_SHELL_ONLY = re.compile(r"[|;&<>`]|\$\(|\$\{\w+[^\w}]")


class Line(NamedTuple):
    """The command's text as it would stand in the file; why it cannot stand there as it is, if so."""

    text: str
    obstacle: str = ""


def lines_of(script: str) -> list[str]:
    """Lines as the shell reads them: those that end in a backslash go on."""
    joined = re.sub(r"\\\n\s*", " ", script)
    return [line.strip() for line in joined.splitlines()]


def find_command(script: str) -> Line | None:
    """The last line that starts a program: what comes before prepares it."""
    for line in reversed(lines_of(script)):
        if line and not line.startswith("#") and (found := command_in(line)):
            return found
    return None


def command_in(line: str) -> Line | None:
    """What `srun --ntasks=4 python train.py` starts; starting it on the nodes is the launch's work."""
    try:
        words = shlex.split(line, comments=True, posix=False)
    except ValueError:
        return None
    words = words[1:] if words and words[0] in ("exec", "time") else words
    if not words or not (_PROGRAM.fullmatch(words[0]) or words[0] in ("srun", "mpirun", "mpiexec")):
        return None
    start = next((place for place, word in enumerate(words) if _PROGRAM.fullmatch(word)), None)
    return _for_spec(" ".join(words[start:])) if start is not None else None


def _for_spec(text: str) -> Line:
    text = _VARIABLE.sub(lambda match: _OURS.get(match[1] or match[2], match[0]), text)
    text = re.sub(r"\s*&?\s*$", "", text)
    if _SHELL_ONLY.search(_without_quoted(text)):
        return Line(text, "it needs a shell: put it into a script of its own and start that with bash")
    unknown = [name for name in _variables(text) if not _IN_EVERY_RUN.fullmatch(name)]
    if unknown:
        return Line(text, f"${unknown[0]} is set by the script: write its value instead")
    return Line(f"bash -c {shlex.quote('exec ' + text)}" if _variables(text) else text)


def _variables(text: str) -> list[str]:
    return [match[1] or match[2] for match in _VARIABLE.finditer(re.sub(r"'[^']*'", "", text))]


def _without_quoted(text: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
