"""A job of one minute that looks around on a node, and is waited for no longer than said."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path, PurePosixPath

from msgspec import Struct

from voyageur.errors import ClusterError
from voyageur.hosts import Host
from voyageur.plan.environment import job_variables
from voyageur.site import Site
from voyageur.site.seen import NodeLook, node_look_from
from voyageur.slurm_text import cancel_argv, export_file, job_id_from, refusal_hint
from voyageur.units import Duration

_PATIENCE = Duration(60)
_OUTSIDE = "pypi.org"  # what most jobs want of the internet; a site that opens one host opens this one
_VARIABLES = ("SLURM_TMPDIR", "LOCALSCRATCH")
_PATHS = ("/localscratch", "/scratch-ssd", "/tmp")  # noqa: S108  # where to look, not what to write
_LATE = 5.0  # seconds that a shared file system may take to show a file


class Looked(Struct, frozen=True, kw_only=True):
    look: NodeLook | None
    problem: str = ""


def script_for(profile: Site) -> str:
    disk = profile.local_disk
    variables = dict.fromkeys([*([disk.variable] if disk.variable else []), *_VARIABLES])
    paths = dict.fromkeys([*([disk.path] if disk.path and "$" not in disk.path else []), *_PATHS])
    text = (resources.files("voyageur.questions") / "look_on_a_node.sh").read_text(encoding="utf-8")
    return f"#!/bin/bash -l\nset -- {shlex.join([_OUTSIDE, *variables, '--', *paths])}\n{text}"


def look_on_a_node(
    host: Host,
    profile: Site,
    folder: Path,
    options: Sequence[str],
    wait: Duration,
    sleep: Callable[[float], None] = time.sleep,
) -> Looked:
    """`folder` must be seen by the nodes; `options` are sbatch's. A job that does not come in time is cancelled.

    It finds around it what any of our jobs finds: a login shell, and nothing of the shell that this was typed in.
    """
    script, output = folder / "look.sh", folder / "look.txt"
    script.write_text(script_for(profile), encoding="utf-8")
    argv = ["sbatch", "--parsable", "--time=1", "--nodes=1", "--ntasks=1", "--job-name=voy-probe", "--no-requeue"]
    argv += [f"--output={str(output).replace('%', '%%')}", "--export=ALL", "--export-file=/dev/stdin", *options]
    variables = export_file(job_variables(host.environment()))
    answer = host.run([*argv, str(script)], folder=PurePosixPath(folder), patience=_PATIENCE, read=variables)
    job = job_id_from(answer.output) if answer.ok else None
    if job is None:
        raise _refused(answer.errors)
    try:
        return _wait(host, job, output, wait, sleep)
    finally:
        if node_look_from(_text(output)) is None:
            host.run(cancel_argv([job]), patience=_PATIENCE)


def _refused(errors: str) -> ClusterError:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return ClusterError(
        "Slurm refused the job that looks at a node; nothing was written",
        facts=lines[-4:] or ["sbatch gave no answer"],
        hint=refusal_hint(errors) if lines else "try again without `--with-job`",
    )


def _wait(host: Host, job: str, output: Path, wait: Duration, sleep: Callable[[float], None]) -> Looked:
    deadline, pause = time.monotonic() + wait.seconds, 1.0
    while (look := node_look_from(_text(output))) is None:
        if time.monotonic() > deadline:
            return Looked(look=None, problem=f"job {job} did not end in {wait} and was cancelled")
        if _is_gone(host, job):
            sleep(_LATE)
            look = node_look_from(_text(output))
            problem = "" if look else f"job {job} ended and left nothing; did it see {output.parent}?"
            return Looked(look=look, problem=problem)
        sleep(pause)
        pause = min(pause * 1.5, 15.0)
    return Looked(look=look)


def _is_gone(host: Host, job: str) -> bool:
    """Only when Slurm says so."""
    answer = host.run(["squeue", "--noheader", f"--jobs={job}", "--format=%T"], patience=_PATIENCE)
    return (answer.ok and not answer.output.strip()) or "Invalid job id" in answer.errors


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
