"""Samples for tensorflow: a tf.data.Dataset, fed by a generator."""

from typing import Any, Callable, Iterator, Optional

import tensorflow

from voyageur.job.data.errors import DataError
from voyageur.job.data.pack import Pack, Sample
from voyageur.job.data.ranks import rank_from_environment, share

Transform = Optional[Callable[[Sample], Any]]


def dataset(pack: Pack, transform: Transform, signature: Any, shuffle: bool, seed: int) -> Any:
    """Each time it is gone through, it is shuffled in another way, which the seed and the number of the time decide."""
    samples = pack.samples()
    first = samples[0]
    rank, ranks = rank_from_environment()
    epochs = iter(range(1 << 62))

    def generate() -> Iterator[Any]:
        order = samples.shuffled(seed + next(epochs)) if shuffle else range(len(samples))
        for number in share(order, rank, ranks):
            sample = samples[number]
            if not transform and sample.keys() != first.keys():
                raise _uneven(first, sample)
            yield transform(sample) if transform else sample

    if signature is None:
        if transform:
            raise DataError("what a transform makes has no shape that is known", hint="say it with `signature=`")
        signature = {key: tensorflow.TensorSpec((), tensorflow.string) for key in first}
    made = tensorflow.data.Dataset.from_generator(generate, output_signature=signature)
    return made.apply(tensorflow.data.experimental.assert_cardinality(len(samples) // ranks))


def _uneven(first: Sample, other: Sample) -> DataError:
    facts = [
        "%s has %s" % (sample["__key__"], ", ".join(sorted(set(sample) - {"__key__"}))) for sample in (first, other)
    ]
    return DataError("samples have not all the same files", facts, "a `transform` can make them alike")
