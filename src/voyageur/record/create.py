"""A new run's folder: all of it at once, or nothing."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import time
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from voyageur import __version__
from voyageur.errors import ClusterError
from voyageur.plan import Plan, document
from voyageur.record.run import Record, Run, load
from voyageur.runtime import folder as files
from voyageur.spec import Spec

_ENTRY = "import sys\nfrom voyageur.runtime.main import main\nsys.exit(main(sys.argv[1:]))\n"


class RunExists(Exception):
    """Another run of this id is there already; draw another token."""


def create_run(plan: Plan, spec: Spec, script: str, secret_values: Mapping[str, str]) -> Run:
    """Made under another name and then renamed: an interruption leaves no half-made run."""
    target = Path(plan.folders.run)
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        Path(plan.folders.checkpoints).mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.mkdir(mode=0o700)
        _fill(temporary, plan, spec, script, secret_values)
        _put_in_place(temporary, target)
    except OSError as problem:
        raise ClusterError(
            f"the run's folder cannot be made: {problem.strerror}",
            facts=[str(target)],
            hint="choose another place with `--scratch`, or make room there",
        ) from None
    finally:
        if temporary.exists():
            shutil.rmtree(temporary)
    return load(target)


def _put_in_place(temporary: Path, target: Path) -> None:
    try:
        temporary.rename(target)
    except OSError as problem:
        if problem.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise RunExists from None
        raise
    try:
        files.sync_folder(str(target.parent))
    except BaseException:
        shutil.rmtree(target)
        raise


def _fill(folder: Path, plan: Plan, spec: Spec, script: str, secret_values: Mapping[str, str]) -> None:
    _write(folder / files.RECORD, _json(_record(plan, spec)))
    _write(folder / files.PLAN, _json(document(plan)))
    _write(folder / files.SCRIPT, script.encode("utf-8", "surrogateescape"), 0o700)
    _write(folder / files.RUNTIME, runtime_zip())
    if secret_values:
        _write(folder / files.SECRETS, json.dumps(dict(secret_values)).encode())
    files.append_event(str(folder), "intended", job_name=plan.identity.job_name)


def _write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Synced: sbatch has been seen to read an empty script from a shared file system."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _record(plan: Plan, spec: Spec) -> Record:
    given = {key: {"value": value, "source": spec.source(key)} for key, value in spec.given.items()}
    return Record(
        run=plan.identity.run,
        token=plan.identity.token,
        job_name=plan.identity.job_name,
        project=plan.project,
        project_root=plan.project_root,
        experiment=plan.experiment,
        site=plan.site,
        engine=plan.engine,
        command=plan.command,
        created=time.time(),
        time_limit=plan.shape.time.value.seconds,
        nodes=plan.shape.nodes.value,
        voyageur=__version__,
        spec=given,
    )


def _printable(value: Any) -> Any:
    """Bytes that are no UTF-8 cannot stand in JSON; the script has them as they are."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(_printable(msgspec.to_builtins(value))), indent=1)


@cache
def runtime_zip() -> bytes:
    """The runtime and `voyageur.job`, as one file that any Python from 3.8 on can run."""
    buffer = io.BytesIO()
    package = resources.files("voyageur")
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "__main__.py", _ENTRY)
        _add(archive, "voyageur/__init__.py", (package / "__init__.py").read_text(encoding="utf-8"))
        for room in ("job", "runtime"):
            for name, source in sorted(_sources(package / room, f"voyageur/{room}"), key=itemgetter(0)):
                _add(archive, name, source.read_text(encoding="utf-8"))
    return buffer.getvalue()


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.name.endswith(".py"):
            yield f"{name}/{entry.name}", entry
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry, f"{name}/{entry.name}")


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(zipfile.ZipInfo(name, (2001, 9, 9, 1, 46, 40)), text)
