"""Data-parallel training by PyTorch, timed from its first line: `ranks.py BACKEND SECONDS`."""

import os
import sys
import time

begin = time.time()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

dist.init_process_group(sys.argv[1])
rank, ranks = dist.get_rank(), dist.get_world_size()
has_gpu = torch.cuda.is_available()
place = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count() if has_gpu else 0
device = torch.device("cuda", place) if has_gpu else torch.device("cpu")
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(256, 512, device=device)
for _ in range(20):
    model(inputs).square().mean().backward()
first, count = time.perf_counter(), 0
for _ in range(int(sys.argv[2])):
    optimizer.zero_grad()
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
    count += 1
loss.item()
rate = count / (time.perf_counter() - first)
total = torch.tensor([float(rank)], device=device)
dist.all_reduce(total)
if rank == 0:
    print(f"ranks {ranks} sum {total.item():.0f} rate {rate:.1f} begun {begin:.3f}", flush=True)
dist.destroy_process_group()
