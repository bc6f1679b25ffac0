"""The environment that was made for the run: does it travel, and what is said of it on the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from voyageur.env import Built, Form
from voyageur.env.lock import InJob
from voyageur.errors import SpecError
from voyageur.plan.model import Choice, Export, Surroundings
from voyageur.plan.reasons import asked
from voyageur.runtime.environment import VARIABLE, Wish, in_words
from voyageur.runtime.staging.wanted import ENVIRONMENT, Wanted
from voyageur.site import Site
from voyageur.spec import Spec


def is_made_in_job(spec: Spec) -> bool:
    return spec.env.build == "in-job" and not spec.env.image


def decide_environment(spec: Spec, around: Surroundings) -> Choice[Built | None]:
    """A virtual environment that somebody names wins over one that could be made."""
    if spec.env.image:
        return Choice(value=None, because="the image brings its own")
    if is_made_in_job(spec):
        _check_in_job(spec, around)
        made_from = around.lock.file if around.lock else ", ".join(spec.env.requirements)
        because = f"{asked(spec, 'env.build')}: made on each node when the run starts, from {made_from}"
        return Choice(value=None, because=because)
    if spec.env.venv:
        return Choice(value=None, because=f"env.venv: {asked(spec, 'env.venv')}")
    if around.environment is None:
        return Choice(value=None, because="none is made")
    how = "mounted" if around.environment.form is Form.IMAGE else "unpacked"
    return Choice(value=around.environment, because=f"made once from {around.environment.source}; {how} on each node")


def _check_in_job(spec: Spec, around: Surroundings) -> None:
    if not spec.env.requirements and not around.lock:
        raise SpecError(
            "nothing says which packages each node is to install",
            facts=[f"env.build is asked for by {spec.source('env.build')}"],
            hint='name the file under [env]: requirements = "requirements.txt"',
        )


def check_starter(starter: Sequence[str], built: Built | None, modules: Sequence[str]) -> None:
    """What starts ranks runs before their nodes have the environment, and looks for its own parts on all of them."""
    if built and not modules and starter and starter[0] in built.programs:
        raise SpecError(
            f"{starter[0]} lies in the environment, which comes to the nodes only with the ranks that it should start",
            facts=[f"the environment was made from {built.source}"],
            hint="name the module that brings an MPI in `env.modules`, or what srun speaks in `launch.mpi`",
        )


def environment_wanted(built: Built) -> Wanted:
    stage = "mount" if built.form is Form.IMAGE else "unpack"
    return Wanted(ENVIRONMENT, built.archive, stage, digest=built.digest)


def environment_exports(spec: Spec, site: Site, built: Built | None, lock: InJob | None = None) -> Iterator[Export]:
    if built:
        wish = Wish(base=built.base, finish=list(built.finish))
        yield Export(name=VARIABLE, value=in_words(wish), because=f"environment {built.key}")
    elif is_made_in_job(spec):
        wish = _from_lock(spec, site, lock) if lock else _from_requirements(spec, site)
        yield Export(name=VARIABLE, value=in_words(wish), because="made on each node when the run starts")


def _from_requirements(spec: Spec, site: Site) -> Wish:
    return Wish(
        base=spec.env.python or "",
        requirements=list(spec.env.requirements),
        wheels=[spec.env.wheels] if spec.env.wheels else [],
        online=not site.software.wheelhouse and not spec.env.wheels,
    )


def _from_lock(spec: Spec, site: Site, lock: InJob) -> Wish:
    folders = dict.fromkeys([*([spec.env.wheels] if spec.env.wheels else []), *lock.folders])
    online = lock.online and not site.software.wheelhouse
    python = spec.env.python or lock.python
    return Wish(base=python, requirements=[lock.file], wheels=list(folders), online=online, locked=True)
