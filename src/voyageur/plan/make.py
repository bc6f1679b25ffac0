"""spec + site -> plan. Pure: the same wish on the same site gives the same decisions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from voyageur.env import Built
from voyageur.errors import SiteError, SpecError
from voyageur.launch import Style, Tasks, Wanted
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
from voyageur.plan.model import (
    Cargo,
    Chain,
    Choice,
    Container,
    Directive,
    Export,
    Folders,
    FrozenCode,
    Identity,
    Plan,
    Queue,
    Shape,
    Surroundings,
)
from voyageur.plan.notes import notes_on
from voyageur.plan.packages import check_starter, decide_environment
from voyageur.plan.reasons import asked
from voyageur.plan.shape import decide_shape
from voyageur.site import Partition, Site, Status
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


class _Decided(Struct, frozen=True, kw_only=True):
    """The wish, where it goes, and each decision that several parts of the plan stand on."""

    spec: Spec
    site: Site
    around: Surroundings
    identity: Identity
    code: FrozenCode
    folders: Folders
    chain: Chain | None
    shape: Shape
    queue: Queue
    partition: Partition | None
    launch: Choice[str]
    style: Style
    wanted: Wanted
    account: Choice[str | None]
    container: Container | None
    environment: Choice[Built | None]
    data: tuple[Cargo, ...]
    warn: Choice[Duration]
    requeue: Choice[bool]


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
    return _composed(_decided(spec, site, around, identity, code, recognised), notes)


def _decided(
    spec: Spec, site: Site, around: Surroundings, identity: Identity, code: FrozenCode, recognised: Recognised | None
) -> _Decided:
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
    container = decide_container(spec, site, around, shape, folders, style)
    if container and container.in_step and style.tasks is Tasks.NONE:
        launch = Choice(value="per-node", because=f"srun makes the container of {container.runtime.value}")
        style = style_of(launch)
    image = image_cargo(container, around)
    environment = decide_environment(spec, around)
    check_starter(style.starter(wanted), environment.value, decide_modules(spec, site).value)
    data = decide_data(spec, site, partition, around, folders.scratch, shape, environment.value, image)
    return _Decided(
        spec=spec,
        site=site,
        around=around,
        identity=identity,
        code=code,
        folders=folders,
        chain=chain,
        shape=shape,
        queue=queue,
        partition=partition,
        launch=launch,
        style=style,
        wanted=wanted,
        account=account,
        container=container,
        environment=environment,
        data=data,
        warn=_warning(spec, shape.time.value),
        requeue=_requeue(spec),
    )


def _composed(known: _Decided, notes: tuple[str, ...]) -> Plan:
    spec, site, around = known.spec, known.site, known.around
    pieces = known.chain.pieces.value if known.chain else 1
    cost = decide_cost(known.shape, site, known.queue.place, repeats=pieces)
    return Plan(
        identity=known.identity,
        project=spec.project.name,
        project_root=str(spec.project.root),
        experiment=experiment_of(spec),
        site=site.name,
        engine=site.engine,
        command=spec.command,
        start_in=spec.project.start_in,
        shape=known.shape,
        queue=known.queue,
        launch=known.launch,
        warn=known.warn,
        chain=known.chain,
        account=known.account,
        cost=cost,
        left=what_is_left(cost, known.account.value, site, around.balances),
        requeue=known.requeue,
        folders=known.folders,
        code=known.code,
        directives=_directives(known),
        exports=_exports(known),
        data=known.data,
        container=known.container,
        results=_results(spec),
        modules=decide_modules(spec, site, known.container),
        purge=decide_purge(site),
        environment=known.environment,
        activate=decide_activation(spec, around, known.environment),
        launch_words=_launch_words(known),
        launcher=known.style.launcher(known.wanted),
        secrets=spec.env.secrets,
        notes=(*_notes(known), *notes),
    )


def _directives(known: _Decided) -> tuple[Directive, ...]:
    return decide_directives(
        site=known.site,
        identity=known.identity,
        folders=known.folders,
        shape=known.shape,
        queue=known.queue,
        account=known.account,
        warn=known.warn,
        requeue=known.requeue,
        chain=known.chain,
    )


def _exports(known: _Decided) -> tuple[Export, ...]:
    return decide_exports(
        spec=known.spec,
        site=known.site,
        identity=known.identity,
        folders=known.folders,
        code=known.code,
        shape=known.shape,
        warn=known.warn.value,
        requeue=known.requeue.value,
        experiment=experiment_of(known.spec),
        launch=(
            *launch_exports(known.spec, known.site, known.style, known.wanted),
            *more_time(known.spec, known.site, known.partition, known.shape.time.value),
        ),
        data=known.data,
        environment=known.environment.value,
        lock=known.around.lock,
        chain=known.chain,
        container=known.container,
    )


def _launch_words(known: _Decided) -> tuple[str, ...]:
    gpus = gpu_flag(known.site, known.shape) if known.site.request.gpus_in_srun else ""
    bound = binding(known.spec, known.site, known.style, known.wanted)
    in_container = known.container.step_flags if known.container else ()
    return launch_words(known.style, known.wanted, known.shape, gpus, (*bound, *in_container))


def _notes(known: _Decided) -> Iterator[str]:
    yield from notes_on(known.spec, known.site, known.around)
    yield from launch_notes(known.style, known.wanted)
    yield from chain_notes(known.spec, known.chain)
    yield from data_notes(known.data, known.site)


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
