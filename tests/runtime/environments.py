"""Small environments as `voy env build` makes them."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from voyageur.runtime.staging.sums import write_sums

BASE = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined] # the Python below this one's environment

HELLO = """#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python' "$0" "$@"
' '''
import sys
import greeting
print(greeting.WORD, sys.prefix)
"""


def make_folder(folder: Path) -> Path:
    """`bin`, `lib` and `pyvenv.cfg`: one package, one program."""
    subprocess.run([BASE, "-m", "venv", "--without-pip", str(folder)], check=True)
    for link in ("python", "python3"):
        (folder / "bin" / link).unlink(missing_ok=True)
    (folder / "bin" / "python").symlink_to(BASE)
    (folder / "bin" / "python3").symlink_to("python")
    site = next((folder / "lib").glob("python3.*")) / "site-packages"
    (site / "greeting.py").write_text("WORD = 'hello'\n")
    (folder / "bin" / "hello").write_text(HELLO)
    (folder / "bin" / "hello").chmod(0o755)
    return folder


def make_tar(folder: Path, path: Path) -> Path:
    with tarfile.open(path, "w") as tar:
        for entry in sorted(folder.iterdir()):
            tar.add(entry, entry.name)
    write_sums(str(path))
    return path


def make_image(folder: Path, path: Path) -> Path:
    assert shutil.which("mksquashfs")
    words = ["mksquashfs", str(folder), str(path), "-quiet", "-no-progress", "-all-root"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    write_sums(str(path))
    return path
