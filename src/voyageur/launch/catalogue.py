"""The styles by their names. Ours are loaded when they are used; others' are looked up only for a name not ours."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from voyageur.errors import SpecError
from voyageur.launch.style import Style

GROUP = "voyageur.launch_styles"
# Name and title, so that `voy --help` and a completion load none of them. The title is the style's own.
TITLES = {
    "plain": "one process, on one node",
    "per-node": "the command once on every node: for launchers that start their own workers",
    "per-rank": "the command once per rank: one for each GPU, or as many as `tasks` says",
    "replicas": "independent copies of the command: `tasks` on each node, sharing its GPUs",
    "torchrun": "PyTorch's launcher on every node, one worker for each GPU",
    "lightning": "one task for each GPU, as Lightning's own Slurm support wants it",
    "accelerate": "Hugging Face's `accelerate launch` on every node",
    "deepspeed": "one task for each GPU, told what DeepSpeed's own launcher would tell it",
    "horovod": "one task for each GPU, with Horovod's rendezvous beside the first",
    "tensorflow": "one task for each GPU, each with its TF_CONFIG",
    "jax": "one task for each GPU, told where JAX's coordinator is",
    "mpi": "MPI ranks, started by srun, by mpirun or by the site's own launcher",
    "ray": "a Ray cluster inside the job, the command on its first node",
    "dask": "a Dask cluster inside the job, the command on its first node",
    "spark": "a Spark cluster inside the job, the command given to spark-submit",
    "custom": "a launcher of your own: `launch.line`, once on every node",
}


def style_named(name: str) -> Style | None:
    if name in TITLES:
        module = import_module(f"voyageur.launch.{name.replace('-', '_')}")
        style: Style = module.STYLE
        return style
    return next((style for known, style in _others() if known == name), None)


def names() -> list[str]:
    return list(TITLES)


def titles() -> dict[str, str]:
    """All that there are, those of other packages included."""
    return TITLES | {name: style.title for name, style in _others() if name not in TITLES}


def _others() -> Iterator[tuple[str, Style]]:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            found = point.load()
            style = found() if isinstance(found, type) else found
        except Exception as problem:
            raise SpecError(
                f"the launch style `{point.name}` cannot be loaded: {problem}",
                facts=[f"{point.value}, of the package {point.dist.name if point.dist else 'it came with'}"],
                hint="update that package, or remove it",
            ) from problem
        if isinstance(style, Style):
            yield point.name, style
