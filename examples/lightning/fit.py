"""A Lightning program. Its Trainer learns from Slurm how many ranks there are, on this machine as well."""

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset


class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, index):
        inputs, wanted = batch
        return (self.layer(inputs) - wanted).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)

    def on_train_end(self):
        total = self.all_gather(torch.tensor(float(self.global_rank))).sum().item()
        print(f"rank {self.global_rank} of {self.trainer.world_size}: sum of ranks {total:.0f}", flush=True)


torch.manual_seed(0)
inputs = torch.randn(256, 8)
data = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=16)
trainer = lightning.Trainer(
    accelerator="auto", devices=2, num_nodes=2, strategy="ddp", max_epochs=2, logger=False, enable_checkpointing=False,
    enable_progress_bar=False,
)  # fmt: skip
trainer.fit(Line(), data)
