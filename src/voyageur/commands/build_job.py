"""An environment made in a job, like any other run: submitted, followed, and in the list of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from voyageur.commands import session
from voyageur.commands.building import order_for
from voyageur.commands.env.setting import Setting
from voyageur.env.store import find_built
from voyageur.errors import RunError, VoyageurError
from voyageur.runtime.folder import write_atomically
from voyageur.show.output import aside
from voyageur.site import Medium, Site
from voyageur.spec import Checkpoint, Environment, Launch, Resources, Results, Retry, Spec
from voyageur.units import Duration, Size

if TYPE_CHECKING:
    from voyageur.commands.environments import Provision
    from voyageur.env.model import Built
    from voyageur.record import Run
    from voyageur.workshop.making import Order

EXPERIMENT = "environment"
_MEMORY = Size.parse("3G")  # what packs an image may have one of them
_MEMORY_AS_DISK = Size.parse("16G")  # where a node's folder is memory, the packages lie in it, too


def build_in_job(setting: Setting, provision: Provision, *, again: bool = False) -> Built:
    """Waits for it. What the network has is fetched here, because a node may have none."""
    from voyageur.commands.following import follow
    from voyageur.commands.quota_check import check_quotas
    from voyageur.show.runs import summary_line
    from voyageur.workshop.room import full_disks_told

    order = order_for(setting, provision)
    built = None if again else find_built(setting.environments, order.key)
    if built:
        return built
    check_quotas(setting, order)
    with full_disks_told(setting.environments.parent):
        path = _written(_with_files(replace(order, again=again)), setting.environments)
    run = _submitted_with(path, spec_for(setting.spec, setting.site, path))
    aside(f"{run.id} makes it: `voy logs {run.id}` shows this log again")
    run, verdict = follow(session.runs(), run, show=_show)
    session.runs().remember(run, verdict)
    path.unlink(missing_ok=True)
    built = find_built(setting.environments, order.key)
    if built is None or (again and not verdict.state.is_good):
        facts = [summary_line(run, verdict, False), f"log: {run.log}"]
        raise RunError("the job made no environment", facts=facts, hint=verdict.hint or f"`voy logs {run.id}`")
    return built


def _show(data: bytes) -> None:
    aside(data.decode("utf-8", "replace").rstrip("\n"))


def _with_files(order: Order) -> Order:
    """Every file by its whole path, also those that have just been fetched."""
    from voyageur.workshop.gathering import Keys, Shelf, gather

    lock = order.lock
    keys = Keys(lambda: _indexes(order), session.environment())
    shelf = Shelf(root=Path(order.root), cache=Path(order.cache), folders=order.folders, keys=keys)
    files = gather(lock.packages, lock.target, shelf)
    packages = tuple(replace(one, origin=str(files[one.file].absolute())) for one in lock.packages)
    return replace(order, lock=replace(lock, packages=packages))


def _indexes(order: Order) -> tuple[str, ...]:
    from voyageur.workshop.making import indexes_of
    from voyageur.workshop.python import find_python
    from voyageur.workshop.room import work_folder
    from voyageur.workshop.shell import open_shell

    with work_folder(session.environment()) as work:
        shell = open_shell(order.lock.modules, order.purge, session.environment(), work)
        return indexes_of(order, shell, find_python(shell, order.python or order.lock.target.python))


def _written(order: Order, folder: Path) -> Path:
    """Each job has its own: another one of the same environment may still wait when this one has ended."""
    from voyageur.workshop.making import make_folder, order_path

    make_folder(folder)
    path = order_path(folder, order.key)
    write_atomically(str(path), msgspec.json.encode(order))
    return path


def _submitted_with(order: Path, spec: Spec) -> Run:
    try:
        return _submitted(spec)
    except VoyageurError:
        order.unlink(missing_ok=True)
        raise


def _needs(site: Site) -> Resources:
    in_memory = site.local_disk.medium is Medium.MEMORY
    return Resources(cpus=2, memory=_MEMORY_AS_DISK if in_memory else _MEMORY, time=Duration.parse("1h"))


def spec_for(spec: Spec, site: Site, order: Path) -> Spec:
    """The project's own wishes for where to charge, but none of those for its program.

    A partition for GPUs is none for this.
    """
    for_gpus = bool(spec.resources.gpus or spec.resources.gpu)
    return replace(
        spec,
        command=(sys.executable, "-m", "voyageur.workshop", str(order)),
        experiment=EXPERIMENT,
        resources=_needs(site),
        partition=None if for_gpus else spec.partition,
        qos=None if for_gpus else spec.qos,
        constraint=None if for_gpus else spec.constraint,
        env=Environment(modules=spec.env.modules),
        sources={**spec.sources, "env.venv": "voy env build"},  # it needs no other environment than ours
        launch=Launch(with_="plain"),
        checkpoint=Checkpoint(),
        retry=Retry(),
        data={},
        results=Results(),
    )


def _submitted(spec: Spec) -> Run:
    from voyageur.commands import etiquette
    from voyageur.commands.judging import refuse_errors
    from voyageur.commands.planning import judged, make_run, plan_of, wished_of
    from voyageur.record import State, Verdict

    planned = judged(plan_of(wished_of(spec, packages=False)))
    refuse_errors(planned.findings, planned.site)
    session.check_can_submit(planned.site)
    etiquette.pause_before_submit(planned.site)
    run = make_run(planned)
    session.engine_for(planned.site).submit(run)
    session.runs().remember(run.reread(), Verdict(state=State.PENDING))
    return run.reread()
