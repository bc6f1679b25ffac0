"""Spark standalone inside the job: its master on the first node, a worker on every node, then spark-submit."""

from __future__ import annotations

from voyageur.launch.style import Launcher, Services, Style, Wanted
from voyageur.launch.words import is_python, launcher_named, program_of

_DAEMONS = 1536 * 2**20  # master, worker and driver need memory beside the executors
_LEAST = 512


class Spark(Style):
    name = "spark"
    title = "a Spark cluster inside the job, the command given to spark-submit"
    programs = ("spark-submit", "spark-class")
    has_ranks = False
    uses_gpus = False
    death = "the command's end is the run's; Spark computes what a lost executor had once more elsewhere"
    signal = "the command, if it listens"

    def launcher(self, wanted: Wanted) -> Launcher:
        here = "{MASTER_ADDR}"
        settings = {
            "spark.driver.host": here,
            "spark.driver.bindAddress": here,
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            "spark.executor.memory": f"{executor_memory(wanted)}m",
            "spark.executor.cores": str(wanted.cpus * wanted.ranks),
        }
        words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        taken = _taken(wanted.command)
        submit = wanted.command[0] if launcher_named(wanted.command) == "spark-submit" else "spark-submit"
        return Launcher(words=(submit, "--master", "spark://{MASTER_ADDR}:{MASTER_PORT}", *words), taken=taken)

    def services(self, wanted: Wanted) -> Services:
        start = ("spark-class", "org.apache.spark.deploy")
        master = ("--host", "{MASTER_ADDR}", "--port", "{MASTER_PORT}", "--webui-port", "0")
        worker = ("--host", "{NODE_ADDR}", "--port", "0", "--webui-port", "0", "-d", "{VOY_TMP}/spark")
        amounts = ("-c", str(wanted.cpus * wanted.ranks), "-m", f"{executor_memory(wanted)}m")
        return Services(
            head=(start[0], f"{start[1]}.master.Master", *master),
            worker=(start[0], f"{start[1]}.worker.Worker", *worker, *amounts, "spark://{MASTER_ADDR}:{MASTER_PORT}"),
            ready_line="Registering worker",
        )

    def exports(self, wanted: Wanted) -> dict[str, str]:
        return {"SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m", "PYSPARK_PYTHON": wanted.python}

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {"SPARK_LOCAL_IP": "{NODE_ADDR}", "SPARK_PUBLIC_DNS": "{NODE_ADDR}", "SPARK_LOCAL_DIRS": "{VOY_TMP}"}


def executor_memory(wanted: Wanted) -> int:
    """MiB for the executor of a node; the JVM takes a tenth more than its heap."""
    left = (wanted.memory - _DAEMONS) * 85 // 100
    return max(_LEAST, left // 2**20)


def _taken(command: tuple[str, ...]) -> int:
    """spark-submit takes the place of `python`; it starts files, not modules."""
    if launcher_named(command) == "spark-submit":
        return 1
    return command.index(program_of(command)) if is_python(command) else 0


STYLE = Spark()
