"""Samples for torch's DataLoader. Both kinds may be pickled, so loaders may fork or spawn their workers."""

import os
from typing import Any, Callable, Iterator, Optional, Tuple

from torch import distributed
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from voyageur.job.data.pack import Pack, Sample

Transform = Optional[Callable[[Sample], Any]]


class SampleDataset(Dataset):  # type: ignore[type-arg,misc,unused-ignore]
    """By number, for a sampler to choose."""

    def __init__(self, pack: Pack, transform: Transform = None, views: bool = False) -> None:
        self.pack, self.transform, self.views = pack, transform, views
        self._samples = pack.samples(views)

    def __reduce__(self) -> Tuple[Any, ...]:
        return SampleDataset, (self.pack, self.transform, self.views)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, number: int) -> Any:
        sample = self._samples[number]
        return self.transform(sample) if self.transform else sample


class SampleStream(IterableDataset):  # type: ignore[type-arg,misc,unused-ignore]
    """Each sample once an epoch: every rank gets as many as the others, every worker of a rank its share of them."""

    def __init__(
        self, pack: Pack, transform: Transform = None, shuffle: bool = False, seed: int = 0, views: bool = False
    ) -> None:
        self.pack, self.transform, self.shuffle, self.seed, self.views = pack, transform, shuffle, seed, views
        self.epoch = 0
        self._samples = pack.samples(views)

    def __getstate__(self) -> Any:
        return {key: value for key, value in self.__dict__.items() if key != "_samples"}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
        self._samples = self.pack.samples(self.views)

    def set_epoch(self, epoch: int) -> None:
        """Before each epoch, so that each is shuffled in its own way."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self._samples) // _rank()[1]

    def __iter__(self) -> Iterator[Any]:
        rank, ranks = _rank()
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        order = self._samples.shuffled(self.seed + self.epoch) if self.shuffle else range(len(self._samples))
        mine = order[rank : len(order) - len(order) % ranks : ranks]
        for number in mine[first::step]:
            sample = self._samples[number]
            yield self.transform(sample) if self.transform else sample


def _rank() -> Tuple[int, int]:
    """This process among those that train together: as torch knows, else as torchrun or srun has said."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    for rank, ranks in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")):
        if rank in os.environ and ranks in os.environ:
            return int(os.environ[rank]), int(os.environ[ranks])
    return 0, 1
