"""Getting in, being a good guest, and going to the right queue."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import array_tasks, is_cluster, partition_of, value_of
from voyageur.site import Partition, Purpose, Site, Welcome
from voyageur.units import Duration

SESSION = Rule(
    id="session",
    numbers=(52,),
    level=Level.ERROR,
    because="when the certificate ends in the middle of a long operation, the rest of it fails",
    fix="get a new one before you begin",
    source="CSCS documentation: SSH; CINECA documentation: access",
)
UNATTENDED = Rule(
    id="unattended",
    numbers=(53,),
    level=Level.ERROR,
    because="a second factor needs a person, so scripts and timers get in only by the door made for them",
    fix="ask the site for it",
    source="Alliance documentation: Automation in the context of multifactor authentication",
)
ORIGIN = Rule(
    id="origin",
    numbers=(54,),
    level=Level.ERROR,
    because="connections from elsewhere are dropped",
    fix="connect from there, or through a network that is there",
    source="Alliance documentation: tamIA; JSC documentation: access",
)
LOGIN_NODE = Rule(
    id="login-node",
    numbers=(55,),
    level=Level.WARNING,
    because="a login node is shared by everybody who logs in, and heavy programs are killed there",
    fix="run it in a job: `voy submit`",
    source="Alliance documentation: Running jobs; CINECA, Mila, NERSC and Delta documentation",
)
GUESTS = Rule(
    id="editors-and-agents",
    numbers=(56,),
    level=Level.WARNING,
    because="servers of editors and coding agents keep a login node busy for as long as they are connected",
    fix="work on your own machine, or inside a job",
    source="TACC documentation: good conduct; CSCS documentation: coding agents; Alliance documentation: tamIA",
)
TRANSFERS = Rule(
    id="transfers",
    numbers=(57,),
    level=Level.WARNING,
    because="big transfers slow a login node down for everybody, and are cut off",
    fix="use the site's transfer nodes or Globus",
    source="Alliance documentation: Transferring data; CINECA, TACC and Mila documentation",
)
PREEMPTIBLE = Rule(
    id="preemptible",
    numbers=(58,),
    level=Level.WARNING,
    because="a job there is stopped whenever somebody with more right comes, and begins anew",
    fix="let the program save to {checkpoints} and go on from there",
    source="Mila documentation: partitions; Delta documentation: running jobs",
)
DEBUG_QUEUE = Rule(
    id="debug-queue",
    numbers=(59,),
    level=Level.WARNING,
    because="it is kept free for tests and for work at a prompt; using it for production is reported",
    fix="choose a production partition with `--partition`",
    source="LUMI documentation: partitions; CSCS documentation: Clariden",
)


# ── getting in ───────────────────────────────────────────────────────────────────────────────────────────────────────


def session(site: Site) -> Iterator[Finding]:
    if life := site.access.session:
        fix = f"`{site.access.renew}`" if site.access.renew else None
        yield SESSION.advice(f"a certificate for {site.name} lives {life}", fix=fix, source=site.access.source)


def unattended(site: Site) -> Iterator[Finding]:
    if way := site.access.unattended:
        hosts = f" ({', '.join(site.access.robots)})" if site.access.robots else ""
        yield UNATTENDED.advice(f"without a person: {way}{hosts}", source=site.access.source)


def origin(site: Site) -> Iterator[Finding]:
    if place := site.access.only_from:
        yield ORIGIN.advice(f"{site.name} can be reached only from {place}", source=site.access.source)


# ── a good guest ─────────────────────────────────────────────────────────────────────────────────────────────────────


def on_login_node(case: Case) -> Iterator[Finding]:
    """`voy run` where many people share one machine."""
    there = case.known.login_node_of
    if there and case.site.engine == "local":
        what = f"this is a login node of {there.name}{_allowance(there)}, and the program would run on it"
        yield LOGIN_NODE.broken(what, fix=f"`voy submit --on {there.name}`", source=there.conduct.source)


def _allowance(site: Site) -> str:
    conduct = site.conduct
    cpu = f"{conduct.login_cpu} of CPU time" if conduct.login_cpu else ""
    memory = f"{conduct.login_memory} of memory" if conduct.login_memory else ""
    allowed = " and ".join(part for part in (cpu, memory) if part)
    return f", with at most {allowed} for a process" if allowed else ""


def login_node(site: Site) -> Iterator[Finding]:
    builds, timers = site.conduct.login_builds, site.conduct.crontab
    told = [_allowance(site).removeprefix(", with ")]
    if builds in (Welcome.DISCOURAGED, Welcome.FORBIDDEN):
        told.append(f"building software is {builds.value}")
    if timers is Welcome.FORBIDDEN:
        told.append("there is no crontab")
    if any(told):
        yield LOGIN_NODE.advice(f"on login nodes: {', '.join(filter(None, told))}", source=site.conduct.source)


_OF_AN_EDITOR = {"TERM_PROGRAM": "vscode"}


def editor_on_login_node(case: Case) -> Iterator[Finding]:
    inside = any(case.known.environment.get(name) == value for name, value in _OF_AN_EDITOR.items())
    how = case.site.conduct.editors
    if inside and is_cluster(case) and how in (Welcome.DISCOURAGED, Welcome.FORBIDDEN):
        what = f"this is a terminal of VSCode; its server is {how.value} on the login nodes of {case.site.name}"
        yield GUESTS.broken(what, source=case.site.conduct.source)


def guests(site: Site) -> Iterator[Finding]:
    for who, how in (("editors' servers", site.conduct.editors), ("coding agents", site.conduct.agents)):
        if how in (Welcome.DISCOURAGED, Welcome.FORBIDDEN):
            yield GUESTS.advice(f"{who} on login nodes are {how.value}", source=site.conduct.source)


def transfers(site: Site) -> Iterator[Finding]:
    doors = [host for host in site.access.transfer if host not in site.access.login]
    globus = f"Globus (`{site.access.globus}`)" if site.access.globus else ""
    ways = ", ".join([*doors, *([globus] if globus else [])])
    if ways:
        above = f"transfers above {site.access.transfer_above}" if site.access.transfer_above else "big transfers"
        yield TRANSFERS.advice(f"{above} do not go through login nodes", fix=f"use {ways}", source=site.access.source)
    if site.limits.transfers:
        what = f"at most {site.limits.transfers} transfers at a time"
        yield TRANSFERS.advice(what, fix="one transfer of an archive", source=site.limits.source)


# ── the right queue ──────────────────────────────────────────────────────────────────────────────────────────────────


def preemptible(case: Case) -> Iterator[Finding]:
    queue = partition_of(case)
    if queue is None or not queue.preemptible or not is_cluster(case):
        return
    source = case.site.queues.source
    if not _saves_its_work(case):
        grace = f", {queue.grace} after a warning" if queue.grace else ""
        yield PREEMPTIBLE.broken(f"jobs on {queue.name} may be stopped at any time{grace}", source=source)
    if value_of(case, "--no-requeue") is not None:
        what = f"with `--no-requeue` a job on {queue.name} that is stopped does not come back"
        yield PREEMPTIBLE.broken(what, fix="in the project file: `requeue = true`", source=source)


_SAVED = ("{checkpoints}", "{latest}", "{resume}")


def _saves_its_work(case: Case) -> bool:
    told = any(word in part for part in case.plan.command for word in _SAVED)
    return told or case.spec.says("checkpoint.resume") or case.spec.says("checkpoint.pattern")


_OF_A_TEST = Duration(3600)


def debug_queue(case: Case) -> Iterator[Finding]:
    queue = partition_of(case)
    if queue is None or not is_cluster(case) or queue.purpose is Purpose.PRODUCTION:
        return
    if reason := _why_no_test(case, queue):
        what = f"{queue.name} is for {_FOR[queue.purpose]}, and {reason}"
        yield DEBUG_QUEUE.broken(what, fix=_production(case), source=case.site.queues.source)


_FOR = {
    Purpose.DEBUG: "tests",
    Purpose.INTERACTIVE: "work at a prompt",
    Purpose.TRANSFER: "moving files",
    Purpose.SERIAL: "small serial work",
}


def _why_no_test(case: Case, queue: Partition) -> str:
    tasks, time = array_tasks(case), case.plan.shape.time.value
    if tasks > 1:
        return f"this is an array of {tasks} tasks"
    if queue.purpose is Purpose.INTERACTIVE:
        return "this is a batch job"
    if queue.purpose is Purpose.DEBUG and time > _OF_A_TEST:
        return f"{time} is more than a test takes"
    return "nobody asked for it" if not case.spec.partition and queue.purpose is not Purpose.SERIAL else ""


def _production(case: Case) -> str | None:
    queues = (queue for queue in case.site.partitions if queue.purpose is Purpose.PRODUCTION)
    first = next(queues, None)
    return f"`--partition {first.flag or first.name}`" if first else None


RULES = (
    SESSION, UNATTENDED, ORIGIN, LOGIN_NODE, GUESTS, TRANSFERS, PREEMPTIBLE, DEBUG_QUEUE,
)  # fmt: skip
CHECKS: tuple[Check, ...] = (on_login_node, editor_on_login_node, preemptible, debug_queue)
ADVICE: tuple[Advice, ...] = (session, unattended, origin, login_node, guests, transfers)
