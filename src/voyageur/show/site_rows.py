"""The facts of a site as rows, section by section; its queues and its file systems have modules of their own."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.show.rows import NOT_KNOWN, Row, listed, rows
from voyageur.site import Policy, Reach, Site, Unit, Welcome

# ── getting in ───────────────────────────────────────────────────────────────────────────────────────────────────────


def entrance(site: Site) -> Iterator[Row]:
    access = site.access
    if not access.login:
        yield Row("ssh", NOT_KNOWN)
    for number, host in enumerate(access.login):
        yield Row("" if number else "ssh", _ssh(host, access.jump, access.port))
    life = f"lives for {access.session}; " if access.session else ""
    yield from rows(
        ("proof", listed(access.factors, ", then ") or NOT_KNOWN),
        ("own keys", "do not open the door by themselves" if access.keys is False else ""),
        ("certificate", f"{life}a new one: `{access.renew}`" if access.renew else ""),
        ("only from", access.only_from),
        ("connections", "keep one open and use it again (ControlMaster)" if access.reuse else ""),
        ("large files", _doors(site)),
        ("robots", listed(access.robots)),
        ("unattended", access.unattended),
        ("web", access.portal),
    )


def _ssh(host: str, jump: str | None, port: int | None) -> str:
    words = ["ssh", *(["-J", f"USER@{jump}"] if jump else []), *(["-p", str(port)] if port else []), f"USER@{host}"]
    return " ".join(words)


def _doors(site: Site) -> str:
    access = site.access
    doors = [*access.transfer, *([f"Globus `{access.globus}`"] if access.globus else [])]
    must = f"; there, what is larger than {access.transfer_above}" if access.transfer_above else ""
    return listed(doors) + must if doors else ""


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_POLICIES = {
    Policy.REQUIRED: "must be named",
    Policy.CONDITIONAL: "must be named by those who have several",
    Policy.OPTIONAL: "may be named",
    Policy.IGNORED: "is ignored",
    Policy.FORBIDDEN: "must not be named",
}


def request(site: Site) -> Iterator[Row]:
    asked = site.request
    example = f", like {asked.account_example}" if asked.account_example else ""
    yield from rows(
        ("account", _POLICIES[asked.account] + example),
        ("partition", _POLICIES[asked.partition] + _trap(site)),
        ("QOS", _POLICIES[asked.qos] if asked.qos is not Policy.OPTIONAL else ""),
        ("constraint", _POLICIES[asked.constraint] if asked.constraint is not Policy.OPTIONAL else ""),
        ("nodes", "are given whole, and paid whole" if gives_whole_nodes(site) else ""),
        ("GPUs", _gpu_flag(site)),
        ("memory", _memory(site)),
        ("time", _time(site)),
        ("never give", listed(_never(site))),
        ("always give", listed(asked.extra)),
        ("start ranks", f"with {asked.launcher}" if asked.launcher else ""),
        ("modules", "are loaded before anything else" if asked.modules_first else ""),
    )


def gives_whole_nodes(site: Site) -> bool:
    """All those of which anything is known."""
    known = [partition.whole_node for partition in site.partitions if partition.cpus]
    return bool(known) and all(known)


def _trap(site: Site) -> str:
    trap = site.queues.trap
    return f"; Slurm's own choice is `{trap}`, which is hardly what you want" if trap else ""


def _gpu_flag(site: Site) -> str:
    asked = site.request
    if not any(partition.gpus for partition in site.partitions):
        return ""
    flag = asked.gpu_flag.format(type="TYPE:" if site.gpu_names() else "", count="COUNT")
    flag = flag or "are not asked for: they come with the node"
    model = "; the type must be named" if asked.gpu_type is Policy.REQUIRED else ""
    ranks = f"; one for each rank: {asked.gpu_flag_per_rank}" if asked.gpu_flag_per_rank else ""
    return flag + model + ranks


def _memory(site: Site) -> str:
    asked = site.request
    words = {
        Policy.FORBIDDEN: "must not be asked for",
        Policy.IGNORED: "is ignored",
        Policy.REQUIRED: "must be asked for",
    }
    default = f"{asked.default_memory_per_cpu} a core when not asked for" if asked.default_memory_per_cpu else ""
    whole = f"all of whole nodes: {asked.whole_memory}" if asked.whole_memory else ""
    return listed([words.get(asked.memory), default, whole], "; ")


def _time(site: Site) -> str:
    times, asked = site.times, site.request
    parts = [
        "must be given" if asked.time is Policy.REQUIRED else "",
        f"{times.maximum} at most" if times.maximum else "",
        f"{times.minimum} at least" if times.minimum else "",
        f"{times.useful} or more for production" if times.useful else "",
        f"{asked.default_time} when not given" if asked.default_time else "",
        f"fewer nodes after each of {listed(times.tiers)}" if times.tiers else "",
    ]
    return listed(parts, "; ")


def _never(site: Site) -> list[str]:
    asked = site.request
    flags = list(asked.forbidden)
    if asked.nodelist is Policy.FORBIDDEN:
        flags.append("--nodelist, --exclude")
    if asked.export is Policy.FORBIDDEN:
        flags.append("--export")
    return flags


# ── network and software ─────────────────────────────────────────────────────────────────────────────────────────────

REACH = {
    Reach.OPEN: "open",
    Reach.PROXY: "a few hosts through a proxy",
    Reach.NONE: "none: bring everything along",
    Reach.UNKNOWN: NOT_KNOWN,
}


def network(site: Site) -> Iterator[Row]:
    net = site.network
    yield from rows(
        ("internet", REACH[net.internet]),
        ("proxy", f"module {net.proxy_module}" if net.proxy_module else ""),
        ("it opens", listed(net.proxy_hosts)),
        ("fabric", net.fabric),
        ("interface", net.interface),
        ("MASTER_ADDR", f"the host's name and `{net.master_suffix}`" if net.master_suffix else ""),
        ("set for jobs", listed((f"{name}={value}" for name, value in net.variables.items()), "  ")),
    )


_WELCOMES = {
    Welcome.FINE: "fine",
    Welcome.DISCOURAGED: "discouraged",
    Welcome.FORBIDDEN: "forbidden",
    Welcome.UNKNOWN: "",
}


VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}


def software(site: Site) -> Iterator[Row]:
    soft = site.software
    vendor = VENDORS.get(soft.gpu_vendor or "", soft.gpu_vendor)
    chip = [soft.architecture, soft.instructions, f"{vendor} GPUs" if vendor else ""]
    wheels = "built here, without network"
    yield from rows(
        ("machine", listed(chip)),
        ("system", soft.system),
        ("modules", listed(soft.modules, " ")),
        ("before them", "" if soft.purge else "never `module purge`: the rest depends on what it takes away"),
        ("load too", f"{listed(soft.before_environment)}, before an environment" if soft.before_environment else ""),
        ("refused", listed(soft.blocked)),
        ("Python", listed(soft.pythons)),
        ("wheels", (f"`{soft.wheels_command}`: " if soft.wheels_command else "") + wheels if soft.wheelhouse else ""),
        ("environments", listed(soft.environments, " or ")),
        ("conda", _WELCOMES[soft.conda]),
        ("pip", _WELCOMES[soft.pip]),
        (
            "containers",
            listed(soft.containers) + (f" (module {soft.container_module})" if soft.container_module else ""),
        ),
    )


# ── limits, cost, conduct ────────────────────────────────────────────────────────────────────────────────────────────


def limits(site: Site) -> Iterator[Row]:
    limit = site.limits
    within = {True: "jobs may submit jobs", False: "jobs cannot submit jobs", None: ""}
    yield from rows(
        ("jobs", f"{limit.submitted:,} waiting and running" if limit.submitted else ""),
        ("running", f"{limit.running:,}" if limit.running else ""),
        ("arrays", f"{limit.array:,} tasks" if limit.array else ""),
        ("submitting", f"{limit.sbatch_pause} between two calls" if limit.sbatch_pause else ""),
        ("asking", f"{limit.poll_pause} between two questions to the queue" if limit.poll_pause else ""),
        ("in jobs", within[limit.sbatch_in_jobs]),
        ("transfers", f"{limit.transfers} at once" if limit.transfers else ""),
    )


def cost(site: Site) -> Iterator[Row]:
    account = site.accounting
    rate = f"{account.rate:g} for " if account.rate != 1 else ""
    by = ["GPUs" if name == "gpus" else name for name in account.by]
    share = "the largest of a job's shares: " if len(by) > 1 else "each of a job's "
    one_core = f"; {account.core_memory} count as a core" if account.core_memory else ""
    other = f"; without GPUs in {account.cpu_unit.value}" if account.cpu_unit is not None else ""
    yield from rows(
        ("counted in", NOT_KNOWN if account.unit is Unit.UNKNOWN else account.unit.value + other),
        ("an hour", f"{rate}{share}{listed(by)}{one_core}{_factor(site)}" if by else ""),
        ("at least", account.minimum),
        ("budget", account.period),
        ("what is left", f"`{account.balance_command}`" if account.balance_command else ""),
    )


def _factor(site: Site) -> str:
    return "; times the queue's COST" if any(partition.charge != 1 for partition in site.partitions) else ""


def conduct(site: Site) -> Iterator[Row]:
    asked = site.conduct
    login = [
        f"{asked.login_cpu} of CPU" if asked.login_cpu else "",
        f"{asked.login_memory} of memory" if asked.login_memory else "",
    ]
    yield from rows(
        ("login nodes", f"{listed(login)} at most" if any(login) else ""),
        ("building", f"on login nodes {_WELCOMES[asked.login_builds]}" if _WELCOMES[asked.login_builds] else ""),
        ("AI agents", f"on login nodes {_WELCOMES[asked.agents]}" if _WELCOMES[asked.agents] else ""),
        ("editors", f"servers of VS Code {_WELCOMES[asked.editors]}" if _WELCOMES[asked.editors] else ""),
        ("crontab", _WELCOMES[asked.crontab]),
    )
    for number, wish in enumerate(asked.requests):
        yield Row("" if number else "please", f"- {wish}")
