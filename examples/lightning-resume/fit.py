"""A Lightning program that may be cut anywhere. The callback saves, and stops all ranks in time."""

import sys
import time

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from voyageur import job
from voyageur.job.lightning import LongRun

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
PAUSE = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1  # seconds for each batch, so that there is time to be cut


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, index):
        time.sleep(PAUSE)
        inputs, wanted = batch
        return (self.layer(inputs) - wanted).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)

    def on_train_start(self):
        self.print(f"begins at {self.current_epoch}", flush=True)

    def on_train_epoch_end(self):
        self.print(f"epoch {self.current_epoch + 1}/{EPOCHS}", flush=True)


torch.manual_seed(0)
inputs = torch.randn(256, 8)
# Lightning shuffles for each rank by the number of the epoch: the same in every attempt.
data = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = Line()
trainer = lightning.Trainer(
    accelerator="auto", devices=2, num_nodes=2, strategy="ddp", max_epochs=EPOCHS, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, callbacks=[LongRun(whole_epochs=True)],
)  # fmt: skip
trainer.fit(model, data, ckpt_path=job.checkpoint.latest())
if trainer.current_epoch == EPOCHS:
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).cpu().double()
    values = f"{weights.sum().item().hex()} {weights.square().sum().item().hex()}"
    print(f"result of rank {trainer.global_rank}: {values}", flush=True)
