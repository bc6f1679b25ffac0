"""Rules about time, account, queue and flags."""

from __future__ import annotations

from msgspec.structs import replace

from tests.rules.cases import (
    Trial,
    a100,
    accounting,
    advised,
    asks,
    case,
    if_known,
    known,
    of,
    on,
    past,
    request,
    runs,
    site,
    time,
    times,
    with_gpus,
    with_queue,
)
from voyageur.allowance import Account
from voyageur.rules import Case
from voyageur.site import Policy, Request, Status
from voyageur.units import Duration

NONE = asks()
HOUR = asks(time="1h")
TIERS = times(tiers=(time("3h"), time("12h")))
USEFUL = times(useful=time("1h"), useful_test=time("5m"))
DEF_AND_RRG = known(accounts=(Account(name="def-ada"), Account(name="rrg-ada")))
CONDITIONAL = request(account=Policy.CONDITIONAL)
AIP = request(account_form="aip-.+", account_example="aip-prof")
NO_MEMORY, MEMORY_IGNORED = request(memory=Policy.FORBIDDEN), request(memory=Policy.IGNORED)
GPUS = with_gpus(a100())


def shorter(judged: Case, limit: Duration) -> Case:
    """The planner itself refuses less than the least time; this is a plan that it did not look at."""
    shape = replace(judged.plan.shape, time=replace(judged.plan.shape.time, value=limit))
    return replace(judged, plan=replace(judged.plan, shape=shape))


AN_HOUR = case(times(minimum=time("1h")), time="1h")

TRIALS = [
    # ── how long
    of(asks(time="12h"), "time-limit", "above the site's", times(maximum=time("3h")), times(maximum=time("12h"))),
    on(request(time=Policy.REQUIRED), "time-limit", "not given", asks(without=["--time"]), NONE),
    on(TIERS, "time-tier", "just above", asks(time="14h"), asks(time="20h")),
    on(USEFUL, "time-short", "useless", asks(time="2m"), HOUR),
    on(
        USEFUL,
        "time-short",
        "no test any more",
        asks(time="10m", known=known(history=5 * (past("5m"),))),
        asks(time="10m", known=known(history=4 * (past("5m"),))),
    ),
    Trial("time-short", "below the least", shorter(AN_HOUR, time("10m")), AN_HOUR),
    on(accounting(minimum=time("15m")), "time-short", "billed more", asks(time="10m"), asks(time="15m")),
    if_known(
        asks(time="12h"),
        "time-unused",
        "by earlier runs",
        known(history=(past("1h"), past("50m"))),
        known(history=(past("10h"), past("50m"))),
    ),
    # ── which cluster, who pays, which queue
    advised("retired-site", "gone", replace(site(), status=Status.RETIRED, successor="elm", ended="2025-09-12")),
    on(CONDITIONAL, "account", "not named", asks(known=DEF_AND_RRG), asks(known=DEF_AND_RRG, account="rrg-ada")),
    if_known(asks(account="def-eda"), "account", "not one's own", DEF_AND_RRG, known()),
    on(AIP, "account-form", "of another cluster", asks(account="def-ada"), asks(account="aip-ada")),
    on(
        with_queue(account_form=".+-gpu"),
        "account-form",
        "of another kind",
        asks(account="ada-cpu"),
        asks(account="ada-gpu"),
    ),
    on(request(partition=Policy.FORBIDDEN), "partition", "named", asks(flags=["--partition=main"]), NONE),
    on(request(partition=Policy.REQUIRED), "partition", "not named", asks(without=["--partition"]), NONE),
    on(with_queue(trap="serial"), "default-trap", "nothing named", asks(without=["--partition"]), NONE),
    on(with_queue(trap="main"), "default-trap", "not asked for", NONE, asks(partition="main")),
    # ── flags
    on(NO_MEMORY, "forbidden-flag", "memory", asks(memory="10G"), NONE),
    on(MEMORY_IGNORED, "forbidden-flag", "memory ignored", asks(memory="10G"), NONE),
    on(
        request(forbidden=("--mem=0",)),
        "forbidden-flag",
        "all of the memory",
        asks(without=["--mem"], flags=["--mem=0"]),
        asks(memory="10G"),
    ),
    on(
        request(forbidden=("--gpus-per-task",)),
        "forbidden-flag",
        "of an srun of one's own",
        runs("srun", "--gpus-per-task=1", "./a"),
        runs("srun", "./a", "--gpus-per-task=1"),
    ),
    on(request(qos=Policy.FORBIDDEN), "forbidden-flag", "QOS", asks(qos="high"), NONE),
    on(
        request(nodelist=Policy.FORBIDDEN),
        "node-choice",
        "of an srun of one's own",
        runs("srun", "-wnode7", "./a"),
        runs("srun", "-n2", "./a"),
    ),
    on(request(constraint=Policy.REQUIRED), "required-flag", "constraint", NONE, asks(constraint="gpu")),
    on(request(extra=("--hint=nomultithread",)), "required-flag", "extra", asks(without=["--hint"]), NONE),
    on(
        with_gpus(a100(), request=Request(source="Oak's manual: flags", gpus_in_srun=True)),
        "required-flag",
        "GPUs of srun",
        runs("srun", "./a", gpus=1),
        runs("srun", "--gpus=1", "./a", gpus=1),
    ),
    on(
        GPUS,
        "gpu-spelling",
        "another site's",
        asks(gpus=1, without=["--gres"], flags=["--gpus-per-node=a100:1"]),
        asks(gpus=1),
    ),
    on(GPUS, "gpu-spelling", "not said", asks(gpus=1, without=["--gres"]), NONE),
    on(
        with_gpus(a100(), request=Request(gpu_flag="")),
        "gpu-spelling",
        "said where they come unasked",
        asks(gpus=1, flags=["--gres=gpu:1"]),
        asks(gpus=1),
    ),
]
