"""Whatever is wished for, wherever: rules judge it, and a plain good wish is not scolded."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from tests.rules.cases import HOME, Asked, case, past, size
from voyageur.allowance import Account, JobCount, Quota
from voyageur.errors import VoyageurError
from voyageur.findings import Finding, Level
from voyageur.rules import Known, advice, all_rules, judge
from voyageur.site import Site, Status, load_profile, local_site, profile_names

SITES = {name: load_profile(name) for name in profile_names()}
RUNNING = {name: site for name, site in SITES.items() if site.status is Status.PRODUCTION}
IDS = {rule.id for rule in all_rules()}

WISHES = some.fixed_dictionaries(
    {},
    optional={
        "nodes": some.integers(1, 3),
        "gpus": some.sampled_from([0, 1, 2, 4, 8]),
        "cpus": some.integers(1, 300),
        "memory": some.sampled_from(["1G", "250G", "512G", "3T"]),
        "time": some.sampled_from(["1m", "10m", "1h", "25h", "13d"]),
        "account": some.sampled_from(["def-ada", "aip-ada", "project_1", "x-gpu"]),
        "qos": some.sampled_from(["debug", "normal"]),
        "constraint": some.just("gpu"),
        "requeue": some.booleans(),
        "env__modules": some.lists(some.sampled_from(["cuda/12", "python", "arch/avx512", "StdEnv/2016"])),
        "command": some.lists(
            some.sampled_from(
                ["srun", "-w", "tar", "-xf", "{tmp}", "--out={tmp}", "~/x", "$WORK/x", "sbatch", "/p", "$("]
            ),
            min_size=1,
        ),
    },
)
ASKED_FOR_NOTHING = Known()
ALL_KNOWN = Known(
    here=True,
    environment={**HOME, "PROJECT": "/project/ada", "TERM_PROGRAM": "vscode"},
    accounts=(Account(name="def-ada_gpu", most_submitted=3), Account(name="x")),
    jobs=JobCount(submitted=5000, running=1),
    quotas=(Quota(place="/scratch"), Quota(place="home", used=size("2T"), limit=size("1T"), files=2, file_limit=1)),
    missing_modules=("python",),
    architecture="riscv64",
    history=(past("1s"), past("1h", peak_memory=size("1M"), cpu_seconds=0.5)),
    submitted_lately=99,
    unanswered=("train-1",),
    staged=size("100T"),
)


def judged(site: Site, known: Known, asked: Asked) -> tuple[Finding, ...]:
    """Nothing where the planner itself refuses it."""
    try:
        return judge(case(site, known=known, **asked))
    except VoyageurError:
        return ()


@pytest.mark.parametrize("name", [*RUNNING, "local"])
@given(asked=WISHES, known=some.sampled_from([ASKED_FOR_NOTHING, ALL_KNOWN]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rules_judge_whatever_is_wished_for(name: str, asked: Asked, known: Known) -> None:
    site = RUNNING.get(name) or local_site()
    for found in judged(site, known, asked):
        assert found.rule in IDS
        assert found.what and found.because and found.fix and found.source


@pytest.mark.parametrize("name", SITES)
def test_advice_is_all_hints_unless_the_cluster_is_gone(name: str) -> None:
    levels = {found.level for found in advice(SITES[name])}
    assert levels <= ({Level.HINT} if name in RUNNING else {Level.HINT, Level.ERROR})
    assert (Level.ERROR in levels) == (name not in RUNNING)


def good_wish(site: Site) -> Asked:
    """An hour with what the program needs said, as that site asks for it."""
    account = {"account": site.request.account_example or "ada-cpu"}
    queue = next((one for one in site.partitions if one.default), None)
    whole = queue is not None and queue.whole_node
    return account if whole or site.request.default_memory_per_cpu is None else {**account, "memory": "4G"}


@pytest.mark.parametrize("name", [name for name in RUNNING if name not in ("delta", "mila")])
def test_a_plain_good_plan_is_not_scolded(name: str) -> None:
    found = judge(case(RUNNING[name], **good_wish(RUNNING[name])))
    assert [one for one in found if one.level is not Level.HINT] == []


@pytest.mark.parametrize("name", ["daint", "leonardo", "lumi", "narval", "perlmutter", "rorqual", "fir"])
def test_nor_is_one_for_two_whole_nodes_of_gpus(name: str) -> None:
    site = RUNNING[name]
    each = max(gpu.per_node for queue in site.partitions for gpu in queue.gpus)
    asked = {**good_wish(site), "gpus": each, "nodes": 2, "launch__with": "per-rank"}
    found = judge(case(site, **asked))
    assert [one for one in found if one.level is not Level.HINT] == []


def test_delta_has_accounts_of_two_kinds() -> None:
    site = RUNNING["delta"]
    assert {one.rule for one in judge(case(site, account="abcd-delta-gpu", memory="4G"))} == {"account-form"}
    assert judge(case(site, account="abcd-delta-cpu", memory="4G")) == ()


def test_this_machine_has_few_rules() -> None:
    site = local_site()
    assert judge(case(site, gpus=0, time="1m", memory="1G", env__modules=["python"])) == ()
    there = replace(ALL_KNOWN, login_node_of=RUNNING["narval"])
    assert [one.rule for one in judge(case(site, known=there))] == ["login-node"]
