"""A cluster asked what it is: all questions at once, each in bounded time, so that a controller that hangs costs the
time of one. What did not answer stays unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from voyageur.hosts import Host
from voyageur.questions.bounded import ask_program, why_nothing
from voyageur.questions.modules import missing_modules
from voyageur.site import Site
from voyageur.site.places import whole_path
from voyageur.site.seen import Seen, kinds_seen, partitions_seen
from voyageur.slurm_text import config_argv, config_from
from voyageur.slurm_text.survey import (
    node_kinds_argv,
    node_kinds_from,
    partition_rows_from,
    partitions_argv,
    qos_argv,
    qos_rows_from,
)
from voyageur.units import Duration

PATIENCE = Duration(20)
_QUESTIONS = {
    "nodes": node_kinds_argv(),
    "partitions": partitions_argv(),
    "config": config_argv(),
    "qos": qos_argv(),
}


class Probed(Struct, frozen=True, kw_only=True):
    """`unknown`: what did not answer, and why."""

    seen: Seen
    unknown: dict[str, str]


def probe(
    host: Host, profile: Site, environment: Mapping[str, str], name: str = "", patience: Duration = PATIENCE
) -> Probed:
    """`name` is this machine's own, with its domain as far as it is known."""
    with ThreadPoolExecutor(max_workers=len(_QUESTIONS) + 2) as pool:
        asked = {what: pool.submit(_ask, host, argv, patience) for what, argv in _QUESTIONS.items()}
        system = pool.submit(_module_system, host, patience)
        modules = pool.submit(missing_modules, host, profile, profile.software.modules, patience)
        answers = {what: answer.result() for what, answer in asked.items()}
        lacking, kind = modules.result(), system.result()
    texts = {what: text for what, (text, _) in answers.items()}
    unknown = {what: problem for what, (_, problem) in answers.items() if problem}
    if not config_from(texts["config"]).get("AccountingStorageType", "slurmdbd").endswith("slurmdbd"):
        unknown.pop("qos", None)  # a cluster that keeps no accounts has none
    if kind is None:
        unknown["modules"] = "a login shell knows no `module`, or gave no answer"
    host_name, _, domain = name.partition(".")
    seen = _seen(texts, kind, lacking or (), _scratch(profile, environment))
    return Probed(seen=replace(seen, host=host_name, domain=domain), unknown=unknown)


def _ask(host: Host, argv: Sequence[str], patience: Duration) -> tuple[str, str]:
    """The answer, or why there is none."""
    answer = ask_program(host, argv, patience)
    if answer is None:
        return "", f"this machine has no {argv[0]}"
    return (answer.output, "") if answer.ok else ("", why_nothing(argv, answer, patience))


def _module_system(host: Host, patience: Duration) -> str | None:
    text = 'type module >/dev/null 2>&1 && echo "voyageur: ${LMOD_VERSION:+lmod}"'
    answer = ask_program(host, ["bash", "-lc", text], patience)
    lines = [line for line in answer.output.splitlines() if line.startswith("voyageur:")] if answer else []
    if not lines:
        return None
    return "lmod" if lines[-1].endswith("lmod") else "modules"


def _scratch(profile: Site, environment: Mapping[str, str]) -> str | None:
    """None when the profile is right; else what is, empty when nobody knows. Only folders that are there are right."""
    path = whole_path(profile.storage.scratch, environment)
    if path and Path(path).is_dir():
        return profile.storage.scratch
    own = f"{environment.get('HOME', '')}/scratch"
    return "$HOME/scratch" if environment.get("HOME") and Path(own).is_dir() else ""


def _seen(texts: Mapping[str, str], system: str | None, lacking: tuple[str, ...], scratch: str | None) -> Seen:
    config, rows = config_from(texts["config"]), partition_rows_from(texts["partitions"])
    kinds = node_kinds_from(texts["nodes"])
    preempts = config.get("PreemptType", "preempt/none") == "preempt/partition_prio"
    return Seen(
        cluster=config.get("ClusterName", ""),
        version=config.get("SLURM_VERSION", ""),
        kill_wait=_seconds(config.get("KillWait", "")),
        message_timeout=_seconds(config.get("MessageTimeout", "")),
        array=_number(config.get("MaxArraySize", "")),
        partitions=partitions_seen(kinds, rows, preempts),
        closed=tuple(row.name for row in rows if not row.open_to_all),
        kinds=kinds_seen(kinds),
        qos=tuple(qos_rows_from(texts["qos"])),
        system=system,
        scratch=scratch,
        missing_modules=lacking,
    )


def _seconds(text: str) -> Duration | None:
    number = _number(text)
    return Duration(number) if number else None


def _number(text: str) -> int | None:
    digits = text.split(" ")[0]
    return int(digits) if digits.isdigit() else None
