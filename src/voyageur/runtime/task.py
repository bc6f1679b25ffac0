"""One task of a step: prepares its node, runs the program, hands on what it is told. Slurm signals only this."""

import contextlib
import os
import signal
import sys
import time
from typing import List

from voyageur.runtime import blanks, inside, launched, preflight, processes, program
from voyageur.runtime.child import STOP_THROUGH_SRUN, WARN, Child, Mailbox
from voyageur.runtime.environment import EnvironmentProblem, read_wish
from voyageur.runtime.folder import BEAT_SECONDS, append_event
from voyageur.runtime.members import MembersError
from voyageur.runtime.memory import oom_kills
from voyageur.runtime.node_folder import NodeFolder, NodeFolderError
from voyageur.runtime.quiet import Quiet
from voyageur.runtime.results.saving import Saving
from voyageur.runtime.staging.aboard import StagingError, Stopped
from voyageur.runtime.usage import Usage, on_one_node


def run(command: List[str]) -> int:
    mailbox = Mailbox()
    environment = dict(os.environ)
    travels = read_wish(environment) is not None
    if not travels and (gone := _missing(environment)):
        return _refuse(environment, gone, 127)
    try:
        what, place = program.prepare(command, environment, mailbox.pause)
    except Stopped:
        return shell_code(-signal.SIGTERM)
    except (NodeFolderError, StagingError, EnvironmentProblem, OSError) as problem:
        return _refuse(environment, str(problem), 1)
    try:
        if travels and (gone := _missing(what.environment)):
            return _give_up(environment, what, place, gone, 127)
        launch = launched.Launched(what, mailbox.pause)
    except (NodeFolderError, OSError) as problem:
        return _give_up(environment, what, place, str(problem), 1)
    what = launch.program
    try:
        launch.begin()
        first = launched.first_on_first_node(environment)
        entry = inside.enter(what, asks=first or environment.get("SLURM_LOCALID") == "0")
        child = Child(
            entry.argv,
            entry.environment,
            what.folder,
            launch.grace(_grace(environment)),
            in_container=entry.is_hidden,
            ignores=launch.ignores(),
        )
    except (MembersError, Stopped, inside.ContainerError, OSError) as problem:
        launch.end()
        launch.leave(mailbox.pause, 0.0, ends_others=True)
        return _not_begun(environment, what, place, problem)
    _tell_of_mps(environment, launch)
    usage, oom_before, quiet = Usage(), oom_kills(), Quiet(environment)
    hearing = Hearing(environment, child, place)
    try:
        code = child.watch(
            mailbox,
            lambda: _beat(environment, usage, child, quiet, what, hearing),
            BEAT_SECONDS,
            lambda signum: _hand_on(child, signum, what.saving, hearing),
            stayers=lambda: what.aboard.stayers + launch.mps.stayers,
            helpers=lambda: [usage.gpus.pid, *what.aboard.stayers, *what.saving.helpers, *launch.mps.stayers],
            at_end=launch.end,
        )
        ended = time.time()
        why = _why(entry, what.environment) if code else ""
        launch.leave(mailbox.pause, child.deadline - time.monotonic(), ends_others=_ends_others(environment, code))
        hearing.look()
        place.write_usage(str(blanks.rank_of(environment)), usage.facts())
    finally:
        if child.stopped_at is None:
            what.aboard.hand_on(mailbox.pause)
        what.aboard.leave(child.stopped_at is not None and program.may_come_back(environment))
        place.leave(lambda: _leave_last(environment, place, child, what.saving))
    if code != 0 and child.stopped_at is None:  # else it followed another that had failed, or was cancelled
        code = launch.code(code, False, environment)
        if code != 0:
            kills, gone = oom_kills() - oom_before, preflight.gpus_gone(environment)
            facts = {**({"problem": why} if why else {}), **({"node_problem": gone} if gone else {})}
            _note(environment, "task failed", code=code, ended=ended, oom_kills=kills, **facts)
    return shell_code(launch.code(code, True, environment))


def _missing(environment: "dict[str, str]") -> str:
    """Asked by one of all tasks, before the program starts anywhere if its environment is here already."""
    return launched.missing(environment) if launched.first_on_first_node(environment) else ""


def _why(entry: inside.Entry, environment: "dict[str, str]") -> str:
    """Of a program that failed. It may have begun, and ended all others, before what it misses was said."""
    return inside.explain(entry, environment) or launched.missing(environment)


class Hearing:
    """Told as soon as it is known that the program has heard the warning, once."""

    def __init__(self, environment: "dict[str, str]", child: Child, place: NodeFolder) -> None:
        self.environment = environment
        self.child = child
        self.place = place
        self.is_told = False

    def look(self) -> None:
        if not self.is_told and (self.child.warned or self.place.stop_was_seen()):
            self.is_told = True
            _note(self.environment, "warning heard")


def _beat(
    environment: "dict[str, str]", usage: Usage, child: Child, quiet: Quiet, what: program.Program, hearing: Hearing
) -> None:
    usage.sample(child.pid)
    hearing.look()
    what.aboard.mind()
    what.saving.mind()
    if launched.first_on_first_node(environment):
        facts = quiet.look(launched.own_cpu_seconds(processes.family(child.pid)), usage.gpu_work())
        if facts:
            _note(environment, "nothing happens", **facts)


def _leave_last(environment: "dict[str, str]", place: NodeFolder, child: Child, saving: Saving) -> None:
    _note(environment, "node used", **on_one_node(place.usage()))
    saved = saving.finish(child.deadline)
    written = program.rescue(place, environment, child.stopped_at is not None, saved)
    if written:
        _note(environment, "files written", **written.facts())


def _ends_others(environment: "dict[str, str]", code: int) -> bool:
    return code != 0 and environment.get("VOY_TASKS_ARE") != "copies"


def _grace(environment: "dict[str, str]") -> float:
    return float(environment.get("VOY_GRACE", "25"))


def _hand_on(child: Child, signum: int, saving: Saving, hearing: Hearing) -> None:
    if signum == WARN:
        child.warn()
        saving.save_now()
        hearing.look()
    elif signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, STOP_THROUGH_SRUN):
        child.stop()
        saving.save_now()


def _tell_of_mps(environment: "dict[str, str]", launch: launched.Launched) -> None:
    if launch.mps.problem:
        print("voyageur: MPS is not used: %s" % launch.mps.problem, file=sys.stderr, flush=True)
        _note(environment, "gpus not shared", problem=launch.mps.problem)
    elif launch.mps.runs:
        _note(environment, "gpus shared", by="MPS")


def _give_up(environment: "dict[str, str]", what: program.Program, place: NodeFolder, why: str, code: int) -> int:
    what.aboard.leave()
    place.leave()
    return _refuse(environment, why, code)


def _not_begun(environment: "dict[str, str]", what: program.Program, place: NodeFolder, problem: Exception) -> int:
    if isinstance(problem, Stopped):
        what.aboard.leave(program.may_come_back(environment))
        place.leave()
        return shell_code(-signal.SIGTERM)
    if isinstance(problem, OSError):
        why = "%s cannot be started: %s" % (what.argv[0], problem.strerror)
        return _give_up(environment, what, place, why, 127)
    return _give_up(environment, what, place, str(problem), 1)


def _refuse(environment: "dict[str, str]", problem: str, code: int) -> int:
    """A program of another task may have run and failed of the same already; this says why."""
    print("voyageur: %s" % problem, file=sys.stderr, flush=True)
    _note(environment, "task failed", problem=problem, code=code, first=True)
    return code


def _note(environment: "dict[str, str]", event: str, **facts: object) -> None:
    with contextlib.suppress(OSError):
        append_event(
            environment["VOY_RUN_DIR"],
            event,
            attempt=int(environment.get("VOY_ATTEMPT", "0")),
            **launched.rank_facts(environment),
            node=program.node_name(environment),
            **facts,
        )


def shell_code(code: int) -> int:
    """As a shell counts: 128 and the signal for a program that was killed by one."""
    return 128 - code if code < 0 else code
