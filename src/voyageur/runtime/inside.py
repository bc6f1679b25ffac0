"""The program in a container: its command with what only this node knows, and the shell that comes first inside.

The plan says how (voyageur.containers). Variables do not come in on the command line, which everybody on the node may
read, nor through the runtime's own way, which each has its own quoting for: a private file on the node's disk holds
them, and the first shell inside reads it and removes it.
"""

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from voyageur.runtime.folder import RUNTIME
from voyageur.runtime.inherited import STANDARD_PATH
from voyageur.runtime.program import Program, node_name
from voyageur.runtime.staging.wanted import IMAGE

VARIABLE = "VOY_CONTAINER"

# Slurm's, ours, those of MPI starters, and those by which trackers know their user and their run.
_BEGINNINGS = (
    "SLURM_", "SLURMD_", "VOY_", "PMI_", "PMI2_", "PMIX_", "OMPI_", "PRTE_", "HYDRA_", "MPI_LOCAL", "PALS_",
    "WANDB_", "MLFLOW_", "COMET_", "NEPTUNE_", "CLEARML_", "AIM_", "SWANLAB_",
)  # fmt: skip
# Which GPUs, where the ranks meet, who, and the way to the internet where a site has one.
_NAMES = {
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK",
    "MASTER_ADDR", "MASTER_PORT", "USER", "LOGNAME",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
}  # fmt: skip
# The last two: where Slurm's own daemon listens for MPI programs.
_FOLDERS = (
    "scratch_dir", "VOY_CHECKPOINTS", "VOY_RUN_DIR", "VOY_RESULTS_DIR", "VOY_TMP", "SLURM_TMPDIR", "SHORT_TMP",
    "PMIX_SERVER_TMPDIR", "PMIX_SYSTEM_TMPDIR",
)  # fmt: skip
# The image's own, unless the user says otherwise.
_OF_THE_IMAGE = {"PATH", "HOME", "PWD", "PYTHONPATH", "LD_LIBRARY_PATH", VARIABLE}

Json = Dict[str, Any]


class ContainerError(Exception):
    """The container cannot be had as the plan says."""


class Entry(NamedTuple):
    """A command that begins outside. `file` is what the first shell inside reads; empty where there is none."""

    argv: List[str]
    environment: Dict[str, str]
    file: str = ""
    is_hidden: bool = False


def recipe_of(environment: Mapping[str, str]) -> Json:
    found: Json = json.loads(environment.get(VARIABLE) or "{}")
    return found if found.get("words") else {}


def enter(what: Program, asks: bool = False) -> Entry:
    """`asks`: this task looks whether the image has what the launch style needs. Raises ContainerError."""
    recipe = recipe_of(what.environment)
    if not recipe:
        return Entry(what.argv, what.environment)
    container = Container(what, recipe)
    return container.entry(what.argv, asks)


class Container:
    def __init__(self, what: Program, recipe: Json) -> None:
        self.what = what
        self.recipe = recipe
        self.variables = what.environment
        self.place = self.variables["VOY_TMP"]
        self.hides = recipe.get("environment") != "host"
        self.image = self._image()

    def entry(self, argv: List[str], asks: bool = False) -> Entry:
        outside = self._of_ours(argv)
        file = self._first_shell(asks)
        inside = ["/bin/sh", file, *self._with_its_python(argv[len(outside) :])]
        words = [*self._resolved(outside), *self._words(), *inside]
        return Entry(words, self._of_the_runtime(), file, self.hides)

    # ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────

    def _words(self) -> List[str]:
        program = self._program()
        known = {
            "IMAGE": self.image,
            "HOME": self._home(),
            "FOLDER": self.what.folder,
            "RC": self._entrypoint(),
        }
        found = [program]
        for word in self.recipe["words"][1:]:
            if word == "{BINDS}":
                found += self._bind_words()
            else:
                found.append(_filled(word, known))
        return found

    def _program(self) -> str:
        name: str = self.recipe["words"][0]
        found = shutil.which(name, path=self.variables.get("PATH"))
        if not found:
            hint = "; name the module that brings it in [env] modules"
            raise ContainerError("there is no `%s` on %s%s" % (name, node_name(self.variables), hint))
        return found

    def _bind_words(self) -> List[str]:
        pairs = self.binds()
        if self.recipe.get("makes_mount_points"):
            for _, path in pairs:
                self._make_mount_point(path)
        return [_filled(word, {"FROM": source, "TO": path}) for source, path in pairs for word in self.recipe["bind"]]

    def _make_mount_point(self, path: str) -> None:
        if not os.path.isdir(self.image):
            raise ContainerError("there is no folder %s on %s" % (self.image, node_name(self.variables)))
        try:
            os.makedirs(_below(self.image, path), exist_ok=True)
        except OSError as problem:
            raise ContainerError(
                "%s has no folder %s, and none can be made in it: %s" % (self.recipe["said"], path, problem.strerror)
            ) from None

    def _of_ours(self, argv: List[str]) -> List[str]:
        """Where the command begins with our own wrapper of a rank, that stays outside."""
        own = _rank_words(self.variables)
        return own if argv[: len(own)] == own else []

    def _resolved(self, words: List[str]) -> List[str]:
        """By its whole path: the runtime may be started with another PATH."""
        if not words:
            return []
        return [shutil.which(words[0], path=self.variables.get("PATH")) or words[0], *words[1:]]

    def _with_its_python(self, argv: List[str]) -> List[str]:
        """A launcher inside starts our wrapper of a rank inside: with the container's Python, not the node's."""
        own = _rank_words(self.variables)
        for start in range(len(argv)):
            if argv[start : start + len(own)] == own:
                python = argv[0] if re.fullmatch(r"(.*/)?python[\d.]*", argv[0]) else "python3"
                return [*argv[:start], python, *argv[start + 1 :]]
        return argv

    # ── what is seen inside ──────────────────────────────────────────────────────────────────────────────────────────

    def _image(self) -> str:
        if not self.recipe.get("staged"):
            return str(self.recipe["image"])
        self._check_image(self.recipe["image"])
        found: str = self.what.aboard.paths()[IMAGE]
        if self.recipe.get("makes_mount_points") and not os.path.isdir(found):
            raise ContainerError("%s does not fit, unpacked, on the disk of %s" % (found, node_name(self.variables)))
        return found

    def _check_image(self, path: str) -> None:
        """What runs is what was there when the run was submitted. Only a file that looks changed is read once more."""
        digest, stamp = self.recipe.get("sha256"), self.recipe.get("stamp")
        try:
            found = os.stat(path)
            if not digest or [found.st_size, found.st_mtime_ns] == stamp:
                return
            same = _sha256(path) == digest
        except OSError as problem:
            raise ContainerError("the image %s: %s" % (path, problem.strerror)) from None
        if not same:
            raise ContainerError("the image %s is another than when this was submitted; submit it anew" % path)

    def binds(self) -> List[Tuple[str, str]]:
        """From and to. All under their own paths; what is reached through links also under its real one."""
        asked = [_pair(bind) for bind in self.recipe.get("binds", [])]
        for source, _ in asked:
            if not os.path.exists(source):
                raise ContainerError("there is no %s on %s ([env] binds)" % (source, node_name(self.variables)))
        own = [(path, path) for path in self._folders() if os.path.exists(path)]
        pairs: Dict[str, str] = {}
        for source, path in [*own, *asked]:
            real = os.path.realpath(source)
            pairs[path] = real
            if source == path:
                pairs.setdefault(real, real)
        return [(source, path) for path, source in sorted(pairs.items()) if not self._is_seen(path, source, pairs)]

    def _is_seen(self, path: str, source: str, pairs: Dict[str, str]) -> bool:
        """With a folder above it, or because the runtime shows it anyhow."""
        if self.recipe.get("shares_tmp") and (path + "/").startswith("/tmp/"):  # noqa: S108 - nothing is made there
            return True
        above = os.path.dirname(path)
        while above != "/":
            if above in pairs and source == os.path.join(pairs[above], os.path.relpath(path, above)):
                return True
            above = os.path.dirname(above)
        return False

    def _folders(self) -> List[str]:
        found = [self.variables.get(name, "") for name in _FOLDERS]
        return [os.path.normpath(path) for path in [*found, *self.what.aboard.folders()] if os.path.isabs(path)]

    def _home(self) -> str:
        path = os.path.join(self.place, "home")
        os.makedirs(path, 0o700, exist_ok=True)
        return path

    def _entrypoint(self) -> str:
        path = os.path.join(self.place, ".voyageur.rc")
        if not os.path.exists(path):
            _write(path + ".%d" % os.getpid(), 'exec "$@"\n')
            os.rename(path + ".%d" % os.getpid(), path)
        return path

    # ── variables ────────────────────────────────────────────────────────────────────────────────────────────────────

    def passed(self) -> Dict[str, str]:
        """What belongs to the run: what the script sets, what we have set on this node, Slurm's, the trackers'."""
        asked = set(self.recipe.get("pass", []))
        found = {}
        for name, value in self.variables.items():
            ours = os.environ.get(name) != value
            belongs = name in _NAMES or ours or name.startswith(_BEGINNINGS)
            if (name in asked or (belongs and name not in _OF_THE_IMAGE)) and name.isidentifier():
                found[name] = value
        if "PYTHONPATH" in found:
            found["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
        found.update(HOME=self._home(), TMPDIR=self.place)
        return found

    def _of_the_runtime(self) -> Dict[str, str]:
        more = {name: self._placed(str(value)) for name, value in self.recipe.get("variables", {}).items()}
        if self.recipe.get("environment") != "all":
            return {**self.variables, **more}
        kept = self.passed()
        kept.pop("TMPDIR")  # Charliecloud would show that folder as /tmp
        return {"PATH": STANDARD_PATH, "USER": "user", **kept, **more}

    def _placed(self, value: str) -> str:
        """A folder of the runtime's own, in the run's folder on this node."""
        path = value.replace("{TMP}", self.place)
        if path != value:
            os.makedirs(path, 0o700, exist_ok=True)
        return path

    def _first_shell(self, asks: bool) -> str:
        rank = self.variables.get("SLURM_PROCID") or self.variables.get("RANK") or "0"
        path = os.path.join(self.place, ".voyageur.enter-%s-%d" % (rank, os.getpid()))
        number = 0
        while os.path.exists("%s-%d" % (path, number)) or os.path.exists("%s-%d.in" % (path, number)):
            number += 1
        file = "%s-%d" % (path, number)
        _write(file, self._first_words(file, asks))
        return file

    def _first_words(self, file: str, asks: bool) -> str:
        """Plain sh: an image need not have more."""
        exports = self.passed() if self.hides else {}
        runtime = shlex.quote(os.path.join(self.variables["VOY_RUN_DIR"], RUNTIME))
        known = {
            "FILE": shlex.quote(file),
            "IMAGE": shlex.quote(str(self.recipe["said"])),
            "FOLDER": shlex.quote(self.what.folder),
            "EXPORTS": "\n".join("export %s=%s" % (name, shlex.quote(value)) for name, value in exports.items()),
            "PYTHONPATH": 'export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}"%s' % runtime if self.hides else "",
            "NEEDS": self._needs() if asks else "",
        }
        return re.sub(r"@([A-Z]+)@", lambda match: known[match.group(1)], _FIRST_SHELL)

    def _needs(self) -> str:
        python, *modules = shlex.split(self.variables.get("VOY_NEEDS", "")) or [""]
        programs = shlex.split(self.variables.get("VOY_NEEDS_PROGRAMS", ""))
        lines = ["has %s" % shlex.quote(name) for name in programs]
        lines += ["imports %s %s" % (shlex.quote(python), shlex.quote(module)) for module in modules]
        return "\n".join(lines)


_FIRST_SHELL = """\
rm -f @FILE@
: >@FILE@.in
fail() {
    echo "voyageur: $1" >&2
    echo "$1" >@FILE@.problem
    exit 127
}
has() {
    command -v "$1" >/dev/null 2>&1 && return
    other=
    case $1 in python) command -v python3 >/dev/null 2>&1 && other=", but it has \\`python3\\`" ;; esac
    fail "the image "@IMAGE@" has no \\`$1\\`$other"
}
imports() {
    has "$1"
    "$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$2" 2>/dev/null ||
        fail "the Python of the image "@IMAGE@" has no module \\`$2\\`"
}
@EXPORTS@
@PYTHONPATH@
cd @FOLDER@ || fail "the folder "@FOLDER@" cannot be seen in the container"
has "$1"
@NEEDS@
exec "$@"
"""


def explain(entry: Entry, environment: Mapping[str, str]) -> str:
    """Of a command that failed: what the first shell inside has said; or that it never came so far."""
    if not entry.file:
        return ""
    with contextlib.suppress(OSError), open(entry.file + ".problem") as file:
        return file.read().strip()
    if os.path.exists(entry.file + ".in"):
        return ""
    said, program = recipe_of(environment)["said"], os.path.basename(recipe_of(environment)["words"][0])
    return "the container of %s did not start on %s; %s says why above" % (said, node_name(environment), program)


# ── small things ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _rank_words(environment: Mapping[str, str]) -> List[str]:
    runtime = os.path.join(environment.get("VOY_RUN_DIR", ""), RUNTIME)
    return [environment.get("VOY_PYTHON", ""), "-I", runtime, "rank", "--"]


def _pair(bind: str) -> Tuple[str, str]:
    source, _, path = bind.partition(":")
    return os.path.normpath(source), os.path.normpath(path or source)


def _filled(word: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\{([A-Z]+)\}", lambda match: known.get(match.group(1), match.group(0)), word)


def _below(root: str, path: str) -> str:
    """The path inside an image that is a folder; a link in it counts from the image's root, never from ours."""
    found, waiting, steps = root, path.strip("/").split("/"), 0
    while waiting:
        part, steps = waiting.pop(0), steps + 1
        if part == "..":
            found = os.path.dirname(found) if found != root else root
        elif part not in ("", "."):
            found = os.path.join(found, part)
        if os.path.islink(found) and steps < 100:
            target = os.readlink(found)
            found = root if os.path.isabs(target) else os.path.dirname(found)
            waiting = target.strip("/").split("/") + waiting
    return found


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _write(path: str, text: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", errors="surrogateescape") as file:
        file.write(text)
