"""For the Trainer of Hugging Face: `Trainer(..., callbacks=[LongRun()])`, its `output_dir` the run's checkpoints, and
`train(resume_from_checkpoint=job.checkpoint.latest())`."""

import os
from typing import Any

import transformers

from voyageur.job import checkpoint
from voyageur.job.torch import should_save, should_stop


class LongRun(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Saves when it is asked to, and when the time is nearly up; then all ranks stop at the same step. What the Trainer
    has saved, then and whenever its own arguments say so, is published."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if should_stop():
            control.should_save = control.should_training_stop = True
        elif should_save():
            control.should_save = True
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            checkpoint.publish(os.path.join(args.output_dir, "checkpoint-%d" % state.global_step))
