"""Horovod over gloo: its own rendezvous server beside the first task, and each task told who it is.

horovodrun itself wants ssh between the nodes. A Horovod that was built with MPI takes the ranks that `mpi` starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.launch.style import Launcher, Services, Style, Tasks, Wanted
from voyageur.launch.words import numbers_said, of_each_node, own_words

# `RendezvousServer.start` draws a port of its own, so the server behind it is made here, on ours.
_SERVER = (
    "import sys;"
    "from horovod.runner.common.util.hosts import get_host_assignments,parse_hosts;"
    "from horovod.runner.http.http_server import RendezvousHandler,RendezvousHTTPServer;"
    "s=RendezvousHTTPServer(('',int(sys.argv[1])),RendezvousHandler,False);"
    "s.init(get_host_assignments(parse_hosts(sys.argv[2]),int(sys.argv[3])));"
    "s.serve_forever()"
)


class Horovod(Style):
    name = "horovod"
    title = "one task for each GPU, with Horovod's rendezvous beside the first"
    tasks = Tasks.RANKS
    modules = ("horovod",)
    needs_python = True
    replaces = ("horovodrun",)
    gpu_for_each = True

    def launcher(self, wanted: Wanted) -> Launcher:
        own = own_words(wanted.command)
        return Launcher(words=("python",), taken=len(own)) if own else Launcher()

    def services(self, wanted: Wanted) -> Services:
        hosts = "{NODE_NAMES_WITH_RANKS}"
        return Services(head=(wanted.python, "-c", _SERVER, "{MASTER_PORT}", hosts, str(wanted.world)))

    def processes_said(self, wanted: Wanted) -> Iterator[tuple[str, int]]:
        yield from of_each_node(numbers_said(wanted.command, ("-np", "--num-proc")), wanted.nodes)

    def exports(self, wanted: Wanted) -> dict[str, str]:
        timeouts = {"HOROVOD_GLOO_TIMEOUT_SECONDS": "120", "HOROVOD_START_TIMEOUT": "120"}
        return {"HOROVOD_CONTROLLER": "gloo", "HOROVOD_CPU_OPERATIONS": "gloo"} | timeouts

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {
            "HOROVOD_GLOO_RENDEZVOUS_ADDR": "{MASTER_ADDR}",
            "HOROVOD_GLOO_RENDEZVOUS_PORT": "{MASTER_PORT}",
            "HOROVOD_GLOO_IFACE": "{INTERFACE}",
            "HOROVOD_HOSTNAME": "{NODE_NAME}",
            "HOROVOD_RANK": "{RANK}",
            "HOROVOD_SIZE": "{WORLD_SIZE}",
            "HOROVOD_LOCAL_RANK": "{LOCAL_RANK}",
            "HOROVOD_LOCAL_SIZE": "{LOCAL_WORLD_SIZE}",
            "HOROVOD_CROSS_RANK": "{NODE_RANK}",
            "HOROVOD_CROSS_SIZE": "{NODES}",
        }


STYLE = Horovod()
