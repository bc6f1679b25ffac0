"""Nodes that have failed this run: what follows is kept away from them, and people are told why.

Only for what is a node's own fault. A program that fails does so on any node, and no node is left out for it.
"""

import re
from typing import Dict, List, Mapping

from voyageur.runtime import folder as files
from voyageur.runtime.ledger import Ledger
from voyageur.runtime.slurm import Slurm

_MOST = 16  # so many names go to Slurm, the newest ones
_SECONDS = 20.0
_SICK = ("down", "fail", "failing", "drained", "draining", "error")


class Elsewhere:
    def __init__(self, environment: Mapping[str, str], ledger: Ledger, slurm: Slurm) -> None:
        self.ledger = ledger
        self.slurm = slurm
        self.job_name = environment.get("SLURM_JOB_NAME", "")
        self.partition = environment.get("SLURM_JOB_PARTITION", "")
        self.nodes = int(environment.get("SLURM_JOB_NUM_NODES") or 1)
        self.is_slurm = "VOY_LOCAL_TOOLS" not in environment
        self.may = self.is_slurm and environment.get("VOY_LEAVE_OUT") != "0"

    def known(self) -> List[str]:
        events = files.read_events(self.ledger.folder)
        names = [str(event["node"]) for event in events if event["event"] == files.LEFT_OUT]
        return list(dict.fromkeys(reversed(names)))[:_MOST]

    def options(self) -> List[str]:
        """For sbatch."""
        names = self.known() if self.may else []
        return ["--exclude=" + ",".join(names)] if names else []

    def leave_out(self, bad: Mapping[str, str]) -> None:
        """From now on, and by what waits in the queue already."""
        new = [node for node in bad if node not in self.known()]
        if not new:
            return
        if not self._enough_without(new):
            self.ledger.say("without %s too few nodes would be left, so what follows may get it again" % ", ".join(new))
            return
        for node in new:
            self.ledger.note("node left out", node=node, because=bad[node])
            self.ledger.say("node %s is left out from now on: %s" % (node, bad[node]))
        for job in self._waiting():
            self.change(job)

    def _enough_without(self, new: List[str]) -> bool:
        """A job that no node is left for would wait for ever. Where Slurm does not say, none is left out."""
        ask = ["sinfo", "--noheader", "--Node", "--partition=" + self.partition, "--format=%N"]
        there = set((self.slurm.run(ask, patience=_SECONDS) or "").split())
        return len(there - set(new) - set(self.known())) >= self.nodes

    def change(self, job: str) -> None:
        """Slurm takes this from a job's owner while the job waits (`update_job`, 22.05)."""
        if self.may and self.known():
            change = ["scontrol", "update", "JobId=" + job, "ExcNodeList=" + ",".join(self.known())]
            self.slurm.run(change, patience=_SECONDS)

    def next_waiting(self) -> str:
        """The one that will begin first: of an array, its lowest task."""
        found = self._waiting()
        match = re.match(r"(\d+)_\[(\d+)", found[0]) if found else None
        return "%s_%s" % match.groups() if match else (found[0] if found else "")

    def _waiting(self) -> List[str]:
        """`7_[3-8%1]` is what squeue calls the tasks that wait, and scontrol wants it without the limit."""
        if not self.is_slurm or self.ledger.token not in self.job_name:
            return []
        ask = ["squeue", "--noheader", "--states=PENDING", "--name=" + self.job_name, "--format=%i"]
        answer = self.slurm.run(ask, patience=_SECONDS) or ""
        found = [re.sub(r"%\d+", "", word) for word in answer.split() if word[0].isdigit()]
        return sorted(found, key=lambda word: int(re.findall(r"\d+", word)[0]))

    def sick_of(self, nodes: str) -> Dict[str, str]:
        """Of these nodes, those that Slurm itself holds to be down, each with its reason."""
        if not self.may or not nodes:
            return {}
        ask = ["sinfo", "--noheader", "--Node", "--nodes=" + nodes, "--format=%N|%T|%E"]
        answer = self.slurm.run(ask, patience=_SECONDS) or ""
        rows = (line.split("|", 2) for line in answer.splitlines() if line.count("|") >= 2)
        return {name: _in_words(state, reason) for name, state, reason in rows if _is_sick(state)}


def _is_sick(state: str) -> bool:
    """A star behind its state: it does not answer."""
    return state.endswith("*") or state.strip("*~#$@+!%-^").lower() in _SICK


def _in_words(state: str, reason: str) -> str:
    name = state.rstrip("*").lower()
    word = "Slurm calls it %s" % name if name in _SICK else "it does not answer Slurm"
    return "%s (%s)" % (word, reason) if reason not in ("", "none") else word
