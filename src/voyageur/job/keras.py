"""For Keras: `model, epoch = latest() or (fresh_model(), 0)`, and `fit(initial_epoch=epoch, callbacks=[LongRun()])`."""

import os
import re
from typing import Any, Optional, Tuple

import keras

from voyageur import job
from voyageur.job import checkpoint

_NAME = "epoch-%04d.keras"


def latest() -> Optional[Tuple[Any, int]]:
    """The model of the newest whole checkpoint, with its optimizer, and the epoch that is next."""
    path = checkpoint.latest()
    if path is None:
        return None
    number = re.search(r"(\d+)\.keras$", path)
    return keras.saving.load_model(path), int(number.group(1)) if number else 0


class LongRun(keras.callbacks.Callback):  # type: ignore[misc,unused-ignore]
    """Publishes the model every `epochs` epochs. Keras can only go on between two epochs: told that the time is nearly
    up, it stops at the end of the one it is in."""

    def __init__(self, epochs: int = 1) -> None:
        super().__init__()
        self.epochs = epochs

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        done, is_last = epoch + 1, job.should_stop()
        if is_last or job.should_save() or done % self.epochs == 0:
            self._save(_NAME % done)
        if is_last:
            self.model.stop_training = True

    def _save(self, name: str) -> None:
        """Keras chooses the format by the ending."""
        temporary = os.path.join(checkpoint.folder(), ".new-" + name)
        self.model.save(temporary)
        checkpoint.publish(temporary, name)
