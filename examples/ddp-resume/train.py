"""Data-parallel training that may be cut anywhere: what every step does follows from its number and the rank alone."""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn

from voyageur import job
from voyageur.job.torch import should_save, should_stop

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--every", type=int, default=20, help="steps between two checkpoints")
parser.add_argument("--pause", type=float, default=0.1, help="seconds that a step takes at least")
parser.add_argument("--resume", help="the checkpoint to go on from")
options = parser.parse_args()

has_gpu = torch.cuda.is_available()
dist.init_process_group("nccl" if has_gpu else "gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 1).to(device))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

done = 0
if options.resume:
    saved = torch.load(options.resume, map_location=device, weights_only=True)
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    done = saved["step"]
if rank == 0:
    print(f"begins at {done}", flush=True)


def save():
    """One rank writes for all; the others have the same weights."""
    if rank == 0:
        with job.checkpoint.writing(f"step-{done:06}.pt") as file:
            state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": done}
            torch.save(state, file)


while done < options.steps:
    started = time.monotonic()
    dice = torch.Generator().manual_seed(1_000_003 * done + rank)  # each rank its own batch, the same in every attempt
    inputs = torch.randn(32, 8, generator=dice).to(device)
    loss = (model(inputs).squeeze(1) - inputs.sum(1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(max(0.0, options.pause - (time.monotonic() - started)))
    done += 1
    if rank == 0:
        print(f"step {done}/{options.steps}", flush=True)
    stops = should_stop()
    if stops or should_save() or done % options.every == 0:
        save()
    if stops:
        break

if done == options.steps:
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).cpu().double()
    print(f"result of rank {rank}: {weights.sum().item().hex()} {weights.square().sum().item().hex()}", flush=True)
dist.destroy_process_group()
