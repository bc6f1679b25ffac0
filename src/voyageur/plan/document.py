"""The whole plan as one JSON document."""

from __future__ import annotations

from typing import Any

import msgspec

from voyageur.env import Built
from voyageur.plan.model import Cargo, Chain, Choice, Container, Plan
from voyageur.units import Duration, Size


def document(plan: Plan) -> dict[str, Any]:
    shape = {name: choice(getattr(plan.shape, name)) for name in plan.shape.__struct_fields__}
    return {
        "run": plan.identity.run,
        "job_name": plan.identity.job_name,
        "site": plan.site,
        "engine": plan.engine,
        "project": plan.project,
        "experiment": plan.experiment,
        "command": list(plan.command),
        "start_in": plan.start_in,
        "resources": shape,
        "queue": {"place": plan.queue.place}
        | {name: choice(getattr(plan.queue, name)) for name in ("partition", "qos", "constraint")},
        "launch": choice(plan.launch),
        "launch_words": list(plan.launch_words),
        "launcher": list(plan.launcher.words),
        "warn": choice(plan.warn),
        "chain": {name: choice(getattr(plan.chain, name)) for name in ("pieces", "piece", "by")}
        if plan.chain
        else None,
        "account": choice(plan.account),
        "cost": msgspec.to_builtins(plan.cost),
        "left": msgspec.to_builtins(plan.left),
        "requeue": choice(plan.requeue),
        "modules": choice(plan.modules),
        "purge_modules": choice(plan.purge),
        "environment": _environment(plan.environment),
        "activate": choice(plan.activate),
        "container": _container(plan.container) if plan.container else None,
        "data": {cargo.name: _cargo(cargo) for cargo in plan.data},
        "results": choice(plan.results),
        "folders": {name: str(getattr(plan.folders, name)) for name in plan.folders.__struct_fields__},
        "code": {
            "archive": str(plan.code.archive),
            "checksum": plan.code.checksum,
            "files": plan.code.files,
            "size": str(plan.code.size),
        },
        "directives": msgspec.to_builtins(plan.directives),
        "variables": {export.name: export.value for export in plan.exports},
        "secrets": list(plan.secrets),
        "notes": list(plan.notes),
    }


def _environment(made: Choice[Built | None]) -> dict[str, Any] | None:
    """Exactly which one, so that it can be made again."""
    if made.value is None:
        return None
    facts = msgspec.to_builtins(made.value)
    return {**facts, "size": str(made.value.size), "unpacked": str(made.value.unpacked), "because": made.because}


def _cargo(cargo: Cargo) -> dict[str, Any]:
    need = str(cargo.need) if cargo.need else None
    return {"from": cargo.source, "what": cargo.what, "at": cargo.at, "need": need, "stage": choice(cargo.stage)}


def _container(container: Container) -> dict[str, Any]:
    return {
        "image": choice(container.image),
        "kind": container.kind,
        "digest": container.digest or None,
        "architecture": container.architecture,
        "runtime": choice(container.runtime),
    }


def _chain(chain: Chain) -> dict[str, Any]:
    return {name: choice(getattr(chain, name)) for name in chain.__struct_fields__}


def choice(made: Choice[Any]) -> dict[str, Any]:
    value = str(made.value) if isinstance(made.value, Duration | Size) else made.value
    return {"value": value, "because": made.because}
