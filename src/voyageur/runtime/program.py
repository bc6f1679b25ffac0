"""The program's surroundings on one node: its folder, its variables, its command filled in."""

import contextlib
import os
import socket
import sys
from typing import Dict, List, Mapping, NamedTuple, Optional

from voyageur.runtime import resume, words
from voyageur.runtime.folder import RUNTIME, SECRETS, WRITTEN, read_json
from voyageur.runtime.node_folder import NodeFolder, NodeFolderError, open_node_folder
from voyageur.runtime.written import LIMIT, LIMIT_WHEN_STOPPED, Written, keep_written


class Program(NamedTuple):
    argv: List[str]
    environment: Dict[str, str]
    folder: str


def node_name(environment: Mapping[str, str]) -> str:
    return environment.get("SLURMD_NODENAME") or socket.gethostname().split(".")[0]


def prepare(command: List[str], environment: Mapping[str, str]) -> "tuple[Program, NodeFolder]":
    """Unpack the code on this node and say where and with what the command starts."""
    place = open_node_folder(environment, node_name(environment))
    try:
        place.unpack(environment["VOY_CODE"], environment["VOY_CODE_SHA256"])
        variables = _variables(environment, place)
        folder = os.path.normpath(os.path.join(place.code, environment.get("VOY_START_IN", ".")))
        if not os.path.isdir(folder):
            raise NodeFolderError("the code has no folder %s: no file in it travels" % environment["VOY_START_IN"])
        variables["PWD"] = folder
        return Program(words.fill(resume.fill(command, variables), variables), variables, folder), place
    except BaseException:
        place.leave()
        raise


def rescue(place: NodeFolder, environment: Mapping[str, str], stopped: bool) -> Optional[Written]:
    """Keep what the program wrote beside its code, before that folder is removed. For the last one on this node."""
    name = WRITTEN % (environment.get("VOY_ATTEMPT", "0"), node_name(environment))
    archive = os.path.join(environment["VOY_RUN_DIR"], name)
    try:
        written = keep_written(place.code, place.unpacked_at(), archive, LIMIT_WHEN_STOPPED if stopped else LIMIT)
    except OSError:  # the program has removed its own folder
        return None
    if written:
        with contextlib.suppress(OSError):
            print("voyageur: %s" % written.sentence(), file=sys.stderr, flush=True)
    return written


def _site_folder(environment: Mapping[str, str]) -> str:
    """The folder that the site has made for the job on this node, where there is one."""
    folder = environment.get("VOY_SITE_TMPDIR", "")
    return folder if os.path.isdir(folder) else ""


def _variables(environment: Mapping[str, str], place: NodeFolder) -> Dict[str, str]:
    variables = dict(environment)
    run_folder = environment["VOY_RUN_DIR"]
    variables.update(
        {
            "SLURM_TMPDIR": _site_folder(environment) or place.path,
            "VOY_TMP": place.path,
            "source_dir": place.code,
            # So that `from voyageur import job` works with nothing installed.
            "PYTHONPATH": os.pathsep.join(
                filter(None, [environment.get("PYTHONPATH"), os.path.join(run_folder, RUNTIME)])
            ),
        }
    )
    secrets = read_json(os.path.join(run_folder, SECRETS)) or {}
    variables.update({name: str(value) for name, value in secrets.items()})
    variables.pop("VOY_SITE_TMPDIR", None)
    return variables
