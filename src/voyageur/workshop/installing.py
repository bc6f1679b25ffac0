"""A folder that becomes an environment: made as `venv` makes it, filled by uv or pip, then freed of its place."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from voyageur.env.lock import Lock
from voyageur.env.tools import pip_install_argv, uv_install_argv
from voyageur.errors import RunError
from voyageur.workshop.python import Python, find_pip, find_uv
from voyageur.workshop.room import disk_is_full, is_about_a_full_disk
from voyageur.workshop.shell import Answer, Shell

_PATIENCE = 3600.0
_LITTER = (".gitignore", ".lock", "CACHEDIR.TAG", "include", "share/man")
_OTHER_ACTIVATIONS = re.compile(r"(?i)(activate(\.\w+|_this\.py)|deactivate\.bat|pydoc\.bat)")
_TRAMPOLINE = b"""#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"
' '''
"""
# What pip and uv write for a path that is too long for the kernel's `#!`.
_LONG_START = re.compile(rb"#!/bin/sh\n'''exec' [^\n]*python[^\n]*\n' '''\n")
_START = re.compile(rb"#![^\n]*python[^\n]*\n")
_ACTIVATE = """# `source bin/activate`, wherever this environment lies; `deactivate` undoes it.
deactivate () {
    if [ -n "${_OLD_VIRTUAL_PATH:-}" ]; then
        PATH="$_OLD_VIRTUAL_PATH"
        export PATH
        unset _OLD_VIRTUAL_PATH
    fi
    unset VIRTUAL_ENV
    hash -r 2>/dev/null
    [ "${1:-}" = nondestructive ] || unset -f deactivate
}
deactivate nondestructive
VIRTUAL_ENV="$(cd -- "$(dirname -- "${BASH_SOURCE[0]:-$0}")/.." >/dev/null && pwd)"
export VIRTUAL_ENV
_OLD_VIRTUAL_PATH="$PATH"
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
unset PYTHONHOME
hash -r 2>/dev/null
"""
# What is compiled beside what shows in the bytes, so each process has always the same share of the files.
_COMPILE = """
import os, py_compile, sys
folder, share, of = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
sources = sorted(
    os.path.join(root, name) for root, _, names in os.walk(folder) for name in names if name.endswith(".py")
)
for source in sources[share::of]:
    try:
        py_compile.compile(source, dfile=os.path.relpath(source, folder), doraise=True, quiet=2, invalidation_mode=mode)
    except Exception:
        continue
"""
_SHARES = 4


def packages_folder(folder: Path, python: Python) -> Path:
    return folder / "lib" / f"python{python.target.python}" / "site-packages"


def lay_out(folder: Path, python: Python) -> None:
    """What `python -m venv --without-pip` makes, less what names its place."""
    packages_folder(folder, python).mkdir(parents=True)
    (folder / "bin").mkdir()
    lay_out_scripts(folder, python)


def lay_out_scripts(folder: Path, python: Python) -> None:
    os.symlink("lib", folder / "lib64")
    os.symlink(python.base, folder / "bin" / "python")
    for name in ("python3", f"python{python.target.python}"):
        os.symlink("python", folder / "bin" / name)
    _write_configuration(folder, python)


def sees_beneath(folder: Path) -> bool:
    """Does a virtual environment have the packages of the Python that it stands on, too?"""
    path = folder / "pyvenv.cfg"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return re.search(r"(?im)^\s*include-system-site-packages\s*=\s*true\s*$", text) is not None


def _write_configuration(folder: Path, python: Python) -> None:
    beneath = "true" if sees_beneath(folder) else "false"
    lines = [f"home = {os.path.dirname(python.base)}", f"include-system-site-packages = {beneath}"]
    lines += [f"version = {python.version}", "relocatable = true"]
    (folder / "pyvenv.cfg").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def install(
    shell: Shell, python: Python, lock: Lock, files: Mapping[str, Path], folder: Path, with_uv: bool = True
) -> str:
    """From the gathered files alone. Returns what did it."""
    wheels, listed = shell.tmp / "wheels", shell.tmp / "lock.txt"
    wheels.mkdir(exist_ok=True)
    for name, path in files.items():
        os.symlink(path.absolute(), wheels / name)
    listed.write_text("".join(f"{one} --hash=sha256:{one.sha256}\n" for one in lock.packages), encoding="utf-8")
    own = str(folder / "bin" / "python")
    if with_uv and (uv := find_uv(shell)):
        answer = shell.run(
            uv_install_argv(uv, own, str(listed), str(wheels), str(shell.tmp / "cache")), patience=_PATIENCE
        )
        tool = "uv"
    else:
        tool = "pip"
        answer = _by_pip(shell, python, own, listed, wheels)
    shutil.rmtree(shell.tmp / "cache", ignore_errors=True)
    if not answer.ok:
        raise _not_installed(answer, lock)
    return tool


def _by_pip(shell: Shell, python: Python, own: str, listed: Path, wheels: Path) -> Answer:
    pip = find_pip(shell, python)
    if pip is None:
        raise RunError(
            "there is neither uv nor pip here to install packages with",
            facts=[f"{python.base} has {'pip ' + python.pip if python.pip else 'no pip'}; 22.3 or newer is wanted"],
            hint="`python -m pip install uv` beside voyageur brings one",
        )
    argv = pip_install_argv([*pip, "--python", own], str(listed), str(wheels))
    return shell.run(argv, patience=_PATIENCE, PIP_CONFIG_FILE=os.devnull, PIP_FIND_LINKS=str(wheels))


def _not_installed(answer: Answer, lock: Lock) -> RunError:
    lines = [line.strip() for line in answer.all.splitlines() if line.strip()]
    if is_about_a_full_disk(answer.all):
        return disk_is_full(lines[-2:])
    named = next((str(one) for one in lock.packages for line in lines if one.file in line or str(one) in line), "")
    what = f"{named} could not be installed" if named else "the packages could not be installed"
    return RunError(what, facts=lines[-6:], hint="mend what is named, then `voy env lock` and `voy env build`")


# ── free of its place ────────────────────────────────────────────────────────────────────────────────────────────────


def set_free(folder: Path, python: Python) -> None:
    """Scripts find their Python beside themselves; nothing names the folder that it was made in."""
    for name in _LITTER:
        _remove(folder / name)
    free_scripts(folder, folder)
    _write_configuration(folder, python)
    for record in sorted(packages_folder(folder, python).glob("*.dist-info/RECORD")):
        (record.parent / "uv_cache.json").unlink(missing_ok=True)
        _mend_record(record)


def free_scripts(folder: Path, made_in: Path) -> None:
    """Of the place they were made in."""
    for script in sorted((folder / "bin").iterdir()):
        if _OTHER_ACTIVATIONS.fullmatch(script.name):
            script.unlink()
        elif script.is_file() and not script.is_symlink():
            _free_script(script, made_in)
    (folder / "bin" / "activate").write_text(_ACTIVATE, encoding="utf-8")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _free_script(script: Path, folder: Path) -> None:
    content = script.read_bytes()
    match = _LONG_START.match(content) or _START.match(content)
    if match and os.fsencode(folder) in match[0]:
        script.write_bytes(_TRAMPOLINE + content[match.end() :])


def _mend_record(record: Path) -> None:
    """Digests of scripts that were changed; no line for what is gone. uninstallers and `pip check` read it."""
    rows = list(csv.reader(io.StringIO(record.read_text(encoding="utf-8"))))
    packages = record.parent.parent
    kept = []
    for row in rows:
        path = packages / row[0]
        if not os.path.lexists(path):
            continue
        if row[0].startswith("../"):
            row = [row[0], *_digest_and_size(path)]
        kept.append(row)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(sorted(kept))
    record.write_text(out.getvalue(), encoding="utf-8")


def _digest_and_size(path: Path) -> list[str]:
    if not path.is_file():
        return ["", ""]
    content = path.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode("ascii")
    return [f"sha256={digest}", str(len(content))]


def compile_all(shell: Shell, python: Python, folder: Path) -> None:
    """So that a start neither compiles nor asks for the times of sources. What does not compile is left as it is."""
    argv = [python.base, "-I", "-c", _COMPILE, str(packages_folder(folder, python))]
    with ThreadPoolExecutor(max_workers=_SHARES) as pool:
        for share in range(_SHARES):
            pool.submit(shell.run, [*argv, str(share), str(_SHARES)], patience=_PATIENCE)


_TEXTS = (".pth", ".cfg", ".txt", ".json", ".egg-link", "RECORD", "METADATA", "INSTALLER")
_LARGEST = 4 << 20


def names_of_place(folder: Path) -> list[str]:
    """Files that name the folder which the environment was made in: elsewhere they would be wrong."""
    place, found = os.fsencode(folder), []
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root) / name
            is_text = root.endswith("/bin") or name.endswith(_TEXTS)
            if is_text and not path.is_symlink() and path.stat().st_size < _LARGEST and place in path.read_bytes():
                found.append(str(path.relative_to(folder)))
    return sorted(found)
