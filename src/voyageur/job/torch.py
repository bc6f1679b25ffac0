"""For programs of several PyTorch ranks: all of them hear the same at the same step.

Every rank must ask, each at the same place of its loop. Without `torch.distributed` it is what `job` says.
"""

import torch
from torch import distributed

from voyageur import job


def should_stop() -> bool:
    """`job.should_stop()` of the first rank, told to all."""
    return agreed(job.should_stop())


def should_save() -> bool:
    """`job.should_save()` of the first rank, told to all."""
    return agreed(job.should_save())


def agreed(answer: bool) -> bool:
    if not (distributed.is_available() and distributed.is_initialized()):
        return answer
    word = torch.tensor([int(answer and distributed.get_rank() == 0)], device=_device())
    distributed.all_reduce(word, op=distributed.ReduceOp.MAX)
    return bool(word.item())


def _device() -> str:
    """NCCL carries nothing that lies in the host's memory."""
    return "cuda" if "nccl" in str(distributed.get_backend()) else "cpu"
