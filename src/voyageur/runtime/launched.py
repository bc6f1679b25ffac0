"""What a launch style makes of one task: its variables, its command filled in, the services beside it."""

import contextlib
import os
import shlex
from typing import Dict, List, Mapping, Optional

from voyageur.runtime import blanks, inside, meeting, members
from voyageur.runtime.child import SRUNS_OWN
from voyageur.runtime.folder import RUNTIME, append_event
from voyageur.runtime.mps import Mps, Pause
from voyageur.runtime.program import Program


class Launched:
    """`program` is what the task runs in the end; on all but the first node that may be a service's worker."""

    def __init__(self, what: Program, pause: Pause) -> None:
        variables = dict(what.environment)
        self.mps = Mps(variables, variables["VOY_TMP"], first=blanks.of_task(variables).get("LOCAL_RANK", "0") == "0")
        variables.update(self.mps.variables(pause))
        known = {**variables, **blanks.of_task(variables)}
        known["NODE_ADDR"] = meeting.own_address(known, int(known["NODE_RANK"]))
        known["INTERFACE"] = meeting.interface_towards(known["NODE_ADDR"]) or "lo"
        self.services: Optional[members.Services] = None
        self.is_worker = False
        if variables.get("VOY_HEAD"):
            self.services = members.Services(known, variables["VOY_TMP"], pause)
            self.is_worker = variables.get("VOY_TASKS_ARE") == "nodes" and not self.services.is_first
        if known.get("VOY_TASKS_ARE") != "copies":
            variables.update({name: known[name] for name in blanks.TOLD if name in known})
        variables.update(meeting.gloo_interface(variables))
        variables.update(blanks.visible_gpu(known))
        variables.update(blanks.each(known))
        if self.services:
            self.services.environment = {**known, **variables}
            self.services.program = what._replace(environment=self.services.environment, folder=variables["VOY_TMP"])
        argv = [blanks.filled(word, known) for word in what.argv]
        self.program = what._replace(argv=self._worker_argv() if self.is_worker else argv, environment=variables)
        self._bell: Optional[members.Bell] = None

    def _worker_argv(self) -> List[str]:
        assert self.services
        words = blanks.words("VOY_WORKER", self.services.environment)
        return ["/bin/sh", "-c", 'exec "$@" >"$0" 2>&1', self.services.log("VOY_WORKER"), *words]

    def ignores(self) -> List[int]:
        """Signals that are not the program's business, unless it asks for them."""
        left = [] if _starts_ranks(self.program.argv) else blanks.signals_left_alone(self.program.environment)
        return [signum for signum in SRUNS_OWN if signum not in left]

    def begin(self) -> None:
        """Before the command: the services, as far as they are this task's. Raises MembersError, Stopped."""
        services = self.services
        if services is None:
            return
        place = (services.environment["MASTER_ADDR"], int(services.environment["MASTER_PORT"]))
        if not services.is_first:
            services.wait_for_head()
            if self.is_worker:
                members.hear_the_end((place[0], place[1] + 1))
            return
        self._bell = members.Bell(place[1] + 1)
        head = services.start("VOY_HEAD")
        services.wait_for_head(head)
        if services.environment.get("VOY_WORKER") and services.environment.get("VOY_WORKER_ON_FIRST") == "1":
            services.start("VOY_WORKER")
        services.wait_for_all(head)

    def end(self) -> None:
        if self._bell:
            self._bell.ring()
        if self.services:
            self.services.end()

    def grace(self, seconds: float) -> float:
        """After a stop, until it is killed. A worker saves nothing."""
        return min(seconds, members.END_SECONDS) if self.is_worker else seconds

    def leave(self, pause: Pause, patience: float, ends_others: bool) -> None:
        """After the command's end. Tasks that a failure ends are not waited for: they wait for us."""
        self.mps.end((lambda _: False) if ends_others else pause, 0.0 if ends_others else patience)

    def code(self, code: int, stopped: bool, environment: Mapping[str, str]) -> int:
        """A worker that was told to end, or was lost, is no failure: the command tells how the run ended."""
        if not self.is_worker:
            return code
        assert self.services
        if not stopped:
            words = self.services.last_words("VOY_WORKER")
            members.say("the worker on this node ended with %s; the others go on\n%s" % (code, words))
            _note(environment, "worker lost", code)
        return 0


def _note(environment: Mapping[str, str], event: str, code: int) -> None:
    with contextlib.suppress(OSError):
        append_event(
            environment["VOY_RUN_DIR"],
            event,
            attempt=int(environment.get("VOY_ATTEMPT", "0")),
            node=environment.get("SLURMD_NODENAME", ""),
            code=code,
        )


def missing(environment: Mapping[str, str]) -> str:
    """What the launch style needs and this node's environment does not have; asked by the first task alone."""
    import shutil
    import subprocess

    if inside.recipe_of(environment):  # then the image has to have it, and the first shell inside asks
        return ""
    python, *modules = shlex.split(environment.get("VOY_NEEDS", "")) or [""]
    for name in shlex.split(environment.get("VOY_NEEDS_PROGRAMS", "")):
        if not shutil.which(name, path=environment.get("PATH")):
            return "there is no `%s` on this node" % name
    for module in modules:
        test = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
        words = [python, "-c", test, module]
        found = subprocess.run(words, env=dict(environment), check=False, stderr=subprocess.DEVNULL)
        if found.returncode > 0:  # else it was ended with all others
            whole = shutil.which(python, path=environment.get("PATH")) or python
            return "%s has no module `%s`" % (whole, module)
    return ""


def rank_facts(environment: Mapping[str, str]) -> Dict[str, int]:
    """A task that only starts others on its node has no rank that anybody would look for."""
    if environment.get("VOY_TASKS_ARE") == "nodes":
        return {}
    return {"rank": blanks.rank_of(environment)}


def _starts_ranks(argv: List[str]) -> bool:
    """Is it a launcher whose workers are ours again?"""
    return any(os.path.basename(word) == RUNTIME and argv[at + 1 : at + 2] == ["rank"] for at, word in enumerate(argv))


def first_on_first_node(environment: Mapping[str, str]) -> bool:
    return blanks.rank_of(environment) == 0


def own_cpu_seconds(pids: "Mapping[int, object]") -> float:
    """What a family has used so far, of those that are still there."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
