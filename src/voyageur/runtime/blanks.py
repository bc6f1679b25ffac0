"""What only the nodes know: who a task is, where the others are. Filled into `{MASTER_ADDR}` and its like."""

import json
import shlex
import signal
from typing import Dict, List, Mapping

# Of a task that srun has started, and of one that mpirun has: OpenMPI's, MPICH's and PMIx's own names.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")

NAMES = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "NODES",
    "NODE_NAME",
    "NODE_ADDR",
    "NODE_NAMES_WITH_RANKS",
    "RANK_ADDRESSES",
    "INTERFACE",
    "IS_FIRST",
    "SHORT_TMP",
    "VOY_TMP",
    "VOY_RUN",
    "VOY_ATTEMPT",
)
# What every rank finds in its environment, whoever has started it.
TOLD = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK")


def rank_of(environment: Mapping[str, str]) -> int:
    """In a job of Slurm's that runs mpirun, SLURM_PROCID is the daemon's own."""
    return next((int(environment[name]) for name in _RANKS if environment.get(name, "").isdigit()), 0)


def node_of(environment: Mapping[str, str]) -> int:
    """Ranks fill one node after the other."""
    if any(name in environment for name in _RANKS[:-1]):
        return rank_of(environment) // _ranks(environment)
    return int(environment.get("SLURM_NODEID", "0"))


def _ranks(environment: Mapping[str, str]) -> int:
    return int(environment.get("VOY_RANKS", "1"))


def of_task(environment: Mapping[str, str]) -> Dict[str, str]:
    """The blanks of one task. A task that only starts others has no rank."""
    nodes = environment.get("VOY_NODE_NAMES", "").split(",")
    node, each = node_of(environment), _ranks(environment)
    found = {
        "NODE_RANK": str(node),
        "NODES": str(len(nodes)),
        "NODE_NAME": environment.get("SLURMD_NODENAME") or nodes[min(node, len(nodes) - 1)],
        "IS_FIRST": str(int(node == 0)),
        "NODE_NAMES_WITH_RANKS": ",".join("%s:%d" % (name, each) for name in nodes),
        "RANK_ADDRESSES": _rank_addresses(environment, each),
    }
    if environment.get("VOY_TASKS_ARE") in ("ranks", "copies"):
        rank = rank_of(environment)
        local = environment.get("SLURM_LOCALID", "0") if _is_of_srun(environment) else str(rank % each)
        found.update(
            {
                "RANK": str(rank),
                "LOCAL_RANK": local,
                "WORLD_SIZE": str(each * len(nodes)),
                "LOCAL_WORLD_SIZE": str(each),
            }
        )
    return found


def _is_of_srun(environment: Mapping[str, str]) -> bool:
    return not any(name in environment for name in _RANKS[:-1])


def _rank_addresses(environment: Mapping[str, str], each: int) -> str:
    """As JSON; every rank has a port of its own, also where nodes share one address."""
    addresses = environment.get("VOY_NODE_ADDRESSES", "").split(",")
    first = int(environment.get("MASTER_PORT") or 0)
    ranks = [(address, number) for address in addresses for number in range(each)]
    return json.dumps(["%s:%d" % (address, first + 1 + place) for place, (address, _) in enumerate(ranks)])


def each(environment: Mapping[str, str]) -> Dict[str, str]:
    """What the launch style sets for each task, with its blanks filled in."""
    found = {}
    for word in shlex.split(environment.get("VOY_EACH", "")):
        name, _, value = word.partition("=")
        found[name] = filled(value, environment)
    return found


def words(name: str, environment: Mapping[str, str]) -> List[str]:
    """A command line that the script gives as one variable."""
    return [filled(word, environment) for word in shlex.split(environment.get(name, ""))]


def filled(text: str, environment: Mapping[str, str]) -> str:
    for name in NAMES:
        if "{%s}" % name in text and environment.get(name) is not None:
            text = text.replace("{%s}" % name, environment[name])
    return text


def signals_left_alone(environment: Mapping[str, str]) -> List[int]:
    """Lightning installs its handler only for a signal that nobody ignores."""
    return [int(signal.SIGUSR1)] if environment.get("VOY_OWN_SIGNALS") == "1" else []


def visible_gpu(environment: Mapping[str, str]) -> Dict[str, str]:
    """One of the GPUs that the task may see, by its place on its node. Without Slurm nobody has given it any."""
    if environment.get("VOY_VISIBLE_GPUS") != "one":
        return {}
    place, found = int(environment.get("LOCAL_RANK") or 0), {}
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        seen = [part for part in environment.get(name, "").split(",") if part]
        if len(seen) > 1:
            found[name] = seen[place % len(seen)]
    if "VOY_LOCAL_NAMES" in environment and "CUDA_VISIBLE_DEVICES" not in environment:
        found["CUDA_VISIBLE_DEVICES"] = str(place % max(1, int(environment.get("VOY_GPUS", "1"))))
    return found
