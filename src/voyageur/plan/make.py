"""spec + site -> plan. Pure: the same wish on the same site gives the same decisions."""

from __future__ import annotations

from msgspec.structs import replace

from voyageur.errors import SiteError, SpecError
from voyageur.launch import Tasks
from voyageur.launch.signs import Recognised
from voyageur.plan.account import decide_account, what_is_left
from voyageur.plan.chain import chain_notes, decide_chain, in_pieces, more_time
from voyageur.plan.container import decide_container, image_cargo
from voyageur.plan.cost import decide_cost
from voyageur.plan.data import data_notes, decide_data
from voyageur.plan.directives import decide_directives, gpu_flag
from voyageur.plan.environment import decide_activation, decide_exports, decide_modules, decide_purge
from voyageur.plan.folders import decide_folders
from voyageur.plan.identity import slug_of_command
from voyageur.plan.launch import (
    binding,
    check_launch,
    decide_launch,
    launch_exports,
    launch_notes,
    launch_words,
    style_of,
    wanted_from,
)
from voyageur.plan.model import Choice, Folders, FrozenCode, Identity, Plan, Surroundings
from voyageur.plan.notes import notes_on
from voyageur.plan.packages import check_starter, decide_environment
from voyageur.plan.reasons import asked
from voyageur.plan.shape import decide_shape
from voyageur.site import Site, Status
from voyageur.spec import Spec
from voyageur.units import Duration

_USUAL_WARNING = Duration(120)


def slug_for(spec: Spec) -> str:
    if not spec.command:
        raise SpecError("there is no command to run", hint="give it after two dashes: `voy plan -- python train.py`")
    return spec.experiment.lower() if spec.experiment else slug_of_command(spec.command)


def experiment_of(spec: Spec) -> str:
    return spec.experiment or slug_for(spec)


def folders_for(spec: Spec, around: Surroundings, identity: Identity) -> Folders:
    return decide_folders(around.scratch, spec.project.name, experiment_of(spec), identity)


def make_plan(
    spec: Spec,
    site: Site,
    around: Surroundings,
    identity: Identity,
    code: FrozenCode,
    notes: tuple[str, ...] = (),
    recognised: Recognised | None = None,
) -> Plan:
    """`notes`: what was found out about the code and the program; the plan has some of its own.

    `recognised`: how the program's own text wants to be started.
    """
    refuse_retired(site)
    folders = folders_for(spec, around, identity)
    launch = decide_launch(spec, recognised)
    style = style_of(launch)
    chain = decide_chain(spec, site, around)
    shape, queue = decide_shape(in_pieces(spec, chain), site, style, recognised)
    shape = replace(shape, time=chain.piece) if chain else shape
    wanted = wanted_from(spec, site, shape, recognised)
    check_launch(style, wanted, recognised, mps=bool(spec.launch.mps))
    partition = next((one for one in site.partitions if one.name == queue.place), None)
    account = decide_account(spec, site, around, partition, shape.gpus.value)
    cost = decide_cost(shape, site, queue.place, repeats=chain.pieces.value if chain else 1)
    container = decide_container(spec, site, around, shape, folders, style)
    if container and container.in_step and style.tasks is Tasks.NONE:
        launch = Choice(value="per-node", because=f"srun makes the container of {container.runtime.value}")
        style = style_of(launch)
    image = image_cargo(container, around)
    environment = decide_environment(spec, around)
    check_starter(style.starter(wanted), environment.value, decide_modules(spec, site).value)
    data = decide_data(spec, site, partition, around, folders.scratch, shape, environment.value, image)
    warn, requeue = _warning(spec, shape.time.value), _requeue(spec)
    return Plan(
        identity=identity,
        project=spec.project.name,
        project_root=str(spec.project.root),
        experiment=experiment_of(spec),
        site=site.name,
        engine=site.engine,
        command=spec.command,
        start_in=spec.project.start_in,
        shape=shape,
        queue=queue,
        launch=launch,
        warn=warn,
        chain=chain,
        account=account,
        cost=cost,
        left=what_is_left(cost, account.value, site, around.balances),
        requeue=requeue,
        folders=folders,
        code=code,
        directives=decide_directives(
            site=site,
            identity=identity,
            folders=folders,
            shape=shape,
            queue=queue,
            account=account,
            warn=warn,
            requeue=requeue,
            chain=chain,
        ),
        exports=decide_exports(
            spec=spec,
            site=site,
            identity=identity,
            folders=folders,
            code=code,
            shape=shape,
            warn=warn.value,
            requeue=requeue.value,
            experiment=experiment_of(spec),
            launch=(
                *launch_exports(spec, site, style, wanted),
                *more_time(spec, site, partition, shape.time.value),
            ),
            data=data,
            environment=environment.value,
            lock=around.lock,
            chain=chain,
            container=container,
        ),
        data=data,
        container=container,
        results=_results(spec),
        modules=decide_modules(spec, site, container),
        purge=decide_purge(site),
        environment=environment,
        activate=decide_activation(spec, around, environment),
        launch_words=launch_words(
            style,
            wanted,
            shape,
            gpu_flag(site, shape) if site.request.gpus_in_srun else "",
            (*binding(spec, site, style, wanted), *(container.step_flags if container else ())),
        ),
        launcher=style.launcher(wanted),
        secrets=spec.env.secrets,
        notes=(
            *notes_on(spec, site, around),
            *launch_notes(style, wanted),
            *chain_notes(spec, chain),
            *data_notes(data, site),
            *notes,
        ),
    )


def refuse_retired(site: Site) -> None:
    """A cluster that is gone takes no job; old projects still name it."""
    if site.status is Status.RETIRED:
        raise SiteError(
            f"{site.name} is no more",
            facts=[f"{site.title}: ended {site.ended}" if site.ended else site.title],
            hint=f"its successor is {site.successor}: `--on {site.successor}`" if site.successor else None,
        )


def _warning(spec: Spec, time: Duration) -> Choice[Duration]:
    warn = spec.checkpoint.warn
    if warn is None:
        usual = min(_USUAL_WARNING, Duration(max(1, time.seconds // 4)))
        return Choice(value=usual, because=f"the program is told {usual} before the end; it may come a minute earlier")
    if warn.seconds * 2 > time.seconds:
        raise SpecError(
            f"a warning {warn} before the end leaves less than half of {time} to work in",
            facts=[f"checkpoint.warn is asked for by {spec.source('checkpoint.warn')}"],
            hint=f"ask for `--time {Duration(2 * warn.seconds)}` at least, or for a shorter `warn` under [checkpoint]",
        )
    return Choice(value=warn, because=f"asked for by {spec.source('checkpoint.warn')}")


def _results(spec: Spec) -> Choice[tuple[str, ...]]:
    if not spec.results.save:
        return Choice(value=(), because="nothing is asked for")
    because = f"{asked(spec, 'results.save')}; saved every {spec.results.every}, at the warning and at the end"
    return Choice(value=spec.results.save, because=because)


def _requeue(spec: Spec) -> Choice[bool]:
    if spec.says("requeue"):
        return Choice(value=spec.requeue, because=f"asked for by {spec.source('requeue')}")
    return Choice(value=True, because="a node that fails, or a preemption, is no reason to lose the run")
