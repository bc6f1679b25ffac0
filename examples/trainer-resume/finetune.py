"""The Trainer of Hugging Face in pieces: it goes on at the step of the newest whole checkpoint."""

import sys
import time

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from voyageur import job
from voyageur.job.transformers import LongRun

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 120


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, inputs, labels):
        return {"loss": (self.layer(inputs).squeeze(1) - labels).pow(2).mean()}


class Told(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        time.sleep(0.1)  # so that there is time to be cut
        print(f"step {state.global_step}/{STEPS}", flush=True)


torch.manual_seed(0)
data = [{"inputs": row, "labels": row.sum()} for row in torch.randn(256, 8)]
model = Line()
arguments = TrainingArguments(
    output_dir=job.checkpoint.folder(), max_steps=STEPS, save_steps=20, per_device_train_batch_size=16, seed=0,
    report_to=[], disable_tqdm=True, logging_strategy="no",
)  # fmt: skip
trainer = Trainer(model, arguments, train_dataset=data, callbacks=[Told(), LongRun()])
latest = job.checkpoint.latest()
print(f"begins at {latest.rpartition('-')[2] if latest else 0}", flush=True)
trainer.train(resume_from_checkpoint=latest)
weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).cpu().double()
print(f"result {weights.sum().item().hex()} {weights.square().sum().item().hex()}", flush=True)
