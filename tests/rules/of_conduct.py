"""Rules about getting in, being a good guest, the right queue, and what it costs."""

from __future__ import annotations

from msgspec.structs import replace

from tests.plan.wishes import MACHINE
from tests.rules.cases import (
    Trial,
    access,
    accounting,
    advised,
    asks,
    case,
    conduct,
    if_known,
    known,
    limits,
    on,
    past,
    runs,
    size,
    time,
    with_queue,
)
from voyageur.allowance import Balance
from voyageur.rules import Case, Known
from voyageur.site import Purpose, Unit, Welcome

NONE = asks()
NAMED = asks(partition="main")
PREEMPTIBLE = with_queue(preemptible=True, grace=time("5m"))
DEBUG = with_queue(purpose=Purpose.DEBUG, time_limit=time("2h"))
IN_AN_EDITOR = Known(here=True, environment={"TERM_PROGRAM": "vscode"})


def with_left(left: float) -> Case:
    judged = case(accounting(unit=Unit.CORE_HOURS, by=("cores",)), cpus=10, time="10h")
    balance = Balance(account="def-ada", unit="core-hours", left=left)
    return replace(judged, plan=replace(judged.plan, left=balance))


TRIALS = [
    # ── getting in
    advised("session", "told", access(session=time("1d"), renew="key sign")),
    advised("unattended", "told", access(unattended="robot nodes, on request", robots=("robot.oak",))),
    advised("origin", "told", access(only_from="Canada")),
    # ── a good guest
    Trial(
        "login-node",
        "voy run",
        case(MACHINE, known=known(login_node_of=conduct(login_cpu=time("10m"), login_memory=size("4G")))),
        case(MACHINE),
    ),
    advised("login-node", "told", conduct(login_cpu=time("10m"), login_memory=size("4G"))),
    advised("login-node", "no builds", conduct(login_builds=Welcome.DISCOURAGED)),
    advised("login-node", "no timers", conduct(crontab=Welcome.FORBIDDEN)),
    on(conduct(editors=Welcome.FORBIDDEN), "editors-and-agents", "an editor", asks(known=IN_AN_EDITOR), NONE),
    advised("editors-and-agents", "told", conduct(agents=Welcome.DISCOURAGED)),
    Trial(
        "transfers",
        "told",
        access(login=("oak",), transfer=("dtn.oak",), globus="Oak"),
        access(login=("oak",), transfer=("oak",)),
    ),
    advised("transfers", "so many", limits(transfers=3)),
    # ── the right queue
    on(PREEMPTIBLE, "preemptible", "nothing saved", NONE, runs("./a", "--out", "{checkpoints}")),
    on(
        PREEMPTIBLE,
        "preemptible",
        "not requeued",
        runs("./a", "{checkpoints}", requeue=False),
        runs("./a", "{checkpoints}"),
    ),
    on(DEBUG, "debug-queue", "an array", asks(flags=["--array=1-5"], **NAMED), NAMED),
    on(DEBUG, "debug-queue", "long", asks(time="2h", **NAMED), asks(time="30m", **NAMED)),
    on(DEBUG, "debug-queue", "not asked for", NONE, NAMED),
    Trial("debug-queue", "at a prompt", case(with_queue(purpose=Purpose.INTERACTIVE), **NAMED), case(**NAMED)),
    # ── what it costs
    Trial("budget", "most of what is left", with_left(200.0), with_left(2000.0)),
    if_known(
        asks(memory="32G"),
        "waste",
        "memory",
        known(history=(past("2h", peak_memory=size("4G")), past("2h"))),
        known(history=(past("2h", peak_memory=size("30G")), past("2h"))),
    ),
    if_known(
        asks(cpus=8),
        "waste",
        "cores",
        known(history=(past("2h", cpu_seconds=7200.0), past("2h"))),
        known(history=(past("2h", cpu_seconds=57_000.0), past("2h"))),
    ),
]
