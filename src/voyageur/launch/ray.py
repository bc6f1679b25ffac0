"""Ray: its head on the first node, a worker on every other, the command beside the head.

`ray stop` would end all Ray processes of a host, other jobs' too; here each task ends what it started.
"""

from __future__ import annotations

from voyageur.launch.style import Services, Style, Wanted

_ALL_THERE = (
    "import ray,sys,time;ray.init(address=sys.argv[1],logging_level='ERROR',log_to_driver=False);"
    "[time.sleep(.5) for _ in range(240) if sum(n['Alive'] for n in ray.nodes())<int(sys.argv[2])]"
)


class Ray(Style):
    name = "ray"
    title = "a Ray cluster inside the job, the command on its first node"
    modules = ("ray",)
    programs = ("ray",)
    has_ranks = False
    death = "the command's end is the run's; Ray starts the tasks of a lost worker again elsewhere"
    signal = "the command, if it listens"

    def services(self, wanted: Wanted) -> Services:
        amounts = (f"--num-cpus={wanted.cpus * wanted.ranks}", f"--num-gpus={wanted.gpus}", *_memory(wanted))
        ports = (
            "--min-worker-port=0",
            "--max-worker-port=0",
            "--node-ip-address={NODE_ADDR}",
            "--node-name={NODE_NAME}",
        )
        place = ("--temp-dir={SHORT_TMP}", "--include-dashboard=false", "--disable-usage-stats")
        return Services(
            head=("ray", "start", "--head", "--block", "--port={MASTER_PORT}", *place, *ports, *amounts),
            worker=("ray", "start", "--block", "--address={MASTER_ADDR}:{MASTER_PORT}", *ports, *amounts),
            ready=(wanted.python, "-c", _ALL_THERE, "{MASTER_ADDR}:{MASTER_PORT}", str(wanted.nodes)),
            on_first=False,
        )

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {"RAY_ADDRESS": "{MASTER_ADDR}:{MASTER_PORT}"}


def _memory(wanted: Wanted) -> tuple[str, ...]:
    """By itself Ray takes a third of the machine's memory for its objects, whatever the job may use."""
    return (f"--object-store-memory={max(80 * 2**20, wanted.memory // 4)}",) if wanted.memory else ()


STYLE = Ray()
