"""The program's surroundings on one node: its folder, its variables, its command filled in."""

import contextlib
import os
import socket
import sys
from typing import Container, Dict, List, Mapping, NamedTuple, Optional

from voyageur.runtime import in_job, resume, words
from voyageur.runtime.environment import activated, read_wish
from voyageur.runtime.folder import RUNTIME, SECRETS, WRITTEN, read_events, read_json
from voyageur.runtime.node_folder import NodeFolder, NodeFolderError, open_node_folder
from voyageur.runtime.results.saving import Saving, roots_in
from voyageur.runtime.staging.aboard import Aboard, Pause, Stopped
from voyageur.runtime.staging.wanted import AT
from voyageur.runtime.written import LIMIT, LIMIT_WHEN_STOPPED, Written, keep_written


class Program(NamedTuple):
    argv: List[str]
    environment: Dict[str, str]
    folder: str
    aboard: Aboard
    saving: Saving


def node_name(environment: Mapping[str, str]) -> str:
    return environment.get("SLURMD_NODENAME") or socket.gethostname().split(".")[0]


def prepare(command: List[str], environment: Mapping[str, str], pause: Pause) -> "tuple[Program, NodeFolder]":
    """Unpack the code on this node, bring the datasets, and say where and with what the command starts."""
    node = node_name(environment)
    place = open_node_folder(environment, node)
    aboard = None
    try:
        aboard = Aboard(environment, node, place.path)
        place.unpack(environment["VOY_CODE"], environment["VOY_CODE_SHA256"])
        variables = _variables(environment, place)
        folder = os.path.normpath(os.path.join(place.code, environment.get("VOY_START_IN", ".")))
        if not os.path.isdir(folder):
            raise NodeFolderError("the code has no folder %s: no file in it travels" % environment["VOY_START_IN"])
        aboard.board(pause)
        variables.update(aboard.variables(), PWD=folder)
        variables.update(_environment(variables, aboard, place, pause))
        saving = Saving(variables, node, roots_in(variables, place.unpacked_at()))
        argv = words.fill(resume.fill(command, variables), variables, aboard.paths())
        return Program(argv, variables, folder, aboard, saving), place
    except BaseException as problem:
        if aboard:
            aboard.leave(comes_back=isinstance(problem, Stopped) and may_come_back(environment))
        place.leave()
        raise


def _environment(variables: Mapping[str, str], aboard: Aboard, place: NodeFolder, pause: Pause) -> Dict[str, str]:
    """One that travelled, or one that is made on this node; a script that is run by hand may have none."""
    wish = read_wish(variables)
    if wish is None:
        return {}
    folder = in_job.make(wish, variables, place, pause) if wish.is_made_here else aboard.environment_folder()
    return activated(variables, folder)


def may_come_back(environment: Mapping[str, str]) -> bool:
    """Told to stop, but by nobody who cancelled it: then the node keeps its datasets for a while."""
    told = [event["event"] for event in read_events(environment["VOY_RUN_DIR"])]
    return environment.get("VOY_REQUEUE") == "1" and "cancel asked" not in told


def rescue(
    place: NodeFolder, environment: Mapping[str, str], stopped: bool, saved: Container[str] = ()
) -> Optional[Written]:
    """Keep what the program wrote beside its code, before that folder is removed. For the last one on this node.

    `saved`: what is at home already, because [results] names it.
    """
    name = WRITTEN % (environment.get("VOY_ATTEMPT", "0"), node_name(environment))
    archive = os.path.join(environment["VOY_RUN_DIR"], name)
    try:
        written = keep_written(
            place.code, place.unpacked_at(), archive, LIMIT_WHEN_STOPPED if stopped else LIMIT, saved
        )
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
    for own in ("VOY_SITE_TMPDIR", AT):
        variables.pop(own, None)
    return variables
