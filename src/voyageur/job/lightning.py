"""For Lightning: `Trainer(callbacks=[LongRun()])`, and `fit(..., ckpt_path=job.checkpoint.latest())`."""

import os
from typing import Any

import lightning

from voyageur import job
from voyageur.job import checkpoint


class LongRun(lightning.Callback):  # type: ignore[misc,unused-ignore]
    """Publishes a checkpoint every `epochs` epochs, when it is asked for one, and when the time is nearly up; then all
    ranks stop at the same step.

    `whole_epochs`: stop only between two epochs. Lightning goes on within an epoch as if nothing had been, but a loader
    that cannot be resumed begins with its first batch again.
    """

    def __init__(self, epochs: int = 1, whole_epochs: bool = False) -> None:
        self.epochs = epochs
        self.whole_epochs = whole_epochs
        self._saved_at = -1

    def setup(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Lightning's own way would put the job back into the queue by itself; here that is the chain's affair."""
        environment: Any = getattr(trainer.strategy, "cluster_environment", None)
        if hasattr(environment, "auto_requeue"):
            environment.auto_requeue = False

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        if not self.whole_epochs:
            self._listen(trainer)

    def on_train_epoch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        if self.whole_epochs:
            self._listen(trainer)
        if (trainer.current_epoch + 1) % self.epochs == 0:
            self._save(trainer)

    def _listen(self, trainer: Any) -> None:
        if _agreed(trainer, job.should_stop()):
            self._save(trainer)
            trainer.should_stop = True
        elif _agreed(trainer, job.should_save()):
            self._save(trainer)

    def _save(self, trainer: Any) -> None:
        """All ranks take part, for strategies that save a part on each; the first one publishes."""
        if self._saved_at == trainer.global_step:
            return
        self._saved_at = trainer.global_step
        name = "epoch-%04d-step-%08d.ckpt" % (trainer.current_epoch, trainer.global_step)
        temporary = os.path.join(checkpoint.folder(), ".%s.tmp" % name)
        trainer.save_checkpoint(temporary, weights_only=False)
        if trainer.is_global_zero:
            checkpoint.publish(temporary, name)
        trainer.strategy.barrier("voyageur")


def _agreed(trainer: Any, answer: bool) -> bool:
    return bool(trainer.strategy.reduce_boolean_decision(answer and trainer.is_global_zero, all=False))
