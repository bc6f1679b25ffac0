"""An environment that is made on each node when the run starts, from the site's wheels; for those who ask for it."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import time
from typing import Iterator, List, Mapping, Tuple

from voyageur.runtime.environment import EnvironmentProblem, Wish
from voyageur.runtime.log import say
from voyageur.runtime.node_folder import NodeFolder, remove_tree
from voyageur.runtime.staging.aboard import Pause, Stopped

_FOLDER = "environment"
_MADE = ".made"
_TAIL = 4  # lines of what pip said


def make(wish: Wish, variables: Mapping[str, str], place: NodeFolder, pause: Pause) -> str:
    """The folder it is in. Once a node: the first task to come makes it, the others wait."""
    folder = os.path.join(place.path, _FOLDER)
    with _gate(folder + ".gate", pause):
        if not os.path.exists(os.path.join(folder, _MADE)):
            begun = time.monotonic()
            remove_tree(folder)
            for words in _steps(wish, folder, variables, place.code):
                _run(words, variables, place, pause)
            open(os.path.join(folder, _MADE), "w").close()
            say("the environment was made on this node in %.1f s" % (time.monotonic() - begun))
    return folder


@contextlib.contextmanager
def _gate(path: str, pause: Pause) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not pause(0.1):
                    raise Stopped() from None
        yield
    finally:
        os.close(descriptor)


def _steps(wish: Wish, folder: str, variables: Mapping[str, str], code: str) -> Iterator[List[str]]:
    yield [*_maker(wish, variables), folder]
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-input", "--no-cache-dir"]
    pip += ["--disable-pip-version-check", *([] if wish.online else ["--no-index"])]
    pip += ["--no-deps", "--require-hashes"] if wish.locked else []
    for folder in wish.wheels:
        pip += ["--find-links", os.path.join(code, folder)]
    for file in wish.requirements:
        pip += ["-r", os.path.join(code, file)]
    yield pip


def _maker(wish: Wish, variables: Mapping[str, str]) -> List[str]:
    path = variables.get("PATH")
    names = ("python" + wish.base,) if wish.base else ("python3", "python")
    python = next(filter(None, (shutil.which(name, path=path) for name in names)), None)
    if python is None:
        raise EnvironmentProblem(
            "there is no %s on this node; name the module that brings it in [env] modules" % names[0]
        )
    virtualenv = shutil.which("virtualenv", path=path)
    return [virtualenv, "--quiet", "--no-download", "--python", python] if virtualenv else [python, "-m", "venv"]


def _run(words: List[str], variables: Mapping[str, str], place: NodeFolder, pause: Pause) -> None:
    code, said = _ended(words, variables, place, pause)
    if code != 0:
        raise EnvironmentProblem("the environment cannot be made on this node: %s" % _what_counts(said, code))


def _ended(words: List[str], variables: Mapping[str, str], place: NodeFolder, pause: Pause) -> Tuple[int, str]:
    log = os.path.join(place.path, _FOLDER + ".log")
    with open(log, "wb") as file:
        process = subprocess.Popen(
            words, env=dict(variables), cwd=place.code, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            while process.poll() is None:
                if not pause(0.05):
                    raise Stopped()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    with open(log, encoding="utf-8", errors="replace") as lines:
        return process.returncode, lines.read()


def _what_counts(said: str, code: int) -> str:
    """Of all that pip prints, the lines that name a package."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if changed := [number + 1 for number, line in enumerate(lines[:-1]) if "DO NOT MATCH THE HASHES" in line]:
        return "%s is not the file that was locked" % lines[changed[0]].rstrip(":")
    errors = [line.split("ERROR:", 1)[1].strip() for line in lines if "ERROR:" in line]
    return "; ".join(errors[-2:] or lines[-_TAIL:]) or "it ended with %d" % code
