"""JAX: `jax.distributed.initialize()` learns from Slurm who it is, and from us where the coordinator listens.

Left alone it takes the first node's name, and waits without a word where names do not resolve.
"""

from __future__ import annotations

from voyageur.launch.style import Style, Tasks, Wanted


class Jax(Style):
    name = "jax"
    title = "one task for each GPU, told where JAX's coordinator is"
    tasks = Tasks.RANKS
    modules = ("jax",)
    needs_python = True
    gpu_for_each = True
    death = "the step is ended at once; JAX ends the other ranks by itself, too"

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {"JAX_COORDINATOR_ADDRESS": "{MASTER_ADDR}:{MASTER_PORT}"}


STYLE = Jax()
