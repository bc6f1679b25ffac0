"""What a command line does, whether a shell script has it, a notebook behind `!`, or Python in subprocess.run()."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from voyageur.readiness.downloads import host_of, is_address
from voyageur.readiness.libraries import LAUNCHERS
from voyageur.readiness.listed import listed
from voyageur.readiness.model import Kind


class Deed(NamedTuple):
    kind: Kind
    name: str
    text: str = ""
    family: str = ""


_PREFIXES = listed(
    "sudo exec time nohup command env nice stdbuf then do else ! { srun mpirun mpiexec torchrun deepspeed horovodrun"
    " xvfb-run singularity apptainer uv poetry pipenv pixi run accelerate launch"
)
_CHANGES = frozenset({"install", "create", "update"})
_CONDA = frozenset({"conda", "mamba", "micromamba"})
_SYSTEM = frozenset({"apt", "apt-get", "yum", "dnf", "brew", "apk", "zypper"})
_FETCHERS = {
    ("git", "clone"): "url",
    ("git", "pull"): "url",
    ("git", "fetch"): "url",
    ("huggingface-cli", "download"): "hf",
    ("hf", "download"): "hf",
    ("aws", "s3"): "url",
    ("gsutil", "cp"): "url",
    ("gsutil", "rsync"): "url",
    ("kaggle", "datasets"): "url",
    ("kaggle", "competitions"): "url",
    ("rclone", "copy"): "url",
}


def deeds(words: Sequence[str]) -> list[Deed]:
    """One command may be several things: `srun python train.py` starts a program, and is a launcher."""
    found = [Deed(Kind.SPREADS, word) for word in words[:3] if os.path.basename(word) in LAUNCHERS][:1]
    own = _own_words(words)
    if own and (deed := _deed(os.path.basename(own[0]), own)):
        found.append(deed)
    return found


def _own_words(words: Sequence[str]) -> list[str]:
    """Without what stands in front: variables, launchers and their options."""
    rest = list(words)
    if rest[:2] in (["uv", "pip"], ["uv", "run"]) and rest[1] == "pip":
        return rest[1:]
    launched = False
    while rest:
        head = os.path.basename(rest[0])
        is_variable = "=" in rest[0] and rest[0].partition("=")[0].replace("_", "a").isalnum()
        if head in _PREFIXES or is_variable or (launched and rest[0].startswith("-")):
            launched = launched or head in _PREFIXES
            rest.pop(0)
        elif launched and not _is_program(rest[0]) and any(_is_program(word) for word in rest[1:]):
            rest.pop(0)  # an option's value, as the 4 of `-n 4`
        else:
            break
    return rest


def _is_program(word: str) -> bool:
    return os.path.basename(word).startswith(("python", "bash", "pip")) or word.endswith((".py", ".sh"))


def _deed(program: str, words: list[str]) -> Deed | None:
    line = " ".join(words)
    second = words[1] if len(words) > 1 else ""
    if program.startswith("python") or program == "sys.executable":
        return _python(words)
    if program.startswith("pip") and second in ("install", "download", "wheel"):
        return Deed(Kind.INSTALL, f"pip {second}", line, "pip")
    if program in _CONDA and _CHANGES & set(words[1:3]):
        return Deed(Kind.INSTALL, f"{program} {second}", line, "conda")
    if (program in _CONDA and second == "activate") or words[:2] == ["source", "activate"]:
        return Deed(Kind.CONDA, f"{program} activate", line)
    if program == "module" and second in ("load", "add") and "conda" in line:
        return Deed(Kind.CONDA, line, line)
    if program in _SYSTEM and "install" in words[1:4]:
        return Deed(Kind.INSTALL, f"{program} install", line, "system")
    return _other(program, second, words, line)


def _other(program: str, second: str, words: list[str], line: str) -> Deed | None:
    if program in ("wget", "curl"):
        address = next((word for word in words if "://" in word), "")
        return Deed(Kind.DOWNLOAD, program, line, "url") if is_address(address) else None
    if program == "gdown":
        return Deed(Kind.DOWNLOAD, program, line, "url")
    if family := _FETCHERS.get((program, second)):
        return Deed(Kind.DOWNLOAD, f"{program} {second}", line, family)
    if program == "sbatch":
        return Deed(Kind.SBATCH, "sbatch", line)
    if program == "read" and any(word.startswith("-") and "p" in word for word in words[1:3]):
        return Deed(Kind.ASK, "read -p", line)
    if program in ("bash", "sh", "source", "."):
        return Deed(Kind.STARTS, program, next((word for word in words[1:] if not word.startswith("-")), ""))
    return Deed(Kind.STARTS, program, words[0]) if words[0].endswith((".py", ".sh")) else None


def _python(words: list[str]) -> Deed | None:
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        if word == "-m" and rest:
            if rest[0] == "pip":
                return _deed("pip", rest)
            if rest[0].startswith(("torch.distributed", "accelerate")):
                rest.pop(0)
                file = next((word for word in rest if word.endswith(".py")), "")
                return Deed(Kind.STARTS, "python", file)
            return Deed(Kind.STARTS, "python -m", rest[0])
        if word in ("-c", "-"):
            return None
        if not word.startswith("-"):
            return Deed(Kind.STARTS, "python", word)
    return None


def host(deed_text: str) -> str:
    return next((host_of(word) for word in deed_text.split() if "://" in word), "")
