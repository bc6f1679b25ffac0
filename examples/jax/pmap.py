"""JAX on several processes: it learns from Slurm who it is, and from Voyageur where the others are."""

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

jax.distributed.initialize()
rank, ranks = jax.process_index(), jax.process_count()
total = multihost_utils.process_allgather(jnp.array([rank])).sum()
print(f"rank {rank} of {ranks}: sum of ranks {total}, {jax.local_device_count()} device here", flush=True)
