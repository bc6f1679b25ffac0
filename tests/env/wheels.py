"""Tiny wheels, made by hand, so that no test needs a network."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    tag: str = "py3-none-any",
    requires: Sequence[str] = (),
    code: str = "",
    scripts: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> Path:
    """`scripts`: names of commands, and what they call in the module."""
    info, module = f"{name}-{version}.dist-info", name.replace("-", "_")
    entries = "".join(f"{script} = {target}\n" for script, target in (scripts or {}).items())
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{module}/__init__.py": code or f'__version__ = "{version}"\n',
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {one}\n" for one in requires),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
        **({f"{info}/entry_points.txt": f"[console_scripts]\n{entries}"} if entries else {}),
        **(more or {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.replace('-', '_')}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(_entry(file), text)
        lines = [*(f"{file},{_digest(text)},{len(text.encode())}" for file, text in files.items()), f"{info}/RECORD,,"]
        archive.writestr(_entry(f"{info}/RECORD"), "\n".join(lines) + "\n")
    return path


def _entry(file: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(file, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100755 if "/scripts/" in file else 0o100644) << 16
    return entry


def _digest(text: str) -> str:
    found = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={found.decode('ascii')}"
