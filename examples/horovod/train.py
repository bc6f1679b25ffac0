"""Horovod over gloo, with PyTorch."""

import horovod.torch as hvd
import torch

hvd.init()
model = torch.nn.Linear(8, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.05), model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), 0)
for _ in range(5):
    inputs = torch.randn(16, 8)
    optimizer.zero_grad()
    (model(inputs).squeeze(1) - inputs.sum(1)).pow(2).mean().backward()
    optimizer.step()
total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum).item()
print(f"rank {hvd.rank()} of {hvd.size()}: sum of ranks {total:.0f}", flush=True)
