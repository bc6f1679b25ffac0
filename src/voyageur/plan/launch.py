"""How the command starts: itself, or as many tasks, each behind the words of its launch style."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.errors import SpecError
from voyageur.launch import Services, Style, Tasks, Wanted, names, refuse, style_named, titles
from voyageur.launch.signs import Recognised, Sign
from voyageur.launch.words import launcher_named
from voyageur.plan.model import Choice, Export, Shape
from voyageur.plan.reasons import asked
from voyageur.site import Site
from voyageur.spec import Spec
from voyageur.spec.keys import nearest

TASK = ("$VOY_PYTHON", "-I", "$VOY_RUN_DIR/runtime.pyz", "task", "--")
_NAMED = {"torchrun": "torchrun", "accelerate": "accelerate"}
_NAMED_BY_MANY = {"deepspeed": "deepspeed", "horovodrun": "horovod", "spark-submit": "spark"}
_NAMED_BY_NODES = {"mpirun": "mpi", "mpiexec": "mpi"}  # once on each node they would start all ranks there


def decide_launch(spec: Spec, recognised: Recognised | None) -> Choice[str]:
    wanted = spec.launch.with_
    if wanted == "auto":
        return _by_itself(spec, recognised)
    if style_named(wanted) is None:
        raise SpecError(
            f"unknown launch style `{wanted}`",
            facts=[asked(spec, "launch.with"), *(f"{name}: {what}" for name, what in titles().items())],
            hint=f"did you mean `{nearest(wanted, names()) or 'per-node'}`?",
        )
    return Choice(value=wanted, because=f"{asked(spec, 'launch.with')}: {titles()[wanted]}")


def _by_itself(spec: Spec, recognised: Recognised | None) -> Choice[str]:
    """What the command says, then what the program's text says, then what the numbers say."""
    resources, named = spec.resources, launcher_named(spec.command)
    many = resources.nodes > 1 or resources.gpus > 1 or bool(resources.tasks)
    if spec.launch.line:
        return Choice(value="custom", because=f"`launch.line` is given by {spec.source('launch.line')}")
    several = {**_NAMED_BY_MANY, **(_NAMED_BY_NODES if resources.nodes > 1 else {})} if many else {}
    if style := _NAMED.get(named) or several.get(named):
        return Choice(value=style, because=f"the command begins with {named}")
    if recognised and many and not named:
        return Choice(value=recognised.style, because=recognised.because)
    if resources.tasks:
        return Choice(value="per-rank", because="tasks are asked for: the command starts once for each")
    if resources.nodes > 1:
        return Choice(value="per-node", because="several nodes: the command starts once on each")
    return Choice(value="plain", because="one node: the command starts once")


def style_of(launch: Choice[str]) -> Style:
    found = style_named(launch.value)
    assert found is not None
    return found


def wanted_from(spec: Spec, site: Site, shape: Shape, recognised: Recognised | None) -> Wanted:
    memory = shape.memory.value
    signs = {sign.style: sign for sign in reversed(recognised.signs)} if recognised else {}
    return Wanted(
        command=spec.command,
        nodes=shape.nodes.value,
        ranks=shape.ranks.value,
        gpus=shape.gpus.value,
        cpus=shape.cpus_per_rank,
        memory=memory.bytes if memory else 0,
        engine=site.engine,
        restarts=spec.launch.restarts,
        line=spec.launch.line,
        mpi=spec.launch.mpi or site.request.mpi,
        mpi4py="mpi" in signs,
        lightning="lightning" in {*signs, spec.launch.with_},
        lightning_from=signs["lightning"].package if "lightning" in signs else "",
        starter=site.request.launcher,
    )


def check_launch(style: Style, wanted: Wanted, recognised: Recognised | None, mps: bool = False) -> None:
    refuse(style, wanted)
    if mps and not wanted.gpus:
        raise SpecError("`launch.mps` shares GPUs, and none is asked for", hint="ask for some with `--gpus`")
    if mps and style.tasks is Tasks.NONE:
        raise SpecError(
            f"`launch.mps` is for several processes on one GPU, and `{style.name}` starts one",
            hint="leave it out, or ask for copies with `--launch replicas --tasks 2`",
        )
    if recognised:
        _refuse_trainers(recognised.trainers(), style, wanted)
        _refuse_spawn(recognised.spawn(), style, wanted)


def _refuse_trainers(trainers: list[Sign], style: Style, wanted: Wanted) -> None:
    """One that fits is enough: another may be for the laptop, or for a test."""
    have = wanted.gpus or (wanted.ranks if style.has_ranks else 0)
    of_devices = [one for one in trainers if one.devices and have and one.devices != have]
    of_nodes = [one for one in trainers if one.nodes and one.nodes != wanted.nodes]
    if len({*of_devices, *of_nodes}) < len(trainers):
        return
    for one in of_devices[:1]:
        what, option = (f"{have} GPUs", "gpus") if wanted.gpus else (f"{have} ranks", "tasks")
        raise SpecError(
            f"{one.place} gives its {one.name} {one.devices} devices, but {what} a node are asked for",
            hint=f'ask for `--{option} {one.devices}`, or write `devices="auto"`',
        )
    for one in of_nodes[:1]:
        raise SpecError(
            f"{one.place} gives its {one.name} num_nodes={one.nodes}, but {wanted.nodes} nodes are asked for",
            facts=["Lightning compares them and stops; without `num_nodes` it counts one"],
            hint=f"ask for `--nodes {one.nodes}`, or write `num_nodes={wanted.nodes}`",
        )


def _refuse_spawn(spawn: Sign | None, style: Style, wanted: Wanted) -> None:
    if spawn and spawn.devices and style.name == "per-node" and 0 < wanted.gpus < spawn.devices:
        raise SpecError(
            f"{spawn.place} starts {spawn.devices} workers, but {wanted.gpus} GPUs a node are asked for",
            hint=f"ask for `--gpus {spawn.devices}`, or write `nprocs=torch.cuda.device_count()`",
        )


def launch_notes(style: Style, wanted: Wanted) -> Iterator[str]:
    """Of what may be meant so."""
    if style.tasks is Tasks.RANKS and not style.gpu_for_each and 0 < wanted.gpus < wanted.ranks:
        yield f"{wanted.ranks} ranks on each node share its {wanted.gpus} GPUs; NCCL refuses two ranks on one GPU"


def binding(spec: Spec, site: Site, style: Style, wanted: Wanted) -> tuple[str, ...]:
    """What srun is told of CPUs and GPUs beyond the numbers: the user's word, else the site's. Raises SpecError."""
    for key in ("launch.cpu_bind", "launch.gpu_bind"):
        if spec.says(key):
            _refuse_binding(spec, key, style, wanted)
    cpus = spec.launch.cpu_bind or site.request.cpu_bind
    own = style.tasks is Tasks.RANKS  # a launcher on each node needs all of its GPUs
    gpus = spec.launch.gpu_bind or (site.request.gpu_bind if own else None)
    if site.engine == "local":
        return ()
    return (
        *((f"--cpu-bind={cpus}",) if cpus else ()),
        *((f"--gpu-bind={gpus}",) if gpus and wanted.gpus else ()),
    )


_BINDS_NOTHING = ("none", "verbose", "quiet")


def _refuse_binding(spec: Spec, key: str, style: Style, wanted: Wanted) -> None:
    name, starter = f"`{key}`", style.starter(wanted)
    if style.tasks is Tasks.NONE or (starter and wanted.engine != "local"):
        who = starter[0] if starter else style.name
        raise SpecError(
            f"{name} is for srun, and `{who}` does not start with it",
            facts=[asked(spec, key)],
            hint="leave it out, or use `--launch per-rank`",
        )
    if key == "launch.gpu_bind" and not wanted.gpus:
        raise SpecError(f"{name} binds GPUs, and none is asked for", hint="ask for some with `--gpus`")
    binds = spec.launch.gpu_bind not in _BINDS_NOTHING
    if key == "launch.gpu_bind" and binds and style.tasks is Tasks.NODES and wanted.ranks > 1:
        raise SpecError(
            f"{name} would hide GPUs from the {wanted.ranks} workers that `{style.name}` starts on each node",
            facts=[asked(spec, key), "srun binds the one task that it starts there"],
            hint="leave it out, or use `--launch per-rank`",
        )


def launch_words(
    style: Style, wanted: Wanted, shape: Shape, gpu_flag: str = "", more: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The words that start the tasks. Since 22.05 srun does not take --cpus-per-task over from sbatch.

    `gpu_flag` is for sites where a step must ask for its GPUs once more; `more` tells how to bind, or of a container
    that srun makes.
    """
    if style.tasks is Tasks.NONE:
        return ()
    if starter := style.starter(wanted):
        return (*starter, *TASK)
    return (
        "srun",
        f"--nodes={shape.nodes.value}",
        f"--ntasks={shape.tasks}",
        f"--ntasks-per-node={shape.tasks_per_node.value}",
        f"--cpus-per-task={shape.cpus_per_task.value}",
        *((gpu_flag,) if gpu_flag else ()),
        *style.step_flags(wanted),
        *more,
        f"--kill-on-bad-exit={int(style.ends_together)}",
        *(("--label",) if shape.tasks > 1 and not style.tags_ranks else ()),
        *TASK,
    )


def launch_exports(spec: Spec, site: Site, style: Style, wanted: Wanted) -> Iterator[Export]:
    """What the runtime is told of the launch, and what the style sets for all."""
    if site.network.interface and wanted.nodes > 1:
        yield Export(name="VOY_INTERFACE", value=site.network.interface, because=f"the fast network of {site.name}")
    if site.network.master_suffix and wanted.nodes > 1:
        because = f"host names that end so lie on the fast network of {site.name}"
        yield Export(name="VOY_MASTER_SUFFIX", value=site.network.master_suffix, because=because)
    if spec.says("launch.quiet"):
        because = "seconds without a line and without work that are told"
        yield Export(name="VOY_QUIET", value=str(spec.launch.quiet.seconds), because=because)
    if not spec.launch.exclude_bad_nodes:
        yield Export(name="VOY_LEAVE_OUT", value="0", because=asked(spec, "launch.exclude_bad_nodes"))
    if style.tasks is Tasks.NONE:
        return
    yield Export(name="VOY_TASKS_ARE", value=style.tasks.value, because="what srun starts")
    yield Export(name="VOY_RANKS", value=str(wanted.ranks), because="on each node")
    one = (spec.launch.visible or style.visible) == "one" and wanted.gpus
    if spec.launch.preflight:
        yield Export(name="VOY_PREFLIGHT", value="1", because=f"asked for by {spec.source('launch.preflight')}")
    if wanted.lightning:
        because = "Lightning hears the warning only if nobody has touched its signal"
        yield Export(name="VOY_OWN_SIGNALS", value="1", because=because)
    if spec.launch.preflight or one:
        yield Export(name="VOY_GPUS", value=str(wanted.gpus), because="on each node")
    if one:
        yield Export(name="VOY_VISIBLE_GPUS", value="one", because="each rank sees its own GPU")
    yield from _mps(spec, style, wanted)
    services = style.services(wanted)
    if style.ports_for_all or services:
        count = wanted.world + 1 if style.ports_for_all else 2
        yield Export(name="VOY_PORTS", value=str(count), because="free ports in a row")
    if services:
        yield from _services(services, wanted)
    yield from _needs(style, wanted)
    for name, value in style.exports(wanted).items():
        if name not in spec.env.variables:
            yield Export(name=name, value=value, because=f"launch {style.name}")
    each = {name: value for name, value in style.each(wanted).items() if name not in spec.env.variables}
    if each:
        yield Export(name="VOY_EACH", value=_lines(f"{name}={value}" for name, value in each.items()), because=_FILLED)


def _mps(spec: Spec, style: Style, wanted: Wanted) -> Iterator[Export]:
    """`auto` goes without where the node has none; who asked for it is told."""
    if spec.launch.mps and wanted.gpus:
        yield Export(name="VOY_MPS", value="1", because=asked(spec, "launch.mps"))
    elif spec.launch.mps is None and style.tasks is Tasks.COPIES and 0 < wanted.gpus < wanted.ranks:
        yield Export(name="VOY_MPS", value="auto", because="copies on one GPU work at once, where the node has MPS")


_FILLED = "set for each task, its blanks filled in there"


def _needs(style: Style, wanted: Wanted) -> Iterator[Export]:
    """Said at the first second of the run, in one sentence, where it could not be said before."""
    if modules := style.needs(wanted):
        value = _lines((style.python_of(wanted), *modules))
        yield Export(name="VOY_NEEDS", value=value, because=f"{style.name} does not work without")
    if style.programs:
        value = _lines(style.programs)
        yield Export(name="VOY_NEEDS_PROGRAMS", value=value, because=f"{style.name} does not work without")


def _services(services: Services, wanted: Wanted) -> Iterator[Export]:
    yield Export(name="VOY_HEAD", value=_lines(services.head), because="runs beside the first task")
    if services.worker:
        where = "on every node" if services.on_first else "on every node but the first"
        yield Export(name="VOY_WORKER", value=_lines(services.worker), because=f"runs {where}")
        yield Export(name="VOY_WORKER_ON_FIRST", value=str(int(services.on_first)))
    if services.ready_line:
        lines = f"{services.lines or wanted.nodes} {services.ready_line}"
        yield Export(name="VOY_READY_LINE", value=lines, because="so often in the head's log: all are there")
    if services.ready:
        yield Export(name="VOY_READY", value=_lines(services.ready), because="ends with 0 when all are there")


def _lines(words: Iterator[str] | tuple[str, ...]) -> str:
    """Words for the runtime, as a shell would cut them."""
    import shlex

    return shlex.join(words)
