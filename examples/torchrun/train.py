"""Data-parallel training in plain PyTorch: every rank its own batches, one model. On CPUs by gloo, on GPUs by NCCL."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--fail-on", type=int, default=-1, help="this rank ends after its first step, to see what happens")
options = parser.parse_args()

has_gpu = torch.cuda.is_available()
dist.init_process_group("nccl" if has_gpu else "gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(rank)
for _ in range(options.steps):
    inputs = torch.randn(32, 8, device=device)
    loss = (model(inputs).squeeze(1) - inputs.sum(1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == options.fail_on:
        raise SystemExit(f"rank {rank} was told to fail")
total = torch.tensor([float(rank)], device=device)
dist.all_reduce(total)
weights = sum(parameter.double().sum().item() for parameter in model.parameters())
print(
    f"rank {rank} of {ranks}: sum of ranks {total.item():.0f}, loss {loss.item():.3f}, weights {weights:.6f}",
    flush=True,
)
dist.destroy_process_group()
