"""TensorFlow's MultiWorkerMirroredStrategy: it reads TF_CONFIG, which each rank finds in its environment."""

import json
import os

import tensorflow as tf

ring = tf.distribute.experimental.CommunicationOptions(
    implementation=tf.distribute.experimental.CommunicationImplementation.RING
)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=ring)
rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]


@tf.function
def add_up():
    return strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.constant(float(rank))))


total = float(strategy.experimental_local_results(add_up())[0])
print(f"rank {rank} of {strategy.num_replicas_in_sync}: sum of ranks {total:.0f}", flush=True)
