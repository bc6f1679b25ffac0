"""What the program finds around it: modules, a virtual environment, variables. All written down; nothing inherited."""

from __future__ import annotations

import json
from collections.abc import Iterator

from voyageur.env import Built
from voyageur.env.lock import InJob
from voyageur.plan.chain import chain_exports
from voyageur.plan.container import container_export
from voyageur.plan.model import (
    Cargo,
    Chain,
    Choice,
    Container,
    Export,
    Folders,
    FrozenCode,
    Identity,
    Shape,
    Surroundings,
)
from voyageur.plan.packages import environment_exports, environment_wanted, is_made_in_job
from voyageur.runtime import folder as run_folder
from voyageur.runtime.staging.wanted import VARIABLE as STAGE
from voyageur.runtime.staging.wanted import Wanted, in_words
from voyageur.site import Medium, Site
from voyageur.spec import Spec
from voyageur.spec.home import expand_home
from voyageur.units import Duration


def decide_modules(spec: Spec, site: Site, container: Container | None = None) -> Choice[tuple[str, ...]]:
    """The site's own stack first: after a purge the modules that are asked for may not be found without it."""
    asked = _asked_modules(spec, site)
    module = site.software.container_module
    has = module and any(_stem(name) == _stem(module) for name in asked.value)
    if container is None or not module or has or container.in_step or "/" in (spec.env.runtime or ""):
        return asked
    because = f"{module} is for the container"
    return Choice(value=(*asked.value, module), because=f"{asked.because}; {because}" if asked.value else because)


def _asked_modules(spec: Spec, site: Site) -> Choice[tuple[str, ...]]:
    usual = site.software.modules
    if spec.env.modules is None:
        because = f"what {site.name} offers by default" if usual else "none asked for"
        return Choice(value=usual, because=because)
    asked = {_stem(module) for module in spec.env.modules}
    before = tuple(module for module in usual if _stem(module) not in asked) if spec.env.modules else ()
    because = f"asked for by {spec.source('env.modules')}"
    return Choice(
        value=(*before, *spec.env.modules),
        because=f"{because}; {' '.join(before)} comes first on {site.name}" if before else because,
    )


def _stem(module: str) -> str:
    return module.partition("/")[0]


def decide_purge(site: Site) -> Choice[bool]:
    if site.software.purge:
        return Choice(value=True, because="a job starts with the modules that it names, and no others")
    return Choice(value=False, because=f"{site.name} keeps what it needs in modules that are loaded at login")


def decide_activation(spec: Spec, around: Surroundings, environment: Choice[Built | None]) -> Choice[str | None]:
    """The script to source, so that the job has the Python that the user has been working with."""
    if spec.env.image:
        return Choice(value=None, because="the image brings its own")
    if spec.env.venv:
        folder = spec.project.root / expand_home(spec.env.venv)
        return Choice(value=f"{folder}/bin/activate", because=f"asked for by {spec.source('env.venv')}")
    if environment.value:
        return Choice(value=None, because="the run's own environment comes to each node")
    if is_made_in_job(spec):
        return Choice(value=None, because="the run's own environment is made on each node")
    if around.active_venv:
        return Choice(value=f"{around.active_venv}/bin/activate", because="it was active when this was planned")
    if around.project_venv:
        return Choice(value=f"{around.project_venv}/bin/activate", because="it stands in the project's folder")
    return Choice(value=None, because="none asked for, none active, none in the project")


def decide_exports(
    *,
    spec: Spec,
    site: Site,
    identity: Identity,
    folders: Folders,
    code: FrozenCode,
    shape: Shape,
    warn: Duration,
    requeue: bool,
    experiment: str,
    launch: tuple[Export, ...],
    data: tuple[Cargo, ...] = (),
    environment: Built | None = None,
    lock: InJob | None = None,
    chain: Chain | None = None,
    container: Container | None = None,
) -> tuple[Export, ...]:
    run = str(folders.run)
    limit = Duration(-(-shape.time.value.seconds // 60) * 60) if site.engine == "slurm" else shape.time.value
    exports = [
        Export(name="VOY_RUN", value=identity.run),
        Export(name="VOY_TOKEN", value=identity.token),
        Export(name="VOY_RUN_DIR", value=run),
        Export(
            name="VOY_SUBMISSION",
            value=f'"${{1:-{run_folder.BY_HAND}}}"',
            is_shell=True,
            because="which submission started this job; one that was submitted twice runs once",
        ),
        Export(name="VOY_CODE", value=str(code.archive), because="the code, frozen when this was submitted"),
        Export(name="VOY_CODE_SHA256", value=code.checksum),
        Export(name="VOY_START_IN", value=spec.project.start_in, because="where in the code the command starts"),
        Export(name="VOY_CHECKPOINTS", value=str(folders.checkpoints)),
        Export(name="VOY_STOP_FILE", value=f"{run}/{run_folder.STOP}", because="appears when the time is nearly up"),
        Export(name="VOY_TIME_LIMIT", value=str(limit.seconds), because="seconds"),
        Export(name="VOY_WARN", value=str(warn.seconds), because="seconds before that, the warning comes"),
        Export(name="VOY_REQUEUE", value=str(int(requeue)), because="1: after a preemption it comes back"),
        Export(
            name="VOY_GRACE",
            value=str(max(1, site.kill_wait.seconds - 2)),
            because=f"seconds to end in after a stop; {site.name} kills after {site.kill_wait}",
        ),
        Export(name="project_name", value=spec.project.name),
        Export(name="exp_name", value=experiment),
        Export(name="scratch_dir", value=str(folders.scratch)),
        Export(name="OMP_NUM_THREADS", value=str(shape.cpus_per_rank), because="one thread for each core of a task"),
        Export(name="PYTHONUNBUFFERED", value="1", because="so that the log shows a line when it is written"),
    ]
    exports.extend(launch)
    exports.extend(_staged(spec, folders, data, environment))
    exports.extend(environment_exports(spec, site, environment, lock))
    exports.extend(chain_exports(spec, site, chain, identity))
    exports.extend(_of_the_site(spec, site, shape))
    if site.engine == "local":
        exports.append(
            Export(
                name="PATH",
                value='"$VOY_LOCAL_TOOLS:$PATH"',
                is_shell=True,
                because="srun and scontrol, on a machine without Slurm",
            )
        )
    asked = (
        Export(name=name, value=value, because=f"asked for by {spec.source('env.variables')}")
        for name, value in spec.env.variables.items()
    )
    exports.extend(asked)
    return (*exports, *container_export(container, exports, (*spec.env.variables, *spec.env.secrets)))


def _staged(spec: Spec, folders: Folders, data: tuple[Cargo, ...], environment: Built | None) -> Iterator[Export]:
    wanted = [Wanted(cargo.name, cargo.source, cargo.stage.value, cargo.at) for cargo in data]
    if environment:
        wanted.insert(0, environment_wanted(environment))
    if wanted:
        because = "what every node needs on its own disk, and how it comes there"
        yield Export(name=STAGE, value=in_words(wanted), because=because)
    if spec.results.save:
        value = json.dumps({"save": spec.results.save, "every": spec.results.every.seconds})
        yield Export(name="VOY_RESULTS", value=value, because="what comes back from there, and how often in seconds")
        yield Export(name="VOY_RESULTS_DIR", value=str(folders.results), because="where it comes to")


def _of_the_site(spec: Spec, site: Site, shape: Shape) -> Iterator[Export]:
    """What a user says of a variable wins over the profile."""
    if site.local_disk.path and not site.local_disk.variable:
        kind = "memory to put files in" if site.local_disk.medium is Medium.MEMORY else "node-local disks"
        because = f"where {site.name} has {kind}; it sets no SLURM_TMPDIR"
        yield Export(name="VOY_TMP_BASE", value=f'"{site.local_disk.path}"', is_shell=True, because=because)
    if shape.nodes.value > 1:
        for name, value in site.network.variables.items():
            if name not in spec.env.variables:
                yield Export(name=name, value=value, because=f"the network of {site.name}")
