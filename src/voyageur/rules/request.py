"""What sbatch is told: account, queue, flags that a site wants or does not take, and how it spells a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import flags, is_cluster, partition_of, value_of
from voyageur.site import Policy, Purpose, Site, Status
from voyageur.spec.keys import nearest

RETIRED = Rule(
    id="retired-site",
    numbers=(),
    level=Level.ERROR,
    because="nothing runs there any more",
    fix="choose another cluster with `--on`",
    source="the cluster's own page",
)
ACCOUNT = Rule(
    id="account",
    numbers=(5,),
    level=Level.ERROR,
    because="Slurm refuses a job when it cannot tell who pays for it",
    fix="name the account with `--account`",
    source="Alliance documentation: Running jobs",
)
ACCOUNT_FORM = Rule(
    id="account-form",
    numbers=(6,),
    level=Level.ERROR,
    because="accounts are of one cluster, and of one kind of node; others are refused",
    fix="name another with `--account`",
    source="Alliance documentation: Running jobs",
)
PARTITION = Rule(
    id="partition",
    numbers=(7,),
    level=Level.ERROR,
    because="some sites choose the partition themselves, others run nothing without one",
    fix="name one with `--partition`",
    source="Alliance documentation: Running jobs",
)
DEFAULT_TRAP = Rule(
    id="default-trap",
    numbers=(8,),
    level=Level.ERROR,
    because="what Slurm takes when none is named is not made for production",
    fix="name the partition with `--partition`, or the QOS with `--qos`",
    source="CINECA documentation: Leonardo",
)
FORBIDDEN_FLAG = Rule(
    id="forbidden-flag",
    numbers=(9,),
    level=Level.ERROR,
    because="a job that says it is rejected",
    fix="leave it out",
    source="TACC documentation: Vista user guide",
)
NODE_CHOICE = Rule(
    id="node-choice",
    numbers=(10,),
    level=Level.ERROR,
    because="jobs that request or exclude nodes by name are deleted there",
    fix="leave the names of nodes out",
    source="TACC documentation: running jobs, specific nodes",
)
REQUIRED_FLAG = Rule(
    id="required-flag",
    numbers=(11,),
    level=Level.ERROR,
    because="a job that does not say it is refused, or starts without what it needs",
    fix="add it",
    source="NERSC documentation: running jobs on Perlmutter",
)
GPU_SPELLING = Rule(
    id="gpu-spelling",
    numbers=(12,),
    level=Level.ERROR,
    because="each site has its own way to ask for GPUs, and does not understand the others",
    fix="ask for GPUs with `--gpus` and `--gpu-type` alone",
    source="Alliance documentation: Using GPUs with Slurm",
)


def retired(case: Case) -> Iterator[Finding]:
    yield from retired_site(case.site)


def retired_site(site: Site) -> Iterator[Finding]:
    if site.status is not Status.RETIRED:
        return
    when = f" on {site.ended}" if site.ended else ""
    fix = f"`--on {site.successor}`" if site.successor else None
    because = f"its successor is {site.successor}" if site.successor else None
    yield RETIRED.broken(f"{site.title} was switched off{when}", because=because, fix=fix)


# ── who pays ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def account(case: Case) -> Iterator[Finding]:
    yield from _account_of_the_shell(case)
    chosen, mine = case.plan.account.value, _own_accounts(case)
    source = case.site.request.source
    if chosen is None and len(mine) > 1 and case.site.request.account in (Policy.CONDITIONAL, Policy.REQUIRED):
        what = f"no account is named, and you have {len(mine)}: {', '.join(mine)}"
        yield ACCOUNT.broken(what, fix=f"`--account {mine[0]}`", source=source)
    elif chosen is None and not mine and case.site.request.account is Policy.REQUIRED:
        yield ACCOUNT.broken(f"no account is named, and {case.site.name} wants one", source=source)
    elif chosen is not None and mine and _plain(chosen) not in mine:
        guess = nearest(chosen, mine) or mine[0]
        what = f"you may not charge `{chosen}`; you have {', '.join(mine)}"
        yield ACCOUNT.broken(what, fix=f"`--account {guess}`", source=source)


def _own_accounts(case: Case) -> list[str]:
    return list(dict.fromkeys(_plain(account.name) for account in case.known.accounts))


def _plain(account: str) -> str:
    """Some sites keep CPU and GPU time apart and add these endings themselves; people name the account without."""
    return re.sub("_(cpu|gpu)$", "", account)


def _account_of_the_shell(case: Case) -> Iterator[Finding]:
    """sbatch obeys SBATCH_ACCOUNT before the script. Voyageur does not hand it on, so its owner should know."""
    theirs, chosen = case.known.environment.get("SBATCH_ACCOUNT"), case.plan.account.value
    if theirs and theirs != chosen and is_cluster(case):
        charged = f"`{chosen}`" if chosen else "your default account"
        yield ACCOUNT.broken(
            f"SBATCH_ACCOUNT is `{theirs}` in this shell, but {charged} is charged",
            level=Level.WARNING,
            because="sbatch would obey that variable against the script, so it is not handed on",
            fix=f"`--account {theirs}`, or `unset SBATCH_ACCOUNT`",
        )


def account_form(case: Case) -> Iterator[Finding]:
    chosen, request = case.plan.account.value, case.site.request
    if chosen and request.account_form and not re.fullmatch(request.account_form, chosen):
        like = f", like `{request.account_example}`" if request.account_example else ""
        what = f"`{chosen}` is no account of {case.site.name}: those look like {request.account_form}{like}"
        fix = f"`--account {request.account_example}`, with the name of yours" if request.account_example else None
        yield ACCOUNT_FORM.broken(what, fix=fix, source=request.source)


# ── which queue ──────────────────────────────────────────────────────────────────────────────────────────────────────


def partition(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    named, policy = value_of(case, "--partition"), case.site.request.partition
    source = case.site.request.source
    if named and policy is Policy.FORBIDDEN:
        what = f"partition `{named}` is named, and {case.site.name} chooses it itself"
        yield PARTITION.broken(what, fix="leave `--partition` out", source=source)
    elif not named and policy is Policy.REQUIRED:
        names = [queue.name for queue in case.site.partitions if queue.purpose is Purpose.PRODUCTION]
        what = f"no partition is named, and {case.site.name} wants one"
        yield PARTITION.broken(what, fix=f"`--partition {names[0]}`" if names else None, source=source)


def default_trap(case: Case) -> Iterator[Finding]:
    trap = case.site.queues.trap
    if not trap or not is_cluster(case):
        return
    named, qos = value_of(case, "--partition"), value_of(case, "--qos")
    fallen = trap in (named, qos) and not (case.spec.partition or case.spec.qos)
    if fallen or not (named or qos):
        queue = next((one for one in case.site.partitions if one.purpose is Purpose.PRODUCTION), None)
        fix = _to(queue.flag or queue.name, queue.qos) if queue else None
        yield DEFAULT_TRAP.broken(f"it would go to `{trap}`", fix=fix, source=case.site.queues.source)


def _to(partition: str, qos: str | None) -> str:
    return f"`--qos {qos}`" if qos else f"`--partition {partition}`"


# ── flags ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_MEMORY = ("--mem", "--mem-per-cpu", "--mem-per-gpu")


def forbidden_flag(case: Case) -> Iterator[Finding]:
    request, site = case.site.request, case.site.name
    for flag in _told(case):
        if _is_one_of(flag, request.forbidden):
            yield FORBIDDEN_FLAG.broken(f"{site} takes no `{flag}`", source=request.source)
    yield from _memory_flag(case)
    for name, policy in (("qos", request.qos), ("constraint", request.constraint)):
        if policy is Policy.FORBIDDEN and value_of(case, f"--{name}") is not None:
            fix = f"leave `--{name}` out"
            yield FORBIDDEN_FLAG.broken(f"{site} takes no `--{name}`", fix=fix, source=request.source)


def _memory_flag(case: Case) -> Iterator[Finding]:
    request, resources = case.site.request, case.spec.resources
    said = [flag for flag in _told(case) if _is_one_of(flag, _MEMORY) and not _is_one_of(flag, request.forbidden)]
    wish = resources.memory or resources.memory_per_gpu
    shown = said[0] if said else f"--memory {wish}" if wish and is_cluster(case) else None
    if shown and request.memory is Policy.FORBIDDEN:
        what = f"{case.site.name} takes no `{shown}`"
        yield FORBIDDEN_FLAG.broken(what, fix="leave the memory out", source=request.source)
    elif shown and request.memory is Policy.IGNORED:
        what, because = f"{case.site.name} ignores `{shown}`", "the memory there comes with the node or with the GPU"
        yield FORBIDDEN_FLAG.broken(
            what, level=Level.WARNING, because=because, fix="leave the memory out", source=request.source
        )


def _told(case: Case) -> list[str]:
    """What sbatch is told, and srun: by the plan, or by a command that calls srun itself."""
    if not is_cluster(case):
        return []
    return [*flags(case), *_srun_flags(case)]


def _srun_flags(case: Case) -> list[str]:
    if case.plan.command[:1] != ("srun",):
        return []
    words = case.plan.command[1:]
    end = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return list(words[:end])


def _is_one_of(flag: str, names: tuple[str, ...]) -> bool:
    """`--mem` is every `--mem=...`; `--mem=0` is only that."""
    return any(flag == name or flag.startswith(f"{name}=") for name in names)


def node_choice(case: Case) -> Iterator[Finding]:
    if case.site.request.nodelist is not Policy.FORBIDDEN:
        return
    for flag in _told(case):
        if _is_one_of(flag, ("--nodelist", "--exclude", "-w", "-x")) or re.match("-[wx].", flag):
            what = f"nodes are chosen by name with `{flag}`"
            yield NODE_CHOICE.broken(what, fix=f"leave `{flag}` out", source=case.site.request.source)


def required_flag(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    request, site = case.site.request, case.site.name
    for wanted in request.extra:
        if value_of(case, wanted.partition("=")[0]) is None:
            yield REQUIRED_FLAG.broken(f"{site} wants `{wanted}`", source=request.source)
    for name, policy in (("qos", request.qos), ("constraint", request.constraint)):
        if policy is Policy.REQUIRED and value_of(case, f"--{name}") is None:
            yield REQUIRED_FLAG.broken(f"{site} wants a `--{name}`", fix=_example_of(case, name), source=request.source)
    if request.gpus_in_srun and case.plan.shape.gpus.value and _starts_without_gpus(case):
        what = f"on {site} the GPUs must be said to srun, too"
        fix = f"start with `srun --gpus-per-node={case.plan.shape.gpus.value} ...`"
        yield REQUIRED_FLAG.broken(what, fix=fix, source=request.source)


def _example_of(case: Case, name: str) -> str | None:
    queue = partition_of(case)
    value = getattr(queue, name) if queue else None
    return f"`--{name} {value}`" if value else f"name it with `--{name}`"


def _starts_without_gpus(case: Case) -> bool:
    words = case.plan.launch_words or case.plan.command
    return words[:1] == ("srun",) and not any(word.startswith(("--gpus", "--gres", "-G")) for word in words)


def gpu_spelling(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    shape, form = case.plan.shape, case.site.request.gpu_flag
    kind = f"{shape.gpu.value}:" if shape.gpu.value else ""
    right = form.format(type=kind, count=shape.gpus.value) if shape.gpus.value and form else ""
    said = [flag for flag in _told(case) if re.match(r"--gres=gpu|--gpus(-per-(node|task|socket))?=|-G", flag)]
    for flag in said:
        if flag != right and not _is_one_of(flag, case.site.request.forbidden):
            fix = f"ask with `{right}`" if right else "leave it out: GPUs come with the node"
            yield GPU_SPELLING.broken(f"{case.site.name} does not ask for GPUs with `{flag}`", fix=fix)
    if right and right not in said:
        what = f"{shape.gpus.value} GPUs are wanted, but sbatch is not asked for any"
        yield GPU_SPELLING.broken(what, fix=f"ask with `{right}`", source=case.site.request.source)


RULES = (
    RETIRED, ACCOUNT, ACCOUNT_FORM, PARTITION, DEFAULT_TRAP, FORBIDDEN_FLAG, NODE_CHOICE, REQUIRED_FLAG, GPU_SPELLING,
)  # fmt: skip
CHECKS: tuple[Check, ...] = (
    retired, account, account_form, partition, default_trap, forbidden_flag, node_choice, required_flag, gpu_spelling,
)  # fmt: skip
ADVICE: tuple[Advice, ...] = (retired_site,)
