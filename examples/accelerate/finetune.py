"""Hugging Face Accelerate: the program asks it which device it has, and hands it model, optimizer and data."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()
torch.manual_seed(0)
inputs = torch.randn(256, 8)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=16)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for batch, wanted in data:
    optimizer.zero_grad()
    loss = (model(batch) - wanted).pow(2).mean()
    accelerator.backward(loss)
    optimizer.step()
rank, ranks = accelerator.process_index, accelerator.num_processes
total = accelerator.reduce(torch.tensor([float(rank)], device=accelerator.device), "sum").item()
print(f"rank {rank} of {ranks}: sum of ranks {total:.0f}, loss {loss.item():.3f}", flush=True)
accelerator.end_training()
