"""This process among those that train together, as torchrun or srun has said; and its share of the samples."""

import os
from typing import Sequence, Tuple


def rank_from_environment() -> Tuple[int, int]:
    for rank, ranks in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")):
        if rank in os.environ and ranks in os.environ:
            return int(os.environ[rank]), int(os.environ[ranks])
    return 0, 1


def share(order: Sequence[int], rank: int, ranks: int) -> Sequence[int]:
    """Every rank gets as many as the others, so that none waits for one that has more."""
    return order[rank : len(order) - len(order) % ranks : ranks]
