"""DeepSpeed with ZeRO stage 1, without its own launcher. On CPUs the first start compiles a helper."""

import deepspeed
import torch

deepspeed.init_distributed(dist_backend="nccl" if torch.cuda.is_available() else "gloo", auto_mpi_discovery=False)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
settings = {
    "train_micro_batch_size_per_gpu": 16,
    "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
for _ in range(5):
    inputs = torch.randn(16, 8, device=engine.device)
    loss = (engine(inputs).squeeze(1) - inputs.sum(1)).pow(2).mean()
    engine.backward(loss)
    engine.step()
rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
total = torch.tensor([float(rank)], device=engine.device)
torch.distributed.all_reduce(total)
print(f"rank {rank} of {ranks}: sum of ranks {total.item():.0f}, loss {loss.item():.3f}", flush=True)
