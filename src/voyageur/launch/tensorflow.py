"""TensorFlow's MultiWorkerMirroredStrategy: every rank listens on a port of its own and knows those of all others.

Its own SlurmClusterResolver counts ports by node, so it fails where nodes share an address; TF_CONFIG does not.
"""

from __future__ import annotations

from voyageur.launch.style import Style, Tasks, Wanted

_CONFIG = '{"cluster":{"worker":{RANK_ADDRESSES}},"task":{"type":"worker","index":{RANK}}}'


class TensorFlow(Style):
    name = "tensorflow"
    title = "one task for each GPU, each with its TF_CONFIG"
    tasks = Tasks.RANKS
    modules = ("tensorflow",)
    needs_python = True
    gpu_for_each = True
    visible = "one"  # TensorFlow takes all memory of every GPU that it sees
    ports_for_all = True

    def each(self, wanted: Wanted) -> dict[str, str]:
        return {"TF_CONFIG": _CONFIG}


STYLE = TensorFlow()
